# SPDX-License-Identifier: Apache-2.0
"""Closed form of the planar four-bar of Takahashi 2012, fig. 3.9: a rhombus that swings like a pendulum.

Rods 1 and 3 turn about their pivots and rod 2 remains level. With ψ, the angle of rod 1 from the downward vertical,
    (m1/3 + m2 + m3/3) l ψ'' = -(m1/2 + m2 + m3/2) g sin ψ,

for equal rods ψ'' = -(6/5) (g/l) sin ψ. From rest at ψ0 this is sin(ψ/2) = sin(ψ0/2) cd(ω t), a Jacobi elliptic
function of the modulus sin(ψ0/2).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.extras import how_to_install


def swing(t: ArrayLike, start: float, masses: Sequence[float], gravity: float, length: float = 1.0) -> Array:
    """Angle of rod 1 from +z at times t, from rest [rad].

    Args:
        t: times [s].
        start: angle at t = 0, less than a full turn [rad].
        masses: masses of the uniform rods 1, 2, 3 [kg].
        gravity: [m/s²].
        length: length of the rods and of the base [m].
    """
    try:
        from scipy.special import ellipj
    except ImportError:
        raise InputError(f"the closed form of the rhombus needs scipy: {how_to_install('tools')}") from None
    first, second, third = masses
    moving = (first / 2.0 + second + third / 2.0) / (first / 3.0 + second + third / 3.0)
    omega = np.sqrt(moving * gravity / length)
    modulus = np.sin(0.5 * (start - np.pi))
    _, cn, dn, _ = ellipj(omega * np.asarray(t, dtype=np.float64), modulus**2)
    return np.asarray(np.pi + 2.0 * np.arcsin(modulus * cn / dn), dtype=np.float64)
