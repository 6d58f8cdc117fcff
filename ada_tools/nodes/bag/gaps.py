# SPDX-License-Identifier: Apache-2.0
"""Counts messages of a topic that never came, by the numbers that publishers give them; no rclpy in here.

DDS reports messages that it lost, but not those that it has overwritten in a subscriber's full queue.
"""

from __future__ import annotations


class Gaps:
    """Numbers of one topic, of one publisher or of several, each of which counts its own messages, one by one.

    The sender of a message is not known, and need not be: a number that is the next one of a publisher belongs to it.
    Any other is the first one of a new publisher; where all are known, it has left a gap. So the count is right once
    all publishers were heard.

    Attributes:
        lost: messages that are missing between others.
    """

    def __init__(self) -> None:
        """Begin without any publisher."""
        self.lost = 0
        self._publishers = 0
        self._last: list[int] = []

    def publishers(self, count: int) -> None:
        """Set the number of publishers."""
        self._publishers = max(self._publishers, count)

    def take(self, number: int) -> None:
        """Count a message."""
        if number - 1 in self._last:
            self._last[self._last.index(number - 1)] = number
            return
        before = [last for last in self._last if last < number]
        if not before or len(self._last) < self._publishers:
            self._last.append(number)
            return
        self.lost += number - max(before) - 1
        self._last[self._last.index(max(before))] = number
