# SPDX-License-Identifier: Apache-2.0
"""Figures of a scenario: time plots arranged as in the document, and motion snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ada_tools.scenario.scenario import FigurePart

if TYPE_CHECKING:
    from ada_dynamics.simulation import Log


def draw(figure: FigurePart, log: Log, output: Path) -> list[Path]:
    """Draw a figure.

    Args:
        figure: description of the figure.
        log: motion.
        output: output folder.

    Returns:
        Paths of the files.

    Raises:
        InputError: a panel is unknown, matplotlib is missing, or a file cannot be written.
    """
    path = output / f"{figure.file}.png"
    if figure.panels:
        from ada_dynamics.drawing.plots import plot_log

        plot_log(log, path, list(figure.panels), columns=figure.columns)
        return [path]
    from ada_dynamics.drawing.snapshots import plot_snapshots

    plot_snapshots(log, path, count=figure.snapshots, plane=figure.plane, columns=figure.columns)
    if not figure.animation:
        return [path]
    from ada_dynamics.drawing.animate import animate

    moving = output / f"{figure.file}.gif"
    animate(log, moving)
    return [path, moving]
