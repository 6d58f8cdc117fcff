# SPDX-License-Identifier: Apache-2.0
"""Runs a command that takes long and shows how long it has been at it, and at what; its words only if it fails.

    python tools/progress.py "installing" pip install ...

On a terminal one line is rewritten, elsewhere a line appears every ten seconds. Standard library only: it runs before
anything is installed.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import threading
import time
from collections import deque
from typing import IO

KEPT = 40  # last lines of a command that fails
WIDTH = 100  # where there is no terminal
_NOISE = ("WARNING", "DEPRECATION", "[notice]")


class Output:
    """The lines that a command has said so far."""

    def __init__(self, stream: IO[str]) -> None:
        self.lines: deque[str] = deque(maxlen=KEPT)
        self._stream = stream
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for line in self._stream:
            if line.strip():
                self.lines.append(line.rstrip())

    def finish(self) -> None:
        """Wait for the last line; a grandchild that lives on may keep the pipe open."""
        self._thread.join(2.0)

    @property
    def last(self) -> str:
        """Present step."""
        return next((line.strip() for line in reversed(list(self.lines)) if not line.startswith(_NOISE)), "")


def run(what: str, command: list[str], every: float) -> int:
    """Run a command and return its exit code."""
    in_place = sys.stderr.isatty()
    begin = time.monotonic()
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    assert child.stdout is not None
    output = Output(child.stdout)
    try:
        code = _wait(child, output, what, begin, 0.5 if in_place else every, in_place)
    except KeyboardInterrupt:  # which the command has got, too
        child.wait()
        code = 130
    output.finish()
    if in_place:
        sys.stderr.write("\r\x1b[K")
    if code not in (0, 130):
        print("\n".join(output.lines), file=sys.stderr)
        print(f"{what}: failed with exit code {code} after {time.monotonic() - begin:.0f} s.", file=sys.stderr)
    return code


def _wait(child: subprocess.Popen[str], output: Output, what: str, begin: float, every: float, in_place: bool) -> int:
    while True:
        try:
            return child.wait(every)
        except subprocess.TimeoutExpired:
            line = f"{what}, {time.monotonic() - begin:3.0f} s: {output.last}"
            if in_place:
                width = shutil.get_terminal_size().columns - 1
                sys.stderr.write(f"\r\x1b[K{line[:width]}")
            else:
                sys.stderr.write(f"{line[:WIDTH]}\n")
            sys.stderr.flush()


def main() -> int:
    """Run the command that stands on the command line."""
    parser = argparse.ArgumentParser(description="Run a command and show how long it has been at it, and at what.")
    parser.add_argument(
        "--every", type=float, default=10.0, metavar="S", help="where there is no terminal (default 10)"
    )
    parser.add_argument("what", help="what the command does, in words")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    return run(options.what, options.command, options.every)


if __name__ == "__main__":
    sys.exit(main())
