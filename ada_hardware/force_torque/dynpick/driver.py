# SPDX-License-Identifier: Apache-2.0
"""DynPick: one request in flight at a time, or a stream of records; scales from the sensor or from its sheet."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np

from ada_dynamics.errors import InputError
from ada_hardware.force_torque.dynpick import codec
from ada_hardware.force_torque.dynpick.codec import DynPickParser, Record, Text
from ada_hardware.force_torque.sensor_driver import Sample, SensorIdentity
from ada_hardware.force_torque.serial_driver import SerialSensorDriver
from ada_hardware.transport.wires import ByteStream, Serial
from ada_robot.errors import NoAnswer
from ada_robot.settings import setting

V = TypeVar("V")
_TRIES = 5
_ANSWER_TIME = 0.1  # [s] limit of answers to single questions
_ZERO_REPEATS = 3  # it is not acknowledged; other programs repeat it as often (tork-a/dynpick_driver)


@dataclass(frozen=True)
class DynPickSettings:
    """Where a sensor is, how it is read, and what its sheet says."""

    url: str = setting("", "serial port of the sensor, such as /dev/ttyUSB0, or dry:")
    baud: int = setting(codec.BAUD, "rate of the line", unit="bit/s", lower=1200)
    mode: str = setting(
        "poll", "poll: asked for each sample; continuous: it sends by itself", choices=("poll", "continuous")
    )
    rate: float = setting(
        1000.0, "samples per second (continuous: what the sensor does)", unit="Hz", lower=1.0, upper=1e4
    )
    timeout: float = setting(0.05, "longest wait for a sample", unit="s", lower=1e-3, upper=10.0)
    sensitivity: tuple[float, ...] = setting(
        (), "counts per N (three) and per N m (three), from the sensor's sheet; none: the sensor is asked", lower=1e-6
    )
    filter_divider: int = setting(0, "of the sensor's own filter; 0: left as it is", choices=(0, *codec.DIVIDERS))
    temperature_interval: float = setting(
        0.0, "between questions for the temperature, in mode poll; 0: none", unit="s", lower=0.0
    )

    def __post_init__(self) -> None:
        """Check the number of sensitivities.

        Raises:
            InputError: neither none nor six.
        """
        if len(self.sensitivity) not in (0, 6):
            text = f"sensitivity is {list(self.sensitivity)}; give six numbers, counts per N and per N m, or none."
            raise InputError(text, field="sensitivity", value=self.sensitivity)


class DynPickDriver(SerialSensorDriver[DynPickSettings, Record]):
    """One DynPick."""

    NAME = "dynpick"
    SETTINGS: ClassVar[type] = DynPickSettings
    STOP, QUIET = codec.STOP, 0.02

    def __init__(
        self,
        settings: DynPickSettings,
        *,
        wire: ByteStream | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Prepare; `sleep` waits until the next request is due [s], the other arguments are as of `SensorDriver`."""
        super().__init__(settings, wire=wire, clock=clock)
        self._sleep = sleep
        self._parser = DynPickParser()
        self._texts: deque[str] = deque(maxlen=16)
        self._is_asked = False  # a request is in flight
        self._is_polling = settings.mode == "poll"
        self._backlog = 1 if self._is_polling else self._backlog
        self._due = 0.0  # when the next request is [s]
        self._number: int | None = None  # of the last record
        self._temperature_due, self._values = np.inf, {}  # type: tuple[float, dict[str, float]]

    @property
    def period(self) -> float:  # noqa: D102
        return 1.0 / self.settings.rate

    @property
    def _line(self) -> Serial:
        return Serial(baud=self.settings.baud)

    def _emulator_settings(self) -> dict[str, object]:
        use = self.settings
        return {"rate": use.rate, **({"sensitivity": use.sensitivity} if use.sensitivity else {})}

    # --- open -------------------------------------------------------------------------------------------------------
    def _prepare(self, wire: ByteStream) -> SensorIdentity:
        self._end_stream(wire)
        given, self._refused_before = self.settings.sensitivity, self.counts.refused
        scale = given or self._ask_sensitivity()
        version = self._ask(codec.VERSION, lambda text: text, tries=1) or ""
        self._set_filter()
        return SensorIdentity("DynPick", scale, "settings" if given else "device", version)

    def _ask_sensitivity(self) -> tuple[float, ...]:
        found = self._ask(codec.SENSITIVITY, codec.decode_sensitivity)
        if found is not None:
            return found
        if not self._ask_record():
            raise self._no_answer()
        text = (
            f"{self.NAME} at {self._opened().url}: it measures, but does not tell its sensitivity, as older units do "
            "not. Give `sensitivity` from its sheet: counts per N for x, y, z and per N m, such as 24.9, 24.6, 24.5, "
            "1664.7, 1639.7, 1638.0."
        )
        raise NoAnswer(text, field="sensitivity")

    def _set_filter(self) -> None:
        divider = self.settings.filter_divider
        if not divider:
            return
        self._opened().write(codec.filter_command(divider))
        self.counts.sent += 1
        reported = self._ask(codec.FILTER_QUERY, codec.decode_filter)
        if reported != divider:
            says = "does not answer" if reported is None else f"has {reported}"
            text = (
                f"{self.NAME} at {self._opened().url}: filter_divider {divider} was set, and the sensor {says}. Older "
                "units have no such filter: leave it 0."
            )
            raise NoAnswer(text, field="filter_divider", value=divider, allowed=reported)

    def _start(self, wire: ByteStream) -> None:
        if not any(self._ask_record() for _ in range(_TRIES)):
            raise self._no_answer()
        self._forget()
        self._number = None
        self._due = self._clock()
        if not self._is_polling:
            self._send(codec.START)
        elif self.settings.temperature_interval > 0.0:
            self._temperature_due = self._clock()

    def _no_answer(self) -> NoAnswer:
        self._forget()
        if self.counts.refused > self._refused_before:
            what = (
                "bytes come, but no records: is it a DynPick, is `baud` that of the sensor, is another program on the "
                "line?"
            )
        else:
            what = "nothing comes: look at power, cable and port."
        field = "records" if self.counts.refused > self._refused_before else "bytes"
        self.counts.last_problem = what
        return NoAnswer(
            f"{self.NAME} at {self._opened().url}: after {_TRIES} requests at {self.settings.baud} baud {what}",
            field=field,
        )

    # --- samples ----------------------------------------------------------------------------------------------------
    def read(self) -> Sample:  # noqa: D102
        if not self._is_polling:
            return super().read()
        if not self._is_asked:
            self._pace()
            self._request()
        if not self._records and not self._receive(self.settings.timeout):
            self._forget()  # later bytes would be taken for the answer to another request
            return self._missed()
        self._is_asked = False
        self._due += self.period
        if self._clock() >= self._due:  # late: send the next request before this answer is decoded
            self._due = self._clock()
            self._request()
        return self._next()

    def _pace(self) -> None:
        """Wait until the next request is due."""
        if self._clock() >= self._temperature_due:
            self._read_temperature()
        wait = self._due - self._clock()
        if wait > 0.0:
            self._sleep(wait)
        else:
            self._due = self._clock()

    def _request(self) -> None:
        # an unrequested answer must not be taken for this one: all later ones would be a record late
        if self._take(self._opened(), 0.0):
            self._records.clear()
        self._send(codec.READ)
        self._is_asked = True

    def _sample(self, when: float, record: Record) -> Sample:
        self._count(record)
        wrench = (np.array(record.counts, dtype=np.float64) - codec.CENTRE) / self._scale
        return Sample(when, wrench, is_saturated=record.is_saturated, number=record.number, values=self._values)

    def _count(self, record: Record) -> None:
        """Count lost and doubled records; only a hint, as numbers go from 0 to 9."""
        if self._number is not None:
            gap = (record.number - self._number) % 10
            self.sequence.lost += max(gap - 1, 0)
            self.sequence.duplicated += gap == 0
        self._number = record.number

    def _read_temperature(self) -> None:
        celsius = self._ask(codec.TEMPERATURE, codec.decode_temperature, tries=1)
        if celsius is None:
            self._temperature_due = np.inf
            self.counts.last_problem = "it does not tell its temperature, as older units do not; it is not asked again"
            return
        self._values = {"temperature [degC]": celsius}
        self._temperature_due = self._clock() + self.settings.temperature_interval

    def bias(self) -> None:  # noqa: D102
        for _ in range(_ZERO_REPEATS):
            self._send(codec.ZERO)

    # --- bytes ----------------------------------------------------------------------------------------------------
    def _send(self, command: bytes) -> None:
        self.counts.sent += 1
        self._opened().write(command)

    def _feed(self, data: bytes) -> int:
        before, now = self._parser.refused, self._clock()
        for one in self._parser.feed(data):
            if isinstance(one, Text):
                self._texts.append(one.text)
            else:
                self._records.append((now, one))
        return self._parser.refused - before

    def _ask(self, command: bytes, decode: Callable[[str], V | None], tries: int = 3) -> V | None:
        """The answer to a question; None where none comes."""
        for attempt in range(tries):
            self.counts.retries += attempt > 0
            self._forget()
            self._send(command)
            deadline = self._clock() + _ANSWER_TIME
            while self._texts or self._clock() < deadline:
                if not self._texts:
                    self._take(self._opened(), max(deadline - self._clock(), 0.0))
                    continue
                found = decode(self._texts.popleft())
                if found is not None:
                    return found
        return None

    def _ask_record(self) -> bool:
        self._forget()
        self._send(codec.READ)
        return self._receive(_ANSWER_TIME)

    def _forget(self) -> None:
        """Drop all received bytes."""
        self._opened().discard_input()
        before = self._parser.refused
        self._parser.restart()
        self._count_damage(self._parser.refused - before)
        self._records.clear()
        self._texts.clear()
        self._is_asked = False
