# SPDX-License-Identifier: Apache-2.0
"""Processes of this machine, from /proc."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def as_nobody(action: Callable[[], T]) -> T:
    """Result of an action without the rights of root, also where tests run as root."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65_534)
    try:
        return action()
    finally:
        os.seteuid(before)


def is_alive(pid: int) -> bool:
    try:
        return _fields(pid)[0] != "Z"
    except OSError:
        return False


def descendants(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            for child in (task / "children").read_text().split():
                found += [int(child), *descendants(int(child))]
    return found


def session_of(pid: int) -> list[int]:
    """Processes of the session that a process leads or has led."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if int(_fields(int(path.name))[3]) == pid:
                found.append(int(path.name))
    return found


def command_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")


def _fields(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def cpu_seconds(pid: int) -> float:
    """Time that a process has used of all cores."""
    user, system = _fields(pid)[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
