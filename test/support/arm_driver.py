# SPDX-License-Identifier: Apache-2.0
"""A driver without a wire, of an arm that judges what it is told: for tests of what all robots share."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_robot.contract import Demand, JointLimit, Mode
from ada_robot.driver import Alarm, Array, Feedback, RobotDriver
from ada_robot.errors import DeviceAlarm, NoAnswer, TransportError
from ada_robot.settings import setting

ROUNDING = 1e-9


@dataclass(frozen=True)
class ArmSettings:
    """What the arm is like."""

    url: str = setting("", "address; nothing is there")
    joint_count: int = setting(3, "joints", lower=1)
    period: float = setting(0.002, "between cycles", unit="s", lower=1e-4)
    device_timeout: float = setting(0.01, "silence after which it brakes; 0: never", unit="s", lower=0.0)
    start_time: float = setting(0.0, "that its start takes", unit="s", lower=0.0)
    lag: float = setting(0.0, "of its drives", unit="s", lower=0.0)
    modes: tuple[str, ...] = setting(("position", "velocity", "effort"), "that it has")
    acceleration: float = setting(10.0, "that its demands may have", unit="rad/s^2")
    says: str = setting("", "what it logs in each cycle")
    trace: str = setting("", "file that gets a line of JSON for each call and violation")


class ArmDriver(RobotDriver[ArmSettings]):
    """An arm whose joints do what they are told, with a lag."""

    NAME, SETTINGS = "arm", ArmSettings

    def __init__(self, settings: ArmSettings | None = None, clock: Clock = SYSTEM_CLOCK) -> None:
        super().__init__(settings or ArmSettings())
        self._clock = clock
        n = self.settings.joint_count
        self.position, self.speed = np.zeros(n), np.zeros(n)
        self.violations: list[str] = []
        self.told: list[str] = []
        self.demands: list[Demand] = []
        self.alarms: tuple[Alarm, ...] = ()
        self.is_silent = self.is_unplugged = self.is_driven = self.is_open = False
        self.is_blocked = False
        self.runs_at: Array | None = None
        self.gives = np.zeros(n)
        self.stays_alarmed = False
        self.says_velocity = True
        self.on_start: Callable[[], object] = lambda: None
        self._before: Demand | None = None
        self._velocity = np.zeros(n)

    @property
    def joints(self) -> Sequence[str]:
        return [f"j{i + 1}" for i in range(self.settings.joint_count)]

    @property
    def limits(self) -> Sequence[JointLimit]:
        return [JointLimit(name, -2.0, 2.0, 1.0, 50.0) for name in self.joints]

    @property
    def modes(self) -> frozenset[Mode]:
        return frozenset(Mode(name) for name in self.settings.modes)

    @property
    def period(self) -> float:
        return self.settings.period

    @property
    def device_timeout(self) -> float:
        return self.settings.device_timeout or math.inf

    def open(self) -> None:
        self._called("open")
        if self.is_unplugged:
            raise TransportError("arm: no such port.")
        if self.is_silent:
            raise NoAnswer("arm: nothing answers.")
        self.is_open = True

    def idle(self) -> Feedback:
        self._called("idle")
        return self._answer()

    def start(self) -> None:
        self._called("start")
        end = self._clock() + self.settings.start_time
        while self._clock() < end and not self.interrupted():
            self._clock.sleep(0.005)
        self.on_start()
        if self.alarms:
            raise DeviceAlarm(f"arm: {self.alarms[0].text}")
        if self.is_silent:
            raise NoAnswer("arm: silent")
        self.is_driven, self._before, self._velocity = True, None, np.zeros(len(self.position))

    def cycle(self, demand: Demand) -> Feedback:
        self._called("cycle", [demand.mode.value, *demand.values.tolist()])
        if self.settings.says:
            logging.getLogger("ada_hardware").warning(self.settings.says)
        self._judge(demand)
        self.demands.append(demand)
        self._obey(demand)
        return self._answer()

    def stop(self) -> None:
        self._called("stop")
        self.is_driven = False
        self.speed = np.zeros(len(self.position))

    def reset(self) -> None:
        self._called("reset")
        if self.stays_alarmed:
            raise DeviceAlarm("arm: the button is pressed.")
        self.alarms = ()

    def close(self) -> None:
        self._called("close")
        self.is_open = False

    def _answer(self) -> Feedback:
        if self.is_unplugged:
            raise TransportError("arm: unplugged")
        nothing = np.full(len(self.position), math.nan)
        if self.is_silent:
            self.counts.missed += 1
            self.counts.last_problem = "no answer"
            return Feedback(self._clock(), nothing, nothing, nothing, is_fresh=False)
        self.counts.received += 1
        velocity = self.speed.copy() if self.says_velocity else nothing
        numbers = self.position.copy(), velocity, self.gives.copy()
        values = MappingProxyType({"battery [V]": 11.0})  # read-only, as those of the PA-10
        return Feedback(self._clock(), *numbers, True, self.is_driven, self.alarms, values)

    def _obey(self, demand: Demand) -> None:
        if self.runs_at is not None:
            self.speed = self.runs_at.copy()
            return
        passed = self.period  # whatever the clock says: a late machine does not make the arm fast
        if demand.mode is Mode.POSITION:
            wanted = (demand.values - self.position) / passed
        elif demand.mode is Mode.VELOCITY:
            wanted = demand.values
        else:
            wanted = self.speed + demand.values * passed  # unit inertia
        if self.is_blocked:
            wanted = np.zeros(len(wanted))
        lag = self.settings.lag
        share = 1.0 if not lag or demand.mode is not Mode.VELOCITY else min(1.0, passed / lag)
        self.speed = self.speed + share * (wanted - self.speed)
        self.position = self.position + self.speed * passed

    def _judge(self, demand: Demand) -> None:
        if not self.is_driven:
            self._violated("a demand while not driven")
        if not np.isfinite(demand.values).all():
            self._violated(f"not finite: {demand.values}")
            return
        before, period = self._before, self.period
        self._before = demand
        if demand.mode is Mode.EFFORT:
            self._over("effort", np.abs(demand.values), 50.0)
            return
        velocity: Array = demand.values
        if demand.mode is Mode.POSITION:
            self._over("position", np.abs(demand.values), 2.0)
            start = before.values if before is not None and before.mode is Mode.POSITION else self.position
            velocity = (demand.values - start) / period
        self._over("velocity", np.abs(velocity), 1.0)
        if before is None or before.mode is not Mode.EFFORT:
            self._over("acceleration", np.abs(velocity - self._velocity) / period, self.settings.acceleration)
        self._velocity = velocity

    def _over(self, what: str, values: Array, limit: float) -> None:
        if (values > limit * (1.0 + 1e-6) + ROUNDING).any():
            self._violated(f"{what} {values} over {limit}")

    def _violated(self, text: str) -> None:
        self.violations.append(text)
        self._trace("violation", text)

    def _called(self, call: str, content: object = None) -> None:
        self.told.append(call)
        self._trace(call, content)

    def _trace(self, call: str, content: object = None) -> None:
        if self.settings.trace:
            with Path(self.settings.trace).open("a", encoding="utf-8") as file:
                file.write(json.dumps([self._clock(), call, content]) + "\n")
