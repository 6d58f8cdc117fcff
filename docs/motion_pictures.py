# SPDX-License-Identifier: Apache-2.0
"""Pictures of the examples that simulate: some poses of the motion, and what is to be seen over time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ada_dynamics.drawing.robot_drawing import RobotDrawing, draw_robot, prepare_axes

Names = dict[str, Any]
SIZE = (8.0, 3.4)  # [inch]


def simulate_arm(example: Names) -> Figure:
    """The fall, and its energies."""
    log = example["fall"]
    figure, right = _poses(log, np.linspace(0.0, 0.9, 6), "xz")
    for values, label in zip((*log.energy, log.total_energy), ("kinetic", "potential", "total"), strict=True):
        right.plot(log.t, values, label=label)
    right.set(xlabel="time [s]", ylabel="energy [J]")
    right.legend(fontsize="small")
    return figure


def stand_and_push(example: Names) -> Figure:
    """The humanoid on its soles, and how far the zero-moment point stays inside of them."""
    log, balance = example["log"], example["balance"]
    figure, right = _poses(log, (0.9, 1.1, 1.3), "xz")
    right.plot(log.t, 1e3 * balance.margin, label="zero-moment point inside the soles [mm]")
    right.plot(log.t, 1e3 * (log.q[:, 0] - log.q[500, 0]), label="way of the trunk [mm]")
    right.axvspan(1.0, 1.1, color="C3", alpha=0.2, lw=0, label="push")
    right.set(xlabel="time [s]", xlim=(0.5, 3.0), ylim=(-8.0, 62.0))
    right.legend(fontsize="small")
    return figure


def control_arm(example: Names) -> Figure:
    """The arm whose hand gives way to a push like a spring, and its way."""
    log = example["log"]
    figure, right = _poses(log, (0.0, 2.4), "xz")
    right.plot(log.t, 1e3 * example["moved"])
    right.axhline(20.0, color="0.6", ls="--", label="20 N by 1000 N/m")
    right.axvspan(0.5, 2.5, color="C3", alpha=0.15, lw=0, label="push of 20 N")
    right.set(xlabel="time [s]", ylabel="way of the hand [mm]")
    right.legend(fontsize="small")
    return figure


MOTIONS: dict[str, Callable[[Names], Figure]] = {
    one.__name__: one for one in (simulate_arm, stand_and_push, control_arm)
}


def _poses(log: Any, times: Any, plane: str) -> tuple[Figure, Any]:
    """A figure with poses of a motion to the left, the last one darkest, and axes to the right."""
    figure = Figure(figsize=SIZE, layout="constrained")
    drawer = RobotDrawing(log.dynamics)
    poses = [drawer.at(log.q[row]) for row in np.searchsorted(log.t, times).clip(max=len(log) - 1)]
    axes = prepare_axes(figure, 121, poses, plane)
    for i, pose in enumerate(poses, 1):
        draw_robot(axes, pose, plane, 0.12 + 0.88 * (i / len(poses)) ** 1.5, 2.0 + i)
    return figure, figure.add_subplot(122)
