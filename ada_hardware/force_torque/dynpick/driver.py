# SPDX-License-Identifier: Apache-2.0
"""DynPick: one request in flight at a time, or a stream of records; scales from the sensor or from its sheet."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.settings import setting
from ada_hardware.force_torque.dynpick import codec
from ada_hardware.force_torque.dynpick.codec import DynPickParser, Record, Text
from ada_hardware.force_torque.sensor_driver import Sample, SensorDriver, SensorIdentity
from ada_hardware.opening import open_device_stream
from ada_hardware.transport.wires import ByteStream, Serial
from ada_robot.errors import NoAnswer, TransportError

V = TypeVar("V")
_TRIES = 5
_ANSWER_TIME = 0.1  # [s] for answers to questions, which come once
_QUIET, _LONGEST_TALK = 0.02, 0.5  # [s] of silence after which a stream has ended, and the longest wait for it
_ZERO_REPEATS = 3  # it has no answer; other programs send it as often (tork-a/dynpick_driver)
_LARGEST_BACKLOG = 64  # records that wait; a host with more of them is too late for the older ones
_CHUNK = 4096  # [bytes]


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
            raise InputError(
                f"sensitivity is {list(self.sensitivity)}; give six numbers, counts per N and per N m, or none."
            )


class DynPickDriver(SensorDriver[DynPickSettings]):
    """One DynPick."""

    NAME = "dynpick"
    SUMMARY = "six-axis force/torque sensor Wacoh-Tech DynPick, serial"
    SETTINGS: ClassVar[type] = DynPickSettings

    def __init__(
        self,
        settings: DynPickSettings,
        *,
        wire: ByteStream | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Prepare.

        Args:
            settings: address and rate.
            wire: to the sensor; None: it is opened by its address.
            clock: steady time [s].
            sleep: waits for so long, until the next request is due [s].
        """
        super().__init__(settings)
        self._given, self._clock, self._sleep = wire, clock, sleep
        self._wire: ByteStream | None = None
        self._parser = DynPickParser()
        self._records: deque[tuple[float, Record]] = deque()
        self._texts: deque[str] = deque(maxlen=16)
        self._is_asked = False  # a request is in flight
        self._due = 0.0  # when the next request is [s]
        self._number: int | None = None  # of the last record
        self._last = Sample(-np.inf, np.full(6, np.nan), is_fresh=False)
        self._scale: Array = np.ones(6)
        self._temperature_due, self._values = np.inf, {}  # type: tuple[float, dict[str, float]]

    @property
    def period(self) -> float:  # noqa: D102
        return 1.0 / self.settings.rate

    def identity(self) -> SensorIdentity:  # noqa: D102
        return self._identity

    # --- open and close -------------------------------------------------------------------------------------------
    def open(self) -> None:  # noqa: D102
        self.close()
        use, self._refused_before = self.settings, self.counts.refused
        like_us: dict[str, object] = {"rate": use.rate, **({"sensitivity": use.sensitivity} if use.sensitivity else {})}
        line = Serial(baud=use.baud)
        self._wire = self._given or open_device_stream(self.NAME, use.url, line, emulator_settings=like_us)
        try:
            self._hush()
            scales = use.sensitivity or self._ask_sensitivity()
            version = self._ask(codec.VERSION, lambda text: text, tries=1) or ""
            self._set_filter()
            self._scale = np.array(scales)
            f, m = scales[:3], scales[3:]
            self._identity = SensorIdentity(
                "DynPick", version, (f[0], f[1], f[2]), (m[0], m[1], m[2]), "settings" if use.sensitivity else "device"
            )
            self._begin()
        except BaseException:
            self.close()
            raise

    def _hush(self) -> None:
        """End a stream that an earlier program left on."""
        wire = self._opened()
        wire.write(codec.STOP)
        end = self._clock() + _LONGEST_TALK
        while wire.read(_CHUNK, _QUIET) and self._clock() < end:
            pass
        self._parser.restart()
        self._parser.refused = 0
        self._forget()

    def _ask_sensitivity(self) -> tuple[float, ...]:
        found = self._ask(codec.SENSITIVITY, codec.decode_sensitivity)
        if found is not None:
            return found
        if not self._ask_record():
            raise self._no_answer()
        raise NoAnswer(
            f"{self.NAME} at {self._opened().url}: it measures, but does not tell its sensitivity, as older units do "
            "not. Give `sensitivity` from its sheet: counts per N for x, y, z and per N m, such as 24.9, 24.6, 24.5, "
            "1664.7, 1639.7, 1638.0."
        )

    def _set_filter(self) -> None:
        divider = self.settings.filter_divider
        if not divider:
            return
        self._opened().write(codec.filter_command(divider))
        self.counts.sent += 1
        told = self._ask(codec.FILTER_QUERY, codec.decode_filter)
        if told != divider:
            says = "does not answer" if told is None else f"has {told}"
            raise NoAnswer(
                f"{self.NAME} at {self._opened().url}: filter_divider {divider} was set, and the sensor {says}. Older "
                "units have no such filter: leave it 0."
            )

    def _begin(self) -> None:
        """Find the sensor, and let samples come.

        Raises:
            NoAnswer: nothing does.
        """
        if not any(self._ask_record() for _ in range(_TRIES)):
            raise self._no_answer()
        self._forget()
        self._number = None
        self._due = self._clock()
        if self.settings.mode == "continuous":
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
        self.counts.last_problem = what
        return NoAnswer(
            f"{self.NAME} at {self._opened().url}: after {_TRIES} requests at {self.settings.baud} baud {what}"
        )

    def close(self) -> None:  # noqa: D102
        wire, self._wire = self._wire, None
        if wire is None:
            return
        try:
            wire.write(codec.STOP)
        except TransportError as problem:
            self.counts.last_problem = str(problem)
        wire.close()

    # --- samples --------------------------------------------------------------------------------------------------
    def read(self) -> Sample:  # noqa: D102
        is_polled = self.settings.mode == "poll"
        if is_polled and not self._is_asked:
            self._pace()
            self._request()
        if not self._records and not self._receive(self.settings.timeout, self._records):
            self.counts.missed += 1
            if is_polled:
                self._forget()  # what comes now would be the answer to another request
            self._last = replace(self._last, is_fresh=False)
            return self._last
        if is_polled:
            self._is_asked = False
            self._due += self.period
            if self._clock() >= self._due:  # late: the next request is under way before this answer is looked at
                self._due = self._clock()
                self._request()
        return self._taken()

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
        # an answer that nobody asked for must not be taken for this one: all later ones would be a record late
        if self._receive(0.0):
            self._records.clear()
        self._send(codec.READ)
        self._is_asked = True

    def _taken(self) -> Sample:
        skip = len(self._records) - 1 if self._is_polling or len(self._records) > _LARGEST_BACKLOG else 0
        for _ in range(skip):
            self._records.popleft()
            self.counts.refused += 1
            self.counts.last_problem = "more than one record came at once; the newest was taken"
        when, record = self._records.popleft()
        self.counts.received += 1
        self._count(record)
        self._last = Sample(
            when,
            (np.array(record.counts, dtype=np.float64) - codec.CENTRE) / self._scale,
            is_saturated=record.is_saturated,
            number=record.number,
            values=self._values,
        )
        return self._last

    @property
    def _is_polling(self) -> bool:
        return self.settings.mode == "poll"

    def _count(self, record: Record) -> None:
        """What the records' numbers tell; no more than a hint, as they count to 9 alone."""
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
    def _opened(self) -> ByteStream:
        if self._wire is None:
            raise TransportError(f"{self.NAME}: it is not open; call open() first.")
        return self._wire

    def _send(self, command: bytes) -> None:
        self.counts.sent += 1
        self._opened().write(command)

    def _receive(self, timeout: float, wanted: deque[V] | None = None) -> bool:
        """Take what comes until there is something wanted; whether anything, or the wanted, came in time."""
        deadline = self._clock() + timeout
        while True:
            data = self._opened().read(_CHUNK, max(deadline - self._clock(), 0.0))
            if data:
                self._take(data)
            if wanted or (data and wanted is None):
                return True
            if self._clock() >= deadline:
                return False

    def _take(self, data: bytes) -> None:
        now = self._clock()
        for one in self._parser.feed(data):
            if isinstance(one, Text):
                self._texts.append(one.text)
            else:
                self._records.append((now, one))
        self._count_refused()

    def _count_refused(self) -> None:
        if self._parser.refused:
            self.counts.refused += self._parser.refused
            self.counts.last_problem = "a damaged record came, or part of one"
            self._parser.refused = 0

    def _ask(self, command: bytes, decode: Callable[[str], V | None], tries: int = 3) -> V | None:
        """The answer to a question; None where none comes."""
        for attempt in range(tries):
            self.counts.retries += attempt > 0
            self._forget()
            self._send(command)
            deadline = self._clock() + _ANSWER_TIME
            while self._receive(deadline - self._clock(), self._texts):
                found = decode(self._texts.popleft())
                if found is not None:
                    return found
        return None

    def _ask_record(self) -> bool:
        self._forget()
        self._send(codec.READ)
        return self._receive(_ANSWER_TIME, self._records)

    def _forget(self) -> None:
        """Forget all that has come."""
        self._opened().discard_input()
        self._parser.restart()
        self._count_refused()
        self._records.clear()
        self._texts.clear()
        self._is_asked = False
