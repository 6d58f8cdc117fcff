# SPDX-License-Identifier: Apache-2.0
"""Scheduling and memory settings for threads and processes with deadlines; without permission they are skipped."""

from __future__ import annotations

import contextlib
import ctypes
import os

_NICENESS = -10
_PR_SET_TIMERSLACK = 29  # linux/prctl.h
_SLACK = 1_000  # [ns] that the system may be late on purpose; 50 000 by default
_LOCK_ALL = 1 | 2  # MCL_CURRENT | MCL_FUTURE of <sys/mman.h>


def stay_in_memory() -> str:
    """Lock the whole process in memory, so that it never waits for a disk.

    Returns:
        Why not; "" where it is locked.
    """
    problem = memory_limit()
    if problem:
        return problem
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if library.mlockall(_LOCK_ALL):
            return f"memory that is not locked ({os.strerror(ctypes.get_errno())})"
    except (OSError, AttributeError) as problem:
        return f"memory that is not locked ({problem})"
    return ""


def memory_limit() -> str:
    """Why this user may not lock a process in memory; "" where that is allowed."""
    try:
        import resource
    except ImportError:  # only Unix has it
        return "memory that is not locked (this system has no such limits)"
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    # within a finite limit it could succeed now, and a later allocation fail
    if limit != resource.RLIM_INFINITY and os.geteuid():
        return "memory that is not locked (allow it by '@realtime - memlock unlimited' in /etc/security/limits.conf)"
    return ""


def set_realtime_priority(priority: int) -> str:
    """Give the calling thread real-time priority; what it starts later does not inherit it.

    Args:
        priority: 1 to 99 of SCHED_FIFO; 0: as usual.

    Returns:
        Why not; "" where it has it, or wants none.
    """
    if not priority:
        return ""
    if not hasattr(os, "sched_setscheduler"):
        return f"no real-time priority {priority} (this system gives none)"
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(priority))
    except OSError as problem:
        return (
            f"no real-time priority {priority} ({problem.strerror}; allow it by '@realtime - rtprio 99' in "
            f"/etc/security/limits.conf, and your user in that group)"
        )
    return ""


def raise_process_priority(priority: int = 0) -> None:
    """Let the system wake this process promptly, as far as permissions allow; without them nothing is reported.

    Args:
        priority: 1 to 99 of the real-time class SCHED_FIFO; 0, and where that is not allowed: a lower nice value.
    """
    with contextlib.suppress(OSError, AttributeError):  # no Linux
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, _SLACK, 0, 0, 0)
    if priority and not set_realtime_priority(priority):
        return
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)
