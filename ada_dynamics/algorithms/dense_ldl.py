# SPDX-License-Identifier: Apache-2.0
"""A = L D Lᵀ of small symmetric matrices over generic scalars, and substitution on scalars or motions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ada_dynamics.spatial.vector import Scalar


class DenseFactors(NamedTuple):
    """Factors of a matrix; `lower[k]` are the entries of row k of L before the diagonal, which is one."""

    lower: tuple[tuple[Scalar, ...], ...]
    pivots: tuple[Scalar, ...]
    inverse: tuple[Scalar, ...]  # of the pivots

    def forward(self, b: Sequence[Any]) -> list[Any]:
        """L⁻¹ b, with a scalar or a motion in each row."""
        x: list[Any] = []
        for value, row in zip(b, self.lower, strict=True):
            for factor, before in zip(row, x, strict=True):
                value = value - factor * before
            x.append(value)
        return x

    def divided(self, b: Sequence[Any]) -> list[Any]:
        """D⁻¹ b, likewise."""
        return [k * x for k, x in zip(self.inverse, b, strict=True)]

    def backward(self, b: Sequence[Scalar]) -> list[Scalar]:
        """L⁻ᵀ b."""
        x = list(b)
        for k in range(len(x) - 1, -1, -1):
            for i, factor in enumerate(self.lower[k]):
                x[i] = x[i] - factor * x[k]
        return x


def factorise(A: Sequence[Sequence[Scalar]]) -> DenseFactors:
    """Factors of a matrix whose upper triangle is given; its pivots must not vanish."""
    n = len(A)
    rest = [list(row) for row in A]
    lower: list[list[Scalar]] = [[0.0] * i for i in range(n)]
    inverse: list[Scalar] = []
    for k in range(n):
        inverse.append(1.0 / rest[k][k])
        for i in range(k + 1, n):
            lower[i][k] = rest[k][i] * inverse[k]
            for j in range(i, n):
                rest[i][j] = rest[i][j] - lower[i][k] * rest[k][j]
    return DenseFactors(tuple(map(tuple, lower)), tuple(rest[k][k] for k in range(n)), tuple(inverse))
