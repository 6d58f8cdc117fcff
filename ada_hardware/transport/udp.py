# SPDX-License-Identifier: Apache-2.0
"""Packets over UDP, by an address such as udp://192.168.1.1:49152."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket
from typing import Any, ClassVar
from urllib.parse import urlsplit

from ada_hardware.transport.claim import claim
from ada_hardware.transport.wires import Wire, is_readable
from ada_robot.errors import TransportError

LARGEST = 65_536  # [bytes]


class SocketPort(Wire):
    """Packets over a socket, which it owns."""

    LOST: ClassVar[tuple[int, ...]] = (
        errno.ECONNREFUSED,
        errno.EHOSTUNREACH,
        errno.ENOBUFS,
        errno.EAGAIN,
        errno.EMSGSIZE,
    )
    """Errors that count as lost packets: peer switched off, queue full."""

    def __init__(self, url: str, connected: socket.socket, claim: socket.socket | None = None) -> None:
        """Use a connected socket; `url`: address for messages, `claim`: closed with the socket."""
        self.url = url
        self._socket, self._claim = connected, claim
        connected.setblocking(False)

    def send(self, data: bytes) -> None:  # noqa: D102
        for _ in range(2):
            try:
                self._socket.send(data)
            except OSError as problem:
                # The error refers to an earlier packet, and this one was not sent: repeat.
                if problem.errno == errno.ECONNREFUSED:
                    continue
                if problem.errno not in self.LOST:
                    raise self._gone(problem, len(data)) from None
            return

    def receive(self, timeout: float) -> bytes | None:  # noqa: D102
        found = self._receive_from(timeout)
        return None if found is None else found[0]

    def _receive_from(self, timeout: float) -> tuple[bytes, Any] | None:
        """Return the next packet and its origin, or None after the timeout [s]."""
        if self._socket.fileno() < 0:
            raise TransportError(f"{self.url}: is closed.", field="state", value="closed")
        if not is_readable(self._socket.fileno(), timeout):
            return None
        try:
            return self._socket.recvfrom(LARGEST)
        except OSError as problem:
            if problem.errno in self.LOST:
                return None
            raise self._gone(problem) from None

    def discard_input(self) -> None:  # noqa: D102
        for _ in range(100_000):  # limit for a peer that never stops sending
            try:
                self._socket.recv(LARGEST)
            except BlockingIOError:
                return
            except OSError as problem:
                if problem.errno not in self.LOST:
                    return  # the error is raised by the next exchange

    def close(self) -> None:  # noqa: D102
        with contextlib.suppress(OSError):
            self._socket.close()
        if self._claim is not None:
            self._claim.close()
        self._switch_off()

    def _gone(self, problem: OSError, length: int = 0) -> TransportError:
        """Return the error of a failed connection; `length`: size of the packet to be sent [bytes]."""
        text = f"{self.url}: cannot send or receive packets: {problem.strerror}. Check cable and interface."
        return TransportError(text, field="state", value="gone")


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


def open_udp(url: str) -> SocketPort:
    """Open a connection to one peer over UDP; the presence of the peer is not checked.

    Args:
        url: address of the peer.

    Raises:
        TransportError: unknown host, no network, or in use by another program.
    """
    host, port = host_and_port(url)
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    except OSError as problem:
        raise TransportError(
            f"{url}: unknown host {host!r}: {problem.strerror}. Use its IP address.", field="host", value=host
        ) from None
    claimed = claim(_place(address), url)
    one = socket.socket(family, kind, protocol)
    try:
        one.connect(address)
    except OSError as problem:
        one.close()
        if claimed is not None:
            claimed.close()
        raise TransportError(
            f"{url}: network unreachable: {problem.strerror}. Assign this machine an address in the device's network.",
            field="network",
            value=url,
        ) from None
    return SocketPort(url, one, claimed)


def _place(address: tuple[Any, ...]) -> str:
    number = ipaddress.ip_address(str(address[0]).partition("%")[0])
    mapped = getattr(number, "ipv4_mapped", None)  # ::ffff:192.168.1.1 is 192.168.1.1
    return f"udp {mapped or number}:{address[1]}"
