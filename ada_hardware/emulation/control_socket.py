# SPDX-License-Identifier: Apache-2.0
"""Control socket of an emulated device: a local socket by which its owner sets faults and reads its state.

It carries datagrams of JSON, such as {"fault": "drop", "value": 0.1}, {"clear": true} or {"ask": "state"}. Each is
answered by one: {"ok": true, ...}, or {"error": "..."}. Folder (0700) and socket (0600) are accessible to their user
only.

    for target in control_sockets("pa10"):
        ask(target, {"fault": "emergency_stop", "value": 1.0})
"""

from __future__ import annotations

import json
import os
import socket
import stat
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ada_dynamics.errors import AdaError, InputError
from ada_hardware.emulation.host import EmulatorHost
from ada_robot.errors import NoAnswer, TransportError

_LONGEST = 1 << 18  # [bytes] of a datagram
ASKS = ("state", "violations", "url", "faults")
TIMEOUT = 5.0  # [s] of an answer
_ENDING = ".sock"
_LONGEST_FOLDER = 70  # [bytes]: the path of a socket has at most 107
_ALLOWED = (
    'send {"fault": NAME, "value": NUMBER} or {"clear": true} or {"ask": "state"}, "violations", "url", "faults".'
)


def answer(host: EmulatorHost, data: bytes) -> dict[str, Any]:
    """Execute an order and return the answer."""
    try:
        order = json.loads(data)
        if not isinstance(order, dict):
            raise ValueError("not an object")
    except ValueError as problem:
        return {"error": f"{data!r:.80} is not a JSON object ({problem}); {_ALLOWED}"}
    try:
        if set(order) == {"fault", "value"}:
            host.fault(str(order["fault"]), order["value"])
            return {"ok": True, "url": host.url}
        if order == {"clear": True}:
            host.clear()
            return {"ok": True, "url": host.url}
        if set(order) == {"ask"} and order["ask"] in ASKS:
            return {"ok": True, order["ask"]: _asked(host, order["ask"])}
    except (AdaError, KeyError, TypeError, ValueError) as problem:
        return {"error": str(problem)}
    return {"error": f"{data!r:.80} is not a known order; {_ALLOWED}"}


def _encoded(what: Mapping[str, object]) -> bytes:
    """Encode an order or answer; numpy arrays become lists, other types text."""
    return json.dumps(what, default=lambda one: one.tolist() if hasattr(one, "tolist") else str(one)).encode()


def _asked(host: EmulatorHost, what: str) -> object:
    emulator = host.line.emulator
    if what == "state":
        return emulator.state()
    if what == "violations":
        return [list(one) for one in emulator.violations]
    return host.url if what == "url" else host.line.on()


class ControlSocket(NamedTuple):
    """Control socket of a running emulator.

    Attributes:
        device: name of the emulated device.
        pid: process of the emulator.
        path: path of the socket.
    """

    device: str
    pid: int
    path: Path


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
        self.path = folder(make=True) / f"{device}.{os.getpid()}{_ENDING}"
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
            reply = _encoded(answer(self._host, data))
            if sender:
                self._socket.sendto(reply, sender)
        return True

    def close(self) -> None:
        """Close and remove the socket."""
        self._socket.close()
        self.path.unlink(missing_ok=True)


def folder(*, make: bool = False) -> Path:
    """Return the folder of this user's control sockets, in XDG_RUNTIME_DIR or the folder for temporary files.

    Args:
        make: create the folder if missing.

    Raises:
        TransportError: it is a link, belongs to or is accessible to another user, or cannot be created.
    """
    place = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir(), "ada_dynamics_emulators")
    if len(str(place)) > _LONGEST_FOLDER or not os.environ.get("XDG_RUNTIME_DIR"):
        place = Path(tempfile.gettempdir(), f"ada_dynamics_emulators_{os.getuid()}")
    try:
        if make:
            place.mkdir(mode=0o700, exist_ok=True)
        found = place.lstat()
    except FileNotFoundError:
        return place
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


def ask(target: ControlSocket, order: Mapping[str, object], timeout: float = TIMEOUT) -> dict[str, Any]:
    """Send an order and return the answer.

    Raises:
        InputError: the device refuses the order.
        NoAnswer: no answer in time, or the device has ended.
    """
    own = target.path.with_suffix(f".{time.monotonic_ns()}")  # to which the device answers
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.settimeout(timeout)
        try:
            client.bind(str(own))
            client.connect(str(target.path))
            client.send(_encoded(order))
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
        raise InputError(text, field=str(order["fault"]) if "fault" in order else None, value=order.get("value"))
    return found


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
