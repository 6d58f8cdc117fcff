# SPDX-License-Identifier: Apache-2.0
"""Tests in a process of their own, forked from one that has all the heavy packages in it and none of ours.

A changed module comes from memory, through an import hook: the source tree is never written. Compiled kernels are found
again by a digest of the sources on the disk, where the change is not; so each process begins with an empty cache of its
own, which no change can spoil and out of which none can get a kernel made without it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

MEMORY = 4 * 2**30  # [bytes] of data of a process
# What tests import, most of all. Packages that start threads (jax, rclpy) would not survive a fork.
_HEAVY = ("coverage", "numpy", "llvmlite.binding", "yaml", "scipy.optimize", "scipy.spatial", "mujoco", "pinocchio")
# A few examples, every time the same, also where a test wants more: the first ones kill. How small a failing one can be
# made, nobody asks.
EXAMPLES = 8
settings.register_profile(
    "mutants",
    phases=(Phase.explicit, Phase.generate),
    deadline=None,  # of the clock: a busy machine would fail tests
    max_examples=EXAMPLES,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
_NOT_THESE = "not slow and not fuzz and not soak and not gpu and not ros"
# Files of tests, each with names of tests, in their order, and the processor's seconds that one may take.
Plan = Sequence[tuple[str, Sequence[str], float]]
FAILED, NOTHING_RAN = int(pytest.ExitCode.TESTS_FAILED), int(pytest.ExitCode.NO_TESTS_COLLECTED)


class Change(importlib.abc.MetaPathFinder):
    """Finds one module as Python does, and gives it another text."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text = path.resolve(), text

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """As `importlib` asks: nothing for all other modules."""
        if name.rpartition(".")[2] not in (self.path.stem, self.path.parent.name):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None or Path(spec.origin).resolve() != self.path:
            return None
        spec.loader = _FromMemory(name, str(self.path), self.text)
        return spec


class _FromMemory(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self.text = text

    def get_code(self, fullname: str) -> types.CodeType:
        """Neither read from a .pyc file nor written to one."""
        return compile(self.text, self.path, "exec", dont_inherit=True)


def warm(compiled: Path) -> None:
    """Import what every child would import; which packages are missing, tests say better.

    Args:
        compiled: folder for the bytecode of modules without a change, which all children would compile otherwise.
    """
    sys.pycache_prefix, sys.dont_write_bytecode = str(compiled.resolve()), False
    for name in _HEAVY:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # pytest collects at its end, five times, and a child would copy every page that it looks at


def forked(work: Callable[[Path], Any]) -> tuple[int, Path]:
    """Begin a child: its process, and the folder where its answer will be."""
    folder = Path(tempfile.mkdtemp(prefix="ada_mutant_"))
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child, folder
    status = 70
    try:
        os.setsid()  # so that it can be ended with all that it starts
        with (folder / "said").open("wb") as said:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.environ |= {"XDG_CACHE_HOME": str(folder / "cache"), "ADA_CACHE_DIR": str(folder / "cache/kernels")}
        os.environ |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "TMPDIR": str(folder)}
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(folder / "hypothesis")
        tempfile.tempdir = None
        answer = work(folder)
        (folder / "answer.json").write_text(json.dumps(answer), encoding="utf-8")
        status = 0
    except BaseException as error:
        print(repr(error), file=sys.stderr)
    finally:
        os._exit(status)


def finished(children: dict[int, tuple[Path, float]]) -> Iterator[tuple[int, Any]]:
    """Processes of {process: (folder, when it is late)} that have ended, each with its answer.

    In place of an answer: "timeout", or "crashed" with the end of what it said.
    """
    for child, (folder, late) in list(children.items()):
        ended, status = os.waitpid(child, os.WNOHANG)
        if not ended and time.monotonic() < late:
            continue
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        if not ended:
            os.waitpid(child, 0)
        answer: Any = {"verdict": "timeout"}
        if ended and not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF):
            try:
                answer = json.loads((folder / "answer.json").read_text(encoding="utf-8"))
            except (OSError, ValueError):
                said = (folder / "said").read_text(encoding="utf-8", errors="replace")
                answer = {"verdict": "crashed", "why": f"status {status}: {said[-300:]}"}
        shutil.rmtree(folder, ignore_errors=True)
        del children[child]
        yield child, answer


def tested(file: str, folder: Path, plugin: object, *more: str) -> int:
    """pytest's exit status for a file of tests, of which a plugin may choose some."""
    options = [
        "-q",
        "-m",
        _NOT_THESE,
        "-p",
        "_hypothesis_pytestplugin",
        "-p",
        "pytest_timeout",
        "-p",
        "no:cacheprovider",
    ]
    options += ["--timeout", "0", "--tb", "line", "--assert", "plain", *more]  # nobody reads why a test failed
    options += ["--hypothesis-profile", "mutants", "--basetemp", str(folder / "tests")]
    return int(pytest.main([*options, file], plugins=[plugin, _FewExamples()]))


class _FewExamples:
    """Plugin: tests that say how many examples they want get no more than the profile has."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            test: Any = getattr(item, "obj", None)
            own = getattr(test, "_hypothesis_internal_use_settings", None)
            if own is not None and own.max_examples > EXAMPLES:
                test = getattr(test, "__func__", test)
                test._hypothesis_internal_use_settings = settings(own, max_examples=EXAMPLES)


class Chosen:
    """Plugin: of a file the tests named, in their order; which one failed, or that the file could not be imported."""

    def __init__(self, names: Sequence[str], limit: float) -> None:
        self.limit = limit
        self.order = {name: i for i, name in enumerate(names)}
        self.failed = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave the others out."""
        items[:] = sorted((one for one in items if one.nodeid in self.order), key=lambda one: self.order[one.nodeid])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that imports on the clean tree does not with the change."""
        if report.failed:
            self.failed = f"{report.nodeid} (import)"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """A test that hangs, in compiled code as well, ends the process by a signal that nobody catches."""
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, self.limit)
        result = yield
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """The first failure ends the run."""
        if report.failed and not self.failed:
            self.failed = report.nodeid


def judge(plan: Plan, folder: Path) -> dict[str, str]:
    """Run the tests of a plan, file by file, to the first that fails."""
    for file, names, limit in plan:
        chosen = Chosen(names, limit)
        status = tested(file, folder, chosen, "-x")
        if status == FAILED or (status == int(pytest.ExitCode.INTERRUPTED) and chosen.failed):
            return {"verdict": "killed", "by": chosen.failed}
        if status not in (0, NOTHING_RAN):
            return {"verdict": "error", "why": f"pytest ended with {status} on {file}"}
    return {"verdict": "survived"}


def judge_change(path: Path, text: str, plan: Plan, folder: Path) -> dict[str, str]:
    """The same, with another text for a module; none of ours may have been imported before."""
    sys.meta_path.insert(0, Change(path, text))
    return judge(plan, folder)
