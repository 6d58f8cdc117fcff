# SPDX-License-Identifier: Apache-2.0
"""Row spaces and null spaces of small matrices without singular values, over generic scalars.

Rows are made orthonormal one after another (Gram and Schmidt, each twice). A row that the rows before it leave less
than a share `tolerance` of the largest one counts as dependent, and is dropped; so the rank is known, and no branch is
needed. A row that is not zero in its structure may be so at run time.
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
        rows: Q; those that were dropped are zero.
        lower: entries of each row of L before the diagonal.
        inverse: of the diagonal of L; zero for dropped rows.
        kept: 1 for rows in use, else 0.
    """

    rows: tuple[tuple[Scalar, ...], ...]
    lower: tuple[tuple[Scalar, ...], ...]
    inverse: tuple[Scalar, ...]
    kept: tuple[Scalar, ...]

    @property
    def rank(self) -> Scalar:
        """How many rows are independent."""
        return sum(self.kept, ZERO)

    def inside(self, x: Row) -> list[Scalar]:
        """The part of x in the null space: (U - A# A) x (Takahashi 2012, after eq. 6.4)."""
        rest = list(x)
        for _ in range(2):  # the second time takes away what rounding left
            rest = _without(rest, self.rows)
        return rest

    def least(self, b: Row) -> list[Scalar]:
        """A# b: the least x with A x = b in the rows that are kept."""
        solved: list[Scalar] = []
        for value, factors, inverse in zip(b, self.lower, self.inverse, strict=True):
            for factor, before in zip(factors, solved, strict=True):
                value = value - factor * before
            solved.append(value * inverse)
        count = len(self.rows[0]) if self.rows else 0
        return [sum((z * row[j] for z, row in zip(solved, self.rows, strict=True)), ZERO) for j in range(count)]


def row_space(A: Sequence[Row], tolerance: Scalar) -> RowSpace:
    """Orthonormal rows of a matrix whose rows are of comparable size.

    Args:
        A: the rows.
        tolerance: share of the longest row's length below which what is new in a row does not count.
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
    """a . b."""
    return sum((x * y for x, y in zip(a, b, strict=True)), ZERO)


def _largest(values: Sequence[Scalar]) -> Scalar:
    largest: Scalar = 0.0
    for value in values:
        largest = expr.maximum(largest, value)
    return largest


def _without(x: Row, rows: Sequence[Row]) -> list[Scalar]:
    """x without its parts along orthonormal rows, one after another."""
    rest = list(x)
    for row in rows:
        rest = _less(rest, [row], [dot(row, rest)])
    return rest


def _less(x: Row, rows: Sequence[Row], shares: Row) -> list[Scalar]:
    rest = list(x)
    for row, share in zip(rows, shares, strict=True):
        rest = [value - share * entry for value, entry in zip(rest, row, strict=True)]
    return rest
