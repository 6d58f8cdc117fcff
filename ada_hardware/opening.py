# SPDX-License-Identifier: Apache-2.0
"""How drivers open the wire of their device: a real one by its address, or one to an emulator, which it starts.

"dry:" leads to an emulator in this process: the whole pipeline works, byte for byte, and no port is opened. "emulator:"
leads to one in a process of its own, on a real wire: a pseudo-terminal, or UDP of this machine. Its faults and settings
may stand behind it, as in "emulator:drop=0.1".
"""

from __future__ import annotations

from collections.abc import Mapping

from ada_hardware.emulation.catalogue import made_emulator
from ada_hardware.emulation.emulated_wires import SCHEME, open_emulated
from ada_hardware.emulation.in_process import InProcessPackets, InProcessStream
from ada_hardware.registry import find
from ada_hardware.transport.wires import ByteStream, PacketPort, Serial, open_packets, open_stream
from ada_robot.errors import TransportError

DRY, EMULATOR = "dry:", SCHEME


def open_device_stream(
    device: str, url: str, serial: Serial, *, emulator_settings: Mapping[str, object] | None = None
) -> ByteStream:
    """Open the line of a device that speaks in streams of bytes.

    Args:
        device: its name in the registry.
        url: address as of `open_stream`, or "dry:", or "emulator:".
        serial: how the line is set.
        emulator_settings: of the emulator that is started, by name, where it has to be like the driver's.

    Raises:
        TransportError: no address; an emulator that does not start; or as of `open_stream`.
        UnknownDevice: there is no such device.
        InputError: a fault or setting in the address of an emulator that it does not have.
    """
    if is_dry(url):
        return InProcessStream(made_emulator(device, emulator_settings), url=f"{DRY}{device}")
    if is_emulated(url):
        return open_emulated(device, url, lambda found: open_stream(found, serial), emulator_settings)
    return open_stream(_given(device, url), serial)


def open_device_packets(device: str, url: str, *, emulator_settings: Mapping[str, object] | None = None) -> PacketPort:
    """Open the way to a device that speaks in packets; arguments and errors as of `open_device_stream`."""
    if is_dry(url):
        return InProcessPackets(made_emulator(device, emulator_settings), url=f"{DRY}{device}")
    if is_emulated(url):
        return open_emulated(device, url, open_packets, emulator_settings)
    return open_packets(_given(device, url))


def is_dry(url: str) -> bool:
    """True if an address asks for a dry run."""
    return url == DRY


def is_emulated(url: str) -> bool:
    """True if an address asks for an emulator in a process of its own."""
    return url.startswith(EMULATOR)


def _given(device: str, url: str) -> str:
    if url:
        return url
    text = (
        f"{device}: url is not set; where is the device? Such as {', '.join(find(device).addresses)}. Without one: "
        f"{EMULATOR} (an emulated device, which is started and ended with the wire) or {DRY} (a dry run: no port is "
        "opened)."
    )
    raise TransportError(text, field="url", allowed=(*find(device).addresses, EMULATOR, DRY))
