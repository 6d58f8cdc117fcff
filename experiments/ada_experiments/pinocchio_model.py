# SPDX-License-Identifier: Apache-2.0
"""Forward and inverse dynamics of a model by pinocchio, including loops and all joint types.

    other = PinocchioModel(model)
    difference = dyn.forward(q, v, tau) - other.forward(q, v, tau)

pinocchio is imported with the first model. Features that it lacks (loop joints other than those of
`pinocchio_loops.constraint`, mimic joints) are solved densely from its mass matrix, bias and frame motions.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.model import Model
from ada_experiments.pinocchio_loops import LoopConstraints, constraint
from ada_experiments.pinocchio_tree import PinocchioTree

RANK = 1e-9  # relative: smaller singular values of the constraint Jacobian are rounding errors
# The default of pinocchio requires independent constraints; three steps of this value are exact for dependent ones.
PROXIMAL = 1e-10
STEPS = 20
# Relative to the terms of the sums: constraintDynamics is wrong for an unexpected order of the joints.
BALANCE = 1e-8

ABA, CONSTRAINT_DYNAMICS, DENSE = "aba", "constraintDynamics", "dense"


class PinocchioModel(PinocchioTree):
    """A model with its loops in pinocchio. Vectors are in the coordinates of ada_dynamics.

    Attributes:
        loop_constraints: constraints of the loops, from poses.
        constraints: RigidConstraintModel of pinocchio by loop, or None.
    """

    def __init__(self, model: Model) -> None:
        """Build the model.

        Args:
            model: the mechanism.

        Raises:
            InputError: pinocchio is not installed.
        """
        super().__init__(model)
        self.loop_constraints = LoopConstraints(self)
        self.constraints = {loop.name: constraint(self, loop) for loop in model.loops.values()}

    @property
    def solvers(self) -> tuple[str, ...]:
        """Solvers available for `forward`, the default first."""
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
            q: configuration with closed loops, (nq,).
            v: velocities that satisfy the constraints, (nv,).
            tau: joint efforts, (nv,).
            external: wrench [fx, fy, fz, nx, ny, nz] by link, at its origin in its axes.
            solver: one of `solvers`; the first by default.

        Raises:
            InputError: an argument is invalid, or the result is not finite or does not solve the equations.
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
                f"pinocchio ({chosen}) returns no finite acceleration of model {self.ours.name!r} in this state: its "
                "mass matrix is singular, or an argument is not finite.",
                field="q",
                value=q,
            )
        return a

    def inverse(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, external: Mapping[str, ArrayLike] | None = None
    ) -> Array:
        """Joint efforts of the tree for given accelerations, without constraint forces; arguments as above."""
        q, v = self.ours.as_positions(q), self.ours.as_velocities(v)
        rate = self.velocity(self.ours.as_velocities(a, "a"))
        w = self.velocity(v)
        u = self.pin.rnea(self.model, self.data, self.position(q), w, rate) + self.passive(q, w)
        return self.own_effort(u) - self.pull(q, external)

    def new_constraints(self) -> tuple[Any, Any]:
        """Constraint models of all loop joints, and their new data; initializes `data` for them.

        Raises:
            InputError: pinocchio has no constraint for a loop joint.
        """
        lacking = [name for name, made in self.constraints.items() if made is None]
        if lacking:
            kind = self.ours.loops[lacking[0]].kind
            text = (
                f"pinocchio has no constraint for the loop {lacking[0]!r} of model {self.ours.name!r}, a {kind} joint; "
                "it supports fixed, spherical, and, for planar loops, revolute joints. Use solver='dense'."
            )
            raise InputError(text, loop=lacking[0], field="kind", value=kind)
        models, datas = self.pin.StdVec_RigidConstraintModel(), self.pin.StdVec_RigidConstraintData()
        for made in self.constraints.values():
            models.append(made)
            datas.append(made.createData())
        self.pin.initConstraintDynamics(self.model, self.data, models, datas)
        return models, datas

    # --- solvers ----------------------------------------------------------------------------------------------------
    def _by_aba(self, q: Array, v: Array, load: Array) -> Array:
        w = self.velocity(v)
        u = self.effort(load) - self.passive(q, w)
        return self.own_velocity(self.pin.aba(self.model, self.data, self.position(q), w, u))

    @cached_property
    def _own_constraints(self) -> tuple[Any, Any]:
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
            text = (
                f"pinocchio's constraintDynamics does not solve the equations of model {self.ours.name!r} in this "
                f"state (relative error {worst:.1e}): the configuration may be singular, or the velocities violate the "
                "constraints. Project them onto the constraints, or use solver='dense'."
            )
            raise InputError(text, field="solver", value=CONSTRAINT_DYNAMICS, allowed=(DENSE,))
        return a

    def _loop_efforts(self, q: Array, models: Any, datas: Any) -> Array:
        """Jᵀ λ of the last solution."""
        multipliers = self.data.lambda_c.copy()
        J = self.pin.getConstraintsJacobian(self.model, self.data, models, datas)
        return self.own_effort(J.T @ multipliers)

    def imbalance(self, q: Array, v: Array, load: Array, a: Array, loop_efforts: Array) -> float:
        """Residuals of M a + h = τ + Jᵀλ and J a + γ = 0, relative to their terms."""
        M, h = self.mass_matrix(q), self.bias(q, v)
        J, gamma = self.loop_constraints.jacobian(q), self.loop_constraints.gamma(q, v)
        efforts = np.abs(M) @ np.abs(a) + np.abs(h) + np.abs(load) + np.abs(loop_efforts)
        # includes the accelerations by the efforts: in balance, accelerations are rounding errors
        accelerations = np.abs(J) @ (np.abs(a) + efforts / np.diag(M)) + np.abs(gamma)
        return max(_share(M @ a + h - load - loop_efforts, efforts), _share(J @ a + gamma, accelerations))

    def _dense(self, q: Array, v: Array, load: Array) -> Array:
        """Null-space method: a = a₀ + N z with J a₀ = -γ and J N = 0 eliminates λ.

        Only the mass matrix of the free motions must be regular; redundant constraints are allowed.
        """
        M, r = self.mass_matrix(q), load - self.bias(q, v)
        if not self.ours.loops:
            return _solved(M, r)
        U, sizes, Vt = np.linalg.svd(self.loop_constraints.jacobian(q))
        rank = int(np.sum(sizes > RANK * self.loop_constraints.scale(q)))
        N = Vt[rank:].T
        a0 = -Vt[:rank].T @ ((U[:, :rank].T @ self.loop_constraints.gamma(q, v)) / sizes[:rank])
        a: Array = a0 + N @ _solved(N.T @ M @ N, N.T @ (r - M @ a0))
        return a


def _share(difference: Array, terms: Array) -> float:
    return float(np.max(np.abs(difference), initial=0.0) / np.max(terms, initial=1e-300))


def _solved(M: Array, r: Array) -> Array:
    """M⁻¹ r, or NaN for a singular matrix."""
    try:
        return np.asarray(np.linalg.solve(M, r), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full(len(r), np.nan)
