# SPDX-License-Identifier: Apache-2.0
"""Real-time host of one emulator on a pseudo-terminal or UDP port: a single-threaded loop with precise waits.

    host = EmulatorHost(emulator, "udp://127.0.0.1:0")
    print(host.url)
    host.run()                        # until `host.stop()`, or a signal

Replies are sent on time within about 0.1 ms on an idle machine. Orders of the control socket are processed in between.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ada_hardware.emulation.emulated_link import EmulatedLink
from ada_hardware.emulation.emulator import Emulator
from ada_hardware.transport.udp import LARGEST, host_and_port
from ada_hardware.transport.wires import readable
from ada_robot.errors import TransportError
from ada_robot.processes import posix_module

ANY_UDP = "udp://127.0.0.1:0"
_AT_ONCE = 64  # packets read at once, so that a flood does not delay the answers
_PIECE = 4096  # [bytes]
_SO_TIMESTAMPNS = 35  # asm-generic/socket.h: kernel time stamps of received packets, on the wall clock
_STAMP = struct.Struct("@qq")  # struct timespec
_NOTES = socket.CMSG_SPACE(_STAMP.size)
_OLDEST = 1.0  # [s]; an older time stamp means that the wall clock was set
PRIORITY = 49  # real-time priority, one less than the default of the robot's cycle
_LONGEST_WAIT = 0.5  # [s]


class PtyPort:
    """Device side of a serial line: a pseudo-terminal, which hosts may open and close repeatedly.

    Attributes:
        url: address to be opened by a driver; a new one after each `open`.
    """

    def __init__(self) -> None:
        """Open a pseudo-terminal."""
        self._master = self._slave = -1
        self.open()

    def descriptors(self) -> Sequence[int]:
        """Descriptors that become readable on input; empty while closed."""
        return [self._master] if self._master >= 0 else []

    def arrivals(self, now: float) -> list[tuple[float, bytes]]:
        """Received bytes with their time of reception, taken as the present time `now` [s]; does not wait."""
        try:
            data = os.read(self._master, _PIECE) if self._master >= 0 else b""
        except OSError:
            return []
        return [(now, data)] if data else []

    def send(self, data: bytes) -> None:
        """Send data; they are lost if no host reads."""
        if self._master >= 0:
            with contextlib.suppress(OSError):  # the buffer is full since no host reads
                os.write(self._master, data)

    def close(self) -> None:
        """Close, as if the cable were unplugged; no effect if it is closed."""
        if self._master < 0:
            return
        for descriptor in (self._master, self._slave):
            os.close(descriptor)
        self._master = self._slave = -1

    def open(self) -> None:
        """Open a new pseudo-terminal; no effect if one is open."""
        if self._master >= 0:
            return
        terminals = posix_module("tty", "An emulated serial line", "Devices on UDP can be emulated.")
        # The slave stays open here, since the master reports an error while no process has the slave open.
        self._master, self._slave = os.openpty()
        terminals.setraw(self._slave)
        os.set_blocking(self._master, False)
        self.url = os.ttyname(self._slave)


class UdpPort:
    """Device side of a UDP connection. Replies are sent to the sender of the last packet.

    Attributes:
        url: address to be opened by a driver.
    """

    def __init__(self, address: str = ANY_UDP) -> None:
        """Open the port.

        Args:
            address: udp://HOST:PORT; port 0: a free port, constant from then on.

        Raises:
            TransportError: invalid address, or the port is in use.
        """
        self._host, self._port = host_and_port(address, lowest_port=0)
        self._socket: socket.socket | None = None
        self._peer: tuple[object, ...] | None = None
        self.open()

    def descriptors(self) -> Sequence[int]:
        """Descriptors that become readable on input; empty while closed."""
        return [] if self._socket is None else [self._socket.fileno()]

    def arrivals(self, now: float) -> list[tuple[float, bytes]]:
        """Received packets with their times of reception [s]; does not wait.

        The times are kernel time stamps, which do not depend on the scheduling of this process, relative to `now`.
        """
        found: list[tuple[float, bytes]] = []
        present = time.time()
        while self._socket is not None and len(found) < _AT_ONCE:
            try:
                data, notes, _, self._peer = self._socket.recvmsg(LARGEST, _NOTES)
            except ConnectionError:  # an earlier answer had no receiver
                continue
            except OSError:
                break
            found.append((now - _age(notes, present), data))
        return found

    def send(self, data: bytes) -> None:
        """Send a packet; it is lost before the first one was received."""
        if self._socket is not None and self._peer is not None:
            with contextlib.suppress(OSError):
                self._socket.sendto(data, self._peer)

    def close(self) -> None:
        """Close, as if the cable were unplugged; no effect if it is closed."""
        if self._socket is not None:
            self._socket.close()
            self._socket = self._peer = None

    def open(self) -> None:
        """Open the port again; no effect if it is open. Raises TransportError if it is in use."""
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
                f"{where}: cannot listen: {problem.strerror}. Port 0 selects a free one.",
                field="port",
                value=self._port,
            ) from None
        one.setblocking(False)
        with contextlib.suppress(OSError):  # not Linux
            one.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._socket, self._port = one, one.getsockname()[1]
        host = f"[{self._host}]" if ":" in self._host else self._host
        self.url = f"udp://{host}:{self._port}"


def _age(notes: Sequence[tuple[int, int, bytes]], present: float) -> float:
    """Age of a packet from its time stamp [s]; 0 if unknown."""
    for level, kind, stamp in notes:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS and len(stamp) >= _STAMP.size:
            seconds, nanoseconds = _STAMP.unpack_from(stamp)
            age: float = present - (seconds + 1e-9 * nanoseconds)
            return age if 0.0 <= age <= _OLDEST else 0.0
    return 0.0


class EmulatorHost:
    """Device on a pseudo-terminal or UDP port.

    Attributes:
        line: device and connection faults.
    """

    def __init__(
        self,
        emulator: Emulator[Any],
        listen: str = "",
        *,
        faults: Mapping[str, float] | None = None,
        seed: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open the device side of the connection.

        Args:
            emulator: the device.
            listen: udp://HOST:PORT for packets; "": a free local port, and for streams a pseudo-terminal.
            faults: faults of connection and device, by name.
            seed: seed of random faults.
            clock: monotonic time [s].

        Raises:
            TransportError: the address cannot be opened, or the device is on a serial line.
            InputError: unknown fault or invalid value.
        """
        self._clock = clock
        self.line = EmulatedLink(emulator, clock(), faults=faults, seed=seed)
        self._end: PtyPort | UdpPort
        if emulator.WIRE == "packets":
            self._end = UdpPort(listen or ANY_UDP)
        elif listen:
            text = f"{listen!r}: this device is on a serial line and gets a pseudo-terminal; give no address."
            raise TransportError(text, field="listen", value=listen, allowed="")
        else:
            self._end = PtyPort()
        self._watched: dict[int, Callable[[], bool]] = {}
        self._is_running = True
        self._follow_cable()

    @property
    def url(self) -> str:
        """Address to be opened by a driver; a new pseudo-terminal has a new one."""
        return self._end.url

    def watch(self, descriptor: int, handle: Callable[[], bool]) -> None:
        """Add an input to the loop; `handle` processes it, and returns False at its end."""
        self._watched[descriptor] = handle

    def fault(self, name: str, value: float) -> str:
        """Set a fault, or clear it with 0; called by the thread of the loop.

        Returns:
            Address to be opened by a driver.

        Raises:
            InputError: unknown fault or invalid value.
            TransportError: the port cannot be reopened after a disconnect.
        """
        self.line.run(self._clock())
        self.line.fault(name, value)
        self._follow_cable()
        return self.url

    def clear(self) -> None:
        """Clear all faults; raises as `fault`."""
        self.line.run(self._clock())
        self.line.clear()
        self._follow_cable()

    def run(self) -> None:
        """Run the device until `stop`."""
        while self._is_running:
            self.step(_LONGEST_WAIT)

    def stop(self) -> None:
        """End `run` after the present step."""
        self._is_running = False

    def step(self, longest: float) -> None:
        """Wait for input or a due answer, at most `longest` [s], and process it."""
        wait = min(self.line.next_time() - self._clock(), longest)
        ready = readable([*self._end.descriptors(), *self._watched], wait)
        for came_at, data in self._end.arrivals(self._clock()):
            self.line.put(data, came_at)
        for arrival in self.line.take(self._clock()):
            self._end.send(arrival.data)
        for descriptor in ready & self._watched.keys():
            if not self._watched[descriptor]():
                del self._watched[descriptor]

    def close(self) -> None:
        """Close the connection."""
        self._end.close()

    def _follow_cable(self) -> None:
        if self.line.is_disconnected:
            self._end.close()
        else:
            self._end.open()
