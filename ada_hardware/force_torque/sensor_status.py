# SPDX-License-Identifier: Apache-2.0
"""Newest reading and status of a sensor and its wire."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from ada_dynamics.arrays import Array
from ada_hardware.force_torque.sensor_driver import SensorIdentity, SequenceCounts
from ada_robot.driver import LinkCounts


class SensorState(Enum):
    """Where a sensor is; READING alone means that `newest` is new."""

    CLOSED = "closed"
    READING = "reading"
    SILENT = "silent"  # its wire is open, and nothing comes
    LOST = "lost"  # its wire is gone


class Level(Enum):
    """How bad something is, as in /diagnostics."""

    OK = "ok"
    WARN = "warn"
    ERROR = "error"


def worst_level(levels: Iterable[Level]) -> Level:
    """The worst of some levels; OK where there are none."""
    return max(levels, key=list(Level).index, default=Level.OK)


class SampleRate:
    """How many samples come per second, over the last second or so."""

    _STEP, _SPAN = 0.1, 1.0  # [s]

    def __init__(self) -> None:
        """Begin without any."""
        self._count = 0
        self._marks: deque[tuple[float, int]] = deque(maxlen=round(self._SPAN / self._STEP) + 1)

    def add(self, time: float) -> None:
        """Count a sample that came at a time [s]."""
        self._count += 1
        if not self._marks or time - self._marks[-1][0] >= self._STEP:
            self._marks.append((time, self._count))

    def at(self, now: float) -> float:
        """The rate [Hz]; 0 before a second mark, and where none came for long."""
        marks = list(self._marks)
        if len(marks) < 2 or now - marks[-1][0] > self._SPAN:
            return 0.0
        (first, before), (last, count) = marks[0], marks[-1]
        return (count - before) / (last - first)


@dataclass(frozen=True)
class Reading:
    """One sample, and what was made of it.

    Attributes:
        number: counts the readings of this sensor from 1 on.
        time: when its sample came, on the steady clock [s].
        wrench: [f, n] of what touches the hand: without tool and zero, filtered, in the frame of the settings [N, N m].
        unfiltered: the same before the filter.
        raw: as the device gave it, in the sensor's axes.
        is_saturated: an axis is at the end of its range: do not trust the wrench.
        is_compensated: whether the tool was taken off, or there is none to take off.
        error: what the device says is wrong; then the wrench must not be used. "" where nothing is.
        warning: what the device says beside; "" where nothing is.
        values: other figures by name with unit, such as "temperature [degC]".
    """

    number: int
    time: float
    wrench: Array
    unfiltered: Array
    raw: Array
    is_saturated: bool = False
    is_compensated: bool = True
    error: str = ""
    warning: str = ""
    values: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_valid(self) -> bool:
        """True if the wrench may be used: no error, no saturation, and the tool is off."""
        return not self.error and not self.is_saturated and self.is_compensated


@dataclass(frozen=True)
class SensorStatus:
    """Status of a sensor.

    Attributes:
        state: where it is.
        level: the worst of `problems`.
        problems: each one in words; empty: none.
        age: of the newest sample; inf before the first [s].
        rate: samples per second, over the last second or so [Hz].
        readings: samples taken since it was opened.
        saturated: how many of them were saturated.
        errors: how many of them the device called wrong.
        uncompensated: how many of them had a tool that could not be subtracted, as its motion was unknown.
        bias: what is taken off as zero by the host, in the sensor's axes; zeros where none was taken [N, N m].
        is_biased: whether a zero was taken, here or in the device, and still holds.
        passed_limit: words on the limit that was passed first since the last reset; "": none was.
        reopened: times that the wire was opened anew.
        counts: of the wire.
        sequence: of the records' numbers.
        identity: what the sensor is; None before it was opened.
        values: other figures by name with unit, such as "temperature [degC]".
    """

    state: SensorState
    level: Level
    problems: tuple[str, ...]
    age: float
    rate: float
    readings: int
    saturated: int
    errors: int
    uncompensated: int
    bias: Array
    is_biased: bool
    passed_limit: str
    reopened: int
    counts: LinkCounts
    sequence: SequenceCounts
    identity: SensorIdentity | None
    values: Mapping[str, float]


def problems_of(
    state: SensorState, reason: str, newest: Reading | None, passed_limit: str, rate: float, wanted_rate: float
) -> list[tuple[Level, str]]:
    """Problems of a sensor, the worst first as far as it goes.

    Args:
        state: where the sensor is.
        reason: words on that.
        newest: reading; None before the first.
        passed_limit: words on a limit that was passed; "": none was.
        rate: of samples; 0 where it is not known yet [Hz].
        wanted_rate: as set [Hz].
    """
    found = []
    if passed_limit:
        found.append((Level.ERROR, f"a limit was passed: {passed_limit}; reset when it is safe"))
    if state is not SensorState.READING:
        return [*found, (Level.WARN if state is SensorState.CLOSED else Level.ERROR, reason)]
    if newest is not None:
        if newest.error:
            found.append((Level.ERROR, newest.error))
        if newest.is_saturated:
            found.append((Level.WARN, "an axis is at the end of its range; the true wrench may be greater"))
        if not newest.is_compensated:
            found.append((Level.WARN, "the tool is not taken off: how the sensor moves is not known"))
        if newest.warning:
            found.append((Level.WARN, newest.warning))
    if 0.0 < rate < 0.8 * wanted_rate:
        found.append((Level.WARN, f"{rate:.0f} samples per second come, of {wanted_rate:.0f}"))
    return found
