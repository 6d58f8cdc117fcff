# SPDX-License-Identifier: Apache-2.0
"""Real-time priority and memory locking of threads and processes; skipped without permission."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading

_NICENESS = -10
_PR_SET_TIMERSLACK = 29  # linux/prctl.h
_SLACK = 1_000  # timer slack [ns]; 50 000 by default
_LOCK_ALL = 1 | 2  # MCL_CURRENT | MCL_FUTURE of <sys/mman.h>


def stay_in_memory() -> str:
    """Lock the process in memory to avoid page faults.

    Returns:
        Reason of a failure; "" on success.
    """
    problem = memory_limit()
    if problem:
        return problem
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if library.mlockall(_LOCK_ALL):
            return f"unlocked memory ({os.strerror(ctypes.get_errno())})"
    except (OSError, AttributeError) as problem:
        return f"unlocked memory ({problem})"
    return ""


def memory_limit() -> str:
    """Return why this user may not lock a process in memory, or ""."""
    try:
        import resource
    except ImportError:  # not a Unix system
        return "unlocked memory (this system has no memory limits)"
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    # within a finite limit, locking succeeds now, but a later allocation fails
    if limit != resource.RLIM_INFINITY and os.geteuid():
        return "unlocked memory (allow it by '@realtime - memlock unlimited' in /etc/security/limits.conf)"
    return ""


def priority_limit() -> str:
    """Return why this user may not set a real-time priority, tested in a temporary thread, or ""."""
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(set_realtime_priority(1)))
    thread.start()
    thread.join()
    return found[0]


def set_realtime_priority(priority: int) -> str:
    """Set the real-time priority of the calling thread; threads and processes started later do not inherit it.

    Args:
        priority: 1 to 99 (SCHED_FIFO); 0 for no change.

    Returns:
        Reason of a failure; "" on success.
    """
    if not priority:
        return ""
    if not hasattr(os, "sched_setscheduler"):
        return f"no real-time priority {priority} (not supported by this system)"
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(priority))
    except OSError as problem:
        return (
            f"no real-time priority {priority} ({problem.strerror}; allow it by '@realtime - rtprio 99' in "
            f"/etc/security/limits.conf, and your user in that group)"
        )
    return ""


def raise_process_priority(priority: int = 0) -> None:
    """Reduce the wake-up latency of this process as far as permitted, without reporting failures.

    Args:
        priority: 1 to 99 (SCHED_FIFO); 0, or without permission: a lower nice value.
    """
    with contextlib.suppress(OSError, AttributeError):  # not Linux
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, _SLACK, 0, 0, 0)
    if priority and not set_realtime_priority(priority):
        return
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)
