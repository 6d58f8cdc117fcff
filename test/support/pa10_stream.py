# SPDX-License-Identifier: Apache-2.0
"""A PA-10 under a safe cycle in lock step, and its wire: what is on it is read by struct alone, as it is documented."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np
import pytest
from device_world import DeviceWorld
from peers import pa10_words as words
from peers.pa10_body import SPEEDS as SPEED
from peers.pa10_body import TORQUES as TORQUE

from ada_robot.contract import Demand, Mode
from ada_robot.safety.phases import Phase
from ada_robot.safety.safe_cycle import SafeCycle
from ada_robot.safety.settings import SafetySettings

T = 0.002  # [s]
IN_TORQUE = words.SERVO | words.TORQUE
TORQUE_COUNT = {"ce": TORQUE / 4096.0, "7c": np.full(7, 0.05)}  # [N m] of the joint
ANSWER = {"ce": struct.Struct(">" + "Hihh" * 7 + "H"), "7c": struct.Struct("<" + "Hih" * 7 + "H")}


class Told(NamedTuple):
    """A command C: when, with what mode of all axes, and what each is told; what the arm said last before it."""

    time: float
    mode: int
    torque: np.ndarray  # [N m]
    speed: np.ndarray  # [rad/s]
    effort: np.ndarray  # [N m] in the last answer


class Stream(DeviceWorld):
    """A safe cycle, the driver, the wire with its tap, and the arm, on a clock that nobody waits for."""

    def __init__(
        self, safety: SafetySettings | None = None, variant: str = "ce", device_timeout: float = 0.01, **emulator: Any
    ) -> None:
        super().__init__("pa10", device=emulator, start=10.0, seed=5, variant=variant, device_timeout=device_timeout)
        self.arm, self._variant, self._effort = self.device, variant, np.zeros(7)
        self.told: list[Told] = []
        self.tap.on_send, self.tap.on_receive = self._sent, self._received
        self.cycle = SafeCycle(self.driver, safety or SafetySettings(tool_speed=0.0), clock=self.clock)
        self.cycle.open(self.clock.now())
        self.due = self.clock.now()

    def _sent(self, packet: bytes) -> None:
        if packet[5:6] != b"C":
            return
        axes, _ = words.read_cycle(self._variant, packet[words.HEAD :]) or pytest.fail("no cyclic command")
        modes = {axis.mode & 0x07 for axis in axes}
        assert len(modes) == 1, f"axes are told different modes: {axes}"
        torque, speed = np.array([axis.torque for axis in axes]), np.array([axis.speed for axis in axes])
        self.told.append(Told(self.clock.now(), modes.pop(), torque, speed, self._effort))

    def _received(self, packet: bytes) -> bytes:
        if packet[5:6] == b"C":
            width = 4 if self._variant == "ce" else 3
            numbers = ANSWER[self._variant].unpack(packet[words.HEAD :])
            self._effort = np.array(numbers[width - 1 : 7 * width : width]) * TORQUE_COUNT[self._variant]
        return packet

    def activate(self) -> Stream:
        if self.cycle.phase is Phase.STOPPED:
            self.cycle.reset(self.clock.now())
        self.steps(5)
        self.cycle.activate(self.clock.now())
        self.due = self.clock.now()
        return self

    def step(self, mode: Mode | None = None, values: Any = None) -> None:
        now = self.clock.now()
        if callable(values):
            values = values()
        commands = [] if mode is None else [Demand(mode, np.broadcast_to(np.asarray(values, float), 7).copy(), now)]
        self.cycle.step(now, commands)
        self.due = max(self.due + T, self.clock.now())
        self.clock.sleep(self.due - self.clock.now())

    def steps(self, count: int, mode: Mode | None = None, values: Any = None) -> list[Told]:
        begin = len(self.told)
        for _ in range(count):
            self.step(mode, values)
        return self.told[begin:]

    def sleep(self, seconds: float) -> None:
        self.clock.sleep(seconds)
        self.due = self.clock.now()

    def until_rest(self) -> list[Told]:
        begin = len(self.told)
        for _ in range(1000):
            if not self.cycle.phase.is_driven:
                return self.told[begin:]
            self.step()
        raise AssertionError(f"still {self.cycle.phase}")

    @property
    def is_active(self) -> bool:
        return self.cycle.phase is Phase.ACTIVE


def broken_rules(told: list[Told], torque_rate: Any = None, rate: Any = None, speed: Any = None) -> list[str]:
    """What in a stream of commands is no command for an arm whose brakes are open."""
    torque_rate = TORQUE / 0.1 if torque_rate is None else np.broadcast_to(torque_rate, 7)
    rate = SPEED / 0.1 if rate is None else np.broadcast_to(rate, 7)
    speed = SPEED if speed is None else np.broadcast_to(speed, 7)
    count = np.full(7, 0.06)  # [N m]: the largest count of torque, rounding of two
    found = []
    for i, one in enumerate(told):
        before = told[i - 1] if i else None
        if one.mode == IN_TORQUE:
            # a first torque is what the motors gave, by the arm's own words; each next one is near the one before
            base = before.torque if before is not None and before.mode == IN_TORQUE else one.effort
            if (np.abs(one.torque - base) > torque_rate * T * 1.001 + count).any():
                found.append(f"{i}: torques go from {base} to {one.torque}")
        if one.mode == words.SERVO:
            if (np.abs(one.speed) > speed + words.SPEED).any():
                found.append(f"{i}: speeds {one.speed}")
            if before is not None and before.mode == words.SERVO:
                change = np.abs(one.speed - before.speed)
                if (change > rate * T * 1.001 + words.SPEED).any():
                    found.append(f"{i}: speeds go from {before.speed} to {one.speed}")
        if (
            one.mode == words.BRAKE
            and before is not None
            and before.mode == words.SERVO
            and (np.abs(before.speed) > 0.01).any()
        ):
            found.append(f"{i}: brakes close at {before.speed}")
    return found
