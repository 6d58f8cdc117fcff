# SPDX-License-Identifier: Apache-2.0
"""Opening of device connections by address: real devices, or emulators started on demand.

"dry:" selects an emulator in this process: the complete software runs, and no port is opened. "emulator:" starts one in
its own process on a pseudo-terminal or local UDP port, which ends with the connection or with this process; `ada hw
fault` sets its faults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ada_hardware.emulation.emulator import emulator_class, made_emulator
from ada_hardware.emulation.in_process import InProcessPackets, InProcessStream
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.registry import find
from ada_hardware.transport import open_packets, open_stream
from ada_hardware.transport.wires import ByteStream, PacketPort, Serial, Wire
from ada_robot.errors import TransportError
from ada_robot.settings import fields_of

DRY, EMULATOR = "dry:", "emulator:"
W = TypeVar("W", bound=Wire)


def open_device_stream(device: str, url: str, serial: Serial, settings: object = None) -> ByteStream:
    """Open the byte stream of a device.

    Args:
        device: name in the registry.
        url: address as of `open_stream`, or "dry:", or "emulator:".
        serial: settings of the line.
        settings: settings of the driver, for an emulator; see `emulator_settings`.

    Raises:
        TransportError: no address, the emulator does not start, or as of `open_stream`.
        UnknownDevice: the device is unknown.
    """
    return _opened(device, url, settings, InProcessStream, lambda found: open_stream(found, serial))


def open_device_packets(device: str, url: str, settings: object = None) -> PacketPort:
    """Open the packet connection of a device; arguments and errors as of `open_device_stream`."""
    return _opened(device, url, settings, InProcessPackets, open_packets)


def _opened(device: str, url: str, settings: object, in_process: Callable[..., W], open_wire: Callable[[str], W]) -> W:
    if is_dry(url):
        return in_process(made_emulator(device, emulator_settings(device, settings)), url=f"{DRY}{device}")
    if is_emulated(url):
        started = EmulatorProcess(device, emulator_settings(device, settings))
        try:
            wire = open_wire(started.url)
        except BaseException:
            started.close()
            raise
        wire.device, wire.url = started, f"{EMULATOR}{device} ({started.url})"
        return wire
    if not url:
        examples = (*find(device).addresses, EMULATOR, DRY)
        text = (
            f"{device}: url is not set. Set it to the address of the device, such as {', '.join(examples[:-2])}, "
            f"or to {EMULATOR} (emulator, started and ended with the connection) or {DRY} (dry run, opens no port)."
        )
        raise TransportError(text, field="url", allowed=examples)
    return open_wire(url)


def emulator_settings(device: str, settings: object) -> dict[str, Any]:
    """Return the settings with which an emulator agrees with a driver.

    Args:
        device: name in the registry.
        settings: settings of the driver, of which those are used that the emulator has too and that differ from their
            defaults; or settings of the emulator by name; or None.
    """
    if settings is None or isinstance(settings, Mapping):
        return dict(settings or {})
    known = {one.name for one in fields_of(emulator_class(device).SETTINGS)}
    own = {one.name: (getattr(settings, one.name), one.default) for one in fields_of(type(settings))}
    return {name: value for name, (value, default) in own.items() if name in known and value != default}


def is_dry(url: str) -> bool:
    """Return True for the address of a dry run."""
    return url == DRY


def is_emulated(url: str) -> bool:
    """Return True for the address of an emulator in a separate process."""
    return url == EMULATOR
