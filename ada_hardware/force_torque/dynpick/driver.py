# SPDX-License-Identifier: Apache-2.0
"""Driver of the DynPick: polling with one request in flight, or a stream of records."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np

from ada_dynamics.errors import InputError
from ada_hardware.force_torque.dynpick import codec
from ada_hardware.force_torque.dynpick.codec import DynPickParser, DynPickRecord
from ada_hardware.force_torque.sensor_driver import Sample, SensorDriver, SensorIdentity, SensorSettings
from ada_hardware.transport.wires import Serial, Wire
from ada_robot.errors import NoAnswer
from ada_robot.settings import setting

V = TypeVar("V")
_ANSWER_TIME = 0.1  # [s] timeout of single requests


@dataclass(frozen=True)
class DynPickSettings(SensorSettings):
    """Connection, sampling and calibration of a DynPick."""

    baud: int = setting(codec.BAUD, "rate of the line", unit="bit/s", lower=1200)
    mode: str = setting(
        "poll", "poll: one request per sample; continuous: the sensor streams", choices=("poll", "continuous")
    )
    rate: float = setting(
        1000.0, "samples per second (continuous: rate of the sensor)", unit="Hz", lower=1.0, upper=1e4
    )
    timeout: float = setting(0.05, "timeout of a sample", unit="s", lower=1e-3, upper=10.0)
    sensitivity: tuple[float, ...] = setting(
        (), "counts per N (three) and per N m (three), from the data sheet; empty: read from the sensor", lower=1e-6
    )

    def __post_init__(self) -> None:
        """Check the number of sensitivities; raises InputError."""
        if len(self.sensitivity) not in (0, 6):
            text = (
                f"sensitivity is {list(self.sensitivity)}; required are six numbers, counts per N and per N m, or none."
            )
            raise InputError(text, field="sensitivity", value=self.sensitivity)


class DynPickDriver(SensorDriver[DynPickSettings, DynPickRecord]):
    """DynPick driver."""

    NAME = "dynpick"
    SETTINGS: ClassVar[type] = DynPickSettings
    START, STOP, TRIES, WAIT = codec.READ, codec.STOP, 5, _ANSWER_TIME
    REMEDY = "Check power supply, cable, port and `baud`."

    def __init__(
        self,
        settings: DynPickSettings,
        *,
        wire: Wire | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Create the driver as `SensorDriver`; `sleep` waits until the next request is due [s]."""
        super().__init__(settings, wire=wire, clock=clock)
        self._sleep = sleep
        self._parser = DynPickParser()
        self._texts: deque[str] = deque(maxlen=16)
        self._is_asked = False  # a request is in flight
        self._is_polling = settings.mode == "poll"
        self._backlog = 1 if self._is_polling else self._backlog
        self._due = 0.0  # time of the next request [s]
        self._number: int | None = None  # of the last record

    @property
    def period(self) -> float:  # noqa: D102
        return 1.0 / self.settings.rate

    @property
    def _serial(self) -> Serial:
        return Serial(baud=self.settings.baud)

    # --- open -------------------------------------------------------------------------------------------------------
    def _prepare(self) -> SensorIdentity:
        self._end_stream()
        given = self.settings.sensitivity
        scale = given or self._ask_sensitivity()
        version = self._ask(codec.VERSION, lambda text: text, tries=1) or ""
        return SensorIdentity("DynPick", scale, "settings" if given else "device", version)

    def _ask_sensitivity(self) -> tuple[float, ...]:
        found = self._ask(codec.SENSITIVITY, codec.decode_sensitivity)
        if found is not None:
            return found
        super()._start()  # a sensor that sends no records either is another one, or not connected
        text = (
            f"{self.NAME} at {self._opened().url}: no answer to the request for its sensitivity, as from older units. "
            "Set `sensitivity` from the data sheet: counts per N for x, y, z and per N m, such as 24.9, 24.6, 24.5, "
            "1664.7, 1639.7, 1638.0."
        )
        raise NoAnswer(text, field="sensitivity")

    def _start(self) -> None:
        super()._start()
        self._forget()
        self._number = None
        self._due = self._clock()
        if not self._is_polling:
            self._send(codec.START)

    # --- samples ----------------------------------------------------------------------------------------------------
    def read(self) -> Sample:  # noqa: D102
        if not self._is_polling:
            return super().read()
        if not self._is_asked:
            self._pace()
            self._request()
        if not self._receive(self.settings.timeout):
            self._forget()  # a late record must not be taken for the reply to another request
            return self._missed()
        self._is_asked = False
        self._due += self.period
        if self._clock() >= self._due:  # late: send the next request before decoding this record
            self._due = self._clock()
            self._request()
        return self._next()

    def _pace(self) -> None:
        """Wait until the next request is due."""
        wait = self._due - self._clock()
        if wait > 0.0:
            self._sleep(wait)
        else:
            self._due = self._clock()

    def _request(self) -> None:
        # an unrequested record must not be taken for this reply: all later ones would be one record late
        if self._take(0.0):
            self._records.clear()
        self._send(codec.READ)
        self._is_asked = True

    def _sample(self, when: float, record: DynPickRecord) -> Sample:
        self._count(record)
        wrench = (np.array(record.counts, dtype=np.float64) - codec.CENTRE) / self._scale
        return Sample(when, wrench, is_saturated=record.is_saturated, number=record.number)

    def _count(self, record: DynPickRecord) -> None:
        """Count lost and duplicate records; approximate, since numbers wrap after ten."""
        if self._number is not None:
            gap = (record.number - self._number) % 10
            self.sequence.lost += max(gap - 1, 0)
            self.sequence.late += gap == 0
        self._number = record.number

    # --- bytes ----------------------------------------------------------------------------------------------------
    def _feed(self, data: bytes) -> int:
        before, now = self._parser.refused, self._clock()
        for one in self._parser.feed(data):
            if isinstance(one, str):
                self._texts.append(one)
            else:
                self._records.append((now, one))
        return self._parser.refused - before

    def _ask(self, command: bytes, decode: Callable[[str], V | None], tries: int = 3) -> V | None:
        """Send a request and return the decoded reply, or None after a timeout."""
        for attempt in range(tries):
            self.counts.retries += attempt > 0
            self._forget()
            self._send(command)
            deadline = self._clock() + _ANSWER_TIME
            while self._texts or self._clock() < deadline:
                if not self._texts:
                    self._take(max(deadline - self._clock(), 0.0))
                    continue
                found = decode(self._texts.popleft())
                if found is not None:
                    return found
        return None

    def _forget(self) -> None:
        super()._forget()
        before = self._parser.refused
        self._parser.restart()
        self._count_damage(self._parser.refused - before)
        self._texts.clear()
        self._is_asked = False
