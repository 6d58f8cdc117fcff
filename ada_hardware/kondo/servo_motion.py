# SPDX-License-Identifier: Apache-2.0
"""An emulated servo: it turns to its target at constant speed, holds there, or is free."""

from __future__ import annotations


class ServoMotion:
    """One servo.

    Attributes:
        target: where it turns to, or holds [its own unit].
        is_free: whether it exerts no torque.
        is_dead: whether it does not move any more.
    """

    def __init__(self, position: float) -> None:
        """Hold a position."""
        self.target = position
        self.is_free = self.is_dead = False
        self._start, self._begin, self._end = position, 0.0, 0.0

    def at(self, now: float) -> float:
        """Where it is."""
        if now >= self._end:
            return self.target
        if now <= self._begin:
            return self._start
        return self._start + (self.target - self._start) * (now - self._begin) / (self._end - self._begin)

    def go(self, target: float, duration: float, now: float) -> None:
        """Turn to a target within a time [s]; a free servo follows again."""
        present = self.at(now)
        self.is_free = False
        if self.is_dead:
            self._stay(present, now)
            return
        self._start, self.target = present, target
        self._begin, self._end = now, now + max(duration, 0.0)

    def release(self, now: float) -> None:
        """Let go: it stays where it is, as nothing pulls at it here."""
        self._stay(self.at(now), now)
        self.is_free = True

    def set_failed(self, now: float, is_dead: bool) -> None:
        """Set or clear the failure: a failed servo does not move."""
        self._stay(self.at(now), now)
        self.is_dead = is_dead

    def is_moving(self, now: float) -> bool:
        """True if it has not arrived."""
        return now < self._end

    def _stay(self, position: float, now: float) -> None:
        self._start = self.target = position
        self._begin = self._end = now
