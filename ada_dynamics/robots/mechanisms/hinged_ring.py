# SPDX-License-Identifier: Apache-2.0
"""Closed chains of hinges, described by their axes as these stand in the pose at the start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.model import STANDARD_GRAVITY
from ada_dynamics.model.rotations import length
from ada_dynamics.robots.mechanisms.parts import Mechanism, uneven_bar

Axis = tuple[Array, Array]  # unit vector and a point on the axis [m]


def hinged_ring(
    name: str, axes: Sequence[Axis], density: float, gravity: Sequence[float] = STANDARD_GRAVITY
) -> Mechanism:
    """Uneven bars between neighbouring axes; the base lies between the last axis and the first one.

    Joints are `joint_1`, ... along the chain, and `closing` between the last link and the base. All frames are upright
    and all angles zero at the start.

    Args:
        name: of the model.
        axes: in the order of the chain.
        density: mass of a bar by its length [kg/m].
        gravity: [m/s²].
    """
    builder = Builder(name).link("base")
    parent, at = "base", np.zeros(3)
    for i, (axis, point) in enumerate(axes[:-1], start=1):
        bar = axes[i][1] - point
        builder.link(f"link_{i}", *uneven_bar(bar, density * length(bar)))
        builder.joint(f"joint_{i}", "revolute", parent, f"link_{i}", point - at, axis=axis)
        parent, at = f"link_{i}", point
    axis, point = axes[-1]
    builder.loop("closing", "revolute", parent, "base", point - at, child_xyz=point, axis=axis)
    model = builder.build(gravity=gravity)
    return Mechanism(model, model.neutral())
