# SPDX-License-Identifier: Apache-2.0
"""Why stamped messages come late: the sender's clock is another one, or somebody was late.

A clock that is set otherwise makes each message as old as every other, for ever. A machine or a network that was busy
makes some of them old, or many at once that waited together: these are older the longer they waited. So it is the
clocks only where messages that come one after another are all late, for a while, and all by the same.
"""

from __future__ import annotations

import math

_FOR = 2.0  # [s] that all have been late, before the clocks are blamed
_LEAST = 3  # messages
CLOCKS = "Let sender and receiver share a clock (use_sim_time), or leave the stamp zero."


class Lateness:
    """Ages of messages that came, one after another."""

    def __init__(self) -> None:
        self._has_seen_in_time = False
        self._forget()

    def _forget(self) -> None:
        self._since, self._count = math.inf, 0
        self._least, self._greatest = math.inf, -math.inf

    def note(self, age: float, limit: float, now: float) -> None:
        """Take note of a message.

        Args:
            age: of it when it came, by its stamp [s].
            limit: that it is allowed [s].
            now: when it came, on the clock of the receiver [s].
        """
        if age <= limit:
            self._has_seen_in_time = True
            self._forget()
            return
        if now < self._since:  # the first one, or the clock was set back
            self._forget()
            self._since = now
        self._count += 1
        self._least, self._greatest = min(self._least, age), max(self._greatest, age)

    def advice(self, limit: float, now: float) -> str:
        """What to do about the last one, which was late. Arguments as of `note`."""
        lasted = now - self._since
        if self._count >= _LEAST and lasted >= _FOR and self._greatest - self._least <= limit:
            return f"All have been as old for {lasted:.3g} s, so the two clocks differ. {CLOCKS}"
        busy = "the sender, this machine or the network between them was busy"
        if self._has_seen_in_time:
            return f"Others came in time, so the clocks agree: {busy}."
        return f"If that is so of all, the two clocks differ. {CLOCKS} If it is not, {busy}."
