# SPDX-License-Identifier: Apache-2.0
"""Packets over UDP, by an address such as udp://192.168.1.1:49152."""

from __future__ import annotations

import ipaddress
import socket
from typing import Any
from urllib.parse import urlsplit

from ada_hardware.transport.claim import claim
from ada_hardware.transport.sockets import SocketPort
from ada_robot.errors import TransportError


def host_and_port(url: str, *, lowest_port: int = 1) -> tuple[str, int]:
    """Parse udp://HOST:PORT.

    Args:
        url: address; IPv6 hosts in square brackets.
        lowest_port: 0 if the system may choose the port.

    Raises:
        TransportError: invalid address.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not url.startswith("udp://") or not host or port is None or port < lowest_port:
        text = (
            f"{url!r} is not an address for packets over UDP; required is udp://HOST:PORT, such as "
            f"udp://192.168.1.1:49152, with a port from {lowest_port} to 65535."
        )
        raise TransportError(text, field="url", value=url, allowed="udp://HOST:PORT")
    return host, port


def open_udp(url: str, *, exclusive: bool = True) -> SocketPort:
    """Open a connection to one peer over UDP; the presence of the peer is not checked.

    Args:
        url: address of the peer.
        exclusive: see `wires.open_packets`.

    Raises:
        TransportError: unknown host, no network, or in use by another program.
    """
    family, kind, protocol, address = _found(url)
    claimed = claim(_place(address), url) if exclusive else None
    one = socket.socket(family, kind, protocol)
    try:
        one.connect(address)
    except OSError as problem:
        one.close()
        if claimed is not None:
            claimed.release()
        raise TransportError(
            f"{url}: network unreachable: {problem.strerror}. Assign this machine an address in the device's network.",
            field="network",
            value=url,
        ) from None
    return SocketPort(url, one, claimed)


def place_of(url: str) -> str:
    """Unique key of a peer for `claim`, independent of the notation. Raises TransportError as `open_udp`."""
    return _place(_found(url)[3])


def _found(url: str) -> tuple[int, int, int, tuple[Any, ...]]:
    """Family, type and protocol of the socket, and its address."""
    host, port = host_and_port(url)
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    except OSError as problem:
        raise TransportError(
            f"{url}: unknown host {host!r}: {problem.strerror}. Use its IP address.", field="host", value=host
        ) from None
    return family, kind, protocol, address


def _place(address: tuple[Any, ...]) -> str:
    number = ipaddress.ip_address(str(address[0]).partition("%")[0])
    mapped = getattr(number, "ipv4_mapped", None)  # ::ffff:192.168.1.1 is 192.168.1.1
    return f"udp {mapped or number}:{address[1]}"
