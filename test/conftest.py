# SPDX-License-Identifier: Apache-2.0
"""What holds for all tests: they may import what lies in this folder, and none changes the process's priority."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # pytest's "importlib" mode leaves the path alone


def pytest_runtest_logreport(report):
    """Name a failure when it happens: of a run that is cut off, nothing else would tell."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        last = str(report.longreprtext).strip().splitlines()[-1:]
        print(f"\n{report.nodeid} failed ({report.when}):", *last, flush=True)


@pytest.fixture(autouse=True)
def same_priority():
    """No test makes those after it more, or less, important than what runs beside them."""
    before = priority()
    yield
    assert priority() == before


@pytest.fixture
def ada(capsys):
    """Runs the command `ada` in this process; exit code, output and errors."""

    def run(*arguments):
        from ada_tools import cli

        code = cli.main([str(a) for a in arguments])
        return code, *capsys.readouterr()

    return run


def priority():
    """Of this process: niceness and, on Linux, scheduling class."""
    scheduler = getattr(os, "sched_getscheduler", lambda process: None)
    return os.getpriority(os.PRIO_PROCESS, 0), scheduler(0)
