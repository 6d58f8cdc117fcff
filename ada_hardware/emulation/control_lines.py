# SPDX-License-Identifier: Apache-2.0
"""JSON lines of orders and requests to an emulator process, such as {"fault": "drop", "value": 0.1}.

Each line is answered by one: {"ok": true, ...}, or {"error": "..."}.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from ada_dynamics.errors import AdaError
from ada_hardware.emulation.host import EmulatorHost

_PIECE = 65_536  # [bytes]
ASKS = ("state", "violations", "url", "faults")


class LineReader:
    """Reads lines from a file descriptor; a `Control` of the host."""

    def __init__(self, descriptor: int, take: Callable[[str], object], at_end: Callable[[], object]) -> None:
        """Watch a descriptor.

        Args:
            descriptor: pipe, socket or terminal.
            take: called with each line without its terminator.
            at_end: called at the end of the input.
        """
        self._descriptor, self._take, self._at_end = descriptor, take, at_end
        self._rest = b""

    def fileno(self) -> int:
        """The descriptor."""
        return self._descriptor

    def handle(self) -> bool:
        """Read pending input; return False at its end."""
        try:
            data = os.read(self._descriptor, _PIECE)
        except OSError:
            data = b""
        if not data:
            self._at_end()
            return False
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line.strip():
                self._take(line.decode("utf-8", "replace"))
        return True


def answer(host: EmulatorHost, line: str) -> dict[str, Any]:
    """Execute a line and return the answer."""
    try:
        order = json.loads(line)
        if not isinstance(order, dict):
            raise ValueError("not an object")
    except ValueError as problem:
        return {"error": f"{line!r:.80} is not a JSON object ({problem}); {_ALLOWED}"}
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
    return {"error": f"{line!r:.80} is not a known order; {_ALLOWED}"}


def encode_line(what: dict[str, Any]) -> bytes:
    """Encode one line of JSON; numpy arrays become lists, other types text."""
    return (json.dumps(what, default=lambda one: one.tolist() if hasattr(one, "tolist") else str(one)) + "\n").encode()


def _asked(host: EmulatorHost, what: str) -> object:
    emulator = host.line.emulator
    if what == "state":
        return emulator.state()
    if what == "violations":
        return [list(one) for one in emulator.violations]
    return host.url if what == "url" else host.line.on()


_ALLOWED = (
    'send {"fault": NAME, "value": NUMBER} or {"clear": true} or {"ask": "state"}, "violations", "url", "faults".'
)
