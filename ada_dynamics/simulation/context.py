# SPDX-License-Identifier: Apache-2.0
"""Context of a simulation: system, integrator, inputs and time, shared by runs, rollouts and derivatives."""

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
    """System, integrator and inputs on a grid of time with `done` steps of length `step` since `origin`."""

    system: System
    integrator: Integrator
    inputs: Inputs
    step: float  # [s]
    log_every: int
    contact: Contact | None = None
    events: tuple[Event, ...] = ()
    law: Kernel | None = None  # control law that is part of the equations of motion
    origin: float = 0.0  # [s]
    done: int = 0

    @property
    def method(self) -> Method:
        """Integration method."""
        return self.integrator.method

    @property
    def t(self) -> float:
        """Current time [s]."""
        return self.origin + self.done * self.step

    def time(self, t: float | None) -> float:
        """Return the given time, or the current time if None [s]."""
        return self.t if t is None else finite_time(t)

    @property
    def q(self) -> Array:
        """Current configuration."""
        return self.integrator.x[: self.system.model.nq]

    @property
    def v(self) -> Array:
        """Current velocity."""
        return self.integrator.x[self.system.model.nq :]

    @property
    def tau(self) -> Array:
        """Current joint torques of controllers and servos."""
        efforts = self.system.servo_efforts
        if efforts is None:
            return self.inputs.tau.copy()
        return np.asarray(self.inputs.tau + efforts.single(self.integrator.x, self.inputs.at(self.t, self.q, self.v)))

    def restart(self, q: Array, v: Array, t: float) -> None:
        """Continue from a state without history."""
        self.set_time(t)
        self.integrator.restart(np.concatenate([q, v]))
        self.inputs.restart()

    def set_time(self, t: float) -> None:
        """Start a new grid of time."""
        self.origin, self.done = finite_time(t), 0
