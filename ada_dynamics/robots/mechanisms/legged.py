# SPDX-License-Identifier: Apache-2.0
"""Legged robots with loops: a humanoid with both feet on the ground, HOAP-2 on both feet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics import resources
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.edit.joints import recut
from ada_dynamics.model.edit.parts import Parts, remove_loop
from ada_dynamics.model.elements import Joint, Link, LoopJoint
from ada_dynamics.model.model import link_poses
from ada_dynamics.robots.mechanisms.parts import (
    Mechanism,
    SolidBody,
    X,
    Y,
    Z,
    closed,
    hinged,
    turned_y,
)
from ada_dynamics.robots.readers import read_document
from ada_dynamics.structured_text.files import read_file

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


GROUND = "ground"
RIGHT_FOOT, LEFT_FOOT = "right_foot_fixed", "left_foot_fixed"
_HELD = "waist_held"


def hoap2_standing(
    *, left_shoulder: float = 0.0, left_elbow: float = 0.0, rotors: bool = False, name: str = "hoap2_standing"
) -> Mechanism:
    """HOAP-2 on both feet (Takahashi 2012, sec. 6.3): `hoap2_10dof` on a link `ground` midway between the soles.

    The fixed joint `right_foot_fixed` joins the right sole to the ground, and the joints of the right leg are reversed
    with unchanged angles. The loop joint `left_foot_fixed` joins the left sole to the ground. The robot has ten motors
    and mobility 4: the waist translates along x and y, and rotates about y and z. Eq. 6.1 has no rotor inertia, so the
    default has none, unlike `hoap2_10dof`.

    Args:
        left_shoulder: angle by which the rigid left arm is raised forward [rad]; 60 deg in fig. 6.5 (b).
        left_elbow: angle by which the left elbow is bent [rad]; 60 deg in fig. 6.5 (b).
        rotors: if True, joints have the rotor inertia of `hoap2_10dof`.
        name: name of the model.
    """
    path = resources.find("urdf", "hoap2_10dof.urdf")
    text = read_file(path)
    parts = Parts.of(read_document(text, path.name).build("fixed", source=text.decode("utf-8")))
    for joint, angle in (("left_shoulder_pitch", left_shoulder), ("left_elbow", left_elbow)):
        parts.joints[joint] = replace(parts.joints[joint], rotation=turned_y(-angle))
    if not rotors:
        parts.joints = {name: replace(joint, armature=0.0) for name, joint in parts.joints.items()}
    poses = link_poses(parts.build(), np.zeros(10))
    soles = {sole: poses[sole][1] for sole in ("right_sole", "left_sole")}
    middle = 0.5 * (soles["right_sole"] + soles["left_sole"])
    parts.name, parts.root = name, GROUND
    parts.links = {GROUND: Link(GROUND, has_inertial=False), **parts.links}
    parts.joints = {_HELD: Joint(_HELD, "fixed", GROUND, "waist", -middle), **parts.joints}
    for loop, sole in ((RIGHT_FOOT, "right_sole"), (LEFT_FOOT, "left_sole")):
        parts.loops[loop] = LoopJoint(loop, "fixed", GROUND, sole, soles[sole] - middle)
    model, q = recut(parts.build(), np.zeros(10), RIGHT_FOOT, _HELD)
    return Mechanism(remove_loop(model, _HELD), q)


def hoap2_reaching(*, rotors: bool = False) -> Mechanism:
    """`hoap2_standing` with the left arm raised and bent by 60 deg, as in fig. 6.5 (b)."""
    return hoap2_standing(left_shoulder=np.pi / 3.0, left_elbow=np.pi / 3.0, rotors=rotors, name="hoap2_reaching")
