# SPDX-License-Identifier: Apache-2.0
"""Base of the RDT drivers: start, sequence check, status, bias, stop."""

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

_TRIES, _WAIT = 10, 0.1  # tries of the start request, timeout [s] (netft_utils)
_REPEATS = 3  # repetitions of requests without a reply, which are idempotent
_LONGEST_TAKING = 0.02  # [s] limit of reading pending packets


@dataclass(frozen=True)
class RdtSettings:
    """Connection and rate of an RDT sensor."""

    url: str = setting("", "address of the sensor, such as udp://192.168.1.1:49152, or dry:")
    rate: float = setting(1000.0, "records per second", unit="Hz", lower=1.0, upper=10_000.0)
    timeout: float = setting(0.1, "timeout of a record", unit="s", lower=1e-3, upper=10.0)


T = TypeVar("T", bound=RdtSettings)


class RdtDriver(SensorDriver[T, PacketPort, Record]):
    """Sensor that streams RDT records until it is stopped."""

    SETTINGS: ClassVar[type] = RdtSettings
    _BIAS = Request(codec.BIAS)

    def __init__(
        self, settings: T, *, wire: PacketPort | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(settings, wire=wire, clock=clock)
        self._watch = SequenceWatch(self.sequence)
        self._measurement = -1  # number of the last measurement

    # --- implemented by devices -----------------------------------------------------------------------------------
    @abstractmethod
    def _verdict(self, status: int) -> tuple[str, str, bool]:
        """Decode a status word: error text, warning text, and whether an axis is out of range."""

    def _emulator_settings(self) -> dict[str, object]:
        """Settings of the emulator in a dry run."""
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
        what = f"{seen} packets received, but no RDT records" if seen else "no packets received"
        self.counts.last_problem = what
        text = (
            f"{self.NAME} at {wire.url}: {_TRIES} start requests within {_TRIES * _WAIT:g} s: {what}. Check power "
            "supply and cable, that this machine has an address in the network of the sensor (ping it), that no "
            "firewall blocks UDP, and that RDT is enabled on the web page of the sensor."
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
        """Store the new records of a packet."""
        records = codec.decode_records(packet)
        if not records:
            self.counts.refused += 1
            self.counts.last_problem = f"a packet of {len(packet)} bytes is not an RDT record"
        now = self._clock()
        self._records.extend((now, one) for one in records if self._watch.is_new(one.number))

    def _sample(self, when: float, record: Record) -> Sample:
        if record.sample == self._measurement:
            self.counts.last_problem = "records repeat the last measurement: the transducer has stopped"
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
        """Clear the latched thresholds of the device."""
        self._repeat(Request(codec.RESET_THRESHOLD))

    def _end(self, wire: PacketPort) -> None:
        wire.send(codec.encode_request(Request(codec.STOP)))

    def _send(self, request: Request) -> None:
        self.counts.sent += 1
        self._opened().send(codec.encode_request(request))

    def _repeat(self, request: Request) -> None:
        for _ in range(_REPEATS):
            self._send(request)
