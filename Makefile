# Everything runs in .venv, which the first target that needs it sets up. The machine brings Python >= 3.10 and make.
# On the command line: ARGS (for sim, test, fuzz, mutants, soak, faults, campaign and what begins with one of test and bench), PYTHON, EXTRAS, JOBS.

PYTHON ?= python3
JOBS ?= auto
comma := ,
# A ROS that is sourced must stay the only one in the process: its libraries and those of the wheels do not mix.
ROS := $(if $(ROS_DISTRO),,$(comma)ros)
EXTRAS ?= test,tools,xacro,docs,dev,fuzz,mutants$(ROS)
# What `make sim` needs of them: a newcomer waits for no more.
SIM_EXTRAS := view,record,xacro$(ROS)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
# The full set-up serves the simulation, too.
SIM_READY := $(if $(wildcard $(READY)),$(READY),$(VENV)/ready-sim)
# Tiers of tests; see test/README.md. Tests marked fuzz, soak or gpu run only in the targets of that name and in nightly.
UNIT := $(BIN)/python -m pytest test/unit -n $(JOBS) --maxprocesses 8 --dist worksteal
SMOKE := $(BIN)/python -m pytest test/process -m "smoke and not (fuzz or soak or gpu)" -p no:xdist
PROCESS := $(BIN)/python -m pytest test/process -m "not (smoke or fuzz or soak or gpu)" -n 2 --dist loadfile
NIGHTLY := $(BIN)/python -m pytest test -m "fuzz or (not soak and not gpu)" --ignore test/process -n 2 --dist loadfile
PROGRESS := $(PYTHON) tools/progress.py
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
# Packages that exist: a checkout of the library alone is a checkout, too.
EXPERIMENTS := $(wildcard experiments/pyproject.toml)
PACKAGES := $(patsubst %/__init__.py,%,$(wildcard ada_*/__init__.py))

# Compiled modules are kept, whatever the machine has set: programs start in half the time, and tests start hundreds.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup test test-all test-unit test-quick nightly gate test-gpu lint format sim bench bench-gpu bench-ros bench-hw faults campaign fuzz mutants silent-wrong sbom soak docs dist pictures clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## .venv with the package (editable), its extras, the experiments, ROS 2 from PyPI unless one is sourced, and the tools

# Threads of numpy's LAPACK wait for each other on a busy machine, for longer than small matrices take.
test test-all test-unit test-quick nightly: export OPENBLAS_NUM_THREADS ?= 1

test: $(READY) ## the gate: lint, all unit tests in parallel, then the smoke tests of processes one by one
	@failed=; log=$$(mktemp); \
	$(MAKE) --no-print-directory lint >"$$log" 2>&1 & lint=$$!; \
	trap 'kill $$lint; exit 130' INT TERM; \
	$(UNIT) $(ARGS) || failed=unit; \
	wait $$lint || { failed="lint $$failed"; cat "$$log" >&2; }; \
	rm -f "$$log"; \
	$(SMOKE) $(ARGS) || failed="$$failed smoke"; \
	if [ -n "$$failed" ]; then echo "make test: failed:" $$failed >&2; exit 1; fi

test-all: test ## the gate, then all other tests of processes, two at a time
	@$(PROCESS) $(ARGS)

nightly: $(READY) ## every test but those of test/process: documentation, examples, foreign robots, many random inputs
	@$(NIGHTLY) $(ARGS)

test-unit: $(READY) ## all unit tests, in parallel; ARGS go to pytest
	@$(UNIT) $(ARGS)

test-quick: $(READY) ## the first unit test of each file, in a minute; ARGS go to pytest
	@$(UNIT) --quick $(ARGS)

test-gpu: $(READY) ## what runs on a graphics processor, on one; without one these tests are skipped and say why
	@$(BIN)/python -m pytest -m gpu $(ARGS)

lint: $(READY) ## ruff (rules and layout), size budgets, rules of the tests, version, workflows, mypy --strict
	@failed=; \
	$(BIN)/ruff check . || failed=1; \
	$(BIN)/ruff format --check . || failed=1; \
	$(BIN)/python tools/size_budget.py || failed=1; \
	$(BIN)/python tools/check_tests.py || failed=1; \
	$(BIN)/python tools/identity.py || failed=1; \
	$(BIN)/check-jsonschema -q --builtin-schema vendor.github-workflows .github/workflows/*.yml || failed=1; \
	$(BIN)/mypy $(PACKAGES) $(wildcard benchmarks trials experiments/ada_experiments) || failed=1; \
	test -z "$$failed"

format: $(READY) ## lay out the code as `make lint` wants it, and mend what ruff can mend
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

sim: $(SIM_READY) ## simulate the PA-10 as ROS 2 nodes, with a browser view; ARGS="--headless --duration 10" ends by itself
	@$(BIN)/ada up pa10_sim $(ARGS)

bench: $(READY) ## speed, as ratios against other engines in the same process; ARGS go to the benchmarks
	@$(BIN)/python -m benchmarks $(ARGS)

bench-gpu: $(READY) ## batches on a graphics processor, of which there must be one
	@$(BIN)/python -m benchmarks.gpu $(ARGS)

bench-ros: $(READY) ## periods and load of the dynamics node over DDS
	@$(BIN)/python -m benchmarks.ros $(ARGS)

bench-hw: $(READY) ## the cycle of an emulated PA-10 in real time: periods, missed ones, an idle and a busy machine
	@$(BIN)/python -m benchmarks.hardware $(ARGS)

faults: $(READY) ## independent device models with all faults, random operation, invalid commands: 0 must be unsafe
	@$(BIN)/python -m benchmarks.hardware.peers $(ARGS)

campaign: $(READY) ## faults in a robot that moves and in recordings: every case ends in its state within its time
	@$(BIN)/python -m trials.faults $(ARGS)

fuzz: $(READY) ## the tests marked fuzz and inputs guided by coverage, as a table; ARGS="urdf --runs 1000000", ARGS=--list
	@$(BIN)/python -m trials.fuzz $(ARGS)

mutants: $(READY) ## small changes of the core that tests must see, an area at a time; ARGS="spatial --count 200"
	@nice $(BIN)/python -m trials.mutants $(ARGS)

gate: $(READY) ## is `make test` reliable? runs it repeatedly, also on a busy machine; ARGS="--runs 10"
	@$(BIN)/python -m trials.gate $(ARGS)

silent-wrong: $(READY) ## mutated robots and states, judged by pinocchio; ARGS="--count 100000 --report out/wrong.jsonl"
	@$(BIN)/python -m trials.silent_wrong $(ARGS)

soak: $(READY) ## the tests marked soak, 10^9 steps, and nodes for a day; goes on where it ended; ARGS="nodes --hours 4"
	@$(BIN)/python -m trials.soak $(ARGS)

sbom: $(READY) ## bills of material of each extra (CycloneDX) in out/sbom, and an audit by pip-audit
	@$(BIN)/python tools/sbom.py out/sbom

docs: $(READY) ## the documentation as a site, docs/_build/index.html; a warning is an error
	@$(BIN)/python -m sphinx -W --keep-going -q docs docs/_build
	@echo docs/_build/index.html

dist: $(READY) ## wheel and source archive in dist/, checked by twine
	@rm -rf dist && umask 022 && SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m build --outdir dist .
	@$(BIN)/python -m twine check --strict dist/*

pictures: $(READY) ## the pictures of README and examples (needs Chromium), and the outputs of the notebooks
	@$(BIN)/python docs/pictures.py
	@$(BIN)/python tools/run_notebooks.py

clean: ## remove everything that these targets made, .venv too
	@rm -rf $(VENV) build install log dist docs/_build *.egg-info experiments/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A .venv left by another Python, or by one that is gone, is made anew. colcon must not look for packages in it.
define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || { \
	  echo "make: ada_dynamics needs Python 3.10 or newer, but PYTHON=$(PYTHON) is" \
	    "$$($(PYTHON) --version 2>&1). Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) tools/precheck.py $(3) $(VENV)
	@version='import sys; print(sys.version_info[:2], sys.base_prefix)'; \
	if [ "$$($(BIN)/python -c "$$version" 2>/dev/null)" != "$$($(PYTHON) -c "$$version")" ]; then \
	  $(PYTHON) -m venv --clear $(VENV); \
	fi
	@touch $(VENV)/COLCON_IGNORE
	@echo "Setting up $(VENV) with the extras $(1): $(2) and up to $(3) GB, once."
	@$(PROGRESS) "Setting up pip" $(PIP) install --upgrade pip
	@$(PROGRESS) "Installing" $(PIP) install --progress-bar off --editable '.[$(1)]' $(4)
endef

# /tf needs tf2_msgs, which PyPI lacks. A machine without a C++ compiler does without. `make sim` does not wait for it.
$(READY): setup.py setup.cfg pyproject.toml $(EXPERIMENTS)
	$(call install,$(EXTRAS),minutes,4,$(if $(EXPERIMENTS),--editable ./experiments))
	@if [ -e $(VENV)/share/rosidl_generator_py ]; then \
	  $(PROGRESS) "Building tf2_msgs" $(BIN)/python tools/build_interfaces.py || true; \
	fi
	@touch $@

$(VENV)/ready-sim: setup.py setup.cfg pyproject.toml
	$(call install,$(SIM_EXTRAS),a minute or two,1)
	@touch $@
