# SPDX-License-Identifier: Apache-2.0
"""A humanoid with both feet on the ground."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.model.builder import Builder
from ada_dynamics.model.model import link_poses
from ada_dynamics.robots.mechanisms.parts import (
    Mechanism,
    SolidBody,
    X,
    Y,
    Z,
    closed,
    hinged,
)

# Joint, axis, position in the parent link [m], mass [kg] and length [m] of its link, angle at the start [rad];
# y and angles about x and z change their sign from left to right.
_LEG = (
    ("hip_yaw", Z, (0.0, 0.09, -0.05), 1.5, 0.05, 0.05),
    ("hip_roll", X, (0.0, 0.0, 0.0), 1.5, 0.05, 0.08),
    ("hip_pitch", Y, (0.0, 0.0, 0.0), 5.0, 0.3, -0.45),
    ("knee", Y, (0.0, 0.0, -0.3), 4.0, 0.3, 0.85),
    ("ankle_pitch", Y, (0.0, 0.0, -0.3), 1.0, 0.05, -0.4),
    ("ankle_roll", X, (0.0, 0.0, 0.0), 1.2, 0.05, -0.08),
)
_ARM = (
    ("shoulder_pitch", Y, (0.0, 0.2, 0.25), 1.0, 0.05, 0.3),
    ("shoulder_roll", X, (0.0, 0.0, 0.0), 1.0, 0.05, 0.25),
    ("shoulder_yaw", Z, (0.0, 0.0, -0.1), 1.5, 0.2, -0.1),
    ("elbow", Y, (0.0, 0.0, -0.15), 1.2, 0.2, -0.7),
    ("wrist", Z, (0.0, 0.0, -0.2), 0.6, 0.1, 0.1),
)


_TIP = (0.0, 0.0, -0.1)  # of a hand, in the frame of its wrist [m]


def two_feet(fixed: bool = True, hand: str = "") -> Mechanism:
    """Humanoid with a floating base and 24 revolute joints (6 per leg, 5 per arm, waist, chest), feet on the ground.

    The loop joints `left_foot` and `right_foot` fix the feet to the world: mobility 18. A third one, `right_hand`, can
    constrain the tip of the right hand to a wall perpendicular to x. All inertia tensors are full.

    Args:
        fixed: if False, the loops are left out and the humanoid floats.
        hand: type of the hand's loop joint: "spherical" (sticking tip, mobility 15), "planar" (sliding palm), or ""
            without it.
    """
    builder, pose = _humanoid()
    root = np.array([0.1, -0.05, 0.7, 0.01, -0.02, 0.03, 1.0])
    root[3:] /= np.linalg.norm(root[3:])
    floating = closed(builder, pose | {"root_joint": root}, "floating")
    if not fixed:
        return floating
    poses = link_poses(*floating)
    for side in ("left", "right"):
        R, p = poses[f"{side}_ankle_roll"]
        builder.loop(f"{side}_foot", "fixed", "world", f"{side}_ankle_roll", p, parent_rotation=R)
    if hand:
        R, p = poses["right_wrist"]
        axis = None if hand in ("spherical", "fixed") else X
        ends = ("world", "right_wrist", p + R @ _TIP)
        builder.loop("right_hand", hand, *ends, axis=axis, child_xyz=_TIP, child_rotation=R.T)
    return Mechanism(builder.build(base="floating"), floating.q)


def _humanoid() -> tuple[Builder, dict[str, ArrayLike]]:
    builder = Builder("two_feet").link("pelvis", *_part(10.0, 0.2, 0.1))
    pose: dict[str, ArrayLike] = {"waist": 0.1, "chest": 0.15}
    hinged(builder, "waist", "pelvis", (0.0, 0.0, 0.1), _part(6.0, -0.3, 0.08), Z)
    hinged(builder, "chest", "waist", (0.0, 0.0, 0.1), _part(8.0, -0.3, 0.1))
    for limb, start in ((_LEG, "pelvis"), (_ARM, "chest")):
        for side, sign in (("left", 1.0), ("right", -1.0)):
            above = start
            for name, axis, (x, y, z), mass, length, angle in limb:
                link = f"{side}_{name}"
                hinged(builder, link, above, (x, sign * y, z), _part(mass, length, 0.04, sign), axis)
                pose[link] = angle if axis == Y else sign * angle
                above = link
    return builder, pose


def _part(mass: float, length: float, width: float, sign: float = 1.0) -> SolidBody:
    """Asymmetric body along -z, or along +z with a negative length."""
    com = np.array([0.012, 0.006 * sign, -0.45 * length])
    size = np.array([width, 1.2 * width, abs(length) + width])
    spread = mass / 12.0 * (np.diag(size**2) + 0.08 * np.outer(size, size) * (1.0 - np.eye(3)) * sign)
    return SolidBody(mass, com, np.trace(spread) * np.eye(3) - spread)
