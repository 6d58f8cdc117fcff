# SPDX-License-Identifier: Apache-2.0
"""A ring of links in space, joined by revolute joints."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ada_dynamics.errors import InputError
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.model import STANDARD_GRAVITY
from ada_dynamics.model.rotations import length, turned
from ada_dynamics.robots.mechanisms.geometry import turned_z
from ada_dynamics.robots.mechanisms.parts import Mechanism, box, positive


def ring(
    n: int = 8,
    radius: float = 0.5,
    mass: float = 4.0,
    base: str = "fixed",
    gravity: Sequence[float] = STANDARD_GRAVITY,
) -> Mechanism:
    """A closed chain of n links and n revolute joints whose axes are askew; n - 6 motions from n = 7 on.

    The joints stand on a circle in the x-y plane, the first one, `closing`, on its x axis: it joins the last link to
    the first, which is the base. All angles are zero at the start.

    Args:
        n: number of links, at least 4; up to 6 the ring is rigid.
        radius: of the circle [m].
        mass: of the ring [kg].
        base: how the first link is held: fixed, floating or floating_euler.
        gravity: [m/s²].

    Raises:
        InputError: an argument is out of range.
    """
    if n < 4:
        raise InputError(f"n is {n}; a ring needs at least 4 links.")
    positive(radius=radius, mass=mass)
    step = 2.0 * np.pi / n
    chord = turned(radius * (turned_z(step) - np.eye(3)), np.array([1.0, 0.0, 0.0]))
    size = length(chord)
    bar = box((0.3 * size, size, 0.25 * size), mass / n, 0.5 * chord + 0.05 * size)
    builder = Builder(f"ring_{n}")
    for i in range(n):
        builder.link(f"link_{i}", *bar)
        if i:
            builder.joint(
                f"joint_{i}", "revolute", f"link_{i - 1}", f"link_{i}", chord, (0.0, 0.0, step), axis=_axis(i)
            )
    builder.loop(
        "closing", "revolute", f"link_{n - 1}", "link_0", chord, child_xyz=np.zeros(3), axis=_axis(0),
        parent_rpy=(0.0, 0.0, step),
    )  # fmt: skip
    model = builder.build(base=base, gravity=gravity)
    return Mechanism(model, model.neutral())


def _axis(i: int) -> tuple[float, float, float]:
    """An axis that neighbours and opposite joints do not share: between radial, tangential and upright."""
    azimuth, height = 2.4 * i + 0.3, 0.9 * math.sin(1.7 * i + 0.5)
    across = float(np.sqrt(1.0 - height**2))
    return (across * float(math.cos(azimuth)), across * float(math.sin(azimuth)), float(height))
