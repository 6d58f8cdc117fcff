# SPDX-License-Identifier: Apache-2.0
"""Tests whose processes must keep time have the machine's processors to themselves, as far as other tests go."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.ros.domains import open_lock

_TURN = "ada_dynamics_test_turn.lock"
_held: list[int] = []  # the lock, as often as this process is in its turn


@contextlib.contextmanager
def own_turn() -> Iterator[None]:
    """Wait until no other process of this machine is in here; a killed process gives its turn back.

    A process that is in here more than once keeps its turn until it has left for the last time.
    """
    if not _held:
        lock = open_lock(Path(tempfile.gettempdir()) / _TURN)
        with _not_timed():
            fcntl.flock(lock, fcntl.LOCK_EX)
        _held.append(lock)
    else:
        _held.append(_held[0])
    try:
        yield
    finally:
        lock = _held.pop()
        if not _held:
            os.close(lock)


@contextlib.contextmanager
def _not_timed() -> Iterator[None]:
    """What a test waits for others is not its own time: pytest-timeout's alarm rests, and goes on after it."""
    left, _ = signal.setitimer(signal.ITIMER_REAL, 0.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left)
