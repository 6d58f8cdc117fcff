# SPDX-License-Identifier: Apache-2.0
"""Base of the force/torque sensor drivers: conversion of device data to wrenches.

Zero, filter, tool and frames are handled by `pipeline` for all sensors. Only one thread may call it at a time, except
`reset`, which only sends:

    open -> read, read, ... (reset in between) -> close

A new sensor needs a codec, a driver, an emulator, and an entry in `registry`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from ada_dynamics.arrays import Array
from ada_hardware.opening import open_device_wire
from ada_hardware.transport.wires import Serial, Wire
from ada_robot.driver import LinkCounts
from ada_robot.errors import NoAnswer, TransportError
from ada_robot.settings import setting

R = TypeVar("R")
_LONGEST_TALK = 0.5  # [s] limit of waiting for the end of an earlier stream
_QUIET = 0.05  # [s] without input that indicates the end of a stream
_LONGEST_TAKING = 0.02  # [s] limit of reading pending data


@dataclass(frozen=True)
class SensorSettings:
    """Connection of a sensor; its settings are a subclass."""

    url: str = setting("", "address of the sensor, such as /dev/ttyUSB0, udp://192.168.1.1:49152, or dry:")
    timeout: float = setting(0.1, "timeout of a sample", unit="s", lower=1e-3, upper=10.0)


S = TypeVar("S", bound=SensorSettings)


@dataclass(frozen=True)
class Sample:
    """One measurement of a sensor.

    Attributes:
        time: time of reception on the monotonic clock [s].
        wrench: external wrench [f, n] on the sensor, in the sensor frame, as measured by the device; NaN before the
            first measurement [N, N m].
        is_fresh: received in this call; otherwise a copy of the last sample.
        is_saturated: an axis is at the end of its range: the true wrench may be larger.
        error: error reported by the device; the wrench must not be used. "" without an error.
        warning: warning of the device; the wrench is valid. "" without a warning.
        number: sequence number of the record.
    """

    time: float
    wrench: Array
    is_fresh: bool = True
    is_saturated: bool = False
    error: str = ""
    warning: str = ""
    number: int = 0


class SensorIdentity(NamedTuple):
    """Identity of a sensor.

    Attributes:
        name: product name.
        scale: counts per newton of fx, fy, fz, then per newton metre of nx, ny, nz.
        source: origin of the scale: "device", "settings" or "protocol".
        version: firmware version; "" if unknown.
    """

    name: str
    scale: tuple[float, ...]
    source: str
    version: str = ""


@dataclass
class SequenceCounts:
    """Sequence errors of the records since the connection was opened.

    Attributes:
        lost: records not received before a newer one.
        late: records received after a newer one, twice, or with an implausible number, and not used.
        restarted: restarts of the numbers by the device.
    """

    lost: int = 0
    late: int = 0
    restarted: int = 0


class SensorDriver(ABC, Generic[S, R]):
    """Sensor that sends records of type R.

    Attributes:
        settings: settings in use.
        counts: communication statistics.
        sequence: sequence errors of the records.
        identity: identity of the sensor, after `open`.
    """

    identity: SensorIdentity
    NAME: ClassVar[str]
    SETTINGS: ClassVar[type] = SensorSettings
    START: ClassVar[bytes]  # request that starts the records
    STOP: ClassVar[bytes]  # request that ends them
    TRIES: ClassVar[int]  # of the start request
    WAIT: ClassVar[float]  # [s] for the first record after each of them
    REMEDY: ClassVar[str]  # for a sensor that does not answer

    def __init__(self, settings: S, *, wire: Wire | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """Create the driver without opening the connection.

        Args:
            settings: instance of SETTINGS.
            wire: connection to use; None to open the url of the settings.
            clock: monotonic time [s].

        Raises:
            InputError: invalid settings.
        """
        self.settings = settings
        self.counts = LinkCounts()
        self.sequence = SequenceCounts()
        self._injected, self._clock = wire, clock
        self._wire: Wire | None = None
        self._records: deque[tuple[float, R]] = deque()  # pending records with their times of reception
        self._backlog = 64  # largest number of pending records; beyond it the older ones are skipped
        self._refused_before = 0  # refused data before the records were started
        self._last = Sample(-np.inf, np.full(6, np.nan), is_fresh=False)

    # --- implemented by sensors -------------------------------------------------------------------------------------
    @property
    @abstractmethod
    def period(self) -> float:
        """Sample period as set [s]."""

    @property
    def _serial(self) -> Serial | None:
        """Settings of the serial line; None for packets."""
        return None

    @abstractmethod
    def _prepare(self) -> SensorIdentity:
        """Find the sensor and determine its scale; raises NoAnswer."""

    @abstractmethod
    def _feed(self, data: bytes) -> int:
        """Store the records in received data; return the number of damaged parts."""

    @abstractmethod
    def _sample(self, when: float, record: R) -> Sample:
        """Convert a record received at a time [s] to a sample."""

    def reset(self) -> None:  # most devices have no latched state
        """Clear the latched state of the device, such as an exceeded threshold.

        Raises:
            TransportError: the connection failed.
        """

    # --- common part ------------------------------------------------------------------------------------------------
    def open(self) -> None:
        """Open the connection, find the sensor, determine its scale, and start the records.

        Raises:
            TransportError: the connection cannot be opened.
            NoAnswer: no reply of such a sensor.
        """
        self.close()
        self._wire = self._injected or open_device_wire(self.NAME, self.settings.url, self.settings, self._serial)
        self._refused_before = self.counts.refused
        try:
            self.identity = self._prepare()
            self._scale = np.array(self.identity.scale)
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        """Start the records; raises NoAnswer."""
        for attempt in range(self.TRIES):
            self._forget()
            self.counts.retries += attempt > 0
            self._send(self.START)
            if self._receive(self.WAIT):
                return
        raise self._no_records()

    def _no_records(self) -> NoAnswer:
        """Error of a sensor that sent no records."""
        field, what = "data", "no data received"
        if self.counts.refused > self._refused_before:
            field, what = "records", "data received, but no records of this sensor (type, rate, or another program?)"
        self.counts.last_problem = what
        rate = f" at {self._serial.baud} baud" if self._serial else ""
        text = f"{self.NAME} at {self._opened().url}: {self.TRIES} requests{rate}: {what}. {self.REMEDY}"
        return NoAnswer(text, field=field)

    def read(self) -> Sample:
        """Return the next sample; wait for up to `timeout` of the settings.

        Missing and damaged records are counted and reported by `is_fresh`, not raised.

        Raises:
            TransportError: the connection failed.
        """
        if not self._receive(self.settings.timeout):
            return self._missed()
        return self._next()

    def _missed(self) -> Sample:
        """Count a timeout and return a copy of the last sample."""
        self.counts.missed += 1
        self._last = replace(self._last, is_fresh=False)
        return self._last

    def _next(self) -> Sample:
        """Return the sample of the oldest pending record, or of the latest if too many are pending."""
        old = len(self._records) - 1
        if old >= self._backlog:  # prefer the newest wrench
            self.counts.refused += old
            self.counts.last_problem = f"the host was late: {old} old records were skipped"
            self._records = deque([self._records[-1]])
        when, record = self._records.popleft()
        self.counts.received += 1
        self._last = self._sample(when, record)
        return self._last

    def _receive(self, timeout: float) -> bool:
        """Read input until a record is pending; return True if there is one within the timeout [s]."""
        deadline = self._clock() + timeout
        while not self._records:
            self._take(max(deadline - self._clock(), 0.0))
            if self._clock() >= deadline:
                break
        return bool(self._records)

    def _take(self, timeout: float) -> bool:
        """Read pending input, waiting up to `timeout` [s] for the first; return True if there was any."""
        wire = self._opened()
        data = wire.receive(timeout)
        has_come, end = data is not None, self._clock() + _LONGEST_TAKING
        while data is not None:
            self._count_damage(self._feed(data))
            data = wire.receive(0.0) if self._clock() <= end else None
        return has_come

    def _count_damage(self, times: int) -> None:
        if times:
            self.counts.refused += times
            self.counts.last_problem = "damaged or incomplete record received"

    def _forget(self) -> None:
        """Discard all received data."""
        self._opened().discard_input()
        self._records.clear()

    def _end_stream(self) -> None:
        """End a stream left on by an earlier program."""
        self._opened().send(self.STOP)
        end = self._clock() + _LONGEST_TALK
        while self._opened().receive(_QUIET) is not None and self._clock() < end:
            pass
        self._forget()
        self._refused_before = self.counts.refused

    def _send(self, request: bytes) -> None:
        self.counts.sent += 1
        self._opened().send(request)

    def _opened(self) -> Wire:
        if self._wire is None:
            raise TransportError(f"{self.NAME}: not open; call open() first.", field="state", value="closed")
        return self._wire

    def close(self) -> None:
        """Stop the records and close the connection; may be called twice, and after a failed `open`."""
        wire, self._wire = self._wire, None
        if wire is None:
            return
        try:
            wire.send(self.STOP)
        except TransportError as problem:
            self.counts.last_problem = str(problem)
        wire.close()
