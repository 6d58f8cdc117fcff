# SPDX-License-Identifier: Apache-2.0
"""Bennett's linkage: four links and four skew axes in space, which can move although counting says that they cannot."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ada_dynamics.errors import InputError
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.model import STANDARD_GRAVITY
from ada_dynamics.model.rotations import product, turned
from ada_dynamics.robots.mechanisms.geometry import turned_x, turned_z
from ada_dynamics.robots.mechanisms.hinged_ring import Axis
from ada_dynamics.robots.mechanisms.parts import Mechanism, Z, positive, stacked, uneven_bar


def bennett(
    long: float = 0.5,
    short: float = 0.4,
    twist: float = np.radians(50.0),
    angle: float = 0.7,
    gravity: Sequence[float] = STANDARD_GRAVITY,
) -> Mechanism:
    """Opposite links of equal length a, b and twist α, β with a/sin α = b/sin β; one motion, three redundant rows.

    Joints `joint_1` to `joint_3` turn about z of their frames; the common normal to the next axis is x. `closing` joins
    the last link to the base. Which of its constraint forces are unique changes with the pose.

    Args:
        long: length of two of the links [m].
        short: length of the two others [m].
        twist: between the axes of a long link [rad].
        angle: of the first joint [rad].
        gravity: [m/s²].

    Raises:
        InputError: a length is not positive, or no short link can have the twist that is needed.
    """
    twists = _twists(long, short, twist)
    other, lengths = twists[1], (long, short, long, short)
    builder = Builder("bennett").link("base")
    parent, xyz, rpy = "base", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for i in range(3):
        builder.link(f"link_{i + 1}", *uneven_bar((lengths[i], 0.0, 0.0), 2.0 * lengths[i]))
        builder.joint(f"joint_{i + 1}", "revolute", parent, f"link_{i + 1}", xyz, rpy, axis=Z)
        parent, xyz, rpy = f"link_{i + 1}", (lengths[i], 0.0, 0.0), (twists[i], 0.0, 0.0)
    # The base is the fourth link: its own normal leads from the closing axis to the first one.
    R = turned_x(-other)
    at = -turned(R, np.array([short, 0.0, 0.0]))
    builder.loop("closing", "revolute", parent, "base", xyz, rpy, at, axis=Z, child_rotation=R)
    model = builder.build(gravity=gravity)
    second = _second(twist, other, angle)
    return Mechanism(model, stacked(model, {"joint_1": angle, "joint_2": second, "joint_3": -angle}))


def bennett_axes(long: float, short: float, twist: float, angle: float) -> list[Axis]:
    """The four axes, where the joint on the first one, which is z, has this angle; the second one follows along x.

    Raises:
        InputError: a length is not positive, or no short link can have the twist that is needed.
    """
    twists = _twists(long, short, twist)
    turns = (0.0, _second(twist, twists[1], angle), -angle)
    R, point = np.eye(3), np.zeros(3)
    axes = [(R[:, 2], point)]
    for length, bend, turn in zip((long, short, long), twists, turns, strict=False):
        R = product(R, turned_z(turn))
        point = point + length * R[:, 0]
        R = product(R, turned_x(bend))
        axes.append((R[:, 2], point))
    return axes


def _twists(long: float, short: float, twist: float) -> tuple[float, float, float, float]:
    """Of all four links, as the lengths demand it."""
    positive(long=long, short=short)
    sine = short * math.sin(twist) / long
    if not 0.0 < sine < 1.0 or abs(long - short) < 1e-9 * long:
        raise InputError(
            f"Bennett's linkage needs 0 < short sin(twist)/long < 1 and unequal lengths; long = {long}, "
            f"short = {short} and twist = {twist} rad give {sine:.6g}."
        )
    other = float(math.asin(sine))
    return (twist, other, twist, other)


def _second(twist: float, other: float, angle: float) -> float:
    """Angle of the second joint: tan(θ1/2) tan(θ2/2) = sin((β + α)/2) / sin((β - α)/2); θ3 = -θ1."""
    ratio = math.sin(0.5 * (other + twist)) / math.sin(0.5 * (other - twist))
    return float(2.0 * math.atan2(ratio * math.cos(0.5 * angle), math.sin(0.5 * angle)))
