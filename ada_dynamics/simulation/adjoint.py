# SPDX-License-Identifier: Apache-2.0
"""Discrete adjoint of a trajectory with given torques.

The states at the start of each row of torques are stored, with a checkpoint after at most √N of N steps; the steps
between two checkpoints are repeated in the backward pass. In addition to its rows a trajectory needs memory for
(s + 3) √N states, with the number of stages s of the method (2 for semi_implicit).
"""

from __future__ import annotations

from functools import reduce
from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.simulation.executors import IntegrationError, KernelExecutor, StepKernels
from ada_dynamics.simulation.linearization import LinearizedSteps, LinearMap

KEPT = 64  # minimum number of steps between two checkpoints


class TrajectoryGradient(NamedTuple):
    """Gradient of a scalar with respect to the initial state, the torques and the parameters of a trajectory."""

    dq: Array  # (nv,), per velocity
    dv: Array  # (nv,)
    du: Array  # (R, nv)
    dp: Array  # (parameters,)


class RecordedTrajectory:
    """A trajectory by rows: the state at the start of each row of torques, and the last state."""

    def __init__(self, steps: LinearizedSteps, start: Array, tau: Array, hold: int, t: float) -> None:
        """Simulate the trajectory.

        Args:
            steps: steps of the simulation.
            start: initial state.
            tau: rows of joint torques.
            hold: number of steps per row of torques.
            t: initial time [s].
        """
        self._steps, self._origin = steps, t
        self.t: Array = t + hold * steps.h * np.arange(len(tau) + 1, dtype=np.float64)  # of the states [s]
        self._chosen = steps.system.equations.chosen  # combinations in u, which may change with every step
        self._rows_each = hold if steps.system.equations.following else 1
        self._hold = hold // self._rows_each
        self._u = steps.inputs(start[None], tau[:1]).repeat(len(tau) * self._rows_each, axis=0)
        self._u[:, : steps.model.nv] = tau.repeat(self._rows_each, axis=0)
        self._apart = max(KEPT, isqrt(len(self._u) * self._hold))
        self._rows, self._checkpoints = self._advance(start)

    @property
    def states(self) -> Array:
        """States at the start of each row of torques, and at the end."""
        return self._rows[:: self._rows_each, : self._steps.system.size]

    def linear(self) -> LinearMap:
        """Return the linear map from row to row."""
        own, each = self._steps, self._rows_each
        found = own.derivatives(self._rows[:-1, : own.system.size], self._u, self._hold, self._origin, self._hold)
        parts = [LinearMap(*(x[i::each] for x in found)) for i in range(each)]
        return reduce(LinearMap.then, parts)

    def gradient(self, by_q: ArrayLike | None = None, by_v: ArrayLike | None = None) -> TrajectoryGradient:
        """Implementation of the `pull` of `SimulationDerivatives.rollout_vjp`."""
        own, nv = self._steps, self._steps.model.nv
        weights = self._weights(by_q, by_v)
        executor, by_x = self._executor(own.backward, self._u), weights[-1].copy()
        by_u = np.zeros((len(self._u), executor.inputs))
        end = len(self._u) * self._hold
        for first, state in reversed(self._checkpoints):
            executor.x = state
            added = np.zeros((end - first, *by_x.shape))
            here = range(-(-first // self._hold), -(-end // self._hold))
            added[[row * self._hold - first for row in here]] = weights[here.start : here.stop]
            if not executor.adjoint(first, end - first, by_x, by_u, added):
                raise IntegrationError(f"model {own.model.name!r}: the gradient of the trajectory is not finite.")
            end = first
        dq, dv = np.split(own.tangents.basis(self.states[:1])[0].T @ by_x[: own.system.size], 2)
        du = by_u[:, :nv].reshape(-1, self._rows_each, nv).sum(axis=1)
        return TrajectoryGradient(dq, dv, du, by_u[:, own.system.equations.input_size : self._u.shape[1]].sum(axis=0))

    def _weights(self, by_q: ArrayLike | None, by_v: ArrayLike | None) -> Array:
        """Return the gradient with respect to the numbers of each state, one row per stored row."""
        own, states, nv = self._steps, self.states, self._steps.model.nv
        given = np.zeros((len(states), 2 * nv))
        for name, weights, part in (("by_q", by_q, slice(nv)), ("by_v", by_v, slice(nv, None))):
            if weights is None:
                continue
            rows = np.asarray(weights, dtype=np.float64)
            if rows.shape not in ((nv,), (len(states), nv)) or not np.isfinite(rows).all():
                raise InputError(
                    f"{name} has shape {rows.shape}; it must be ({nv},) for the last row, or ({len(states)}, {nv}), "
                    "all finite.",
                    field=name,
                )
            given[-1 if rows.ndim == 1 else slice(None), part] = rows
        found, weighted = np.zeros_like(self._rows), np.flatnonzero(given.any(axis=1))
        inverse = own.tangents.inverse(states[weighted])
        pulled = (inverse.swapaxes(-1, -2) @ given[weighted, :, None])[..., 0]
        found[weighted * self._rows_each, : own.system.size] = pulled
        return found

    # --- forward pass -------------------------------------------------------------------------------------------
    def _advance(self, start: Array) -> tuple[Array, list[tuple[int, Array]]]:
        """Return the rows, and checkpoints with the number of steps before them."""
        executor, hold = self._executor(self._steps.forward, self._steps.without_parameters(self._u)), self._hold
        executor.x = start
        rows = executor.rows(len(self._u) + 1)
        rows[0, : len(start)] = start
        size, together = len(start), max(1, self._apart // hold)  # rows from one checkpoint to the next
        checkpoints = []
        for row in range(0, len(self._u), together):
            until = min(row + together, len(self._u))
            checkpoints.append((row * hold, rows[row, :size]))
            if hold <= self._apart:
                self._advance_rows(executor, row * hold, until * hold, rows[row + 1 :], hold)
                continue
            between = executor.rows(hold // self._apart)
            self._advance_rows(executor, row * hold, until * hold, between, self._apart)
            firsts = range(row * hold + self._apart, until * hold, self._apart)
            checkpoints += [(first, state[:size]) for first, state in zip(firsts, between, strict=False)]
            rows[until, :size] = executor.x
        return rows, checkpoints

    def _advance_rows(self, executor: KernelExecutor, first: int, until: int, rows: Array, every: int) -> None:
        """Advance to a step; if a kernel fails, select other combinations of constraints or raise the reason."""
        done = first
        while True:
            done += executor.advance(done, until - done, rows[(done - first) // every :], every)
            if done == until:
                return
            own, row = self._steps, done // self._hold
            x, now = executor.x, self._u[row]
            better = own.inputs(x[None], now[None, : own.model.nv])[0, self._chosen]
            if np.array_equal(better, now[self._chosen], equal_nan=True):
                own.raise_failure(x[None], now[None], 1, self._origin, done)
            self._u[row:, self._chosen] = better
            executor.take_inputs(own.without_parameters(self._u))

    def _executor(self, kernels: StepKernels, u: Array) -> KernelExecutor:
        own = self._steps
        return KernelExecutor(kernels, own.method, np.zeros(own.system.size), u, own.h, self._hold, self._origin)
