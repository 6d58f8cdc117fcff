# SPDX-License-Identifier: Apache-2.0
"""The two kinds of wires that drivers know, and how one is opened by its address.

    stream = open_stream("/dev/ttyUSB0", Serial(baud=115200, dtr=False))
    packets = open_packets("udp://127.0.0.1:49152")      # or "arcnet:arc0"

Addresses of streams: a device file such as /dev/ttyUSB0 or a pseudo-terminal, or any URL of pyserial (socket://host:port,
rfc2217://...). Addresses of packets: udp://host:port, arcnet:INTERFACE. Drivers open theirs through
`ada_hardware.opening`, which knows dry runs, too.
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
        dtr: level of the line DTR while it is open; the level shifters of some cables hang on it.
    """

    baud: int = 115_200
    parity: str = "N"
    dtr: bool = True


class Wire(ABC):
    """Base of both kinds of wires.

    Attributes:
        url: its address.
        device: the emulated device that was switched on for it and goes off with it; None for any other.
    """

    url: str
    device: Any = None

    @abstractmethod
    def discard_input(self) -> None:
        """Drop unread input."""

    @abstractmethod
    def close(self) -> None:
        """Free it; may be called twice."""

    def _switch_off(self) -> None:
        if self.device is not None:
            self.device.close()


class ByteStream(Wire):
    """A stream of bytes, one user at a time."""

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Send all of it. Raises TransportError where the line is gone."""

    @abstractmethod
    def read(self, limit: int, timeout: float) -> bytes:
        """The bytes that have come, at most `limit`; waits up to `timeout` [s] for the first; b"" where none came.

        Raises:
            TransportError: the line is gone.
        """


class PacketPort(Wire):
    """A way to exchange packets with one peer."""

    def overheard(self) -> Sequence[bytes]:
        """Packets that others sent to the peer over this wire, since it was asked last.

        They come in while this one sends and receives. Ways that show nothing of others have none: over UDP each
        program has a way of its own.
        """
        return ()

    @abstractmethod
    def send(self, packet: bytes) -> None:
        """Send one. Raises TransportError where the way is gone; a packet that gets lost is no error."""

    @abstractmethod
    def receive(self, timeout: float) -> bytes | None:
        """The next packet; waits up to `timeout` [s]; None where none came. Raises TransportError as `send`."""


def open_stream(url: str, serial: Serial) -> ByteStream:
    """Open a stream of bytes.

    Args:
        url: a device file, or a URL of pyserial.
        serial: how the line is set; URLs of networks take what they can of it.

    Raises:
        TransportError: no such port, no permission, in use by another program, a rate the port cannot do; the message
            says what to do.
    """
    from ada_hardware.transport import serial_line

    if not url or url.startswith(("udp:", "arcnet:", "dry:", "emulator:")):
        text = f"{url!r} is no address of a stream of bytes; it must be {STREAM_ADDRESSES}."
        raise TransportError(text, field="url", value=url, allowed=STREAM_ADDRESSES)
    return serial_line.open_url(url, serial) if "://" in url else serial_line.open_port(url, serial)


def open_packets(url: str, *, exclusive: bool = True) -> PacketPort:
    """Open a way for packets.

    Args:
        url: udp://host:port, or arcnet:INTERFACE.
        exclusive: refuse it where another program of this machine has it, and keep others off until it is closed.

    Raises:
        TransportError: no such host or interface, no permission, in use by another program; the message says what to
            do.
    """
    from ada_hardware.transport import arcnet, udp

    kind, _, place = url.partition(":")
    if kind == "udp":
        return udp.open_udp(url, exclusive=exclusive)
    if kind == "arcnet" and place:
        return arcnet.open_arcnet(place, exclusive=exclusive)
    text = f"{url!r} is no address for packets; it must be {PACKET_ADDRESSES}."
    raise TransportError(text, field="url", value=url, allowed=PACKET_ADDRESSES)


def packets_holder(url: str) -> Holder | None:
    """Program of this machine that holds a way for packets; None: none, or it is no such address."""
    from ada_hardware.transport import arcnet, udp

    kind, _, place = url.partition(":")
    try:
        found = udp.place_of(url) if kind == "udp" else arcnet.place_of(place) if kind == "arcnet" else ""
    except TransportError:
        return None
    return holder(found) if found else None
