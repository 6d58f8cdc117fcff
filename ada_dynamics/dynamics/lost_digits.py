# SPDX-License-Identifier: Apache-2.0
"""Warnings of results that have lost digits next to a singular configuration, with an estimate of the error.

A configuration closes the loops to some gap, at best to rounding. Along the direction in which the constraint Jacobian
is weakest it is then known to the gap divided by the singular value: what changes within that is lost.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.loop_warnings import level_of_caller
from ada_dynamics.errors import LostDigitsWarning, SingularConfigurationError
from ada_dynamics.model.model import Model

NEAR = 1e-2  # smallest singular value of the constraint Jacobian by the largest, below which errors are estimated
# Below this square of the smallest pivot of a velocity map by its typical size singular values are looked at.
NEAR_BY_PIVOTS = 0.02
NOTICED = 1e-6  # relative error that is warned of
_ROUNDING = 2.0**-52

Results = Sequence[Array]


def warn_if_digits_are_lost(
    model: Model,
    what: str,
    configurations: tuple[Array, list[int] | None],
    constraints: tuple[Array, Callable[[Array], Array], Array],
    rank: int,
    found: Callable[[int], Results],
    result: Callable[[int, Array], Results],
) -> None:
    """Warn where a result changes within what is known of the configuration.

    Args:
        model: a mechanism with loops.
        what: the result, in words.
        configurations: one in each row; their numbers in a batch, None for a single one.
        constraints: J, one for each; gaps of a configuration; units of the velocities of J.
        rank: of J in general.
        found: result of one state, by its row.
        result: the same in another configuration.
    """
    (q, numbers), (J, gaps_of, units) = configurations, constraints
    if _are_far(J, rank):
        return
    squares = np.linalg.eigvalsh(J @ J.swapaxes(-1, -2))
    sigma = np.sqrt(np.maximum(squares[:, -rank] / squares[:, -1], 0.0))
    i = int(np.argmin(sigma))
    if not sigma[i] < NEAR:
        return
    _, s, V = np.linalg.svd(J[i])
    known_to = max(_ROUNDING * s[0], float(np.max(np.abs(gaps_of(q[i]))))) / s[rank - 1]
    weakest = V[rank - 1] * units
    try:
        pairs = list(zip(found(i), result(i, model.integrate(q[i], known_to * weakest)), strict=True))
        size = max(np.finfo(float).tiny, *(float(np.max(np.abs(x), initial=0.0)) for x, _ in pairs))
        error = max(float(np.max(np.abs(x - y), initial=0.0)) for x, y in pairs) / size
    except SingularConfigurationError:
        error = 1.0
    if error < NOTICED:
        return
    where = "" if numbers is None else f" in state {numbers[i]}"
    message = (
        f"model {model.name!r} is next to a singular configuration{where}: the smallest singular value of its loops is "
        f"{sigma[i]:.1e} of the largest, and {what} have a relative error of about {error:.0e}, as the loops determine "
        f"q to {known_to:.0e} only. Use a configuration farther away, or derivatives with "
        "respect to the coordinates of the tree."
    )
    states = () if numbers is None else tuple(numbers[k] for k in np.flatnonzero(sigma < NEAR))
    warning = LostDigitsWarning(message, loops=tuple(model.loop_names), states=states, error=error)
    warnings.warn(warning, stacklevel=level_of_caller())


def _are_far(J: Array, rank: int) -> bool:
    """Return True if all singular values are above NEAR, by a factorization that takes a fraction of their time."""
    n = J.shape[-2]
    if rank < n:
        return False
    G = J @ J.swapaxes(-1, -2)
    largest = np.abs(G).sum(axis=-1).max(axis=-1)  # of its eigenvalues, at most
    G[..., range(n), range(n)] -= NEAR**2 * largest[..., None]
    try:
        np.linalg.cholesky(G)
    except np.linalg.LinAlgError:
        return False
    return True
