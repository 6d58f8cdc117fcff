# SPDX-License-Identifier: Apache-2.0
"""Driver of a simulated robot: one cycle of simulated time per exchange, under the same safety cycle as any device.

    robot = Robot("ada_robot.simulated.driver:SimulatedDriver", {"robot": "pa10"})

In lock step the caller advances a `ManualClock`:

    cycle = SafeCycle(SimulatedDriver(SimulatedSettings(robot="pa10"), clock=clock), clock=clock)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from ada_dynamics.clock import SYSTEM_CLOCK
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import motor_joints
from ada_robot.contract import Command, Demand
from ada_robot.driver import Alarm, Feedback, RobotDriver
from ada_robot.errors import DeviceAlarm, Refused
from ada_robot.simulated.plant import Plant
from ada_robot.simulated.settings import SimulatedSettings
from ada_robot.simulated.source import bounds_of, load_robot, simulation_of

FAILED = 1  # alarm code: the simulation failed
_SETTLING = 2.0  # maximum simulated time to come to rest after opening [s]
_STILL = 1e-3  # [rad/s, m/s]


class SimulatedDriver(RobotDriver[SimulatedSettings]):
    """One simulated robot; its servos hold it while it is not driven.

    Attributes:
        plant: simulation with motors; None while closed.
    """

    NAME: ClassVar[str] = "simulated"
    SUMMARY: ClassVar[str] = "any robot with a model, simulated"
    SETTINGS: ClassVar[type] = SimulatedSettings

    def __init__(self, settings: SimulatedSettings, *, clock: Callable[[], float] = SYSTEM_CLOCK) -> None:
        """Load the model; `open` compiles its dynamics. Args: settings of the robot; steady clock [s].

        Raises:
            InputError: if a setting is invalid.
            ModelError: if the robot file is invalid.
        """
        if not settings.robot:
            text = "robot is empty; set it to a name in the catalogue (`ada list`) or the path of a robot file."
            raise InputError(text, field="robot", value="")
        super().__init__(settings)
        self._clock = clock
        self._model = load_robot(settings)
        self.joints = tuple(motor_joints(self._model))
        self._steps = max(1, round(settings.physics_rate / settings.cycle_rate))
        self.period = self._steps / settings.physics_rate
        limits = {limit.name: limit for limit in bounds_of(self._model, settings).limits(self.joints)}
        self.limits = tuple(limits[name] for name in self.joints)
        self.plant: Plant | None = None
        self._is_driven = False

    # --- operation ------------------------------------------------------------------------------------------------
    def open(self) -> None:  # noqa: D102
        if self.plant is not None:
            return
        simulation = simulation_of(self._model, self.settings)
        # no timeout: the safety cycle monitors the commands
        self.plant = plant = Plant(simulation, timeout=0.0, bounds=bounds_of(self._model, self.settings))
        plant.warm_up()
        while plant.t < _SETTLING and plant.failure is None:
            plant.advance(self._steps)
            if np.abs(simulation.v).max(initial=0.0) <= _STILL:
                break
        self._is_driven = False

    def idle(self) -> Feedback:  # noqa: D102
        return self._exchange(self._in_use())

    def start(self) -> None:  # noqa: D102
        plant = self._in_use()
        if plant.failure is not None:
            raise DeviceAlarm(f"{self.NAME}: {plant.failure}")
        self._is_driven = True

    def cycle(self, demand: Demand) -> Feedback:  # noqa: D102
        plant = self._in_use()
        if not self._is_driven:
            raise Refused(f"{self.NAME}: not started; commands require a start.", field="state", value="not started")
        plant.command(Command.of({demand.mode: demand.values})._replace(names=self.joints))
        return self._exchange(plant)

    def stop(self) -> None:  # noqa: D102
        self._is_driven = False
        if self.plant is not None:
            self.plant.release_commands()

    def reset(self) -> None:  # noqa: D102
        plant = self._in_use()
        if plant.failure is not None:
            plant.reset(plant.simulation.q)

    def close(self) -> None:  # noqa: D102
        self.plant, self._is_driven = None, False

    def _in_use(self) -> Plant:
        if self.plant is None:
            raise Refused(f"{self.NAME}: the driver is not open; call open() first.", field="state", value="closed")
        return self.plant

    def _exchange(self, plant: Plant) -> Feedback:
        plant.advance(self._steps)
        simulation = plant.simulation
        rows = simulation.servos.rows(self.joints)
        q, v = simulation.servos.q_index[rows], simulation.servos.v_index[rows]
        failure = plant.failure
        alarms = () if failure is None else (Alarm(FAILED, failure),)
        return Feedback(
            self._clock(),
            simulation.q[q],
            simulation.v[v],
            simulation.tau[v],
            is_driven=self._is_driven,
            alarms=alarms,
            values={"simulated time [s]": plant.t},
        )
