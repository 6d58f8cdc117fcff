# SPDX-License-Identifier: Apache-2.0
"""Gap, conditions and mass matrix of a mechanism as numpy arrays, from the algorithms run on numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

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

# How often gap or J are asked for before it pays to write them down, and up to how many velocities it does.
WRITTEN_AFTER, WRITTEN_UP_TO = 8, 120


class LoopNumbers:
    """The loops of one model, on numbers. Rows are all conditions of all loops, in the order of `conditions`."""

    def __init__(self, model: Model, turned: bool = False) -> None:
        """Args: a model with loops; whether the conditions have the axes of the other sides of its loop joints."""
        self.model = model
        self.is_turned = turned
        self.tree = model.tree.with_turned_loops() if turned else model.tree
        self.conditions: list[tuple[str, int, RowKind]] = [
            (loop.name, i, kind) for loop in self.tree.loops for i, kind in enumerate(closure.row_kinds(loop))
        ]
        self.length = typical_length(model)
        # A moment counts as the force that it is at the mechanism's typical length, an angle as the way there.
        self.weights = np.array([1.0 if kind.is_force else 1.0 / self.length for _, _, kind in self.conditions])
        self.moment_units = np.repeat([1.0, self.length], 3)  # of a wrench [force, moment], likewise
        self._asked = 0

    @cached_property
    def full_tree(self) -> Tree:
        """The tree that has a body for every link."""
        full = self.model.full_tree
        return full.with_turned_loops() if self.is_turned else full

    def gap(self, q: Array) -> Array:
        """How far each condition is from holding [m, rad]."""
        written = self._written()
        if written is not None:
            return written(q)[0]
        X = transforms(self.tree, q.tolist())
        return np.array([g for loop in self.tree.loops for g in closure.gap(self.tree, X, loop)], dtype=float)

    def _written(self) -> Callable[[Array], list[Array]] | None:
        """Gap and J as one function of plain Python, written down once they have been asked for a few times."""
        self._asked += 1
        is_worth_it = self._asked > WRITTEN_AFTER and self.tree.nv <= WRITTEN_UP_TO
        return self._gap_and_jacobian if is_worth_it else None

    @cached_property
    def _gap_and_jacobian(self) -> Callable[[Array], list[Array]]:
        def body(q: Sequence[Scalar]) -> Traced:
            X = transforms(self.tree, q)
            gap = [g for loop in self.tree.loops for g in closure.gap(self.tree, X, loop)]
            J = [[row.columns.get(k, 0.0) for k in range(self.tree.nv)] for row in self._rows(self.tree, q)]
            return Traced({"gap": gap, "J": [x for line in J for x in line]})

        function = trace("closing", {"q": self.tree.nq}, body)
        backend = PythonBackend(Signature.of(function), lambda: function)
        shape = len(self.conditions), self.tree.nv

        def evaluated(q: Array) -> list[Array]:
            gap, J = np.empty(shape[0]), np.empty(shape[0] * shape[1])
            if backend.single([np.ascontiguousarray(q, dtype=np.float64)], [gap, J]):
                raise InputError(
                    f"the loops of model {self.model.name!r} have no finite gap at q = {q.tolist()}.",
                    field="q",
                    value=q,
                )
            return [gap, J.reshape(shape)]

        return evaluated

    def gaps(self, q: Array) -> Array:
        """`gap` of one state or of rows of them, (conditions, states)."""
        X = transforms(self.tree, _scalars(q))
        return _columns([g for loop in self.tree.loops for g in closure.gap(self.tree, X, loop)], q)

    def drifts(self, q: Array, v: Array) -> tuple[Array, Array]:
        """|J v| and, to measure it by, |J| |v|, of one state or of rows of them, (conditions, states) each."""
        velocities = _scalars(v)
        terms = [[x * velocities[k] for k, x in row.columns.items()] for row in self.rows(q)]
        return (
            np.abs(_columns([sum(x, 0.0) for x in terms], q)),
            _columns([sum(map(abs, x), 0.0) for x in terms], q),
        )

    def rows(self, q: Array, full: bool = False) -> list[closure.ConstraintRow]:
        """The conditions at rest; `full` on the tree that has a body for every link."""
        return self._rows(self.full_tree if full else self.tree, _scalars(q))

    @staticmethod
    def _rows(tree: Tree, positions: Sequence[Any]) -> list[closure.ConstraintRow]:
        rest = [0.0] * tree.nv
        X = transforms(tree, positions)
        still = standing_still(tree)
        return [r for loop in tree.loops for r in closure.loop_rows(tree, X, positions, rest, still, loop)]

    def jacobian(self, q: Array) -> Array:
        """J: one row per condition."""
        written = self._written()
        if written is not None:
            return written(q)[1]
        J = np.zeros((len(self.conditions), self.tree.nv))
        for line, row in zip(J, self.rows(q), strict=True):
            for k, value in row.columns.items():
                line[k] = value
        return J

    def mass_matrix(self, q: Array) -> Array:
        """M."""
        return np.array(mass_matrix(self.tree, q.tolist()).dense(), dtype=float)

    def whitened(self, q: Array) -> Array:
        """W = L⁻¹ Jᵀ with M = L Lᵀ, one column per condition: WᵀW = J M⁻¹ Jᵀ.

        Where M is singular (massless links in loops) J itself takes its place.
        """
        J = self.jacobian(q) / self.weights[:, None]
        try:
            L = np.linalg.cholesky(self.mass_matrix(q))
        except np.linalg.LinAlgError:
            return np.ascontiguousarray(J.T)
        return np.linalg.solve(L, J.T)

    def wrenches(self, q: Array, several: Array) -> list[dict[str, Array]]:
        """Share of each row of multipliers of all conditions in every joint's wrench on its child, by joint and loop.

        [force, moment]; a tree joint's in the axes of its child link, a loop joint's in those of its child-side frame.
        """
        rows = self.rows(q, full=True)
        X = transforms(self.full_tree, q.tolist())
        return [self._wrenches(rows, X, multipliers.tolist()) for multipliers in several]

    def _wrenches(
        self, rows: Sequence[closure.ConstraintRow], X: Sequence[Transform], multipliers: Sequence[float]
    ) -> dict[str, Array]:
        tree = self.full_tree
        own: list[Force] = [NO_FORCE] * len(tree.bodies)
        closing = dict.fromkeys(self.model.loop_names, NO_FORCE)
        for (name, _, _), row, x in zip(self.conditions, rows, multipliers, strict=True):
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
    """Scalars for the algorithms: numbers, or columns of the states in rows."""
    return [*x.T] if x.ndim == 2 else x.tolist()


def _columns(values: Sequence[Any], q: Array) -> Array:
    """A row for each value, a column for each state."""
    found = np.empty((len(values), len(q) if q.ndim == 2 else 1))
    for row, value in zip(found, values, strict=True):
        row[:] = value
    return found


def typical_length(model: Model) -> float:
    """Typical length of the mechanism: mean distance between joints [m]."""
    steps = [float(np.linalg.norm(joint.xyz)) for joint in model.joints.values()]
    for loop in model.loops.values():
        steps += [float(np.linalg.norm(loop.parent_xyz)), float(np.linalg.norm(loop.child_xyz))]
    lengths = [s for s in steps if s > 0.0]
    return float(np.mean(lengths)) if lengths else 1.0
