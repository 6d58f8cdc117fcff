# SPDX-License-Identifier: Apache-2.0
"""Bricard's trihedral linkage: six hinges, each perpendicular to its neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.model.model import STANDARD_GRAVITY
from ada_dynamics.robots.mechanisms.hinged_ring import hinged_ring
from ada_dynamics.robots.mechanisms.parts import Mechanism, as_many, positive


def bricard(sizes: Sequence[float] = (0.3, 0.4, 0.5), gravity: Sequence[float] = STANDARD_GRAVITY) -> Mechanism:
    """Six links whose ends are at right angles, opposite ones of equal length; one motion, one redundant row.

    At the start the axes lie along edges of a box: the first, third and fifth one meet in one corner, the others in the
    opposite one. Joints `joint_1` to `joint_5` lead along the chain; `closing` joins the last link to the base. All
    angles are zero at the start.

    Args:
        sizes: of the box along x, y and z [m], which are the lengths of the links.
        gravity: [m/s²].

    Raises:
        InputError: a size is not positive.
    """
    positive(sizes=sizes)
    corner = np.array(as_many("sizes", sizes, 3))
    x, y, z = np.eye(3)
    near = [(x, corner * x), (y, corner * y), (z, corner * z)]
    # The common normal of two neighbours is an edge, too: joints stand where it begins.
    far = [(z, corner * (x + y)), (x, corner * (y + z)), (y, corner * (z + x))]
    return hinged_ring("bricard", [axis for pair in zip(near, far, strict=True) for axis in pair], 2.0, gravity)
