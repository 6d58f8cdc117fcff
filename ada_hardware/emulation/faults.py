# SPDX-License-Identifier: Apache-2.0
"""Faults of wires: loss, damage, halves, noise, delay, doubling, order. Sans I/O; the same from the same seed.

On streams each piece that is sent counts as a frame; on packet wires each packet does. UDP and ARCNET themselves drop
packets that arrive damaged: `corrupt` and `half` on packet wires are harder than what they do.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Mapping
from typing import NamedTuple

from ada_dynamics.errors import InputError, unknown_name

COMMANDS, ANSWERS = "_commands", "_answers"
BOTH_WAYS: Mapping[str, str] = {
    "drop": "share of frames that get lost",
    "corrupt": "share of bytes that arrive changed",
    "half": "share of frames of which only the first part arrives",
    "noise": "random bytes per second between frames; on packet wires in packets of 32",
    "delay": "later by so much, each way [s]",
    "jitter": "later by up to so much, at random, each way [s]",
    "duplicate": "share of frames that arrive twice",
    "reorder": "share of frames that arrive after the next one",
}
WIRE_FAULTS: Mapping[str, str] = {
    **BOTH_WAYS,
    "silence": "1: the device hears, but nothing of its answers arrives",
    "disconnect": "1: the cable is out, the port is gone",
}
"""Faults of wires with what each does. Those of BOTH_WAYS concern both ways; with _commands or _answers behind the name
only what goes to the device, or what comes from it. 0 is off."""

_SHARES = ("drop", "corrupt", "half", "duplicate", "reorder", "silence", "disconnect")
_NOISE_PACKET = 32  # [bytes]
_LONGEST_HOLD = 0.05  # [s] a frame waits to be overtaken, if no other follows


class Arrival(NamedTuple):
    """A frame that arrives.

    Attributes:
        time: when [s].
        data: what of it arrives.
    """

    time: float
    data: bytes


class FaultyWay:
    """One direction of a wire: frames come out later, damaged, or not at all.

    Attributes:
        values: the faults of this way by name; missing ones are off.
    """

    def __init__(self, seed: int, *, is_stream: bool) -> None:
        """A way without faults.

        Args:
            seed: of all that is random.
            is_stream: bytes keep their order, except for `reorder`.
        """
        self.values: dict[str, float] = {}
        # Two generators, so that faults of frames do not depend on when noise is polled.
        self._random, self._noise = random.Random(seed), random.Random(~seed)
        self._is_stream = is_stream
        self._queue: list[tuple[float, int, bytes]] = []
        self._count = 0
        self._newest = -math.inf  # arrival of the last frame of a stream
        self._held: Arrival | None = None
        self._next_noise = math.inf

    def send(self, data: bytes, time: float) -> None:
        """A frame goes in that would arrive at `time` [s]."""
        self._let_go(time)
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
        """Frames that have arrived up to now, in order, each once."""
        self._let_go(now)
        if self._next_noise <= now:
            self._make_noise(now)
        found = []
        while self._queue and self._queue[0][0] <= now:
            time, _, data = heapq.heappop(self._queue)
            found.append(Arrival(time, data))
        return found

    def next_time(self) -> float:
        """When there is something to do or to take; inf: nothing is under way [s]."""
        times = (self._queue[0][0] if self._queue else math.inf, self._held.time if self._held else math.inf)
        return min(*times, self._next_noise)

    def follow(self, now: float) -> None:
        """Faults were changed: noise starts or ends now."""
        self._next_noise = now + self._noise_interval()

    def clear(self) -> None:
        """Drop all frames under way."""
        self._queue.clear()
        self._held = None

    # --- helpers --------------------------------------------------------------------------------------------------
    def _value(self, name: str) -> float:
        return self.values.get(name, 0.0)

    def _happens(self, name: str) -> bool:
        share = self.values.get(name, 0.0)
        return share > 0.0 and self._random.random() < share

    def _let_go(self, now: float) -> None:
        """Send the frame that waits to be overtaken, if it has waited long enough."""
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
            data = bytes(one ^ self._other_than_zero() if self._random.random() < share else one for one in data)
        return [data, data] if self._happens("duplicate") else [data]

    def _other_than_zero(self) -> int:
        return 1 + int(self._random.random() * 255)

    def _put(self, time: float, data: bytes) -> None:
        if self._is_stream:
            time = self._newest = max(time, self._newest)
        self._count += 1
        heapq.heappush(self._queue, (time, self._count, data))

    def _noise_interval(self) -> float:
        rate = self._value("noise") / (1 if self._is_stream else _NOISE_PACKET)
        return self._noise.expovariate(rate) if rate else math.inf

    def _make_noise(self, now: float) -> None:
        length = 1 if self._is_stream else _NOISE_PACKET
        while self._next_noise <= now:
            noise = bytes(int(self._noise.random() * 256) for _ in range(length))
            # Noise has no delay and overtakes frames under way, but is never inside a frame.
            self._count += 1
            heapq.heappush(self._queue, (self._next_noise, self._count, noise))
            self._next_noise += self._noise_interval()


class WireFaults:
    """The faults of both ways of one wire.

    Attributes:
        commands: the way to the device.
        answers: the way from it.
        is_disconnected: whether the cable is out.
    """

    def __init__(self, faults: Mapping[str, float] | None = None, *, is_stream: bool, seed: int = 0) -> None:
        """A wire.

        Args:
            faults: by name, see WIRE_FAULTS.
            is_stream: else packets.
            seed: of all that is random.

        Raises:
            InputError: an unknown fault, or a value that it cannot have.
        """
        self.commands = FaultyWay(2 * seed, is_stream=is_stream)
        self.answers = FaultyWay(2 * seed + 1, is_stream=is_stream)
        self.is_disconnected = False
        for name, value in (faults or {}).items():
            self.set(name, value, 0.0)

    def set(self, name: str, value: float, now: float) -> None:
        """Switch a fault on, or with 0 off.

        Raises:
            InputError: there is no such fault, or it cannot have this value.
        """
        base = base_name(name)
        if base is None:
            raise unknown_name("fault of wires", name, WIRE_FAULTS)
        value = _checked(name, base, value)
        if base == "disconnect":
            self.is_disconnected = value > 0.0
            self.commands.clear()
            self.answers.clear()
            return
        if base == "silence":
            self.answers.values[base] = value
            return
        for way, suffix in ((self.commands, COMMANDS), (self.answers, ANSWERS)):
            if name in (base, base + suffix):
                way.values[base] = value
                if base == "noise":
                    way.follow(now)

    def on(self) -> dict[str, float]:
        """Faults that are on, with their values."""
        found = {name: 1.0 for name, is_on in (("disconnect", self.is_disconnected),) if is_on}
        there, back = self.commands.values, self.answers.values
        for name in WIRE_FAULTS:
            values = there.get(name, 0.0), back.get(name, 0.0)
            if name == "silence" or values[0] == values[1]:
                found |= {name: values[1]} if values[1] else {}
            else:
                found |= {name + way: one for way, one in zip((COMMANDS, ANSWERS), values, strict=True) if one}
        return found


def base_name(name: str) -> str | None:
    """The fault of WIRE_FAULTS that a name means, with or without a direction; None: it means none."""
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
        text = f"fault {name} is {value!r:.80}; it must be a number, {allowed} ({WIRE_FAULTS[base]})."
        raise InputError(text, field=name, value=value, allowed=allowed)
    return float(value)
