# SPDX-License-Identifier: Apache-2.0
"""All velocities from chosen ones: v = T y with J v = 0, by elimination in an order of pivots that is given.

Rows of J are those of independent conditions, as many as there are velocities that are not chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ada_dynamics.spatial.vector import ZERO, Scalar, is_zero

Row = dict[int, Scalar]


def tangent_map(
    rows: Sequence[Mapping[int, Scalar]], pivots: Sequence[tuple[int, int]], chosen: Sequence[int]
) -> tuple[dict[int, Row], list[Scalar]]:
    """T by rows, and the pivots that were divided by.

    Args:
        rows: of J, by velocity.
        pivots: row and velocity of each, in the order of elimination.
        chosen: velocities y, in the order of T's columns.
    """
    left: list[Row] = [{k: x for k, x in row.items() if not is_zero(x)} for row in rows]
    found = []
    for done, (i, k) in enumerate(pivots):
        found.append(left[i].pop(k))
        inverse = 1.0 / found[-1]
        left[i] = {j: inverse * x for j, x in left[i].items()}
        for other, _ in pivots[done + 1 :]:
            if k in left[other]:
                _subtract(left[other], left[other].pop(k), left[i])
    T: dict[int, Row] = {k: {column: 1.0} for column, k in enumerate(chosen)}
    for i, k in reversed(pivots):
        T[k] = {}
        for j, x in left[i].items():
            _subtract(T[k], x, T[j])
    return T, found


def _subtract(row: Row, factor: Scalar, other: Row) -> None:
    for k, x in other.items():
        row[k] = row.get(k, ZERO) - factor * x
