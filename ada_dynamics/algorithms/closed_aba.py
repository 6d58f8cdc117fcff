# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics with loops by articulated bodies that carry the conditions of loops along.

Beside its inertia I^A and wrench P^A, a body holds a column K_c for each condition it feels: the wrench that the
condition's multiplier puts on it. Freeing a joint reduces the columns as it reduces the inertia, and couples the
conditions among each other through A. A condition is solved for as soon as it touches one body alone, which keeps
ladders and branched loops linear in their length. With x = -λ, per body and condition

    I^A a + P^A + Σ K_c x_c = F,    K_c . a + Σ A_cd x_d = r_c.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ada_dynamics.algorithms.aba import Eliminated, Pivot, articulated_bodies, eliminate_joint, joint_acceleration
from ada_dynamics.algorithms.elimination import Closed, Plan, UnusableOrderError, planned_rows
from ada_dynamics.algorithms.kinematics import transforms, world_and_bodies
from ada_dynamics.algorithms.passive import passive_efforts
from ada_dynamics.algorithms.rnea import needed_force
from ada_dynamics.model.tree import WORLD, Body, Tree
from ada_dynamics.spatial.inertia import ArticulatedInertia
from ada_dynamics.spatial.motion import NO_FORCE, NO_MOTION, Force, Motion
from ada_dynamics.spatial.scalar import Scalar
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vec3 import is_zero, minus, plus, product


class FreedJoint(NamedTuple):
    """What the way back needs of a joint: its pivots, and per velocity K_c . S / D of the conditions it felt."""

    body: Body
    pivots: tuple[Pivot, ...]
    shares: list[dict[int, Scalar]]


class SolvedCondition(NamedTuple):
    """What the way back needs of a condition: x_c = constant - column . a(body) - Σ shares x_d."""

    condition: int
    body: int  # the one body that it still touched, or WORLD for none
    column: Force
    constant: Scalar
    shares: dict[int, Scalar]


class Sweep:
    """The inward pass: what is known of bodies and conditions between two eliminations."""

    def __init__(
        self,
        tree: Tree,
        X: Sequence[Transform],
        q: Sequence[Scalar],
        plan: Plan,
        added: Mapping[int, ArticulatedInertia] | None = None,
        added_armature: Sequence[Scalar] | None = None,
    ) -> None:
        """Args: mechanism, pose of every body in its parent, positions, plan, and what `aba.forward_dynamics` adds."""
        self.tree, self.X, self.q = tree, X, q
        self.inertia = articulated_bodies(tree, added)
        self.added_armature = added_armature
        self.wrench: list[Force] = [NO_FORCE] * len(tree.bodies)
        self.columns: list[dict[int, Force]] = [{} for _ in tree.bodies]
        self.touched: list[set[int]] = [
            set() for _ in range(plan.conditions)
        ]  # bodies that hold a column, by condition
        self.coupling = _Coupling(plan.conditions)
        self.right: dict[int, Scalar] = {}
        self.pivots: dict[int, Scalar] = {}
        self.inverse_D: list[Scalar] = [0.0] * tree.nv
        self.done: list[FreedJoint | SolvedCondition] = []

    # --- joints -------------------------------------------------------------------------------------------------
    def free_joint(self, body: Body, effort: Sequence[Scalar]) -> None:
        """Eliminate a joint's accelerations and hand what is left to its parent."""
        i, own = body.index, body.positions(self.q)
        rotors = None if self.added_armature is None else self.added_armature[body.v]
        free = eliminate_joint(body, own, effort, self.inertia[i], self.wrench[i], rotors)
        self.inverse_D[body.v] = free.inverse_D
        columns = self.columns[i]
        self.columns[i] = {}
        shares = self._reduce_columns(body, free, columns)
        self.done.append(FreedJoint(body, free.pivots, shares))
        for c in columns:
            self.touched[c].discard(i)
        if body.parent == WORLD:
            return
        X, p = self.X[i], body.parent
        self.inertia[p] = self.inertia[p] + free.inertia.up(X)
        self.wrench[p] = self.wrench[p] + X.force_up(free.wrench)
        for c, column in columns.items():
            self.add_column(p, c, X.force_up(column))

    def add_column(self, i: int, c: int, column: Force) -> None:
        """What the multiplier of condition c puts on body i."""
        self.columns[i][c] = self.columns[i].get(c, NO_FORCE) + column
        self.touched[c].add(i)

    def _reduce_columns(self, body: Body, free: Eliminated, columns: dict[int, Force]) -> list[dict[int, Scalar]]:
        """K_c -= U (S.K_c)/D;  A_cd -= (S.K_c)(S.K_d)/D;  r_c -= (S.K_c) u/D, velocity by velocity."""
        all_shares = []
        subspace = body.joint.subspace(body.positions(self.q))
        for s, pivot, inverse_D in zip(subspace, free.pivots, free.inverse_D, strict=True):
            along = {c: s.power(column) for c, column in columns.items()}
            along = {c: k for c, k in along.items() if not is_zero(k)}
            shares = {c: product(k, inverse_D) for c, k in along.items()}
            for c, k in along.items():
                columns[c] = columns[c] - pivot.U_over_D.scaled(k)
                self.right[c] = minus(self.right[c], product(k, pivot.u_over_D))
                for d, other in along.items():
                    if d >= c:
                        self.coupling.subtract(c, d, product(shares[c], other))
            all_shares.append(shares)
        return all_shares

    # --- conditions ---------------------------------------------------------------------------------------------
    def solve_condition(self, c: int) -> None:
        """Eliminate a multiplier that touches at most one body any more."""
        touched = sorted(self.touched[c])
        if len(touched) > 1:
            raise UnusableOrderError(f"condition {c} still touches bodies {touched}")
        column = self.columns[touched[0]].pop(c) if touched else NO_FORCE
        pivot, others = self.coupling.take(c)
        self.pivots[c] = minus(0.0, pivot)
        inverse = 1.0 / pivot
        scaled = column.scaled(inverse)
        right = self.right.pop(c)
        constant = product(right, inverse)
        shares = {d: product(value, inverse) for d, value in others.items()}
        for d, share in shares.items():
            self.right[d] = minus(self.right[d], product(share, right))
            for e, value in others.items():
                if e >= d:
                    self.coupling.subtract(d, e, product(share, value))
        if touched:
            b = touched[0]
            self.inertia[b] = self.inertia[b].less_outer(column, scaled)
            self.wrench[b] = self.wrench[b] + column.scaled(constant)
            for d, share in shares.items():
                self.columns[b][d] = self.columns[b].get(d, NO_FORCE) - column.scaled(share)
                self.touched[d].add(b)
        self.done.append(SolvedCondition(c, touched[0] if touched else WORLD, scaled, constant, shares))


class _Coupling:
    """A: what the conditions have in common."""

    def __init__(self, conditions: int) -> None:
        self._rows: list[dict[int, Scalar]] = [{} for _ in range(conditions)]

    def subtract(self, c: int, d: int, value: Scalar) -> None:
        """Subtract from A_cd = A_dc."""
        if is_zero(value):
            return
        self._rows[c][d] = self._rows[d][c] = minus(self._rows[c].get(d, 0.0), value)

    def diagonal(self, c: int) -> Scalar:
        """A_cc."""
        return self._rows[c].get(c, 0.0)

    def take(self, c: int) -> tuple[Scalar, dict[int, Scalar]]:
        """A_cc and the rest of row c, which leave the matrix."""
        row = self._rows[c]
        self._rows[c] = {}
        for d in row:
            if d != c:
                del self._rows[d][c]
        return row.get(c, 0.0), {d: value for d, value in row.items() if d != c}


def forward_dynamics(
    tree: Tree,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    tau: Sequence[Scalar],
    plan: Plan,
    external: Mapping[int, Force] | None = None,
    added: Mapping[int, ArticulatedInertia] | None = None,
    added_armature: Sequence[Scalar] | None = None,
    rates: Sequence[Scalar] | None = None,
    weights: Sequence[Scalar] = (),
) -> Closed:
    """Accelerations and multipliers; for models in which every joint has its own coordinates.

    The plan's order must free the velocities of one joint together, children before parents. `added` and
    `added_armature` are those of `aba.forward_dynamics`; `rates` and `weights` those of `kkt.forward_dynamics`.
    """
    X = transforms(tree, q)
    moving = world_and_bodies(tree, X, q, v)
    effort = [minus(t, p) for t, p in zip(tau, passive_efforts(tree, q, v), strict=True)]
    sweep = Sweep(tree, X, q, plan, added, added_armature)
    for body in tree.bodies:
        own = needed_force(body.inertia, moving[body.index])
        sweep.wrench[body.index] = own - external[body.index] if external and body.index in external else own
    for c, row in enumerate(planned_rows(tree, X, q, v, moving, plan, weights)):
        sweep.right[c] = minus(0.0, row.rate if rates is None else rates[c])
        for body_index, column in row.wrenches.items():
            sweep.add_column(body_index, c, column)
    accelerations, x = _run(sweep, plan, effort)
    pivots = [sweep.pivots[c] for c in range(plan.conditions)]
    return Closed(accelerations, [minus(0.0, y) for y in x], pivots, sweep.inverse_D)


def _run(sweep: Sweep, plan: Plan, effort: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
    """Both passes: eliminate in the plan's order, and go back."""
    tree = sweep.tree
    owner = {body.v.start: body for body in tree.bodies}
    freed: set[int] = set()
    for unknown in plan.order:
        if unknown >= tree.nv:
            sweep.solve_condition(unknown - tree.nv)
            continue
        body = next(b for b in (owner.get(k) for k in range(unknown, -1, -1)) if b is not None)
        if body.index not in freed:
            freed.add(body.index)
            sweep.free_joint(body, effort[body.v])

    result: list[Scalar] = [0.0] * tree.nv
    x: list[Scalar] = [0.0] * plan.conditions
    motion: dict[int, Motion] = {WORLD: NO_MOTION}
    for step in reversed(sweep.done):
        if isinstance(step, SolvedCondition):
            value = minus(step.constant, motion[step.body].power(step.column))
            for d, share in step.shares.items():
                value = minus(value, product(share, x[d]))
            x[step.condition] = value
            continue
        body = step.body
        carried = NO_MOTION if body.parent == WORLD else sweep.X[body.index].motion_down(motion[body.parent])
        pivots = [
            Pivot(pivot.U_over_D, _less(pivot.u_over_D, shares, x))
            for pivot, shares in zip(step.pivots, step.shares, strict=True)
        ]
        rates, motion[body.index] = joint_acceleration(body, body.positions(sweep.q), pivots, carried)
        result[body.v] = rates
    return result, x


def _less(value: Scalar, shares: Mapping[int, Scalar], x: Sequence[Scalar]) -> Scalar:
    """value - Σ share x."""
    total: Scalar = 0.0
    for c, share in shares.items():
        total = plus(total, product(share, x[c]))
    return minus(value, total)
