# SPDX-License-Identifier: Apache-2.0
"""Many motions as measures take them: quantities of a log, with one axis more in front."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ada_dynamics.analysis.power import loses_energy, relative_residual
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.simulation.log import Log
from ada_dynamics.simulation.rollout import Rollout

if TYPE_CHECKING:
    from ada_dynamics.dynamics.motion_queries import Energy
    from ada_dynamics.simulation import Simulation


class SideBySide:
    """Motions of N starts, R rows each, of one simulation.

    A measure that is made with `side_by_side=True` takes them like a log: it works along the axis of the rows, and
    gives (N,) numbers where a log gives one. Accelerations and wrenches are not known.

    Attributes:
        model: the robot.
        t: times [s], (R,).
        q: positions, (N, R, nq).
        v: velocities, (N, R, nv).
    """

    def __init__(self, simulation: Simulation, rollout: Rollout) -> None:
        """Args: whose motions, and these; all of them finite."""
        self._simulation = simulation
        self.model = simulation.model
        self.t, self.q, self.v = rollout

    def __len__(self) -> int:
        return len(self.q)

    def of(self, motion: int) -> SideBySide:
        """One of them, alone."""
        own = slice(motion, motion + 1)
        return SideBySide(self._simulation, Rollout(self.t, self.q[own], self.v[own]))

    @cached_property
    def _log(self) -> Log:
        """All rows one below the other."""
        simulation = self._simulation
        dynamics = simulation.dynamics if simulation.dynamics.model is self.model else None  # as for its own logs
        q, v = (x.reshape(-1, x.shape[2]) for x in (self.q, self.v))
        return Log(self.model, np.tile(self.t, len(self)), q, v, dynamics=dynamics)

    def _by_motion(self, rows: Array) -> Array:
        return np.reshape(rows, (len(self), len(self.t), *rows.shape[1:]))

    @cached_property
    def energy(self) -> Energy:
        """Kinetic and potential energy, (N, R) each [J]."""
        energy = self._log.energy
        return type(energy)(*map(self._by_motion, energy))

    @property
    def total_energy(self) -> Array:
        """Both together, (N, R) [J]."""
        return np.asarray(self.energy.kinetic + self.energy.potential)

    @property
    def energy_drift(self) -> Array:
        """Gain or loss of energy as a share of what moved, (N,), where only weight acts, which keeps it.

        Raises:
            InputError: something else acts, whose work is only known along a log.
        """
        why = self._why_energy_changes()
        if why:
            raise InputError(
                f"the energy drift of motions side by side is known only where their energy is kept, and {why}. "
                "Leave that out, measure something else, or leave device out of the sweep."
            )
        total = self.total_energy
        return relative_residual(total - total[:, :1], *self.energy)

    def _why_energy_changes(self) -> str:
        forces, context = self._simulation.forces, self._simulation.context
        reasons = {
            "joints have stops (simulation: {stops: none})": forces.stops is not None,
            "there is contact": forces.contact is not None,
            "efforts or wrenches act": bool(context.tau.any()) or bool(forces.external) or context.law is not None,
            "joints have damping or friction": loses_energy(self.model),
        }
        return " and ".join(reason for reason, holds in reasons.items() if holds)

    @cached_property
    def com(self) -> Array:
        """Centre of mass, (N, R, 3) [m]."""
        return self._by_motion(self._log.com)

    @cached_property
    def momentum(self) -> Array:
        """Centroidal momentum, (N, R, 6)."""
        return self._by_motion(self._log.momentum)

    @cached_property
    def loop_gap(self) -> Array:
        """Largest gap of all loops, (N, R) [m, rad]."""
        return self._by_motion(self._log.loop_gap)
