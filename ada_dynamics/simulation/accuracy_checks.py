# SPDX-License-Identifier: Apache-2.0
"""Check of the energy of a simulation, with an `IntegrationAccuracyWarning`.

Contacts, joint stops, damping and friction dissipate energy, so that E(t) - E(0) must not exceed the work of the joint
torques. Simulations with pushes, wrench profiles, servos or compiled control laws are not checked, as their work is
unknown here. Energy that is stored in a contact or joint stop at the start counts as a gain when it is released.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.constraint_set import characteristic_length
from ada_dynamics.errors import InputError, IntegrationAccuracyWarning
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.context import SimulationContext

SIGNIFICANT_GAIN = 0.05  # relative to the energy in motion; larger than the bounded error of semi-implicit steps
EVERY = 1000  # steps between two checks
_TINY = 1e-300  # [J], avoids 0/0 at rest


class EnergyMonitor:
    """Monitors the energy of one simulation or of a batch, with torques that are constant at times; warns once.

    Attributes:
        is_active: True while all sources of energy are known and no simulation has gained energy.
    """

    def __init__(self, context: SimulationContext, x: Array) -> None:
        """Initialize the monitor.

        Args:
            context: context of the simulation.
            x: rows of initial states.
        """
        self._context, self._steps = context, 0
        self._start, self._potential, self._work, self._most = np.zeros((4, len(x)))
        self._places = _positions(context.system.model)
        self._scale = _scale(context.system.model)
        self._others = np.flatnonzero(self._places < 0)  # velocities of unknown work
        self.is_active = _has_known_work(context)
        self._last = x
        self.restart(np.arange(len(x)), x)

    def restart(self, which: NDArray[np.intp], x: Array) -> None:
        """Restart the balance of some simulations from other states."""
        if not self.is_active:
            return
        kinetic, potential = _energy(self._context, x[which])
        self._start[which], self._potential[which] = kinetic + potential, potential
        self._work[which], self._most[which] = 0.0, kinetic + self._scale

    def add_work(self, before: Array, after: Array, tau: Array, steps: int) -> None:
        """Add the work of constant torques (N, nv) during some steps."""
        if not self.is_active:
            return
        if len(self._others) and tau[:, self._others].any():
            self.is_active = False
            return
        self._work += np.einsum("ij,ij->i", (after - before)[:, self._places], tau)
        self._steps += steps
        if self._steps >= EVERY:
            self._steps = 0
            self.check(after)

    def follow(self, x: Array, tau: Array, steps: int) -> None:
        """Add the work of constant torques (nv,) on one simulation since the start or the last call."""
        if self.is_active:
            before, self._last = self._last, x[None]
            self.add_work(before, self._last, tau[None], steps)

    def check(self, x: Array) -> None:
        """Warn if a simulation has gained energy; failed simulations are ignored."""
        if not self.is_active:
            return
        good = np.flatnonzero(np.isfinite(x).all(axis=1))
        kinetic, potential = _energy(self._context, x[good])
        gain = kinetic + potential - self._start[good] - self._work[good]
        moves = kinetic + np.abs(potential - self._potential[good]) + np.abs(self._work[good])
        self._most[good] = np.fmax(self._most[good], moves)
        share = np.nan_to_num(gain / np.maximum(self._most[good], _TINY))  # NaN after a failure
        if share.max(initial=0.0) > SIGNIFICANT_GAIN:
            worst = int(np.argmax(share))
            _warn(self._context, float(gain[worst]), float(share[worst]), self._context.t)
            self.is_active = False


def _has_known_work(context: SimulationContext) -> bool:
    """Return True if joint torques are the only source of energy."""
    loads = context.system.equations.loads
    return not (loads.applied or loads.pushes or loads.servos or loads.law)


def _energy(context: SimulationContext, x: Array) -> tuple[Array, Array]:
    """Kinetic and potential energy of rows of states [J]; NaN after an overflow."""
    nq = context.system.model.nq
    try:
        found = context.system.dynamics.energy(np.ascontiguousarray(x[:, :nq]), np.ascontiguousarray(x[:, nq:]))
    except InputError:
        return np.full(len(x), np.nan), np.full(len(x), np.nan)
    return np.asarray(found.kinetic), np.asarray(found.potential)


def _scale(model: Model) -> float:
    """Weight times the length of the mechanism [J], a lower bound of the energy scale."""
    return float(model.total_mass * np.linalg.norm(model.gravity) * characteristic_length(model))


def _positions(model: Model) -> NDArray[np.intp]:
    """Return the index in q of each velocity that is the rate of a coordinate; -1 for others."""
    places = np.full(model.nv, -1, dtype=np.intp)
    for name in model.joint_names:
        if model.joints[name].nq == model.joints[name].nv == 1:
            places[model.v_index(name)] = model.q_index(name).start
    return places


def _warn(context: SimulationContext, gain: float, share: float, t: float) -> None:
    warnings.warn(
        f"model {context.system.model.name!r} has gained {gain:.3g} J until t = {t:.6g} s, {share:.0%} of the energy "
        f"in motion, in excess of the work of the joint torques: the step of {context.step:g} s is too long. Use a "
        "shorter step or another integrator.",
        IntegrationAccuracyWarning,
        stacklevel=4,
    )
