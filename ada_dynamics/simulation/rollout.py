# SPDX-License-Identifier: Apache-2.0
"""Many motions side by side: the same steps on the lanes of the processor, one state in each."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.projection import CLOSED
from ada_dynamics.dynamics.computation import kernels_of
from ada_dynamics.errors import InputError
from ada_dynamics.execution import run_pieces
from ada_dynamics.simulation.checks import Uncopied, is_positive, whole_steps
from ada_dynamics.simulation.energy_gain import EVERY, EnergyGain
from ada_dynamics.simulation.kernel_march import KernelMarch, MarchKernels
from ada_dynamics.simulation.motion import Motion
from ada_dynamics.simulation.start import on_loops, start_state
from ada_dynamics.simulation.stepper import LOST, Stepper
from ada_dynamics.simulation.system import System

BLOCK, NUMBERS = 64, 2048  # states, or numbers of states, that march together: few enough to stay in the cache


class Rollout(NamedTuple):
    """Motions of N starts, R rows each."""

    t: Array  # (R,)
    q: Array  # (N, R, nq)
    v: Array  # (N, R, nv)


class Motions(Uncopied):
    """Motions of N starts that go on as long as they are asked to, side by side in the lanes of the processor.

    A motion is the same, bit for bit, whatever goes on beside it. One that runs away, or cannot go on from a singular
    pose, is lost: nan from there on, until it is placed anew.

    Attributes:
        gain: warns where one of them gains energy that no motor gave.
    """

    _instead = "make others by Simulation.motions(many.q, many.v, t=many.t)"

    def __init__(self, motion: Motion, q: ArrayLike, v: ArrayLike | None, t: float | None = None) -> None:
        """Begin.

        Args:
            motion: integrator, step and efforts of a simulation.
            q: positions of the starts, (N, nq).
            v: velocities; None for rest.
            t: time of all starts; the present one of the simulation by default [s].
        """
        _refuse_ends(motion)
        self._motion = replace(motion, origin=motion.time(t), done=0)
        self._stepper = Stepper(motion.system, motion.method, motion.stepper.tolerance)
        self._x = _starts(motion, q, v)
        self._marches: dict[int, KernelMarch] = {}  # by number of states
        self._lost: NDArray[np.bool_] = np.zeros(len(self._x), dtype=bool)
        self.gain = EnergyGain(self._motion, self._x)

    @property
    def t(self) -> float:
        """Present time of all [s]."""
        return self._motion.t

    @property
    def q(self) -> Array:
        """Positions, (N, nq)."""
        return self._x[:, : self._motion.system.model.nq]

    @property
    def v(self) -> Array:
        """Velocities, (N, nv)."""
        return self._x[:, self._motion.system.model.nq :]

    @property
    def is_lost(self) -> NDArray[np.bool_]:
        """True, motion by motion, where it could not go on."""
        return self._lost.copy()

    def place(self, which: ArrayLike, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Let some of them, by their numbers, go on from other states; their time stays that of all."""
        which = np.atleast_1d(np.asarray(which))
        self._x[which], self._lost[which] = _starts(self._motion, q, v), False
        self.gain.begin(which, self._x)

    def run(self, steps: int, tau: ArrayLike | None = None) -> None:
        """Take steps with constant efforts of all, (nv,), or of each, (N, nv); those of the simulation by default."""
        steps = whole_steps("steps", steps)
        efforts = _efforts(self._motion, len(self._x), tau)
        before = self._x.copy()
        goes_on: slice | NDArray[np.bool_] = ~self._lost if self._lost.any() else slice(None)
        starts = before[goes_on]
        states = np.empty((len(starts), 2, self._x.shape[1]))
        states[:, 0] = starts
        self.march(states, efforts[goes_on], steps, steps)
        self._x[goes_on] = states[:, 1]
        self._lost = np.asarray(~np.isfinite(self._x).all(axis=1))
        self.gain.moved(before, self._x, efforts, steps)

    def march(self, states: Array, tau: Array, steps: int, every: int, threads: int = 1) -> None:
        """Fill rows of states, (N, R + 1, n), from the first one on: one after every so many steps."""
        motion, own = self._motion, self._stepper
        # One state alone takes less time in the code for one, which gives the same bits.
        is_together = own.is_native and not motion.method.is_adaptive and len(states) > 1

        def block(rows: slice) -> None:
            # Steppers and marches hold states: blocks on several threads need their own.
            stepper = own if threads == 1 else Stepper(motion.system, motion.method, own.tolerance)
            marches = self._marches if threads == 1 else {}
            try:
                if is_together:
                    _together(motion, stepper, marches, states[rows], tau[rows], steps, every)
                else:
                    _one_by_one(motion, stepper, states[rows], tau[rows], steps, every)
            except LOST:
                _each_for_itself(motion, stepper, states[rows], tau[rows], steps, every)

        size = max(BLOCK, NUMBERS // motion.system.size // BLOCK * BLOCK) if threads == 1 else BLOCK
        run_pieces(block, [slice(begin, begin + size) for begin in range(0, len(states), size)], threads)
        motion.done += steps


def rollout(
    motion: Motion,
    q: ArrayLike,
    v: ArrayLike | None,
    duration: float,
    tau: ArrayLike | None,
    rows_every: int,
    device: str = "cpu",
    threads: int = 1,
    t: float | None = None,
) -> Rollout:
    """See `Simulation.rollout`."""
    h, rows_every = motion.step, whole_steps("rows_every", rows_every)
    motions = Motions(motion, q, v, t)
    starts = np.hstack([motions.q, motions.v])
    efforts = _efforts(motion, len(starts), tau)
    steps = round(duration / h) if is_positive(duration) else 0
    if not is_positive(duration) or abs(steps * h - duration) > 1e-9 * h or steps % rows_every:
        raise InputError(
            f"duration is {duration!r}; for rollouts it must be a multiple of {rows_every} steps of {h:g} s."
        )
    states = np.empty((len(starts), steps // rows_every + 1, motion.system.size))
    states[:, 0] = starts
    times: Array = motions.t + h * rows_every * np.arange(states.shape[1], dtype=np.float64)
    if device != "cpu":
        from ada_dynamics.gpu.rollout import DeviceRollout

        on_device = DeviceRollout(motion, starts, efforts, device)
        for row in range(1, states.shape[1]):
            on_device.run(rows_every)
            states[:, row] = on_device.x.numpy()
    else:
        motions.march(states, efforts, steps, rows_every, threads)
    motions.gain.moved(states[:, 0], states[:, -1], efforts, EVERY)
    nq = motion.system.model.nq
    return Rollout(times, states[:, :, :nq], states[:, :, nq:])


def _refuse_ends(motion: Motion) -> None:
    """Events are not looked for side by side, so that those that would end a motion are refused."""
    for event in motion.events:
        if event.terminal:
            raise InputError(
                f"event {event.name!r} ends a motion, and motions side by side look for no events: take run() for it, "
                "or a simulation without this event."
            )


def _starts(motion: Motion, q: ArrayLike, v: ArrayLike | None) -> Array:
    model = motion.system.model
    positions = np.asarray(q, dtype=np.float64)
    if positions.ndim != 2 or not len(positions):
        raise InputError(f"q has shape {positions.shape}; rollouts need one row for each start, (N, {model.nq}).")
    speeds = np.zeros((len(positions), model.nv)) if v is None else np.asarray(v, dtype=np.float64)
    if speeds.shape != (len(positions), model.nv):
        raise InputError(f"v has shape {speeds.shape}; it must be ({len(positions)}, {model.nv}), as q has rows.")
    is_free = kernels_of(motion.system.dynamics).closed is None and not model.has_manifold_coordinates
    if is_free and positions.shape[1] == model.nq and np.isfinite(positions).all() and np.isfinite(speeds).all():
        return np.hstack([positions, speeds])
    rows, at_rest = [], _closed_at_rest(motion, positions, speeds)
    for i, (a, b) in enumerate(zip(positions, speeds, strict=True)):
        try:
            if at_rest[i]:
                rows.append(np.concatenate(start_state(model, a, b)))
                continue
            rows.append(np.concatenate(on_loops(model, motion.system.dynamics, *start_state(model, a, b))))
        except InputError as problem:
            raise InputError(f"start {i}: {problem}") from None
    return np.array(rows)


def _closed_at_rest(motion: Motion, q: Array, v: Array) -> Array:
    """True, start by start, where there is nothing to be taken off the loops."""
    closed = kernels_of(motion.system.dynamics).closed
    if closed is None:
        return np.zeros(len(q), dtype=bool)
    gaps = np.max(np.abs(closed.gaps(np.ascontiguousarray(q))), axis=-1, initial=0.0)
    return np.asarray((gaps < CLOSED * closed.analysis.constraints.length) & ~v.any(axis=-1))


def _efforts(motion: Motion, count: int, tau: ArrayLike | None) -> Array:
    if motion.inputs.changes:
        raise InputError(
            "rollouts take constant efforts, or a CompiledController without a control period: controllers that are "
            "called, servos, and wrenches over time, go with run()."
        )
    nv = motion.system.model.nv
    given = motion.tau if tau is None else np.asarray(tau, dtype=np.float64)
    if given.shape not in ((nv,), (count, nv)) or not np.isfinite(given).all():
        raise InputError(f"tau has shape {given.shape}; it must be ({nv},) or ({count}, {nv}), all finite.")
    return given if given.ndim == 2 else np.broadcast_to(given, (count, nv))


def _one_by_one(motion: Motion, stepper: Stepper, states: Array, tau: Array, steps: int, every: int) -> None:
    for rows, efforts in zip(states, tau, strict=True):
        stepper.restart(rows[0])
        stepper.u = motion.system.inputs(efforts)
        if motion.method.is_adaptive:
            rows[1:] = stepper.march_adaptively(motion.t, 0, steps // every, motion.step * every)
        else:
            rows[1:] = stepper.march(motion.origin, motion.done, steps, motion.step, every)


def _each_for_itself(motion: Motion, stepper: Stepper, states: Array, tau: Array, steps: int, every: int) -> None:
    """A block in which some motion is lost."""
    for i in range(len(states)):
        own = slice(i, i + 1)
        try:
            _one_by_one(motion, stepper, states[own], tau[own], steps, every)
        except LOST:
            states[i, 1:] = np.nan


def _together(
    motion: Motion,
    stepper: Stepper,
    marches: dict[int, KernelMarch],
    states: Array,
    tau: Array,
    steps: int,
    every: int,
) -> None:
    """One block; a step that stops the kernels for one of its states is taken one by one."""
    before, count = motion.done, len(states)
    x, u = states[:, 0].T.copy(), _inputs(motion, tau)
    march = marches.get(count)
    if march is None:
        kernels = MarchKernels.of(motion.system, motion.method)
        march = marches[count] = KernelMarch(kernels, motion.method, x, u[None], motion.step)
    march.origin = motion.origin
    log, done = np.empty((steps // every, *x.shape)), 0
    _choose(motion.system, x, u)
    while True:
        march.start(x, u[None])
        rows = march.rows((steps - done + done % every) // every)
        begin = done
        done += march.forwards(before + done, steps - done, rows, every, done % every)
        kept = done // every - begin // every
        log[begin // every : done // every] = march.states(rows)[:kept]
        if done == steps:
            break
        x = march.x.copy()
        _step_one_by_one(motion, stepper, x, u, before + done)
        done += 1
        if done % every == 0:
            log[done // every - 1] = x
    states[:, 1:] = log.transpose(2, 0, 1)


def _inputs(motion: Motion, tau: Array) -> Array:
    """Columns of inputs, one for each row of efforts."""
    system, nv = motion.system, motion.system.model.nv
    u = np.empty((system.equations.input_size, len(tau)))
    u[:] = system.inputs(tau[0], h=motion.step)[:, None]
    u[:nv] = tau.T
    return u


def _choose(system: System, x: Array, u: Array) -> None:
    """Combinations of redundant conditions that suit each state."""
    chosen = system.chosen(x.T)
    if chosen is not None:
        u[system.equations.chosen] = chosen.T


def _step_one_by_one(motion: Motion, stepper: Stepper, x: Array, u: Array, first: int) -> None:
    """One step of each state; combinations change only where its own kernel stops, whatever the others do."""
    for i in range(x.shape[1]):
        stepper.restart(x[:, i], u[:, i])
        stepper.march(motion.origin, first, 1, motion.step, 0)
        x[:, i], u[:, i] = stepper.x, stepper.u
