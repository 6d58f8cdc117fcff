# SPDX-License-Identifier: Apache-2.0
"""Packets over a connected socket: UDP, or a socket pair within this machine."""

from __future__ import annotations

import contextlib
import errno
import socket

from ada_hardware.transport.claim import Claim
from ada_hardware.transport.polling import is_readable
from ada_hardware.transport.wires import PacketPort
from ada_robot.errors import TransportError

LARGEST = 65_536  # [bytes]
# Peer switched off, or queue full: treated as lost packets.
_SILENT = (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENOBUFS, errno.EAGAIN, errno.EMSGSIZE)


class SocketPort(PacketPort):
    """Packets over a connected socket, which it owns."""

    def __init__(self, url: str, connected: socket.socket, claim: Claim | None = None) -> None:
        """Args: address for messages; the socket; the claim of the address, released on close."""
        self.url = url
        self._socket, self._claim = connected, claim
        connected.setblocking(False)

    def send(self, packet: bytes) -> None:  # noqa: D102
        for _ in range(2):
            try:
                self._socket.send(packet)
            except OSError as problem:
                # The error refers to an earlier packet, and this one was not sent: repeat.
                if problem.errno == errno.ECONNREFUSED:
                    continue
                if problem.errno not in _SILENT:
                    raise self._gone(problem) from None
            return

    def receive(self, timeout: float) -> bytes | None:  # noqa: D102
        if self._socket.fileno() < 0:
            raise TransportError(f"{self.url}: is closed.", field="state", value="closed")
        if not is_readable(self._socket.fileno(), timeout):
            return None
        try:
            return self._socket.recv(LARGEST)
        except OSError as problem:
            if problem.errno in _SILENT:
                return None
            raise self._gone(problem) from None

    def discard_input(self) -> None:  # noqa: D102
        for _ in range(100_000):  # limit for a peer that never stops sending
            try:
                self._socket.recv(LARGEST)
            except BlockingIOError:
                return
            except OSError as problem:
                if problem.errno not in _SILENT:
                    return  # the error is raised by the next exchange

    def close(self) -> None:  # noqa: D102
        with contextlib.suppress(OSError):
            self._socket.close()
        if self._claim is not None:
            self._claim.release()
        self._switch_off()

    def _gone(self, problem: OSError) -> TransportError:
        return TransportError(
            f"{self.url}: cannot send or receive packets: {problem.strerror}. Check cable and interface.",
            field="state",
            value="gone",
        )
