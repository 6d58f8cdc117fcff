# SPDX-License-Identifier: Apache-2.0
"""What a trial of load finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Figure(NamedTuple):
    """A number, or a word, and what it must not exceed; without a limit it is told alone."""

    what: str
    value: float | str
    limit: float | None = None
    at_least: bool = False

    @property
    def holds(self) -> bool:
        """True if it keeps its limit."""
        if self.limit is None:
            return True
        value = float(self.value)
        return value >= self.limit if self.at_least else value <= self.limit


class Trial(NamedTuple):
    """A trial by its name; `run` gets how long each part of it is watched [s]."""

    name: str
    run: Callable[[float], Sequence[Figure]]


Window = tuple[float, float]


def periods(file: Path, window: Window) -> NDArray[np.float64]:
    """Median, 99 % and longest of the periods of a thread in a window of the steady clock [ms], from its wake-ups."""
    woke = np.load(file)[:, 0] * 1e-9
    inside = np.diff(woke[(woke >= window[0]) & (woke < window[1])]) * 1e3
    return np.asarray(np.quantile(inside, (0.5, 0.99, 1.0)) if len(inside) else np.full(3, np.nan))


def memory(pid: int) -> float:
    """Of a process [MB]."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1e3
