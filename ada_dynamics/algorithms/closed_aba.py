# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics with loops by articulated bodies with constraint columns.

In addition to its inertia I^A and wrench P^A, a body has a column K_c for each constraint that acts on it: the wrench
of the constraint's multiplier. Elimination of a joint reduces the columns like the inertia, and couples the constraints
with each other through A. Elimination of a multiplier couples the bodies on which it acts by cross inertias X; a
multiplier that acts on one body only causes no coupling. Most multipliers are therefore eliminated when they act on one
body only. Where this would couple many constraints, as along two rails with rungs, some are eliminated earlier, which
keeps the cost linear in the length of the mechanism. With x = -λ, per body and constraint

    I^A a + Σ X_b a_b + P^A + Σ K_c x_c = F,    Σ K_c . a + Σ A_cd x_d = r_c.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from ada_dynamics.algorithms.aba import Eliminated, Pivot, articulated_bodies, eliminate_joint, joint_acceleration
from ada_dynamics.algorithms.kinematics import transforms, world_and_bodies
from ada_dynamics.algorithms.kkt import ConstrainedSolution, Plan, planned_rows
from ada_dynamics.algorithms.passive import passive_efforts
from ada_dynamics.algorithms.rnea import needed_force
from ada_dynamics.model.tree import WORLD, Body, Tree
from ada_dynamics.spatial.inertia import NO_CROSS_INERTIA, ArticulatedInertia, CrossInertia
from ada_dynamics.spatial.motion import NO_FORCE, NO_MOTION, Force, Motion
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import ZERO, Scalar, is_zero


class EliminatedJoint(NamedTuple):
    """An eliminated joint, for back-substitution.

    Its pivots, and per velocity K_c . S / D of the constraints on its body and X_b S / D of the bodies coupled to it.
    """

    body: Body
    pivots: tuple[Pivot, ...]
    shares: list[dict[int, Scalar]]
    far: list[dict[int, Force]]


class EliminatedMultiplier(NamedTuple):
    """An eliminated multiplier, for back-substitution: x_c = constant - Σ column . a(body) - Σ shares x_d."""

    condition: int
    columns: dict[int, Force]  # by body on which it acts
    constant: Scalar
    shares: dict[int, Scalar]


class Sweep:
    """The inward pass: current terms of bodies and constraints."""

    def __init__(
        self,
        tree: Tree,
        X: Sequence[Transform],
        q: Sequence[Scalar],
        count: int,
        added: Mapping[int, ArticulatedInertia] | None = None,
        added_armature: Sequence[Scalar] | None = None,
    ) -> None:
        """Initialize bodies and a number of constraints; for `added` terms see `aba.forward_dynamics`."""
        self.tree, self.X, self.q = tree, X, q
        self.inertia = articulated_bodies(tree, added)
        self.added_armature = added_armature
        self.wrench: list[Force] = [NO_FORCE] * len(tree.bodies)
        self.columns: list[dict[int, Force]] = [{} for _ in tree.bodies]
        self.cross: list[dict[int, CrossInertia]] = [{} for _ in tree.bodies]  # wrench here per acceleration there
        self.touched: list[set[int]] = [set() for _ in range(count)]  # bodies with a column, by constraint
        self.coupling = _Coupling(count)
        self.right: dict[int, Scalar] = {}
        self.pivots: dict[int, Scalar] = {}
        self.inverse_D: list[Scalar] = [0.0] * tree.nv
        self.done: list[EliminatedJoint | EliminatedMultiplier] = []

    # --- joints -------------------------------------------------------------------------------------------------
    def eliminate_joint_of(self, body: Body, effort: Sequence[Scalar]) -> None:
        """Eliminate the accelerations of a joint and add the reduced terms to its parent."""
        i, own = body.index, body.positions(self.q)
        rotors = None if self.added_armature is None else self.added_armature[body.v]
        free = eliminate_joint(body, own, effort, self.inertia[i], self.wrench[i], rotors)
        self.inverse_D[body.v] = free.inverse_D
        columns = self.columns[i]
        self.columns[i] = {}
        shares, far = self._reduce_columns(body, free, columns)
        self.done.append(EliminatedJoint(body, free.pivots, shares, far))
        for c in columns:
            self.touched[c].discard(i)
        coupled = {b: self.cross[b].pop(i) for b in self.cross[i]}  # wrench there per acceleration of this body
        self.cross[i] = {}
        if body.parent == WORLD:
            return
        X, p = self.X[i], body.parent
        self.inertia[p] = self.inertia[p] + X.to_parent(free.inertia)
        self.wrench[p] = self.wrench[p] + X.to_parent(free.wrench)
        for c, column in columns.items():
            self.add_column(p, c, X.to_parent(column))
        for b, inertia in coupled.items():
            if b == p:
                self.inertia[p] = self.inertia[p] + inertia.from_parent(X).with_transposed()
            else:
                self.cross[b][p] = self.cross[b].get(p, NO_CROSS_INERTIA) + inertia.from_parent(X)
                self.cross[p][b] = self.cross[b][p].T

    def add_column(self, i: int, c: int, column: Force) -> None:
        """Add a wrench of the multiplier of constraint c on body i."""
        self.columns[i][c] = self.columns[i].get(c, NO_FORCE) + column
        self.touched[c].add(i)

    def _reduce_columns(
        self, body: Body, free: Eliminated, columns: dict[int, Force]
    ) -> tuple[list[dict[int, Scalar]], list[dict[int, Force]]]:
        """K_c -= U (S.K_c)/D;  A_cd -= (S.K_c)(S.K_d)/D;  r_c -= (S.K_c) u/D, velocity by velocity."""
        all_shares, all_far = [], []
        subspace = body.joint.subspace(body.positions(self.q))
        for s, pivot, inverse_D in zip(subspace, free.pivots, free.inverse_D, strict=True):
            along = {c: s @ column for c, column in columns.items()}
            along = {c: k for c, k in along.items() if not is_zero(k)}
            shares = {c: k * inverse_D for c, k in along.items()}
            for c, k in along.items():
                columns[c] = columns[c] - k * pivot.U_over_D
                self.right[c] = self.right[c] - k * pivot.u_over_D
                for d, other in along.items():
                    if d >= c:
                        self.coupling.subtract(c, d, shares[c] * other)
            all_shares.append(shares)
            all_far.append(self._reduce_coupled(body.index, s, pivot, inverse_D, along))
        return all_shares, all_far

    # --- cross inertias -----------------------------------------------------------------------------------------
    def _less_outer(self, b: int, d: int, here: Force, there: Force) -> None:
        """Subtract here thereᵀ from the wrench on b per acceleration of d."""
        self.cross[b][d] = self.cross[b].get(d, NO_CROSS_INERTIA).less_outer(here, there)
        self.cross[d][b] = self.cross[b][d].T

    def _reduce_coupled(
        self, i: int, s: Motion, pivot: Pivot, inverse_D: Scalar, along: Mapping[int, Scalar]
    ) -> dict[int, Force]:
        """Eliminate one velocity of body i in the bodies b coupled to it, with U_b = X_b S in place of U."""
        felt = {b: self.cross[b][i] @ s for b in sorted(self.cross[i])}
        scaled = {b: inverse_D * U for b, U in felt.items()}
        for b, U in felt.items():
            self._less_outer(b, i, U, pivot.U_over_D)
            self.inertia[b] = self.inertia[b].less_outer(U, scaled[b])
            self.wrench[b] = self.wrench[b] + pivot.u_over_D * U
            for c, k in along.items():
                self.add_column(b, c, -k * scaled[b])
            for d in felt:
                if d > b:
                    self._less_outer(b, d, U, scaled[d])
        return scaled

    # --- conditions ---------------------------------------------------------------------------------------------
    def eliminate_multiplier(self, c: int) -> None:
        """Eliminate a multiplier; the bodies on which it acts are coupled afterwards."""
        columns = {b: self.columns[b].pop(c) for b in sorted(self.touched[c])}
        pivot, others = self.coupling.take(c)
        self.pivots[c] = -pivot
        inverse = 1.0 / pivot
        scaled = {b: inverse * column for b, column in columns.items()}
        right = self.right.pop(c)
        constant = right * inverse
        shares = {d: value * inverse for d, value in others.items()}
        for d, share in shares.items():
            self.right[d] = self.right[d] - share * right
            for e, value in others.items():
                if e >= d:
                    self.coupling.subtract(d, e, share * value)
        for b, column in columns.items():
            self.inertia[b] = self.inertia[b].less_outer(column, scaled[b])
            self.wrench[b] = self.wrench[b] + constant * column
            for d, share in shares.items():
                self.columns[b][d] = self.columns[b].get(d, NO_FORCE) - share * column
                self.touched[d].add(b)
            for other, there in scaled.items():
                if other > b:
                    self._less_outer(b, other, column, there)
        self.done.append(EliminatedMultiplier(c, scaled, constant, shares))


class _Coupling:
    """A: coupling of the constraints."""

    def __init__(self, conditions: int) -> None:
        self._rows: list[dict[int, Scalar]] = [{} for _ in range(conditions)]

    def subtract(self, c: int, d: int, value: Scalar) -> None:
        """Subtract from A_cd = A_dc."""
        if is_zero(value):
            return
        self._rows[c][d] = self._rows[d][c] = self._rows[c].get(d, 0.0) - value

    def diagonal(self, c: int) -> Scalar:
        """A_cc."""
        return self._rows[c].get(c, 0.0)

    def take(self, c: int) -> tuple[Scalar, dict[int, Scalar]]:
        """Remove row c; return A_cc and the other entries."""
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
) -> ConstrainedSolution:
    """Compute accelerations and multipliers; mimicking joints are not supported.

    The order of the plan must eliminate the velocities of one joint together, children before parents. `added` and
    `added_armature` are those of `aba.forward_dynamics`, `rates` and `weights` those of `kkt.forward_dynamics`.
    """
    X = transforms(tree, q)
    moving = world_and_bodies(tree, X, q, v)
    effort = [t - p for t, p in zip(tau, passive_efforts(tree, q, v), strict=True)]
    sweep = Sweep(tree, X, q, plan.constraint_count, added, added_armature)
    for body in tree.bodies:
        own = needed_force(body.inertia, moving[body.index])
        sweep.wrench[body.index] = own - external[body.index] if external and body.index in external else own
    for c, row in enumerate(planned_rows(tree, X, q, v, moving, plan, weights)):
        sweep.right[c] = -(row.rate if rates is None else rates[c])
        for body_index, column in row.wrenches.items():
            sweep.add_column(body_index, c, column)
    accelerations, x = _run(sweep, plan, effort)
    pivots = [sweep.pivots[c] for c in range(plan.constraint_count)]
    return ConstrainedSolution(accelerations, [-y for y in x], pivots, sweep.inverse_D)


def _run(sweep: Sweep, plan: Plan, effort: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
    """Eliminate in the order of the plan, then substitute backwards."""
    tree = sweep.tree
    owner = {body.v.start: body for body in tree.bodies}
    freed: set[int] = set()
    for unknown in plan.order:
        if unknown >= tree.nv:
            sweep.eliminate_multiplier(unknown - tree.nv)
            continue
        body = next(b for b in (owner.get(k) for k in range(unknown, -1, -1)) if b is not None)
        if body.index not in freed:
            freed.add(body.index)
            sweep.eliminate_joint_of(body, effort[body.v])

    result: list[Scalar] = [0.0] * tree.nv
    x: list[Scalar] = [0.0] * plan.constraint_count
    motion: dict[int, Motion] = {WORLD: NO_MOTION}
    for step in reversed(sweep.done):
        if isinstance(step, EliminatedMultiplier):
            value = step.constant
            for b, column in step.columns.items():
                value = value - motion[b] @ column
            for d, share in step.shares.items():
                value = value - share * x[d]
            x[step.condition] = value
            continue
        body = step.body
        carried = NO_MOTION if body.parent == WORLD else sweep.X[body.index].to_child(motion[body.parent])
        pivots = []
        for pivot, shares, far in zip(step.pivots, step.shares, step.far, strict=True):
            terms = chain((k * x[c] for c, k in shares.items()), (motion[b] @ column for b, column in far.items()))
            pivots.append(Pivot(pivot.U_over_D, pivot.u_over_D - sum(terms, ZERO)))
        rates, motion[body.index] = joint_acceleration(body, body.positions(sweep.q), pivots, carried)
        result[body.v] = rates
    return result, x
