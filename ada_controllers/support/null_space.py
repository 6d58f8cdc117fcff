# SPDX-License-Identifier: Apache-2.0
"""Row spaces and null spaces of small matrices over generic scalars, without a singular value decomposition.

Rows are orthonormalized by Gram-Schmidt, applied twice. A row whose remainder is smaller than `tolerance` times the
largest row counts as dependent and is set to zero, so that the rank is known and no branches are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ada_dynamics import expr
from ada_dynamics.spatial.vector import ZERO, Scalar

Row = Sequence[Scalar]


class RowSpace(NamedTuple):
    """Row space of a matrix A = L Q with orthonormal rows Q.

    Attributes:
        rows: Q; dependent rows are zero.
        lower: elements of each row of L before the diagonal.
        inverse: reciprocal diagonal of L; zero for dependent rows.
        kept: 1 for independent rows, else 0.
    """

    rows: tuple[tuple[Scalar, ...], ...]
    lower: tuple[tuple[Scalar, ...], ...]
    inverse: tuple[Scalar, ...]
    kept: tuple[Scalar, ...]

    @property
    def rank(self) -> Scalar:
        """Number of independent rows."""
        return sum(self.kept, ZERO)

    def inside(self, x: Row) -> list[Scalar]:
        """Project x onto the null space: (U - A# A) x (Takahashi 2012, after eq. 6.4)."""
        rest = list(x)
        for _ in range(2):  # the second pass removes rounding errors
            rest = _without(rest, self.rows)
        return rest

    def least(self, b: Row) -> list[Scalar]:
        """Return A# b, the minimum-norm x with A x = b in the independent rows."""
        solved: list[Scalar] = []
        for value, factors, inverse in zip(b, self.lower, self.inverse, strict=True):
            for factor, before in zip(factors, solved, strict=True):
                value = value - factor * before
            solved.append(value * inverse)
        count = len(self.rows[0]) if self.rows else 0
        return [sum((z * row[j] for z, row in zip(solved, self.rows, strict=True)), ZERO) for j in range(count)]


def row_space(A: Sequence[Row], tolerance: Scalar) -> RowSpace:
    """Return the row space of a matrix whose rows are of comparable size.

    Args:
        A: rows.
        tolerance: relative norm of a remainder below which a row is dependent.
    """
    smallest = tolerance * tolerance * _largest([dot(row, row) for row in A])
    rows: list[list[Scalar]] = []
    lower: list[tuple[Scalar, ...]] = []
    inverse: list[Scalar] = []
    kept: list[Scalar] = []
    for given in A:
        rest, factors = list(given), [0.0] * len(rows)
        for _ in range(2):
            shares = [dot(row, rest) for row in rows]
            rest = _less(rest, rows, shares)
            factors = [factor + share for factor, share in zip(factors, shares, strict=True)]
        square = dot(rest, rest)
        counts = expr.select(smallest, square, 1.0, 0.0)
        shorten = counts * (1.0 / expr.sqrt(expr.select(smallest, square, square, 1.0)))
        rows.append([x * shorten for x in rest])
        lower.append(tuple(factors))
        inverse.append(shorten)
        kept.append(counts)
    return RowSpace(tuple(map(tuple, rows)), tuple(lower), tuple(inverse), tuple(kept))


def dot(a: Row, b: Row) -> Scalar:
    """Return a . b."""
    return sum((x * y for x, y in zip(a, b, strict=True)), ZERO)


def _largest(values: Sequence[Scalar]) -> Scalar:
    largest: Scalar = 0.0
    for value in values:
        largest = expr.maximum(largest, value)
    return largest


def _without(x: Row, rows: Sequence[Row]) -> list[Scalar]:
    """Remove the components of x along orthonormal rows, one after another."""
    rest = list(x)
    for row in rows:
        rest = _less(rest, [row], [dot(row, rest)])
    return rest


def _less(x: Row, rows: Sequence[Row], shares: Row) -> list[Scalar]:
    rest = list(x)
    for row, share in zip(rows, shares, strict=True):
        rest = [value - share * entry for value, entry in zip(rest, row, strict=True)]
    return rest
