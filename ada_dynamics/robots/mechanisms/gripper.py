# SPDX-License-Identifier: Apache-2.0
"""A gripper whose fingers stay parallel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.errors import InputError
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.elements import Mimic
from ada_dynamics.model.model import STANDARD_GRAVITY
from ada_dynamics.robots.mechanisms.parts import Mechanism, Y, box, stacked, thin_rod

LENGTH, SPACING = 0.06, 0.02  # of the bars, and between the two of a finger [m]


def parallel_gripper(opening: float = 0.5, gravity: Sequence[float] = STANDARD_GRAVITY) -> Mechanism:
    """Two parallelogram fingers in the x-z plane, geared to each other by a mimic joint; one motion.

    Each finger has the joints `<side>_drive` and `<side>_link` on the palm and `<side>_pad` between drive and pad; the
    loop `<side>_pin` joins link and pad. `right_drive` mimics `left_drive`, which has the motor.

    Args:
        opening: angle of the bars to both sides [rad].
        gravity: [m/s²].

    Raises:
        InputError: the opening is not between -90 and 90 deg.
    """
    if not abs(opening) < 0.5 * np.pi:
        raise InputError(f"opening is {opening} rad; it must be between -π/2 and π/2.")
    builder = Builder("parallel_gripper").link("palm", *box((0.08, 0.04, 0.03), 0.3))
    pose: dict[str, float] = {}
    for side, sign in (("left", -1.0), ("right", 1.0)):
        drive, link, pad = f"{side}_drive", f"{side}_link", f"{side}_pad"
        inner, outer = (sign * 0.01, 0.0, 0.015), (sign * (0.01 + SPACING), 0.0, 0.015)
        mimic = Mimic("left_drive", -1.0) if side == "right" else None
        builder.link(drive, *thin_rod(LENGTH, 0.02)).joint(drive, "revolute", "palm", drive, inner, axis=Y, mimic=mimic)
        builder.link(pad, *box((0.01, 0.02, 0.05), 0.03, (sign * 0.005, 0.0, 0.02)))
        builder.joint(pad, "revolute", drive, pad, (0.0, 0.0, LENGTH), axis=Y)
        builder.link(link, *thin_rod(LENGTH, 0.015)).joint(link, "revolute", "palm", link, outer, axis=Y)
        builder.loop(
            f"{side}_pin", "revolute", link, pad, (0.0, 0.0, LENGTH), child_xyz=(sign * SPACING, 0.0, 0.0), axis=Y
        )
        angle = sign * opening
        pose |= {link: angle, pad: -angle}
    model = builder.actuated(["left_drive"]).build(gravity=gravity)
    return Mechanism(model, stacked(model, pose | {"left_drive": -opening}))
