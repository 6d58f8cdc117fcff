# SPDX-License-Identifier: Apache-2.0
"""Where a mechanism with loops is when what is wanted of it comes true: a pose that closes its loops.

Looked for once per reference, by damped least-squares steps along the loops. Also where the wanted place is the end of
a way, as a slider's dead point: there the Jacobian along the loops vanishes, and the steps halve the distance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ada_controllers.state import Array
from ada_controllers.virtual_motions import LOST, Manifold

STEPS = 200
_LONGEST = 0.3  # [rad, m] of a step
_FINE = 1e-11  # [rad, m] of the last one
_DAMPINGS = (0.0, 1e-8, 1e-6, 1e-4, 1e-2, 1.0, 1e2)  # of the largest curvature

Residual = Callable[[Array], tuple[Array, Array]]  # q -> what is left, and its Jacobian by velocities


class Target(NamedTuple):
    """A pose that closes the loops.

    Attributes:
        q: positions.
        left: what of the wanted is missing there.
        motions: that the loops allow there, as columns.
    """

    q: Array
    left: Array
    motions: Array


def nearest(manifold: Manifold, start: Array, residual: Residual, before: Array | None = None) -> Target:
    """The pose on the loops, near a start, that leaves least of a residual.

    Args:
        manifold: of the mechanism.
        start: positions; off the loops, too.
        residual: of what is wanted.
        before: motions, as columns, that lead on from there if it is a singular pose.
    """
    q = manifold.closed(start, 20)
    motions = _begin(manifold, q, residual, before)
    for _ in range(STEPS):
        found = _better(manifold, q, motions, residual)
        if found is None:
            break
        q, length = found
        motions = manifold.motions(q, motions).columns
        if length < _FINE:
            break
    return Target(q, residual(q)[0], motions)


def _begin(manifold: Manifold, q: Array, residual: Residual, before: Array | None) -> Array:
    here = manifold.motions(q, before)
    if before is None and here.sigma < LOST:
        left, J = residual(q)
        way = manifold.crossing(q, -J.T @ left)
        return here.columns if way is None else way
    return here.columns


def _better(manifold: Manifold, q: Array, motions: Array, residual: Residual) -> tuple[Array, float] | None:
    """A pose that leaves less, and how far it is; None where there is none."""
    model = manifold.mechanism.virtual
    left, J = residual(q)
    A = J @ motions
    curvature = A.T @ A
    largest = float(np.max(np.diag(curvature), initial=0.0))
    if not largest > 0.0:
        return None
    for damping in _DAMPINGS:
        step = -np.linalg.lstsq(curvature + damping * largest * np.eye(len(curvature)), A.T @ left, rcond=1e-12)[0]
        move = motions @ step
        length = float(np.max(np.abs(move), initial=0.0))
        if length > _LONGEST:
            move, length = move * (_LONGEST / length), _LONGEST
        if length < _FINE:
            return None
        candidate = manifold.closed(model.integrate(q, move), 20)
        if float(np.linalg.norm(residual(candidate)[0])) < float(np.linalg.norm(left)):
            return candidate, length
    return None
