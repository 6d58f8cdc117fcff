# SPDX-License-Identifier: Apache-2.0
"""S2: figures of the hybrid motion simulation: forces as in figs. 12-15, energies, and a table of values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from ada_dynamics.drawing.panels import Panel, Series
from ada_experiments.motion_simulation.lock_step import Record
from ada_experiments.pictures import picture
from ada_experiments.space_robots import ContactRun
from ada_tools.scenario.registry import Table

CAPTIONS = {
    "s2_forces.png": "Like figs. 12-15: on the table, and by numbers only",
    "s2_energy.png": "Energy of both robots, by that of the touch: with the delay compensated, and without",
    "s2_network.png": "A bad network: force with and without compensation; delay of each force",
    "s2_table.png": "What the plate was sent, and where it was; the probe stops it at zero",
}
_BEFORE, _AFTER = 0.03, 0.06  # [s] displayed margins of a contact


class FigureData(Protocol):
    """Data of a case required for the figures."""

    @property
    def name(self) -> str:
        """Name of the case."""

    @property
    def stiffness(self) -> float:
        """Contact stiffness [N/m]."""

    @property
    def hybrid(self) -> Record:
        """Record with delay compensation."""

    @property
    def late(self) -> Record:
        """Record without compensation."""

    @property
    def numeric(self) -> ContactRun:
        """Numeric contact."""


def pictures_of(cases: Sequence[FigureData], bad: Sequence[Record], output: Path) -> list[Path]:
    """All figures, in the order of the report."""
    return [
        _forces(cases, output / "s2_forces.png"),
        _energies(cases, output / "s2_energy.png"),
        _network(bad, output / "s2_network.png"),
        _table(cases, output / "s2_table.png"),
    ]


def _forces(cases: Sequence[FigureData], path: Path) -> Path:
    panels = []
    for case in cases:
        begin, end = case.hybrid.touch
        series = []
        for label, t, force, style in (
            ("hybrid", case.hybrid.t, case.hybrid.push, ""),
            ("hybrid, delay not compensated", case.late.t, case.late.push, ":"),
            ("numeric", case.numeric.log.t, case.numeric.force, "--"),
        ):
            rows = (t > begin - _BEFORE) & (t < end + _AFTER)
            series.append(Series(label, t[rows] - begin, force[rows], style))
        panels.append(Panel(case.name, "Force [N]", series))
    return picture(panels, path, "Force of the touch (like figs. 12-15)", 2)


def _energies(cases: Sequence[FigureData], path: Path) -> Path:
    panels = []
    for case in cases:
        series = [
            Series(label, record.t, (record.energy - record.energy[0]) / record.touch_energy, style)
            for label, record, style in (("compensated", case.hybrid, ""), ("not compensated", case.late, "--"))
        ]
        panels.append(Panel(case.name, "[½ m_e v²]", series))
    return picture(panels, path, "Energy of both robots since the start", 2)


def _network(bad: Sequence[Record], path: Path) -> Path:
    compensated, late = bad
    forces = [
        Series("compensated", compensated.t, compensated.push),
        Series("not compensated", late.t, late.push, "--"),
    ]
    delays = [Series("delay", compensated.t, 1e3 * compensated.delay)]
    panels = [Panel("Force", "[N]", forces), Panel("Delay of each force", "[ms]", delays)]
    return picture(panels, path, "A network with delay, jitter and loss", 2)


def _table(cases: Sequence[FigureData], path: Path) -> Path:
    record = cases[0].hybrid
    begin, end = record.touch
    rows = (record.t > begin - _BEFORE) & (record.t < end + _AFTER)
    t = record.t[rows]
    curves = {"sent": 1e3 * record.sent[rows], "measured": 1e3 * record.plate[rows]}
    return picture([Panel.of(cases[0].name, "Face from the probe [mm]", t, curves)], path, "The motion table's plate")


def table_of(cases: Sequence[FigureData]) -> Table:
    """Values of the first contacts."""
    columns = (
        "case",
        "k [N/m]",
        "peak, hybrid [N]",
        "numeric",
        "touch, hybrid [ms]",
        "numeric",
        "energy gained, compensated",
        "not compensated",
    )
    rows = []
    for case in cases:
        begin, end = case.hybrid.touch
        rows.append(
            (
                case.name,
                f"{case.stiffness:.0f}",
                f"{np.max(case.hybrid.smoothed()):.2f}",
                f"{case.numeric.peak:.2f}",
                f"{1e3 * (end - begin):.0f}",
                f"{1e3 * case.numeric.duration:.0f}",
                f"{100 * case.hybrid.gain:.1f} %",
                f"{100 * case.late.gain:.1f} %",
            )
        )
    return Table("The touch", columns, rows, "peaks of the mean over 10 ms; energy by ½ m_e v² of the approach")
