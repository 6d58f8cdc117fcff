# SPDX-License-Identifier: Apache-2.0
"""Packets over UDP, by an address such as udp://192.168.1.1:49152."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from ada_hardware.errors import TransportError
from ada_hardware.transport.sockets import SocketPort


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
        raise TransportError(
            f"{url!r} is no address of packets over UDP; it must be udp://HOST:PORT, such as udp://192.168.1.1:49152, "
            f"with a port from {lowest_port} to 65535."
        )
    return host, port


def open_udp(url: str) -> SocketPort:
    """A way to one peer over UDP; whether somebody is there is known when an answer comes.

    Raises:
        TransportError: no such address or host, or no network to it.
    """
    host, port = host_and_port(url)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    except OSError as problem:
        raise TransportError(f"{url}: there is no host {host!r}: {problem.strerror}. Give its number.") from None
    family, kind, protocol, _, address = found[0]
    one = socket.socket(family, kind, protocol)
    try:
        one.connect(address)
    except OSError as problem:
        one.close()
        raise TransportError(
            f"{url}: cannot be reached: {problem.strerror}. Give this machine an address in the device's network."
        ) from None
    return SocketPort(url, one)
