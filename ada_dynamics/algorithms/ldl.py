# SPDX-License-Identifier: Apache-2.0
"""LDL factorization of symmetric matrices over generic scalars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ada_dynamics.spatial.vector import Scalar, is_zero


class SymmetricMatrix:
    """A symmetric matrix that stores all entries except constant zeros."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._rows: list[dict[int, Scalar]] = [{} for _ in range(size)]  # row i: columns j <= i

    def add(self, i: int, j: int, value: Scalar) -> None:
        """Add to the entry (i, j) and, unless i == j, to (j, i)."""
        if is_zero(value):
            return
        row, column = max(i, j), min(i, j)
        self._rows[row][column] = self._rows[row].get(column, 0.0) + value

    def __getitem__(self, place: tuple[int, int]) -> Scalar:
        i, j = place
        return self._rows[max(i, j)].get(min(i, j), 0.0)

    def dense(self) -> list[list[Scalar]]:
        """All entries as nested lists."""
        return [[self[i, j] for j in range(self.size)] for i in range(self.size)]

    def lower_rows(self) -> list[dict[int, Scalar]]:
        """A copy of the lower triangle, row by row."""
        return [dict(row) for row in self._rows]


class Factors(NamedTuple):
    """A = Lᵀ D L in the order of elimination: pivots D, their inverses, and the entries of L after each pivot.

    In the order 0 ... n-1 of the unknowns these are the factors A = L D Lᵀ of textbooks.
    """

    pivots: Sequence[Scalar]
    inverse: Sequence[Scalar]
    rows: Sequence[Mapping[int, Scalar]]
    order: Sequence[int]

    @property
    def values(self) -> list[Scalar]:
        """All entries of L."""
        return [x for row in self.rows for x in row.values()]

    def with_values(self, values: Sequence[Scalar]) -> Factors:
        """The same factors with other entries of L."""
        left = iter(values)
        return self._replace(rows=[{i: next(left) for i in row} for row in self.rows])

    def forward(self, b: Sequence[Any]) -> list[Any]:
        """L⁻ᵀ b for scalars or motions."""
        x = list(b)
        for k in self.order:
            for i, factor in self.rows[k].items():
                x[i] = x[i] - factor * x[k]
        return x

    def divided(self, b: Sequence[Any]) -> list[Any]:
        """D⁻¹ b for scalars or motions."""
        return [k * x for k, x in zip(self.inverse, b, strict=True)]

    def backward(self, b: Sequence[Scalar]) -> list[Scalar]:
        """L⁻¹ b."""
        x = list(b)
        for k in reversed(self.order):
            for i, factor in reversed(list(self.rows[k].items())):  # the first one is known first
                x[k] = x[k] - factor * x[i]
        return x

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """x with A x = b."""
        return self.backward(self.divided(self.forward(b)))


def factorise(matrix: SymmetricMatrix, order: Sequence[int] | None = None) -> Factors:
    """Factorize A = Lᵀ D L by elimination of one coordinate after the other, with scalar pivots.

    In the default order, on a mass matrix in depth-first order, outer joints are eliminated before inner ones, without
    fill-in. Other orders serve mechanisms with loops.

    Args:
        matrix: its pivots must not vanish in this order.
        order: all coordinates; n-1 ... 0 by default.
    """
    n = matrix.size
    order = range(n - 1, -1, -1) if order is None else order
    place = [0] * n
    for k, i in enumerate(order):
        place[i] = k
    pivots: list[Scalar] = [0.0] * n
    later: list[dict[int, Scalar]] = [{} for _ in range(n)]  # entries with coordinates eliminated later
    for i, row in enumerate(matrix.lower_rows()):
        for j, value in row.items():
            if i == j:
                pivots[i] = value
            else:
                first, second = (i, j) if place[i] < place[j] else (j, i)
                later[first][second] = value
    inverse: list[Scalar] = [0.0] * n
    factors: list[dict[int, Scalar]] = [{} for _ in range(n)]
    for k in order:
        inverse[k] = 1.0 / pivots[k]
        coupled = sorted(later[k], key=place.__getitem__)
        for at, i in enumerate(coupled):
            factor = later[k][i] * inverse[k]
            factors[k][i] = factor
            pivots[i] = pivots[i] - factor * later[k][i]
            for j in coupled[at + 1 :]:
                later[i][j] = later[i].get(j, 0.0) - factor * later[k][j]
    return Factors(pivots, inverse, factors, order)


def factorise_dense(A: Sequence[Sequence[Scalar]]) -> Factors:
    """Factors in the order 0 ... n-1 of a matrix with a given upper triangle and nonzero pivots."""
    matrix = SymmetricMatrix(len(A))
    for i, row in enumerate(A):
        for j in range(i, len(A)):
            matrix.add(i, j, row[j])
    return factorise(matrix, range(len(A)))
