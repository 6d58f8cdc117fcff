# SPDX-License-Identifier: Apache-2.0
"""Opening of device connections by address: real devices, or emulators started on demand.

"dry:" selects an emulator in this process: the complete software runs, and no port is opened. "emulator:" starts one in
its own process on a pseudo-terminal or local UDP port, optionally with faults and settings, as in "emulator:drop=0.1".
"""

from __future__ import annotations

from collections.abc import Mapping

from ada_hardware.emulation.emulator import made_emulator
from ada_hardware.emulation.in_process import InProcessPackets, InProcessStream
from ada_hardware.emulation.process import SCHEME, open_emulated
from ada_hardware.registry import find
from ada_hardware.transport import open_packets, open_stream
from ada_hardware.transport.wires import ByteStream, PacketPort, Serial
from ada_robot.errors import TransportError

DRY, EMULATOR = "dry:", SCHEME


def open_device_stream(
    device: str, url: str, serial: Serial, *, emulator_settings: Mapping[str, object] | None = None
) -> ByteStream:
    """Open the byte stream of a device.

    Args:
        device: name in the registry.
        url: address as of `open_stream`, or "dry:", or "emulator:".
        serial: settings of the line.
        emulator_settings: settings of the emulator that must match the driver's, by name.

    Raises:
        TransportError: no address, the emulator does not start, or as of `open_stream`.
        UnknownDevice: the device is unknown.
        InputError: unknown fault or setting in the address.
    """
    if is_dry(url):
        return InProcessStream(made_emulator(device, emulator_settings), url=f"{DRY}{device}")
    if is_emulated(url):
        return open_emulated(device, url, lambda found: open_stream(found, serial), emulator_settings)
    return open_stream(_given(device, url), serial)


def open_device_packets(device: str, url: str, *, emulator_settings: Mapping[str, object] | None = None) -> PacketPort:
    """Open the packet connection of a device; arguments and errors as of `open_device_stream`."""
    if is_dry(url):
        return InProcessPackets(made_emulator(device, emulator_settings), url=f"{DRY}{device}")
    if is_emulated(url):
        return open_emulated(device, url, open_packets, emulator_settings)
    return open_packets(_given(device, url))


def is_dry(url: str) -> bool:
    """Return True for the address of a dry run."""
    return url == DRY


def is_emulated(url: str) -> bool:
    """Return True for the address of an emulator in a separate process."""
    return url.startswith(EMULATOR)


def _given(device: str, url: str) -> str:
    if url:
        return url
    text = (
        f"{device}: url is not set. Set it to the address of the device, such as {', '.join(find(device).addresses)}, "
        f"or to {EMULATOR} (emulator, started and ended with the connection) or {DRY} (dry run, opens no port)."
    )
    raise TransportError(text, field="url", allowed=(*find(device).addresses, EMULATOR, DRY))
