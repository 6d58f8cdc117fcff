# SPDX-License-Identifier: Apache-2.0
"""Sarrus' linkage: six hinges that guide a plate along a straight line."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.errors import InputError
from ada_dynamics.model.model import STANDARD_GRAVITY
from ada_dynamics.robots.mechanisms.hinged_ring import hinged_ring
from ada_dynamics.robots.mechanisms.parts import Mechanism, positive


def sarrus(
    arm: float = 0.4,
    height: float = 0.5,
    width: float = 0.3,
    gravity: Sequence[float] = STANDARD_GRAVITY,
) -> Mechanism:
    """Two legs of two arms each, at right angles, under a plate that rises straight up; one redundant row.

    `joint_1` to `joint_3` are foot, knee and head of the leg that bends in the x-z plane, `joint_4` and `joint_5` head
    and knee of the one in the y-z plane, and `closing` is its foot. `link_3` is the plate. All angles are zero at the
    start.

    Args:
        arm: length of each of the four arms [m].
        height: of the plate at the start [m].
        width: from the middle of the plate to its hinges [m].
        gravity: [m/s²].

    Raises:
        InputError: a length is not positive, or the arms do not reach the plate.
    """
    positive(arm=arm, height=height, width=width)
    if height >= 2.0 * arm:
        raise InputError(f"Sarrus' linkage cannot be assembled: height is {height}; two arms reach {2.0 * arm}.")
    knee = width + float(np.sqrt(arm**2 - 0.25 * height**2))
    x, y = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    places = ((width, 0.0), (knee, 0.5 * height), (width, height))
    one = [(y, np.array([out, 0.0, z])) for out, z in places]
    other = [(x, np.array([0.0, out, z])) for out, z in reversed(places)]
    return hinged_ring("sarrus", [*one, *other], 2.0, gravity)
