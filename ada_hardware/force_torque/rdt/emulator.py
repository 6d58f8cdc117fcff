# SPDX-License-Identifier: Apache-2.0
"""Emulated RDT sensors: ATI Net F/T with its calibration page, OnRobot HEX."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_hardware.emulation.emulator import TimedReply
from ada_hardware.force_torque.rdt import codec
from ada_hardware.force_torque.rdt.codec import RdtRecord, RdtRequest
from ada_hardware.force_torque.rdt.driver import SCALE, TICK
from ada_hardware.force_torque.sensor_emulator import AXES, SensorEmulator, SensorEmulatorSettings
from ada_robot.settings import setting

_MOST_AT_ONCE = 1000  # records returned by one call; older ones count as lost
_HIGHEST = (1 << 31) - 1
_WRAP = 1 << 32
_FAULTS = {
    **AXES,
    "status": "bits added to the status word",
    "frozen": "1: sends no records",
    "reboot": "1: restart: no stream, record numbers from 0",
}


@dataclass(frozen=True)
class RdtEmulatorSettings(SensorEmulatorSettings):
    """Settings of an emulated RDT sensor."""

    rate: float = setting(1000.0, "records per second", unit="Hz", lower=1.0, upper=10_000.0)


@dataclass(frozen=True)
class NetFtEmulatorSettings(RdtEmulatorSettings):
    """Settings of an emulated Net F/T and its calibration page."""

    force_scale: float = setting(1_000_000.0, "counts per newton", unit="1/N", lower=1.0)
    moment_scale: float = setting(1_000_000.0, "counts per newton metre", unit="1/(N m)", lower=1.0)
    range_force: float = setting(500.0, "force range of an axis", unit="N", lower=0.0)
    range_moment: float = setting(20.0, "moment range of an axis", unit="N m", lower=0.0)
    threshold: float = setting(0.0, "force above which the device latches a warning; 0: none", unit="N", lower=0.0)


E = TypeVar("E", bound=RdtEmulatorSettings)


class _RdtEmulator(SensorEmulator[E]):
    """Base of both sensors: requests, stream, sequence numbers."""

    WIRE: ClassVar[str] = "packets"
    FAULTS: ClassVar[Mapping[str, str]] = _FAULTS

    def __init__(self, settings: E, scale: ArrayLike) -> None:
        super().__init__(settings, scale, settings.rate)

    def _begin(self) -> None:
        self._number = 0
        self._sample = 0
        super()._begin()

    def receive(self, data: bytes, now: float) -> list[TimedReply]:
        """Process a packet of the host."""
        self._time = now
        request = codec.decode_request(data)
        if request is None:
            self._report_violation(f"invalid request of {len(data)} bytes")
            return []
        self._execute(request, now)
        return self.advance(now)

    def _execute(self, request: RdtRequest, now: float) -> None:
        if request.command == codec.START:
            self._number = 0  # each start resets the sequence number
            self._stream(now)
        elif request.command == codec.STOP:
            self._is_streaming = False
        elif not self._set(request):
            self._report_violation(f"unknown command 0x{request.command:04X}")

    @abstractmethod
    def _set(self, request: RdtRequest) -> bool:
        """Execute a command other than start and stop; return False if it is unknown."""

    def _records(self, due: int) -> list[TimedReply]:
        self._sample = (self._sample + due) % _WRAP
        skipped = max(due - _MOST_AT_ONCE, 0)
        self._number = (self._number + skipped) % _WRAP
        records = []
        for k in range(due - skipped, 0, -1):
            self._number = (self._number + 1) % _WRAP
            counts, status = self._measure()
            status |= int(self.faults["status"])
            records.append(RdtRecord(self._number, (self._sample - k + 1) % _WRAP, status, counts))
        if self.faults["frozen"]:
            return []
        return [TimedReply(codec.encode_records(record)) for record in records]

    @abstractmethod
    def _measure(self) -> tuple[tuple[int, ...], int]:
        """Return counts and status word."""

    def state(self) -> dict[str, object]:
        """State of load and stream."""
        return {**super().state(), "records": self._number, "rate": 1.0 / self.tick}


class NetFtEmulator(_RdtEmulator[NetFtEmulatorSettings]):
    """Emulated Net F/T with a calibration page."""

    NAME = "netft"
    SETTINGS: ClassVar[type] = NetFtEmulatorSettings

    def __init__(self, settings: NetFtEmulatorSettings) -> None:
        super().__init__(settings, [settings.force_scale] * 3 + [settings.moment_scale] * 3)
        self._is_latched = False

    def state(self) -> dict[str, object]:
        """State of load and stream, and the calibration page."""
        use = self.settings
        page = (
            '<?xml version="1.0"?>\n<netft>\n<prodname>Net F/T (emulated)</prodname>\n<cfgcalsn>EM0001</cfgcalsn>\n'
            f"<cfgcpf>{use.force_scale:.0f}</cfgcpf>\n<cfgcpt>{use.moment_scale:.0f}</cfgcpt>\n"
            f"<scfgfu>N</scfgfu>\n<scfgtu>Nm</scfgtu>\n<comrdte>Enabled</comrdte>\n<comrdtrate>{use.rate:.0f}</comrdtrate>\n</netft>\n"
        )
        return {**super().state(), "calibration": page}

    def _set(self, request: RdtRequest) -> bool:
        if request.command != codec.RESET_THRESHOLD:
            return False
        self._is_latched = False
        return True

    def _measure(self) -> tuple[tuple[int, ...], int]:
        use, wrench = self.settings, self.wrench
        counts, is_at_end = self._counts(-_HIGHEST - 1, _HIGHEST)
        limits: Array = np.array([use.range_force] * 3 + [use.range_moment] * 3)
        status = 0
        if is_at_end or np.any(np.abs(wrench) > limits):
            status |= codec.ERROR_SUMMARY | codec.OUT_OF_RANGE
        self._is_latched |= 0.0 < use.threshold < float(np.linalg.norm(wrench[:3]))
        if self._is_latched:
            status |= codec.MONITOR_LATCHED
        return counts, status


class OnRobotEmulator(_RdtEmulator[RdtEmulatorSettings]):
    """Emulated OnRobot HEX with its Ethernet box."""

    NAME = "onrobot"
    SETTINGS: ClassVar[type] = RdtEmulatorSettings

    def __init__(self, settings: RdtEmulatorSettings) -> None:
        super().__init__(settings, SCALE)

    def _set(self, request: RdtRequest) -> bool:
        if request.command != codec.SPEED or request.value <= 0:
            return False
        self.tick = request.value * TICK
        return True

    def _measure(self) -> tuple[tuple[int, ...], int]:
        return self._counts(-_HIGHEST - 1, _HIGHEST)[0], 0
