# SPDX-License-Identifier: Apache-2.0
"""A leg in the style of Cassie: two rods close loops past the springs and along the shin."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.elements import Shape
from ada_dynamics.model.model import STANDARD_GRAVITY
from ada_dynamics.robots.mechanisms.geometry import angle_with, hooke_angles, turned_y
from ada_dynamics.robots.mechanisms.parts import Mechanism, Solid, X, Y, Z, box, cylinder, stacked
from ada_dynamics.robots.mechanisms.shapes import DARK, DRIVEN, FRAME, OUTPUT, ball, bar, block, pin

# Rounded sizes [m]. At zero angles the leg hangs along -z; to stand, the thigh points forward, the shin back and down.
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
    gravity: Sequence[float] = STANDARD_GRAVITY,
) -> Mechanism:
    """A leg with thirteen joint angles and two rods, each of which takes away three; seven motions.

    Motors are at `hip_roll`, `hip_yaw`, `hip_pitch`, `knee` and `foot_crank`; `shin` and `heel` are the places of the
    leaf springs, both angles zero at the start. The rod `achilles` leads from the thigh past the knee to the heel, the
    rod `plantar` from the crank on the tarsus to the foot; each has a universal joint at its upper end, and a spherical
    loop joint (`achilles_end`, `plantar_end`) at its lower one.

    Args:
        hip: angles of the hip: roll, yaw, pitch [rad].
        knee: angle [rad].
        crank: angle of the foot's crank [rad].
        base: how the pelvis is held: fixed, floating or floating_euler.
        gravity: [m/s²].

    Raises:
        InputError: a rod does not reach.
    """
    looks = _looks()
    builder = Builder("cassie_leg").link("pelvis", *box((0.2, 0.3, 0.15), 10.0), visuals=looks["pelvis"])
    chain: list[tuple[str, tuple[float, float, float], ArrayLike, Solid]] = [
        ("hip_roll", X, (0.02, 0.135, 0.0), box((0.1, 0.08, 0.1), 1.8, (-0.02, 0.0, 0.01))),
        ("hip_yaw", Z, (-0.05, 0.0, -0.09), box((0.08, 0.08, 0.1), 1.2, (0.0, 0.0, -0.03))),
        ("hip_pitch", Y, (0.06, 0.0, 0.0), box((0.1, 0.06, 0.16), 5.5, (0.02, 0.0, -0.05))),
        ("knee", Y, (0.0, 0.0, -THIGH), box((0.05, 0.05, 0.08), 0.8, (0.01, 0.0, -0.02))),
        ("shin", Y, (0.0, 0.0, -0.06), _hanging(SHIN - 0.06, 0.6)),
        ("tarsus", Y, (0.0, 0.0, -(SHIN - 0.06)), _hanging(TARSUS, 0.8)),
    ]
    above = "pelvis"
    for name, axis, at, solid in chain:
        builder.link(name, *solid, visuals=looks[name]).joint(name, "revolute", above, name, at, axis=axis)
        above = name
    builder.link("heel", *box((0.1, 0.02, 0.02), 0.15, (-0.05, 0.0, 0.0)), visuals=looks["heel"])
    builder.joint("heel", "revolute", "tarsus", "heel", HEEL, axis=Y)
    builder.link("foot_crank", *box((0.07, 0.02, 0.02), 0.12, (0.02, 0.0, 0.0)), visuals=looks["foot_crank"])
    builder.joint("foot_crank", "revolute", "tarsus", "foot_crank", CRANK_AT, axis=Y)
    builder.link("foot", *box((0.18, 0.03, 0.04), 0.15, (0.01, 0.0, -0.02)), visuals=looks["foot"])
    builder.joint("foot", "revolute", "tarsus", "foot", (0.0, 0.0, -TARSUS), axis=Y)
    _rod(builder, "achilles", "hip_pitch", HIP_END, ACHILLES, "heel", HEEL_END)
    _rod(builder, "plantar", "foot_crank", CRANK_END, PLANTAR, "foot", FOOT_END)
    builder.actuated(["hip_roll", "hip_yaw", "hip_pitch", "knee", "foot_crank"])
    model = builder.build(base=base, gravity=gravity)
    pose: dict[str, ArrayLike] = dict(zip(("hip_roll", "hip_yaw", "hip_pitch"), hip, strict=True))
    return Mechanism(model, stacked(model, pose | {"knee": knee, "foot_crank": crank} | _lower_leg(knee, crank)))


def _looks() -> dict[str, tuple[Shape, ...]]:
    """Shapes of the links by name; the rods draw the balls at their ends."""
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


def _hanging(length: float, mass: float) -> Solid:
    solid = cylinder(length, 0.02, mass)
    return Solid(mass, -solid.com, solid.inertia)


def _rod(builder: Builder, name: str, upper: str, at: Array, length: float, lower: str, end: Array) -> None:
    """A thin rod along -z of its frame; a half turn about x brings its z there."""
    looks = (bar((0, 0, 0), (0, 0, length), 0.006), ball((0, 0, 0), 0.013), ball((0, 0, length), 0.013))
    builder.link(name, *cylinder(length, 0.005, 0.15), visuals=looks)
    builder.joint(name, "universal", upper, name, at, axis=Y, axis2=X, rotation=np.diag([1.0, -1.0, -1.0]))
    builder.loop(f"{name}_end", "spherical", name, lower, (0.0, 0.0, length), child_xyz=end)


def _lower_leg(knee: float, crank: float) -> dict[str, ArrayLike]:
    """Angles of tarsus and foot that the rods leave, and those of the rods."""
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
    """The turn t about y, and the end p = pivot + R_y(t) arm, with |p - fixed| = length."""
    d = fixed - pivot
    # |arm|² - 2 d . R arm + |d|² = length², with d . R arm = a cos t + b sin t + d_y arm_y
    a = d[0] * arm[0] + d[2] * arm[2]
    b = d[0] * arm[2] - d[2] * arm[0]
    c = 0.5 * (arm @ arm + d @ d - length**2) - d[1] * arm[1]
    t = angle_with(f"the {what} of the leg", float(a), float(b), float(c), branch)
    t = float(math.atan2(math.sin(t), math.cos(t)))
    return t, pivot + turned_y(t) @ arm
