# SPDX-License-Identifier: Apache-2.0
"""Integration methods, as tables.

All work on x = [q; v] with ẋ = [q̇(q, v); a]. Quaternions are four free numbers within a step and are brought back to
unit length after it, which keeps the order of a method (Hairer, Lubich, Wanner: Geometric Numerical Integration, IV.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.simulation import dop853


@dataclass(frozen=True, eq=False)
class Method:
    """An integration method.

    Attributes:
        name: as users give it.
        order: the error of a step falls with this power of its length, plus one.
        A: stage coefficients, a row per stage; empty where a kernel takes the whole step.
        b: weights.
        c: nodes.
        errors: weights of two error estimates over all stages and the rate at the end; none with fixed steps.
        stable_to: h λ up to which a decay λ is stable on the real axis.
    """

    name: str
    order: int
    A: Array
    b: Array
    c: Array
    errors: Array | None = None
    stable_to: float = np.inf

    @property
    def stages(self) -> int:
        """Rates per step."""
        return len(self.b)

    @property
    def is_adaptive(self) -> bool:
        """Whether the step length follows from the error."""
        return self.errors is not None

    @property
    def is_direct(self) -> bool:
        """Whether a kernel takes the whole step."""
        return not self.stages

    def table(self) -> Array:
        """All coefficients in a row, as `jit.march_text` reads them."""
        more = () if self.errors is None else self.errors
        return np.concatenate([self.A.ravel(), self.b, self.c, *more])


def _explicit(name: str, order: int, rows: list[list[float]], b: list[float], stable_to: float) -> Method:
    A = np.zeros((len(b), len(b)))
    for i, row in enumerate(rows):
        A[i, : len(row)] = row
    return Method(name, order, A, np.array(b), A.sum(axis=1), stable_to=stable_to)


def _rk4() -> Method:
    rows = [[], [0.5], [0.0, 0.5], [0.0, 0.0, 1.0]]
    return _explicit("rk4", 4, rows, [1 / 6, 1 / 3, 1 / 3, 1 / 6], 2.78)


def _rkf45() -> Method:
    """Fehlberg's method with the weights of order 5 (Takahashi 2012, sec. 5.1: Ode45, eqs. 5.1-5.3)."""
    rows = [
        [],
        [1 / 4],
        [3 / 32, 9 / 32],
        [1932 / 2197, -7200 / 2197, 7296 / 2197],
        [439 / 216, -8.0, 3680 / 513, -845 / 4104],
        [-8 / 27, 2.0, -3544 / 2565, 1859 / 4104, -11 / 40],
    ]
    b = [16 / 135, 0.0, 6656 / 12825, 28561 / 56430, -9 / 50, 2 / 55]
    return _explicit("rkf45", 5, rows, b, 3.68)


def _spread(values: dict[int, float], size: int) -> Array:
    row = np.zeros(size)
    row[list(values)] = list(values.values())
    return row


def _dop853() -> Method:
    n = dop853.STAGES
    A = np.array([_spread(row, n) for row in dop853.A])
    errors = np.array([_spread(e, n + 1) for e in (dop853.E5, dop853.E3)])
    return Method("dop853", 8, A, _spread(dop853.B, n), np.array(dop853.C), errors, 6.0)


def _semi_implicit() -> Method:
    return Method("semi_implicit", 1, np.zeros((0, 0)), np.zeros(0), np.zeros(0))


METHODS = MappingProxyType({method.name: method for method in (_rkf45(), _rk4(), _semi_implicit(), _dop853())})
