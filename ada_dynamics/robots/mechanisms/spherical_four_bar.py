# SPDX-License-Identifier: Apache-2.0
"""A spherical four-bar linkage: four axes that meet in one point."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import STANDARD_GRAVITY
from ada_dynamics.robots.mechanisms.hinged_ring import hinged_ring
from ada_dynamics.robots.mechanisms.parts import Mechanism, as_many, positive


def spherical_four_bar(
    arcs: Sequence[float] = (0.7, 1.2, 1.0, 1.3),
    radius: float = 0.5,
    angle: float = 0.6,
    gravity: Sequence[float] = STANDARD_GRAVITY,
) -> Mechanism:
    """Crank, coupler, rocker and base, each an arc of a sphere about the origin; one motion, three redundant rows.

    Joints `joint_1` to `joint_3` lead along the chain; `closing` joins the rocker to the base. All angles are zero at
    the start.

    Args:
        arcs: of crank, coupler, rocker and base: angles between neighbouring axes [rad].
        radius: of the sphere on which the joints lie [m].
        angle: of the crank against the base at the start [rad].
        gravity: [m/s²].

    Raises:
        InputError: a value is not positive, or coupler and rocker do not meet.
    """
    positive(arcs=arcs, radius=radius)
    crank, coupler, rocker, base = as_many("arcs", arcs, 4)
    first, last = np.array([0.0, 0.0, 1.0]), np.array([math.sin(base), 0.0, math.cos(base)])
    second = np.array([math.sin(crank) * math.cos(angle), math.sin(crank) * math.sin(angle), math.cos(crank)])
    third = _meeting(second, coupler, last, rocker)
    axes = [(a, radius * a) for a in (first, second, third, last)]
    return hinged_ring("spherical_four_bar", axes, 2.0, gravity)


def _meeting(a: Array, coupler: float, b: Array, rocker: float) -> Array:
    """The direction at these angles from a and b, on the side of a x b."""
    c, up = float(a @ b), np.cross(a, b)
    square = float(up @ up)
    x, y = (math.cos(coupler) - c * math.cos(rocker)) / square, (math.cos(rocker) - c * math.cos(coupler)) / square
    in_plane = x * a + y * b
    left = 1.0 - float(in_plane @ in_plane)
    if left < 0.0:
        raise InputError(
            f"the spherical four-bar cannot be assembled: arcs of {coupler:.6g} and {rocker:.6g} rad do not meet "
            f"across {float(math.acos(np.clip(c, -1.0, 1.0))):.6g} rad. Change the arcs or the angle."
        )
    return np.asarray(in_plane + np.sqrt(left / square) * up)
