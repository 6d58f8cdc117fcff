# SPDX-License-Identifier: Apache-2.0
"""Base parameters: the fewest combinations of parameters that efforts depend on, written so that one can read them.

Columns of the regressor that depend on others add nothing: Y = Y_b [1 B], so that τ = Y π = Y_b (π_b + B π_d) (Gautier
1991). Which columns stay is decided by QR with pivoting; of those that are clearly independent, first those that read
best.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array

_ENOUGH = 0.1  # of the largest remainder: a column that has so much may be chosen because it reads well
_NOTHING = 1e-7  # a coefficient that is rounding
# Kinds that combinations are named after only where nothing else is left, the last ones least of all; what `last` says
# stands between these two.
_ARMATURE, _MASS = "armature", "mass"


class BaseParameters(NamedTuple):
    """Combinations of parameters.

    Attributes:
        names: what each one is: "link_1.mx + 0.4 link_2.mass".
        leading: place of the parameter that each one is named after: its column of the regressor is that of the
            combination.
        combine: values of the combinations are `combine @ parameters`, (B, P).
        without_effect: places of the parameters that no effort depends on.
    """

    names: tuple[str, ...]
    leading: tuple[int, ...]
    combine: Array
    without_effect: tuple[int, ...]

    @property
    def alone(self) -> tuple[int, ...]:
        """Places of the parameters that are base parameters by themselves."""
        return tuple(k for k, row in zip(self.leading, self.combine, strict=True) if np.count_nonzero(row) == 1)


def base_parameters(
    Y: Array, names: Sequence[str], last: Collection[str] = (), tolerance: float = 1e-8
) -> BaseParameters:
    """The base parameters of what a regressor shows.

    Args:
        Y: rows of the regressor in any number of states, (..., P).
        names: of the parameters.
        last: those that combinations are rather not named after.
        tolerance: a column is dependent if so much of it is left, of its own length.
    """
    rows = Y.reshape(-1, Y.shape[-1])
    R = np.linalg.qr(rows, mode="r") if len(rows) > rows.shape[1] else rows
    lengths = np.linalg.norm(R, axis=0)
    seen = lengths > tolerance * np.max(lengths, initial=0.0)
    unit = np.where(seen, R / np.where(seen, lengths, 1.0), 0.0)
    chosen = sorted(_independent(unit, _reading_order(names, last), tolerance))
    combine = np.zeros((len(chosen), len(names)))
    if chosen:
        combine = np.linalg.lstsq(unit[:, chosen], unit, rcond=None)[0] * lengths / lengths[chosen][:, None]
        scale = lengths / lengths[chosen][:, None]
        combine[np.abs(combine) < _NOTHING * np.maximum(scale, 1.0)] = 0.0
        combine[:, chosen] = np.eye(len(chosen))
    return BaseParameters(
        tuple(_in_words(k, row, names) for k, row in zip(chosen, combine, strict=True)),
        tuple(chosen),
        combine,
        tuple(int(k) for k in np.flatnonzero(~seen)),
    )


def _reading_order(names: Sequence[str], last: Collection[str]) -> Array:
    kinds = [name.rpartition(".")[2] for name in names]
    ranks = [
        3 if kind == _MASS else 2 if name in last else 1 if kind == _ARMATURE else 0
        for name, kind in zip(names, kinds, strict=True)
    ]
    return np.asarray(np.argsort(np.argsort(ranks, kind="stable"), kind="stable"), dtype=np.float64)


def _independent(unit: Array, order: Array, tolerance: float) -> list[int]:
    """Columns that span all others: Gram-Schmidt, the best to read first among those with much left."""
    left = unit.copy()
    chosen: list[int] = []
    while True:
        sizes = np.linalg.norm(left, axis=0)
        largest = float(np.max(sizes, initial=0.0))
        if largest <= tolerance or len(chosen) == min(unit.shape):
            return chosen
        candidates = np.flatnonzero(sizes >= max(_ENOUGH * largest, tolerance))
        k = int(candidates[np.argmin(order[candidates])])
        direction = left[:, k] / sizes[k]
        for _ in range(2):  # once more for what rounding left
            left -= np.outer(direction, direction @ left)
        left[:, k] = 0.0
        chosen.append(k)


def _in_words(leading: int, row: Array, names: Sequence[str]) -> str:
    words = names[leading]
    for k in map(int, np.flatnonzero(row)):
        if k != leading:
            size = f"{abs(row[k]):.4g}"
            words += f" {'+' if row[k] > 0.0 else '-'} {'' if size == '1' else size + ' '}{names[k]}"
    return words
