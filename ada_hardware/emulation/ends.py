# SPDX-License-Identifier: Apache-2.0
"""A device's own end of a real wire: a pseudo-terminal or a UDP port that hosts open as if the device hung there."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from ada_hardware.transport.sockets import LARGEST
from ada_hardware.transport.udp import host_and_port
from ada_robot.errors import TransportError
from ada_robot.posix import posix_module

PTY = "pty:"
ANY_UDP = "udp://127.0.0.1:0"
_AT_ONCE = 64  # packets taken at once, so that a flood of them does not delay the answers
_PIECE = 4096  # [bytes]
_SO_TIMESTAMPNS = 35  # asm-generic/socket.h: the system notes when a packet came, on its wall clock
_STAMP = struct.Struct("@qq")  # struct timespec
_NOTES = socket.CMSG_SPACE(_STAMP.size)
_OLDEST = 1.0  # [s]; an older stamp means that the wall clock was set


class End(ABC):
    """The device's end of a wire.

    Attributes:
        url: what a driver opens.
    """

    url: str

    @abstractmethod
    def descriptors(self) -> Sequence[int]:
        """Descriptors that become readable when something comes; empty while disconnected."""

    @abstractmethod
    def arrivals(self, now: float) -> list[tuple[float, bytes]]:
        """All that has come, without waiting: pieces of a stream, or packets, each with the time when it came.

        Args:
            now: present, on the steady clock; the time of all where the wire tells none [s].
        """

    @abstractmethod
    def send(self, data: bytes) -> None:
        """Send; unread data get lost, as on a real wire."""

    @abstractmethod
    def disconnect(self) -> None:
        """Pull the cable; no effect where it is out."""

    @abstractmethod
    def reconnect(self) -> None:
        """Plug it in again; no effect where it is in. Raises TransportError where that fails."""

    @abstractmethod
    def close(self) -> None:
        """Free it for good."""


class PtyEnd(End):
    """A pseudo-terminal. Hosts may open and close it as they like; each cable that is plugged in again is a new one."""

    def __init__(self, link: str = "") -> None:
        """Open one.

        Args:
            link: path of a symbolic link to it, as an address that stays; "": none.

        Raises:
            TransportError: the link cannot be made.
        """
        self._link = Path(link) if link else None
        self._master = self._slave = -1
        self.reconnect()

    def descriptors(self) -> Sequence[int]:  # noqa: D102
        return [self._master] if self._master >= 0 else []

    def arrivals(self, now: float) -> list[tuple[float, bytes]]:  # noqa: D102
        try:
            data = os.read(self._master, _PIECE) if self._master >= 0 else b""
        except OSError:
            return []
        return [(now, data)] if data else []

    def send(self, data: bytes) -> None:  # noqa: D102
        if self._master >= 0:
            with contextlib.suppress(OSError):  # the line's buffer is full: nobody reads
                os.write(self._master, data)

    def disconnect(self) -> None:  # noqa: D102
        if self._master < 0:
            return
        self._unlink(os.ttyname(self._slave))
        for descriptor in (self._master, self._slave):
            os.close(descriptor)
        self._master = self._slave = -1

    def reconnect(self) -> None:  # noqa: D102
        if self._master >= 0:
            return
        terminals = posix_module("tty", "An emulated serial line", "Devices on UDP can be emulated.")
        # The slave stays open here, too: else the master would report an error while no host has it open.
        self._master, self._slave = os.openpty()
        terminals.setraw(self._slave)
        os.set_blocking(self._master, False)
        path = os.ttyname(self._slave)
        self.url = str(self._link) if self._link else path
        if self._link is not None:
            self._make_link(self._link, path)

    def close(self) -> None:  # noqa: D102
        self.disconnect()

    def _make_link(self, link: Path, path: str) -> None:
        try:
            if _is_left_over(link, path):
                link.unlink()
            link.symlink_to(path)
        except OSError as problem:
            self.disconnect()
            there = f" (a link to {link.readlink()})" if link.is_symlink() else ""
            raise TransportError(
                f"{PTY}{link}: no link can be made there: {problem.strerror}{there}. Name another place.",
                field="link",
                value=str(link),
            ) from None

    def _unlink(self, path: str) -> None:
        """Take away the link, where it is (still) one to a path."""
        if self._link is not None:
            with contextlib.suppress(OSError):
                if self._link.readlink() == Path(path):
                    self._link.unlink()


def _is_left_over(link: Path, path: str) -> bool:
    """True of a link as killed emulators leave it: to a terminal that is gone, or whose number the new one has."""
    if not link.is_symlink():
        return False
    terminal = link.readlink()
    return terminal == Path(path) or (terminal.parent == Path(path).parent and not link.exists())


class UdpEnd(End):
    """A UDP port. Answers go to whom the newest packet came from."""

    def __init__(self, address: str = ANY_UDP) -> None:
        """Open it.

        Args:
            address: udp://HOST:PORT; port 0: the system chooses one, and it stays the same.

        Raises:
            TransportError: no such address, or it is taken.
        """
        self._host, self._port = host_and_port(address, lowest_port=0)
        self._socket: socket.socket | None = None
        self._peer: tuple[object, ...] | None = None
        self.reconnect()

    def descriptors(self) -> Sequence[int]:  # noqa: D102
        return [] if self._socket is None else [self._socket.fileno()]

    def arrivals(self, now: float) -> list[tuple[float, bytes]]:
        """As `End.arrivals`, by the system's own stamps: a device receives also while this process is not scheduled."""
        found: list[tuple[float, bytes]] = []
        present = time.time()
        while self._socket is not None and len(found) < _AT_ONCE:
            try:
                data, notes, _, self._peer = self._socket.recvmsg(LARGEST, _NOTES)
            except ConnectionError:  # an earlier answer found no receiver
                continue
            except OSError:
                break
            found.append((now - _age(notes, present), data))
        return found

    def send(self, data: bytes) -> None:  # noqa: D102
        if self._socket is not None and self._peer is not None:
            with contextlib.suppress(OSError):
                self._socket.sendto(data, self._peer)

    def disconnect(self) -> None:  # noqa: D102
        if self._socket is not None:
            self._socket.close()
            self._socket = self._peer = None

    def reconnect(self) -> None:  # noqa: D102
        if self._socket is not None:
            return
        where = f"udp://{self._host}:{self._port}"
        one = None
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_DGRAM)[0]
            one = socket.socket(family, kind, protocol)
            one.bind(address)
        except OSError as problem:
            if one is not None:
                one.close()
            raise TransportError(
                f"{where}: cannot be listened on: {problem.strerror}. Port 0 takes a free one.",
                field="port",
                value=self._port,
            ) from None
        one.setblocking(False)
        with contextlib.suppress(OSError):  # no Linux
            one.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._socket, self._port = one, one.getsockname()[1]
        host = f"[{self._host}]" if ":" in self._host else self._host
        self.url = f"udp://{host}:{self._port}"

    def close(self) -> None:  # noqa: D102
        self.disconnect()


def _age(notes: Sequence[tuple[int, int, bytes]], present: float) -> float:
    """How long ago a packet came [s]; 0 where that is not known."""
    for level, kind, stamp in notes:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS and len(stamp) >= _STAMP.size:
            seconds, nanoseconds = _STAMP.unpack_from(stamp)
            age: float = present - (seconds + 1e-9 * nanoseconds)
            return age if 0.0 <= age <= _OLDEST else 0.0
    return 0.0


def open_end(wire: str, listen: str = "") -> End:
    """Open the end of a device's wire.

    Args:
        wire: "stream" or "packets".
        listen: of streams "pty:" or "pty:PATH", a symbolic link that stays the same; of packets udp://HOST:PORT; ""
            takes "pty:" or a free port of this machine.

    Raises:
        TransportError: an address of the other kind, or it cannot be listened on.
    """
    if wire == "stream" and (not listen or listen.startswith(PTY)):
        return PtyEnd(listen[len(PTY) :])
    if wire == "packets" and (not listen or listen.startswith("udp:")):
        return UdpEnd(listen or ANY_UDP)
    allowed = f"{PTY!r} or {PTY + 'PATH'!r}" if wire == "stream" else "udp://HOST:PORT"
    text = f"{listen!r}: this device hangs on a wire of {wire}; it listens on {allowed}."
    raise TransportError(text, field="listen", value=listen, allowed=allowed)
