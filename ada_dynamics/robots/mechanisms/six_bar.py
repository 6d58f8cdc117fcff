# SPDX-License-Identifier: Apache-2.0
"""The planar six-bar linkages: a four-bar and two more rods."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.model import STANDARD_GRAVITY
from ada_dynamics.robots.mechanisms.geometry import along, angle_of, folded, meeting_point
from ada_dynamics.robots.mechanisms.parts import Mechanism, Solid, Y, stacked, thin_rod, triangle

# Both linkages [m]; (x, z) of the extra pins in the frames of coupler and rocker.
CRANK, COUPLER, ROCKER, GROUND = 0.3, 0.8, 0.7, 0.9
COUPLER_PIN, ROCKER_PIN = (-0.3, 0.5), (-0.25, 0.9)
DENSITY = 1.5  # [kg/m] of rods
PLATE = 1.2  # [kg]


def watt_six_bar(crank: float = 0.6, gravity: Sequence[float] = STANDARD_GRAVITY) -> Mechanism:
    """A four-bar whose coupler and rocker are triangles, and two rods between their free corners; one motion.

    Watt's linkage of type I: the second loop lies between moving links only. Loops `rocker_pin` and `outer_pin`; the
    motor is at `crank`.

    Args:
        crank: angle of the crank [rad].
        gravity: [m/s²].

    Raises:
        InputError: the bars do not meet at this crank angle.
    """
    frame = _FourBar(crank)
    first, second = 0.55, 0.6
    corner, far = frame.in_coupler(COUPLER_PIN), frame.in_rocker(ROCKER_PIN)
    tip = meeting_point("the outer loop of Watt's linkage", corner, first, far, second, -1)
    builder = _four_bar("watt_six_bar", rocker_is_plate=True)
    _rod(builder, "upper", "coupler", COUPLER_PIN, first)
    _rod(builder, "lower", "rocker", ROCKER_PIN, second)
    builder.loop("outer_pin", "revolute", "upper", "lower", (0.0, 0.0, first), child_xyz=(0.0, 0.0, second), axis=Y)
    model = builder.actuated(["crank"]).build(gravity=gravity)
    pose = frame.angles | {
        "upper": folded(angle_of(tip - corner) - frame.coupler),
        "lower": folded(angle_of(tip - far) - frame.rocker),
    }
    return Mechanism(model, stacked(model, pose))


def stephenson_six_bar(crank: float = 0.6, gravity: Sequence[float] = STANDARD_GRAVITY) -> Mechanism:
    """A four-bar whose coupler is a triangle, and two rods from its free corner to the ground; one motion.

    Stephenson's linkage of type III. Loops `rocker_pin` and `outer_pin`; the motor is at `crank`.

    Args:
        crank: angle of the crank [rad].
        gravity: [m/s²].

    Raises:
        InputError: the bars do not meet at this crank angle.
    """
    frame = _FourBar(crank)
    first, second, pivot = 0.7, 0.8, (-0.6, 0.2)
    corner = frame.in_coupler(COUPLER_PIN)
    tip = meeting_point("the outer loop of Stephenson's linkage", corner, first, pivot, second, -1)
    builder = _four_bar("stephenson_six_bar", rocker_is_plate=False)
    _rod(builder, "upper", "coupler", COUPLER_PIN, first)
    _rod(builder, "lower", "base", pivot, second)
    builder.loop("outer_pin", "revolute", "upper", "lower", (0.0, 0.0, first), child_xyz=(0.0, 0.0, second), axis=Y)
    model = builder.actuated(["crank"]).build(gravity=gravity)
    pose = frame.angles | {
        "upper": folded(angle_of(tip - corner) - frame.coupler),
        "lower": angle_of(tip - np.array(pivot)),
    }
    return Mechanism(model, stacked(model, pose))


class _FourBar:
    """Pose of the inner four-bar: the rocker stands on the ground, the coupler leads from the crank to its top."""

    def __init__(self, crank: float) -> None:
        self.pin, self.pivot = CRANK * along(crank), np.array([GROUND, 0.0])
        top = meeting_point("the inner four-bar", self.pin, COUPLER, self.pivot, ROCKER, -1)
        self.coupler, self.rocker = angle_of(top - self.pin), angle_of(top - self.pivot)
        self.angles = {"crank": crank, "coupler": folded(self.coupler - crank), "rocker": self.rocker}

    def in_coupler(self, point: Sequence[float]) -> Array:
        return self.pin + _turned(self.coupler, point)

    def in_rocker(self, point: Sequence[float]) -> Array:
        return self.pivot + _turned(self.rocker, point)


def _turned(angle: float, point: Sequence[float]) -> Array:
    """(x, z) of a point that is fixed in a turned link."""
    s, c = math.sin(angle), math.cos(angle)
    return np.array([c * point[0] + s * point[1], -s * point[0] + c * point[1]])


def _four_bar(name: str, rocker_is_plate: bool) -> Builder:
    builder = Builder(name).link("base")
    builder.link("crank", *thin_rod(CRANK, DENSITY * CRANK)).joint("crank", "revolute", "base", "crank", axis=Y)
    builder.link("coupler", *_plate(COUPLER, COUPLER_PIN))
    builder.joint("coupler", "revolute", "crank", "coupler", (0.0, 0.0, CRANK), axis=Y)
    builder.link("rocker", *(_plate(ROCKER, ROCKER_PIN) if rocker_is_plate else thin_rod(ROCKER, DENSITY * ROCKER)))
    builder.joint("rocker", "revolute", "base", "rocker", (GROUND, 0.0, 0.0), axis=Y)
    return builder.loop(
        "rocker_pin", "revolute", "coupler", "rocker", (0.0, 0.0, COUPLER), child_xyz=(0.0, 0.0, ROCKER), axis=Y
    )


def _plate(length: float, corner: Sequence[float]) -> Solid:
    return triangle([(0.0, 0.0, 0.0), (0.0, 0.0, length), (corner[0], 0.0, corner[1])], PLATE)


def _rod(builder: Builder, name: str, parent: str, pin: Sequence[float], length: float) -> None:
    builder.link(name, *thin_rod(length, DENSITY * length))
    builder.joint(name, "revolute", parent, name, (pin[0], 0.0, pin[1]), axis=Y)
