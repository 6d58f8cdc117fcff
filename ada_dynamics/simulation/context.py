# SPDX-License-Identifier: Apache-2.0
"""A robot on its way: its equations, what acts on it, and how far it is. What runs, rollouts and steps work on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.contact.contact import Contact
from ada_dynamics.jit import Kernel
from ada_dynamics.simulation.events import Event
from ada_dynamics.simulation.inputs import Inputs
from ada_dynamics.simulation.integrator import Integrator
from ada_dynamics.simulation.methods import Method
from ada_dynamics.simulation.options import finite_time
from ada_dynamics.simulation.system import System


@dataclass(eq=False)
class SimulationContext:
    """Steps on a grid of time: `done` of them, each of length `step`, since `origin`."""

    system: System
    integrator: Integrator
    inputs: Inputs
    step: float  # [s]
    log_every: int
    contact: Contact | None = None
    events: tuple[Event, ...] = ()
    law: Kernel | None = None  # a control law within the equations of motion
    origin: float = 0.0  # [s]
    done: int = 0

    @property
    def method(self) -> Method:
        """The integrator."""
        return self.integrator.method

    @property
    def t(self) -> float:
        """Present time [s]."""
        return self.origin + self.done * self.step

    def time(self, t: float | None) -> float:
        """A time that was given; the present one where none was [s]."""
        return self.t if t is None else finite_time(t)

    @property
    def q(self) -> Array:
        """Present positions."""
        return self.integrator.x[: self.system.model.nq]

    @property
    def v(self) -> Array:
        """Present velocities."""
        return self.integrator.x[self.system.model.nq :]

    @property
    def tau(self) -> Array:
        """Present efforts of the motors."""
        efforts = self.system.servo_efforts
        if efforts is None:  # no servos, or none with a joint to move
            return self.inputs.tau.copy()
        return np.asarray(self.inputs.tau + efforts.single(self.integrator.x, self.inputs.at(self.t, self.q, self.v)))

    def restart(self, q: Array, v: Array, t: float) -> None:
        """Go on from a state as if nothing had been before."""
        self.set_time(t)
        self.integrator.restart(np.concatenate([q, v]))
        self.inputs.restart()

    def set_time(self, t: float) -> None:
        """Begin the grid of steps anew."""
        self.origin, self.done = finite_time(t), 0
