# SPDX-License-Identifier: Apache-2.0
"""A PA10-7CE's controller on a wire with several hosts, and a judge of what each of them sends."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from peers import pa10_words as words

from ada_dynamics.clock import ManualClock
from ada_hardware.pa10.driver import Pa10Driver
from ada_hardware.pa10.settings import Pa10Settings
from ada_hardware.transport.wires import Wire
from ada_robot.contract import Demand, Mode
from ada_robot.safety.phases import Phase
from ada_robot.safety.safe_cycle import SafeCycle
from ada_robot.safety.settings import SafetySettings

HELD, POWER, RELEASED, LIMIT_FREE = words.DEAD_MAN_ON, words.VOLTAGE_ON, words.EMERGENCY_STOP, words.LIMIT_SWITCH
WELL = HELD | POWER | RELEASED | LIMIT_FREE  # the controller's word of an arm with which all is well
START = (0.0, 0.6, 0.0, 1.5, 0.0, 1.04, 0.0)


class Frame(NamedTuple):
    """What went over the wire to the controller."""

    time: float
    host: str
    data: bytes

    @property
    def kind(self) -> str:
        return chr(self.data[5])

    @property
    def axes(self) -> list[words.AxisCommand]:
        """Commands of a C; none of another packet."""
        found = words.read_cycle("ce", self.data[words.HEAD :]) if self.kind == "C" else None
        return [] if found is None else found[0]

    @property
    def has_servos_on(self) -> bool:
        return any(axis.mode & words.SERVO for axis in self.axes)

    @property
    def moves(self) -> bool:
        return self.has_servos_on and any(axis.speed or axis.mode & words.TORQUE for axis in self.axes)


class Bus:
    """A wire, its controller, the arm, and a clock that moves only where somebody waits."""

    def __init__(self, *, overhears: bool = True, shares_answers: bool = True, servo_on: float = 0.0) -> None:
        """Let hosts see each other's frames and answers, as on one card; servos take so long [s] to come on."""
        self.clock, self.latency = ManualClock(100.0), 0.0003
        self.frames: list[Frame] = []
        self.word, self.axis_words = WELL, [0] * 7
        self.silent_on = ""
        self.each_time: Callable[[Frame], None] = lambda frame: None
        self._overhears, self._shares, self._servo_on = overhears, shares_answers, servo_on
        self._ports: list[HostPort] = []
        self._is_in_control = False
        self._on_since: float | None = None
        self._q, self._speeds = list(START), [0.0] * 7

    @property
    def now(self) -> float:
        return self.clock.now()

    def host(self, name: str) -> HostPort:
        port = HostPort(self, name)
        self._ports.append(port)
        return port

    def of(self, host: str) -> list[Frame]:
        return [frame for frame in self.frames if frame.host == host]

    @property
    def speed(self) -> float:
        return max(map(abs, self._speeds))

    def wait(self, duration: float) -> None:
        self._q = [q + v * duration for q, v in zip(self._q, self._speeds, strict=True)]
        self.clock.advance(duration)

    def take(self, port: HostPort, data: bytes) -> None:
        assert data[:2] == b"\xff\xfe" and data[2] == 254 - len(data[6:]), data.hex()
        frame = Frame(self.now, port.name, data)
        self.frames.append(frame)
        payload = self._obey(frame)
        for other in self._ports:
            if other is not port and self._overhears:
                other.heard.append(data)
            if frame.kind not in self.silent_on and (other is port or self._shares):
                answer = bytes((0xFE, 0xFF, 254 - len(payload), 0)) + data[4:6] + payload
                other.queue.append((self.now + self.latency, answer))
        self.each_time(frame)

    def _obey(self, frame: Frame) -> bytes:
        if frame.kind == "C":
            return self._cycle(frame)
        if frame.kind in "SE":
            self._is_in_control = frame.kind == "S"
            self._on_since, self._speeds = None, [0.0] * 7  # brakes
        return frame.data[6:] if frame.kind == "A" else b""

    def _cycle(self, frame: Frame) -> bytes:
        wants = all(axis.is_driven for axis in frame.axes)
        if not (self._is_in_control and wants):
            self._on_since = None
        elif self._on_since is None:
            self._on_since = self.now
        is_on = self._on_since is not None and self.now - self._on_since >= self._servo_on
        self._speeds = [axis.speed if is_on else 0.0 for axis in frame.axes]
        word = (0 if self._is_in_control else words.NOT_CONTROLLABLE) | (0 if is_on else words.POWER_OFF)
        own = self.word | (0 if self._is_in_control else words.CONTROLLER_OFF)
        angles = [round(q / words.ANGLE) for q in self._q]
        return words.cycle_answer("ce", [word | one for one in self.axis_words], angles, self._speeds, [0.0] * 7, own)


class HostPort(Wire):
    """One program on the wire."""

    def __init__(self, bus: Bus, name: str) -> None:
        self.url, self.name = f"bus:{name}", name
        self._bus = bus
        self.queue: deque[tuple[float, bytes]] = deque()
        self.heard: list[bytes] = []

    def send(self, packet: bytes) -> None:
        self._bus.take(self, packet)

    def receive(self, timeout: float) -> bytes | None:
        bus = self._bus
        if self.queue and self.queue[0][0] <= bus.now + timeout:
            at, data = self.queue.popleft()
            bus.wait(max(at - bus.now, 0.0))
            return data
        bus.wait(timeout)
        return None

    def overheard(self) -> Sequence[bytes]:
        found, self.heard = self.heard, []
        return found

    def discard_input(self) -> None:
        self.queue.clear()
        self.heard.clear()

    def close(self) -> None:
        self.discard_input()


def raw(kind: str, sequence: int, payload: bytes = b"") -> bytes:
    return words.packet(sequence, kind, payload, of_host=True)


def cyclic(sequence: int, mode: int = words.BRAKE, speed: int = 0) -> bytes:
    """A command C to all axes alike, of a program that is not ours."""
    return raw("C", sequence, struct.pack(">" + 7 * "Hhh" + "H", *(7 * [mode, 0, speed]), 0))


class Program:
    """The safe cycle of one program at the bus, in lock step."""

    def __init__(self, bus: Bus, settings: Pa10Settings | None = None, name: str = "ours") -> None:
        self.bus, self.port = bus, bus.host(name)
        self.driver = Pa10Driver(settings or Pa10Settings(), wire=self.port, clock=bus.clock)
        self.cycle = SafeCycle(self.driver, SafetySettings(record_seconds=0.0, tool_speed=0.0), clock=bus.clock)

    def open(self) -> Program:
        self.cycle.open(self.bus.now)
        self.steps(5)
        return self

    def step(self, speed: float | None = None) -> None:
        due = self.bus.now + self.driver.period
        commands = [] if speed is None else [Demand(Mode.VELOCITY, np.full(7, speed), self.bus.now)]
        self.cycle.step(self.bus.now, commands)
        self.bus.wait(max(due - self.bus.now, 0.0))

    def steps(self, count: int, speed: float | None = None) -> None:
        for _ in range(count):
            self.step(speed)

    def moving(self, speed: float = 0.36) -> Program:
        self.open()
        self.cycle.activate(self.bus.now)
        self.steps(100, speed)
        assert self.cycle.phase is Phase.ACTIVE, self.cycle.reason
        assert abs(self.bus.speed - speed) < 1e-3
        return self
