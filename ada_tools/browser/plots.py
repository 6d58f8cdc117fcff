# SPDX-License-Identifier: Apache-2.0
"""Time plots: of a whole log with a cursor, and of the last seconds of a running motion."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.drawing.colours import PALETTE
from ada_dynamics.drawing.plots import extreme_rows
from ada_tools.browser.page import Page
from ada_tools.browser.robot_node import Moment

CURVES = 8  # maximum number of distinguishable curves
_POINTS = 400  # points per curve, about the plot width in pixels
_SECONDS = 10.0  # [s] time span of a live plot
POINT = _SECONDS / _POINTS  # [s] between points of a live plot
_HEIGHT = 190  # [pixels]
_CURSOR = "#888888"
_MARGIN = 0.05  # margin above and below the curves, as a fraction of the value range


class LogPlot:
    """Curves of a whole motion, with a time cursor."""

    def __init__(self, gui: Any, title: str, t: Array, curves: Mapping[str, Array]) -> None:
        """Create the plot.

        Args:
            gui: viser GUI, with the target folder open.
            title: title with the unit.
            t: times [s].
            curves: values at these times, by name; the first `CURVES` are shown.
        """
        self._all = np.asarray(t, dtype=np.float64)
        self._node: Any = None
        self._now = float(self._all[0])
        self._gui, self._title = gui, title
        self.replace(curves)

    def replace(self, curves: Mapping[str, Array]) -> None:
        """Replace the curves; the times stay the same."""
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
        """Move the cursor to a time."""
        if t != self._now:
            self._now = t
            self._node.data = self._data()

    def _data(self) -> tuple[Array, ...]:
        """Curves, and a cursor curve with a vertical spike at the present time.

        The charts have no cursor that the server can move.
        """
        low, high = self._limits
        at = int(np.searchsorted(self._t, self._now, side="right"))
        t = np.concatenate([self._t[:at], [self._now] * 3, self._t[at:]])
        cursor = np.full(len(t), low)
        cursor[at + 1] = high
        values = [np.interp(t, self._t, v) for v in self._values]
        return (t, *values, cursor)


class LivePlot:
    """Curves of the last seconds of a running motion."""

    def __init__(self, gui: Any, title: str, names: Sequence[str], seconds: float = _SECONDS) -> None:
        """Create an empty plot.

        Args:
            gui: viser GUI, with the target folder open.
            title: title with the unit.
            names: names of the curves; the first `CURVES` are shown.
            seconds: time span.
        """
        self._names = list(names)[:CURVES]
        self._seconds = seconds
        self.period = seconds / _POINTS
        self._rows: deque[Array] = deque()
        self._node = gui.add_uplot(
            self._data(), _series(self._names), title=title, scales={"x": _PLAIN_X}, height=_HEIGHT
        )

    def replace(self, title: str, names: Sequence[str]) -> None:
        """Show other curves, without samples."""
        self._names = list(names)[:CURVES]
        self._rows.clear()
        self._node.title, self._node.series, self._node.data = title, _series(self._names), self._data()

    def add(self, t: float, values: Sequence[float]) -> None:
        """Add a sample; a time before the last one restarts the plot.

        Of samples closer than `period` only the latest is kept. Older points are not resampled, so that the curve keeps
        its shape while it scrolls.
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
        """Send the added samples."""
        self._node.data = self._data()

    @property
    def count(self) -> int:
        """Number of displayed samples."""
        return len(self._rows)

    def _data(self) -> tuple[Array, ...]:
        rows = np.array(self._rows) if self._rows else np.zeros((2, 1 + len(self._names)))
        return tuple(np.ascontiguousarray(column) for column in rows.T)


class Signal(NamedTuple):
    """Quantities of a robot that a plot shows: their names, and their values in a state; None if unknown."""

    names: Sequence[str]
    values: Callable[[Moment], Sequence[float] | None]


class SignalPlot:
    """Plot of the last seconds of a signal that the user chooses.

    Attributes:
        choice: viser list of the signals.
        plot: plot of the chosen signal.
    """

    def __init__(self, page: Page, signals: Mapping[str, Signal]) -> None:
        """Add list and plot to the current section of the page.

        Args:
            page: page to draw on.
            signals: signals by title with the unit; the first one is shown.
        """
        self._signals = signals
        first = next(iter(signals))
        self.choice = page.gui.add_dropdown("signal", tuple(signals), initial_value=first)
        self.plot = LivePlot(page.gui, first, signals[first].names)
        page.when(self.choice, self.choose)

    def choose(self) -> None:
        """Show the chosen signal from now on."""
        title = str(self.choice.value)
        self.plot.replace(title, self._signals[title].names)

    def add(self, moment: Moment) -> None:
        """Add a state."""
        values = self._signals[str(self.choice.value)].values(moment)
        if values is not None:
            self.plot.add(moment.t, values)


_PLAIN_X = {"time": False}  # seconds, not dates


def shown_rows(curves: Sequence[Array], count: int, points: int = _POINTS) -> NDArray[np.intp]:
    """Rows for drawing long curves: evenly spaced ones, and the local extrema of each curve.

    Args:
        curves: curves over the same times.
        count: number of rows.
        points: approximate number of rows to return.
    """
    if count <= points:
        return np.arange(count)
    half = points // 2
    kept = [extreme_rows(curve, max(2, half // len(curves))) for curve in curves]
    return np.unique(np.concatenate([np.linspace(0, count - 1, half).astype(int), *kept]))


def value_range(curves: Sequence[Array]) -> tuple[float, float]:
    """Limits of all finite values, with a margin."""
    finite = [v[np.isfinite(v)] for v in curves]
    low = min((float(v.min()) for v in finite if len(v)), default=0.0)
    high = max((float(v.max()) for v in finite if len(v)), default=1.0)
    margin = _MARGIN * (high - low) or max(abs(high), 1.0) * _MARGIN
    return low - margin, high + margin


def _series(names: Sequence[str]) -> tuple[dict[str, Any], ...]:
    """Plot styles; a series without a name is the cursor."""
    shown: list[dict[str, Any]] = [{"label": "t [s]"}]
    for i, name in enumerate(names):
        if name:
            shown.append({"label": name, "stroke": PALETTE[i % len(PALETTE)], "width": 1.5, "points": {"show": False}})
        else:
            shown.append({"label": "now", "stroke": _CURSOR, "width": 1.5, "points": {"show": False}})
    return tuple(shown)
