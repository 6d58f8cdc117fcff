# SPDX-License-Identifier: Apache-2.0
"""Linearization of the steps of a simulation, for batches of states and directions."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.coordinates import TREE, Coordinates
from ada_dynamics.dynamics.arguments import as_array, common_batch
from ada_dynamics.dynamics.constraint_queries import state_map_and_nearness, warn_if_digits_are_lost
from ada_dynamics.errors import InputError, SingularConfigurationError
from ada_dynamics.model.joints import JointType
from ada_dynamics.model.tree import Body, Tree
from ada_dynamics.simulation.context import SimulationContext, closed_states
from ada_dynamics.simulation.differentiation import ParametricSystem, adjoint_quantity, tangent_quantity
from ada_dynamics.simulation.executors import IntegrationError, KernelExecutor, StepKernels
from ada_dynamics.simulation.integrator import Integrator
from ada_dynamics.simulation.methods import METHODS


class StateTangents:
    """Tangent spaces of the states x = [q; v] of a mechanism."""

    def __init__(self, tree: Tree) -> None:
        """Initialize the tangent spaces.

        Args:
            tree: the mechanism.
        """
        self._tree = tree
        own = [body for body in tree.bodies if body.is_independent]
        self._turned = [body for body in own if type(body.joint).position_rate is not JointType.position_rate]
        # dq = d_q of all other joints
        self._plain = [
            (i, j)
            for body in own
            if body not in self._turned
            for i, j in zip(range(body.q.start, body.q.stop), range(body.v.start, body.v.stop), strict=True)
        ]

    def basis(self, X: Array) -> Array:
        """Return E of dx = E [d_q; d_v], (N, nq + nv, 2 nv), for rows of states; d_q is a velocity."""
        E = self._of_plain(len(X))
        for body in self._turned:
            E[:, body.q, body.v] = self._block(body, X)
        return E

    def inverse(self, X: Array) -> Array:
        """Return E⁻ of [d_q; d_v] = E⁻ dx, (N, 2 nv, nq + nv), for differentials on the manifold."""
        inverse = self._of_plain(len(X)).swapaxes(-1, -2)
        for body in self._turned:
            block = self._block(body, X)
            turned = block.swapaxes(-1, -2)
            inverse[:, body.v, body.q] = np.linalg.solve(turned @ block, turned)
        return inverse

    def _of_plain(self, count: int) -> Array:
        nq, nv = self._tree.nq, self._tree.nv
        E = np.zeros((count, nq + nv, 2 * nv))
        E[:, nq:, nv:] = np.eye(nv)
        for i, j in self._plain:
            E[:, i, j] = 1.0
        return E

    def _block(self, body: Body, X: Array) -> Array:
        """Return q̇ of a joint for each unit velocity, (N, nq, nv)."""
        q = list(X[:, body.q].T)
        block = np.zeros((len(X), body.joint.nq, body.joint.nv))
        for j, unit in enumerate(np.eye(body.joint.nv).tolist()):
            for i, rate in enumerate(body.joint.position_rate(q, unit)):
                block[:, i, j] = rate
        return block


BLOCK_SIZE = 512  # states times directions per block


class LinearMap(NamedTuple):
    """Steps of N states, linearized: d⁺ = A d + B dτ + P dp with d = [d_q; d_v]."""

    after: Array  # (N, n)
    A: Array  # (N, 2 nv, 2 nv)
    B: Array  # (N, 2 nv, nv)
    P: Array  # (N, 2 nv, parameters)

    def then(self, later: LinearMap) -> LinearMap:
        """Return the composition with later steps that have the same torques and parameters."""
        B, P = (later.A @ first + more for first, more in ((self.B, later.B), (self.P, later.P)))
        return LinearMap(later.after, later.A @ self.A, B, P)


class LinearizedSteps:
    """Steps of a simulation with constant torques, and their derivatives."""

    def __init__(self, context: SimulationContext, parameters: tuple[str, ...] = ()) -> None:
        """Initialize the steps; simulations whose steps have no derivatives are rejected.

        Args:
            context: context of a simulation.
            parameters: names of parameters of the model.
        """
        self.system, self.method, self.h = context.system, context.method, context.step
        self.model, self.tangents = context.system.model, StateTangents(context.system.equations.tree)
        self._tau, self._depends_on_time = context.tau, context.law is not None
        self._check_differentiable(context)
        self.parameters, self._context = parameters, context
        self._source = ParametricSystem(context.system, parameters) if parameters else context.system

    def _check_differentiable(self, context: SimulationContext) -> None:
        if self.method.is_adaptive:
            fixed = ", ".join(name for name, one in METHODS.items() if not one.is_adaptive)
            raise InputError(
                f"integrator {self.method.name!r} has adaptive steps, which are not a smooth function of the state; "
                f"use {fixed} for derivatives.",
                field="integrator",
                value=self.method.name,
                allowed=tuple(name for name, one in METHODS.items() if not one.is_adaptive),
            )
        if context.inputs.changes:
            raise InputError(
                "derivatives need given joint torques, or a CompiledController without a control period; sampled "
                "controllers, servos and external wrenches over time are not differentiated."
            )
        if not self.system.has_own_code:
            raise InputError(
                f"model {self.model.name!r} is too large for derivatives of its simulation, or its loops need the "
                "rank-revealing solver."
            )

    @cached_property
    def robust(self) -> LinearizedSteps | None:
        """The same steps with kernels that fail only in singular configurations; None if there are no others."""
        system = self.system.robust()
        return None if system is None else LinearizedSteps(replace(self._context, system=system), self.parameters)

    # --- kernels ------------------------------------------------------------------------------------------------
    @cached_property
    def forward(self) -> StepKernels:
        """Kernels of the steps."""
        return StepKernels.of(self.system, self.method)

    @cached_property
    def tangent(self) -> StepKernels:
        """Kernels of the steps and their directional derivatives."""
        return StepKernels.of(self._source, self.method, tangent_quantity)

    @cached_property
    def backward(self) -> StepKernels:
        """Kernels of the steps and their vector-Jacobian products."""
        back = StepKernels.of(self._source, self.method, adjoint_quantity)
        return replace(StepKernels.of(self._source, self.method), pull=back.rate, pull_settle=back.settle)

    # --- arguments ----------------------------------------------------------------------------------------------
    def states(self, q: ArrayLike, v: ArrayLike | None, tau: ArrayLike | None) -> tuple[Array, Array, bool]:
        """Return rows of states on the constraint manifold, rows of torques, and True if the arguments are batches."""
        given = {
            "q": as_array("q", q, self.model.nq, self.model),
            "v": as_array("v", np.zeros(self.model.nv) if v is None else v, self.model.nv, self.model),
            "tau": as_array("tau", self._tau if tau is None else tau, self.model.nv, self.model),
        }
        (Q, V, efforts), is_batch = common_batch(given)
        X = closed_states(self.model, self.system.dynamics, *map(np.atleast_2d, (Q, V)))
        return X, np.atleast_2d(self.finite_efforts(efforts)), is_batch

    def finite_efforts(self, tau: Array) -> Array:
        """Return the torques after a check."""
        if not np.isfinite(tau).all():
            raise InputError(f"tau{np.argwhere(~np.isfinite(tau))[0].tolist()} is not finite.")
        return tau

    def inputs(self, X: Array, tau: Array) -> Array:
        """Return rows of u and of parameter changes, with combinations of redundant constraints for the states."""
        unchanged = np.zeros(len(self.parameters))
        U = np.array([[*self.system.inputs(one, h=self.h), *unchanged] for one in tau])
        chosen = self.system.chosen(X)
        if chosen is not None:
            U[:, self.system.equations.chosen] = chosen
        return U

    def rate(self, x: Array, tau: Array, t: float) -> Array:
        """Return ẋ of one state by the equations of motion, for any integrator.

        Raises:
            SingularConfigurationError: the configuration is singular.
        """
        found, status = self.system.rate.single_status(
            x, self.without_parameters(self.inputs(x[None], tau))[0], np.array([t])
        )
        if status:
            self._raise_failure(x, self.inputs(x[None], tau)[0], t, 0, "")
        return np.asarray(found)

    def without_parameters(self, U: Array) -> Array:
        """Return rows of u without parameter changes."""
        return U[:, : self.system.equations.input_size]

    # --- derivatives --------------------------------------------------------------------------------------------
    def derivatives(self, X: Array, U: Array, steps: int, t: float, since: int = 0) -> LinearMap:
        """Linearize a number of steps of each state; row i starts `since` i steps after t."""
        if self.system.equations.following and steps > 1:  # combinations may change between the steps
            found = self.derivatives(X, U, 1, t, since)
            for step in range(1, steps):
                U = self.inputs(found.after, U[:, : self.model.nv])
                found = found.then(self.derivatives(found.after, U, 1, t + step * self.h, since))
            return found
        if self._depends_on_time and since and len(X) > 1:
            starts = zip(X[:, None], U[:, None], strict=True)
            rows = [self._linear(x, u, steps, t + i * since * self.h) for i, (x, u) in enumerate(starts)]
            return LinearMap(*map(np.concatenate, zip(*rows, strict=True)))
        return self._linear(X, U, steps, t)

    def by_coordinates(self, X: Array, found: LinearMap, coordinates: Coordinates) -> LinearMap:
        """Transform derivatives at the states X from coordinates of the tree to other coordinates."""
        if coordinates == TREE:
            return found
        dynamics, nq, kept = self.system.dynamics, self.model.nq, self.kept(coordinates)
        q, v = map(np.ascontiguousarray, np.split(X, [nq], axis=1))
        changes, is_near = state_map_and_nearness(dynamics.constraints, q, v, coordinates)

        A = found.A[:, kept] @ changes

        def result(i: int, q: Array) -> tuple[Array]:
            return (found.A[i][kept] @ dynamics.constraints.state_map(q, v[i], coordinates),)

        if is_near.any():
            warn_if_digits_are_lost(dynamics.constraints, "derivatives of steps", q, is_near, (A,), result)
        return LinearMap(found.after, A, found.B[:, kept], found.P[:, kept])

    def kept(self, coordinates: Coordinates) -> list[int]:
        """Return the indices of the coordinates in [d_q; d_v]."""
        nv = self.model.nv
        if coordinates == TREE:
            return list(range(2 * nv))
        own = self.system.dynamics.constraints.indices(coordinates)
        return [*own, *(nv + j for j in own)]

    def changes(self, X: Array, coordinates: Coordinates) -> Array:
        """Return the derivative of all coordinates with respect to the selected ones at the states X."""
        nq, nv = self.model.nq, self.model.nv
        if coordinates == TREE:
            return np.broadcast_to(np.eye(2 * nv), (len(X), 2 * nv, 2 * nv))
        return self.system.dynamics.constraints.state_map(
            np.ascontiguousarray(X[:, :nq]), np.ascontiguousarray(X[:, nq:]), coordinates
        )

    def _linear(self, X: Array, U: Array, steps: int, t: float) -> LinearMap:
        directions = 3 * self.model.nv + len(self.parameters)
        together = max(1, BLOCK_SIZE // directions)
        parts = []
        for begin in range(0, len(X), together):
            block = slice(begin, begin + together)
            parts.append(self._advance_directions(X[block], U[block], steps, t, begin))
        after, changes = (np.concatenate(part) for part in zip(*parts, strict=True))
        found = self.tangents.inverse(after) @ changes
        return LinearMap(after, *np.split(found, [2 * self.model.nv, 3 * self.model.nv], axis=-1))

    def _advance_directions(self, X: Array, U: Array, steps: int, t: float, begin: int) -> tuple[Array, Array]:
        """Return the states after some steps and their derivatives in each direction, (N, n, directions)."""
        n, nv, (N, m) = self.system.size, self.model.nv, U.shape
        P = len(self.parameters)
        directions = 3 * nv + P
        dX, dU = np.zeros((N, n, directions)), np.zeros((N, m, directions))
        dX[:, :, : 2 * nv] = self.tangents.basis(X)
        dU[:, :nv, 2 * nv : 3 * nv] = np.eye(nv)
        dU[:, m - P :, 3 * nv :] = np.eye(P)
        x, u = (
            np.concatenate([np.repeat(one.T, directions, axis=1), d.transpose(1, 0, 2).reshape(-1, N * directions)])
            for one, d in ((X, dX), (U, dU))
        )
        executor = KernelExecutor(self.tangent, self.method, x, u[None], self.h, origin=t)
        if executor.advance(0, steps) < steps:
            self.raise_failure(X, U, steps, t, begin=begin)
        after = executor.x
        return after[:n, ::directions].T, after[n:].reshape(n, N, directions).transpose(1, 0, 2)

    def raise_failure(self, X: Array, U: Array, steps: int, t: float, first: int = 0, begin: int = 0) -> NoReturn:
        """Raise the reason for which kernels failed within steps from one of these states, `first` steps after t.

        Raises:
            SingularConfigurationError: the configuration is singular.
            IntegrationError: the integration cannot continue, or its step has no derivative.
        """
        for i, (x, u) in enumerate(zip(X, U, strict=True)):
            executor = KernelExecutor(self.forward, self.method, x, self.without_parameters(u[None]), self.h, origin=t)
            done = executor.advance(first, steps)
            if done < steps:
                self._raise_failure(
                    executor.x, u, t, first + done, f"state {begin + i}: " if begin + len(X) > 1 else ""
                )
        raise IntegrationError(f"model {self.model.name!r}: the derivatives of the simulation are not finite.")

    def _raise_failure(self, x: Array, u: Array, t: float, step: int, where: str) -> NoReturn:
        q, v, when = x[: self.model.nq], x[self.model.nq :], f"step {step} (t = {t + step * self.h:.6g} s)"
        try:
            self.system.dynamics.forward_derivatives(q, v, u[: self.model.nv])
        except SingularConfigurationError as problem:
            raise SingularConfigurationError(f"{where}{when}: {problem}") from None
        integrator = Integrator(self.system, self.method)
        integrator.restart(x)
        integrator.u = self.without_parameters(u[None])[0]
        integrator.advance(t, step, 1, self.h, 0)  # which explains what is not finite
        raise SingularConfigurationError(
            f"{where}model {self.model.name!r} passes close to a singular configuration in {when}; the step has no "
            "derivatives. Use another trajectory, or shorter steps."
        )
