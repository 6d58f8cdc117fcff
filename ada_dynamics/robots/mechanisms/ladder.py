# SPDX-License-Identifier: Apache-2.0
"""A ladder: four-bar cells in a row, each standing on the rung of the one before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.errors import InputError
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.model import STANDARD_GRAVITY
from ada_dynamics.robots.mechanisms.geometry import along, angle_of, folded, meeting_point
from ada_dynamics.robots.mechanisms.parts import Mechanism, Y, positive, stacked, thin_rod


def ladder(
    n: int = 10,
    height: float = 0.5,
    width: float = 0.4,
    lean: float = 0.2,
    gravity: Sequence[float] = STANDARD_GRAVITY,
) -> Mechanism:
    """n planar four-bar cells, each on the rung of the one below, in the x-z plane; n motions.

    Cell i has two uprights and a rung, joints `left_i`, `rung_i`, `right_i` about +y, and the loop `cell_i` where the
    right upright meets the rung. Rungs are shared by two loops; right uprights are 1.1 times as long as left ones.

    Args:
        n: number of cells.
        height: of a left upright [m].
        width: of a rung and of the ground between the pivots [m].
        lean: angle of the left uprights, to both sides in turn [rad].
        gravity: [m/s²].

    Raises:
        InputError: an argument is out of range, or a cell does not close.
    """
    if n < 1:
        raise InputError(f"n is {n}; a ladder needs at least one cell.")
    positive(height=height, width=width)
    tall = 1.1 * height
    builder = Builder(f"ladder_{n}").link("base")
    pose: dict[str, float] = {}
    below = "base"
    for i in range(1, n + 1):
        builder.link(f"left_{i}", *thin_rod(height, 1.0)).link(f"rung_{i}", *thin_rod(width, 0.7, axis=0))
        builder.link(f"right_{i}", *thin_rod(tall, 1.1))
        builder.joint(f"left_{i}", "revolute", below, f"left_{i}", axis=Y)
        builder.joint(f"rung_{i}", "revolute", f"left_{i}", f"rung_{i}", (0.0, 0.0, height), axis=Y)
        builder.joint(f"right_{i}", "revolute", below, f"right_{i}", (width, 0.0, 0.0), axis=Y)
        builder.loop(
            f"cell_{i}", "revolute", f"right_{i}", f"rung_{i}", (0.0, 0.0, tall), child_xyz=(width, 0.0, 0.0), axis=Y
        )
        below = f"rung_{i}"
        # In the frame of the rung below.
        left = lean * (-1.0) ** i
        top, foot = height * along(left), np.array([width, 0.0])
        corner = meeting_point(f"cell {i} of the ladder", top, width, foot, tall, -1)
        rung = angle_of(corner - top) - 0.5 * np.pi  # a rung lies along +x at angle zero
        pose |= {f"left_{i}": left, f"rung_{i}": folded(rung - left), f"right_{i}": angle_of(corner - foot)}
    model = builder.build(gravity=gravity)
    return Mechanism(model, stacked(model, pose))
