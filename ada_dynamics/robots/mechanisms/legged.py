# SPDX-License-Identifier: Apache-2.0
"""Legged robots with loops: a leg after Cassie, a humanoid with both feet on the ground, HOAP-2 on both feet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics import resources
from ada_dynamics.arrays import Array
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.edit.joints import recut
from ada_dynamics.model.edit.parts import Parts, remove_loop
from ada_dynamics.model.elements import Joint, Link, LoopJoint, Shape
from ada_dynamics.model.model import link_poses
from ada_dynamics.robots.mechanisms.parts import (
    DARK,
    DRIVEN,
    FRAME,
    OUTPUT,
    Mechanism,
    SolidBody,
    X,
    Y,
    Z,
    angle_with,
    ball,
    bar,
    block,
    box,
    closed,
    cylinder,
    hinged,
    hooke_angles,
    pin,
    turned_y,
)
from ada_dynamics.robots.readers import read_document
from ada_dynamics.structured_text.files import read_file

# Rounded sizes [m]. At zero angles the leg points along -z.
THIGH, SHIN, TARSUS = 0.12, 0.44, 0.41
ACHILLES, PLANTAR = 0.5, 0.355
HIP_END, HEEL_END = np.array([0.0, 0.045, 0.0]), np.array([-0.11, 0.045, 0.01])  # of the rod, on thigh and heel
CRANK_AT, CRANK_END = np.array([0.0, 0.03, -0.06]), np.array([0.055, 0.01, 0.0])
FOOT_END = np.array([0.055, 0.04, 0.0])
HEEL = np.array([-0.01, 0.0, 0.0])  # of the heel's spring, on the tarsus


def cassie_leg(
    hip: Sequence[float] = (0.05, -0.03, -1.2),
    knee: float = 1.5,
    crank: float = 0.3,
    base: str = "fixed",
) -> Mechanism:
    """Leg in the style of Cassie with thirteen joint velocities and two rod loops of three constraints; mobility 7.

    Motors are at `hip_roll`, `hip_yaw`, `hip_pitch`, `knee` and `foot_crank`; `shin` and `heel` are the joints of the
    leaf springs, both at zero at the start. The rod `achilles` connects the thigh to the heel, the rod `plantar` the
    crank on the tarsus to the foot; each has a universal joint at its upper end and a spherical loop joint
    (`achilles_end`, `plantar_end`) at its lower end.

    Args:
        hip: angles of the hip: roll, yaw, pitch [rad].
        knee: angle of the knee [rad].
        crank: angle of the foot's crank [rad].
        base: joint between world and pelvis: fixed, floating or floating_euler.

    Raises:
        InputError: a rod does not reach.
    """
    looks = _looks()
    builder = Builder("cassie_leg").link("pelvis", *box((0.2, 0.3, 0.15), 10.0), visuals=looks["pelvis"])
    chain: list[tuple[str, tuple[float, float, float], ArrayLike, SolidBody]] = [
        ("hip_roll", X, (0.02, 0.135, 0.0), box((0.1, 0.08, 0.1), 1.8, (-0.02, 0.0, 0.01))),
        ("hip_yaw", Z, (-0.05, 0.0, -0.09), box((0.08, 0.08, 0.1), 1.2, (0.0, 0.0, -0.03))),
        ("hip_pitch", Y, (0.06, 0.0, 0.0), box((0.1, 0.06, 0.16), 5.5, (0.02, 0.0, -0.05))),
        ("knee", Y, (0.0, 0.0, -THIGH), box((0.05, 0.05, 0.08), 0.8, (0.01, 0.0, -0.02))),
        ("shin", Y, (0.0, 0.0, -0.06), _hanging(SHIN - 0.06, 0.6)),
        ("tarsus", Y, (0.0, 0.0, -(SHIN - 0.06)), _hanging(TARSUS, 0.8)),
    ]
    above = "pelvis"
    for name, axis, at, solid in chain:
        hinged(builder, name, above, at, solid, axis, looks[name])
        above = name
    heel, foot = box((0.1, 0.02, 0.02), 0.15, (-0.05, 0.0, 0.0)), box((0.18, 0.03, 0.04), 0.15, (0.01, 0.0, -0.02))
    hinged(builder, "heel", "tarsus", HEEL, heel, visuals=looks["heel"])
    crank_body = box((0.07, 0.02, 0.02), 0.12, (0.02, 0.0, 0.0))
    hinged(builder, "foot_crank", "tarsus", CRANK_AT, crank_body, visuals=looks["foot_crank"])
    hinged(builder, "foot", "tarsus", (0.0, 0.0, -TARSUS), foot, visuals=looks["foot"])
    _rod(builder, "achilles", "hip_pitch", HIP_END, ACHILLES, "heel", HEEL_END)
    _rod(builder, "plantar", "foot_crank", CRANK_END, PLANTAR, "foot", FOOT_END)
    builder.actuated(["hip_roll", "hip_yaw", "hip_pitch", "knee", "foot_crank"])
    pose: dict[str, ArrayLike] = dict(zip(("hip_roll", "hip_yaw", "hip_pitch"), hip, strict=True))
    return closed(builder, pose | {"knee": knee, "foot_crank": crank} | _lower_leg(knee, crank), base)


def _looks() -> dict[str, tuple[Shape, ...]]:
    """Shapes of the links by name, without the rods."""
    o, knee = (0, 0, 0), (0, 0, -THIGH)
    mount, reach = CRANK_AT * [1, 0, 1], HEEL_END * [1, 0, 1]
    return {
        "pelvis": (
            block((-0.01, 0, 0), (0.2, 0.17, 0.13), FRAME),
            bar((0.02, 0.08, 0), (0.02, 0.135, 0), 0.035, FRAME),
        ),
        "hip_roll": (pin(o, X, 0.045, 0.1), bar(o, (-0.05, 0, -0.09), 0.028, DRIVEN)),
        "hip_yaw": (pin(o, Z, 0.045, 0.06), bar(o, (0.06, 0, 0), 0.028, DRIVEN)),
        "hip_pitch": (pin(o, Y, 0.05, 0.07), bar(o, HIP_END, 0.015, DRIVEN), bar(o, knee, 0.032, DRIVEN)),
        "knee": (pin(o, Y, 0.042, 0.07), bar(o, (0, 0, -0.06), 0.022, DRIVEN)),
        "shin": (pin(o, Y, 0.02, 0.05), block((0, 0, -0.19), (0.016, 0.036, 0.38), OUTPUT)),
        "tarsus": (
            pin(o, Y, 0.026, 0.05),
            bar(o, (0, 0, -TARSUS), 0.016, DRIVEN),
            bar(mount, CRANK_AT, 0.018, DARK),
        ),
        "heel": (pin(o, Y, 0.016, 0.06), bar(o, reach, 0.01, OUTPUT), bar(reach, HEEL_END, 0.008, OUTPUT)),
        "foot_crank": (pin(o, Y, 0.014, 0.024), bar(o, CRANK_END, 0.008, DRIVEN)),
        "foot": (
            pin(o, Y, 0.02, 0.05),
            bar(FOOT_END * [1, 0, 1], FOOT_END, 0.008, OUTPUT),
            block((0.01, 0, -0.02), (0.18, 0.032, 0.03), OUTPUT),
        ),
    }


def _hanging(length: float, mass: float) -> SolidBody:
    solid = cylinder(length, 0.02, mass)
    return SolidBody(mass, -solid.com, solid.inertia)


def _rod(builder: Builder, name: str, upper: str, at: Array, length: float, lower: str, end: Array) -> None:
    """Add a thin rod with its universal joint and spherical loop joint; at zero angles it points down."""
    looks = (bar((0, 0, 0), (0, 0, length), 0.006), ball((0, 0, 0), 0.013), ball((0, 0, length), 0.013))
    builder.link(name, *cylinder(length, 0.005, 0.15), visuals=looks)
    builder.joint(name, "universal", upper, name, at, axis=Y, axis2=X, rotation=np.diag([1.0, -1.0, -1.0]))
    builder.loop(f"{name}_end", "spherical", name, lower, (0.0, 0.0, length), child_xyz=end)


def _lower_leg(knee: float, crank: float) -> dict[str, ArrayLike]:
    """Angles of tarsus, foot and rods that close both loops."""
    down = np.array([0.0, 0.0, -1.0])
    ankle = THIGH * down + SHIN * (turned_y(knee) @ down)  # of the tarsus joint, in the thigh
    bend, end = _reach("achilles rod", ankle, HEEL + HEEL_END, HIP_END, ACHILLES, -1)
    tarsus = bend - knee
    crank_end = CRANK_AT + turned_y(crank) @ CRANK_END
    foot, toe = _reach("plantar rod", TARSUS * down, FOOT_END, crank_end, PLANTAR, 1)
    flip = np.diag([1.0, -1.0, -1.0])
    return {
        "tarsus": tarsus,
        "achilles": hooke_angles(flip @ (end - HIP_END)),
        "foot": foot,
        "plantar": hooke_angles(flip @ (turned_y(crank).T @ (toe - crank_end))),
    }


def _reach(what: str, pivot: Array, arm: Array, fixed: Array, length: float, branch: int) -> tuple[float, Array]:
    """Solve |p - fixed| = length for the angle t about y, with the end p = pivot + R_y(t) arm."""
    d = fixed - pivot
    # |arm|² - 2 d . R arm + |d|² = length², with d . R arm = a cos t + b sin t + d_y arm_y
    a = d[0] * arm[0] + d[2] * arm[2]
    b = d[0] * arm[2] - d[2] * arm[0]
    c = 0.5 * (arm @ arm + d @ d - length**2) - d[1] * arm[1]
    t = angle_with(f"the {what} of the leg", float(a), float(b), float(c), branch)
    t = float(math.atan2(math.sin(t), math.cos(t)))
    return t, pivot + turned_y(t) @ arm


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
