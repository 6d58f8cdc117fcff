# SPDX-License-Identifier: Apache-2.0
"""Batches of simulations: the same steps in the vector lanes of the processor, one state per lane."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.computation import kernels_of
from ada_dynamics.errors import InputError, invalid
from ada_dynamics.execution import run_pieces
from ada_dynamics.simulation.accuracy_checks import EVERY, EnergyMonitor
from ada_dynamics.simulation.context import SimulationContext, closed_states
from ada_dynamics.simulation.integrator import FAILURES, Integrator, KernelExecutor
from ada_dynamics.simulation.options import NotCopyable, finite_array, is_positive, whole_steps

BLOCK, NUMBERS = 64, 2048  # states per block, or numbers in them: small enough for the cache of the processor


class Rollout(NamedTuple):
    """Simulated states of N initial states, or of one, R rows each."""

    t: Array  # (R,) [s]
    q: Array  # (N, R, nq), or (R, nq)
    v: Array  # (N, R, nv), or (R, nv)


class _Blocks:
    """Advances blocks of states in one thread."""

    def __init__(self, context: SimulationContext) -> None:
        self._context = context
        self._integrator = Integrator(context.system, context.method, context.integrator.tolerance)
        self._executors: dict[int, KernelExecutor] = {}  # by the number of states

    def __call__(self, states: Array, tau: Array, steps: int, every: int) -> None:
        """Fill rows of a block of states, see `SimulationBatch.fill_rows`."""
        try:
            # The code for a single state is faster for one state and returns the same bits.
            if self._integrator.is_native and not self._context.method.is_adaptive and len(states) > 1:
                self._advance_together(states, tau, steps, every)
            else:
                for rows, efforts in zip(states, tau, strict=True):
                    self._advance_one(rows, efforts, steps, every)
        except FAILURES:
            for rows, efforts in zip(states, tau, strict=True):  # separately
                try:
                    self._advance_one(rows, efforts, steps, every)
                except FAILURES:
                    rows[1:] = np.nan

    def _advance_one(self, rows: Array, tau: Array, steps: int, every: int) -> None:
        context, integrator = self._context, self._integrator
        integrator.restart(rows[0])
        integrator.u = context.system.inputs(tau)
        if context.method.is_adaptive:
            rows[1:] = integrator.advance(context.t, 0, steps // every, context.step * every)
        else:
            rows[1:] = integrator.advance(context.origin, context.done, steps, context.step, every)

    def _advance_together(self, states: Array, tau: Array, steps: int, every: int) -> None:
        """Advance the states in vector lanes; a step that a kernel rejects for one state is taken state by state."""
        context, system = self._context, self._context.system
        x = states[:, 0].T.copy()
        u = system.input_rows(x.T, tau, context.step).T
        executor = self._executors.get(len(states))
        if executor is None:
            executor = self._executors[len(states)] = KernelExecutor(system, context.method, x, u, context.step)
        executor.s.origin = context.origin
        rows, done = executor.rows(steps // every), 0
        while True:
            executor.start(x, u)
            done += executor.take_steps(context.done + done, steps - done, rows[done // every :], every, done % every)
            if done == steps:
                break
            x = executor.x.copy()
            self._step_each(x, u, context.done + done)
            done += 1
            if done % every == 0:
                rows[done // every - 1, :, : len(states)] = x
        states[:, 1:] = rows[:, :, : len(states)].transpose(2, 0, 1)

    def _step_each(self, x: Array, u: Array, first: int) -> None:
        """Take one step of each state; combinations change only for states that a kernel rejects."""
        integrator = self._integrator
        for i in range(x.shape[1]):
            integrator.restart(x[:, i], u[:, i])
            integrator.advance(self._context.origin, first, 1, self._context.step, 0)
            x[:, i], u[:, i] = integrator.x, integrator.u


class SimulationBatch(NotCopyable):
    """Simulations of N initial states that advance together.

    The results of a simulation do not depend on the others, bit for bit. A simulation whose integration fails is NaN
    until it is reset.

    Attributes:
        gain: monitor that warns of an energy gain without joint torques.
    """

    _alternative = "create another one with Simulation.batch(batch.q, batch.v, t=batch.t)"

    def __init__(self, context: SimulationContext, q: ArrayLike, v: ArrayLike | None, t: float | None = None) -> None:
        """Initialize the batch.

        Args:
            context: context of a simulation.
            q: initial configurations, (N, nq).
            v: initial velocities; zero if None.
            t: initial time; the current time of the simulation by default [s].
        """
        context.refuse_terminal_events()
        self._context = replace(context, origin=context.time(t), done=0)
        self._blocks = _Blocks(self._context)
        self._x = _initial_states(context, q, v)
        self._has_failed: NDArray[np.bool_] = np.zeros(len(self._x), dtype=bool)
        self.gain = EnergyMonitor(self._context, self._x)

    @property
    def t(self) -> float:
        """Current time of the batch [s]."""
        return self._context.t

    @property
    def q(self) -> Array:
        """Configurations, (N, nq)."""
        return self._x[:, : self._context.system.model.nq]

    @property
    def v(self) -> Array:
        """Velocities, (N, nv)."""
        return self._x[:, self._context.system.model.nq :]

    @property
    def has_failed(self) -> NDArray[np.bool_]:
        """True for simulations whose integration failed, (N,)."""
        return self._has_failed.copy()

    def reset(self, which: ArrayLike, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Continue some simulations from other states; the time of the batch does not change.

        Args:
            which: indices of the simulations.
            q: configurations, one per index.
            v: velocities; zero if None.
        """
        which = np.atleast_1d(np.asarray(which))
        self._x[which], self._has_failed[which] = _initial_states(self._context, q, v), False
        self.gain.restart(which, self._x)

    def run(self, steps: int, tau: ArrayLike | None = None) -> None:
        """Take steps with constant joint torques.

        Args:
            steps: number of steps.
            tau: joint torques, (nv,) or (N, nv); those of the simulation by default.
        """
        steps = whole_steps("steps", steps)
        efforts = _efforts(self._context, len(self._x), tau)
        before = self._x.copy()
        goes_on: slice | NDArray[np.bool_] = ~self._has_failed if self._has_failed.any() else slice(None)
        starts = before[goes_on]
        states = np.empty((len(starts), 2, self._x.shape[1]))
        states[:, 0] = starts
        self.fill_rows(states, efforts[goes_on], steps, steps)
        self._x[goes_on] = states[:, 1]
        self._has_failed = np.asarray(~np.isfinite(self._x).all(axis=1))
        self.gain.add_work(before, self._x, efforts, steps)

    def fill_rows(self, states: Array, tau: Array, steps: int, every: int, threads: int = 1) -> None:
        """Fill rows of states, (N, R + 1, n), from the first one on; a row follows after every so many steps."""

        def block(rows: slice) -> None:
            # Integrators and executors contain a state, so each thread has its own.
            advance = self._blocks if threads == 1 else _Blocks(self._context)
            advance(states[rows], tau[rows], steps, every)

        size = max(BLOCK, NUMBERS // states.shape[2] // BLOCK * BLOCK) if threads == 1 else BLOCK
        run_pieces(block, [slice(begin, begin + size) for begin in range(0, len(states), size)], threads)
        self._context.done += steps

    def rollout(
        self, duration: float, tau: ArrayLike | None, rows_every: int, device: str = "cpu", threads: int = 1
    ) -> Rollout:
        """Implementation of `Simulation.rollout`."""
        context, starts = self._context, self._x
        h, rows_every = context.step, whole_steps("rows_every", rows_every)
        efforts = _efforts(context, len(starts), tau)
        steps = round(duration / h) if is_positive(duration) else 0
        if not is_positive(duration) or abs(steps * h - duration) > 1e-9 * h or steps % rows_every:
            raise invalid("duration", duration, f"a multiple of {rows_every} steps of {h:g} s for rollouts")
        states = np.empty((len(starts), steps // rows_every + 1, starts.shape[1]))
        states[:, 0] = starts
        times: Array = self.t + h * rows_every * np.arange(states.shape[1], dtype=np.float64)
        if device != "cpu":
            from ada_dynamics.gpu.rollout import DeviceRollout

            on_device = DeviceRollout(context, starts, efforts, device)
            for row in range(1, states.shape[1]):
                on_device.run(rows_every)
                states[:, row] = on_device.x.numpy()
        else:
            self.fill_rows(states, efforts, steps, rows_every, threads)
        self.gain.add_work(states[:, 0], states[:, -1], efforts, EVERY)
        nq = context.system.model.nq
        return Rollout(times, states[:, :, :nq], states[:, :, nq:])


def _initial_states(context: SimulationContext, q: ArrayLike, v: ArrayLike | None) -> Array:
    model = context.system.model
    positions = finite_array("q", q, ("N", model.nq))
    speeds = finite_array("v", np.zeros((len(positions), model.nv)) if v is None else v, (len(positions), model.nv))
    is_free = kernels_of(context.system.dynamics).closed is None and not model.has_manifold_coordinates
    if is_free:
        return np.hstack([positions, speeds])
    return closed_states(model, context.system.dynamics, positions, speeds)


def _efforts(context: SimulationContext, count: int, tau: ArrayLike | None) -> Array:
    if context.inputs.changes:
        raise InputError(
            "rollouts and batches need constant joint torques, or a CompiledController without a control period; use "
            "run() for sampled controllers, servos and external wrenches over time."
        )
    nv = context.system.model.nv
    given = finite_array("tau", context.tau if tau is None else tau, (nv,), (count, nv))
    return given if given.ndim == 2 else np.broadcast_to(given, (count, nv))
