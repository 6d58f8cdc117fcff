# SPDX-License-Identifier: Apache-2.0
"""Base of all emulated boards: silence after power-on, half commands, dead servos.

Assumption, as the documents do not say: a command that is not complete is forgotten after 10 ms without a byte.
"""

from __future__ import annotations

import random
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from ada_dynamics import resources
from ada_dynamics.settings import setting
from ada_hardware.emulation.emulator import Emulator, Reply
from ada_hardware.kondo.angle_map import AngleMap, Board
from ada_hardware.kondo.servo_motion import ServoMotion
from ada_hardware.transport.framing import FrameParser


@dataclass(frozen=True)
class BoardEmulatorSettings:
    """How emulated boards are built, and what they take for wrong."""

    angle_map: str = setting("", "file of the angle map; empty: that of the robot")
    reply_delay: float = setting(0.001, "before a board answers", unit="s", lower=0.0, upper=10.0)
    boot_time: float = setting(0.0, "of silence after power-on", unit="s", lower=0.0, upper=60.0)
    max_step: float = setting(30.0, "that a position may be away, to be reached at once; 0: any", unit="deg", lower=0.0)
    free_is_allowed: bool = setting(False, "whether servos may be commanded to let go")
    seed: int = setting(0, "of what is random", lower=0)


S = TypeVar("S", bound=BoardEmulatorSettings)
C = TypeVar("C")
_GAP = 0.010  # [s]


class BoardEmulator(Emulator[S], Generic[S, C]):
    """Boards on a serial line that take commands of type C.

    Attributes:
        map: their servos.
    """

    WIRE: ClassVar[str] = "stream"
    BOARD: ClassVar[Board]
    ANGLE_MAP: ClassVar[str]  # in config/

    def __init__(self, settings: S, parser: FrameParser[C]) -> None:
        """Switch them on.

        Args:
            settings: of the device.
            parser: of commands.

        Raises:
            InputError: the angle map is unusable.
        """
        super().__init__(settings)
        self.map = AngleMap.read(settings.angle_map or resources.find("config", self.ANGLE_MAP), self.BOARD)
        self._parser, self._random = parser, random.Random(settings.seed)
        self._heard: float | None = None
        self._silent_until: float | None = None

    @abstractmethod
    def _obeyed(self, data: bytes) -> list[Reply]:
        """Obey the commands that these bytes complete, and answer."""

    @abstractmethod
    def _motor(self, number: int) -> ServoMotion | None:
        """A servo by its number, as the fault "dead_servo" has it; None: there is none."""

    @abstractmethod
    def _motors(self) -> dict[str, ServoMotion]:
        """The servos by their joints."""

    @abstractmethod
    def _angle(self, position: float) -> float:
        """Servo angle of a servo's position [deg]."""

    def _lose_power(self, silence: float) -> None:
        """Switch off for a time [s]: servos are free."""
        for motor in self._motors().values():
            motor.release(self._time)
        self._parser.forget()
        self._silent_until = self._time + silence

    def fault(self, name: str, value: float) -> None:
        """Switch a fault on or off."""
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
        """Servo angles by joint, where they turn to, which are free."""
        motors = self._motors()
        return {
            "angles": {joint: round(self._angle(motor.at(self._time)), 4) for joint, motor in motors.items()},
            "targets": {joint: round(self._angle(motor.target), 4) for joint, motor in motors.items()},
            "free": [joint for joint, motor in motors.items() if motor.is_free],
        }

    def _judge_free(self, whose: str) -> None:
        if not self.settings.free_is_allowed:
            self._accuse(f"{whose}: let go, without having been asked for")

    def receive(self, data: bytes, now: float) -> list[Reply]:
        """Obey commands, and answer."""
        self.advance(now)
        if self._heard is not None and now - self._heard > _GAP:
            self._parser.forget()
        self._heard = now
        if self._silent_until is not None and now < self._silent_until:
            return []
        return self._obeyed(data)

    def advance(self, now: float) -> list[Reply]:
        """Go on with motions."""
        self._time = now
        if self._silent_until is None:
            self._silent_until = now + self.settings.boot_time
        return []
