# SPDX-License-Identifier: Apache-2.0
"""Emulated device on a connection with faults: inputs and timed outputs. No I/O, reproducible.

Used by `in_process` (connection for a driver) and `host` (pseudo-terminal or UDP port). Faults are loss, corruption,
truncation, delay, duplication, reordering. On streams, each write counts as a frame; on packet connections, each
packet. UDP and ARCNET themselves drop damaged packets: there, `corrupt` and `half` are harder than reality.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Mapping
from typing import Any, NamedTuple

from ada_dynamics.errors import InputError, unknown_name
from ada_hardware.emulation.emulator import Emulator, TimedReply

COMMANDS, ANSWERS = "_commands", "_answers"
BOTH_WAYS: Mapping[str, str] = {
    "drop": "fraction of frames that are lost",
    "corrupt": "fraction of bytes that are changed",
    "half": "fraction of frames that are truncated",
    "delay": "delay in each direction [s]",
    "jitter": "largest random additional delay in each direction [s]",
    "duplicate": "fraction of frames that arrive twice",
    "reorder": "fraction of frames that arrive after the next one",
}
WIRE_FAULTS: Mapping[str, str] = {
    **BOTH_WAYS,
    "silence": "1: the device receives, but its answers are lost",
    "disconnect": "1: the cable is unplugged, the port disappears",
}
"""Faults of connections with descriptions. Those of BOTH_WAYS apply to both directions; with _commands or _answers
appended, to one. 0 clears a fault."""

_SHARES = ("drop", "corrupt", "half", "duplicate", "reorder", "silence", "disconnect")
_LONGEST_HOLD = 0.05  # [s] that a frame to be reordered waits for the next one
SHORTEST_TICK = 1e-5  # [s] lower limit of an emulator's tick
LONGEST_CATCH_UP = 60.0  # [s] of missed ticks that are executed; older ones are skipped


class Arrival(NamedTuple):
    """Frame that arrives."""

    time: float  # time of arrival [s]
    data: bytes  # received bytes


class FaultyDirection:
    """One direction of a connection with faults.

    Attributes:
        values: active faults by name.
    """

    def __init__(self, seed: int, *, is_stream: bool) -> None:
        """Start without faults.

        Args:
            seed: seed of all random numbers.
            is_stream: bytes keep their order, except for `reorder`.
        """
        self.values: dict[str, float] = {}
        self._random = random.Random(seed)
        self._is_stream = is_stream
        self._queue: list[tuple[float, int, bytes]] = []
        self._count = 0
        self._newest = -math.inf  # arrival time of the last frame of a stream
        self._held: Arrival | None = None

    def send(self, data: bytes, time: float) -> None:
        """Send a frame that arrives at `time` [s] without faults."""
        self._release_held(time)
        for frame in self._changed(data):
            later = self._value("delay") + self._value("jitter") * self._random.random()
            if self._held is None and self._happens("reorder"):
                self._held = Arrival(time + later + _LONGEST_HOLD, frame)
                continue
            self._put(time + later, frame)
            if self._held is not None:
                self._put(time + later, self._held.data)
                self._held = None

    def arrived(self, now: float) -> list[Arrival]:
        """Return the frames that have arrived up to now, in order, each once."""
        self._release_held(now)
        found = []
        while self._queue and self._queue[0][0] <= now:
            time, _, data = heapq.heappop(self._queue)
            found.append(Arrival(time, data))
        return found

    def next_time(self) -> float:
        """Time of the next event [s]; inf without pending frames."""
        return min(self._queue[0][0] if self._queue else math.inf, self._held.time if self._held else math.inf)

    def clear(self) -> None:
        """Drop all pending frames."""
        self._queue.clear()
        self._held = None

    # --- helpers --------------------------------------------------------------------------------------------------
    def _value(self, name: str) -> float:
        return self.values.get(name, 0.0)

    def _happens(self, name: str) -> bool:
        share = self.values.get(name, 0.0)
        return share > 0.0 and self._random.random() < share

    def _release_held(self, now: float) -> None:
        """Send the frame held for reordering if its time is over."""
        if self._held is not None and self._held.time <= now:
            self._put(self._held.time, self._held.data)
            self._held = None

    def _changed(self, data: bytes) -> list[bytes]:
        if self._happens("drop") or self._value("silence"):
            return []
        if len(data) > 1 and self._happens("half"):
            data = data[: 1 + int(self._random.random() * (len(data) - 1))]
        share = self._value("corrupt")
        if share:
            data = bytes(
                one ^ (1 + int(self._random.random() * 255)) if self._random.random() < share else one for one in data
            )
        return [data, data] if self._happens("duplicate") else [data]

    def _put(self, time: float, data: bytes) -> None:
        if self._is_stream:
            time = self._newest = max(time, self._newest)
        self._count += 1
        heapq.heappush(self._queue, (time, self._count, data))


def base_name(name: str) -> str | None:
    """Return the entry of WIRE_FAULTS for a name with or without a direction; None if there is none."""
    if name in WIRE_FAULTS:
        return name
    for suffix in (COMMANDS, ANSWERS):
        if name.endswith(suffix) and name[: -len(suffix)] in BOTH_WAYS:
            return name[: -len(suffix)]
    return None


def _checked(name: str, base: str, value: object) -> float:
    upper = 1.0 if base in _SHARES else math.inf
    if isinstance(value, bool):
        value = float(value)
    if not isinstance(value, (int, float)) or not 0.0 <= value <= upper or math.isinf(value):
        allowed = "from 0 to 1" if base in _SHARES else "not negative"
        text = f"fault {name} is {value!r:.80}; required is a number, {allowed} ({WIRE_FAULTS[base]})."
        raise InputError(text, field=name, value=value, allowed=allowed)
    return float(value)


class EmulatedLink:
    """Device on a connection with faults; the owner advances the time.

    Attributes:
        emulator: the device.
        is_disconnected: the cable is unplugged.
    """

    def __init__(
        self, emulator: Emulator[Any], now: float, *, faults: Mapping[str, float] | None = None, seed: int = 0
    ) -> None:
        """Connect a device.

        Args:
            emulator: the device.
            now: present time [s].
            faults: faults of connection or device, by name.
            seed: seed of random connection faults.

        Raises:
            InputError: unknown fault or invalid value.
        """
        is_stream = emulator.WIRE == "stream"
        self._commands = FaultyDirection(2 * seed, is_stream=is_stream)  # to the device
        self._answers = FaultyDirection(2 * seed + 1, is_stream=is_stream)  # to the host
        self.emulator, self.is_disconnected = emulator, False
        self._now = now
        self._next_tick = now + self._tick()
        for name, value in (faults or {}).items():
            self.fault(name, value)

    def put(self, data: bytes, now: float) -> None:
        """Send a frame or packet of the host."""
        self.run(now)
        if not self.is_disconnected:
            self._commands.send(data, self._now)
            self._deliver(self._now)

    def take(self, now: float) -> list[Arrival]:
        """Return all data that have arrived at the host since the last call."""
        self.run(now)
        return self._answers.arrived(self._now)

    def run(self, now: float) -> None:
        """Advance to the present time: ticks of the device and arrivals at it, in order of time."""
        self._now = max(now, self._now)
        if self._now - self._next_tick > LONGEST_CATCH_UP:
            self._next_tick = self._now - LONGEST_CATCH_UP
        while True:
            time = min(self._next_tick, self._commands.next_time())
            if time > self._now:
                return
            self._deliver(time)
            if time >= self._next_tick:
                self._send(self.emulator.advance(time), time)
                self._next_tick = time + self._tick()

    def next_time(self) -> float:
        """Latest time of the next call of `take` [s]."""
        return min(self._next_tick, self._commands.next_time(), self._answers.next_time())

    # --- faults ---------------------------------------------------------------------------------------------------
    def fault(self, name: str, value: float) -> None:
        """Set a fault of connection or device, or clear it with 0.

        Raises:
            InputError: unknown fault or invalid value.
        """
        base = base_name(name)
        if name in self.emulator.FAULTS:
            self._fault_device(name, value)
        elif base is None:
            raise unknown_name("fault", name, fault_names(type(self.emulator)))
        else:
            self._fault_wire(name, base, _checked(name, base, value))

    def on(self) -> dict[str, float]:
        """Active faults with their values."""
        found = {name: value for name, value in self.emulator.faults.items() if value}
        found |= {"disconnect": 1.0} if self.is_disconnected else {}
        for way, suffix in ((self._commands, COMMANDS), (self._answers, ANSWERS)):
            for name, value in way.values.items():
                found |= {name if name == "silence" else name + suffix: value} if value else {}
        return found

    def clear(self) -> None:
        """Clear all faults."""
        for name in self.on():
            self.fault(name, 0.0)

    def _fault_device(self, name: str, value: float) -> None:
        device = self.emulator
        before = device.faults[name]
        try:
            if not math.isfinite(value):
                raise ValueError
            device.fault(name, value)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            device.fault(name, before)
            raise InputError(
                f"fault {name} is {value!r:.80}; required is a number: {device.FAULTS[name]}.", field=name, value=value
            ) from None

    def _fault_wire(self, name: str, base: str, value: float) -> None:
        if base == "disconnect":
            self.is_disconnected = value > 0.0
            self._commands.clear()
            self._answers.clear()
        elif base == "silence":
            self._answers.values[base] = value
        else:
            for way, suffix in ((self._commands, COMMANDS), (self._answers, ANSWERS)):
                if name in (base, base + suffix):
                    way.values[base] = value

    # --- helpers --------------------------------------------------------------------------------------------------
    def _tick(self) -> float:
        return max(self.emulator.tick, SHORTEST_TICK)

    def _deliver(self, time: float) -> None:
        for arrival in self._commands.arrived(time):
            self._send(self.emulator.receive(arrival.data, time), time)

    def _send(self, replies: list[TimedReply], time: float) -> None:
        if not self.is_disconnected:
            for reply in replies:
                self._answers.send(reply.data, time + reply.delay)


def fault_names(emulator: type[Emulator[Any]]) -> dict[str, str]:
    """Return all faults of an emulator and its connection, with descriptions."""
    return {**emulator.FAULTS, **WIRE_FAULTS}
