# SPDX-License-Identifier: Apache-2.0
"""Terminal output of several processes, with a progress line below."""

from __future__ import annotations

import sys
import threading
from typing import TextIO

_CLEAR = "\r\x1b[K"


class Console:
    """Thread-safe line output; on a terminal, the last line shows the progress."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Write to a stream; default: standard output."""
        self._stream = stream or sys.stdout
        self._is_terminal = self._stream.isatty()
        self._lock = threading.Lock()
        self._progress = ""

    def say(self, line: str) -> None:
        """Write a line."""
        with self._lock:
            self._write((_CLEAR if self._progress else "") + line + "\n" + self._progress)

    def progress(self, text: str) -> None:
        """Replace the progress line; "" removes it. Without a terminal nothing is written."""
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
            # The output is closed; the processes must still be terminated in order.
            pass
