# SPDX-License-Identifier: Apache-2.0
"""The order of elimination that gives all velocities from chosen ones: its pivots stay large, its terms few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array

_LARGE = 0.1  # of the largest pivot that could be taken, in the worst sample pose
_ZERO = 1e-12  # of the largest entry


@dataclass(frozen=True)
class MapOrder:
    """How to eliminate.

    Attributes:
        rows: independent conditions by loop, as indices into `closure.row_kinds`.
        pivots: row, among all of these, and velocity.
        typical: size of each pivot, the smallest in the sample poses.
        chosen: velocities that determine all others.
    """

    rows: dict[str, tuple[int, ...]]
    pivots: tuple[tuple[int, int], ...]
    typical: tuple[float, ...]
    chosen: tuple[int, ...]


def pivots_of(samples: Sequence[Array], chosen: Sequence[int]) -> tuple[list[tuple[int, int]], list[float]]:
    """Pivots and their typical sizes.

    Args:
        samples: rows of independent conditions in sample poses.
        chosen: velocities that stay.
    """
    left = np.array(samples)
    entries = np.max(np.abs(left), axis=0) > _ZERO * np.max(np.abs(left), initial=0.0)
    rows, columns = list(range(left.shape[1])), [k for k in range(left.shape[2]) if k not in chosen]
    pivots: list[tuple[int, int]] = []
    typical: list[float] = []
    while rows:
        i, k = _best(left, entries, rows, columns)
        pivots.append((i, k))
        typical.append(float(np.min(np.abs(left[:, i, k]))))
        rows.remove(i)
        columns.remove(k)
        for other in [r for r in rows if entries[r, k]]:
            factors = left[:, other, k] / left[:, i, k]
            left[:, other] -= factors[:, None] * left[:, i]
            entries[other] |= entries[i]
            left[:, other, k], entries[other, k] = 0.0, False
    return pivots, typical


def _best(left: Array, entries: NDArray[np.bool_], rows: list[int], columns: list[int]) -> tuple[int, int]:
    """The pivot that brings the fewest new terms, of those that are large enough in every pose."""
    block = np.ix_(rows, columns)
    sizes = np.min(np.abs(left[:, rows][:, :, columns]), axis=0)
    has = entries[block]
    terms = np.outer(entries[rows].sum(axis=1) - 1, has.sum(axis=0) - 1)
    large = has & (sizes >= _LARGE * np.max(sizes))
    score = np.where(large, terms - 0.5 * sizes / np.max(sizes), np.inf)
    r, c = np.unravel_index(int(np.argmin(score)), score.shape)
    return rows[int(r)], columns[int(c)]
