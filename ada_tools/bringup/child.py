# SPDX-License-Identifier: Apache-2.0
"""`python -m ada_tools.bringup.child PARENT MODULE|PROGRAM WORDS...`: a process that terminates with its parent.

MODULE is the dotted name of a module with a function `main`; PROGRAM is a path with a slash.

When the parent terminates, even by kill -9, the child receives SIGTERM. The child requests this itself, since Python
code between fork and exec may hang if the parent has threads.
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
from ada_robot.processes import restore_sigint

_PR_SET_PDEATHSIG = 1
_ORPHAN = 143  # exit code as in shells: 128 + SIGTERM


def end_with_parent(parent: int) -> bool:
    """Request a SIGTERM at the end of the parent (Linux only); return True if the parent is still running."""
    if not sys.platform.startswith("linux"):
        return True
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    return os.getppid() == parent


def main(words: Sequence[str]) -> int:
    """Run the module or program in this process."""
    parent, what, *rest = words
    restore_sigint()
    try:
        if not end_with_parent(int(parent)):
            return _ORPHAN
        run = _program if "/" in what else importlib.import_module(what).main
        sys.argv = [what, *rest]
        return int(run() or 0)
    except KeyboardInterrupt:  # before the module installed its handler
        return INTERRUPTED


def _program() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execv(sys.argv[0], sys.argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
