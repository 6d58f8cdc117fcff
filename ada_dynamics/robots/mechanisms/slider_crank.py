# SPDX-License-Identifier: Apache-2.0
"""The slider-crank."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ada_dynamics.model.builder import Builder
from ada_dynamics.model.model import STANDARD_GRAVITY
from ada_dynamics.robots.mechanisms.geometry import angle_with
from ada_dynamics.robots.mechanisms.parts import Mechanism, X, Y, as_many, box, positive, stacked, thin_rod
from ada_dynamics.robots.mechanisms.shapes import DRIVEN, FRAME, OUTPUT, ROD, Layers, block


def slider_crank(
    crank: float = 0.3,
    rod: float = 0.7,
    masses: Sequence[float] = (0.5, 1.0, 0.8),
    angle: float = 0.7,
    *,
    height: float = 0.0,
    gravity: Sequence[float] = STANDARD_GRAVITY,
) -> Mechanism:
    """A crank at the origin, a rod and a slider that is guided along +x, in the x-z plane; one motion.

    Joints `crank`, `rod` and `slider` turn about +y, rods lie along +z at angle zero; `guide` is the prismatic loop
    joint between the base and the slider. With crank = rod the linkage can change its branch where both are upright.

    Args:
        crank: length [m].
        rod: length [m].
        masses: of crank, rod and slider [kg].
        angle: of the crank [rad].
        height: of the guide above the crank's pivot [m].
        gravity: [m/s²].

    Raises:
        InputError: a length or mass is not positive, or the rod does not reach the guide.
    """
    positive(crank=crank, rod=rod, masses=masses)
    m1, m2, m3 = as_many("masses", masses, 3)
    flat = Layers(0.5 * (crank + rod))
    start, far, hinge, end = (0.0, 0.0, 0.0), crank + rod, (0.0, 0.0, crank), (0.0, 0.0, rod)
    rail = [
        *flat.bar(-1, start, (0.1 * far, 0.0, height), FRAME),
        *flat.bar(-1, (0.1 * far, 0, height), (1.1 * far, 0, height), FRAME),
    ]
    builder = Builder("slider_crank").link("base", visuals=[*rail, flat.motor(start)])
    looks = [*flat.bar(0, start, hinge, DRIVEN), flat.pin(start, -1, 0), flat.pin(hinge, 0, 1)]
    builder.link("crank", *thin_rod(crank, m1), visuals=looks).joint("crank", "revolute", "base", "crank", axis=Y)
    builder.link("rod", *thin_rod(rod, m2), visuals=[*flat.bar(1, start, end, ROD), flat.pin(end, 0, 1)])
    builder.joint("rod", "revolute", "crank", "rod", hinge, axis=Y)
    carriage = block(start, (0.1, 1.2 * flat.thickness, 2.0 * flat.width), OUTPUT)
    builder.link("slider", *box((0.1, 0.05, 0.05), m3), visuals=[carriage])
    builder.joint("slider", "revolute", "rod", "slider", end, axis=Y)
    builder.loop("guide", "prismatic", "base", "slider", (0.0, 0.0, height), axis=X)
    builder.actuated(["crank"])
    model = builder.build(gravity=gravity)
    # The slider is the one ahead of the two that the rod reaches: crank cos(angle) + rod cos(t) = height.
    t = angle_with("the slider-crank", rod, 0.0, height - crank * float(math.cos(angle)), 1)
    return Mechanism(model, stacked(model, {"crank": angle, "rod": t - angle, "slider": -t}))
