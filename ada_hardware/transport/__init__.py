# SPDX-License-Identifier: Apache-2.0
"""Connections opened by address: byte streams (serial lines, pseudo-terminals) and packets (UDP, ARCNET).

    stream = open_stream("/dev/ttyUSB0", Serial(baud=115200, dtr=False))
    packets = open_packets("udp://127.0.0.1:49152")      # or "arcnet:arc0"

Addresses of streams: a device file such as /dev/ttyUSB0, or a pseudo-terminal (`socat` connects one to a remote line).
Addresses of packets: udp://host:port, arcnet:INTERFACE. Drivers use `ada_hardware.opening`, which also supports dry
runs.
"""

from __future__ import annotations

from ada_hardware.transport.wires import Serial, Wire
from ada_robot.errors import TransportError

__all__ = ["Serial", "Wire", "open_packets", "open_stream"]

_PACKETS = "udp://HOST:PORT, such as udp://192.168.1.1:49152, or arcnet:INTERFACE, such as arcnet:arc0"
_STREAMS = "a device file, such as /dev/ttyUSB0"


def open_stream(url: str, serial: Serial) -> Wire:
    """Open a byte stream.

    Args:
        url: device file.
        serial: settings of the line.

    Raises:
        TransportError: no such port, no permission, in use, or unsupported rate; the message contains the remedy.
    """
    from ada_hardware.transport import serial_line  # needs pyserial

    if not url or "://" in url or url.startswith(("arcnet:", "dry:", "emulator:")):
        text = f"{url!r} is not an address of a byte stream; required is {_STREAMS}."
        raise TransportError(text, field="url", value=url, allowed=_STREAMS)
    return serial_line.open_port(url, serial)


def open_packets(url: str) -> Wire:
    """Open a packet connection, and lock out other programs of this machine until it is closed.

    Args:
        url: udp://host:port or arcnet:INTERFACE.

    Raises:
        TransportError: no such host or interface, no permission, or in use; the message contains the remedy.
    """
    from ada_hardware.transport import arcnet, udp

    kind, _, place = url.partition(":")
    if kind == "udp":
        return udp.open_udp(url)
    if kind == "arcnet" and place:
        return arcnet.open_arcnet(place)
    text = f"{url!r} is not an address for packets; required is {_PACKETS}."
    raise TransportError(text, field="url", value=url, allowed=_PACKETS)
