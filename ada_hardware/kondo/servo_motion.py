# SPDX-License-Identifier: Apache-2.0
"""Emulated servo: constant speed to its target, then hold; or free."""

from __future__ import annotations


class ServoMotion:
    """Motion of one emulated servo.

    Attributes:
        target: target position, in the unit of the board.
        is_free: the servo exerts no torque.
        is_dead: the servo has failed and does not move.
    """

    def __init__(self, position: float) -> None:
        self.target = position
        self.is_free = self.is_dead = False
        self._start, self._begin, self._end = position, 0.0, 0.0

    def at(self, now: float) -> float:
        """Return the position at a time [s]."""
        if now >= self._end:
            return self.target
        if now <= self._begin:
            return self._start
        return self._start + (self.target - self._start) * (now - self._begin) / (self._end - self._begin)

    def go(self, target: float, duration: float, now: float) -> None:
        """Move to a target within `duration` seconds; ends the free state."""
        present = self.at(now)
        self.is_free = False
        if self.is_dead:
            self._stay(present, now)
            return
        self._start, self.target = present, target
        self._begin, self._end = now, now + max(duration, 0.0)

    def release(self, now: float) -> None:
        """Free the servo; it keeps its position since no load is emulated."""
        self._stay(self.at(now), now)
        self.is_free = True

    def set_failed(self, now: float, is_dead: bool) -> None:
        """Set or clear the failure."""
        self._stay(self.at(now), now)
        self.is_dead = is_dead

    def is_moving(self, now: float) -> bool:
        """Return True before the target is reached."""
        return now < self._end

    def _stay(self, position: float, now: float) -> None:
        self._start = self.target = position
        self._begin = self._end = now
