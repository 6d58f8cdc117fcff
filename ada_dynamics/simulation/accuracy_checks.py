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
        """Initialize the monitor of a simulation with rows of initial states."""
        model, loads = context.system.model, context.system.equations.loads
        self._context, self._last, self._steps = context, x, 0
        self._start, self._potential, self._work, self._most = np.zeros((4, len(x)))
        # weight times the length of the mechanism [J], a lower bound of the energy in motion
        self._scale = float(model.total_mass * np.linalg.norm(model.gravity) * characteristic_length(model))
        # index in q of each velocity that is the rate of a coordinate; -1 for others, whose work is unknown
        self._places = np.full(model.nv, -1, dtype=np.intp)
        for name, joint in model.joints.items():
            if joint.nq == joint.nv == 1:
                self._places[model.v_index(name)] = model.q_index(name).start
        self._others = np.flatnonzero(self._places < 0)
        self.is_active = not (loads.applied or loads.pushes or loads.servos or loads.law)
        self.restart(np.arange(len(x)), x)

    def restart(self, which: NDArray[np.intp], x: Array) -> None:
        """Restart the balance of some simulations from other states."""
        if not self.is_active:
            return
        kinetic, potential = self._energy(x[which])
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
        kinetic, potential = self._energy(x[good])
        gain = kinetic + potential - self._start[good] - self._work[good]
        moves = kinetic + np.abs(potential - self._potential[good]) + np.abs(self._work[good])
        self._most[good] = np.fmax(self._most[good], moves)
        share = np.nan_to_num(gain / np.maximum(self._most[good], _TINY))  # NaN after a failure
        if share.max(initial=0.0) <= SIGNIFICANT_GAIN:
            return
        self.is_active, worst, context = False, int(np.argmax(share)), self._context
        warnings.warn(
            f"model {context.system.model.name!r} has gained {gain[worst]:.3g} J until t = {context.t:.6g} s, "
            f"{share[worst]:.0%} of the energy in motion, in excess of the work of the joint torques: the step of "
            f"{context.step:g} s is too long. Use a shorter step or another integrator.",
            IntegrationAccuracyWarning,
            stacklevel=3,
        )

    def _energy(self, x: Array) -> tuple[Array, Array]:
        """Return the kinetic and potential energy of rows of states [J]; NaN after an overflow."""
        system = self._context.system
        q, v = np.ascontiguousarray(x[:, : system.model.nq]), np.ascontiguousarray(x[:, system.model.nq :])
        try:
            found = system.dynamics.energy(q, v)
        except InputError:
            return np.full(len(x), np.nan), np.full(len(x), np.nan)
        return np.asarray(found.kinetic), np.asarray(found.potential)
