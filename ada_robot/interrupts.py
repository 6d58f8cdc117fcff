# SPDX-License-Identifier: Apache-2.0
"""SIGINT handling of programs: Ctrl-C and launch systems."""

from __future__ import annotations

import signal
import threading

COMPILER = "compiler"  # name of compiler threads, which the end of a program does not wait for


def restore_sigint() -> None:
    """Restore the SIGINT handler where the parent process ignores SIGINT.

    Shells without job control start background jobs with SIGINT ignored, and child processes inherit that. Call this
    in programs only, never in library code.
    """
    is_main = threading.current_thread() is threading.main_thread()  # only the main thread may set handlers
    if is_main and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
