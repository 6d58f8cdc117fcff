# SPDX-License-Identifier: Apache-2.0
"""Transmissions of humanoid legs: an ankle with two motors on the shank, a knee behind a four-bar linkage.

The sizes are rounded ones of such humanoids; lengths and places are arguments. Angles turn about +y or +x.
"""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.elements import Limits
from ada_dynamics.robots.mechanisms.parts import (
    DARK,
    DRIVEN,
    FRAME,
    OUTPUT,
    Mechanism,
    X,
    Y,
    angle_of,
    angle_with,
    ball,
    bar,
    block,
    box,
    closed,
    cylinder,
    folded,
    hinged,
    hooke_angles,
    meeting_point,
    pin,
    positive,
    thin_rod,
    turned_x,
    turned_y,
)


def parallel_ankle(
    crank: float = 0.045,
    lever: float = 0.05,
    width: float = 0.035,
    heights: tuple[float, float] = (0.16, 0.24),
    rods: tuple[float, float] = (0.16, 0.24),
) -> Mechanism:
    """Ankle of a humanoid: two motors on the shank tilt the foot in pitch and roll by cranks and rods; mobility 2.

    The foot has the joints `ankle_pitch` (about y) and `ankle_roll` (about x); the motors `left_crank` and
    `right_crank` turn about y. Each rod has a universal joint at its crank (`left_rod`, `right_rod`) and a spherical
    loop joint at the foot (`left_end`, `right_end`).

    Args:
        crank: length of the cranks, which point backwards at zero [m].
        lever: distance of the rods behind the ankle [m].
        width: distance of the rods from the middle of the foot [m].
        heights: of the left and right motor above the ankle [m].
        rods: lengths of the left and right rod [m].

    Raises:
        InputError: a length is not positive, or a rod does not reach.
    """
    positive(crank=crank, lever=lever, width=width, heights=heights, rods=rods)
    shank = (bar((0, 0, 0), (0, 0, max(heights) + 0.04), 0.022, FRAME),)
    builder = Builder("parallel_ankle").link("shank", *cylinder(0.3, 0.022, 1.5), visuals=shank)
    cross, cross_looks = box((0.03,) * 3, 0.1), (pin((0, 0, 0), Y, 0.012, 0.06),)
    hinged(builder, "ankle_pitch", "shank", (0, 0, 0), cross, Y, cross_looks, limits=Limits(-0.6, 0.6, 12.0, 120.0))
    pose: dict[str, float | Array] = {}
    foot = (
        pin((0, 0, 0), X, 0.012, 0.05),
        block((0.03, 0, -0.045), (0.2, 0.08, 0.02), OUTPUT),
        bar((0, 0, 0), (0, 0, -0.04), 0.018, OUTPUT),
        *(bar((0, 0, 0), (-lever, side * width, 0), 0.007, OUTPUT) for side in (1, -1)),
    )
    foot_body = box((0.2, 0.08, 0.03), 0.8, (0.03, 0, -0.045))
    hinged(builder, "ankle_roll", "ankle_pitch", (0, 0, 0), foot_body, X, foot, limits=Limits(-0.4, 0.4, 12.0, 60.0))
    for side, name, height, length in ((1, "left", heights[0], rods[0]), (-1, "right", heights[1], rods[1])):
        motor, end = np.array([0.0, side * width, height]), np.array([-lever, side * width, 0.0])
        tip = np.array([-crank, 0.0, 0.0])
        looks = (pin((0, 0, 0), Y, 0.02, 0.03), bar((0, 0, 0), tip, 0.008, DRIVEN))
        body, limits = box((crank, 0.01, 0.01), 0.08, tip / 2), Limits(-1.2, 1.2, 20.0, 60.0)
        hinged(builder, f"{name}_crank", "shank", motor, body, Y, looks, limits=limits)
        angle = ankle_crank(0.0, 0.0, motor, crank, end, length)
        to_foot = turned_y(angle).T @ (end - motor - turned_y(angle) @ tip)
        shapes = (bar((0, 0, 0), (0, 0, length), 0.005), ball((0, 0, 0), 0.009), ball((0, 0, length), 0.009))
        builder.link(f"{name}_rod", *cylinder(length, 0.005, 0.06), visuals=shapes)
        flip = np.diag([1.0, -1.0, -1.0])
        rod = f"{name}_rod"
        builder.joint(rod, "universal", f"{name}_crank", rod, tip, axis=Y, axis2=X, rotation=flip)
        builder.loop(f"{name}_end", "spherical", f"{name}_rod", "ankle_roll", (0, 0, length), child_xyz=end)
        pose |= {f"{name}_crank": angle, f"{name}_rod": hooke_angles(flip @ to_foot)}
    return closed(builder.actuated(["left_crank", "right_crank"]), pose)


def ankle_crank(pitch: float, roll: float, motor: Array, crank: float, end: Array, rod: float) -> float:
    """Angle of a crank in closed form: |R_y(pitch) R_x(roll) end - motor - R_y(angle) (-crank, 0, 0)| = rod."""
    d = turned_y(pitch) @ turned_x(roll) @ end - motor
    # d . R_y (-crank, 0, 0) = crank (d_z sin - d_x cos)
    c = float(d @ d + crank**2 - rod**2) / (2.0 * crank)
    return angle_with("the ankle", -float(d[0]), float(d[2]), c, 1)


def parallel_knee(
    crank: float = 0.05, lever: float = 0.06, height: float = 0.22, rod: float = 0.21, knee: float = 0.5
) -> Mechanism:
    """Knee of a humanoid behind a planar four-bar linkage: the motor is high on the thigh; mobility 1.

    The motor `crank` turns about +y at `height` above the knee; the rod `rod` closes the loop with the loop joint
    `rod_end` on the lever of the shank, which `knee` turns about +y.

    Args:
        crank: length of the crank [m].
        lever: length of the lever on the shank [m].
        height: of the motor above the knee [m].
        rod: length of the rod [m].
        knee: angle of the knee at the start [rad].

    Raises:
        InputError: a length is not positive, or the bars do not meet.
    """
    positive(crank=crank, lever=lever, height=height, rod=rod)
    thigh = (bar((0, 0, 0), (0, 0, height + 0.06), 0.03, FRAME),)
    builder = Builder("parallel_knee").link("thigh", *cylinder(0.3, 0.03, 4.0), visuals=thigh)
    tip = np.array([-lever, 0.0, 0.0])
    shank = (
        pin((0, 0, 0), Y, 0.02, 0.07),
        bar((0, 0, 0), (0, 0, -0.3), 0.022, OUTPUT),
        bar((0, 0, 0), tip, 0.01, OUTPUT),
    )
    shank_body = box((0.05, 0.05, 0.3), 2.5, (0, 0, -0.15))
    hinged(builder, "knee", "thigh", (0, 0, 0), shank_body, Y, shank, limits=Limits(-0.2, 1.5, 15.0, 200.0))
    looks = (pin((0, 0, 0), Y, 0.025, 0.04), bar((0, 0, 0), (0, 0, crank), 0.01, DRIVEN))
    limits = Limits(-3.0, 0.5, 20.0, 120.0)
    hinged(builder, "crank", "thigh", (0, 0, height), thin_rod(crank, 0.15), Y, looks, limits=limits)
    rod_looks = (bar((0, 0, 0), (0, 0, rod), 0.007), pin((0, 0, 0), Y, 0.01, 0.03, DARK))
    hinged(builder, "rod", "crank", (0, 0, crank), thin_rod(rod, 0.12), Y, rod_looks)
    builder.loop("rod_end", "revolute", "rod", "knee", (0, 0, rod), child_xyz=tip, axis=Y)
    end, pivot = (turned_y(knee) @ tip)[[0, 2]], np.array([0.0, height])
    elbow = meeting_point("the knee", pivot, crank, end, rod, 1)
    turn = angle_of(elbow - pivot)
    turn -= 2.0 * np.pi * (turn > np.pi)
    bend = folded(angle_of(end - elbow) - turn) - 2.0 * np.pi
    return closed(builder.actuated(["crank"]), {"knee": knee, "crank": turn, "rod": bend})
