# SPDX-License-Identifier: Apache-2.0
"""Emulator in a separate process, for tests, demonstrations and scenarios.

    with EmulatorProcess("pa10", settings={"variant": "ce"}) as device:
        driver = Pa10Driver(Pa10Settings(url=device.url))
        ...
        device.fault("drop", 0.1)
        assert not device.violations()

Faults and questions use its control socket. Stopped (SIGSTOP) or killed (SIGKILL), it acts like a frozen or
disconnected device.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from ada_hardware.emulation.control_socket import ControlSocket, ask, control_sockets
from ada_hardware.emulation.emulator import Violation
from ada_hardware.emulation.host import PRIORITY
from ada_hardware.transport.wires import is_readable
from ada_robot.errors import NoAnswer, TransportError
from ada_robot.processes import ChildProcess


class EmulatorProcess(ChildProcess):
    """Emulator in a separate process; ends with the `with` block, and with this process.

    Attributes:
        url: address for the driver; may change after a fault "disconnect", see `host.PtyPort`.
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
        """Start the process and wait until it is ready.

        Args:
            name: name in the registry, or "module:class".
            settings: settings of the device by name.
            listen: address as of `host.EmulatorHost`.
            faults: faults of connection and device, by name.
            seed: seed of random faults.
            priority: real-time priority if permitted; 0: none.
            timeout: timeout of the start and of replies [s].

        Raises:
            TransportError: the process did not start; the message includes its error output.
        """
        self.name, self._timeout = name, timeout
        self._control: ControlSocket | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the process
        command = [sys.executable, "-m", "ada_hardware.emulation", name, "--until-eof"]
        command += [f"--seed={seed}", f"--priority={priority}"]
        command += [f"--listen={listen}"] if listen else []
        for option, values in (("setting", settings or {}), ("fault", faults or {})):
            command += [f"--{option}={key}={json.dumps(value)}" for key, value in values.items()]
        # The child uses the import path of this process.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(one for one in sys.path if one)}
        super().__init__(  # in its own session: Ctrl-C must first reach the host, which stops the device
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, env=environment
        )
        try:
            self.url = str(self._ready()["url"])
            self._control = next(iter(control_sockets(pid=self.pid)), None)
            if self._control is None:
                raise TransportError(f"emulator {name}: no control socket. {self._error_output()}", field="control")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> EmulatorProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- questions ------------------------------------------------------------------------------------------------
    def fault(self, name: str, value: float) -> None:
        """Set a fault, or clear it with 0; it is in effect on return.

        Raises:
            InputError: unknown fault or invalid value.
        """
        self.url = str(self._answer("fault", name, value))

    def state(self) -> dict[str, Any]:
        """State of the device."""
        state: dict[str, Any] = self._answer("state")
        return state

    def violations(self) -> list[Violation]:
        """Recorded violations of the host."""
        return [Violation(*one) for one in self._answer("violations")]

    # --- process control ------------------------------------------------------------------------------------------
    def freeze(self) -> None:
        """Stop the process (SIGSTOP); requests wait until `thaw`."""
        self.send(signal.SIGSTOP)

    def thaw(self) -> None:
        """Continue the process (SIGCONT)."""
        self.send(signal.SIGCONT)

    def close(self) -> None:
        """End the process; may be called twice, and after `kill`."""
        if self.popen.stdin is not None:
            with contextlib.suppress(OSError):
                self.popen.stdin.close()
        self.send(signal.SIGCONT)
        if not self.wait(2.0):
            self.kill()
        self.close_pipes()
        self._errors.close()
        if self._control is not None:  # left by a killed process
            self._control.path.unlink(missing_ok=True)

    # --- helpers --------------------------------------------------------------------------------------------------
    def _answer(self, request: str, *arguments: object) -> Any:
        if self._control is None:
            raise self._gone()
        try:
            return ask(self._control, request, *arguments, timeout=self._timeout)
        except NoAnswer as problem:
            if problem.value == "ended":
                raise self._gone() from None
            raise NoAnswer(f"{problem} {self._error_output()}", field="state", value="frozen") from None

    def _ready(self) -> dict[str, Any]:
        """Wait for the line that the process prints, in one piece, when it is ready."""
        pipe = self.popen.stdout
        assert pipe is not None
        if not is_readable(pipe.fileno(), self._timeout):
            text = f"emulator {self.name}: not ready within {self._timeout:g} s. {self._error_output()}"
            raise NoAnswer(text, field="state", value="frozen")
        line = pipe.readline()
        if not line:
            raise self._gone()
        ready: dict[str, Any] = json.loads(line)
        return ready

    def _gone(self) -> TransportError:
        self.wait(2.0)
        return TransportError(
            f"emulator {self.name}: has ended. {self._error_output()}".strip(), field="state", value="ended"
        )

    def _error_output(self) -> str:
        if self._errors.closed:
            return ""
        self._errors.seek(0)
        return self._errors.read()[-2000:].decode("utf-8", "replace").strip()
