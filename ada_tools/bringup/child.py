# SPDX-License-Identifier: Apache-2.0
"""`python -m ada_tools.bringup.child PARENT MODULE|PROGRAM WORDS...`: a process that does not outlive its parent.

MODULE is the dotted name of a module with a function `main`; PROGRAM, a path with a slash. The module is imported at
once, and begins when a line comes on the standard input: so the parent can look for other robots meanwhile.

The parent's end, kill -9 included, is a SIGTERM here. The child asks for it, since Python code between fork and exec
may hang where the parent has threads.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import signal
import sys
from collections.abc import Sequence

from ada_dynamics.errors import INTERRUPTED
from ada_robot.interrupts import restore_sigint

_PR_SET_PDEATHSIG = 1
_ORPHAN = 143  # as shells count: 128 + SIGTERM


def end_with_parent(parent: int) -> bool:
    """Ask the kernel for a SIGTERM when the parent ends; whether the parent is still there. Linux only.

    Args:
        parent: its process id.
    """
    if not sys.platform.startswith("linux"):
        return True
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    return os.getppid() == parent


def main(words: Sequence[str]) -> int:
    """Run the module or the program in this process."""
    parent, what, *rest = words
    restore_sigint()
    try:
        if not end_with_parent(int(parent)):
            return _ORPHAN
        run = _program if "/" in what else importlib.import_module(what).main
        if not sys.stdin.readline():
            return _ORPHAN  # the parent has gone, or ended the start
        sys.argv = [what, *rest]
        return int(run() or 0)
    except KeyboardInterrupt:  # before the module has put its own handler in place
        return INTERRUPTED


def _program() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execv(sys.argv[0], sys.argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
