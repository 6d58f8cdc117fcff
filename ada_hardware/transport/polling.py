# SPDX-License-Identifier: Apache-2.0
"""Waiting for file descriptors with a resolution better than 1 ms, to which `poll` and sockets round."""

from __future__ import annotations

import math
import select
from collections.abc import Sequence

_LARGEST = 1024  # descriptors from this one on are not supported by `select`


def is_readable(descriptor: int, timeout: float) -> bool:
    """Return True if input is available; wait up to `timeout` [s], not at all for 0 or less."""
    return bool(readable([descriptor], timeout))


def readable(descriptors: Sequence[int], timeout: float) -> set[int]:
    """Return the readable descriptors; wait up to `timeout` [s] for the first, not at all for 0 or less."""
    timeout = max(timeout, 0.0)
    if all(descriptor < _LARGEST for descriptor in descriptors):
        return set(select.select(descriptors, [], [], timeout)[0])
    return _polled(descriptors, select.POLLIN, timeout)


def is_writable(descriptor: int, timeout: float) -> bool:
    """Return True if output is possible; wait up to `timeout` [s], not at all for 0 or less."""
    timeout = max(timeout, 0.0)
    if descriptor < _LARGEST:
        return bool(select.select([], [descriptor], [], timeout)[1])
    return bool(_polled([descriptor], select.POLLOUT, timeout))


def _polled(descriptors: Sequence[int], event: int, timeout: float) -> set[int]:
    """Same for any descriptors, with a resolution of 1 ms."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, event)
    return {descriptor for descriptor, _ in poll.poll(math.ceil(1e3 * timeout))}
