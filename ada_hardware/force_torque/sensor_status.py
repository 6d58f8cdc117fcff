# SPDX-License-Identifier: Apache-2.0
"""Reading and status of a sensor."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from ada_dynamics.arrays import Array
from ada_hardware.force_torque.sensor_driver import SensorIdentity, SequenceCounts
from ada_robot.driver import LinkCounts


class SensorState(Enum):
    """Connection state of a sensor; `newest` is current only in READING."""

    CLOSED = "closed"
    READING = "reading"
    SILENT = "silent"  # connection open, no samples
    LOST = "lost"  # connection failed


class Level(Enum):
    """Severity of a problem, as in /diagnostics."""

    OK = "ok"
    WARN = "warn"
    ERROR = "error"


def worst_level(levels: Iterable[Level]) -> Level:
    """Return the worst of some levels; OK if there are none."""
    return max(levels, key=list(Level).index, default=Level.OK)


class SampleRate:
    """Sample rate over the last second."""

    _STEP, _SPAN = 0.1, 1.0  # [s]

    def __init__(self) -> None:
        self._count = 0
        self._marks: deque[tuple[float, int]] = deque(maxlen=round(self._SPAN / self._STEP) + 1)

    def add(self, time: float) -> None:
        """Count a sample received at a time [s]."""
        self._count += 1
        if not self._marks or time - self._marks[-1][0] >= self._STEP:
            self._marks.append((time, self._count))

    def at(self, now: float) -> float:
        """Return the rate [Hz]; 0 with fewer than two marks, or none in the last second."""
        marks = list(self._marks)
        if len(marks) < 2 or now - marks[-1][0] > self._SPAN:
            return 0.0
        (first, before), (last, count) = marks[0], marks[-1]
        return (count - before) / (last - first)


@dataclass(frozen=True)
class Reading:
    """Processed sample.

    Attributes:
        number: number of the reading, from 1.
        time: time of reception on the monotonic clock [s].
        wrench: contact wrench [f, n]: without tool and zero, filtered, in the frame of the settings [N, N m].
        unfiltered: the same before the filter.
        raw: as measured by the device, in the sensor frame.
        is_saturated: an axis is at the end of its range: the wrench is not reliable.
        is_compensated: the tool wrench was subtracted, or there is no tool.
        error: error reported by the device; the wrench must not be used. "" without an error.
        warning: warning of the device; "" without a warning.
        values: other values by name with unit, such as "temperature [degC]".
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
        """True if the wrench may be used: no error, no saturation, and tool compensated."""
        return not self.error and not self.is_saturated and self.is_compensated


@dataclass(frozen=True)
class SensorStatus:
    """Status of a sensor.

    Attributes:
        state: connection state.
        level: worst level of `problems`.
        problems: descriptions of all problems.
        age: age of the latest sample; inf before the first [s].
        rate: samples per second over the last second [Hz].
        readings: number of samples since the sensor was opened.
        saturated: number of saturated samples.
        errors: number of samples with a device error.
        uncompensated: number of samples from which the tool could not be subtracted, since its motion was unknown.
        bias: zero subtracted by the host, in the sensor frame [N, N m].
        is_biased: a zero of host or device is in effect.
        passed_limit: description of the first exceeded limit since the last reset; "" without one.
        reopened: number of times the connection was reopened.
        counts: communication statistics.
        sequence: sequence errors of the records.
        identity: identity of the sensor; None before it was opened.
        values: other values by name with unit, such as "temperature [degC]".
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
    """Return the problems of a sensor with their levels.

    Args:
        state: connection state.
        reason: reason of the state.
        newest: latest reading; None before the first.
        passed_limit: description of an exceeded limit; "" without one.
        rate: sample rate; 0 if unknown [Hz].
        wanted_rate: sample rate as set [Hz].
    """
    found = []
    if passed_limit:
        found.append((Level.ERROR, f"limit exceeded: {passed_limit}; reset when it is safe"))
    if state is not SensorState.READING:
        return [*found, (Level.WARN if state is SensorState.CLOSED else Level.ERROR, reason)]
    if newest is not None:
        if newest.error:
            found.append((Level.ERROR, newest.error))
        if newest.is_saturated:
            found.append((Level.WARN, "an axis is at the end of its range; the true wrench may be larger"))
        if not newest.is_compensated:
            found.append((Level.WARN, "tool not compensated: the motion of the sensor is unknown"))
        if newest.warning:
            found.append((Level.WARN, newest.warning))
    if 0.0 < rate < 0.8 * wanted_rate:
        found.append((Level.WARN, f"{rate:.0f} samples per second received of {wanted_rate:.0f}"))
    return found
