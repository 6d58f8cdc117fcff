# SPDX-License-Identifier: Apache-2.0
"""Linkages: four-bar, five-bar and ladder, all planar."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.errors import InputError
from ada_dynamics.model.builder import Builder
from ada_dynamics.robots.mechanisms.parts import (
    Mechanism,
    Y,
    along,
    angle_of,
    as_many,
    closed,
    folded,
    hinged,
    meeting_point,
    positive,
    thin_rod,
)


def four_bar(
    lengths: Sequence[float] = (1.0, 1.0, 1.0, 1.0),
    masses: Sequence[float] = (1.0, 1.0, 1.0),
    crank: float = 0.75 * np.pi,
    *,
    crossed: bool = False,
    offset: float = 0.0,
) -> Mechanism:
    """Planar four-bar linkage of three thin rods in the x-z plane, joints about +y; mobility 1.

    The default is the unit rhombus of Takahashi 2012, fig. 3.9, at (135, -45, 225) deg. Links are `base` and `link_1`
    to `link_3`, joints `joint_1` to `joint_3`; the loop joint `closing` joins the last rod to the base.

    If the longest and shortest lengths sum to the same as the others, as in (0.4, 0.9, 0.5, 1.0) and in parallelograms,
    the linkage has a flat singular configuration where it can change its assembly mode.

    Args:
        lengths: of crank, coupler, rocker and ground [m].
        masses: of crank, coupler and rocker [kg].
        crank: angle of the first rod [rad].
        crossed: if True, crank and rocker cross each other; a parallelogram becomes an antiparallelogram.
        offset: distance of each CoM from its rod, along +x at angle zero [m].

    Raises:
        InputError: a length or mass is not positive, or the rods do not meet at this crank angle.
    """
    positive(lengths=lengths, masses=masses)
    l1, l2, l3, d = as_many("lengths", lengths, 4)
    builder = Builder("four_bar").link("base")
    parent, height = "base", 0.0
    for i, (size, mass) in enumerate(zip((l1, l2, l3), as_many("masses", masses, 3), strict=True), start=1):
        builder.link(f"link_{i}", *thin_rod(size, mass, offset))
        builder.joint(f"joint_{i}", "revolute", parent, f"link_{i}", (0.0, 0.0, height), axis=Y)
        parent, height = f"link_{i}", size
    builder.loop("closing", "revolute", "link_3", "base", (0.0, 0.0, l3), child_xyz=(d, 0.0, 0.0), axis=Y)
    # angles of coupler and rocker relative to +z
    pin, pivot = l1 * along(crank), np.array([d, 0.0])
    if l1 == l3 and l2 == d and not crossed:
        # A parallelogram closes at every angle, also where the circles coincide.
        second, third = 0.5 * np.pi, folded(crank + np.pi)
    else:
        # In the open mode coupler and rocker meet on the side of the diagonal opposite to the crank's pivot.
        side = -1 if pin[1] > 0.0 else 1
        meeting = meeting_point("the four-bar linkage", pin, l2, pivot, l3, -side if crossed else side)
        second, third = angle_of(meeting - pin), angle_of(pivot - meeting)
    joints = {"joint_1": crank, "joint_2": folded(second - crank), "joint_3": folded(third - second)}
    return closed(builder, joints)


def five_bar(
    lengths: Sequence[float] = (0.3, 0.5, 0.5, 0.3),
    width: float = 0.2,
    tip: Sequence[float] = (0.15, 0.6),
) -> Mechanism:
    """Planar five-bar linkage: cranks at (0, 0) and (width, 0) of the x-z plane, rods that meet at the tip; mobility 2.

    Joints `left_crank`, `left_rod`, `right_crank`, `right_rod` turn about +y; the loop joint `tip` joins the rods. The
    cranks have the motors; the elbows point outwards.

    Args:
        lengths: lengths of left crank, left rod, right rod and right crank [m].
        width: distance of the pivots [m].
        tip: (x, z) of the joint of the rods [m].

    Raises:
        InputError: a length is not positive, or the tip is out of reach.
    """
    positive(lengths=lengths, width=width)
    a, b, c, d = as_many("lengths", lengths, 4)
    sides = (("left", 0.0, a, b, -1), ("right", width, d, c, 1))
    point = np.array(as_many("tip", tip, 2))
    builder = Builder("five_bar").link("base")
    pose: dict[str, float] = {}
    for name, x, crank, rod, side in sides:
        hinged(builder, f"{name}_crank", "base", (x, 0.0, 0.0), thin_rod(crank, 0.4))
        hinged(builder, f"{name}_rod", f"{name}_crank", (0.0, 0.0, crank), thin_rod(rod, 0.3))
        pivot = np.array([x, 0.0])
        elbow = meeting_point(f"the {name} arm of the five-bar linkage", pivot, crank, point, rod, side)
        pose[f"{name}_crank"] = angle_of(elbow - pivot)
        pose[f"{name}_rod"] = folded(angle_of(point - elbow) - pose[f"{name}_crank"])
    builder.loop("tip", "revolute", "left_rod", "right_rod", (0.0, 0.0, b), child_xyz=(0.0, 0.0, c), axis=Y)
    return closed(builder.actuated(["left_crank", "right_crank"]), pose)


def ladder(n: int = 10) -> Mechanism:
    """Ladder of n planar four-bar cells in the x-z plane, each on the rung of the one below; mobility n.

    Cell i has two uprights and a rung, joints `left_i`, `rung_i`, `right_i` about +y, and the loop joint `cell_i`
    between the right upright and the rung. Rungs belong to two loops.

    Raises:
        InputError: there is no cell.
    """
    if n < 1:
        raise InputError(f"n is {n}; a ladder needs at least one cell.", field="n", value=n, allowed=">= 1")
    height, tall, width = 0.5, 0.55, 0.4  # of left and right uprights, and of rungs [m]
    builder = Builder(f"ladder_{n}").link("base")
    pose: dict[str, float] = {}
    below = "base"
    for i in range(1, n + 1):
        hinged(builder, f"left_{i}", below, (0.0, 0.0, 0.0), thin_rod(height, 1.0))
        hinged(builder, f"rung_{i}", f"left_{i}", (0.0, 0.0, height), thin_rod(width, 0.7, axis=0))
        hinged(builder, f"right_{i}", below, (width, 0.0, 0.0), thin_rod(tall, 1.1))
        ends = ((0.0, 0.0, tall), (width, 0.0, 0.0))
        builder.loop(f"cell_{i}", "revolute", f"right_{i}", f"rung_{i}", ends[0], child_xyz=ends[1], axis=Y)
        below = f"rung_{i}"
        # In the frame of the lower rung.
        left = 0.2 * (-1.0) ** i
        top, foot = height * along(left), np.array([width, 0.0])
        corner = meeting_point(f"cell {i} of the ladder", top, width, foot, tall, -1)
        rung = angle_of(corner - top) - 0.5 * np.pi  # a rung lies along +x at angle zero
        pose |= {f"left_{i}": left, f"rung_{i}": folded(rung - left), f"right_{i}": angle_of(corner - foot)}
    return closed(builder, pose)
