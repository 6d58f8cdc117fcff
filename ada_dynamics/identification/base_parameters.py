# SPDX-License-Identifier: Apache-2.0
"""Base parameters: the minimal set of parameter combinations that efforts depend on, and their uncertainty.

Dependent columns of the regressor do not change the efforts: Y = Y_b [1 B] and τ = Y π = Y_b (π_b + B π_d) (Gautier
1991). QR with pivoting selects the independent columns; among clearly independent ones, parameters with simple names
are preferred.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array

_PIVOT_RATIO = 0.1  # pivot relative to the largest one, above which columns are selected by their names
_ROUNDING = 1e-7  # magnitude of a coefficient that is a rounding error
_DEPENDENT = 1e-8  # remainder of a dependent column, relative to its length
_BLOCKS = 40  # parts of the recording whose errors are assumed independent
_LOST = 0.1  # component of a base parameter in directions that are not excited
# Combinations are named after armatures and masses only if no other parameter remains, after masses last; parameters in
# `last` rank between the two.


class BaseParameters(NamedTuple):
    """Combinations of parameters.

    Attributes:
        names: expression of each combination, such as "link_1.mx + 0.4 link_2.mass".
        leading: index of the parameter whose regressor column is that of the combination, and which names it.
        combine: matrix from parameters to combinations, (B, P).
        without_effect: indices of the parameters that no effort depends on.
    """

    names: tuple[str, ...]
    leading: tuple[int, ...]
    combine: Array
    without_effect: tuple[int, ...]

    @property
    def single(self) -> tuple[int, ...]:
        """Indices of the parameters that are base parameters by themselves."""
        return tuple(k for k, row in zip(self.leading, self.combine, strict=True) if np.count_nonzero(row) == 1)


def base_parameters(Y: Array, names: Sequence[str], last: Collection[str] = ()) -> BaseParameters:
    """Compute the base parameters from a regressor.

    Args:
        Y: regressor in any number of states, (..., P).
        names: names of the parameters.
        last: parameters that should not name a combination.
    """
    rows = Y.reshape(-1, Y.shape[-1])
    R = np.linalg.qr(rows, mode="r") if len(rows) > rows.shape[1] else rows
    lengths = np.linalg.norm(R, axis=0)
    seen = lengths > _DEPENDENT * np.max(lengths, initial=0.0)
    unit = np.where(seen, R / np.where(seen, lengths, 1.0), 0.0)
    chosen = sorted(_independent(unit, _name_ranks(names, last)))
    combine = np.zeros((len(chosen), len(names)))
    if chosen:
        combine = np.linalg.lstsq(unit[:, chosen], unit, rcond=None)[0] * lengths / lengths[chosen][:, None]
        scale = lengths / lengths[chosen][:, None]
        combine[np.abs(combine) < _ROUNDING * np.maximum(scale, 1.0)] = 0.0
        combine[:, chosen] = np.eye(len(chosen))
    return BaseParameters(
        tuple(_expression(k, row, names) for k, row in zip(chosen, combine, strict=True)),
        tuple(chosen),
        combine,
        tuple(int(k) for k in np.flatnonzero(~seen)),
    )


def _name_ranks(names: Sequence[str], last: Collection[str]) -> Array:
    kinds = [name.rpartition(".")[2] for name in names]
    ranks = [
        3 if kind == "mass" else 2 if name in last else 1 if kind == "armature" else 0
        for name, kind in zip(names, kinds, strict=True)
    ]
    return np.asarray(np.argsort(np.argsort(ranks, kind="stable"), kind="stable"), dtype=np.float64)


def _independent(unit: Array, order: Array) -> list[int]:
    """Columns that span the column space, by Gram-Schmidt with pivoting and ranked names."""
    left = unit.copy()
    chosen: list[int] = []
    while True:
        sizes = np.linalg.norm(left, axis=0)
        largest = float(np.max(sizes, initial=0.0))
        if largest <= _DEPENDENT or len(chosen) == min(unit.shape):
            return chosen
        candidates = np.flatnonzero(sizes >= max(_PIVOT_RATIO * largest, _DEPENDENT))
        k = int(candidates[np.argmin(order[candidates])])
        direction = left[:, k] / sizes[k]
        for _ in range(2):  # the second pass removes rounding errors
            left -= np.outer(direction, direction @ left)
        left[:, k] = 0.0
        chosen.append(k)


def _expression(leading: int, row: Array, names: Sequence[str]) -> str:
    words = names[leading]
    for k in map(int, np.flatnonzero(row)):
        if k != leading:
            size = f"{abs(row[k]):.4g}"
            words += f" {'+' if row[k] > 0.0 else '-'} {'' if size == '1' else size + ' '}{names[k]}"
    return words


# --- uncertainty ---------------------------------------------------------------------------------------------------
def standard_deviations(Y: Array, residual: Array, noise: Array) -> Array:
    """Standard deviations of base parameters from the residual efforts.

    Errors of neighbouring rows are correlated by the filter and by unmodelled effects. Therefore their products are
    summed over blocks of time (White 1980, Newey and West 1987); the larger one of this and the usual estimate is
    returned.

    Args:
        Y: regressor columns of the base parameters, (N, m, B).
        residual: measured minus computed efforts, (N, m).
        noise: standard deviation of the efforts, (m,).
    """
    weighted = Y / noise[:, None]
    rows = weighted.reshape(-1, Y.shape[-1])
    sizes = np.linalg.norm(rows, axis=0)
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    inverse = np.linalg.pinv((rows / sizes).T @ (rows / sizes), hermitian=True)
    products = np.einsum("nmb,nm->nb", weighted / sizes, residual / noise)
    blocks = np.array([block.sum(axis=0) for block in np.array_split(products, min(_BLOCKS, len(products)))])
    usual = np.diag(inverse)
    robust = np.diag(inverse @ (blocks.T @ blocks) @ inverse)
    return np.sqrt(np.maximum(np.maximum(usual, robust), 0.0)) / sizes


def excitation_rank(Y: Array, reference: Array, tolerance: float) -> tuple[NDArray[np.bool_], float]:
    """Base parameters that a motion does not excite, and the condition number of the remaining ones.

    Args:
        Y: regressor columns of the base parameters in the motion, (N, m, B).
        reference: the same columns in the reference states.
        tolerance: smallest ratio of the efforts of an excited direction in the motion and in the reference states.

    Returns:
        True for each base parameter that is not excited, (B,), and the condition number.
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
