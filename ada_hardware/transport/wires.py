# SPDX-License-Identifier: Apache-2.0
"""Base classes of connections, and their creation by address.

    stream = open_stream("/dev/ttyUSB0", Serial(baud=115200, dtr=False))
    packets = open_packets("udp://127.0.0.1:49152")      # or "arcnet:arc0"

Addresses of streams: a device file such as /dev/ttyUSB0 or a pseudo-terminal, or a URL of pyserial (socket://host:port,
rfc2217://...). Addresses of packets: udp://host:port, arcnet:INTERFACE. Drivers use `ada_hardware.opening`, which also
supports dry runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from ada_hardware.transport.claim import Holder, holder
from ada_robot.errors import TransportError

PACKET_ADDRESSES = "udp://HOST:PORT, such as udp://192.168.1.1:49152, or arcnet:INTERFACE, such as arcnet:arc0"
STREAM_ADDRESSES = "a device file, such as /dev/ttyUSB0, or a URL of pyserial, such as socket://HOST:PORT"


class Serial(NamedTuple):
    """Settings of a serial line.

    Attributes:
        baud: bits per second.
        parity: "N", "E" or "O".
        dtr: level of DTR while the line is open; it controls the level shifter of some cables.
    """

    baud: int = 115_200
    parity: str = "N"
    dtr: bool = True


class Wire(ABC):
    """Base of both kinds of connections.

    Attributes:
        url: address.
        device: emulator process started for it, which ends with it; None otherwise.
    """

    url: str
    device: Any = None

    @abstractmethod
    def discard_input(self) -> None:
        """Discard unread input."""

    @abstractmethod
    def close(self) -> None:
        """Close; may be called twice."""

    def _switch_off(self) -> None:
        if self.device is not None:
            self.device.close()


class ByteStream(Wire):
    """Byte stream."""

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Send all bytes. Raises TransportError if the connection failed."""

    @abstractmethod
    def read(self, limit: int, timeout: float) -> bytes:
        """Return received bytes, at most `limit`; wait up to `timeout` [s] for the first; b"" after the timeout.

        Raises:
            TransportError: the connection failed.
        """


class PacketPort(Wire):
    """Packets to and from one peer."""

    def overheard(self) -> Sequence[bytes]:
        """Return packets sent to the peer by other programs, received since the last call during `send` and `receive`.

        Only available on ARCNET; a UDP socket does not receive packets of other programs.
        """
        return ()

    @abstractmethod
    def send(self, packet: bytes) -> None:
        """Send a packet. Raises TransportError if the connection failed; a lost packet is no error."""

    @abstractmethod
    def receive(self, timeout: float) -> bytes | None:
        """Return the next packet; wait up to `timeout` [s]; None after the timeout. Raises as `send`."""


def open_stream(url: str, serial: Serial) -> ByteStream:
    """Open a byte stream.

    Args:
        url: device file or URL of pyserial.
        serial: settings of the line; network URLs use those they support.

    Raises:
        TransportError: no such port, no permission, in use, or unsupported rate; the message contains the remedy.
    """
    from ada_hardware.transport import serial_line

    if not url or url.startswith(("udp:", "arcnet:", "dry:", "emulator:")):
        text = f"{url!r} is not an address of a byte stream; required is {STREAM_ADDRESSES}."
        raise TransportError(text, field="url", value=url, allowed=STREAM_ADDRESSES)
    return serial_line.open_url(url, serial) if "://" in url else serial_line.open_port(url, serial)


def open_packets(url: str, *, exclusive: bool = True) -> PacketPort:
    """Open a packet connection.

    Args:
        url: udp://host:port or arcnet:INTERFACE.
        exclusive: refuse it if another program of this machine uses it, and lock out other programs until it is closed.

    Raises:
        TransportError: no such host or interface, no permission, or in use; the message contains the remedy.
    """
    from ada_hardware.transport import arcnet, udp

    kind, _, place = url.partition(":")
    if kind == "udp":
        return udp.open_udp(url, exclusive=exclusive)
    if kind == "arcnet" and place:
        return arcnet.open_arcnet(place, exclusive=exclusive)
    text = f"{url!r} is not an address for packets; required is {PACKET_ADDRESSES}."
    raise TransportError(text, field="url", value=url, allowed=PACKET_ADDRESSES)


def packets_holder(url: str) -> Holder | None:
    """Return the program of this machine that uses a packet connection; None if unused, or for other addresses."""
    from ada_hardware.transport import arcnet, udp

    kind, _, place = url.partition(":")
    try:
        found = udp.place_of(url) if kind == "udp" else arcnet.place_of(place) if kind == "arcnet" else ""
    except TransportError:
        return None
    return holder(found) if found else None
