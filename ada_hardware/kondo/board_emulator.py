# SPDX-License-Identifier: Apache-2.0
"""Base of the emulated RCB boards: boot delay, incomplete commands, failed servos.

Assumption (not documented): a board discards an incomplete command after 10 ms without a byte.
"""

from __future__ import annotations

import random
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from ada_dynamics import resources
from ada_hardware.emulation.emulator import Emulator, Reply
from ada_hardware.kondo.angle_map import AngleMap, Board
from ada_hardware.kondo.servo_motion import ServoMotion
from ada_hardware.transport.framing import FrameParser
from ada_robot.settings import setting


@dataclass(frozen=True)
class BoardEmulatorSettings:
    """Settings of an emulated board and the thresholds of its violation checks."""

    angle_map: str = setting("", "angle map file; empty: default of the robot")
    reply_delay: float = setting(0.001, "delay of a reply", unit="s", lower=0.0, upper=10.0)
    boot_time: float = setting(0.0, "time without replies after power-on", unit="s", lower=0.0, upper=60.0)
    max_step: float = setting(30.0, "largest allowed step of a fast position command; 0: any", unit="deg", lower=0.0)
    free_is_allowed: bool = setting(False, "do not report commands that free servos as violations")
    seed: int = setting(0, "seed of the random numbers", lower=0)


S = TypeVar("S", bound=BoardEmulatorSettings)
C = TypeVar("C")
_GAP = 0.010  # [s]


class BoardEmulator(Emulator[S], Generic[S, C]):
    """Emulated boards on a serial line; C is the type of their commands.

    Attributes:
        map: angle map of the servos.
    """

    WIRE: ClassVar[str] = "stream"
    BOARD: ClassVar[Board]
    ANGLE_MAP: ClassVar[str]  # in config/

    def __init__(self, settings: S, parser: FrameParser[C]) -> None:
        """Args: settings of the emulator; parser of the commands. Raises InputError for an invalid angle map."""
        super().__init__(settings)
        self.map = AngleMap.read(settings.angle_map or resources.find("config", self.ANGLE_MAP), self.BOARD)
        self._parser, self._random = parser, random.Random(settings.seed)
        self._last_received: float | None = None
        self._silent_until: float | None = None

    @abstractmethod
    def _execute_received(self, data: bytes) -> list[Reply]:
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
        before = self._faults.get(name, 0.0)
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

    def receive(self, data: bytes, now: float) -> list[Reply]:
        """Execute commands and return the replies."""
        self.advance(now)
        if self._last_received is not None and now - self._last_received > _GAP:
            self._parser.forget()
        self._last_received = now
        if self._silent_until is not None and now < self._silent_until:
            return []
        return self._execute_received(data)

    def advance(self, now: float) -> list[Reply]:
        """Advance running motions to the time `now`."""
        self._time = now
        if self._silent_until is None:
            self._silent_until = now + self.settings.boot_time
        return []
