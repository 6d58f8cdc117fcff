# SPDX-License-Identifier: Apache-2.0
"""Base of all drivers of force/torque sensors: bytes of one device to wrenches, and nothing else.

A driver translates. Zero, filter, tool and frames are handled by `pipeline`, for all sensors alike. All calls come
from one thread at a time:

    open -> read, read, ... (bias and reset between them) -> close

A new sensor has a codec, a driver and an emulator of its own, and a line in `registry`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from ada_dynamics.arrays import Array
from ada_hardware.transport.wires import Wire
from ada_robot.driver import LinkCounts
from ada_robot.errors import TransportError


class Settings(Protocol):
    """Settings common to all sensors."""

    @property
    def url(self) -> str:
        """Where the sensor is."""

    @property
    def timeout(self) -> float:
        """Longest wait for a sample [s]."""


S = TypeVar("S", bound=Settings)
R = TypeVar("R")


@dataclass(frozen=True)
class Sample:
    """One reading of a sensor.

    Attributes:
        time: when it came, on the steady clock [s].
        wrench: [f, n] that acts on the sensor from outside, in its own axes at its origin, as the device gives it; NaN
            before the first one came [N, N m].
        is_fresh: whether it came in this reading; else it is what came last.
        is_saturated: some axis is at the end of its range: the true wrench may be greater.
        error: what the device says is wrong, so that the wrench must not be used; "" where nothing is.
        warning: what the device says beside, with a wrench that is right; "" where nothing is.
        number: the device's own count of its records.
        status: the device's status word as it came; 0 where it has none.
        values: other figures by name with unit, such as "temperature [degC]".
    """

    time: float
    wrench: Array
    is_fresh: bool = True
    is_saturated: bool = False
    error: str = ""
    warning: str = ""
    number: int = 0
    status: int = 0
    values: Mapping[str, float] = field(default_factory=dict)


class SensorIdentity(NamedTuple):
    """Identity of a sensor.

    Attributes:
        name: of the product.
        scale: counts per newton of fx, fy, fz, then per newton metre of nx, ny, nz.
        source: where the scale comes from: "device", "settings" or "protocol".
        version: of its firmware; "" where it does not say.
    """

    name: str
    scale: tuple[float, ...]
    source: str
    version: str = ""


@dataclass
class SequenceCounts:
    """Irregularities in the numbers of the records since the wire was opened.

    Attributes:
        lost: records that never came.
        reordered: records that came after a newer one, and were not used.
        duplicated: records that came twice; the second was not used.
        restarted: times that the device began to count anew.
    """

    lost: int = 0
    reordered: int = 0
    duplicated: int = 0
    restarted: int = 0


W = TypeVar("W", bound=Wire)


class SensorDriver(ABC, Generic[S, W, R]):
    """One sensor on a wire W that sends records R.

    Attributes:
        settings: in use.
        counts: of the wire.
        sequence: of the records' numbers.
    """

    NAME: ClassVar[str]
    SETTINGS: ClassVar[type]

    def __init__(self, settings: S, *, wire: W | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """Prepare; `open` opens the wire.

        Args:
            settings: of the class SETTINGS; among them `url` and `timeout`.
            wire: to the sensor; None: it is opened by its address.
            clock: steady time [s].

        Raises:
            InputError: settings that cannot be.
        """
        self.settings = settings
        self.counts = LinkCounts()
        self.sequence = SequenceCounts()
        self._given, self._clock = wire, clock
        self._wire: W | None = None
        self._records: deque[tuple[float, R]] = deque()  # that wait, with the times when they came
        self._backlog = 64  # records that may wait; a host with more of them is too late for the older ones
        self._last = Sample(-np.inf, np.full(6, np.nan), is_fresh=False)

    # --- implemented by sensors -------------------------------------------------------------------------------------
    @property
    @abstractmethod
    def period(self) -> float:
        """Between two samples, as set [s]."""

    @abstractmethod
    def _open_wire(self) -> W:
        """The wire at the settings' address."""

    @abstractmethod
    def _prepare(self, wire: W) -> SensorIdentity:
        """Find the sensor, and learn its scale.

        Raises:
            NoAnswer: no such sensor answers there.
        """

    @abstractmethod
    def _start(self, wire: W) -> None:
        """Start the records.

        Raises:
            NoAnswer: none does.
        """

    @abstractmethod
    def _take(self, wire: W, timeout: float) -> bool:
        """Read the wire, and keep the records in what comes; waits up to `timeout` [s]; True if anything came."""

    @abstractmethod
    def _sample(self, when: float, record: R) -> Sample:
        """The sample of a record that came at a time [s]."""

    @abstractmethod
    def _end(self, wire: W) -> None:
        """Silence the sensor. Raises TransportError where the wire is gone."""

    @abstractmethod
    def bias(self) -> None:
        """Let the device itself call the present wrench zero; it forgets that when it loses its power.

        Raises:
            Refused: the device has no zero of its own.
            TransportError: the wire is gone.
        """

    def reset(self) -> None:  # most devices have nothing to reset
        """Clear what the device latched, such as a threshold that was passed.

        Raises:
            TransportError: the wire is gone.
        """

    # --- common part ------------------------------------------------------------------------------------------------
    def open(self) -> None:
        """Open the wire, find the sensor, learn its scale, and let samples come.

        Raises:
            TransportError: the wire cannot be opened.
            NoAnswer: no such sensor answers there.
        """
        self.close()
        self._wire = wire = self._given or self._open_wire()
        try:
            self._identity = self._prepare(wire)
            self._scale = np.array(self._identity.scale)
            self._start(wire)
        except BaseException:
            self.close()
            raise

    def identity(self) -> SensorIdentity:
        """Its identity; after `open`."""
        return self._identity

    def read(self) -> Sample:
        """The next sample; waits for it, no longer than the setting `timeout`.

        Silence and damaged records are counted and reported by `is_fresh`, not raised.

        Raises:
            TransportError: the wire is gone.
        """
        if not self._records and not self._receive(self.settings.timeout):
            return self._missed()
        return self._next()

    def _missed(self) -> Sample:
        """The last sample again, as none came in time."""
        self.counts.missed += 1
        self._last = replace(self._last, is_fresh=False)
        return self._last

    def _next(self) -> Sample:
        """The sample of the oldest record that waits; where too many do, of the newest."""
        old = len(self._records) - 1
        if old >= self._backlog:  # the newest wrench matters more than all the old ones
            self.counts.refused += old
            self.counts.last_problem = f"the host was late: {old} old records were skipped"
            self._records = deque([self._records[-1]])
        when, record = self._records.popleft()
        self.counts.received += 1
        self._last = self._sample(when, record)
        return self._last

    def _receive(self, timeout: float) -> bool:
        """Take what comes until a record waits; True if one does in time [s]."""
        wire, deadline = self._opened(), self._clock() + timeout
        while True:
            self._take(wire, max(deadline - self._clock(), 0.0))
            if self._records or self._clock() >= deadline:
                return bool(self._records)

    def _opened(self) -> W:
        if self._wire is None:
            raise TransportError(f"{self.NAME}: it is not open; call open() first.", field="state", value="closed")
        return self._wire

    def close(self) -> None:
        """End, with the sensor silent and the wire free; may be called twice, and after a failed `open`."""
        wire, self._wire = self._wire, None
        if wire is None:
            return
        try:
            self._end(wire)
        except TransportError as problem:
            self.counts.last_problem = str(problem)
        wire.close()
