# SPDX-License-Identifier: Apache-2.0
"""Times on the steady clock, which devices are read by, as stamps of messages; no ROS."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from ada_dynamics.simulation.record.cdr import NANOSECONDS

_AT_ONCE = 5e-5  # [s] within which two clocks are read, unless the thread was held up in between
_TRIES = 3


class Stamps:
    """Tells by a node's clock when something was; one for each thread.

    The clocks are read one after the other. Where the thread is held up in between, for milliseconds on a busy machine,
    they would seem to have moved against each other, and a reading to be older than the one before it; then what was
    found before holds.
    """

    def __init__(self, clock: Any, steady: Callable[[], float] = time.monotonic) -> None:
        """Begin.

        Args:
            clock: of the node.
            steady: the clock that times are given by [s].
        """
        self._clock, self._steady = clock, steady
        self._ahead = 0  # of the node's clock [ns]
        self._within = math.inf  # [s] between the readings of the steady clock that this was found between

    def at(self, moment: float) -> int:
        """A time on the steady clock [s] as a stamp [ns]."""
        for _ in range(_TRIES):
            before = self._steady()
            now = int(self._clock.now().nanoseconds)
            after = self._steady()
            within = after - before
            if within <= max(_AT_ONCE, self._within):
                self._ahead = now - round(0.5 * (before + after) * NANOSECONDS)
                self._within = within
            if within <= _AT_ONCE:
                break
        return round(moment * NANOSECONDS) + self._ahead
