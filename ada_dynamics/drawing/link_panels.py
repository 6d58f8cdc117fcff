# SPDX-License-Identifier: Apache-2.0
"""Panels of one link: where its origin is and how fast it moves (Takahashi 2012, figs. 7.4 e, f)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ada_dynamics.analysis.motion import dynamics_of
from ada_dynamics.drawing.panels import Panel

POSITION, VELOCITY = "link_position:", "link_velocity:"  # before the name of the link
_XYZ = ("x", "y", "z")


def link_panel(motion: Any, name: str) -> Panel:
    """The panel "link_position:NAME" or "link_velocity:NAME" of a motion.

    Raises:
        InputError: the robot has no such link.
    """
    dynamics = dynamics_of(motion)
    if name.startswith(POSITION):
        link = name.removeprefix(POSITION)
        rows = np.asarray(dynamics.pose(link, motion.q))[:, :3, 3]
        return Panel.of(f"Position of {link}", "[m]", motion.t, {axis: rows[:, i] for i, axis in enumerate(_XYZ)})
    link = name.removeprefix(VELOCITY)
    rows = np.asarray(dynamics.velocity(link, motion.q, motion.v))[:, :3]
    return Panel.of(f"Velocity of {link}", "[m/s]", motion.t, {axis: rows[:, i] for i, axis in enumerate(_XYZ)})
