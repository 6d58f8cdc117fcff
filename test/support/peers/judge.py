# SPDX-License-Identifier: Apache-2.0
"""Base of all judges of the messages to a device: broken rules, and when it may move."""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple


class Unsafe(NamedTuple):
    """One rule that was broken."""

    time: float
    rule: str
    text: str


class Judge:
    """Broken rules in order; all are counted, at most `most` are kept."""

    def __init__(self, stop_within: float, most: int = 50) -> None:
        """Allow so much time from a reason to stop until everything is at rest [s], and keep so many broken rules."""
        self.stop_within, self.most = stop_within, most
        self.unsafe: list[Unsafe] = []
        self.counts: Counter[str] = Counter()
        self._may_move, self._rest_by = False, math.inf

    def activated(self, now: float) -> None:
        """The robot was asked to follow commands from here on."""
        self._may_move, self._rest_by = True, math.inf

    def asked_to_stop(self, now: float, within: float | None = None) -> None:
        """It was asked to come to rest, or has a reason to: whatever it is, it must be at rest soon."""
        self._rest_by = min(self._rest_by, now + (self.stop_within if within is None else within))

    def broke(self, now: float, rule: str, text: str) -> None:
        self.counts[rule] += 1
        if len(self.unsafe) < self.most:
            self.unsafe.append(Unsafe(now, rule, text))

    def judge_motion(self, now: float) -> None:
        if not self._may_move:
            self.broke(now, "phase", "commanded to move without being activated")
        elif now > self._rest_by:
            late = now - self._rest_by
            self.broke(now, "phase", f"still commanded to move {late:.3g} s after it had to be at rest")
