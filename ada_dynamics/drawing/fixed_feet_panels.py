# SPDX-License-Identifier: Apache-2.0
"""Panels of a robot that stands on fixed feet and is pushed (Takahashi 2012, figs. 6.6 and 6.8)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ada_dynamics.analysis.fixed_feet import fixed_feet_of, fixing_joints
from ada_dynamics.analysis.motion import dynamics_of
from ada_dynamics.drawing.panels import Panel, Series, panel
from ada_dynamics.spatial.orientation import to_rpy

_TRUNK = "body"


@panel("trunk_angles")
def trunk_angles(motion: Any) -> list[Panel]:
    """Roll, pitch and yaw of the link `body`, as printed of the upper body."""
    if _TRUNK not in motion.model.links:
        return []
    poses = dynamics_of(motion).pose(_TRUNK, motion.q)
    angles = np.degrees([to_rpy(pose[:3, :3]) for pose in poses])
    return [Panel.of("Upper body angle", "[deg]", motion.t, dict(zip("xyz", angles.T, strict=True)))]


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
