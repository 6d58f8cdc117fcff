# SPDX-License-Identifier: Apache-2.0
"""A child process: started in a session of its own, watched, and ended in time."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Any


class ChildProcess:
    """A process that a Ctrl-C in the terminal does not reach: its parent ends it, in order.

    Attributes:
        popen: with its pipes.
    """

    def __init__(self, command: Sequence[str], **options: Any) -> None:
        """Start it. Args: the command with all its words; what `subprocess.Popen` takes besides."""
        self.popen: subprocess.Popen[Any] = subprocess.Popen(list(command), start_new_session=True, **options)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.popen.pid

    @property
    def code(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self.popen.poll()

    @property
    def is_alive(self) -> bool:
        """True while it runs."""
        return self.code is None

    def send(self, number: signal.Signals) -> None:
        """Send it a signal; nothing happens where it has ended."""
        with suppress(ProcessLookupError):
            self.popen.send_signal(number)

    def wait(self, seconds: float) -> bool:
        """True if it ends within some seconds."""
        with suppress(subprocess.TimeoutExpired):
            self.popen.wait(max(0.0, seconds))
        return self.popen.returncode is not None

    def kill(self) -> None:
        """Kill it, and wait until it has ended."""
        self.popen.kill()
        self.popen.wait()

    def close_pipes(self) -> None:
        """Close this side's ends of its pipes."""
        for pipe in (self.popen.stdin, self.popen.stdout, self.popen.stderr):
            if pipe is not None:
                with suppress(OSError):  # unwritten output has no reader any more
                    pipe.close()


def ending_in_words(code: int) -> str:
    """How a process ended, by its exit code."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
