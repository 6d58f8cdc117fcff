# SPDX-License-Identifier: Apache-2.0
"""Snapshots of a motion: superimposed with increasing opacity (figs. 3.2, 3.10), or side by side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.analysis.motion import StateTrajectory, dynamics_of
from ada_dynamics.drawing.plots import figure_context, save
from ada_dynamics.drawing.robot_drawing import (
    SPACE,
    VIEWS,
    PlacedRobot,
    RobotDrawing,
    axes_limits,
    center_axes,
    draw_robot,
    exceeds_view,
    half_extent,
    prepare_axes,
    select_plane,
)
from ada_dynamics.errors import InputError

COUNT = 9
_SIDE = 4.6  # [inch], longer side of a figure
_SMALL = 2.1  # [inch], side of one of several pictures
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
    """Draw snapshots of a motion.

    Args:
        log: a `Log`, or a motion with model, t, q and v.
        path: file to write (.png, .pdf, .svg, ...), or None.
        times: times [s]; the nearest rows are drawn. By default `count` equally spaced ones.
        count: number of snapshots.
        plane: "xz", "yz", "xy" (orthogonal projection) or "3d"; by default "xz" for planar motions in it, else "3d".
        columns: pictures per row with one snapshot each; by default all snapshots are superimposed with increasing
            opacity, or side by side if the robot travels several times its size.
        title: title of the figure.

    Returns:
        The matplotlib Figure.

    Raises:
        InputError: a time is outside of the log, the plane is unknown, matplotlib is not installed, or the file cannot
            be written.
    """
    rows = _rows(log, times, count)
    if columns is not None and columns < 1:
        text = f"columns is {columns}; it must be at least 1, or None for superimposed snapshots."
        raise InputError(text, field="columns", value=columns)
    drawer = RobotDrawing(dynamics_of(log))
    poses = [drawer.at(log.q[i]) for i in rows]
    seen = select_plane(poses, plane)
    if columns is None and exceeds_view(poses):
        columns = _COLUMNS
    with figure_context() as new_figure:
        if columns is None:
            figure = _overlaid(new_figure, poses, seen)
        else:
            figure = _side_by_side(new_figure, poses, seen, [float(log.t[i]) for i in rows], columns)
        if title:
            figure.suptitle(title)
        if path is not None:
            save(figure, path)
    return figure


def _overlaid(new_figure: Any, poses: Sequence[PlacedRobot], plane: str) -> Any:
    figure = new_figure(*_size(poses, plane, _SIDE))
    axes = prepare_axes(figure, 111, poses, plane)
    for i, pose in enumerate(poses):
        share = i / (len(poses) - 1) if len(poses) > 1 else 1.0
        draw_robot(axes, pose, plane, FAINTEST + (1.0 - FAINTEST) * share**1.5, 2.0 + i)
    return figure


def _side_by_side(
    new_figure: Any, poses: Sequence[PlacedRobot], plane: str, times: Sequence[float], columns: int
) -> Any:
    columns = min(columns, len(poses))
    lines = -(-len(poses) // columns)
    half = half_extent(poses) if exceeds_view(poses) else None  # each picture is then centered at its own geometry
    width, height = _size(poses, plane, _SMALL) if half is None else (_SMALL + 0.35, _SMALL + 0.35)
    figure = new_figure(columns * width, lines * height)
    grid = figure.add_gridspec(lines, columns)
    for i, (pose, time) in enumerate(zip(poses, times, strict=True)):
        axes = prepare_axes(figure, grid[i // columns, i % columns], poses, plane)
        draw_robot(axes, pose, plane)
        if half is not None:
            center_axes(axes, pose, plane, half)
        axes.set_title(f"{time:.3g} s", fontsize="small")
        if plane == SPACE:
            axes.set(xlabel="", ylabel="", zlabel="")
            axes.tick_params(pad=-3, labelsize="xx-small")
        elif half is None:
            axes.label_outer()
    return figure


def _size(poses: Sequence[PlacedRobot], plane: str, side: float) -> tuple[float, float]:
    """Width and height of a picture [inch], with the aspect ratio of its content."""
    if plane == SPACE:
        return side, side * 0.92
    (left, right), (low, high) = axes_limits(poses, VIEWS[plane])
    shape = (right - left) / (high - low)
    around = 0.55 if side > _SMALL else 0.35  # labels of the axes
    if shape >= 1.0:
        return side + around, side / shape + around
    return side * shape + around, side + around


def _rows(log: StateTrajectory, times: ArrayLike | None, count: int) -> list[int]:
    if not len(log.t):
        raise InputError(f"the log of model {log.model.name!r} has no rows to draw.", field="log", value=0)
    if times is None:
        if count < 1:
            raise InputError(f"count is {count}; it must be at least 1.", field="count", value=count)
        wanted = np.linspace(log.t[0], log.t[-1], count) if count > 1 else log.t[-1:]
    else:
        wanted = np.atleast_1d(np.asarray(times, dtype=np.float64))
        outside = wanted[~((wanted >= log.t[0]) & (wanted <= log.t[-1]))]
        if len(outside) or not len(wanted):
            found = f"times has {outside[0]:g} s" if len(outside) else "times is empty"
            text = f"{found}; give times of the log, from {log.t[0]:g} s to {log.t[-1]:g} s."
            raise InputError(text, field="times", allowed=(float(log.t[0]), float(log.t[-1])))
    return [int(np.argmin(np.abs(log.t - time))) for time in wanted]
