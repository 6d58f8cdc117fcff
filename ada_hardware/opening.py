# SPDX-License-Identifier: Apache-2.0
"""Opening of device connections by address: real devices, or emulators started on demand.

"dry:" selects an emulator in this process: the complete software runs, and no port is opened. "emulator:" starts one in
its own process on a pseudo-terminal or local UDP port, which ends with the connection or with this process; `ada hw
fault` sets its faults.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ada_hardware.emulation.emulator import emulator_class, made_emulator
from ada_hardware.emulation.in_process import InProcessWire
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.registry import find
from ada_hardware.transport import open_packets, open_stream
from ada_hardware.transport.wires import Serial, Wire
from ada_robot.errors import TransportError
from ada_robot.settings import fields_of

DRY, EMULATOR = "dry:", "emulator:"


def open_device_wire(device: str, url: str, settings: object = None, serial: Serial | None = None) -> Wire:
    """Open the connection of a device.

    Args:
        device: name in the registry.
        url: address as of `open_stream` or `open_packets`, or "dry:", or "emulator:".
        settings: settings of the driver, for an emulator; see `emulator_settings`.
        serial: settings of the line of a device on a serial line; None for packets.

    Raises:
        TransportError: no address, the emulator does not start, or as of `open_stream` and `open_packets`.
        UnknownDevice: the device is unknown.
    """
    if url == DRY:
        return InProcessWire(made_emulator(device, emulator_settings(device, settings)), url=f"{DRY}{device}")
    if not url:
        examples = (*find(device).addresses, EMULATOR, DRY)
        text = (
            f"{device}: url is not set. Set it to the address of the device, such as {', '.join(examples[:-2])}, "
            f"or to {EMULATOR} (emulator, started and ended with the connection) or {DRY} (dry run, opens no port)."
        )
        raise TransportError(text, field="url", allowed=examples)
    started = EmulatorProcess(device, emulator_settings(device, settings)) if url == EMULATOR else None
    address = url if started is None else started.url
    try:
        wire = open_packets(address) if serial is None else open_stream(address, serial)
    except BaseException:
        if started is not None:
            started.close()
        raise
    if started is not None:
        wire.device, wire.url = started, f"{EMULATOR}{device} ({started.url})"
    return wire


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
