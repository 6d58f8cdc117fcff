# SPDX-License-Identifier: Apache-2.0
"""What emulated boards of all kinds have in common: silence after power-on, half commands, dead servos.

Assumption, as the documents do not say: a command that is not complete is forgotten after 10 ms without a byte.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Generic, TypeVar

from ada_dynamics import resources
from ada_hardware.emulation.emulator import Emulator, Reply
from ada_hardware.kondo.angle_map import AngleMap, Board
from ada_hardware.transport.framing import FrameParser

S = TypeVar("S")
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

    def __init__(self, settings: S, parser: FrameParser[C], angle_map: str, boot_time: float) -> None:
        """Switch them on.

        Args:
            settings: of the device.
            parser: of commands.
            angle_map: file; "": that of the robot.
            boot_time: of silence [s].

        Raises:
            InputError: the angle map is unusable.
        """
        super().__init__(settings)
        self.map = AngleMap.read(angle_map or resources.find("config", self.ANGLE_MAP), self.BOARD)
        self._parser, self._boot_time = parser, boot_time
        self._heard: float | None = None
        self._silent_until: float | None = None

    @abstractmethod
    def _obeyed(self, data: bytes) -> list[Reply]:
        """Obey the commands that these bytes complete, and answer."""

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
            self._silent_until = now + self._boot_time
        return []
