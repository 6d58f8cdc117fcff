# SPDX-License-Identifier: Apache-2.0
"""Child processes, SIGINT of programs, modules of POSIX systems, and non-blocking stderr.

A full pipe, or a terminal stopped by Ctrl-S, blocks its writer. ROS 2 logs without releasing the interpreter lock, so
that one blocked logger stops all threads of a Python program. A safety cycle must not block. Therefore
`NonBlockingOutput` replaces the descriptor by a pipe: one thread reads it into a bounded queue, a second one writes the
queue to the original descriptor. Lines that do not fit into the queue are dropped and counted.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from ada_dynamics.clock import SYSTEM_CLOCK
from ada_robot.errors import HardwareError

COMPILER = "compiler"  # name of compiler threads, which the end of a program does not wait for
ROOM = 2**18  # capacity of the queue [bytes]
STDERR = 2
PATIENCE = 0.5  # time to write pending output at the end of a process [s]
_PIECE = 4096  # bytes per write; a pipe accepts them atomically
_LOOK = 0.01  # polling interval of pending output [s]
_real: dict[int, int] = {}  # replaced descriptors and the duplicates of their originals


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


def restore_sigint() -> None:
    """Restore the SIGINT handler where the parent process ignores SIGINT.

    Shells without job control start background jobs with SIGINT ignored, and child processes inherit that. Call this
    in programs only, never in library code.
    """
    is_main = threading.current_thread() is threading.main_thread()  # only the main thread may set handlers
    if is_main and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def posix_module(name: str, what: str, instead: str = "") -> Any:
    """Import a module of POSIX systems, such as "termios", or raise a HardwareError.

    Args:
        name: module name.
        what: feature that needs it; start of the error message.
        instead: alternative on this system, as a sentence.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError:
        text = f"{what} needs Linux or macOS: Python has no module {name} on {sys.platform}. {instead}"
        raise HardwareError(text.rstrip()) from None


def stderr_for_children() -> int:
    """Return the stderr descriptor for child processes that may outlive this process."""
    return _real.get(STDERR, STDERR)


class NonBlockingOutput:
    """Non-blocking replacement of a file descriptor, as a context manager.

    Attributes:
        dropped: dropped lines that were not reported yet, including truncated ones.
    """

    def __init__(self, descriptor: int = STDERR, room: int = ROOM) -> None:
        """Prepare the replacement of a descriptor by a queue of `room` bytes."""
        self._descriptor, self._room = descriptor, room
        self.dropped = 0
        self._waiting: deque[bytes] = deque()
        self._size = 0  # bytes in the queue
        self._is_within_line = False  # the queued output ends within a line
        self._is_counted = False  # the present line is counted as dropped already
        self._is_writing = False
        self._changed = threading.Condition()
        self._real = self._reading = -1

    def __enter__(self) -> NonBlockingOutput:
        """Replace the descriptor; without effect on systems whose pipes cannot be polled."""
        try:
            import fcntl
        except ImportError:
            return self
        self._real = os.dup(self._descriptor)
        self._reading, writing = os.pipe()
        with suppress(OSError, AttributeError):  # beyond the limit of the user, or not Linux
            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, self._room)
        os.set_blocking(writing, False)
        os.dup2(writing, self._descriptor)
        os.close(writing)
        _real[self._descriptor] = self._real
        for work in (self._take, self._hand_on):
            threading.Thread(target=work, name="output", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Write pending output and restore the descriptor.

        If that takes longer than the timeout, the descriptor stays replaced, so that later output does not block.
        """
        if self._real < 0:
            return
        deadline = SYSTEM_CLOCK() + PATIENCE
        while not self._is_empty():
            if SYSTEM_CLOCK() > deadline:
                return
            SYSTEM_CLOCK.sleep(_LOOK)
        os.dup2(self._real, self._descriptor)
        _real.pop(self._descriptor, None)

    def _is_empty(self) -> bool:
        with self._changed:
            is_idle = not (self._waiting or self._is_writing or self.dropped)
            return is_idle and not select.select([self._reading], [], [], 0.0)[0]

    # --- threads ----------------------------------------------------------------------------------------------------
    def _take(self) -> None:
        while True:
            select.select([self._reading], [], [])
            with self._changed:
                data = os.read(self._reading, _PIECE)
                if not data:
                    return
                if self._size + len(data) > self._room:
                    self._drop(data)
                else:
                    self._keep(data)
                self._changed.notify()

    def _drop(self, data: bytes) -> None:
        """Count each truncated line once."""
        ends_within = not data.endswith(b"\n")
        self.dropped += data.count(b"\n") + ends_within - self._is_counted
        self._is_counted = ends_within

    def _keep(self, data: bytes) -> None:
        """Queue output, preceded by the number of lines dropped before it."""
        if b"\n" in data:
            self._is_counted = False
        kept = self._notice() + data
        self._waiting.append(kept)
        self._size += len(kept)
        self._is_within_line = not kept.endswith(b"\n")

    def _notice(self) -> bytes:
        """Return a line with the number of dropped lines; empty if none were dropped."""
        count, self.dropped = self.dropped, 0
        if not count:
            return b""
        start = "\n" if self._is_within_line else ""
        self._is_within_line = False
        return f"{start}[{count} lines were dropped: the reader of stderr was too slow]\n".encode()

    def _hand_on(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self.dropped:
                    self._changed.wait()
                data = self._waiting.popleft() if self._waiting else b""
                self._size -= len(data)
                data = data or self._notice()
                self._is_writing = True
            with suppress(OSError):  # the reader has closed its end
                while data:
                    data = data[os.write(self._real, data) :]
            self._is_writing = False
