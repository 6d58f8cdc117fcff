# SPDX-License-Identifier: Apache-2.0
"""Memory, open handles and threads of a process and of all below it, as Linux tells them, and their slopes."""

import os
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

WARM_UP, LONGEST_WARM_UP = 1.0 / 3.0, 300.0  # of a slice, and [s]: what a process takes until then, it will need
ENOUGH = 3  # samples after the warm-up, of which a slope can be made
GROUPS = 60  # of samples in a row, whose medians count: neighbours are not independent
WHAT = ("memory [MB]", "handles", "threads")
# What may be certain to have come in a slice. Of memory: allocators keep something back.
BOUNDS = (16.0, 1.0, 1.0)
_NAME = re.compile(r"__node:=(\w+)|-m\0([\w.]+)")


class Growth(NamedTuple):
    """First and last value, slope per hour with its interval of 95 %, and what is certain to have come."""

    first: float
    last: float
    slope: float
    low: float
    high: float
    certain: float


def growth(times: Sequence[float], values: Sequence[float]) -> Growth:
    """Theil's and Sen's slope, the median of the slopes of all pairs: outliers and single steps do not move it.

    Args:
        times: of the samples [s].
        values: at these times.
    """
    from scipy.stats import theilslopes

    groups = min(GROUPS, len(times))
    t, y = ([float(np.median(group)) for group in np.array_split(one, groups)] for one in (times, values))
    hours = np.array(t) / 3600.0
    slope, _, low, high = theilslopes(y, hours)
    return Growth(y[0], y[-1], slope, low, high, max(low, 0.0) * float(hours[-1] - hours[0]))


def problems(growths: Mapping[str, Mapping[str, Growth]]) -> list[str]:
    """Quantities that certainly grew beyond their bounds."""
    return [
        f"{name}: {what} grew by {found[what].certain:.3g} for certain, from {found[what].first:.4g}"
        for name, found in growths.items()
        for what, bound in zip(WHAT, BOUNDS, strict=True)
        if found[what].certain > bound
    ]


class Watch:
    """Samples of this process and its descendants."""

    def __init__(self) -> None:
        """Begin without any."""
        self._looks: list[float] = []
        self._names: dict[int, str] = {}
        self._samples: dict[int, list[list[float]]] = {}

    def look(self) -> float:
        """Take a sample of each; the memory of all of them [MB]."""
        now, memory = time.monotonic(), 0.0
        self._looks.append(now)
        for process in _family():
            with suppress(OSError, IndexError):  # it has just ended
                folder = Path(f"/proc/{process}")
                size = 1e-6 * os.sysconf("SC_PAGE_SIZE") * int((folder / "statm").read_text().split()[1])
                counts = [float(len(list((folder / part).iterdir()))) for part in ("fd", "task")]
                words = (folder / "cmdline").read_bytes().decode(errors="replace")
                found = [node or module for node, module in _NAME.findall(words)]
                self._names[process] = (
                    "soak" if process == os.getpid() else found[-1] if found else words.split("\0")[0]
                )
                self._samples.setdefault(process, []).append([now, size, *counts])
                memory += size
        return memory

    def has_enough(self) -> bool:
        """Return True if the samples suffice for slopes."""
        return sum(time >= self._begin() for time in self._looks) >= ENOUGH

    def _begin(self) -> float:
        """End of the warm-up, as far as it was looked so far."""
        first, last = self._looks[0], self._looks[-1]
        return first + min(WARM_UP * (last - first), LONGEST_WARM_UP)

    def growths(self) -> dict[str, dict[str, Growth]]:
        """Slopes of all quantities since the end of the warm-up, by name."""
        begin, last = self._begin(), self._looks[-1]
        tables = {process: np.array(samples) for process, samples in self._samples.items()}
        tables = {process: table for process, table in tables.items() if table[0, 0] <= begin and table[-1, 0] == last}
        # A process that is about to start another bears its name twice for a moment.
        names, found = Counter(self._names[process] for process in tables), {}
        for process, table in tables.items():
            t, *columns = table[table[:, 0] >= begin].T
            if len(t) >= ENOUGH:
                name = self._names[process]
                name = name if names[name] == 1 else f"{name} {process}"
                found[name] = {what: growth(t, column) for what, column in zip(WHAT, columns, strict=True)}
        return found


def _family() -> list[int]:
    """This process and all below it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(entry.read_text(errors="replace").rpartition(")")[2].split()[1])
            parents.setdefault(parent, []).append(int(entry.parent.name))
    found = [os.getpid()]
    for process in found:
        found += parents.get(process, [])
    return found
