# SPDX-License-Identifier: Apache-2.0
"""Batch of motions for measures: quantities of a log with an additional leading axis."""

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
    from ada_dynamics.dynamics.front import Energy
    from ada_dynamics.simulation import Simulation


class SideBySide:
    """N motions of R rows each of one simulation.

    A measure declared with `side_by_side=True` accepts it in place of a log: it operates along the row axis and returns
    (N,) values. Accelerations and wrenches are not available.

    Attributes:
        model: robot model.
        t: times [s], (R,).
        q: configurations, (N, R, nq).
        v: velocities, (N, R, nv).
    """

    def __init__(self, simulation: Simulation, rollout: Rollout) -> None:
        """Args: simulation of the motions; finite motions."""
        self._simulation = simulation
        self.model = simulation.model
        self.t, self.q, self.v = rollout

    def __len__(self) -> int:
        return len(self.q)

    def of(self, motion: int) -> SideBySide:
        """A batch with a single motion."""
        own = slice(motion, motion + 1)
        return SideBySide(self._simulation, Rollout(self.t, self.q[own], self.v[own]))

    @cached_property
    def _log(self) -> Log:
        """Log with the rows of all motions concatenated."""
        simulation = self._simulation
        dynamics = (
            simulation.dynamics if simulation.dynamics.model is self.model else None
        )  # as for logs of the simulation
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
        """Total energy, (N, R) [J]."""
        return np.asarray(self.energy.kinetic + self.energy.potential)

    @property
    def energy_drift(self) -> Array:
        """Relative energy drift, (N,), for conservative motions.

        Raises:
            InputError: non-conservative forces act, whose work is only available for a log.
        """
        why = self._why_energy_changes()
        if why:
            raise InputError(
                f"the energy drift of batched motions requires conservative motions, but {why}. "
                "Remove it, choose another measure, or omit device in the sweep."
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
        """Largest closure error of all loops, (N, R) [m, rad]."""
        return self._by_motion(self._log.loop_gap)
