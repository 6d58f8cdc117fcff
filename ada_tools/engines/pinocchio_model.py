# SPDX-License-Identifier: Apache-2.0
"""A model in pinocchio: forward and inverse dynamics by another engine, loops and all joint types included.

    other = PinocchioModel(model)
    difference = dyn.forward(q, v, tau) - other.forward(q, v, tau)

pinocchio is imported when the first model is made. What it cannot do by itself (loop joints other than those of
`pinocchio_loops.constraint`, joints that mimic others) is solved densely from its mass matrix, bias and frame motions.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.model import Model
from ada_tools.engines.pinocchio_loops import LoopConditions, constraint
from ada_tools.engines.pinocchio_tree import PinocchioTree

RANK = 1e-9  # relative: smaller singular values of the loop conditions are rounding
# pinocchio's default is for independent conditions; in three steps this is exact to rounding for dependent ones, too.
PROXIMAL = 1e-10
STEPS = 20
# Of what is added up: constraintDynamics is silently wrong where the joints' order is not what it expects.
BALANCE = 1e-8

ABA, CONSTRAINT_DYNAMICS, DENSE = "aba", "constraintDynamics", "dense"


class Constraints(NamedTuple):
    """Loop joints as pinocchio wants them."""

    models: Any
    datas: Any


class PinocchioModel(PinocchioTree):
    """A model with its loops in pinocchio; methods take and return our vectors.

    Attributes:
        conditions: of the loops, from poses.
        constraints: by loop, pinocchio's RigidConstraintModel, or None where it has none.
    """

    def __init__(self, model: Model) -> None:
        """Build it.

        Args:
            model: the mechanism.

        Raises:
            InputError: pinocchio is not installed.
        """
        super().__init__(model)
        self.conditions = LoopConditions(self)
        self.constraints = {loop.name: constraint(self, loop) for loop in model.loops.values()}

    @property
    def solvers(self) -> tuple[str, ...]:
        """The solvers that `forward` can use, the default first."""
        if self.ours.has_mimics:
            return (DENSE,)
        if not self.ours.loops:
            return (ABA, DENSE)
        return (DENSE,) if None in self.constraints.values() else (CONSTRAINT_DYNAMICS, DENSE)

    def forward(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        external: Mapping[str, ArrayLike] | None = None,
        solver: str | None = None,
    ) -> Array:
        """Joint accelerations.

        Args:
            q: positions, which close the loops.
            v: velocities, which keep them closed.
            tau: joint efforts.
            external: wrench [fx, fy, fz, nx, ny, nz] on a link, about its origin, in its axes.
            solver: one of `solvers`; the first of them by default.

        Raises:
            InputError: an argument is unusable, or the result is not finite or does not solve the equations.
        """
        q, v = self.ours.as_positions(q), self.ours.as_velocities(v)
        load = self.ours.as_velocities(tau, "tau") + self.pull(q, external)
        chosen = solver or self.solvers[0]
        if chosen not in self.solvers:
            raise unknown_name(f"solver for model {self.ours.name!r} in pinocchio", chosen, self.solvers)
        solve = {ABA: self._by_aba, CONSTRAINT_DYNAMICS: self._by_constraint_dynamics, DENSE: self._dense}[chosen]
        a = solve(q, v, load)
        if not np.isfinite(a).all():
            raise InputError(
                f"pinocchio ({chosen}) gives no finite acceleration of model {self.ours.name!r} in this state: its "
                "mass matrix is singular here, or an argument is not finite.",
                field="q",
                value=q,
            )
        return a

    def inverse(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, external: Mapping[str, ArrayLike] | None = None
    ) -> Array:
        """Joint efforts that give the tree these accelerations while its loops carry nothing; arguments as above."""
        q, v = self.ours.as_positions(q), self.ours.as_velocities(v)
        rate = self.velocity(self.ours.as_velocities(a, "a"))
        w = self.velocity(v)
        u = self.pin.rnea(self.model, self.data, self.position(q), w, rate) + self.passive(q, w)
        return self.own_effort(u) - self.pull(q, external)

    def new_constraints(self) -> Constraints:
        """All loop joints, each call with working memory of its own; `data` is made ready for them.

        Raises:
            InputError: pinocchio has no constraint for one of them.
        """
        lacking = [name for name, made in self.constraints.items() if made is None]
        if lacking:
            kind = self.ours.loops[lacking[0]].kind
            raise InputError(
                f"pinocchio has no constraint for the loop {lacking[0]!r} of model {self.ours.name!r}, a {kind} joint; "
                "it has fixed, spherical, and, where the loop moves in a plane, revolute ones. Use solver='dense'.",
                loop=lacking[0],
                field="kind",
                value=kind,
            )
        models, datas = self.pin.StdVec_RigidConstraintModel(), self.pin.StdVec_RigidConstraintData()
        for made in self.constraints.values():
            models.append(made)
            datas.append(made.createData())
        self.pin.initConstraintDynamics(self.model, self.data, models, datas)
        return Constraints(models, datas)

    # --- solvers ----------------------------------------------------------------------------------------------------
    def _by_aba(self, q: Array, v: Array, load: Array) -> Array:
        w = self.velocity(v)
        u = self.effort(load) - self.passive(q, w)
        return self.own_velocity(self.pin.aba(self.model, self.data, self.position(q), w, u))

    @cached_property
    def _own_constraints(self) -> Constraints:
        return self.new_constraints()

    def _by_constraint_dynamics(self, q: Array, v: Array, load: Array) -> Array:
        models, datas = self._own_constraints
        w = self.velocity(v)
        u = self.effort(load) - self.passive(q, w)
        settings = self.pin.ProximalSettings(1e-14, PROXIMAL, STEPS)
        found = self.pin.constraintDynamics(self.model, self.data, self.position(q), w, u, models, datas, settings)
        a = self.own_velocity(found)
        worst = self.imbalance(q, v, load, a, self._loop_efforts(q, models, datas))
        if not worst < BALANCE:
            raise InputError(
                f"pinocchio's constraintDynamics does not solve the equations of model {self.ours.name!r} in this "
                f"state (off by {worst:.1e} of their size): the pose may be singular, or the velocities open the "
                "loops. Close them with Dynamics.project, or use solver='dense'.",
                field="solver",
                value=CONSTRAINT_DYNAMICS,
                allowed=(DENSE,),
            )
        return a

    def _loop_efforts(self, q: Array, models: Any, datas: Any) -> Array:
        """Jᵀ λ of the solution just found."""
        multipliers = self.data.lambda_c.copy()
        J = self.pin.getConstraintsJacobian(self.model, self.data, models, datas)
        return self.own_effort(J.T @ multipliers)

    def imbalance(self, q: Array, v: Array, load: Array, a: Array, loop_efforts: Array) -> float:
        """How far M a + h = τ + Jᵀλ and J a + γ = 0 are from holding, relative to the size of their terms."""
        M, h = self.mass_matrix(q), self.bias(q, v)
        J, gamma = self.conditions.jacobian(q), self.conditions.gamma(q, v)
        efforts = np.abs(M) @ np.abs(a) + np.abs(h) + np.abs(load) + np.abs(loop_efforts)
        # What the efforts could do: in balance, the accelerations are rounding themselves.
        accelerations = np.abs(J) @ (np.abs(a) + efforts / np.diag(M)) + np.abs(gamma)
        return max(_share(M @ a + h - load - loop_efforts, efforts), _share(J @ a + gamma, accelerations))

    def _dense(self, q: Array, v: Array, load: Array) -> Array:
        """By the motions that the loops leave free: a = a₀ + N z, with J a₀ = -γ and J N = 0, so that λ drops out.

        The mass matrix need not be regular, only that of the free motions; dependent conditions do no harm.
        """
        M, r = self.mass_matrix(q), load - self.bias(q, v)
        if not self.ours.loops:
            return _solved(M, r)
        U, sizes, Vt = np.linalg.svd(self.conditions.jacobian(q))
        rank = int(np.sum(sizes > RANK * self.conditions.scale(q)))
        N = Vt[rank:].T
        a0 = -Vt[:rank].T @ ((U[:, :rank].T @ self.conditions.gamma(q, v)) / sizes[:rank])
        a: Array = a0 + N @ _solved(N.T @ M @ N, N.T @ (r - M @ a0))
        return a


def _share(difference: Array, terms: Array) -> float:
    return float(np.max(np.abs(difference), initial=0.0) / np.max(terms, initial=1e-300))


def _solved(M: Array, r: Array) -> Array:
    """M⁻¹ r, or nothing finite."""
    try:
        return np.asarray(np.linalg.solve(M, r), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full(len(r), np.nan)
