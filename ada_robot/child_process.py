# SPDX-License-Identifier: Apache-2.0
"""Child process in a session of its own, with a bounded wait for its end."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Any


class ChildProcess:
    """Child process in a new session, which Ctrl-C in the terminal does not reach.

    Attributes:
        popen: process object with its pipes.
    """

    def __init__(self, command: Sequence[str], **options: Any) -> None:
        """Start the process. Args: command and arguments; options of `subprocess.Popen`."""
        self.popen: subprocess.Popen[Any] = subprocess.Popen(list(command), start_new_session=True, **options)

    @property
    def pid(self) -> int:
        """Process id."""
        return self.popen.pid

    @property
    def code(self) -> int | None:
        """Exit code, negative for a signal; None while the process runs."""
        return self.popen.poll()

    @property
    def is_alive(self) -> bool:
        """True while the process runs."""
        return self.code is None

    def send(self, number: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        with suppress(ProcessLookupError):
            self.popen.send_signal(number)

    def wait(self, seconds: float) -> bool:
        """Return True if the process ends within `seconds`."""
        with suppress(subprocess.TimeoutExpired):
            self.popen.wait(max(0.0, seconds))
        return self.popen.returncode is not None

    def kill(self) -> None:
        """Kill the process and wait for its end."""
        self.popen.kill()
        self.popen.wait()

    def close_pipes(self) -> None:
        """Close the parent's ends of the pipes."""
        for pipe in (self.popen.stdin, self.popen.stdout, self.popen.stderr):
            if pipe is not None:
                with suppress(OSError):  # pending output has no reader any more
                    pipe.close()


def ending_in_words(code: int) -> str:
    """Describe an exit code: the code itself, or the name of the signal."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
