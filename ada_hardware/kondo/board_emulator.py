# SPDX-License-Identifier: Apache-2.0
"""Base of the emulated RCB boards: servo motion, loss of power, incomplete commands, failed servos.

Assumption (not documented): a board discards an incomplete command after 10 ms without a byte.
"""

from __future__ import annotations

import math
import random
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from ada_dynamics import resources
from ada_hardware.emulation.emulator import Emulator, TimedReply
from ada_hardware.kondo.angle_map import AngleMap, Board
from ada_hardware.transport.framing import FrameParser
from ada_robot.settings import setting

C = TypeVar("C")
_GAP = 0.010  # [s]


class ServoMotion:
    """Motion of one emulated servo.

    Attributes:
        target: target position, in the unit of the board.
        is_free: the servo exerts no torque.
        is_dead: the servo has failed and does not move.
    """

    def __init__(self, position: float) -> None:
        self.target = position
        self.is_free = self.is_dead = False
        self._start, self._begin, self._end = position, 0.0, 0.0

    def at(self, now: float) -> float:
        """Return the position at a time [s]."""
        if now >= self._end:
            return self.target
        if now <= self._begin:
            return self._start
        return self._start + (self.target - self._start) * (now - self._begin) / (self._end - self._begin)

    def go(self, target: float, duration: float, now: float) -> None:
        """Move to a target within `duration` seconds; ends the free state."""
        present = self.at(now)
        self.is_free = False
        if self.is_dead:
            self._stay(present, now)
            return
        self._start, self.target = present, target
        self._begin, self._end = now, now + max(duration, 0.0)

    def release(self, now: float) -> None:
        """Free the servo; it keeps its position since no load is emulated."""
        self._stay(self.at(now), now)
        self.is_free = True

    def set_failed(self, now: float, is_dead: bool) -> None:
        """Set or clear the failure."""
        self._stay(self.at(now), now)
        self.is_dead = is_dead

    def _stay(self, position: float, now: float) -> None:
        self._start = self.target = position
        self._begin = self._end = now


@dataclass(frozen=True)
class BoardEmulatorSettings:
    """Settings of an emulated board and the thresholds of its violation checks."""

    angle_map: str = setting("", "angle map file; empty: default of the robot")
    reply_delay: float = setting(0.001, "delay of a reply", unit="s", lower=0.0, upper=10.0)
    max_step: float = setting(30.0, "largest allowed step of a fast position command; 0: any", unit="deg", lower=0.0)
    free_is_allowed: bool = setting(False, "do not report commands that free servos as violations")
    seed: int = setting(0, "seed of the random numbers", lower=0)


S = TypeVar("S", bound=BoardEmulatorSettings)


class BoardEmulator(Emulator[S], Generic[S, C]):
    """Emulated boards on a serial line; C is the type of their commands.

    Attributes:
        map: angle map of the servos.
    """

    WIRE: ClassVar[str] = "stream"
    BOARD: ClassVar[Board]
    ANGLE_MAP: ClassVar[str]  # in config/

    def __init__(self, settings: S, parser: FrameParser[C]) -> None:
        """Read the angle map; InputError if it is invalid. `parser`: parser of the commands."""
        super().__init__(settings)
        self.map = AngleMap.read(settings.angle_map or resources.find("config", self.ANGLE_MAP), self.BOARD)
        self._parser, self._random = parser, random.Random(settings.seed)
        self._last_received: float | None = None
        self._silent_until = -math.inf  # [s]

    @abstractmethod
    def _execute_received(self, data: bytes) -> list[TimedReply]:
        """Execute the commands completed by `data` and return the replies."""

    @abstractmethod
    def _motor(self, number: int) -> ServoMotion | None:
        """Return the servo with the number used by the fault "dead_servo", or None."""

    @abstractmethod
    def _motors(self) -> dict[str, ServoMotion]:
        """Servos by joint name."""

    @abstractmethod
    def _angle(self, position: float) -> float:
        """Convert the position of a `ServoMotion` to a servo angle [deg]."""

    def _lose_power(self, silence: float) -> None:
        """Switch the power off: the servos are free, and the board does not reply for `silence` seconds."""
        for motor in self._motors().values():
            motor.release(self._time)
        self._parser.forget()
        self._silent_until = self._time + silence

    def fault(self, name: str, value: float) -> None:
        """Set or clear a fault."""
        before = self.faults.get(name, 0.0)
        super().fault(name, value)
        if name == "dead_servo":
            for number, is_dead in ((int(before), False), (int(value), True)):
                motor = self._motor(number)
                if motor is not None:
                    motor.set_failed(self._time, is_dead)
        elif name == "reboot" and value:
            self._lose_power(value)

    def state(self) -> dict[str, object]:
        """Servo angles and targets by joint, and the joints with free servos."""
        motors = self._motors()
        return {
            "angles": {joint: round(self._angle(motor.at(self._time)), 4) for joint, motor in motors.items()},
            "targets": {joint: round(self._angle(motor.target), 4) for joint, motor in motors.items()},
            "free": [joint for joint, motor in motors.items() if motor.is_free],
        }

    def _check_free(self, whose: str) -> None:
        if not self.settings.free_is_allowed:
            self._report_violation(f"{whose}: servo freed although free_is_allowed is not set")

    def receive(self, data: bytes, now: float) -> list[TimedReply]:
        """Execute commands and return the replies."""
        self.advance(now)
        if self._last_received is not None and now - self._last_received > _GAP:
            self._parser.forget()
        self._last_received = now
        if now < self._silent_until:
            return []
        return self._execute_received(data)

    def advance(self, now: float) -> list[TimedReply]:
        """Advance running motions to the time `now`."""
        self._time = now
        return []
