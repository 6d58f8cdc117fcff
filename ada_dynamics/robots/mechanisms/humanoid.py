# SPDX-License-Identifier: Apache-2.0
"""A humanoid of thirty degrees of freedom that stands with both feet on the ground."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.model.builder import Builder
from ada_dynamics.model.edit.poses import link_poses
from ada_dynamics.model.model import STANDARD_GRAVITY, Model
from ada_dynamics.robots.mechanisms.parts import Mechanism, Solid, X, Y, Z, stacked

# Joint, axis, position in the link before [m], mass [kg] and length [m] of its link, angle at the start [rad];
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


def two_feet(
    position: ArrayLike = (0.1, -0.05, 0.7),
    fixed: bool = True,
    gravity: Sequence[float] = STANDARD_GRAVITY,
    hand: str = "",
) -> Mechanism:
    """A floating base and 24 revolute joints: legs of six, arms of five, waist and chest; both feet on the ground.

    The loops `left_foot` and `right_foot` fix the feet to the world where they stand at the start: 18 motions. A third
    one, `right_hand`, may hold the tip of that hand on a wall across x. Links have all inertial parameters.

    Args:
        position: of the pelvis [m].
        fixed: whether there are these loops; without them the humanoid floats freely.
        gravity: [m/s²].
        hand: type of the hand's loop: spherical where its tip sticks to the wall (15 motions), planar where the palm
            slides along it; empty: the hand is free.
    """
    builder, pose = _humanoid()
    floating = builder.build(base="floating", gravity=gravity)
    root = np.array([*np.asarray(position, dtype=float), 0.01, -0.02, 0.03, 1.0])
    root[3:] /= np.linalg.norm(root[3:])
    q = stacked(floating, pose | {"root_joint": root})
    if not fixed:
        return Mechanism(floating, q)
    _hold(builder, floating, q, hand)
    return Mechanism(builder.build(base="floating", gravity=gravity), q)


def _hold(builder: Builder, floating: Model, q: np.ndarray, hand: str) -> None:
    """Loops from the world to both feet, and to the tip of the right hand."""
    poses = link_poses(floating, q)
    for side in ("left", "right"):
        R, p = poses[f"{side}_ankle_roll"]
        builder.loop(f"{side}_foot", "fixed", "world", f"{side}_ankle_roll", p, parent_rotation=R)
    if hand:
        R, p = poses["right_wrist"]
        axis = None if hand in ("spherical", "fixed") else X
        builder.loop(
            "right_hand", hand, "world", "right_wrist", p + R @ _TIP, axis=axis, child_xyz=_TIP, child_rotation=R.T
        )


def _humanoid() -> tuple[Builder, dict[str, ArrayLike]]:
    builder = Builder("two_feet").link("pelvis", *_part(10.0, 0.2, 0.1))
    pose: dict[str, ArrayLike] = {"waist": 0.1, "chest": 0.15}
    builder.link("waist", *_part(6.0, -0.3, 0.08)).joint(
        "waist", "revolute", "pelvis", "waist", (0.0, 0.0, 0.1), axis=Z
    )
    builder.link("chest", *_part(8.0, -0.3, 0.1)).joint("chest", "revolute", "waist", "chest", (0.0, 0.0, 0.1), axis=Y)
    for limb, start in ((_LEG, "pelvis"), (_ARM, "chest")):
        for side, sign in (("left", 1.0), ("right", -1.0)):
            above = start
            for name, axis, (x, y, z), mass, length, angle in limb:
                link = f"{side}_{name}"
                builder.link(link, *_part(mass, length, 0.04, sign))
                builder.joint(link, "revolute", above, link, (x, sign * y, z), axis=axis)
                pose[link] = angle if axis == Y else sign * angle
                above = link
    return builder, pose


def _part(mass: float, length: float, width: float, sign: float = 1.0) -> Solid:
    """A part that hangs down (or stands up, with a negative length) and is symmetric to nothing."""
    com = np.array([0.012, 0.006 * sign, -0.45 * length])
    size = np.array([width, 1.2 * width, abs(length) + width])
    spread = mass / 12.0 * (np.diag(size**2) + 0.08 * np.outer(size, size) * (1.0 - np.eye(3)) * sign)
    return Solid(mass, com, np.trace(spread) * np.eye(3) - spread)
