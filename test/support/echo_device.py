# SPDX-License-Identifier: Apache-2.0
"""A device that says what it is told, for tests of wires and hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ada_hardware.emulation.emulator import Emulator, TimedReply, Violation
from ada_robot.settings import setting


def frame(content: bytes) -> bytes:
    body = bytes([len(content) + 2]) + content
    return body + bytes([sum(body) & 0xFF])


def is_whole(data: bytes) -> bool:
    return len(data) >= 2 and data[0] == len(data) and sum(data[:-1]) & 0xFF == data[-1]


@dataclass(frozen=True)
class EchoDeviceSettings:
    delay: float = setting(0.0, "of answers", unit="s", lower=0.0)
    pulse: float = setting(0.0, "sends by itself at such intervals; 0: never", unit="s", lower=0.0)
    greeting: str = setting("hello", "what it sends then")


class EchoStream(Emulator[EchoDeviceSettings]):
    """Echo on a stream. It must never be told X."""

    NAME, WIRE = "echo", "stream"
    SETTINGS = EchoDeviceSettings
    FAULTS: ClassVar[Mapping[str, str]] = {"deaf": "1: hears nothing"}

    def __init__(self, settings: EchoDeviceSettings) -> None:
        super().__init__(settings)
        self.heard: list[tuple[float, bytes]] = []
        self.advances: list[float] = []
        self._rest = b""
        self._is_deaf = False

    def receive(self, data: bytes, now: float) -> list[TimedReply]:
        if self._is_deaf:
            return []
        self._rest += data
        replies: list[TimedReply] = []
        while self._rest:
            length = self._rest[0]
            if length >= 2 and len(self._rest) < length:
                break
            one = self._rest[:length]
            if not is_whole(one):
                self._rest = self._rest[1:]
                continue
            self._rest = self._rest[length:]
            replies += self._echo(one, now)
        return replies

    def _echo(self, one: bytes, now: float) -> list[TimedReply]:
        self.heard.append((now, one))
        if one[1:-1] == b"X":
            self.violations.append(Violation(now, "it was told X"))
        return [TimedReply(one, self.settings.delay)]

    def advance(self, now: float) -> list[TimedReply]:
        self.advances.append(now)
        return [TimedReply(frame(self.settings.greeting.encode()))] if self.settings.pulse else []

    @property
    def tick(self) -> float:
        return self.settings.pulse or super().tick

    def fault(self, name: str, value: float) -> None:
        self._is_deaf = bool(value)

    def state(self) -> dict[str, object]:
        return {"heard": len(self.heard), "greeting": self.settings.greeting, "is_deaf": self._is_deaf}


class EchoPackets(EchoStream):
    """The same in packets."""

    WIRE = "packets"

    def receive(self, data: bytes, now: float) -> list[TimedReply]:
        return self._echo(data, now) if is_whole(data) and not self._is_deaf else []
