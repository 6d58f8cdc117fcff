# SPDX-License-Identifier: Apache-2.0
"""Curves over time beside the 3D scene, with a cursor that the server moves, or a window that follows the motion."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.drawing.colours import PALETTE
from ada_dynamics.drawing.plots import extreme_rows

CURVES = 8  # more cannot be distinguished
_POINTS = 400  # of a curve: as many as the plot has pixels
_SECONDS = 10.0  # that a live plot goes back
POINT = _SECONDS / _POINTS  # [s] between points of a live plot
_HEIGHT = 190  # [pixels]
_CURSOR = "#888888"
_MARGIN = 0.05  # of the range of values, above and below the curves


class LogPlot:
    """Curves of a whole motion, with a cursor at one time."""

    def __init__(self, gui: Any, title: str, t: Array, curves: Mapping[str, Array]) -> None:
        """Draw them.

        Args:
            gui: viser's, within the folder that is open.
            title: of the plot, with the unit.
            t: times [s].
            curves: values at these times, by name; the first few are shown.
        """
        self._all = np.asarray(t, dtype=np.float64)
        self._node: Any = None
        self._now = float(self._all[0])
        self._gui, self._title = gui, title
        self.replace(curves)

    def replace(self, curves: Mapping[str, Array]) -> None:
        """Show other curves over the same times."""
        self._names = list(curves)[:CURVES]
        values = [np.asarray(curves[name], dtype=np.float64) for name in self._names]
        rows = shown_rows(values, len(self._all))
        self._t = self._all[rows]
        self._values = [curve[rows] for curve in values]
        low, high = value_range(self._values)
        self._limits = low, high
        data, series, scales = self._data(), _series([*self._names, ""]), {"y": {"range": (low, high)}, "x": _PLAIN_X}
        if self._node is None:
            self._node = self._gui.add_uplot(data, series, title=self._title, scales=scales, height=_HEIGHT)
            return
        self._node.series, self._node.scales, self._node.data = series, scales, data

    def show(self, t: float) -> None:
        """Put the cursor at a time."""
        if t != self._now:
            self._now = t
            self._node.data = self._data()

    def _data(self) -> tuple[Array, ...]:
        """The curves, and one that lies on the lower edge but for the cursor, where it goes to the upper one and back.

        The charts have no cursor of their own that a server could move.
        """
        low, high = self._limits
        at = int(np.searchsorted(self._t, self._now, side="right"))
        t = np.concatenate([self._t[:at], [self._now] * 3, self._t[at:]])
        cursor = np.full(len(t), low)
        cursor[at + 1] = high
        values = [np.interp(t, self._t, v) for v in self._values]
        return (t, *values, cursor)


class LivePlot:
    """Curves of the last seconds of a motion that goes on."""

    def __init__(self, gui: Any, title: str, names: Sequence[str], seconds: float = _SECONDS) -> None:
        """Begin without values.

        Args:
            gui: viser's, within the folder that is open.
            title: of the plot, with the unit.
            names: of the curves; the first few are shown.
            seconds: how far back they go.
        """
        self._names = list(names)[:CURVES]
        self._seconds = seconds
        self.period = seconds / _POINTS
        self._rows: deque[Array] = deque()
        self._node = gui.add_uplot(
            self._data(), _series(self._names), title=title, scales={"x": _PLAIN_X}, height=_HEIGHT
        )

    def add(self, t: float, values: Sequence[float]) -> None:
        """One more moment; a time before the last one begins anew.

        Moments that are nearer to each other than `period` share a point, the newest one. Points that are further back
        stay as they are, so that the curve does not change its shape while it moves along.
        """
        if self._rows and t < self._rows[-1][0]:
            self._rows.clear()
        if self._rows and t == self._rows[-1][0]:
            return
        if len(self._rows) > 1 and t - self._rows[-2][0] <= self.period:
            self._rows.pop()
        self._rows.append(np.array([t, *values[: len(self._names)]], dtype=np.float64))
        while t - self._rows[0][0] > self._seconds:
            self._rows.popleft()

    def draw(self) -> None:
        """Send what was added."""
        self._node.data = self._data()

    @property
    def count(self) -> int:
        """How many moments are shown."""
        return len(self._rows)

    def _data(self) -> tuple[Array, ...]:
        rows = np.array(self._rows) if self._rows else np.zeros((2, 1 + len(self._names)))
        return tuple(np.ascontiguousarray(column) for column in rows.T)


_PLAIN_X = {"time": False}  # seconds, not dates


def shown_rows(curves: Sequence[Array], count: int, points: int = _POINTS) -> NDArray[np.intp]:
    """Rows of long curves that are drawn: every so many-th, and where a curve is least or greatest in its stretch.

    Args:
        curves: over the same times.
        count: of their values.
        points: about how many rows may be left.
    """
    if count <= points:
        return np.arange(count)
    half = points // 2
    kept = [extreme_rows(curve, max(2, half // len(curves))) for curve in curves]
    return np.unique(np.concatenate([np.linspace(0, count - 1, half).astype(int), *kept]))


def value_range(curves: Sequence[Array]) -> tuple[float, float]:
    """From a little below the smallest value to a little above the largest one."""
    finite = [v[np.isfinite(v)] for v in curves]
    low = min((float(v.min()) for v in finite if len(v)), default=0.0)
    high = max((float(v.max()) for v in finite if len(v)), default=1.0)
    margin = _MARGIN * (high - low) or max(abs(high), 1.0) * _MARGIN
    return low - margin, high + margin


def _series(names: Sequence[str]) -> tuple[dict[str, Any], ...]:
    """How the curves look; one without a name is the cursor."""
    shown: list[dict[str, Any]] = [{"label": "t [s]"}]
    for i, name in enumerate(names):
        if name:
            shown.append({"label": name, "stroke": PALETTE[i % len(PALETTE)], "width": 1.5, "points": {"show": False}})
        else:
            shown.append({"label": "now", "stroke": _CURSOR, "width": 1.5, "points": {"show": False}})
    return tuple(shown)
