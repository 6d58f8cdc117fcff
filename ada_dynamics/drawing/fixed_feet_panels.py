# SPDX-License-Identifier: Apache-2.0
"""Panels of a robot that stands on fixed feet and is pushed (Takahashi 2012, figs. 6.6 and 6.8)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ada_dynamics.analysis.fixed_feet import fixed_feet_of, fixing_joints
from ada_dynamics.analysis.motion import dynamics_of
from ada_dynamics.drawing.panels import Panel, Series, panel

_TRUNK = "body"


@panel("trunk_angles")
def trunk_angles(motion: Any) -> list[Panel]:
    """Roll, pitch and yaw of the link `body`, as printed of the upper body."""
    if _TRUNK not in motion.model.links:
        return []
    R = dynamics_of(motion).pose(_TRUNK, motion.q)[..., :3, :3]
    level = np.hypot(R[:, 0, 0], R[:, 1, 0])
    angles = {
        "x": np.arctan2(R[:, 2, 1], R[:, 2, 2]),
        "y": np.arctan2(-R[:, 2, 0], level),
        "z": np.arctan2(R[:, 1, 0], R[:, 0, 0]),
    }
    return [Panel.of("Upper body angle", "[deg]", motion.t, {name: np.degrees(x) for name, x in angles.items()})]


@panel("fixed_feet_zmp")
def fixed_feet_zmp(motion: Any) -> list[Panel]:
    """Zero-moment point of fixed feet from above, with the soles' hull, and how far it is inside."""
    if not fixing_joints(motion.model):
        return []
    found = fixed_feet_of(motion)
    closed = np.vstack([found.soles, found.soles[:1]])
    above = [Series("ZMP", found.zmp[:, 0], found.zmp[:, 1]), Series("soles", closed[:, 0], closed[:, 1], "--")]
    inside = np.where(np.isfinite(found.margin), found.margin, np.nan)
    return [
        Panel("ZMP and support polygon", "y [m]", above, xlabel="x [m]", is_plane=True),
        Panel.of("Stability margin", "[m]", motion.t, {"": inside}),
    ]
