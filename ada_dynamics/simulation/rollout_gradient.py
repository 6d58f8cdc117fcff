# SPDX-License-Identifier: Apache-2.0
"""Gradient of a scalar by the initial state and the torques of a trajectory: the discrete adjoint of its steps.

The points of all stages are stored, s + 1 states per step with the number of stages s of the method (one state for
semi_implicit), if they are no more than STORED numbers. Of a longer trajectory the states at the start of each row of
torques are stored, with a checkpoint after at most √N of N steps; the steps between two checkpoints are repeated in the
backward pass, which needs memory for (s + 1) √N states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.quantities import Quantity
from ada_dynamics.expr import Function, gradient
from ada_dynamics.jit.scalar import SINGLE
from ada_dynamics.simulation.context import SimulationContext, checked_start, closed_states
from ada_dynamics.simulation.derivatives import (
    LinearizedSteps,
    by_robust_system,
    derived_quantity,
    position_rate_blocks,
    require_derivatives,
    velocities_of,
)
from ada_dynamics.simulation.integrator import IntegrationError, KernelExecutor, padded
from ada_dynamics.simulation.methods import Method
from ada_dynamics.simulation.options import finite_array, whole_steps
from ada_dynamics.simulation.rollout import Rollout
from ada_dynamics.simulation.system import System
from ada_dynamics.spatial.vector import ZERO, Scalar

STORED = 2**21  # numbers in the points of all stages, 16 MiB
KEPT = 64  # minimum number of steps between two checkpoints


class TrajectoryGradient(NamedTuple):
    """Gradient of a scalar by the initial state and the torques of a trajectory."""

    dq: Array  # (nv,), per velocity
    dv: Array  # (nv,)
    du: Array  # (R, nv)


def rollout_vjp(
    context: SimulationContext, q: ArrayLike, v: ArrayLike | None, tau: ArrayLike, hold: int, t: float | None
) -> tuple[Rollout, Callable[..., TrajectoryGradient]]:
    """Implementation of `Simulation.rollout_vjp`."""
    model, count = context.system.model, whole_steps("hold", hold)
    require_derivatives(context)
    context.refuse_terminal_events()
    efforts, start = finite_array("tau", tau, ("R", model.nv)), checked_start(model, q, v)
    x = closed_states(model, context.system.dynamics, start[0][None], start[1][None])[0]
    found = by_robust_system(
        context.system, lambda system: RecordedTrajectory(context, system, x, efforts, count, context.time(t))
    )
    return Rollout(found.t, found.states[:, : model.nq].copy(), found.states[:, model.nq :].copy()), found.gradient


def adjoint_quantity(of: Quantity) -> Quantity:
    """Return [wᵀ ∂f/∂x; wᵀ ∂f/∂u] of [x; w] and u."""
    n, m = of.inputs["x"], of.inputs["u"]

    def results(function: Function) -> Sequence[Scalar]:
        x, u = function.graph.vector("x", 2 * n), function.graph.vector("u", m)
        (values,) = function.outputs.values()
        return gradient(sum((w * value for w, value in zip(x[n:], values, strict=True)), ZERO), [*x[:n], *u])

    return derived_quantity(of, f"{of.name}_against", {**of.inputs, "x": 2 * n}, n + m, results)


class AdjointExecutor(KernelExecutor):
    """Integration of one state with rows of inputs, and propagation of a gradient back through the steps."""

    def __init__(self, system: System, method: Method, x: Array, u: Array, h: float, hold: int, origin: float) -> None:
        """Initialize as a `KernelExecutor` of one state and fixed steps; each row of u (R, m) acts for `hold` steps."""
        super().__init__(system, method, x, u[0], h, origin)
        assert self._compiled is not None  # `require_derivatives`
        s = self.s
        self.inputs = padded(u.shape[1], self._compiled.lanes)
        self._table = np.concatenate([method.table(), method.backward_table()])
        self._work = np.zeros((method.stages + 7) * self._x.size + self.inputs)
        s.table, s.work = self._table.ctypes.data, self._work.ctypes.data
        s.inputs, s.hold = self.inputs, hold
        self.take_inputs(u)

    def take_inputs(self, u: Array) -> None:
        """Replace the rows of inputs."""
        self._u = np.ascontiguousarray(u)
        self.s.u, self.s.next_u = self._u.ctypes.data, self._u.shape[1] if len(u) > 1 else 0

    def adjoint(self, first: int, steps: int, by_x: Array, by_u: Array, added: Array) -> bool:
        """Propagate a gradient back through steps; return True if no kernel failed.

        Args:
            first: number of steps between the origin and the first of these.
            steps: number of steps.
            by_x: gradient by the state after the steps; replaced by that by the state before them.
            by_u: gradients by the rows of u, to which the result is added.
            added: direct gradients by the state before each row of u.
        """
        s = self.s
        s.first, s.steps, s.done = first, steps, 0
        s.by_x, s.by_u, s.added = by_x.ctypes.data, by_u.ctypes.data, added.ctypes.data
        self._backward(self._address)
        return bool(s.done == steps)

    @cached_property
    def _backward(self) -> Callable[[int], int]:
        """Compiled loop, a function of the address of its state."""
        assert self._compiled is not None
        rate, settle = self.system.step_kernels(self.method.is_direct, adjoint_quantity)
        self.s.pull = rate.native_address(SINGLE)
        self.s.pull_settle = None if settle is None else settle.native_address(SINGLE)
        return self._compiled.backward_direct if self.method.is_direct else self._compiled.backward_fixed


class RecordedTrajectory:
    """A trajectory by rows: the state at the start of each row of torques, and the last state."""

    def __init__(
        self, context: SimulationContext, system: System, start: Array, tau: Array, hold: int, t: float
    ) -> None:
        """Simulate the trajectory.

        Args:
            context: of the simulation.
            system: its system, or one with other solvers of the constraints.
            start: initial state.
            tau: rows of joint torques.
            hold: number of steps per row of torques.
            t: initial time [s].
        """
        self._steps, self.system, self.nv = LinearizedSteps(context, system), system, system.model.nv
        self._origin, self._h = t, context.step
        self.t: Array = t + hold * context.step * np.arange(len(tau) + 1, dtype=np.float64)  # of the states [s]
        equations = system.equations
        self._combination_inputs = (
            equations.combination_inputs
        )  # combinations of constraints in u, which may change with every step
        self._rows_each = hold if equations.combination_size else 1
        self._hold = hold // self._rows_each
        self._u = system.input_rows(start[None], tau[:1], self._h).repeat(len(tau) * self._rows_each, axis=0)
        self._u[:, : self.nv] = tau.repeat(self._rows_each, axis=0)
        self._executor = AdjointExecutor(system, context.method, start, self._u, context.step, self._hold, t)
        steps = len(self._u) * self._hold
        self._is_stored = steps * self._executor.points(1).size <= STORED
        self._apart = max(KEPT, steps if self._is_stored else isqrt(steps))
        self._points = self._executor.points(min(self._apart, steps))
        self._rows, self._checkpoints = self._advance(start)

    @property
    def states(self) -> Array:
        """States at the start of each row of torques, and at the end."""
        return self._rows[:: self._rows_each, : self.system.size]

    def gradient(self, by_q: ArrayLike | None = None, by_v: ArrayLike | None = None) -> TrajectoryGradient:
        """The vector-Jacobian product that `Simulation.rollout_vjp` returns."""
        weights, executor = self._weights(by_q, by_v), self._executor
        by_x, by_u = weights[-1].copy(), np.zeros((len(self._u), executor.inputs))
        end = len(self._u) * self._hold
        for first, state in reversed(self._checkpoints):
            executor.use_points(self._points)
            if not self._is_stored:
                executor.x = state
                executor.take_steps(first, end - first)
            if not executor.adjoint(first, end - first, by_x, by_u, weights):
                name = self.system.model.name
                raise IntegrationError(f"model {name!r}: the gradient of the trajectory is not finite.")
            end = first
        nq, x, dq = self.system.model.nq, by_x[: self.system.size], np.zeros(self.nv)
        for q, v, rates in position_rate_blocks(self._steps.tree, self.states[:1]):
            dq[v] = x[q] if rates is None else x[q] @ rates[0]
        return TrajectoryGradient(dq, x[nq:], by_u[:, : self.nv].reshape(-1, self._rows_each, self.nv).sum(axis=1))

    def _weights(self, by_q: ArrayLike | None, by_v: ArrayLike | None) -> Array:
        """Return the gradient by the numbers of each state, one row per stored row."""
        states, nv, nq = self.states, self.nv, self.system.model.nq
        given = np.zeros((len(states), 2 * nv))
        for name, weights, part in (("by_q", by_q, slice(nv)), ("by_v", by_v, slice(nv, None))):
            if weights is None:
                continue
            rows = finite_array(name, weights, (nv,), (len(states), nv))
            given[-1 if rows.ndim == 1 else slice(None), part] = rows
        found, weighted = np.zeros_like(self._rows), np.flatnonzero(given.any(axis=1))
        pulled = np.zeros((len(weighted), self.system.size))
        pulled[:, nq:] = given[weighted, nv:]
        for q, v, rates in position_rate_blocks(self._steps.tree, states[weighted]):
            own = given[weighted, v]
            pulled[:, q] = own if rates is None else (own[:, None] @ velocities_of(rates))[:, 0]
        found[weighted * self._rows_each, : self.system.size] = pulled
        return found

    # --- forward pass -------------------------------------------------------------------------------------------
    def _advance(self, start: Array) -> tuple[Array, list[tuple[int, Array]]]:
        """Return the rows, and checkpoints with the number of steps before them."""
        executor, hold = self._executor, self._hold
        rows = executor.rows(len(self._u) + 1)
        rows[0, : len(start)] = start
        size, together = len(start), max(1, self._apart // hold)  # rows from one checkpoint to the next
        checkpoints = []
        for row in range(0, len(self._u), together):
            until = min(row + together, len(self._u))
            checkpoints.append((row * hold, rows[row, :size]))
            if hold <= self._apart:
                self._advance_rows(row * hold, until * hold, rows[row + 1 :], hold)
                continue
            between = executor.rows(hold // self._apart)
            self._advance_rows(row * hold, until * hold, between, self._apart)
            firsts = range(row * hold + self._apart, until * hold, self._apart)
            checkpoints += [(first, state[:size]) for first, state in zip(firsts, between, strict=False)]
            rows[until, :size] = executor.x
        return rows, checkpoints

    def _advance_rows(self, first: int, until: int, rows: Array, every: int) -> None:
        """Advance to a step; if a kernel fails, select other combinations of constraints or raise the reason."""
        executor, done = self._executor, first
        while True:
            if self._is_stored:
                executor.use_points(self._points[done:])
            done += executor.take_steps(done, until - done, rows[(done - first) // every :], every)
            if done == until:
                return
            row, x = done // self._hold, executor.x
            now = self._u[row]
            better = self.system.input_rows(x[None], now[None, : self.nv], self._h)[0, self._combination_inputs]
            if np.array_equal(better, now[self._combination_inputs], equal_nan=True):
                time = np.array([self._origin + done * self._h])
                self._steps.raise_failure(x[None].copy(), now[None], 1, time, 0)
            self._u[row:, self._combination_inputs] = better
            executor.take_inputs(self._u)
