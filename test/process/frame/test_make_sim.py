# SPDX-License-Identifier: Apache-2.0
"""`make` sets up no more than its target needs, once, says what a machine lacks, and shows that it is alive."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
TOOLS = REPOSITORY / "tools"
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")

# Stand for the Python of the machine and for that of .venv: what they are asked to do is written down, not done.
MACHINES = """#!/bin/sh
if [ "$1 $2" = "-m venv" ]; then
  mkdir -p .venv/bin .venv/share/rosidl_generator_py
  cp venv_python .venv/bin/python; cp ada .venv/bin/ada
  echo venv >> asked
else
  exec {python} "$@"
fi
"""
VENVS = """#!/bin/sh
case "$1 $2" in
  "-c "*) exec {python} "$@" ;;
  *pip) [ ! -e refuse ] || { echo 'ERROR: no route to the index'; exit 1; }
     echo "$*" | sed 's/.*install/pip/' >> asked ;;
  *) echo "$*" >> asked ;;
esac
"""
ADA = """#!/bin/sh
echo "ada $*" >> asked
"""
ROS = "" if os.environ.get("ROS_DISTRO") else ",ros"
LIGHT = f"pip --progress-bar off --editable .[view,record,xacro{ROS}]"
FULL = f"pip --progress-bar off --editable .[test,tools,xacro,docs,dev,fuzz,mutants{ROS}]"
BUILD = "tools/build_interfaces.py"


@pytest.fixture
def checkout(tmp_path):
    for name in ("Makefile", "setup.py", "setup.cfg", "pyproject.toml"):
        shutil.copy(REPOSITORY / name, tmp_path)
    shutil.copytree(TOOLS, tmp_path / "tools")
    for name, text in {"python": MACHINES, "venv_python": VENVS, "ada": ADA}.items():
        (tmp_path / name).write_text(text.replace("{python}", sys.executable))
        (tmp_path / name).chmod(0o755)
    return tmp_path


def make(folder, *arguments, code=0, **environment):
    # A `make` above this test must not hand on its options, and what was said on its command line.
    given = ("MAKE", "MFLAGS", "ARGS", "EXTRAS", "JOBS", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(given)}
    result = subprocess.run(
        ["make", f"PYTHON={folder}/python", *arguments],
        cwd=folder,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == code, result.stdout + result.stderr
    return result.stdout + result.stderr


def asked(folder):
    """What has been asked of both Pythons and of `ada` since the last call."""
    path = folder / "asked"
    lines = path.read_text().splitlines() if path.exists() else []
    path.write_text("")
    return [line for line in lines if line != "pip --upgrade pip"]


@pytest.mark.smoke
def test_the_simulation_sets_up_what_it_needs_once_and_then_only_starts(checkout):
    make(checkout, "sim", "ARGS=--headless --duration 10")
    assert asked(checkout) == ["venv", LIGHT, "ada up pa10_sim --headless --duration 10"], "nothing is compiled"
    make(checkout, "sim")
    assert asked(checkout) == ["ada up pa10_sim"]


def test_the_full_set_up_builds_upon_the_light_one_and_serves_the_simulation(checkout):
    make(checkout, "sim")
    asked(checkout)
    make(checkout, "setup")
    assert asked(checkout) == [FULL, BUILD]
    make(checkout, "sim")
    assert asked(checkout) == ["ada up pa10_sim"]


def test_help_lists_every_target(checkout):
    (phony,) = re.findall(r"(?m)^\.PHONY: (.*)$", (checkout / "Makefile").read_text())
    listed = re.findall(r"(?m)^  make (\S+) ", make(checkout, "help"))
    assert sorted(listed) == sorted(phony.split())


def progress(*arguments):
    return [sys.executable, str(TOOLS / "progress.py"), *arguments]


def test_ctrl_c_ends_the_command_too_without_a_traceback(tmp_path):
    started = tmp_path / "started"
    os.mkfifo(started)
    script = f"""
import time
try:
    open({str(started)!r}, "w").close()
    while True:  # a signal that comes just before a long sleep does not end it
        time.sleep(0.01)
except KeyboardInterrupt:
    pass
"""
    child = subprocess.Popen(
        progress("Installing", sys.executable, "-c", script),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    started.read_text()
    os.killpg(child.pid, signal.SIGINT)
    _, said = child.communicate(timeout=120)
    assert child.returncode == 130
    assert "Traceback" not in said
