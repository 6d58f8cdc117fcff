# SPDX-License-Identifier: Apache-2.0
"""The planar five-bar linkage, a parallel robot with two cranks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.model.builder import Builder
from ada_dynamics.model.model import STANDARD_GRAVITY
from ada_dynamics.robots.mechanisms.geometry import angle_of, folded, meeting_point
from ada_dynamics.robots.mechanisms.parts import Mechanism, Y, as_many, positive, stacked, thin_rod
from ada_dynamics.robots.mechanisms.shapes import DRIVEN, FRAME, ROD, Layers


def five_bar(
    lengths: Sequence[float] = (0.3, 0.5, 0.5, 0.3),
    masses: Sequence[float] = (0.4, 0.3, 0.3, 0.4),
    width: float = 0.2,
    tip: Sequence[float] = (0.15, 0.6),
    gravity: Sequence[float] = STANDARD_GRAVITY,
) -> Mechanism:
    """Two cranks at (0, 0) and (width, 0) of the x-z plane, with a rod each that meet at the tip; two motions.

    Joints `left_crank`, `left_rod`, `right_crank`, `right_rod` turn about +y; `tip` joins the rods. The cranks have
    the motors; the elbows point outwards.

    Args:
        lengths: of left crank, left rod, right rod and right crank [m].
        masses: in the same order [kg].
        width: distance of the pivots [m].
        tip: where the rods meet, as (x, z) [m].
        gravity: [m/s²].

    Raises:
        InputError: a length or mass is not positive, or the tip is out of reach.
    """
    positive(lengths=lengths, masses=masses, width=width)
    a, b, c, d = as_many("lengths", lengths, 4)
    m = as_many("masses", masses, 4)
    sides = (("left", 0.0, a, b, m[0], m[1], -1), ("right", width, d, c, m[3], m[2], 1))
    point = np.array(as_many("tip", tip, 2))
    flat, end = Layers(float(np.mean((a, b, c, d)))), np.array([0.0, 0.0, 1.0])
    pivots = [(x, 0.0, 0.0) for x in (0.0, width)]
    frame = [*flat.bar(-1, pivots[0], pivots[1], FRAME), *(flat.motor(at) for at in pivots)]
    builder = Builder("five_bar").link("base", visuals=frame)
    pose: dict[str, float] = {}
    for layer, (name, x, crank, rod, crank_mass, rod_mass, side) in enumerate(sides, start=1):
        looks = [*flat.bar(0, 0 * end, crank * end, DRIVEN), flat.pin(0 * end, -1, 0), flat.pin(crank * end, 0, layer)]
        builder.link(f"{name}_crank", *thin_rod(crank, crank_mass), visuals=looks)
        builder.joint(f"{name}_crank", "revolute", "base", f"{name}_crank", (x, 0.0, 0.0), axis=Y)
        looks = [*flat.bar(layer, 0 * end, rod * end, ROD), *([flat.pin(rod * end, 1, 2)] if layer == 1 else [])]
        builder.link(f"{name}_rod", *thin_rod(rod, rod_mass), visuals=looks)
        builder.joint(f"{name}_rod", "revolute", f"{name}_crank", f"{name}_rod", (0.0, 0.0, crank), axis=Y)
        pivot = np.array([x, 0.0])
        elbow = meeting_point(f"the {name} arm of the five-bar linkage", pivot, crank, point, rod, side)
        pose[f"{name}_crank"] = angle_of(elbow - pivot)
        pose[f"{name}_rod"] = folded(angle_of(point - elbow) - pose[f"{name}_crank"])
    builder.loop("tip", "revolute", "left_rod", "right_rod", (0.0, 0.0, b), child_xyz=(0.0, 0.0, c), axis=Y)
    builder.actuated(["left_crank", "right_crank"])
    model = builder.build(gravity=gravity)
    return Mechanism(model, stacked(model, pose))
