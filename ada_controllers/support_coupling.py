# SPDX-License-Identifier: Apache-2.0
"""Coupling inertia between a robot and its support link, and joint motions without reaction on the support.

Row spaces are computed over generic scalars, because the rank of M_fl falls in some configurations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics import expr
from ada_dynamics.algorithms.coupling_inertia import Coupling, coupling, floating_base
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.constraint_set import characteristic_length, dense_rows, loop_equations
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.jit.compiled import Vector, compiled
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import WORLD
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.vector import ZERO, Scalar, Vec3

COMPONENTS = ("fx", "fy", "fz", "nx", "ny", "nz")
"""Components of wrenches and momenta; for motions: vx, vy, vz, wx, wy, wz."""

RANK_TOLERANCE = 1e-6  # relative to the largest row of M_fl


class SupportCoupling:
    """M_f, M_fl and its null space for one robot and one support link (Takahashi 2012, eqs. 6.1-6.4, 6.8, 6.9).

    Example::

        foot = SupportCoupling(model, "right_sole")
        foot.matrix(q)                           # M_fl, (6, joints): momentum of the robot about the foot at rest
        foot.projected(q, b)                     # N_fl b: joint velocities without reaction on the foot
        foot.projected(q, b, ("fx", "ny"))       # without these components

    All quantities are about the origin of the support link in its axes, [f, n].

    Attributes:
        model: robot model.
        support: name of the support link.
        count: number of joint velocities without those of a floating base; they are the last ones of v.
        length: characteristic length that scales moments to forces [m].
    """

    def __init__(self, model: Model, support: str = "") -> None:
        """Choose the support. Args: robot model; name of the link, empty for the root.

        Raises:
            InputError: if the link is unknown, it moves although the base is fixed, the base has Euler angles, or the
                base floats and a loop joins the robot to the world.
        """
        self.model, self.support = model, support or model.root
        self.tree = model.tree
        if self.support not in model.links:
            raise unknown_name("link", self.support, model.links)
        root = model.floating_joint
        if root is not None and not floating_base(self.tree):
            kind = model.joints[root].kind
            text = f"the base of robot {model.name!r} is {kind!r}; load it with base='floating'."
            raise InputError(text, field="base", value=kind, allowed=("floating",))
        self.is_floating = floating_base(self.tree)
        if not self.is_floating and self.tree.frames[self.support].body != WORLD:
            text = (
                f"link {self.support!r} of robot {model.name!r} moves although the base is fixed, and cannot be the "
                f"support. Choose the root {model.root!r}, or load the robot with base='floating'."
            )
            raise InputError(text, link=self.support, field="support", value=self.support, allowed=(model.root,))
        grounded = self.tree.grounded_loops
        if self.is_floating and grounded:
            text = (
                f"loop {grounded[0]!r} joins robot {model.name!r} to the world although its base floats. Load it with "
                "base='fixed', or remove the loop (ada_dynamics.model.edit.open_loops) and use its link as "
                "support."
            )
            raise InputError(text, loop=grounded[0], field="base", value="floating", allowed=("fixed",))
        self.count = self.tree.nv - (6 if self.is_floating else 0)
        self.length = characteristic_length(model)
        self._projections: dict[tuple[int, ...], Callable[..., Any]] = {}

    def rows(self, names: Sequence[str]) -> tuple[int, ...]:
        """Return the indices of components.

        Raises:
            InputError: if a component is unknown.
        """
        for name in names:
            if name not in COMPONENTS:
                raise unknown_name("component of the reaction", name, COMPONENTS)
        return tuple(sorted(COMPONENTS.index(name) for name in names))

    def loops(self, q: Vector, v: Vector) -> tuple[list[list[Scalar]], list[Scalar]]:
        """Return the loop constraints on the joints, J θ̈ + γ = 0, in units of the rows of M_fl."""
        found, mass = loop_equations(self.tree, q, v), self.model.total_mass
        rows = [[mass * x for x in row[-self.count :]] for row in dense_rows(found, self.tree.nv)]
        return rows, [mass * row.rate for row in found]

    # --- numerical values -------------------------------------------------------------------------------------------
    def matrix(self, q: Array) -> Array:
        """Return M_fl, (6, joints): momentum about the support at rest per joint velocity [kg m, kg m²]."""
        return np.asarray(self._inertias(q, np.zeros(self.tree.nv))[0], dtype=np.float64)

    def bias(self, q: Array, v: Array) -> Array:
        """Return Ṁ_fl θ̇ with the support at rest, (6,) [N, N m]."""
        return np.asarray(self._inertias(q, v)[1], dtype=np.float64)

    def projected(self, q: Array, b: Array, preserved: Sequence[str] = COMPONENTS) -> Array:
        """Return N_fl b of eq. 6.9: the joint velocities nearest to b with zero preserved momentum components."""
        return np.asarray(self._projection(self.rows(preserved))(q, np.ascontiguousarray(b))[0], dtype=np.float64)

    def rank(self, q: Array, preserved: Sequence[str] = COMPONENTS) -> int:
        """Return the number of preserved components that the joints can change independently with closed loops."""
        return round(float(self._projection(self.rows(preserved))(q, np.zeros(self.count))[1][0]))

    @cached_property
    def _inertias(self) -> Callable[..., Any]:
        def body(q: Vector, v: Vector) -> dict[str, Any]:
            found = coupling(self.tree, q, v, self.support)
            return {"M_fl": scaled_rows(found.columns, range(6), 1.0), "bias": six(found.bias)}

        return compiled("coupling_inertia", {"q": self.tree.nq, "v": self.tree.nv}, body)

    def _projection(self, rows: tuple[int, ...]) -> Callable[..., Any]:
        if rows not in self._projections:

            def body(q: Vector, b: Vector) -> dict[str, Any]:
                rest = (0.0,) * self.tree.nv
                found = coupling(self.tree, q, rest, self.support)
                closed, _ = self.loops(q, rest)
                space = row_space([*closed, *scaled_rows(found.columns, rows, 1.0 / self.length)], RANK_TOLERANCE)
                return {"x": space.inside(b), "rank": [sum(space.kept[len(closed) :], ZERO)]}

            self._projections[rows] = compiled("null_space", {"q": self.tree.nq, "b": self.count}, body)
        return self._projections[rows]


def scaled_rows(columns: Sequence[Force | Motion], rows: Sequence[int], lever: float) -> list[list[Scalar]]:
    """Return rows of a matrix given by columns of forces or motions, in units of forces (or of velocities).

    Args:
        columns: columns of the matrix.
        rows: indices of the rows, [f, n] or [linear, angular].
        lever: factor of moments (1/length) or angular velocities (length).
    """
    values = [six(column) for column in columns]
    return [[(1.0 if i < 3 else lever) * column[i] for column in values] for i in rows]


def six(vector: Force | Motion) -> list[Scalar]:
    """Return [f, n] or [linear, angular]."""
    if isinstance(vector, Force):
        return [*vector.force, *vector.moment]
    return [*vector.linear, *vector.angular]


def free_motion(found: Coupling, wrench: Force) -> Motion:
    """Return M_f⁻¹ F, the acceleration of a free support."""
    values = [*wrench.moment, *wrench.force]
    x = [sum((a * b for a, b in zip(row, values, strict=True)), ZERO) for row in found.inertia.inverse_matrix()]
    return Motion(Vec3(*x[:3]), Vec3(*x[3:]))


# --- null spaces ------------------------------------------------------------------------------------------------------
class RowSpace(NamedTuple):
    """Row space of a matrix A = L Q with orthonormal rows Q, without a singular value decomposition.

    Attributes:
        rows: Q; dependent rows are zero.
        lower: elements of each row of L before the diagonal.
        inverse: reciprocal diagonal of L; zero for dependent rows.
        kept: 1 for independent rows, else 0.
    """

    rows: tuple[Sequence[Scalar], ...]
    lower: tuple[Sequence[Scalar], ...]
    inverse: tuple[Scalar, ...]
    kept: tuple[Scalar, ...]

    def inside(self, x: Sequence[Scalar]) -> list[Scalar]:
        """Project x onto the null space: (U - A# A) x (Takahashi 2012, after eq. 6.4)."""
        rest = list(x)
        for row in (*self.rows, *self.rows):  # the second pass removes rounding errors
            rest = _without(rest, row, _dot(row, rest))
        return rest

    def least(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return A# b, the minimum-norm x with A x = b in the independent rows."""
        solved: list[Scalar] = []
        for value, factors, inverse in zip(b, self.lower, self.inverse, strict=True):
            for factor, before in zip(factors, solved, strict=True):
                value = value - factor * before
            solved.append(value * inverse)
        return [_dot(solved, column) for column in zip(*self.rows, strict=True)]


def row_space(A: Sequence[Sequence[Scalar]], tolerance: Scalar) -> RowSpace:
    """Return the row space of a matrix whose rows are of comparable size.

    Rows are orthonormalized by Gram-Schmidt, applied twice. A dependent row is set to zero, so that the rank is known
    and no branches are needed.

    Args:
        A: rows.
        tolerance: norm of a remainder, relative to the largest row, below which a row is dependent.
    """
    largest: Scalar = 0.0
    for given in A:
        largest = expr.maximum(largest, _dot(given, given))
    smallest = tolerance * tolerance * largest
    rows: list[list[Scalar]] = []
    lower: list[list[Scalar]] = []
    inverse: list[Scalar] = []
    kept: list[Scalar] = []
    for given in A:
        rest, factors = list(given), [ZERO] * len(rows)
        for _ in range(2):
            shares = [_dot(row, rest) for row in rows]
            for row, share in zip(rows, shares, strict=True):
                rest = _without(rest, row, share)
            factors = [factor + share for factor, share in zip(factors, shares, strict=True)]
        square = _dot(rest, rest)
        counts = expr.select(smallest, square, 1.0, 0.0)
        shorten = counts * (1.0 / expr.sqrt(expr.select(smallest, square, square, 1.0)))
        rows.append([x * shorten for x in rest])
        lower.append(factors)
        inverse.append(shorten)
        kept.append(counts)
    return RowSpace(tuple(rows), tuple(lower), tuple(inverse), tuple(kept))


def _dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    return sum((x * y for x, y in zip(a, b, strict=True)), ZERO)


def _without(x: Sequence[Scalar], row: Sequence[Scalar], share: Scalar) -> list[Scalar]:
    return [value - share * entry for value, entry in zip(x, row, strict=True)]
