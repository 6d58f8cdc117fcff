# SPDX-License-Identifier: Apache-2.0
"""Drivers of RDT sensors: ATI Net F/T (scales from its calibration page) and OnRobot HEX (OptoForce)."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar
from urllib.parse import urlsplit

import numpy as np

from ada_dynamics.errors import InputError
from ada_hardware.force_torque.rdt import codec
from ada_hardware.force_torque.rdt.calibration import PAGE, Calibration, fetch_page, parse_calibration
from ada_hardware.force_torque.rdt.codec import RdtRecord, RdtRequest
from ada_hardware.force_torque.sensor_driver import Sample, SensorDriver, SensorIdentity, SensorSettings, SequenceCounts
from ada_hardware.transport.wires import Wire
from ada_robot.errors import NoAnswer
from ada_robot.settings import setting

WRAP = 1 << 32
_JUMP = 10_000  # records that can be lost at once; a larger jump is an error, or a restart of the device
_RUN = 32  # successive records that are not used, which indicate a restart
_REPEATS = 3  # repetitions of requests without a reply, which are idempotent
SCALE = (10_000.0,) * 3 + (100_000.0,) * 3  # [1/N], [1/(N m)]
TICK = 1e-3  # [s] unit of the sample period
# Status bits of OptoForce's serial and CAN packets; the same bits are assumed for the records of the box. The lowest
# four identify the sensor.
_WHICH = 0x000F
_OVERLOAD = {0x0200: "fx", 0x0100: "fy", 0x0080: "fz", 0x0040: "nx", 0x0020: "ny", 0x0010: "nz"}
_SENSOR_ERRORS = {1: "sensor not detected", 2: "sensor failure", 4: "sensor temperature out of range"}
_BOX_ERRORS = {1: "failure of the box", 2: "communication failure between box and sensor"}


class SequenceWatch:
    """Detects which records are new."""

    def __init__(self, counts: SequenceCounts) -> None:
        """Create the detector; any first number is accepted. `counts`: statistics to update."""
        self._counts = counts
        self._newest: int | None = None
        self._refused = 0  # successive records that were not used

    def restart(self) -> None:
        """Reset: the numbers restart."""
        self._newest = None

    def is_new(self, number: int) -> bool:
        """Return True if a record is newer than all before; otherwise count it."""
        if self._newest is not None:
            ahead = (number - self._newest + WRAP // 2) % WRAP - WRAP // 2
            if 0 < ahead <= _JUMP:
                self._counts.lost += ahead - 1
            elif self._refused + 1 < _RUN:
                self._counts.late += 1
                self._refused += 1
                return False
            else:
                self._counts.restarted += 1
        self._newest, self._refused = number, 0
        return True


@dataclass(frozen=True)
class RdtSettings(SensorSettings):
    """Connection and rate of an RDT sensor."""

    rate: float = setting(1000.0, "records per second", unit="Hz", lower=1.0, upper=10_000.0)


T = TypeVar("T", bound=RdtSettings)


class RdtDriver(SensorDriver[T, RdtRecord]):
    """Sensor that streams RDT records until it is stopped."""

    SETTINGS: ClassVar[type] = RdtSettings
    START, STOP = codec.encode_request(RdtRequest(codec.START)), codec.encode_request(RdtRequest(codec.STOP))
    TRIES, WAIT = 10, 0.1  # as in netft_utils
    REMEDY = (
        "Check power supply and cable, that this machine has an address in the network of the sensor (ping it), that "
        "no firewall blocks UDP, and that RDT is enabled on the web page of the sensor."
    )

    def __init__(self, settings: T, *, wire: Wire | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(settings, wire=wire, clock=clock)
        self._watch = SequenceWatch(self.sequence)
        self._measurement = -1  # number of the last measurement

    @abstractmethod
    def _verdict(self, status: int) -> tuple[str, str, bool]:
        """Decode a status word: error text, warning text, and whether an axis is out of range."""

    @property
    def period(self) -> float:  # noqa: D102
        return 1.0 / self.settings.rate

    def _forget(self) -> None:
        super()._forget()
        self._watch.restart()
        self._measurement = -1

    def _feed(self, data: bytes) -> int:
        records, now = codec.decode_records(data), self._clock()
        self._records.extend((now, one) for one in records if self._watch.is_new(one.number))
        return not records

    def _sample(self, when: float, record: RdtRecord) -> Sample:
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
        )

    def _repeat(self, request: RdtRequest) -> None:
        for _ in range(_REPEATS):
            self._send(codec.encode_request(request))


@dataclass(frozen=True)
class NetFtSettings(RdtSettings):
    """Connection and scales of a Net F/T."""

    calibration_url: str = setting("", f"address of the calibration page; empty: http://HOST{PAGE} of the sensor")
    force_scale: float = setting(0.0, "counts per newton; 0: from the calibration page", unit="1/N", lower=0.0)
    moment_scale: float = setting(
        0.0, "counts per newton metre; 0: from the calibration page", unit="1/(N m)", lower=0.0
    )

    def __post_init__(self) -> None:
        """Check that both scales are set, or none; raises InputError."""
        if (self.force_scale > 0.0) != (self.moment_scale > 0.0):
            text = f"force_scale is {self.force_scale:g} and moment_scale {self.moment_scale:g}; set both, or none."
            raise InputError(text, field="moment_scale" if self.force_scale else "force_scale", value=0.0)


class NetFtDriver(RdtDriver[NetFtSettings]):
    """Net F/T driver."""

    NAME = "netft"
    SETTINGS: ClassVar[type] = NetFtSettings

    def __init__(
        self,
        settings: NetFtSettings,
        *,
        wire: Wire | None = None,
        clock: Callable[[], float] = time.monotonic,
        fetch: Callable[[str], bytes] = fetch_page,
    ) -> None:
        """Create the driver as `SensorDriver`; `fetch` reads a page by its address."""
        super().__init__(settings, wire=wire, clock=clock)
        self._fetch = fetch
        self._rate = settings.rate

    @property
    def period(self) -> float:
        """Sample period from the calibration page, or as set [s]."""
        return 1.0 / self._rate

    def _prepare(self) -> SensorIdentity:
        use = self.settings
        if use.force_scale:
            return _identity("Net F/T", "", use.force_scale, use.moment_scale, "settings")
        found = self._calibration()
        if not found.is_streaming_allowed:
            text = f"{self.NAME} at {self._opened().url}: RDT is disabled; enable it on the web page of the sensor."
            raise NoAnswer(text, field="comrdte", value="Disabled")
        self._rate = found.rate or use.rate
        return _identity(found.product or "Net F/T", found.serial, found.force_scale, found.moment_scale, "device")

    def reset(self) -> None:
        """Clear the latched thresholds of the device."""
        self._repeat(RdtRequest(codec.RESET_THRESHOLD))

    def _calibration(self) -> Calibration:
        wire = self._opened()
        if wire.device is not None and not self.settings.calibration_url:
            return parse_calibration(str(wire.device.state()["calibration"]).encode(), wire.url)
        url = self.settings.calibration_url or _page_of(self.NAME, wire.url)
        return parse_calibration(self._fetch(url), url)

    def _verdict(self, status: int) -> tuple[str, str, bool]:
        # as in netft_utils: a latched threshold alone is a warning, everything else an error
        if not status:
            return "", "", False
        words = codec.status_words(status)
        if status == codec.MONITOR_LATCHED:
            return "", words, False
        return words, "", bool(status & codec.OUT_OF_RANGE)


def _identity(product: str, serial: str, force: float, moment: float, source: str) -> SensorIdentity:
    name = f"{product}, calibration {serial}" if serial else product
    return SensorIdentity(name, (force,) * 3 + (moment,) * 3, source)


def _page_of(name: str, url: str) -> str:
    """Address of the calibration page of a sensor. Raises NoAnswer."""
    host = urlsplit(url).hostname
    if not host:
        text = f"{name}: {url} has no host with a page; set calibration_url, or force_scale and moment_scale."
        raise NoAnswer(text, field="calibration_url", value=url)
    return f"http://[{host}]{PAGE}" if ":" in host else f"http://{host}{PAGE}"


class OnRobotDriver(RdtDriver[RdtSettings]):
    """OnRobot HEX driver."""

    NAME = "onrobot"

    @property
    def period(self) -> float:
        """Sample period, a multiple of 1 ms [s]."""
        return self._ticks * TICK

    @property
    def _ticks(self) -> int:
        return max(round(1.0 / (self.settings.rate * TICK)), 1)

    def _prepare(self) -> SensorIdentity:
        self._repeat(RdtRequest(codec.SPEED, self._ticks))
        return SensorIdentity("OnRobot HEX", SCALE, "protocol")

    def _verdict(self, status: int) -> tuple[str, str, bool]:
        status &= ~_WHICH
        if not status:
            return "", "", False
        over = [name for bit, name in _OVERLOAD.items() if status & bit]
        sensor, box, above = (status >> 10) & 7, (status >> 13) & 7, status >> 16
        errors = []
        if sensor:
            errors.append(_SENSOR_ERRORS.get(sensor, f"sensor error {sensor}"))
        if box:
            errors.append(_BOX_ERRORS.get(box, f"box error {box}"))
        if above:
            errors.append("see the status code in the device manual")
        warning = f"status 0x{status:08X}: overload of {', '.join(over)}" if over else ""
        error = f"status 0x{status:08X}: {', '.join(errors)}" if errors else ""
        return error, warning, bool(over)
