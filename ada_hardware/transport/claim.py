# SPDX-License-Identifier: Apache-2.0
"""One program of this machine at a time on a wire for packets, as serial lines have it by their own lock.

The mark is a listening socket in the abstract namespace: it needs no file permissions, is the same for all users, and
belongs to the network namespace of the wire (a container with its own network has its own wires). The system frees it
when its process ends, and knows which process that is.

Other machines do not see it: their packets can only be detected on the wire itself, as far as they are visible there.
"""

from __future__ import annotations

import logging
import os
import socket
import struct
import sys
from pathlib import Path
from typing import NamedTuple

from ada_robot.errors import TransportError

_NAME = "\0ada_hardware "  # the zero makes it a name without a file (man 7 unix)
_CREDENTIALS = struct.Struct("3i")  # process, user, group
_ASKERS = 512  # pending connections of programs that asked for the holder; none is answered
_LONGEST = 90  # characters of a program's name
_CYCLE = "ada_robot.cycle"
_log = logging.getLogger("ada_hardware")


class Holder(NamedTuple):
    """Holder of a wire.

    Attributes:
        pid: number of the process; 0 where it cannot be seen from here.
        words: what it was started as.
    """

    pid: int
    words: str


class Claim:
    """The use of a wire, until it is released or this process ends."""

    def __init__(self, mark: socket.socket | None) -> None:
        """Take a bound socket; `claim` makes one."""
        self._mark = mark

    def release(self) -> None:
        """Let others use the wire; may be called twice."""
        if self._mark is not None:
            self._mark.close()
            self._mark = None


def claim(place: str, url: str) -> Claim:
    """Claim a wire for this program.

    Args:
        place: of the wire, the same whichever way it is written, such as "udp 127.0.0.1:41234".
        url: as messages name it.

    Raises:
        TransportError: another program, or another part of this one, has it; the message says which.
    """
    if sys.platform != "linux":
        _log.warning("%s: nothing keeps a second program off this wire: this system has no names for that.", url)
        return Claim(None)
    mark = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        mark.bind(_NAME + place)
        mark.listen(_ASKERS)
    except OSError:
        mark.close()
        found = holder(place)
        who = found.words if found else "another program"
        raise TransportError(
            f"{url}: in use by {who}. A device has one host: end that program first, or look at the robot beside it "
            "with `ada hw monitor`.",
            field="holder",
            value=found.pid if found else None,
        ) from None
    return Claim(mark)


def holder(place: str) -> Holder | None:
    """Holder of a wire; None: it is free."""
    if sys.platform != "linux":
        return None
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asker:
        asker.setblocking(False)
        try:
            asker.connect(_NAME + place)
        except BlockingIOError:  # its backlog is full
            return Holder(0, "another program")
        except OSError:
            return None
        pid, _, _ = _CREDENTIALS.unpack(asker.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return Holder(pid, _program(pid))


def _program(pid: int) -> str:
    """A process in words, with who started it where it is a robot's cycle."""
    if pid == os.getpid():
        return f"this program itself ({pid})"
    words = _command(pid)
    if not words:
        return f"process {pid}" if pid else "a program in another container"
    if _CYCLE in words:
        parent = _parent(pid)
        return f"{_CYCLE} ({pid}), started by {_command(parent) or 'a program that has ended'} ({parent})"
    return f"{words} ({pid})"


def _command(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    text = " ".join(" ".join([Path(words[0]).name, *words[1:]]).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _parent(pid: int) -> int:
    try:
        # its second field, a name in brackets, may have anything in it
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0
