# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, and the SIGINT by which launch systems end their programs."""

from __future__ import annotations

import signal
import threading

COMPILER = "compiler"  # name of threads that compile: the end of a program does not wait for them


def restore_sigint() -> None:
    """Let SIGINT end this program where its starter ignores it.

    A shell without job control starts jobs in its background with SIGINT ignored, and whatever they start inherits
    that, a launch system's children included. Nodes of ROS 2 and `ros2 launch` end on SIGINT all the same; so do these
    programs. For programs alone, not for what is called in somebody else's process.
    """
    is_main = threading.current_thread() is threading.main_thread()  # others may not
    if is_main and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
