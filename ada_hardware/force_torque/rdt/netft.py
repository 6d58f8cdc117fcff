# SPDX-License-Identifier: Apache-2.0
"""Driver of the ATI Net F/T: RDT records, scales from its calibration page or from the settings."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import urlsplit

from ada_dynamics.errors import InputError
from ada_hardware.force_torque.rdt import codec
from ada_hardware.force_torque.rdt.calibration import PAGE, Calibration, fetch_page, parse_calibration
from ada_hardware.force_torque.rdt.driver import RdtDriver, RdtSettings
from ada_hardware.force_torque.sensor_driver import SensorIdentity
from ada_hardware.transport.wires import PacketPort
from ada_robot.errors import NoAnswer
from ada_robot.settings import setting


@dataclass(frozen=True)
class NetFtSettings(RdtSettings):
    """Connection and scales of a Net F/T."""

    calibration_url: str = setting("", f"address of the calibration page; empty: http://HOST{PAGE} of the sensor")
    force_scale: float = setting(0.0, "counts per newton; 0: from the calibration page", unit="1/N", lower=0.0)
    moment_scale: float = setting(
        0.0, "counts per newton metre; 0: from the calibration page", unit="1/(N m)", lower=0.0
    )
    page_timeout: float = setting(2.0, "timeout of the calibration page", unit="s", lower=0.01, upper=60.0)

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
        wire: PacketPort | None = None,
        clock: Callable[[], float] = time.monotonic,
        fetch: Callable[[str, float], bytes] = fetch_page,
    ) -> None:
        """Args as of `SensorDriver`; `fetch` reads a page by its address within a timeout [s]."""
        super().__init__(settings, wire=wire, clock=clock)
        self._fetch = fetch
        self._rate = settings.rate

    @property
    def period(self) -> float:
        """Sample period from the calibration page, or as set [s]."""
        return 1.0 / self._rate

    def _prepare(self, wire: PacketPort) -> SensorIdentity:
        use = self.settings
        if use.force_scale:
            return _identity("Net F/T", "", use.force_scale, use.moment_scale, "settings")
        found = self._calibration(wire)
        if not found.is_streaming_allowed:
            text = f"{self.NAME} at {wire.url}: RDT is disabled; enable it on the web page of the sensor."
            raise NoAnswer(text, field="comrdte", value="Disabled")
        self._rate = found.rate or use.rate
        return _identity(found.product or "Net F/T", found.serial, found.force_scale, found.moment_scale, "device")

    def _emulator_settings(self) -> dict[str, object]:
        use = self.settings
        scales = {"counts_per_force": use.force_scale, "counts_per_torque": use.moment_scale} if use.force_scale else {}
        return {**super()._emulator_settings(), **scales}

    def _calibration(self, wire: PacketPort) -> Calibration:
        pages = _pages_in_process(wire)
        if pages is not None and not self.settings.calibration_url:
            return parse_calibration(pages[PAGE], f"{wire.url} {PAGE}")
        url = self.settings.calibration_url or _page_of(self.NAME, wire)
        return parse_calibration(self._fetch(url, self.settings.page_timeout), url)

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


def _pages_in_process(wire: PacketPort) -> Mapping[str, bytes] | None:
    """Return the pages of a sensor emulated in this process, or None."""
    pages = getattr(getattr(wire, "emulator", None), "http_pages", None)
    return None if pages is None else pages()


def _page_of(name: str, wire: PacketPort) -> str:
    if wire.device is not None:  # the pages of an emulator have their own port
        return f"{wire.device.http_url}{PAGE}"
    url, host = wire.url, urlsplit(wire.url).hostname
    if not host:
        text = f"{name}: {url} has no host with a page; set calibration_url, or force_scale and moment_scale."
        raise NoAnswer(text, field="calibration_url", value=url)
    return f"http://[{host}]{PAGE}" if ":" in host else f"http://{host}{PAGE}"
