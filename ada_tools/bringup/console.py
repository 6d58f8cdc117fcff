# SPDX-License-Identifier: Apache-2.0
"""Lines of several processes on one terminal, with a line of progress below them."""

from __future__ import annotations

import sys
import threading
from typing import TextIO

_CLEAR = "\r\x1b[K"


class Console:
    """Writes whole lines, from any thread; on a terminal, a last line that changes in place."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Write to a stream; by default the standard output."""
        self._stream = stream or sys.stdout
        self._is_terminal = self._stream.isatty()
        self._lock = threading.Lock()
        self._progress = ""

    def say(self, line: str) -> None:
        """Write a line."""
        with self._lock:
            self._write((_CLEAR if self._progress else "") + line + "\n" + self._progress)

    def progress(self, text: str) -> None:
        """Replace the line of progress; elsewhere than on a terminal nothing is written. "" removes it."""
        if not self._is_terminal or text == self._progress:
            return
        with self._lock:
            self._progress = text
            self._write(_CLEAR + text)

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (BrokenPipeError, ValueError):
            # The reader has gone, or the stream is closed: the processes shall still be ended in order.
            pass
