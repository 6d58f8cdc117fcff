# SPDX-License-Identifier: Apache-2.0
"""Spatial linkages of one loop: a ring and Bennett's linkage."""

from __future__ import annotations

import math

import numpy as np

from ada_dynamics.errors import InputError
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.rotations import length, turned
from ada_dynamics.robots.mechanisms.parts import (
    Mechanism,
    Z,
    box,
    closed,
    positive,
    turned_x,
    turned_z,
    uneven_bar,
)


def ring(n: int = 8, radius: float = 0.5, mass: float = 4.0, base: str = "fixed") -> Mechanism:
    """Closed chain of n links and n revolute joints with skew axes; mobility n - 6 for n >= 7.

    The joints lie on a circle in the x-y plane. The first one on the x axis is the loop joint `closing` between the
    last link and the first link, which is the base. All angles are zero at the start.

    Args:
        n: number of links, at least 4; up to 6 the ring is rigid.
        radius: radius of the circle [m].
        mass: mass of the ring [kg].
        base: joint between world and first link: fixed, floating or floating_euler.

    Raises:
        InputError: an argument is out of range.
    """
    if n < 4:
        raise InputError(f"n is {n}; a ring needs at least 4 links.", field="n", value=n, allowed=">= 4")
    positive(radius=radius, mass=mass)
    step = 2.0 * np.pi / n
    chord = turned(radius * (turned_z(step) - np.eye(3)), np.array([1.0, 0.0, 0.0]))
    size = length(chord)
    bar = box((0.3 * size, size, 0.25 * size), mass / n, 0.5 * chord + 0.05 * size)
    builder = Builder(f"ring_{n}")
    for i in range(n):
        builder.link(f"link_{i}", *bar)
        if i:
            ends, turn = (f"link_{i - 1}", f"link_{i}"), (0.0, 0.0, step)
            builder.joint(f"joint_{i}", "revolute", *ends, chord, turn, axis=_ring_axis(i))
    ends, turn = (f"link_{n - 1}", "link_0"), (0.0, 0.0, step)
    builder.loop("closing", "revolute", *ends, chord, turn, np.zeros(3), axis=_ring_axis(0))
    return closed(builder, {}, base)


def _ring_axis(i: int) -> tuple[float, float, float]:
    """Axis of joint i, different for adjacent and opposite joints."""
    azimuth, height = 2.4 * i + 0.3, 0.9 * math.sin(1.7 * i + 0.5)
    across = float(np.sqrt(1.0 - height**2))
    return (across * float(math.cos(azimuth)), across * float(math.sin(azimuth)), float(height))


def bennett(long: float = 0.5, short: float = 0.4, twist: float = np.radians(50.0), angle: float = 0.7) -> Mechanism:
    """Bennett's linkage: four links with skew axes, mobility 1, three redundant constraints.

    Opposite links have equal lengths a, b and twists α, β with a/sin α = b/sin β. Joints `joint_1` to `joint_3` turn
    about z of their frames; the common normal to the next axis is x. The loop joint `closing` joins the last link to
    the base. The set of uniquely determined constraint forces depends on the configuration.

    Args:
        long: length of two opposite links [m].
        short: length of the other two links [m].
        twist: angle between the axes of a long link [rad].
        angle: angle of the first joint [rad].

    Raises:
        InputError: a length is not positive, or no short link has the required twist.
    """
    twists = _twists(long, short, twist)
    other, lengths = twists[1], (long, short, long, short)
    builder = Builder("bennett").link("base")
    parent, xyz, rpy = "base", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for i in range(3):
        builder.link(f"link_{i + 1}", *uneven_bar((lengths[i], 0.0, 0.0), 2.0 * lengths[i]))
        builder.joint(f"joint_{i + 1}", "revolute", parent, f"link_{i + 1}", xyz, rpy, axis=Z)
        parent, xyz, rpy = f"link_{i + 1}", (lengths[i], 0.0, 0.0), (twists[i], 0.0, 0.0)
    # The base is the fourth link: its common normal leads from the closing axis to the first one.
    R = turned_x(-other)
    at = -turned(R, np.array([short, 0.0, 0.0]))
    builder.loop("closing", "revolute", parent, "base", xyz, rpy, at, axis=Z, child_rotation=R)
    pose = {"joint_1": angle, "joint_2": _second(twist, other, angle), "joint_3": -angle}
    return closed(builder, pose)


def _twists(long: float, short: float, twist: float) -> tuple[float, float, float, float]:
    """Twists of the four links that the lengths require [rad]."""
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
