# SPDX-License-Identifier: Apache-2.0
"""Unit tests are deterministic: one that starts a process, opens a socket, waits or reads a clock fails."""

from __future__ import annotations

import contextlib
import importlib.abc
import os
import pty
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import thread as pool
from pathlib import Path
from typing import Any

import pytest
from paths import ROOT

# Files that may read the clock in a unit test, because no result depends on the value.
CLOCK_READERS = frozenset(
    {
        "ada_dynamics/jit/native.py",  # seconds of compiling, for `report`
        "ada_dynamics/jit/generic.py",
        "ada_dynamics/gpu/kernels.py",
        "ada_dynamics/simulation/simulation.py",  # seconds of computing, for `log.summary`
        "ada_dynamics/simulation/run_loop.py",
        "experiments/ada_experiments/space_robots.py",  # seconds of computing, for the reports of commands
        "ada_tools/commands/sim.py",
        "ada_tools/commands/doctor.py",
        "experiments/ada_experiments/reproduce.py",
    }
)


HERE = Path(__file__).parent


class Guard:
    """Whether a unit test runs now."""

    active = False


def _fail(what: str) -> None:
    if Guard.active:
        pytest.fail(f"a unit test must not {what}: inject a clock or move the test to test/process", pytrace=True)


def _forbid(owner: Any, name: str, what: str, allowed: Callable[..., bool] = lambda *args: False) -> None:
    original = getattr(owner, name)

    def guarded(*args: Any, **kwargs: Any) -> Any:
        if not allowed(*args):
            _fail(what)
        return original(*args, **kwargs)

    guarded.__name__ = name
    setattr(owner, name, guarded)


def _guard_clock(name: str) -> None:
    """Let a clock fail the running unit test where code of the project reads it."""
    original, own, venv = getattr(time, name), f"{ROOT}{os.sep}", f"{ROOT}{os.sep}.venv{os.sep}"

    def guarded(*_: Any) -> Any:  # as the attribute of a class it gets the object
        if Guard.active:
            file = sys._getframe(1).f_code.co_filename
            if file.startswith(own) and not file.startswith(venv) and file[len(own) :] not in CLOCK_READERS:
                _fail(f"read the clock (time.{name} in {file[len(own) :]})")
        return original()

    guarded.__name__ = name
    setattr(time, name, guarded)


def _is_pool_worker(thread: threading.Thread, *_: Any) -> bool:
    """Workers of a concurrent.futures pool compute; they end with the pool."""
    return getattr(thread, "_target", None) is pool._worker  # type: ignore[attr-defined]


class _NoRclpy(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname == "rclpy":
            _fail("import rclpy")


with contextlib.suppress(ImportError):
    import mujoco  # noqa: F401  # its first import starts a process, whichever test it is in
with contextlib.suppress(ImportError):
    import matplotlib.font_manager  # noqa: F401  # the first import on a machine lists the fonts, with a timer thread

_forbid(time, "sleep", "sleep")
_forbid(subprocess.Popen, "__init__", "start a process")
_forbid(socket.socket, "__init__", "open a socket")
_forbid(pty, "openpty", "open a pty")
_forbid(os, "openpty", "open a pty")
_forbid(os, "fork", "start a process")
_forbid(os, "posix_spawn", "start a process")
_forbid(os, "system", "start a process")
_forbid(threading.Thread, "start", "start a thread", _is_pool_worker)
for _clock in ("time", "monotonic", "perf_counter", "time_ns", "monotonic_ns", "perf_counter_ns"):
    _guard_clock(_clock)
sys.meta_path.insert(0, _NoRclpy())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Guard a test of this folder and its fixtures; pytest calls this hook for the tests of all folders."""
    Guard.active = item.path.is_relative_to(HERE)
    try:
        return (yield)
    finally:
        Guard.active = False
