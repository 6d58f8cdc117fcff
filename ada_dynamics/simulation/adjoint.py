# SPDX-License-Identifier: Apache-2.0
"""A motion with given efforts that can be gone back: gradients by the discrete adjoint of its steps.

Rows of efforts act for `hold` steps each; the states where they begin are kept, and between them a checkpoint for
every √hold steps, from which the others are computed anew. What is kept beside the rows falls under 2 √hold states.
"""

from __future__ import annotations

from functools import reduce
from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.simulation.kernel_march import KernelMarch
from ada_dynamics.simulation.number_march import MotionError
from ada_dynamics.simulation.sensitivities import Linear, Steps

KEPT = 64  # states that are kept rather than computed twice


class MotionGradient(NamedTuple):
    """Gradient of a number that depends on a motion: by its start, and by the efforts."""

    dq: Array  # (nv,), per velocity
    dv: Array  # (nv,)
    du: Array  # (R, nv)


class RecordedMotion:
    """A motion by rows: the states where efforts begin to act, and the last one."""

    def __init__(self, steps: Steps, start: Array, tau: Array, hold: int) -> None:
        """March.

        Args:
            steps: that are taken.
            start: the state that it starts from.
            tau: efforts, a row for every `hold` steps.
            hold: see `tau`.
        """
        self._steps = steps
        self._chosen = steps.system.equations.chosen  # in u: combinations, which may change with every step
        self._rows_each = hold if steps.system.equations.following else 1
        self._hold = hold // self._rows_each
        self._u = steps.inputs(start[None], tau[:1]).repeat(len(tau) * self._rows_each, axis=0)
        self._u[:, : steps.model.nv] = tau.repeat(self._rows_each, axis=0)
        self._rows = self._march(start)

    @property
    def states(self) -> Array:
        """Where each row of efforts begins to act, and at the end."""
        return self._rows[:: self._rows_each, : self._steps.system.size]

    def linear(self) -> Linear:
        """How each state changes with the one before and with the efforts between."""
        own, each = self._steps, self._rows_each
        found = own.derivatives(self._rows[:-1, : own.system.size], self._u, self._hold, since=self._hold)
        parts = [Linear(*(x[i::each] for x in found)) for i in range(each)]
        return reduce(Linear.then, parts)

    def gradient(self, by_q: ArrayLike | None = None, by_v: ArrayLike | None = None) -> MotionGradient:
        """See `DerivativesOfMotion.rollout_vjp`."""
        own, nv = self._steps, self._steps.model.nv
        weights = self._weights(by_q, by_v)
        by_x, march = weights[-1].copy(), self._backward(slice(None))
        by_u = np.zeros((len(self._u), march.inputs))
        if self._hold == 1:
            self._check(march.backwards(0, len(self._u), self._rows[:-1], by_x, by_u, weights[:-1]))
        else:
            for row in reversed(range(len(self._u))):
                self._row_backwards(row, by_x, by_u[row : row + 1])
                by_x += weights[row]
        dq, dv = np.split(own.tangents.basis(self.states[:1])[0].T @ by_x[: own.system.size], 2)
        return MotionGradient(dq, dv, by_u[:, :nv].reshape(-1, self._rows_each, nv).sum(axis=1))

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
        found = np.zeros_like(self._rows)
        inverse = own.tangents.inverse(states)
        found[:: self._rows_each, : own.system.size] = (inverse.swapaxes(-1, -2) @ given[..., None])[..., 0]
        return found

    # --- forwards -----------------------------------------------------------------------------------------------
    def _march(self, start: Array) -> Array:
        march, done, total = self._forward(start, slice(None)), 0, len(self._u) * self._hold
        rows = march.rows(len(self._u) + 1)
        rows[0, : len(start)] = start
        while True:
            done += march.forwards(done, total - done, rows[done // self._hold + 1 :], self._hold)
            if done == total:
                return rows
            self._choose_anew(march.x, done)
            march = self._forward(march.x, slice(done, None))

    def _choose_anew(self, x: Array, done: int) -> None:
        """Other combinations from a step on at which the kernels stopped; refused where these are not the reason."""
        own, row = self._steps, done // self._hold
        now = self._u[row]
        better = own.inputs(x[None], now[None, : own.model.nv])[0, self._chosen]
        if np.array_equal(better, now[self._chosen], equal_nan=True):
            own.refuse_state(x[None], now[None], 1, done)
        self._u[row:, self._chosen] = better

    def _forward(self, x: Array, rows: slice) -> KernelMarch:
        own = self._steps
        return KernelMarch(own.forward, own.method, x, self._u[rows], own.h, self._hold)

    # --- backwards ----------------------------------------------------------------------------------------------
    def _backward(self, rows: slice) -> KernelMarch:
        own = self._steps
        return KernelMarch(own.backward, own.method, self.states[0], self._u[rows], own.h, self._hold)

    def _row_backwards(self, row: int, by_x: Array, by_u: Array) -> None:
        """Through the steps of one row of efforts, from checkpoint to checkpoint."""
        hold, first, u = self._hold, row * self._hold, slice(row, row + 1)
        apart = max(KEPT, isqrt(hold) + 1)
        march = self._forward(self._rows[row, : self._steps.system.size], u)
        checkpoints, before = march.rows((hold - 1) // apart + 1), march.rows(min(apart, hold))
        checkpoints[0] = self._rows[row]
        until = (len(checkpoints) - 1) * apart
        self._check(march.forwards(first, until, checkpoints[1:], apart) == until)
        backward = self._backward(u)
        for i in reversed(range(len(checkpoints))):
            done, count = i * apart, min(apart, hold - i * apart)
            before[0] = checkpoints[i]
            march = self._forward(checkpoints[i, : self._steps.system.size], u)
            self._check(march.forwards(first + done, count - 1, before[1:]) == count - 1)
            self._check(backward.backwards(first + done, count, before, by_x, by_u, None))

    def _check(self, is_done: bool) -> None:
        if not is_done:
            raise MotionError(f"the gradient of the motion of model {self._steps.model.name!r} is not finite.")
