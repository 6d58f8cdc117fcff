# SPDX-License-Identifier: Apache-2.0
"""Integration methods, as tables.

All work on x = [q; v] with ẋ = [q̇(q, v); a]. Quaternions are four free numbers within a step and are brought back to
unit length after it, which keeps the order of a method (Hairer, Lubich, Wanner: Geometric Numerical Integration, IV.4).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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
        errors: weights of two error estimates over all stages and the rate at the end; zeros for a second one that a
            pair lacks; none with fixed steps.
        roots: square roots in a row that make the factor to the next step length of an error; the power of two next to
            the order of the estimate.
        stable_to: h λ up to which a decay λ is stable on the real axis.
    """

    name: str
    order: int
    A: Array
    b: Array
    c: Array
    errors: Array | None = None
    stable_to: float = np.inf
    roots: int = 0

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
        """All coefficients in a row, as `jit.marching` reads them."""
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
    return Method("dop853", 8, A, _spread(dop853.B, n), np.array(dop853.C), errors, 6.0, roots=3)


def _tsit5() -> Method:
    """Tsitouras' pair of orders 5 and 4 (Computers & Mathematics with Applications 62, 2011, table 1)."""
    rows = [
        [],
        [0.161],
        [-0.008480655492356989, 0.335480655492357],
        [2.8971530571054935, -6.359448489975075, 4.3622954328695815],
        [5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525],
        [5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383],
    ]
    b = [0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774]
    e = [-0.00178001105222577714, -0.0008164344596567469, 0.007880878010261995, -0.1447110071732629]
    e += [0.5823571654525552, -0.45808210592918697, 1 / 66]
    return replace(_explicit("tsit5", 5, rows, b, 3.5), errors=np.array([e, [0.0] * 7]), roots=2)


def _semi_implicit() -> Method:
    return Method("semi_implicit", 1, np.zeros((0, 0)), np.zeros(0), np.zeros(0))


# Everything that names methods (scenarios, the node's parameter, the command line) takes the names from here.
METHODS = MappingProxyType({one.name: one for one in (_rkf45(), _rk4(), _semi_implicit(), _dop853(), _tsit5())})
DEFAULT = "rkf45"
