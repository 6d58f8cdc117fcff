# SPDX-License-Identifier: Apache-2.0
"""Output to stderr that never waits for its reader.

A pipe that nobody empties, or a terminal stopped by Ctrl-S, blocks its writer: a logger, and with it the thread that
logs, or all threads of a Python program, as ROS 2 logs without releasing the interpreter. A robot's cycle, and a node
that must answer a stop, cannot afford that. So the descriptor is replaced by a pipe of the process' own. One thread
empties it into a bounded queue, another one, the only one that waits, passes that on. Lines that do not fit into the
queue are dropped, and reported once there is room again.
"""

from __future__ import annotations

import os
import select
import threading
from collections import deque
from contextlib import suppress
from types import TracebackType

from ada_dynamics.clock import SYSTEM_CLOCK, Clock

ROOM = 2**18  # bytes that may wait
STDERR = 2
PATIENCE = 0.5  # [s] that the end of a process waits for pending output
_PIECE = 4096  # bytes that are passed on at once: a pipe takes them as a whole
_LOOK = 0.01  # [s]
_pipe_room = 1031  # F_SETPIPE_SZ, which the module fcntl of Python 3.9 does not have
_real: dict[int, int] = {}  # descriptors that were replaced, and where they led before


def stderr_for_children() -> int:
    """The descriptor for stderr of a process which may outlive this one."""
    return _real.get(STDERR, STDERR)


class Outlet:
    """Stands between this process and one of its descriptors, from `__enter__` or `open` on.

    Attributes:
        dropped: lines that there was no room for, in whole or in part, and that were not reported yet.
    """

    def __init__(self, descriptor: int = STDERR, room: int = ROOM, clock: Clock = SYSTEM_CLOCK) -> None:
        """Prepare.

        Args:
            descriptor: to be replaced.
            room: bytes that may wait.
            clock: of the time that `close` waits.
        """
        self._descriptor, self._room, self._clock = descriptor, room, clock
        self.dropped = 0
        self._waiting: deque[bytes] = deque()
        self._size = 0  # bytes that wait
        self._is_within_line = False  # what was kept last ends there
        self._is_counted = False  # the line that is being written has lost something already
        self._is_writing = False
        self._changed = threading.Condition()
        self._real = self._reading = -1

    def open(self) -> None:
        """Replace the descriptor; on a system whose pipes cannot be waited for it stays as it is."""
        try:
            import fcntl
        except ImportError:
            return
        self._real = os.dup(self._descriptor)
        self._reading, writing = os.pipe()
        with suppress(OSError):  # an unprivileged user may have too many pipes already
            fcntl.fcntl(writing, _pipe_room, self._room)
        os.set_blocking(writing, False)
        os.dup2(writing, self._descriptor)
        os.close(writing)
        _real[self._descriptor] = self._real
        for work in (self._take, self._hand_on):
            threading.Thread(target=work, name="outlet", daemon=True).start()

    def close(self, patience: float = PATIENCE) -> None:
        """Pass on waiting output, as far as it is read in time, and restore the descriptor.

        Otherwise the descriptor stays as it is, so that later output does not block the process.
        """
        if self._real < 0:
            return
        deadline = self._clock.now() + patience
        while not self._is_empty():
            if self._clock.now() > deadline:
                return
            self._clock.sleep(_LOOK)
        os.dup2(self._real, self._descriptor)
        _real.pop(self._descriptor, None)

    def _is_empty(self) -> bool:
        with self._changed:
            is_idle = not (self._waiting or self._is_writing or self.dropped)
            return is_idle and not select.select([self._reading], [], [], 0.0)[0]

    # --- threads of its own -----------------------------------------------------------------------------------------
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
        """Count the lines that lose something, each once."""
        ends_within = not data.endswith(b"\n")
        self.dropped += data.count(b"\n") + ends_within - self._is_counted
        self._is_counted = ends_within

    def _keep(self, data: bytes) -> None:
        """Let it wait, behind the number of lines that were dropped before it."""
        if b"\n" in data:
            self._is_counted = False
        kept = self._notice() + data
        self._waiting.append(kept)
        self._size += len(kept)
        self._is_within_line = not kept.endswith(b"\n")

    def _notice(self) -> bytes:
        """A line with the number of dropped lines; empty where there are none."""
        count, self.dropped = self.dropped, 0
        if not count:
            return b""
        start = "\n" if self._is_within_line else ""
        self._is_within_line = False
        return f"{start}[{count} lines are missing here: nobody read what was said]\n".encode()

    def _hand_on(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self.dropped:
                    self._changed.wait()
                data = self._waiting.popleft() if self._waiting else b""
                self._size -= len(data)
                data = data or self._notice()
                self._is_writing = True
            with suppress(OSError):  # the reader is gone
                while data:
                    data = data[os.write(self._real, data) :]
            self._is_writing = False

    def __enter__(self) -> Outlet:
        """Open it."""
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()
