# SPDX-License-Identifier: Apache-2.0
"""A motion with given efforts that can be gone back: gradients by the discrete adjoint of its steps.

The states where efforts begin to act are kept, and a checkpoint at least after every √N of all N steps; the steps from
one checkpoint to the next are taken again on the way back. So beside its rows a motion needs (s + 3) √N states, with
the s stages of its method (2 of semi_implicit).
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

KEPT = 64  # steps between two checkpoints at least


class TrajectoryGradient(NamedTuple):
    """Gradient of a number that depends on a motion: by its start, by the efforts, and by parameters."""

    dq: Array  # (nv,), per velocity
    dv: Array  # (nv,)
    du: Array  # (R, nv)
    dp: Array  # (parameters,)


class RecordedTrajectory:
    """A motion by rows: the states where efforts begin to act, and the last one."""

    def __init__(self, steps: LinearizedSteps, start: Array, tau: Array, hold: int, t: float) -> None:
        """March.

        Args:
            steps: that are taken.
            start: the state that it starts from.
            tau: efforts, a row for every `hold` steps.
            hold: see `tau`.
            t: time of the start [s].
        """
        self._steps, self._origin = steps, t
        self.t: Array = t + hold * steps.h * np.arange(len(tau) + 1, dtype=np.float64)  # of the states [s]
        self._chosen = steps.system.equations.chosen  # in u: combinations, which may change with every step
        self._rows_each = hold if steps.system.equations.following else 1
        self._hold = hold // self._rows_each
        self._u = steps.inputs(start[None], tau[:1]).repeat(len(tau) * self._rows_each, axis=0)
        self._u[:, : steps.model.nv] = tau.repeat(self._rows_each, axis=0)
        self._apart = max(KEPT, isqrt(len(self._u) * self._hold))
        self._rows, self._checkpoints = self._advance(start)

    @property
    def states(self) -> Array:
        """Where each row of efforts begins to act, and at the end."""
        return self._rows[:: self._rows_each, : self._steps.system.size]

    def linear(self) -> LinearMap:
        """How each state changes with the one before and with the efforts between."""
        own, each = self._steps, self._rows_each
        found = own.derivatives(self._rows[:-1, : own.system.size], self._u, self._hold, self._origin, self._hold)
        parts = [LinearMap(*(x[i::each] for x in found)) for i in range(each)]
        return reduce(LinearMap.then, parts)

    def gradient(self, by_q: ArrayLike | None = None, by_v: ArrayLike | None = None) -> TrajectoryGradient:
        """See `DerivativesOfMotion.rollout_vjp`."""
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
                raise IntegrationError(f"the gradient of the motion of model {own.model.name!r} is not finite.")
            end = first
        dq, dv = np.split(own.tangents.basis(self.states[:1])[0].T @ by_x[: own.system.size], 2)
        du = by_u[:, :nv].reshape(-1, self._rows_each, nv).sum(axis=1)
        return TrajectoryGradient(dq, dv, du, by_u[:, own.system.equations.input_size : self._u.shape[1]].sum(axis=0))

    def _weights(self, by_q: ArrayLike | None, by_v: ArrayLike | None) -> Array:
        """Gradient by the numbers of each state, a row each as the march has them."""
        own, states, nv = self._steps, self.states, self._steps.model.nv
        given = np.zeros((len(states), 2 * nv))
        for name, weights, part in (("by_q", by_q, slice(nv)), ("by_v", by_v, slice(nv, None))):
            if weights is None:
                continue
            rows = np.asarray(weights, dtype=np.float64)
            if rows.shape not in ((nv,), (len(states), nv)) or not np.isfinite(rows).all():
                raise InputError(
                    f"{name} has shape {rows.shape}; it must be ({nv},) for the last row, or ({len(states)}, {nv}), "
                    "all finite."
                )
            given[-1 if rows.ndim == 1 else slice(None), part] = rows
        found, weighted = np.zeros_like(self._rows), np.flatnonzero(given.any(axis=1))
        inverse = own.tangents.inverse(states[weighted])
        pulled = (inverse.swapaxes(-1, -2) @ given[weighted, :, None])[..., 0]
        found[weighted * self._rows_each, : own.system.size] = pulled
        return found

    # --- forwards -----------------------------------------------------------------------------------------------
    def _advance(self, start: Array) -> tuple[Array, list[tuple[int, Array]]]:
        """Rows, and checkpoints by the number of steps before them."""
        executor, hold = self._executor(self._steps.forward, self._steps.of_forward(self._u)), self._hold
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
        """To some step; where kernels stop with other combinations, or refused where these are not the reason."""
        done = first
        while True:
            done += executor.advance(done, until - done, rows[(done - first) // every :], every)
            if done == until:
                return
            own, row = self._steps, done // self._hold
            x, now = executor.x, self._u[row]
            better = own.inputs(x[None], now[None, : own.model.nv])[0, self._chosen]
            if np.array_equal(better, now[self._chosen], equal_nan=True):
                own.refuse_state(x[None], now[None], 1, self._origin, done)
            self._u[row:, self._chosen] = better
            executor.take_inputs(own.of_forward(self._u))

    def _executor(self, kernels: StepKernels, u: Array) -> KernelExecutor:
        own = self._steps
        return KernelExecutor(kernels, own.method, np.zeros(own.system.size), u, own.h, self._hold, self._origin)
