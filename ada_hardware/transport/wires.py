# SPDX-License-Identifier: Apache-2.0
"""Base class of connections, and waiting for file descriptors.

Waiting has a resolution better than 1 ms, to which `poll` and sockets round.
"""

from __future__ import annotations

import math
import select
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

_LARGEST = 1024  # descriptors from this one on are not supported by `select`


def is_readable(descriptor: int, timeout: float) -> bool:
    """Return True if input is available; wait up to `timeout` [s], not at all for 0 or less."""
    return bool(readable([descriptor], timeout))


def readable(descriptors: Sequence[int], timeout: float) -> set[int]:
    """Return the readable descriptors; wait up to `timeout` [s] for the first, not at all for 0 or less."""
    timeout = max(timeout, 0.0)
    if all(descriptor < _LARGEST for descriptor in descriptors):
        return set(select.select(descriptors, [], [], timeout)[0])
    return _polled(descriptors, select.POLLIN, timeout)


def is_writable(descriptor: int, timeout: float) -> bool:
    """Return True if output is possible; wait up to `timeout` [s], not at all for 0 or less."""
    timeout = max(timeout, 0.0)
    if descriptor < _LARGEST:
        return bool(select.select([], [descriptor], [], timeout)[1])
    return bool(_polled([descriptor], select.POLLOUT, timeout))


def _polled(descriptors: Sequence[int], event: int, timeout: float) -> set[int]:
    """Same for any descriptors, with a resolution of 1 ms."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, event)
    return {descriptor for descriptor, _ in poll.poll(math.ceil(1e3 * timeout))}


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
    """Connection to one device: a stream of bytes (serial line), or packets (UDP, ARCNET).

    Attributes:
        url: address.
        device: emulator at the other end, if it belongs to the connection; None otherwise.
    """

    url: str
    device: Any = None

    @abstractmethod
    def send(self, data: bytes) -> None:
        """Send all bytes of a stream, or one packet; a lost packet is no error.

        Raises:
            TransportError: the connection failed.
        """

    @abstractmethod
    def receive(self, timeout: float) -> bytes | None:
        """Return received bytes of a stream, or the next packet; None after the timeout [s].

        Raises:
            TransportError: the connection failed.
        """

    def overheard(self) -> Sequence[bytes]:
        """Return packets sent to the device by other programs, received since the last call by `send` and `receive`.

        Only available on ARCNET; other connections do not receive packets of other programs.
        """
        return ()

    @abstractmethod
    def discard_input(self) -> None:
        """Discard unread input."""

    @abstractmethod
    def close(self) -> None:
        """Close; may be called twice."""

    def _switch_off(self) -> None:
        if self.device is not None:
            self.device.close()
