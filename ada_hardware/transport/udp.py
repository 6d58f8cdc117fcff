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
    """The two parts of udp://HOST:PORT.

    Args:
        url: address; IPv6 hosts stand in square brackets.
        lowest_port: 0 where the system may choose one.

    Raises:
        TransportError: it is none.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not url.startswith("udp://") or not host or port is None or port < lowest_port:
        text = (
            f"{url!r} is no address of packets over UDP; it must be udp://HOST:PORT, such as udp://192.168.1.1:49152, "
            f"with a port from {lowest_port} to 65535."
        )
        raise TransportError(text, field="url", value=url, allowed="udp://HOST:PORT")
    return host, port


def open_udp(url: str, *, exclusive: bool = True) -> SocketPort:
    """A way to one peer over UDP; whether the peer is there is known when an answer comes.

    Args:
        url: address of the peer.
        exclusive: see `wires.open_packets`.

    Raises:
        TransportError: no such address or host, no network to it, or another program has it.
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
            f"{url}: cannot be reached: {problem.strerror}. Give this machine an address in the device's network.",
            field="network",
            value=url,
        ) from None
    return SocketPort(url, one, claimed)


def place_of(url: str) -> str:
    """The peer's place, the same however its address is written; see `claim`. Raises TransportError as `open_udp`."""
    return _place(_found(url)[3])


def _found(url: str) -> tuple[int, int, int, tuple[Any, ...]]:
    """Family, kind and protocol of a socket, and the address for it."""
    host, port = host_and_port(url)
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    except OSError as problem:
        raise TransportError(
            f"{url}: there is no host {host!r}: {problem.strerror}. Give its number.", field="host", value=host
        ) from None
    return family, kind, protocol, address


def _place(address: tuple[Any, ...]) -> str:
    number = ipaddress.ip_address(str(address[0]).partition("%")[0])
    mapped = getattr(number, "ipv4_mapped", None)  # ::ffff:192.168.1.1 is 192.168.1.1
    return f"udp {mapped or number}:{address[1]}"
