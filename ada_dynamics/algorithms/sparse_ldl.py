# SPDX-License-Identifier: Apache-2.0
"""Solve a sparse symmetric system over generic scalars by elimination from the last row to the first.

On a mass matrix in depth-first order this is the LᵀDL factorisation without fill: leaves go first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ada_dynamics.spatial.scalar import Scalar
from ada_dynamics.spatial.vec3 import is_zero, minus, plus, product


class SymmetricMatrix:
    """A symmetric matrix that stores the entries that are not constant zeros."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._rows: list[dict[int, Scalar]] = [{} for _ in range(size)]  # row i: columns j <= i

    def add(self, i: int, j: int, value: Scalar) -> None:
        """Add to the entry (i, j) and, unless i == j, to (j, i)."""
        if is_zero(value):
            return
        row, column = max(i, j), min(i, j)
        self._rows[row][column] = plus(self._rows[row].get(column, 0.0), value)

    def __getitem__(self, place: tuple[int, int]) -> Scalar:
        i, j = place
        return self._rows[max(i, j)].get(min(i, j), 0.0)

    def dense(self) -> list[list[Scalar]]:
        """All entries."""
        return [[self[i, j] for j in range(self.size)] for i in range(self.size)]

    def lower_rows(self) -> list[dict[int, Scalar]]:
        """A copy of the lower triangle, row by row."""
        return [dict(row) for row in self._rows]


class Factors(NamedTuple):
    """A = Lᵀ D L: the pivots D with their inverses, and the rows of L below each of them."""

    pivots: list[Scalar]
    inverse: list[Scalar]
    rows: list[dict[int, Scalar]]


def factorise(matrix: SymmetricMatrix) -> Factors:
    """Eliminate coordinate k from all before it, k = n-1 ... 0."""
    rows = matrix.lower_rows()
    n = matrix.size
    pivots: list[Scalar] = [0.0] * n
    inverse: list[Scalar] = [0.0] * n
    factors: list[dict[int, Scalar]] = [{} for _ in range(n)]
    for k in range(n - 1, -1, -1):
        pivots[k] = rows[k].get(k, 0.0)
        inverse[k] = 1.0 / pivots[k]
        earlier = sorted((i for i in rows[k] if i < k), reverse=True)
        for i in earlier:
            factor = product(rows[k][i], inverse[k])
            factors[k][i] = factor
            for j in earlier:
                if j <= i:
                    rows[i][j] = minus(rows[i].get(j, 0.0), product(factor, rows[k][j]))
    return Factors(pivots, inverse, factors)


def solve(matrix: SymmetricMatrix, b: Sequence[Scalar]) -> list[Scalar]:
    """x with A x = b, for A positive definite."""
    return solve_factorised(factorise(matrix), b)


def solve_factorised(factors: Factors, b: Sequence[Scalar]) -> list[Scalar]:
    """x with Lᵀ D L x = b."""
    x = list(b)
    n = len(x)

    # Pass 1: Lᵀ y = b, then D
    for k in range(n - 1, -1, -1):
        for i in factors.rows[k]:
            x[i] = minus(x[i], product(factors.rows[k][i], x[k]))
    for k in range(n):
        x[k] = product(x[k], factors.inverse[k])

    # Pass 2: L x = y
    for k in range(n):
        for i in factors.rows[k]:
            x[k] = minus(x[k], product(factors.rows[k][i], x[i]))
    return x


def pivot_shares(matrix: SymmetricMatrix) -> list[Scalar]:
    """What elimination leaves of each diagonal entry, as a share of it: 0 where the matrix is singular."""
    pivots = factorise(matrix).pivots
    return [product(pivot, 1.0 / matrix[k, k]) for k, pivot in enumerate(pivots)]
