# SPDX-License-Identifier: Apache-2.0
"""Figures of experiments, and the exponent of a measured dependence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.drawing.panels import Panel
from ada_dynamics.drawing.plots import figure_of


def vector(title: str, ylabel: str, t: Array, rows: Array) -> Panel:
    """A panel with the components of a vector over time."""
    return Panel.of(title, ylabel, t, {name: rows[:, i] for i, name in enumerate("xyz")})


def picture(panels: Sequence[Panel], path: Path, title: str, columns: int | None = None) -> Path:
    """Write the panels to a file; create its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure_of(panels, path, columns, title=title)
    return path


def exponent(values: Sequence[float], x: Sequence[float]) -> float:
    """n in value ~ x^n, by a linear fit of the logarithms."""
    return float(np.polyfit(np.log(x), np.log(values), 1)[0])
