# SPDX-License-Identifier: Apache-2.0
"""Figures of experiments whose curves are no log: made without a display, written as PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.errors import InputError

COMPONENTS = ("x", "y", "z")


class Curves(NamedTuple):
    """A panel: its title, what is on its vertical axis, and curves by their names, (t, values) each."""

    title: str
    label: str
    series: Mapping[str, tuple[ArrayLike, ArrayLike]]
    dashed: Sequence[str] = ()


def new_figure(width: float, height: float) -> Any:
    """An empty figure.

    Raises:
        InputError: matplotlib is missing.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("figures of experiments need matplotlib: pip install 'ada_dynamics[tools]'") from None
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Any, path: Path) -> Path:
    """Write a figure.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=110)
    except (OSError, ValueError) as problem:
        raise InputError(f"the figure cannot be written to {path}: {problem}") from None
    return path


def by_component(t: ArrayLike, values: Any, names: Sequence[str] = COMPONENTS) -> dict[str, tuple[ArrayLike, ArrayLike]]:
    """Columns of an array as curves."""
    return {name: (t, values[:, i]) for i, name in enumerate(names)}


def draw(panels: Sequence[Curves], path: Path, columns: int = 2, title: str = "") -> Path:
    """Panels over time, (a), (b), ... row by row."""
    rows = -(-len(panels) // columns)
    figure = new_figure(4.6 * columns, 0.4 + 2.3 * rows)
    grid: Any = figure.subplots(rows, columns, squeeze=False, sharex=True)
    for i, (axes, panel) in enumerate(zip(grid.ravel(), panels, strict=False)):
        for k, (name, (t, values)) in enumerate(panel.series.items()):
            style = "--" if name in panel.dashed else "-"
            axes.plot(np.asarray(t), np.asarray(values), style, color=f"C{k}", linewidth=1.1, label=name)
        axes.set_title(f"({chr(ord('a') + i)}) {panel.title}", fontsize="medium")
        axes.set_ylabel(panel.label)
        axes.grid(linewidth=0.3)
        if len(panel.series) > 1:
            axes.legend(fontsize="x-small", ncols=2)
    for axes in grid.ravel()[len(panels) :]:
        axes.set_visible(False)
    for axes in grid[-1]:
        axes.set_xlabel("time [s]")
    if title:
        figure.suptitle(title)
    return save(figure, path)
