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
from ada_hardware.opening import open_device_stream
from ada_hardware.transport.wires import ByteStream, Serial, Wire
from ada_robot.driver import LinkCounts
from ada_robot.errors import NoAnswer, TransportError
from ada_robot.settings import setting

R = TypeVar("R")
W = TypeVar("W", bound=Wire)
_CHUNK = 4096  # [bytes]
_LONGEST_TALK = 0.5  # [s] limit of waiting for the end of an earlier stream


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
        status: status word of the device; 0 if it has none.
    """

    time: float
    wrench: Array
    is_fresh: bool = True
    is_saturated: bool = False
    error: str = ""
    warning: str = ""
    number: int = 0
    status: int = 0


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


class SensorDriver(ABC, Generic[S, W, R]):
    """Sensor on a connection of type W that sends records of type R.

    Attributes:
        settings: settings in use.
        counts: communication statistics.
        sequence: sequence errors of the records.
    """

    NAME: ClassVar[str]
    SETTINGS: ClassVar[type] = SensorSettings

    def __init__(self, settings: S, *, wire: W | None = None, clock: Callable[[], float] = time.monotonic) -> None:
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
        self._wire: W | None = None
        self._records: deque[tuple[float, R]] = deque()  # pending records with their times of reception
        self._backlog = 64  # largest number of pending records; beyond it the older ones are skipped
        self._last = Sample(-np.inf, np.full(6, np.nan), is_fresh=False)

    # --- implemented by sensors -------------------------------------------------------------------------------------
    @property
    @abstractmethod
    def period(self) -> float:
        """Sample period as set [s]."""

    @abstractmethod
    def _open_wire(self) -> W:
        """Open the connection."""

    @abstractmethod
    def _prepare(self, wire: W) -> SensorIdentity:
        """Find the sensor and determine its scale; raises NoAnswer."""

    @abstractmethod
    def _start(self, wire: W) -> None:
        """Start the records; raises NoAnswer."""

    @abstractmethod
    def _take(self, wire: W, timeout: float) -> bool:
        """Read input for up to `timeout` seconds and store its records; return True if anything was received."""

    @abstractmethod
    def _sample(self, when: float, record: R) -> Sample:
        """Convert a record received at a time [s] to a sample."""

    @abstractmethod
    def _end(self, wire: W) -> None:
        """Stop the records. Raises TransportError if the connection failed."""

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
        self._wire = wire = self._injected or self._open_wire()
        try:
            self._identity = self._prepare(wire)
            self._scale = np.array(self._identity.scale)
            self._start(wire)
        except BaseException:
            self.close()
            raise

    def identity(self) -> SensorIdentity:
        """Identity of the sensor, after `open`."""
        return self._identity

    def read(self) -> Sample:
        """Return the next sample; wait for up to `timeout` of the settings.

        Missing and damaged records are counted and reported by `is_fresh`, not raised.

        Raises:
            TransportError: the connection failed.
        """
        if not self._records and not self._receive(self.settings.timeout):
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
        """Read input until a record is pending; return True if one was received within the timeout [s]."""
        wire, deadline = self._opened(), self._clock() + timeout
        while True:
            self._take(wire, max(deadline - self._clock(), 0.0))
            if self._records or self._clock() >= deadline:
                return bool(self._records)

    def _opened(self) -> W:
        if self._wire is None:
            raise TransportError(f"{self.NAME}: not open; call open() first.", field="state", value="closed")
        return self._wire

    def close(self) -> None:
        """Stop the records and close the connection; may be called twice, and after a failed `open`."""
        wire, self._wire = self._wire, None
        if wire is None:
            return
        try:
            self._end(wire)
        except TransportError as problem:
            self.counts.last_problem = str(problem)
        wire.close()


class SerialSensorDriver(SensorDriver[S, ByteStream, R]):
    """Sensor on a serial line."""

    STOP: ClassVar[bytes]  # command that ends the stream
    QUIET: ClassVar[float]  # [s] without input that indicates the end of a stream
    REMEDY: ClassVar[str]  # for a sensor that does not answer

    @property
    @abstractmethod
    def _line(self) -> Serial:
        """Settings of the line."""

    @abstractmethod
    def _feed(self, data: bytes) -> int:
        """Store the records in `data`; return the number of damaged parts."""

    @abstractmethod
    def _forget(self) -> None:
        """Discard all received data."""

    def _open_wire(self) -> ByteStream:
        return open_device_stream(self.NAME, self.settings.url, self._line, self.settings)

    def _end_stream(self, wire: ByteStream) -> None:
        """End a stream left on by an earlier program."""
        wire.write(self.STOP)
        end = self._clock() + _LONGEST_TALK
        while wire.read(_CHUNK, self.QUIET) and self._clock() < end:
            pass
        self._forget()
        self._refused_before = self.counts.refused

    def _no_records(self, wire: ByteStream, requests: int) -> NoAnswer:
        """Error of a sensor that sent no records since its stream was ended."""
        field, what = "bytes", "no bytes received"
        if self.counts.refused > self._refused_before:
            field, what = "records", "bytes received, but no records of this sensor (type, rate, or another program?)"
        self.counts.last_problem = what
        text = f"{self.NAME} at {wire.url}: {requests} requests at {self._line.baud} baud: {what}. {self.REMEDY}"
        return NoAnswer(text, field=field)

    def _take(self, wire: ByteStream, timeout: float) -> bool:
        data = wire.read(_CHUNK, timeout)
        if data:
            self._count_damage(self._feed(data))
        return bool(data)

    def _count_damage(self, times: int) -> None:
        if times:
            self.counts.refused += times
            self.counts.last_problem = "damaged or incomplete record received"

    def _end(self, wire: ByteStream) -> None:
        wire.write(self.STOP)
