# SPDX-License-Identifier: Apache-2.0
"""Waiting for what another process or thread does. Only tests in test/process and test/nightly wait."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T")
LIMIT = 60.0  # [s]
POLL = 0.02  # [s]


def until(
    condition: Callable[[], T], what: str, limit: float = LIMIT, poll: float = POLL, details: Callable[[], str] = str
) -> T:
    deadline = time.monotonic() + limit
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            pytest.fail(f"waited {limit:g} s for {what}{details()}")
        time.sleep(poll)


def tick(condition: Callable[[], object], what: str, limit: float = LIMIT) -> Callable[[], bool]:
    """Return a function for a loop that calls it again and again, and ends when it is true; see `until`."""
    deadline = time.monotonic() + limit

    def look() -> bool:
        if time.monotonic() > deadline:
            pytest.fail(f"waited {limit:g} s for {what}")
        time.sleep(POLL)
        return bool(condition())

    return look


def ended(process: subprocess.Popen[str], limit: float = LIMIT) -> tuple[str, str]:
    """Return output and errors of a process with pipes when it ends; kill it and fail the test after the limit [s]."""
    try:
        return process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        output, errors = process.communicate()
        pytest.fail(f"{process.args} did not end within {limit:g} s; it wrote:\n{output}\n{errors}")
