# SPDX-License-Identifier: Apache-2.0
"""Constraints of all loop joints of a model: rows, violation, Jacobian and bias, on arrays and on graph nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ada_dynamics.algorithms import closure
from ada_dynamics.algorithms.closure import ConstraintRow
from ada_dynamics.algorithms.crba import mass_matrix
from ada_dynamics.algorithms.kinematics import inward_sums, standing_still, transforms, world_and_bodies
from ada_dynamics.algorithms.rnea import no_velocity
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.expr import Function, Traced, trace
from ada_dynamics.expr.evaluation import substitute
from ada_dynamics.jit.fallback import PythonBackend
from ada_dynamics.jit.signature import Signature
from ada_dynamics.model.joints.base import RowKind
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.motion import NO_FORCE, Force
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Scalar

# Calls after which a traced Python function of violation and Jacobian pays off, and the largest nv for which it does.
TRACED_AFTER, TRACED_UP_TO = 8, 120
REMEMBERED = 32  # mass matrices that are kept: the sample configurations of an analysis are used several times


Vector = Array | Sequence[Scalar]
Chosen = Mapping[str, Sequence[int]]  # indices into the rows of each loop


class ScalarConstraint(NamedTuple):
    """One scalar constraint of a loop joint: the loop, its row there, and the force or moment that it transmits."""

    loop: str
    row: int
    kind: RowKind


class ConstraintSet:
    """The constraints of all loops of a model.

    `equations` and `errors` run on arrays and on graph nodes.

    Attributes:
        rows: one `ScalarConstraint` per scalar constraint, loop by loop.
        length: characteristic length of the mechanism [m].
        weights: by row, 1 for positions and 1/length for angles; multipliers times weights are forces.
    """

    def __init__(self, model: Model, turned: bool = False) -> None:
        """Take the loops of a model; `turned` constraints have the axes of the child sides of the loop joints."""
        self.model, self.is_turned = model, turned
        self.tree = model.tree.with_turned_loops() if turned else model.tree
        self.rows = tuple(
            ScalarConstraint(loop.name, i, kind) for loop in self.tree.loops for i, kind in enumerate(loop.rows)
        )
        self.length = characteristic_length(model)
        # A moment counts as the force with the characteristic length as lever, an angle as the displacement there.
        self.weights = np.array([1.0 if kind.is_force else 1.0 / self.length for _, _, kind in self.rows])
        self.moment_units = np.repeat([1.0, self.length], 3)  # of a wrench [force, moment]
        self._calls = 0
        self._evaluations: dict[bytes, tuple[Array, Array]] = {}  # violation and J by configuration
        self._masses: dict[bytes, Array] = {}

    def turned(self) -> ConstraintSet:
        """The same constraints with the axes of the other sides of the loop joints."""
        other = ConstraintSet(self.model, not self.is_turned)
        other._masses = self._masses
        return other

    def trace(self, known: Sequence[Array] = ()) -> None:
        """Trace violation and Jacobian for callers that need them many times; compute those of known configurations."""
        self._calls = TRACED_AFTER
        if known and self.tree.nv <= TRACED_UP_TO:
            q = np.array(known)
            found = substitute(self._traced[0], {"q": scalars(q)}).values()  # together, without generated code
            violations, Js = (_columns(values, q).T for values in found)
            Js = Js.reshape(-1, len(self.rows), self.tree.nv)
            self._evaluations = {at.tobytes(): (g, J) for at, g, J in zip(q, violations, Js, strict=True)}

    @cached_property
    def full_tree(self) -> Tree:
        """The tree that has a body for every link."""
        return self.model.full_tree.with_turned_loops() if self.is_turned else self.model.full_tree

    def equations(self, q: Vector, v: Vector | None = None, chosen: Chosen | None = None) -> list[ConstraintRow]:
        """The constraints J a + γ = 0 with their wrenches.

        Args:
            q: configuration: an array, rows of a batch, or graph nodes.
            v: velocities; zero by default.
            chosen: indices into the rows of each loop, by loop; all by default.
        """
        return loop_equations(self.tree, q, v, chosen)

    def violation(self, q: Array) -> Array:
        """Closure error of each constraint [m, rad], (m,)."""
        evaluated = self._evaluated(q)
        return np.array(self.errors(q), dtype=float) if evaluated is None else evaluated[0]

    def errors(self, q: Vector) -> list[Scalar]:
        """`violation` of an array, of rows of a batch, or of graph nodes."""
        X = transforms(self.tree, scalars(q))
        return [g for loop in self.tree.loops for g in closure.closure_error(self.tree, X, loop)]

    def jacobian(self, q: Array) -> Array:
        """Constraint Jacobian J, (m, nv)."""
        evaluated = self._evaluated(q)
        if evaluated is not None:
            return evaluated[1]
        J = dense_rows(self.equations(q), self.tree.nv)
        return np.array(J, dtype=float).reshape(len(self.rows), self.tree.nv)

    def _evaluated(self, q: Array) -> tuple[Array, Array] | None:
        """Violation and J by one plain Python function, once they have been computed a few times."""
        self._calls += 1
        if self._calls <= TRACED_AFTER or self.tree.nv > TRACED_UP_TO:
            return None
        q = np.ascontiguousarray(q, dtype=np.float64)
        key = q.tobytes()
        result = self._evaluations.get(key)
        if result is None:
            result = np.empty(len(self.rows)), np.empty((len(self.rows), self.tree.nv))
            if self._traced[1].single([q], [result[0], result[1].reshape(-1)]):
                message = f"the loops of model {self.model.name!r} have no finite violation at q = {q.tolist()}."
                raise InputError(message, field="q", value=q)
            for array in result:
                array.flags.writeable = False
            if len(self._evaluations) >= REMEMBERED:
                self._evaluations.clear()
            self._evaluations[key] = result
        return result

    @cached_property
    def _traced(self) -> tuple[Function, PythonBackend]:
        def body(q: Sequence[Scalar]) -> Traced:
            J = dense_rows(self.equations(q), self.tree.nv)
            return Traced({"violation": self.errors(q), "J": [x for line in J for x in line]})

        function = trace("closing", {"q": self.tree.nq}, body)
        return function, PythonBackend(Signature.of(function), lambda: function)

    def by_loop(self, values: Array) -> dict[str, Array]:
        """Values of all constraints, (..., m), by loop."""
        names = np.array([loop for loop, _, _ in self.rows])
        return {name: values[..., names == name] for name in self.model.loop_names}

    def violations(self, q: Array) -> Array:
        """`violation` of one configuration or of a batch (N, nq), as columns (m, N)."""
        return _columns(self.errors(q), q)

    def rate_violations(self, q: Array, v: Array) -> tuple[Array, Array]:
        """|J v| and its scale |J| |v|, of one state or of a batch, as columns (m, N)."""
        velocities = scalars(v)
        terms = [[x * velocities[k] for k, x in row.columns.items()] for row in self.equations(q)]
        rates, scales = [sum(x, 0.0) for x in terms], [sum(map(abs, x), 0.0) for x in terms]
        return np.abs(_columns(rates, q)), _columns(scales, q)

    def mass_matrices(self, configurations: Sequence[Array]) -> list[Array]:
        """Joint-space mass matrix M, (nv, nv), in each configuration."""
        keys = [np.asarray(q, dtype=np.float64).tobytes() for q in configurations]
        found = self._masses if self.tree.nv <= TRACED_UP_TO else dict[bytes, Array]()
        if not found.keys() >= set(keys):
            if len(found) + len(keys) > REMEMBERED:
                found.clear()
            q = configurations[0] if len(keys) == 1 else np.array(configurations)
            dense = mass_matrix(self.tree, scalars(q)).dense()
            values = _columns([x for row in dense for x in row], q).T.reshape(-1, self.tree.nv, self.tree.nv)
            values.flags.writeable = False
            found.update(zip(keys, values, strict=True))
        return [found[key] for key in keys]

    def whitened(self, configurations: Sequence[Array]) -> list[Array]:
        """W = L⁻¹ Jᵀ with M = L Lᵀ, (nv, m), in each configuration: WᵀW = J M⁻¹ Jᵀ.

        W is Jᵀ if M is singular (massless links in loops).
        """
        found = []
        for q, M in zip(configurations, self.mass_matrices(configurations), strict=True):
            J = self.jacobian(q) / self.weights[:, None]
            try:
                found.append(np.linalg.solve(np.linalg.cholesky(M), J.T))
            except np.linalg.LinAlgError:
                found.append(np.ascontiguousarray(J.T))
        return found

    def wrenches(self, q: Array, several: Array) -> list[dict[str, Array]]:
        """Wrench of every joint and loop on its child for each row of multipliers of all constraints.

        [force, moment], for a tree joint in the axes of its child link, for a loop joint in its child-side frame.
        """
        tree, positions = self.full_tree, q.tolist()
        X, rows = transforms(tree, positions), loop_equations(tree, positions)
        links = [self.model.joints[body.name].child for body in tree.bodies]
        names = [*(body.name for body in tree.bodies), *(loop.name for loop in tree.loops)]
        loops, still = [row.loop for row in self.rows], [NO_FORCE] * len(tree.bodies)
        found = (carried_forces(tree, links, X, loops, rows, multipliers.tolist(), still) for multipliers in several)
        return [{name: np.array([*f.force, *f.moment]) for name, f in zip(names, fs, strict=True)} for fs in found]


def loop_equations(tree: Tree, q: Vector, v: Vector | None = None, chosen: Chosen | None = None) -> list[ConstraintRow]:
    """`ConstraintSet.equations` of the loops of a tree."""
    positions = scalars(q)
    X = transforms(tree, positions)
    speeds = no_velocity(tree) if v is None else scalars(v)
    moving = standing_still(tree) if v is None else world_and_bodies(tree, X, positions, speeds, gravity=False)
    rows = [None if chosen is None else chosen[loop.name] for loop in tree.loops]
    found = (closure.loop_rows(tree, X, positions, speeds, moving, *own) for own in zip(tree.loops, rows, strict=True))
    return [row for own in found for row in own]


def dense_rows(rows: Sequence[ConstraintRow], nv: int) -> list[list[Scalar]]:
    """J of constraints, row by row."""
    return [[row.columns.get(k, 0.0) for k in range(nv)] for row in rows]


def carried_forces(
    tree: Tree,
    links: Sequence[str],
    X: Sequence[Transform],
    loops: Sequence[str],
    rows: Sequence[ConstraintRow],
    multipliers: Sequence[Scalar],
    needed: Sequence[Force],
) -> list[Force]:
    """Forces of all joints on their children, tree joints first, then loop joints.

    A tree joint's is about the origin of its child link, in that link's axes; a loop joint's likewise at and in its
    child-side frame. The tree has one body for each of the links, so that fixed joints have their own. `loops` are
    those of the rows, and `needed` is the force that moves each body.
    """
    own, closing = list(needed), dict.fromkeys((loop.name for loop in tree.loops), NO_FORCE)
    for loop, row, x in zip(loops, rows, multipliers, strict=True):
        closing[loop] = closing[loop] + x * row.own
        for i, wrench in row.wrenches.items():
            own[i] = own[i] - x * wrench
    carried = inward_sums(tree, X, own)
    at_links = [tree.frames[link].pose.to_child(f) for link, f in zip(links, carried, strict=True)]
    return [*at_links, *(loop.turn.to_parent(closing[loop.name]) for loop in tree.loops)]


def scalars(x: Vector) -> Sequence[Scalar]:
    """Scalars for the algorithms: floats, one column per coordinate of a batch, or graph nodes."""
    if not isinstance(x, np.ndarray):
        return x
    values: list[Scalar] = [*x.T] if x.ndim == 2 else x.tolist()
    return values


def _columns(values: Sequence[Scalar], q: Array) -> Array:
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
