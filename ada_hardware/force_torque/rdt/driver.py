# SPDX-License-Identifier: Apache-2.0
"""Base of the drivers of RDT sensors: start, records in their order, status, bias, stop."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np

from ada_hardware.force_torque.rdt import codec
from ada_hardware.force_torque.rdt.codec import Record, Request
from ada_hardware.force_torque.rdt.sequence import SequenceWatch
from ada_hardware.force_torque.sensor_driver import Sample, SensorDriver
from ada_hardware.opening import open_device_packets
from ada_hardware.transport.wires import PacketPort
from ada_robot.errors import NoAnswer
from ada_robot.settings import setting

_TRIES, _WAIT = 10, 0.1  # [s] of a start that may get lost (netft_utils)
_REPEATS = 3  # of requests that have no answer; each does the same as the one before
_LONGEST_TAKING = 0.02  # [s] until the newest one is used, however fast more of them come


@dataclass(frozen=True)
class RdtSettings:
    """Where a sensor is, and how fast it talks."""

    url: str = setting("", "address of the sensor, such as udp://192.168.1.1:49152, or dry:")
    rate: float = setting(1000.0, "records per second", unit="Hz", lower=1.0, upper=10_000.0)
    timeout: float = setting(0.1, "longest wait for a record", unit="s", lower=1e-3, upper=10.0)


T = TypeVar("T", bound=RdtSettings)


class RdtDriver(SensorDriver[T, PacketPort, Record]):
    """A sensor that sends RDT records until it is stopped."""

    SETTINGS: ClassVar[type] = RdtSettings
    _BIAS = Request(codec.BIAS)

    def __init__(
        self, settings: T, *, wire: PacketPort | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Prepare; arguments as of `SensorDriver`."""
        super().__init__(settings, wire=wire, clock=clock)
        self._watch = SequenceWatch(self.sequence)
        self._measurement = -1  # number of the newest

    # --- implemented by devices -----------------------------------------------------------------------------------
    @abstractmethod
    def _verdict(self, status: int) -> tuple[str, str, bool]:
        """Meaning of a status word: error and warning in words, and whether an axis is out of range."""

    def _emulator_settings(self) -> dict[str, object]:
        """Settings of the emulated sensor of a dry run, by those of the driver."""
        return {"rate": self.settings.rate}

    # --- common part ----------------------------------------------------------------------------------------------
    @property
    def period(self) -> float:  # noqa: D102
        return 1.0 / self.settings.rate

    def _open_wire(self) -> PacketPort:
        return open_device_packets(self.NAME, self.settings.url, emulator_settings=self._emulator_settings())

    def _start(self, wire: PacketPort) -> None:
        seen = 0
        for attempt in range(_TRIES):
            wire.discard_input()
            self._watch.restart()
            self._records.clear()
            self._measurement = -1
            self.counts.retries += attempt > 0
            self._send(Request(codec.START, codec.ENDLESS))
            deadline = self._clock() + _WAIT
            while self._clock() < deadline:
                seen += self._take(wire, max(deadline - self._clock(), 0.0))
                if self._records:
                    return
        what = f"{seen} packets came, but none of RDT" if seen else "nothing came"
        self.counts.last_problem = what
        text = (
            f"{self.NAME} at {wire.url}: {_TRIES} requests to start within {_TRIES * _WAIT:g} s, and {what}. Look at "
            "power and cable, whether this machine has an address in the sensor's network (ping it), whether a "
            "firewall lets UDP through, and whether RDT is switched on in the sensor's web page."
        )
        raise NoAnswer(text, field="records" if seen else "packets", value=seen)

    def _take(self, wire: PacketPort, timeout: float) -> bool:
        packet = wire.receive(timeout)
        has_come, end = packet is not None, self._clock() + _LONGEST_TAKING
        while packet is not None:
            self._keep(packet)
            packet = wire.receive(0.0) if self._clock() <= end else None
        return has_come

    def _keep(self, packet: bytes) -> None:
        """Keep the new records of a packet."""
        records = codec.decode_records(packet)
        if not records:
            self.counts.refused += 1
            self.counts.last_problem = f"a packet of {len(packet)} bytes is no RDT record"
        now = self._clock()
        self._records.extend((now, one) for one in records if self._watch.is_new(one.number))

    def _sample(self, when: float, record: Record) -> Sample:
        if record.sample == self._measurement:
            self.counts.last_problem = "records go on, but repeat the last measurement: its transducer has stopped"
            return replace(self._last, is_fresh=False)
        self._measurement = record.sample
        error, warning, is_saturated = self._verdict(record.status)
        return Sample(
            when,
            np.array(record.counts, dtype=np.float64) / self._scale,
            is_saturated=is_saturated,
            error=error,
            warning=warning,
            number=record.number,
            status=record.status,
        )

    def bias(self) -> None:  # noqa: D102
        self._repeat(self._BIAS)

    def reset(self) -> None:
        """Clear the latch of the device's thresholds."""
        self._repeat(Request(codec.RESET_THRESHOLD))

    def _end(self, wire: PacketPort) -> None:
        wire.send(codec.encode_request(Request(codec.STOP)))

    def _send(self, request: Request) -> None:
        self.counts.sent += 1
        self._opened().send(codec.encode_request(request))

    def _repeat(self, request: Request) -> None:
        for _ in range(_REPEATS):
            self._send(request)
