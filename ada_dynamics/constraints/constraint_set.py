# SPDX-License-Identifier: Apache-2.0
"""Constraints of all loop joints of a model: rows, violation, Jacobian and bias as numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.algorithms import closure
from ada_dynamics.algorithms.crba import mass_matrix
from ada_dynamics.algorithms.kinematics import inward_sums, standing_still, transforms
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.expr import Traced, trace
from ada_dynamics.jit.fallback import PythonBackend
from ada_dynamics.jit.signature import Signature
from ada_dynamics.model.joints.rows import RowKind
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.motion import NO_FORCE, Force
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Scalar

# Calls after which a traced Python function of violation and Jacobian pays off, and the largest nv for which it does.
TRACED_AFTER, TRACED_UP_TO = 8, 120


class ScalarConstraint(NamedTuple):
    """One scalar constraint of a loop joint: the loop, its row there, and the force or moment that it transmits."""

    loop: str
    row: int
    kind: RowKind


class ConstraintSet:
    """The constraints of all loops of a model.

    Attributes:
        rows: one `ScalarConstraint` per scalar constraint, loop by loop.
        length: characteristic length of the mechanism [m].
        weights: by row, 1 for positions and 1/length for angles; multipliers times weights are forces.
    """

    def __init__(self, model: Model, turned: bool = False) -> None:
        """Args: a model with loops; whether the constraint axes are those of the other sides of its loop joints."""
        self.model = model
        self.is_turned = turned
        self.tree = model.tree.with_turned_loops() if turned else model.tree
        self.rows = tuple(
            ScalarConstraint(loop.name, i, kind)
            for loop in self.tree.loops
            for i, kind in enumerate(closure.row_kinds(loop))
        )
        self.length = characteristic_length(model)
        # A moment counts as the force with the characteristic length as lever, an angle as the displacement there.
        self.weights = np.array([1.0 if kind.is_force else 1.0 / self.length for _, _, kind in self.rows])
        self.moment_units = np.repeat([1.0, self.length], 3)  # of a wrench [force, moment]
        self._calls = 0

    @cached_property
    def full_tree(self) -> Tree:
        """The tree that has a body for every link."""
        full = self.model.full_tree
        return full.with_turned_loops() if self.is_turned else full

    def violation(self, q: Array) -> Array:
        """Closure error of each constraint [m, rad], (m,)."""
        traced = self._traced()
        if traced is not None:
            return traced(q)[0]
        X = transforms(self.tree, q.tolist())
        return np.array([g for loop in self.tree.loops for g in closure.closure_error(self.tree, X, loop)], dtype=float)

    def _traced(self) -> Callable[[Array], list[Array]] | None:
        """Violation and J as one plain Python function, once they have been computed a few times."""
        self._calls += 1
        pays_off = self._calls > TRACED_AFTER and self.tree.nv <= TRACED_UP_TO
        return self._violation_and_jacobian if pays_off else None

    @cached_property
    def _violation_and_jacobian(self) -> Callable[[Array], list[Array]]:
        def body(q: Sequence[Scalar]) -> Traced:
            X = transforms(self.tree, q)
            violation = [g for loop in self.tree.loops for g in closure.closure_error(self.tree, X, loop)]
            J = [[row.columns.get(k, 0.0) for k in range(self.tree.nv)] for row in self._closure_rows(self.tree, q)]
            return Traced({"violation": violation, "J": [x for line in J for x in line]})

        function = trace("closing", {"q": self.tree.nq}, body)
        backend = PythonBackend(Signature.of(function), lambda: function)
        shape = len(self.rows), self.tree.nv

        def evaluated(q: Array) -> list[Array]:
            violation, J = np.empty(shape[0]), np.empty(shape[0] * shape[1])
            if backend.single([np.ascontiguousarray(q, dtype=np.float64)], [violation, J]):
                raise InputError(
                    f"the loops of model {self.model.name!r} have no finite violation at q = {q.tolist()}.",
                    field="q",
                    value=q,
                )
            return [violation, J.reshape(shape)]

        return evaluated

    def violations(self, q: Array) -> Array:
        """`violation` of one configuration or of a batch (N, nq), as columns (m, N)."""
        X = transforms(self.tree, _scalars(q))
        return _columns([g for loop in self.tree.loops for g in closure.closure_error(self.tree, X, loop)], q)

    def rate_violations(self, q: Array, v: Array) -> tuple[Array, Array]:
        """|J v| and its scale |J| |v|, of one state or of a batch, as columns (m, N)."""
        velocities = _scalars(v)
        terms = [[x * velocities[k] for k, x in row.columns.items()] for row in self.closure_rows(q)]
        return (
            np.abs(_columns([sum(x, 0.0) for x in terms], q)),
            _columns([sum(map(abs, x), 0.0) for x in terms], q),
        )

    def closure_rows(self, q: Array, full: bool = False) -> list[closure.ConstraintRow]:
        """Constraint wrenches and columns of J at rest; `full` on the tree that has a body for every link."""
        return self._closure_rows(self.full_tree if full else self.tree, _scalars(q))

    @staticmethod
    def _closure_rows(tree: Tree, positions: Sequence[Any]) -> list[closure.ConstraintRow]:
        rest = [0.0] * tree.nv
        X = transforms(tree, positions)
        still = standing_still(tree)
        return [r for loop in tree.loops for r in closure.loop_rows(tree, X, positions, rest, still, loop)]

    def jacobian(self, q: Array) -> Array:
        """Constraint Jacobian J, (m, nv)."""
        traced = self._traced()
        if traced is not None:
            return traced(q)[1]
        J = np.zeros((len(self.rows), self.tree.nv))
        for line, row in zip(J, self.closure_rows(q), strict=True):
            for k, value in row.columns.items():
                line[k] = value
        return J

    def mass_matrix(self, q: Array) -> Array:
        """Joint-space mass matrix M, (nv, nv)."""
        return np.array(mass_matrix(self.tree, q.tolist()).dense(), dtype=float)

    def whitened(self, q: Array) -> Array:
        """W = L⁻¹ Jᵀ with M = L Lᵀ, (nv, m): WᵀW = J M⁻¹ Jᵀ.

        W is Jᵀ if M is singular (massless links in loops).
        """
        J = self.jacobian(q) / self.weights[:, None]
        try:
            L = np.linalg.cholesky(self.mass_matrix(q))
        except np.linalg.LinAlgError:
            return np.ascontiguousarray(J.T)
        return np.linalg.solve(L, J.T)

    def wrenches(self, q: Array, several: Array) -> list[dict[str, Array]]:
        """Wrench of every joint and loop on its child for each row of multipliers of all constraints.

        [force, moment], for a tree joint in the axes of its child link, for a loop joint in its child-side frame.
        """
        rows = self.closure_rows(q, full=True)
        X = transforms(self.full_tree, q.tolist())
        return [self._wrenches(rows, X, multipliers.tolist()) for multipliers in several]

    def _wrenches(
        self, rows: Sequence[closure.ConstraintRow], X: Sequence[Transform], multipliers: Sequence[float]
    ) -> dict[str, Array]:
        tree = self.full_tree
        own: list[Force] = [NO_FORCE] * len(tree.bodies)
        closing = dict.fromkeys(self.model.loop_names, NO_FORCE)
        for (name, _, _), row, x in zip(self.rows, rows, multipliers, strict=True):
            closing[name] = closing[name] + x * row.own
            for i, wrench in row.wrenches.items():
                own[i] = own[i] - x * wrench
        result: dict[str, Array] = {}
        for body, f in zip(tree.bodies, inward_sums(tree, X, own), strict=True):
            at_link = tree.frames[self.model.joints[body.name].child].pose.to_child(f)
            result[body.name] = np.array([*at_link.force, *at_link.moment])
        for loop in tree.loops:
            turned = loop.turn.to_parent(closing[loop.name])
            result[loop.name] = np.array([*turned.force, *turned.moment])
        return result


def _scalars(x: Array) -> list[Any]:
    """Scalars for the algorithms: floats, or one column per coordinate of a batch."""
    return [*x.T] if x.ndim == 2 else x.tolist()


def _columns(values: Sequence[Any], q: Array) -> Array:
    """One row per value, one column per state."""
    found = np.empty((len(values), len(q) if q.ndim == 2 else 1))
    for row, value in zip(found, values, strict=True):
        row[:] = value
    return found


def characteristic_length(model: Model) -> float:
    """Characteristic length of the mechanism: mean distance between joints [m]."""
    steps = [float(np.linalg.norm(joint.xyz)) for joint in model.joints.values()]
    for loop in model.loops.values():
        steps += [float(np.linalg.norm(loop.parent_xyz)), float(np.linalg.norm(loop.child_xyz))]
    lengths = [s for s in steps if s > 0.0]
    return float(np.mean(lengths)) if lengths else 1.0
