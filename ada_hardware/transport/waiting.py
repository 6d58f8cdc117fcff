# SPDX-License-Identifier: Apache-2.0
"""Waiting for file descriptors as exactly as the system's timers allow; `poll` and sockets round to milliseconds."""

from __future__ import annotations

import math
import select
from collections.abc import Sequence

_LARGEST = 1024  # from this descriptor on `select` takes none


def is_readable(descriptor: int, timeout: float) -> bool:
    """True if something can be read; waits up to `timeout` [s], not at all for 0 or less."""
    return bool(readable([descriptor], timeout))


def readable(descriptors: Sequence[int], timeout: float) -> set[int]:
    """Descriptors that are readable; waits up to `timeout` [s] for the first, not at all for 0 or less."""
    timeout = max(timeout, 0.0)
    if all(descriptor < _LARGEST for descriptor in descriptors):
        return set(select.select(descriptors, [], [], timeout)[0])
    return _polled(descriptors, select.POLLIN, timeout)


def is_writable(descriptor: int, timeout: float) -> bool:
    """True if something can be written; waits up to `timeout` [s], not at all for 0 or less."""
    timeout = max(timeout, 0.0)
    if descriptor < _LARGEST:
        return bool(select.select([], [descriptor], [], timeout)[1])
    return bool(_polled([descriptor], select.POLLOUT, timeout))


def _polled(descriptors: Sequence[int], event: int, timeout: float) -> set[int]:
    """The same for any descriptors, up to a millisecond later."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, event)
    return {descriptor for descriptor, _ in poll.poll(math.ceil(1e3 * timeout))}
