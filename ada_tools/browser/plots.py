# SPDX-License-Identifier: Apache-2.0
"""Time plots of a robot: of the last seconds of a running motion, or of a whole recording with a cursor."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.drawing.colours import PALETTE
from ada_dynamics.errors import AdaError
from ada_tools.browser.page import Page
from ada_tools.browser.robot_node import Moment

CURVES = 8  # maximum number of distinguishable curves
_POINTS = 400  # points per curve, about the plot width in pixels
_SECONDS = 10.0  # [s] time span of a live plot
POINT = _SECONDS / _POINTS  # [s] between points of a live plot
_HEIGHT = 190  # [pixels]
_CURSOR = "#888888"


class LivePlot:
    """Curves of the last seconds of a running motion; with a cursor at a selected time, if there is one."""

    def __init__(
        self, gui: Any, title: str, names: Sequence[str], seconds: float = _SECONDS, cursor: float | None = None
    ) -> None:
        """Create an empty plot of some seconds, in the open folder; the first `CURVES` of the names are shown."""
        self._names = list(names)[:CURVES]
        self._seconds, self.period = seconds, seconds / _POINTS
        self.cursor = cursor
        self._rows: deque[Array] = deque()
        scales = {"x": {"time": False}}  # seconds, not dates
        self._node = gui.add_uplot(self._data(), self._series(), title=title, scales=scales, height=_HEIGHT)

    def replace(self, title: str, names: Sequence[str]) -> None:
        """Show other curves, without samples."""
        self._names = list(names)[:CURVES]
        self._rows.clear()
        self._node.title, self._node.series, self._node.data = title, self._series(), self._data()

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
        """Send the added samples and the cursor."""
        self._node.data = self._data()

    def _data(self) -> tuple[Array, ...]:
        """Curves, and a cursor curve with a spike: the charts have no cursor that the server can move."""
        rows = np.array(self._rows) if self._rows else np.zeros((2, 1 + len(self._names)))
        if self.cursor is not None:
            at = int(np.searchsorted(rows[:, 0], self.cursor, side="right"))
            here = [self.cursor, *(np.interp(self.cursor, rows[:, 0], column) for column in rows[:, 1:].T)]
            rows = np.insert(rows, at, [here] * 3, axis=0)
            spike = np.full(len(rows), np.nanmin(rows[:, 1:]))
            spike[at + 1] = np.nanmax(rows[:, 1:])
            rows = np.column_stack([rows, spike])
        return tuple(np.ascontiguousarray(column) for column in rows.T)

    def _series(self) -> tuple[dict[str, Any], ...]:
        """Plot styles of the time, the curves and the cursor."""
        colours = [PALETTE[i % len(PALETTE)] for i in range(len(self._names))]
        lines = list(zip(self._names, colours, strict=True))
        if self.cursor is not None:
            lines.append(("now", _CURSOR))
        style = {"width": 1.5, "points": {"show": False}}
        return ({"label": "t [s]"}, *({"label": name, "stroke": colour, **style} for name, colour in lines))


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

    def __init__(self, page: Page, signals: Mapping[str, Signal], recorded: Sequence[Moment] = ()) -> None:
        """Add list and plot to the current section of the page.

        Args:
            page: page to draw on.
            signals: signals by title with the unit; the first one is shown.
            recorded: states of a recording, which is plotted as a whole.
        """
        self._signals, self._recorded = signals, recorded
        first = next(iter(signals))
        span = {"seconds": (recorded[-1].t - recorded[0].t) or 1.0, "cursor": recorded[0].t} if recorded else {}
        self.choice = page.gui.add_dropdown("signal", tuple(signals), initial_value=first)
        self.plot = LivePlot(page.gui, first, signals[first].names, **span)
        page.when(self.choice, self.choose)
        self.choose()

    def choose(self) -> None:
        """Show the chosen signal from now on."""
        title = str(self.choice.value)
        self.plot.replace(title, self._signals[title].names)
        for moment in self._recorded:
            self._take(moment)
        self.plot.draw()

    def add(self, moment: Moment) -> None:
        """Add a state, or move the cursor of a recording there."""
        if self._recorded:
            self.plot.cursor = moment.t
            return
        with suppress(AdaError):  # reported when the signal is chosen
            self._take(moment)

    def _take(self, moment: Moment) -> None:
        values = self._signals[str(self.choice.value)].values(moment)
        if values is not None:
            self.plot.add(moment.t, values)
