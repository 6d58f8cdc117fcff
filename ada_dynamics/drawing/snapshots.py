# SPDX-License-Identifier: Apache-2.0
"""Snapshots of a motion: several poses over each other, fading in (figs. 3.2, 3.10), or side by side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.analysis.motion import StateTrajectory, dynamics_of
from ada_dynamics.drawing.drawing import (
    SPACE,
    VIEWS,
    Figurine,
    Pose,
    box,
    draw,
    goes_far,
    look_at,
    prepare,
    reach,
    view_of,
)
from ada_dynamics.drawing.plots import drawing, save
from ada_dynamics.errors import InputError

COUNT = 9
_SIDE = 4.6  # of a picture's longer side [inch]
_SMALL = 2.1  # of one of several
_COLUMNS = 5
FAINTEST = 0.12


def plot_snapshots(
    log: StateTrajectory,
    path: str | os.PathLike[str] | None = None,
    *,
    times: ArrayLike | None = None,
    count: int = COUNT,
    plane: str | None = None,
    columns: int | None = None,
    title: str | None = None,
) -> Any:
    """Draw poses of a motion.

    Args:
        log: a `Log`, or anything with its model, t, q and v.
        path: file to write (.png, .pdf, .svg, ...); none where None.
        times: at which [s]; the nearest rows are drawn. By default `count` of them, evenly spread.
        count: how many.
        plane: "xz", "yz", "xy" (seen along an axis) or "3d"; by default "xz" for a robot that stays in it, else "3d".
        columns: pictures side by side, each of one pose; by default all poses are in one picture, the last one darkest,
            or side by side where the robot goes so far that it would be a speck in it.
        title: above all.

    Returns:
        matplotlib's Figure.

    Raises:
        InputError: a time is not in the log, there is no such plane, matplotlib is missing, or the file cannot be
            written.
    """
    rows = _rows(log, times, count)
    if columns is not None and columns < 1:
        raise InputError(f"columns is {columns}; it must be at least 1, or None for one picture of all poses.")
    figurine = Figurine(dynamics_of(log))
    poses = [figurine.at(log.q[i]) for i in rows]
    seen = view_of(poses, plane)
    if columns is None and goes_far(poses):
        columns = _COLUMNS
    with drawing() as new_figure:
        if columns is None:
            figure = _overlaid(new_figure, poses, seen)
        else:
            figure = _side_by_side(new_figure, poses, seen, [float(log.t[i]) for i in rows], columns)
        if title:
            figure.suptitle(title)
        if path is not None:
            save(figure, path)
    return figure


def _overlaid(new_figure: Any, poses: Sequence[Pose], plane: str) -> Any:
    figure = new_figure(*_size(poses, plane, _SIDE))
    axes = prepare(figure, 111, poses, plane)
    for i, pose in enumerate(poses):
        share = i / (len(poses) - 1) if len(poses) > 1 else 1.0
        draw(axes, pose, plane, FAINTEST + (1.0 - FAINTEST) * share**1.5, 2.0 + i)
    return figure


def _side_by_side(new_figure: Any, poses: Sequence[Pose], plane: str, times: Sequence[float], columns: int) -> Any:
    columns = min(columns, len(poses))
    lines = -(-len(poses) // columns)
    half = reach(poses) if goes_far(poses) else None  # each picture then looks at its own pose
    width, height = _size(poses, plane, _SMALL) if half is None else (_SMALL + 0.35, _SMALL + 0.35)
    figure = new_figure(columns * width, lines * height)
    grid = figure.add_gridspec(lines, columns)
    for i, (pose, time) in enumerate(zip(poses, times, strict=True)):
        axes = prepare(figure, grid[i // columns, i % columns], poses, plane)
        draw(axes, pose, plane)
        if half is not None:
            look_at(axes, pose, plane, half)
        axes.set_title(f"{time:.3g} s", fontsize="small")
        if plane == SPACE:
            axes.set(xlabel="", ylabel="", zlabel="")
            axes.tick_params(labelbottom=False, labelleft=False)
            axes.set_zticklabels([])
        elif half is None:
            axes.label_outer()
    return figure


def _size(poses: Sequence[Pose], plane: str, side: float) -> tuple[float, float]:
    """Width and height of a picture [inch], near the shape of what is in it."""
    if plane == SPACE:
        return side, side * 0.92
    (left, right), (low, high) = box(poses, VIEWS[plane])
    shape = (right - left) / (high - low)
    around = 0.55 if side > _SMALL else 0.35  # labels of the axes
    if shape >= 1.0:
        return side + around, side / shape + around
    return side * shape + around, side + around


def _rows(log: StateTrajectory, times: ArrayLike | None, count: int) -> list[int]:
    if not len(log.t):
        raise InputError(f"the log of model {log.model.name!r} has no rows to draw.")
    if times is None:
        if count < 1:
            raise InputError(f"count is {count}; at least one pose must be drawn.")
        wanted = np.linspace(log.t[0], log.t[-1], count) if count > 1 else log.t[-1:]
    else:
        wanted = np.atleast_1d(np.asarray(times, dtype=np.float64))
        outside = wanted[~((wanted >= log.t[0]) & (wanted <= log.t[-1]))]
        if len(outside) or not len(wanted):
            found = f"times has {outside[0]:g} s" if len(outside) else "times is empty"
            raise InputError(f"{found}; give times of the log, from {log.t[0]:g} s to {log.t[-1]:g} s.")
    return [int(np.argmin(np.abs(log.t - time))) for time in wanted]
