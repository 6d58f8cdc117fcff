# SPDX-License-Identifier: Apache-2.0
"""What drivers of RDT sensors share: start, records in their order, status, bias, stop."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.settings import setting
from ada_hardware.force_torque.rdt import codec
from ada_hardware.force_torque.rdt.codec import Record, Request
from ada_hardware.force_torque.rdt.sequence import SequenceWatch
from ada_hardware.force_torque.sensor_driver import Sample, SensorDriver, SensorIdentity
from ada_hardware.opening import open_device_packets
from ada_hardware.transport.wires import PacketPort
from ada_robot.errors import NoAnswer, TransportError

_TRIES, _WAIT = 10, 0.1  # [s] of a start that may get lost (netft_utils)
_REPEATS = 3  # of requests that have no answer; each does the same as the one before
_LARGEST_BACKLOG = 64  # records that wait; a host with more of them is too late for the older ones
_LONGEST_TAKING = 0.02  # [s] before one of them is used, however fast more of them come


@dataclass(frozen=True)
class RdtSettings:
    """Where a sensor is, and how fast it talks."""

    url: str = setting("", "address of the sensor, such as udp://192.168.1.1:49152, or dry:")
    rate: float = setting(1000.0, "records per second", unit="Hz", lower=1.0, upper=10_000.0)
    timeout: float = setting(0.1, "longest wait for a record", unit="s", lower=1e-3, upper=10.0)


R = TypeVar("R", bound=RdtSettings)


class Verdict(NamedTuple):
    """What a status word means.

    Attributes:
        error: words, where the wrench must not be used.
        warning: words, where it is right.
        is_saturated: whether an axis is out of range.
    """

    error: str = ""
    warning: str = ""
    is_saturated: bool = False


class RdtDriver(SensorDriver[R]):
    """A sensor that sends RDT records for as long as nobody stops it."""

    SETTINGS: ClassVar[type] = RdtSettings

    def __init__(
        self, settings: R, *, wire: PacketPort | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Prepare.

        Args:
            settings: address and rate.
            wire: to the sensor; None: it is opened by its address.
            clock: steady time [s].
        """
        super().__init__(settings)
        self._given, self._clock = wire, clock
        self._wire: PacketPort | None = None
        self._watch = SequenceWatch(self.sequence)
        self._waiting: deque[tuple[float, Record]] = deque()
        self._last = Sample(-np.inf, np.full(6, np.nan), is_fresh=False)
        self._scale: Array = np.ones(6)
        self._sample = -1  # number of the newest measurement

    # --- what differs ---------------------------------------------------------------------------------------------
    @abstractmethod
    def _prepare(self, wire: PacketPort) -> SensorIdentity:
        """Learn the scales, and set what is to be set, before the start.

        Raises:
            NoAnswer: the scales cannot be had.
        """

    @abstractmethod
    def _verdict(self, status: int) -> Verdict:
        """What a status word means."""

    def _emulator_settings(self) -> dict[str, object]:
        """Of the sensor of a dry run, which is to be like the one that the settings describe."""
        return {"rate": self.settings.rate}

    _BIAS = Request(codec.BIAS)

    # --- what it does ---------------------------------------------------------------------------------------------
    @property
    def period(self) -> float:  # noqa: D102
        return 1.0 / self.settings.rate

    def open(self) -> None:  # noqa: D102
        self.close()
        like_us = self._emulator_settings()
        self._wire = wire = self._given or open_device_packets(self.NAME, self.settings.url, emulator_settings=like_us)
        try:
            self._identity = self._prepare(wire)
            self._scale = np.array([*self._identity.force_scale, *self._identity.moment_scale])
            self._start(wire)
        except BaseException:
            self.close()
            raise

    def _start(self, wire: PacketPort) -> None:
        """Let records come.

        Raises:
            NoAnswer: none does.
        """
        seen = 0
        for attempt in range(_TRIES):
            wire.discard_input()
            self._watch.restart()
            self._waiting.clear()
            self._sample = -1
            if attempt:
                self.counts.retries += 1
            self._send(Request(codec.START, codec.ENDLESS))
            deadline = self._clock() + _WAIT
            while self._clock() < deadline:
                packet = wire.receive(max(deadline - self._clock(), 0.0))
                if packet is None:
                    continue
                seen += 1
                if self._take(packet):
                    return
        what = f"{seen} packets came, but none of RDT" if seen else "nothing came"
        self.counts.last_problem = what
        raise NoAnswer(
            f"{self.NAME} at {wire.url}: {_TRIES} requests to start within {_TRIES * _WAIT:g} s, and {what}. Look at "
            "power and cable, whether this machine has an address in the sensor's network (ping it), whether a "
            "firewall lets UDP through, and whether RDT is switched on in the sensor's web page."
        )

    def identity(self) -> SensorIdentity:  # noqa: D102
        return self._identity

    def read(self) -> Sample:  # noqa: D102
        wire = self._opened()
        deadline = self._clock() + self.settings.timeout
        if not self._waiting:
            self._collect(wire)
        while not self._waiting:
            packet = wire.receive(max(deadline - self._clock(), 0.0))
            if packet is not None:
                self._take(packet)
            elif self._clock() >= deadline:
                self.counts.missed += 1
                self._last = replace(self._last, is_fresh=False)
                return self._last
        return self._next()

    def _collect(self, wire: PacketPort) -> None:
        """Take what has come by now."""
        end = self._clock() + _LONGEST_TAKING
        while (packet := wire.receive(0.0)) is not None:
            self._take(packet)
            if self._clock() > end:
                return

    def _take(self, packet: bytes) -> bool:
        """Keep what is new of a packet; whether there was anything."""
        records = codec.decode_records(packet)
        if not records:
            self.counts.refused += 1
            self.counts.last_problem = f"a packet of {len(packet)} bytes is no RDT record"
        now = self._clock()
        fresh = [one for one in records if self._watch.is_new(one.number)]
        self._waiting.extend((now, one) for one in fresh)
        return bool(fresh)

    def _next(self) -> Sample:
        late = len(self._waiting) - _LARGEST_BACKLOG
        if late > 0:  # the newest wrench matters more than all the old ones
            self.counts.refused += len(self._waiting) - 1
            self.counts.last_problem = f"the host was late: {len(self._waiting) - 1} old records were skipped"
            self._waiting = deque([self._waiting[-1]])
        when, record = self._waiting.popleft()
        self.counts.received += 1
        if record.sample == self._sample:
            self.counts.last_problem = (
                "records go on, of a measurement that was told before: its transducer has stopped"
            )
            self._last = replace(self._last, is_fresh=False)
            return self._last
        self._sample = record.sample
        verdict = self._verdict(record.status)
        self._last = Sample(
            when,
            np.array(record.counts, dtype=np.float64) / self._scale,
            is_saturated=verdict.is_saturated,
            error=verdict.error,
            warning=verdict.warning,
            number=record.number,
            status=record.status,
        )
        return self._last

    def bias(self) -> None:  # noqa: D102
        self._repeat(self._BIAS)

    def reset(self) -> None:
        """Clear the latch of the device's thresholds."""
        self._repeat(Request(codec.RESET_THRESHOLD))

    def close(self) -> None:  # noqa: D102
        wire, self._wire = self._wire, None
        if wire is None:
            return
        try:
            wire.send(codec.encode_request(Request(codec.STOP)))
        except TransportError as problem:
            self.counts.last_problem = str(problem)
        wire.close()

    # --- inside ---------------------------------------------------------------------------------------------------
    def _opened(self) -> PacketPort:
        if self._wire is None:
            raise TransportError(f"{self.NAME}: it is not open; call open() first.")
        return self._wire

    def _send(self, request: Request) -> None:
        self.counts.sent += 1
        self._opened().send(codec.encode_request(request))

    def _repeat(self, request: Request) -> None:
        for _ in range(_REPEATS):
            self._send(request)
