# SPDX-License-Identifier: Apache-2.0
"""Polynomials in place of the exact map, for programs that know no loops: URDF's mimic, MJCF's polycoef, YAML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
import yaml
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.loop_closure import NOT_CLOSED
from ada_dynamics.errors import InputError
from ada_dynamics.transmission.transmission import Transmission

_MJCF_ORDER = 4


@dataclass(frozen=True)
class PolynomialFit:
    """Positions of joints as polynomials of the positions of other joints: y = Σ c_k Π x_i^p_ki.

    Attributes:
        variables: names of the joints x.
        targets: names of the joints y.
        powers: p, (terms, variables).
        coefficients: c, (targets, terms).
        max_error: largest error of each target in the samples [rad, m].
        lower: smallest x of the samples.
        upper: largest x.
    """

    variables: tuple[str, ...]
    targets: tuple[str, ...]
    powers: Array
    coefficients: Array
    max_error: Array
    lower: Array
    upper: Array

    def __call__(self, x: ArrayLike) -> Array:
        """Positions of the targets at x, (m,) or (N, m)."""
        values = np.asarray(x, dtype=float)
        return np.asarray(_terms(values, self.powers) @ self.coefficients.T)

    def mimic(self) -> str:
        """URDF: a `<mimic>` tag for each target; the fit must be linear in one variable."""
        rows = zip(self.targets, self._of_one_variable(1, "mimic"), self.max_error, strict=True)
        return "".join(
            f'<mimic joint="{self.variables[0]}" multiplier="{slope!r}" offset="{offset!r}"/>'
            f"  <!-- {name}: error up to {error:.3g} -->\n"
            for name, (offset, slope), error in rows
        )

    def polycoef(self) -> str:
        """MJCF: an equality constraint for each target, up to order 4 in one variable."""
        c = self._of_one_variable(_MJCF_ORDER, "polycoef")
        lines = [
            f'  <joint joint1="{name}" joint2="{self.variables[0]}" '
            f'polycoef="{" ".join(map(repr, [*row, *[0.0] * (_MJCF_ORDER + 1 - len(row))]))}"/>'
            for name, row in zip(self.targets, c, strict=True)
        ]
        return "\n".join(["<equality>", *lines, "</equality>"]) + "\n"

    def yaml(self) -> str:
        """YAML: variables, their range, powers, and coefficients with the largest error of each target."""
        found = zip(self.targets, self.coefficients.tolist(), self.max_error.tolist(), strict=True)
        data = {
            "variables": list(self.variables),
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "powers": self.powers.astype(int).tolist(),
            "targets": {name: {"coefficients": row, "max_error": error} for name, row, error in found},
        }
        return str(yaml.safe_dump(data, sort_keys=False, default_flow_style=None))

    def _of_one_variable(self, order: int, what: str) -> list[list[float]]:
        """Coefficients by rising power."""
        if len(self.variables) != 1 or len(self.powers) > order + 1:
            raise InputError(
                f"{what} needs a polynomial of one variable and of order {order} at most; this one has "
                f"{len(self.variables)} variables and the order {int(self.powers.sum(axis=1).max())}. Use yaml().",
                field="order",
                allowed=order,
            )
        return [list(row) for row in self.coefficients.tolist()]


def polynomial(
    transmission: Transmission,
    order: int = 3,
    variables: str = "motors",
    targets: Sequence[str] | None = None,
    ranges: Sequence[tuple[float, float]] | None = None,
    samples: int = 21,
) -> PolynomialFit:
    """Fit polynomials to the exact map, by least squares on a grid.

    Args:
        transmission: the map.
        order: largest sum of powers of a term.
        variables: "motors" or "joints": the arguments of the polynomials.
        targets: names of the joints to fit; by default the joints for motors, and the motors for joints.
        ranges: smallest and largest position of each variable; by default its limits.
        samples: number of samples along each axis.

    Raises:
        InputError: the order is below 1, a variable has no limits, or too few samples can be reached.
    """
    if order < 1:
        raise InputError(f"order is {order}; it must be at least 1.", field="order", value=order, allowed=1)
    space = transmission.workspace(samples, variables, ranges)
    reached = space.status < NOT_CLOSED
    of_motors = variables == "motors"
    names = transmission.motors if of_motors else transmission.joints
    x = (space.motors if of_motors else space.joints)[reached]
    wanted = tuple(targets or (transmission.joints if of_motors else transmission.motors))
    y = space.q[reached][:, [transmission.model.q_index(name).start for name in wanted]]
    powers = np.array([np.bincount(chosen, minlength=len(names)) for chosen in _products(len(names), order)])
    if len(x) < len(powers):
        message = f"{len(x)} samples can be reached, and {len(powers)} coefficients are unknown: give smaller ranges."
        raise InputError(message, field="ranges", value=len(x))
    A = _terms(x, powers)
    c = np.linalg.lstsq(A, y, rcond=None)[0]
    errors = np.asarray(np.abs(A @ c - y).max(axis=0), dtype=np.float64)
    return PolynomialFit(names, wanted, powers, np.asarray(c.T, dtype=np.float64), errors, x.min(axis=0), x.max(axis=0))


def _products(count: int, order: int) -> list[list[int]]:
    """Factors of each term, as indices of variables, by rising order."""
    return [list(chosen) for n in range(order + 1) for chosen in combinations_with_replacement(range(count), n)]


def _terms(x: Array, powers: Array) -> Array:
    """Products of powers, (..., terms)."""
    return np.asarray(np.prod(x[..., None, :] ** powers, axis=-1))
