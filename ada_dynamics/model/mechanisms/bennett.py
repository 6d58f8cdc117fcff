# SPDX-License-Identifier: Apache-2.0
"""Bennett's linkage: four links and four skew axes in space, which can move although counting says that they cannot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.errors import InputError
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.mechanisms.parts import Mechanism, Solid, Z, positive, stacked
from ada_dynamics.model.model import STANDARD_GRAVITY

Array = NDArray[np.float64]


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
    positive(long=long, short=short)
    sine = short * np.sin(twist) / long
    if not 0.0 < sine < 1.0 or abs(long - short) < 1e-9 * long:
        raise InputError(
            f"Bennett's linkage needs 0 < short sin(twist)/long < 1 and unequal lengths; long = {long}, "
            f"short = {short} and twist = {twist} rad give {sine:.6g}."
        )
    other = float(np.arcsin(sine))
    lengths, twists = (long, short, long, short), (twist, other, twist, other)
    builder = Builder("bennett").link("base")
    parent, xyz, rpy = "base", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for i in range(3):
        builder.link(f"link_{i + 1}", *_bar(lengths[i], 2.0 * lengths[i]))
        builder.joint(f"joint_{i + 1}", "revolute", parent, f"link_{i + 1}", xyz, rpy, axis=Z)
        parent, xyz, rpy = f"link_{i + 1}", (lengths[i], 0.0, 0.0), (twists[i], 0.0, 0.0)
    # The base is the fourth link: its own normal leads from the closing axis to the first one.
    R = np.array([[1.0, 0.0, 0.0], [0.0, np.cos(other), np.sin(other)], [0.0, -np.sin(other), np.cos(other)]])
    at = -R @ np.array([short, 0.0, 0.0])
    builder.loop("closing", "revolute", parent, "base", xyz, rpy, at, axis=Z, child_rotation=R)
    model = builder.build(gravity=gravity)
    # tan(θ1/2) tan(θ2/2) = sin((β + α)/2) / sin((β - α)/2), θ3 = -θ1.
    ratio = np.sin(0.5 * (other + twist)) / np.sin(0.5 * (other - twist))
    second = 2.0 * np.arctan2(ratio * np.cos(0.5 * angle), np.sin(0.5 * angle))
    return Mechanism(model, stacked(model, {"joint_1": angle, "joint_2": second, "joint_3": -angle}))


def _bar(length: float, mass: float) -> Solid:
    """A bar along x with a lump beside it, so that nothing is symmetric."""
    r = length * np.array([0.45, 0.06, 0.04])
    spread = mass * length**2 * np.array([[0.08, 0.004, 0.003], [0.004, 0.01, -0.002], [0.003, -0.002, 0.006]])
    return Solid(mass, r, np.trace(spread) * np.eye(3) - spread)
