# SPDX-License-Identifier: Apache-2.0
"""How long a test waits before it has failed: by what the machine has got done meanwhile, not by the clock on the wall.

Where ten others want each processor, everything takes ten times as long and nothing is wrong. So a second of patience
is one of a machine that does nothing else: it passes more slowly by as much as there is more to run than can run at
once.
"""

import os
import time
from pathlib import Path

import pytest

_RUNNING = Path("/proc/loadavg")  # its fourth word: threads that run or wait for a processor / all of them
_PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
_POLL = 0.02  # [s]


def share():
    """Of what it could do alone, how much a thread gets done now."""
    try:
        running = int(_RUNNING.read_text().split()[3].partition("/")[0])
    except (OSError, IndexError, ValueError):
        return 1.0  # not Linux: by the clock, then
    return min(1.0, _PROCESSORS / max(running, 1))


class Patience:
    """So many seconds of a machine that does nothing else; it has to be asked again and again."""

    def __init__(self, seconds):
        """Args: how many."""
        self.seconds = self.left = seconds
        self._last, self._share = time.monotonic(), share()

    @property
    def is_over(self):
        """Whether they have passed."""
        now, present = time.monotonic(), share()
        self.left -= (now - self._last) * min(self._share, present)  # what was between is not known
        self._last, self._share = now, present
        return self.left < 0.0


def until(holds, seconds, what, poll=_POLL):
    """What a condition gives once that is true; the test has failed if it does not get so."""
    patience = Patience(seconds)
    while True:
        found = holds()
        if found:
            return found
        if patience.is_over:
            pytest.fail(f"waited {seconds:g} s, of a machine of its own, in vain: {what}")
        time.sleep(poll)


def ended(process, seconds):
    """Output and errors of a process (`subprocess.Popen` with pipes) that is to end."""
    import subprocess

    patience = Patience(seconds)
    while True:
        try:
            return process.communicate(timeout=0.2)  # what it has read so far is kept
        except subprocess.TimeoutExpired:
            if patience.is_over:
                raise
