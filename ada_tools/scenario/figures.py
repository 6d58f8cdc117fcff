# SPDX-License-Identifier: Apache-2.0
"""The figures of a scenario: panels over time laid out like the document's, snapshots of the motion."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ada_tools.scenario.scenario import FigurePart

if TYPE_CHECKING:
    from ada_dynamics.simulation import Log


def draw(figure: FigurePart, log: Log, output: Path) -> list[Path]:
    """Draw a figure into a folder.

    Args:
        figure: what to draw.
        log: the motion.
        output: folder.

    Returns:
        The files.

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
