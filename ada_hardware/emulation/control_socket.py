# SPDX-License-Identifier: Apache-2.0
"""Control socket of an emulated device: a local socket by which its owner sets faults and reads its state.

It carries datagrams of JSON: a request and its arguments, such as ["fault", "drop", 0.1], answered by {"answer": ...}
or {"error": "..."}. Folder (0700) and socket (0600) are accessible to their user only.

    for target in control_sockets("pa10"):
        ask(target, "fault", "emergency_stop", 1.0)
"""

from __future__ import annotations

import json
import os
import socket
import stat
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ada_dynamics.errors import AdaError, InputError, unknown_name
from ada_hardware.emulation.host import EmulatorHost
from ada_robot.errors import NoAnswer, TransportError

_LONGEST = 1 << 18  # [bytes] of a datagram
TIMEOUT = 5.0  # [s] of an answer
_ENDING = ".sock"
_LONGEST_FOLDER = 70  # [bytes]: the path of a socket has at most 107


def answer(host: EmulatorHost, data: bytes) -> dict[str, Any]:
    """Execute a request and return the answer."""
    emulator = host.line.emulator
    requests: dict[str, Callable[..., object]] = {
        "fault": host.fault,
        "clear": host.clear,
        "faults": host.line.on,
        "state": emulator.state,
        "violations": lambda: emulator.violations,
    }
    try:
        name, *arguments = json.loads(data)
        if name not in requests:
            raise unknown_name("request", name, requests)
        return {"answer": requests[name](*arguments)}
    except (AdaError, KeyError, TypeError, ValueError) as problem:
        return {"error": f"{data!r:.80}: {problem}"}


class ControlSocket(NamedTuple):
    """Control socket of a running emulator."""

    device: str  # name of the emulated device
    pid: int  # process of the emulator
    path: Path  # path of the socket


class ControlServer:
    """Server side of a control socket, in the loop of the emulator host.

    Attributes:
        path: path of the socket.
    """

    def __init__(self, host: EmulatorHost, device: str) -> None:
        """Create the socket.

        Args:
            host: host of the device.
            device: name of the device.

        Raises:
            TransportError: the folder belongs to another user, or cannot be written.
        """
        self._host = host
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.path = folder() / f"{device}.{os.getpid()}{_ENDING}"
        try:
            self.path.unlink(missing_ok=True)  # left by an earlier process with the same number
            self._socket.bind(str(self.path))
            self.path.chmod(0o600)
        except OSError as problem:
            self._socket.close()
            raise TransportError(
                f"{self.path}: cannot create the control socket: {problem.strerror or problem}.",
                field="path",
                value=str(self.path),
            ) from None
        self._socket.setblocking(False)
        host.watch(self._socket.fileno(), self._handle)

    def _handle(self) -> bool:
        """Execute an order and answer it."""
        with suppress(OSError):  # a client that is gone or does not read must not block the device
            data, sender = self._socket.recvfrom(_LONGEST)
            # numpy arrays become lists, other types text
            found = json.dumps(answer(self._host, data), default=lambda one: getattr(one, "tolist", one.__str__)())
            reply = found.encode()
            if sender:
                self._socket.sendto(reply, sender)
        return True

    def close(self) -> None:
        """Close and remove the socket."""
        self._socket.close()
        self.path.unlink(missing_ok=True)


def folder() -> Path:
    """Create if missing the folder of this user's control sockets, in XDG_RUNTIME_DIR or the one for temporary files.

    Raises:
        TransportError: it is a link, belongs to or is accessible to another user, or cannot be created.
    """
    place = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir(), "ada_dynamics_emulators")
    if len(str(place)) > _LONGEST_FOLDER or not os.environ.get("XDG_RUNTIME_DIR"):
        place = Path(tempfile.gettempdir(), f"ada_dynamics_emulators_{os.getuid()}")
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        found = place.lstat()
    except OSError as problem:
        raise TransportError(
            f"{place}: cannot create control sockets of emulators: {problem.strerror or problem}.",
            field="path",
            value=str(place),
        ) from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        text = (
            f"{place}: must be a folder, not a link, of user {os.getuid()} with mode 0700; otherwise other users could "
            "set faults of emulators. Remove it, or set XDG_RUNTIME_DIR to another folder."
        )
        raise TransportError(text, field="path", value=str(place))
    return place


def control_sockets(device: str = "", pid: int = 0) -> list[ControlSocket]:
    """Return the control sockets of this user's running emulators.

    Args:
        device: name of a device; "": all.
        pid: number of a process; 0: all.

    Raises:
        TransportError: see `folder`.
    """
    found = []
    for path in sorted(folder().glob(f"*{_ENDING}")):
        name, _, number = path.name.removesuffix(_ENDING).rpartition(".")
        if number.isdecimal() and device in ("", name) and pid in (0, int(number)) and not _is_left_over(path):
            found.append(ControlSocket(name, int(number), path))
    return found


def ask(target: ControlSocket, request: str, *arguments: object, timeout: float = TIMEOUT) -> Any:
    """Send a request and return the answer.

    Args:
        target: socket of the emulator.
        request: "fault" (name and value; returns the address of the device), "clear", "faults", "state", "violations".
        arguments: arguments of the request.
        timeout: timeout of the answer [s].

    Raises:
        InputError: the device refuses the request.
        NoAnswer: no answer in time, or the device has ended.
    """
    own = target.path.with_suffix(f".{time.monotonic_ns()}")  # to which the device answers
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.settimeout(timeout)
        try:
            client.bind(str(own))
            client.connect(str(target.path))
            client.send(json.dumps([request, *arguments]).encode())
            data = client.recv(_LONGEST)
        except OSError as problem:
            is_frozen = isinstance(problem, TimeoutError)
            why = f"gives no answer within {timeout:g} s; it may be frozen." if is_frozen else "has ended."
            raise NoAnswer(
                f"the emulated {target.device} of process {target.pid} {why}",
                field="state",
                value="frozen" if is_frozen else "ended",
            ) from None
        finally:
            own.unlink(missing_ok=True)
    found: dict[str, Any] = json.loads(data)
    if "error" in found:
        text = f"the emulated {target.device} of process {target.pid}: {found['error']}"
        field, value = (*arguments, None, None)[:2]
        raise InputError(text, field=str(field), value=value)
    return found["answer"]


def _is_left_over(path: Path) -> bool:
    """Return True if no process listens on a socket, which is then removed."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.setblocking(False)
        try:
            client.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return True
        except OSError:  # a process listens, but is busy or stopped
            pass
    return False
