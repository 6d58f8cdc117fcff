# SPDX-License-Identifier: Apache-2.0
"""Exclusive use of a packet connection among the programs of this machine; serial ports are locked by the system.

The claim is a listening socket in the abstract namespace: it needs no file permissions, is common to all users, and
belongs to the network namespace of the connection (a container can have a separate one). The kernel releases it when
its process ends, and reports the process ID.

Other machines are not covered; their packets can only be detected on the network.
"""

from __future__ import annotations

import errno
import logging
import os
import socket
import struct
import sys
from pathlib import Path

from ada_robot.errors import TransportError

_NAME = "\0ada_hardware "  # a leading zero selects the abstract namespace (man 7 unix)
_CREDENTIALS = struct.Struct("3i")  # process, user, group
_BACKLOG = 512  # backlog of connections made by `_holder`, which are never accepted
_log = logging.getLogger("ada_hardware")


def claim(place: str, url: str) -> socket.socket | None:
    """Claim a connection for this program until the returned socket is closed; None where this is not supported.

    Args:
        place: unique key of the connection, such as "udp 127.0.0.1:41234".
        url: address for messages.

    Raises:
        TransportError: it is in use; the message names the holder.
    """
    if sys.platform != "linux":
        _log.warning("%s: cannot lock out other programs: not supported on this system.", url)
        return None
    mark = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        mark.bind(_NAME + place)
        mark.listen(_BACKLOG)
    except OSError as problem:
        mark.close()
        if problem.errno != errno.EADDRINUSE:
            text = f"{url}: cannot lock out other programs: {problem.strerror}."
            raise TransportError(text, field="claim", value=problem.errno) from None
        pid, who = _holder(place)
        raise TransportError(
            f"{url}: in use by {who}. A device accepts one host: end that program first, or use its ROS 2 topics.",
            field="holder",
            value=pid,
        ) from None
    return mark


def _holder(place: str) -> tuple[int, str]:
    """Return process ID (0 if it is not visible) and description of the holder of a connection."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(_NAME + place)
        except OSError:  # the backlog is full, or the connection was just released
            return 0, "another program"
        pid, _, _ = _CREDENTIALS.unpack(probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return pid, _program(pid)


def _program(pid: int) -> str:
    """Describe a process by its name."""
    if not pid:
        return "a program in another container"
    if pid == os.getpid():
        return f"this program ({pid})"
    try:
        return f"{Path(f'/proc/{pid}/comm').read_text(errors='replace').strip()} ({pid})"
    except OSError:
        return f"process {pid}"
