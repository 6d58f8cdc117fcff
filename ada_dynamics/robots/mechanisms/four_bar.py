# SPDX-License-Identifier: Apache-2.0
"""The planar four-bar linkage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.model.builder import Builder
from ada_dynamics.model.model import STANDARD_GRAVITY
from ada_dynamics.robots.mechanisms.geometry import along, angle_of, folded, meeting_point
from ada_dynamics.robots.mechanisms.parts import Mechanism, Y, as_many, positive, stacked, thin_rod
from ada_dynamics.robots.mechanisms.shapes import DRIVEN, FRAME, OUTPUT, ROD, Layers


def four_bar(
    lengths: Sequence[float] = (1.0, 1.0, 1.0, 1.0),
    masses: Sequence[float] = (1.0, 1.0, 1.0),
    crank: float = 0.75 * np.pi,
    *,
    crossed: bool = False,
    offset: float = 0.0,
    gravity: Sequence[float] = STANDARD_GRAVITY,
) -> Mechanism:
    """Three thin rods from the origin to a pivot on the ground, in the x-z plane, joints about +y; one motion.

    By default the unit rhombus of Takahashi 2012, fig. 3.9, at (135, -45, 225) deg. Links are `base` and `link_1` to
    `link_3`, joints `joint_1` to `joint_3`; `closing` joins the last rod to the base.

    Lengths whose longest and shortest add up to the same as the others pass through a flat pose where the linkage can
    change its branch: (0.4, 0.9, 0.5, 1.0), and every parallelogram.

    Args:
        lengths: of crank, coupler, rocker and ground [m].
        masses: of crank, coupler and rocker [kg].
        crank: angle of the first rod [rad].
        crossed: whether crank and rocker cross each other; a parallelogram is an antiparallelogram then.
        offset: distance of each CoM from its rod, along +x at angle zero [m].
        gravity: [m/s²].

    Raises:
        InputError: a length or mass is not positive, or the rods do not meet at this crank angle.
    """
    positive(lengths=lengths, masses=masses)
    l1, l2, l3, d = as_many("lengths", lengths, 4)
    flat, end = Layers(float(np.mean((l1, l2, l3)))), np.array([0.0, 0.0, 1.0])
    ground = np.array([d, 0.0, 0.0])
    frame = [*flat.bar(-1, 0 * end, ground, FRAME), flat.pin(0 * end, -1, 0), flat.pin(ground, -1, 2)]
    builder = Builder("four_bar").link("base", visuals=frame)
    parent, height = "base", 0.0
    for i, (length, mass) in enumerate(zip((l1, l2, l3), as_many("masses", masses, 3), strict=True), start=1):
        looks = flat.bar(i - 1, 0 * end, length * end, (DRIVEN, ROD, OUTPUT)[i - 1])
        looks += [flat.pin(length * end, i - 1, i)] if i < 3 else []
        builder.link(f"link_{i}", *thin_rod(length, mass, offset), visuals=looks)
        builder.joint(f"joint_{i}", "revolute", parent, f"link_{i}", (0.0, 0.0, height), axis=Y)
        parent, height = f"link_{i}", length
    builder.loop("closing", "revolute", "link_3", "base", (0.0, 0.0, l3), child_xyz=(d, 0.0, 0.0), axis=Y)
    model = builder.build(gravity=gravity)
    first, second, third = _angles(l1, l2, l3, d, crank, crossed)
    joints = {"joint_1": first, "joint_2": folded(second - first), "joint_3": folded(third - second)}
    return Mechanism(model, stacked(model, joints))


def _angles(l1: float, l2: float, l3: float, d: float, crank: float, crossed: bool) -> tuple[float, float, float]:
    """Angles of the rods against +z."""
    pin, pivot = l1 * along(crank), np.array([d, 0.0])
    if l1 == l3 and l2 == d and not crossed:
        # A parallelogram has a pose at every angle, also where the circles coincide.
        return crank, 0.5 * np.pi, folded(crank + np.pi)
    # Uncrossed, the coupler and the rocker meet on the other side of the diagonal than the crank's pivot.
    side = -1 if pin[1] > 0.0 else 1
    meeting = meeting_point("the four-bar linkage", pin, l2, pivot, l3, -side if crossed else side)
    return crank, angle_of(meeting - pin), angle_of(pivot - meeting)
