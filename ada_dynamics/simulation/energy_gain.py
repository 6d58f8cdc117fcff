# SPDX-License-Identifier: Apache-2.0
"""A warning where motions gain energy that no motor gave: the sign of a step that is too long, whatever the integrator.

Contacts, stops, damping and friction only take energy, so E(t) - E(0) must not exceed the work of the motors. What
pushes, wrench profiles, servos and compiled laws give is not known here: such motions are not watched.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, UnexplainedMotionWarning
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.log import Log
from ada_dynamics.simulation.motion import Motion

Places = NDArray[np.intp]
NOTICED = 0.05  # of the energy that moved: more than the bounded error of a semi-implicit step
EVERY = 1000  # steps between two looks
ROWS = 256  # of a log that are looked at


def is_watched(motion: Motion) -> bool:
    """True if all that gives energy are constant efforts of joints with as many positions as velocities."""
    loads = motion.system.equations.loads
    return not (loads.applied or loads.pushes or loads.servos or loads.law or motion.inputs.changes)


def energy(motion: Motion, q: Array, v: Array) -> tuple[Array, Array]:
    """Kinetic and potential energy of rows of states [J]."""
    try:
        found = motion.system.dynamics.energy(np.ascontiguousarray(q), np.ascontiguousarray(v))
    except InputError:  # numbers that overflow
        return np.full(len(q), np.nan), np.full(len(q), np.nan)
    return np.asarray(found.kinetic), np.asarray(found.potential)


class EnergyGain:
    """Watches motions side by side; warns once."""

    def __init__(self, motion: Motion, x: Array) -> None:
        """Args: what moves, and rows of states in which it begins."""
        self._motion, self._steps = motion, 0
        self.is_on = is_watched(motion)
        if self.is_on:
            self.begin(np.arange(len(x)), x)

    def begin(self, which: Places, x: Array) -> None:
        """Some of them go on from other states."""
        if not self.is_on:
            return
        nq = self._motion.system.model.nq
        kinetic, potential = energy(self._motion, x[which, :nq], x[which, nq:])
        if not hasattr(self, "_start"):
            self._start, self._potential, self._work = kinetic + potential, potential, np.zeros(len(x))
        self._start[which], self._potential[which], self._work[which] = kinetic + potential, potential, 0.0

    def moved(self, before: Array, after: Array, tau: Array, steps: int) -> None:
        """Take note of steps under constant efforts, (N, nv)."""
        if not self.is_on:
            return
        places = np.flatnonzero(tau.any(axis=0))
        if len(places):
            at = positions_of(self._motion.system.model, places)
            if at is None:
                self.is_on = False
                return
            self._work += ((after[:, at] - before[:, at]) * tau[:, places]).sum(axis=1)
        self._steps += steps
        if self._steps >= EVERY:
            self._steps = 0
            self.look(after)

    def look(self, x: Array) -> None:
        """Warn if one of them has gained energy."""
        motion, nq = self._motion, self._motion.system.model.nq
        good = np.flatnonzero(np.isfinite(x).all(axis=1))
        kinetic, potential = energy(motion, x[good, :nq], x[good, nq:])
        gain = kinetic + potential - self._start[good] - self._work[good]
        moved = kinetic + np.abs(potential - self._potential[good]) + np.abs(self._work[good])
        if self.is_on and (gain > NOTICED * moved).any():
            worst = int(np.argmax(gain / np.maximum(moved, 1e-300)))
            warn(motion, float(gain[worst]), float(gain[worst] / moved[worst]), motion.t)
            self.is_on = False


def positions_of(model: Model, places: Places) -> list[int] | None:
    """Places in q of velocities that are rates of positions; None where one is none."""
    found = {}
    for name in model.joint_names:
        joint = model.joints[name]
        if joint.nq == 1 and joint.nv == 1:
            found[model.v_index(name).start] = model.q_index(name).start
    return [found[k] for k in places.tolist()] if all(k in found for k in places.tolist()) else None


def warn_if_gained(motion: Motion, log: Log) -> None:
    """Look at a log, of whose efforts rows must show the work: constant ones, or a row for each step."""
    if not is_watched_log(motion, log) or len(log.t) < 2:
        return
    work = np.zeros(len(log.t))
    if log.tau.any():
        mean = 0.5 * (log.v[1:] + log.v[:-1])
        work[1:] = np.cumsum(np.diff(log.t) * (log.tau[:-1] * mean).sum(axis=1))
    rows = np.unique(np.linspace(0, len(log.t) - 1, ROWS).astype(int))
    kinetic, potential = energy(motion, log.q[rows], log.v[rows])
    gain = kinetic + potential - (kinetic + potential)[0] - work[rows]
    moved = kinetic.max() + np.ptp(potential) + np.abs(work).max()
    worst = int(np.argmax(gain))
    if gain[worst] > NOTICED * moved:
        warn(motion, float(gain[worst]), float(gain[worst] / moved), float(log.t[rows[worst]]))


def is_watched_log(motion: Motion, log: Log) -> bool:
    """True if what gives energy to the motion is in the rows."""
    loads = motion.system.equations.loads
    if loads.applied or loads.pushes or loads.servos or loads.law or not np.isfinite(log.q).all():
        return False
    return motion.log_every == 1 or not log.tau.any()


def warn(motion: Motion, gain: float, share: float, t: float) -> None:
    """Say what happened, and what helps."""
    model = motion.system.model
    warnings.warn(
        f"the motion of model {model.name!r} has gained {gain:.3g} J until t = {t:.6g} s, {share:.0%} of what moved, "
        f"which no motor gave: the step of {motion.step:g} s is too long for it. Take a shorter step, or another "
        "integrator.",
        UnexplainedMotionWarning,
        stacklevel=4,
    )
