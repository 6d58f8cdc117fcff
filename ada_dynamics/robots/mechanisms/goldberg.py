# SPDX-License-Identifier: Apache-2.0
"""Goldberg's five-bar linkage: two Bennett linkages that share a link, which is then taken out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.model.model import STANDARD_GRAVITY
from ada_dynamics.robots.mechanisms.bennett import bennett_axes
from ada_dynamics.robots.mechanisms.hinged_ring import hinged_ring
from ada_dynamics.robots.mechanisms.parts import Mechanism


def goldberg(
    shared: float = 0.5,
    others: Sequence[float] = (0.4, 0.3),
    twist: float = np.radians(50.0),
    angles: Sequence[float] = (1.1, -0.8),
    gravity: Sequence[float] = STANDARD_GRAVITY,
) -> Mechanism:
    """Five links and five skew axes in space; one motion, two redundant rows.

    Of the two joints at the ends of the shared link one is locked, so that the links of both Bennett linkages that meet
    there become one; the other joint stays and makes the shared link superfluous. Joints `joint_1` to `joint_4` lead
    along the chain; `closing` joins the last link to the base. All angles are zero at the start.

    Args:
        shared: length of the long links of both Bennett linkages, one of which they share [m].
        others: length of the short links of each [m].
        twist: between the axes of a long link [rad].
        angles: of the locked joint in each Bennett linkage [rad].
        gravity: [m/s²].

    Raises:
        InputError: a length is not positive, or no short link can have the twist that is needed.
    """
    # Both begin with the axes of the shared link, in the same place: locked, kept, next, last.
    one, other = (bennett_axes(shared, short, twist, at) for short, at in zip(others, angles, strict=True))
    return hinged_ring("goldberg", [one[1], one[2], one[3], other[3], other[2]], 2.0, gravity)
