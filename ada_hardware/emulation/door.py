# SPDX-License-Identifier: Apache-2.0
"""The door of an emulated device: a socket of this machine by which its owner makes faults in it while it runs.

Through it go the lines of `talk`. The folder (0700) and the socket (0600) are the user's own: no other user gets in.

    for door in doors("pa10"):
        ask(door, {"fault": "emergency_stop", "value": 1.0})
"""

from __future__ import annotations

import json
import os
import socket
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ada_dynamics.errors import InputError
from ada_hardware.emulation.host import EmulatorHost
from ada_hardware.emulation.talk import Lines, answer, as_line
from ada_robot.errors import NoAnswer, TransportError

TIMEOUT = 5.0  # [s] limit of an answer
_ENDING = ".sock"
_MOST = 8  # connections at once


class DoorOf(NamedTuple):
    """A door that is there.

    Attributes:
        device: name of the emulated device.
        pid: its process.
        path: of the socket.
    """

    device: str
    pid: int
    path: Path


class Door:
    """The device's side; a `Control` of its host.

    Attributes:
        path: of the socket.
    """

    def __init__(self, host: EmulatorHost, device: str) -> None:
        """Open it.

        Args:
            host: that the device lives in.
            device: its name.

        Raises:
            TransportError: the folder is not the user's own, or cannot be written.
        """
        self._host, self._device = host, device
        self._visitors: set[socket.socket] = set()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.path = folder(make=True) / f"{device}.{os.getpid()}{_ENDING}"
        try:
            self.path.unlink(missing_ok=True)  # of a process of that number, long ago
            self._socket.bind(str(self.path))
            self.path.chmod(0o600)
            self._socket.listen(_MOST)
        except OSError as problem:
            self._socket.close()
            raise TransportError(
                f"{self.path}: no door can be made there: {problem.strerror or problem}.",
                field="path",
                value=str(self.path),
            ) from None
        self._socket.setblocking(False)

    def fileno(self) -> int:
        """Descriptor of the listening socket."""
        return self._socket.fileno()

    def handle(self) -> bool:
        """Accept a connection."""
        with suppress(OSError):
            visitor = self._socket.accept()[0]
            if len(self._visitors) >= _MOST:
                visitor.close()
                return True
            visitor.setblocking(False)
            self._visitors.add(visitor)
            self._host.add(Lines(visitor.fileno(), lambda line: self._reply(visitor, line), lambda: self._end(visitor)))
        return True

    def _reply(self, visitor: socket.socket, line: str) -> None:
        with suppress(OSError):  # a client that does not read must not block the device
            visitor.send(as_line(answer(self._host, line)))

    def _end(self, visitor: socket.socket) -> None:
        self._visitors.discard(visitor)
        visitor.close()

    def close(self) -> None:
        """Close and remove the socket."""
        for one in (self._socket, *self._visitors):
            one.close()
        self.path.unlink(missing_ok=True)


def folder(*, make: bool = False) -> Path:
    """Where this user's doors are: in XDG_RUNTIME_DIR, else in a folder of the user's in the one for temporary files.

    Args:
        make: whether it is made where it is not there.

    Raises:
        TransportError: it is a link, somebody else's, open to others, or cannot be made.
    """
    run = os.environ.get("XDG_RUNTIME_DIR")
    place = Path(run, "ada_dynamics_doors") if run else Path(tempfile.gettempdir(), f"ada_dynamics_doors_{os.getuid()}")
    try:
        if make:
            place.mkdir(mode=0o700, exist_ok=True)
        found = place.lstat()
    except FileNotFoundError:
        return place
    except OSError as problem:
        raise TransportError(
            f"{place}: doors of emulators cannot be there: {problem.strerror or problem}.",
            field="path",
            value=str(place),
        ) from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        text = (
            f"{place}: it must be a folder, no link, of user {os.getuid()} alone (mode 0700); somebody else could "
            "make faults in emulators. Remove it, or point XDG_RUNTIME_DIR elsewhere."
        )
        raise TransportError(text, field="path", value=str(place))
    return place


def doors(device: str = "", pid: int = 0) -> list[DoorOf]:
    """The doors of this user's emulated devices that run.

    Args:
        device: name of one kind; "": of all.
        pid: of one process; 0: of all.

    Raises:
        TransportError: see `folder`.
    """
    found = []
    for path in sorted(folder().glob(f"*{_ENDING}")):
        name, _, number = path.name.removesuffix(_ENDING).rpartition(".")
        if number.isdecimal() and device in ("", name) and pid in (0, int(number)) and not _is_left_over(path):
            found.append(DoorOf(name, int(number), path))
    return found


def ask(door: DoorOf, order: Mapping[str, object], timeout: float = TIMEOUT) -> dict[str, Any]:
    """The answer to an order of `talk`.

    Raises:
        InputError: the device refuses it, and says why.
        NoAnswer: the device says nothing in time, or has ended.
    """
    data = b""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as visitor:
        visitor.settimeout(timeout)
        try:
            visitor.connect(str(door.path))
            visitor.sendall(as_line(dict(order)))
            while not data.endswith(b"\n"):
                piece = visitor.recv(65_536)
                if not piece:
                    raise ConnectionResetError
                data += piece
        except OSError as problem:
            why = (
                f"says nothing for {timeout:g} s; is it frozen?" if isinstance(problem, TimeoutError) else "has ended."
            )
            raise NoAnswer(
                f"the emulated {door.device} of process {door.pid} {why}",
                field="state",
                value="frozen" if isinstance(problem, TimeoutError) else "ended",
            ) from None
    found: dict[str, Any] = json.loads(data)
    if "error" in found:
        text = f"the emulated {door.device} of process {door.pid}: {found['error']}"
        raise InputError(text, field=str(order["fault"]) if "fault" in order else None, value=order.get("value"))
    return found


def _is_left_over(path: Path) -> bool:
    """True if no process listens: its own was killed. The socket is removed then."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as visitor:
        visitor.setblocking(False)
        try:
            visitor.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return True
        except OSError:  # a process listens, but is busy or frozen
            pass
    return False
