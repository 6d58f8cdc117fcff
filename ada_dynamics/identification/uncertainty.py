# SPDX-License-Identifier: Apache-2.0
"""How well a motion determines base parameters: standard deviations, and the combinations that it does not show."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array

_BLOCKS = 40  # of the recording, whose errors count as independent of one another
_LOST = 0.1  # of a base parameter that lies in directions that the motion does not show


def standard_deviations(Y: Array, left: Array, noise: Array) -> Array:
    """Of base parameters, from what is left of the efforts.

    Errors of neighbouring rows are alike: filters smear them, and what the model lacks depends on the state. So their
    products are summed over blocks of time instead of taken as independent (White 1980, Newey and West 1987), and the
    larger one of this and of the usual estimate counts.

    Args:
        Y: columns of the base parameters, (N, m, B).
        left: measured minus computed efforts, (N, m).
        noise: standard deviation of each row's efforts, (m,).
    """
    weighted = Y / noise[:, None]
    rows = weighted.reshape(-1, Y.shape[-1])
    sizes = np.linalg.norm(rows, axis=0)
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    inverse = np.linalg.pinv((rows / sizes).T @ (rows / sizes), hermitian=True)
    products = np.einsum("nmb,nm->nb", weighted / sizes, left / noise)
    blocks = np.array([block.sum(axis=0) for block in np.array_split(products, min(_BLOCKS, len(products)))])
    usual = np.diag(inverse)
    robust = np.diag(inverse @ (blocks.T @ blocks) @ inverse)
    return np.sqrt(np.maximum(np.maximum(usual, robust), 0.0)) / sizes


def not_shown(Y: Array, reference: Array, tolerance: float) -> tuple[NDArray[np.bool_], float]:
    """Which base parameters a motion leaves open, and the condition number of those that it shows.

    Args:
        Y: columns of the base parameters in the motion, (N, m, B).
        reference: likewise in states that show everything.
        tolerance: a direction is not shown if it makes less than so much of the efforts that it makes there.
    """
    sizes = np.sqrt(np.median(np.sum(reference**2, axis=1), axis=0))
    sizes = np.where(sizes > 0.0, sizes, np.sqrt(np.mean(np.sum(reference**2, axis=1), axis=0)))
    rows = (Y / sizes).reshape(-1, Y.shape[-1]) / np.sqrt(len(Y))
    _, values, directions = np.linalg.svd(np.linalg.qr(rows, mode="r"), full_matrices=True)
    values = np.concatenate([values, np.zeros(len(directions) - len(values))])
    hidden = values < tolerance
    lost: NDArray[np.bool_] = np.asarray(np.linalg.norm(directions[hidden], axis=0) > _LOST, dtype=np.bool_)
    own = rows[:, ~lost]
    own = own / np.maximum(np.linalg.norm(own, axis=0), 1e-300)
    return lost, float(np.linalg.cond(own)) if own.size else float("inf")
