# SPDX-License-Identifier: Apache-2.0
"""Tests whose processes must keep time have the machine's processors to themselves, as far as other tests go."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.ros.domains import open_lock

_TURN = "ada_dynamics_test_turn.lock"
_held: list[None] = []  # as often as this process is in its turn


@contextlib.contextmanager
def own_turn() -> Iterator[None]:
    """Wait until no other process of this machine is in here; a killed process gives its turn back."""
    lock = None if _held else open_lock(Path(tempfile.gettempdir()) / _TURN)
    _held.append(None)
    try:
        if lock is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        _held.pop()
        if lock is not None:
            os.close(lock)
