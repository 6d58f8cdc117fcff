# SPDX-License-Identifier: Apache-2.0
"""An emulator in a process of its own, started, asked and ended from here; for tests, demonstrations and scenarios.

    with EmulatorProcess("pa10", settings={"variant": "ce"}) as device:
        driver = Pa10Driver(Pa10Settings(url=device.url))
        ...
        device.fault("drop", 0.1)
        assert not device.violations()

Frozen (SIGSTOP) or killed (SIGKILL) it acts as a hanging or a vanished device.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from typing import Any

from ada_dynamics.errors import InputError
from ada_hardware.emulation.emulator import Violation
from ada_hardware.emulation.host import PRIORITY
from ada_hardware.emulation.talk import as_line
from ada_hardware.transport.waiting import is_readable
from ada_robot.child_process import ChildProcess
from ada_robot.errors import NoAnswer, TransportError

_PIECE = 65_536  # [bytes]


class EmulatorProcess(ChildProcess):
    """An emulator in its own process; ends with the `with` block, and with this process.

    Attributes:
        url: address for the driver; a fault "disconnect" that is taken back may change it, see `ends.PtyEnd`.
        http_url: address of the device's web pages; "": it has none.
    """

    def __init__(
        self,
        name: str,
        settings: Mapping[str, object] | None = None,
        listen: str = "",
        faults: Mapping[str, float] | None = None,
        *,
        seed: int = 0,
        priority: int = PRIORITY,
        timeout: float = 60.0,
    ) -> None:
        """Start it, and wait until it is ready.

        Args:
            name: of the registry, or "module:class".
            settings: of the device, by name.
            listen: address as of `ends.open_end`; "": by its kind of wire.
            faults: of the wire and of the device, by name.
            seed: of the random ones.
            priority: real-time priority, where the system allows it; 0: none.
            timeout: of the start, and of answers [s].

        Raises:
            TransportError: it did not start; the message has its own words.
        """
        self.name, self._timeout = name, timeout
        self._rest = b""
        self._lock = threading.Lock()  # one question at a time, from any thread
        self._owed = 0  # pending answers to questions that were given up
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the process
        command = [sys.executable, "-m", "ada_hardware.emulation", name, "--until-eof"]
        command += [f"--seed={seed}", f"--priority={priority}"]
        command += [f"--listen={listen}"] if listen else []
        for option, values in (("setting", settings or {}), ("fault", faults or {})):
            command += [f"--{option}={key}={json.dumps(value)}" for key, value in values.items()]
        # The child finds what this process finds, wherever it was started.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(one for one in sys.path if one)}
        super().__init__(  # in a session of its own: a Ctrl-C is for the host, which first brings the device to rest
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
        )
        try:
            ready = self._line()
        except BaseException:
            self.close()
            raise
        self.url, self.http_url = str(ready["url"]), str(ready.get("http_url", ""))

    def __enter__(self) -> EmulatorProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- questions ------------------------------------------------------------------------------------------------
    def fault(self, name: str, value: float) -> None:
        """Switch a fault on, or with 0 off; it is in force on return.

        Raises:
            InputError: there is no such fault, or it cannot have this value.
        """
        self.url = str(self._answer({"fault": name, "value": value})["url"])

    def state(self) -> dict[str, Any]:
        """State of the device."""
        state: dict[str, Any] = self._answer({"ask": "state"})["state"]
        return state

    def violations(self) -> list[Violation]:
        """Violations of its host so far."""
        return [Violation(*one) for one in self._answer({"ask": "violations"})["violations"]]

    # --- process control ------------------------------------------------------------------------------------------
    def freeze(self) -> None:
        """Stop it in the middle of whatever it does (SIGSTOP); questions wait until `thaw`."""
        self.send(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on (SIGCONT)."""
        self.send(signal.SIGCONT)

    def close(self) -> None:
        """End it properly; may be called twice, and after `kill`."""
        if self.popen.stdin is not None:
            with contextlib.suppress(OSError):
                self.popen.stdin.close()
        self.send(signal.SIGCONT)
        if not self.wait(2.0):
            self.kill()
        self.close_pipes()
        self._errors.close()

    # --- helpers --------------------------------------------------------------------------------------------------
    def _answer(self, order: dict[str, object]) -> dict[str, Any]:
        with self._lock:
            self._ask(order)
            self._owed += 1
            while self._owed:
                answer = self._line()
                self._owed -= 1
        if "error" in answer:
            text = f"emulator {self.name}: {answer['error']}"
            raise InputError(text, field=str(order["fault"]) if "fault" in order else None, value=order.get("value"))
        return answer

    def _ask(self, order: dict[str, object]) -> None:
        pipe = self.popen.stdin
        try:
            if pipe is None or pipe.closed:
                raise BrokenPipeError
            pipe.write(as_line(order))
            pipe.flush()
        except OSError:
            raise self._gone() from None

    def _line(self) -> dict[str, Any]:
        pipe = self.popen.stdout
        if pipe is None or pipe.closed:
            raise self._gone()
        deadline = time.monotonic() + self._timeout
        while b"\n" not in self._rest:
            if not is_readable(pipe.fileno(), deadline - time.monotonic()):
                text = f"emulator {self.name}: says nothing for {self._timeout:g} s; is it frozen? {self._words()}"
                raise NoAnswer(text, field="state", value="frozen")
            data = os.read(pipe.fileno(), _PIECE)
            if not data:
                raise self._gone()
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _gone(self) -> TransportError:
        self.wait(2.0)
        return TransportError(f"emulator {self.name}: has ended. {self._words()}".strip(), field="state", value="ended")

    def _words(self) -> str:
        if self._errors.closed:
            return ""
        self._errors.seek(0)
        return self._errors.read()[-2000:].decode("utf-8", "replace").strip()
