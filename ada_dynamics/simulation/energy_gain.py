# SPDX-License-Identifier: Apache-2.0
"""A warning where motions gain energy that no motor gave: the sign of a step that is too long, whatever the integrator.

Contacts, stops, damping and friction take energy, so that E(t) - E(0) must not exceed the work of the motors. What
pushes, wrench profiles, servos and compiled laws give is not known here: such motions are not watched. Energy that a
contact or stop holds in the first state counts as gained when it is released.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.constraint_set import characteristic_length
from ada_dynamics.errors import InputError, UnexplainedMotionWarning
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.log import Log
from ada_dynamics.simulation.motion import Motion

NOTICED = 0.05  # of the energy that moves: more than the bounded error of a semi-implicit step
EVERY = 1000  # steps between two looks
ROWS = 256  # of a log that are looked at
_TINY = 1e-300  # [J], for 0/0 where nothing has moved


class EnergyGain:
    """Watches motions side by side under constant efforts; warns once.

    Attributes:
        is_on: whether it watches: all that gives energy is known, and no motion has gained any so far.
    """

    def __init__(self, motion: Motion, x: Array) -> None:
        """Args: what moves, and rows of states in which it begins."""
        self._motion, self._steps = motion, 0
        self._start, self._potential, self._work, self._most = np.zeros((4, len(x)))
        self._places = _positions(motion.system.model)
        self._scale = _scale(motion.system.model)
        self._others = np.flatnonzero(self._places < 0)  # velocities whose work is unknown
        self.is_on = _is_known(motion) and not motion.inputs.changes
        self.begin(np.arange(len(x)), x)

    def begin(self, which: NDArray[np.intp], x: Array) -> None:
        """Some of them go on from other states."""
        if not self.is_on:
            return
        kinetic, potential = _energy(self._motion, x[which])
        self._start[which], self._potential[which] = kinetic + potential, potential
        self._work[which], self._most[which] = 0.0, kinetic + self._scale

    def moved(self, before: Array, after: Array, tau: Array, steps: int) -> None:
        """Take note of steps under constant efforts, (N, nv)."""
        if not self.is_on:
            return
        if len(self._others) and tau[:, self._others].any():
            self.is_on = False
            return
        self._work += np.einsum("ij,ij->i", (after - before)[:, self._places], tau)
        self._steps += steps
        if self._steps >= EVERY:
            self._steps = 0
            self.look(after)

    def look(self, x: Array) -> None:
        """Warn if one of them has gained energy; those that are lost have none."""
        if not self.is_on:
            return
        good = np.flatnonzero(np.isfinite(x).all(axis=1))
        kinetic, potential = _energy(self._motion, x[good])
        gain = kinetic + potential - self._start[good] - self._work[good]
        moves = kinetic + np.abs(potential - self._potential[good]) + np.abs(self._work[good])
        self._most[good] = np.fmax(self._most[good], moves)
        share = np.nan_to_num(gain / np.maximum(self._most[good], _TINY))  # nan: lost in this very step
        if share.max(initial=0.0) > NOTICED:
            worst = int(np.argmax(share))
            _warn(self._motion, float(gain[worst]), float(share[worst]), self._motion.t)
            self.is_on = False


def warn_if_gained(motion: Motion, log: Log) -> None:
    """Look at a log, of whose efforts rows must show the work: none act, or there is a row for each step."""
    if not _is_known(motion) or not np.isfinite(log.q).all() or (motion.log_every > 1 and log.tau.any()):
        return
    work = np.zeros(len(log.t))
    mean = 0.5 * (log.v[1:] + log.v[:-1])
    work[1:] = np.cumsum(np.diff(log.t) * (log.tau[:-1] * mean).sum(axis=1))
    rows = np.unique(np.linspace(0, len(log.t) - 1, ROWS).astype(int))
    kinetic, potential = _energy(motion, np.hstack([log.q[rows], log.v[rows]]))
    gain = kinetic + potential - (kinetic + potential)[0] - work[rows]
    most = kinetic.max() + np.ptp(potential) + np.abs(work).max() + _scale(motion.system.model)
    worst = int(np.argmax(gain))
    if gain[worst] > NOTICED * most:
        _warn(motion, float(gain[worst]), float(gain[worst] / most), float(log.t[rows[worst]]))


def _is_known(motion: Motion) -> bool:
    """True if all that gives energy are efforts of the motors."""
    loads = motion.system.equations.loads
    return not (loads.applied or loads.pushes or loads.servos or loads.law)


def _energy(motion: Motion, x: Array) -> tuple[Array, Array]:
    """Kinetic and potential energy of rows of states [J]; nan where numbers overflow."""
    nq = motion.system.model.nq
    try:
        found = motion.system.dynamics.energy(np.ascontiguousarray(x[:, :nq]), np.ascontiguousarray(x[:, nq:]))
    except InputError:
        return np.full(len(x), np.nan), np.full(len(x), np.nan)
    return np.asarray(found.kinetic), np.asarray(found.potential)


def _scale(model: Model) -> float:
    """Weight times length of the mechanism [J]: near a turning point or at rest less than that moves."""
    return float(model.total_mass * np.linalg.norm(model.gravity) * characteristic_length(model))


def _positions(model: Model) -> NDArray[np.intp]:
    """Place in q of each velocity that is the rate of a position; -1 for others."""
    places = np.full(model.nv, -1, dtype=np.intp)
    for name in model.joint_names:
        if model.joints[name].nq == model.joints[name].nv == 1:
            places[model.v_index(name)] = model.q_index(name).start
    return places


def _warn(motion: Motion, gain: float, share: float, t: float) -> None:
    """Say what happened, and what helps."""
    warnings.warn(
        f"the motion of model {motion.system.model.name!r} has gained {gain:.3g} J until t = {t:.6g} s, "
        f"{share:.0%} of the energy that moves, which no motor gave: the step of {motion.step:g} s is too long "
        "for it. Take a shorter step, or another integrator.",
        UnexplainedMotionWarning,
        stacklevel=4,
    )
