# SPDX-License-Identifier: Apache-2.0
"""Counts messages of a topic that never came, by the numbers that publishers give them; no rclpy in here.

DDS tells what it could not bring, but not what it has overwritten in a subscriber's full queue.
"""

from __future__ import annotations


class Gaps:
    """Numbers of one topic, of one publisher or of several, each of which counts its own messages, one by one.

    Who has sent a message is not told, and need not be: a number that is the next one of a publisher is its. One that
    is nobody's next is the first one of a publisher that was not heard before; where all were, it has left a gap. So
    the count is right from when all were heard on.

    Attributes:
        lost: messages that are missing between others.
    """

    def __init__(self) -> None:
        """Begin without any publisher."""
        self.lost = 0
        self._publishers = 0
        self._last: list[int] = []

    def publishers(self, count: int) -> None:
        """Take note of how many there are."""
        self._publishers = max(self._publishers, count)

    def take(self, number: int) -> None:
        """Take note of a message."""
        if number - 1 in self._last:
            self._last[self._last.index(number - 1)] = number
            return
        before = [last for last in self._last if last < number]
        if not before or len(self._last) < self._publishers:
            self._last.append(number)
            return
        self.lost += number - max(before) - 1
        self._last[self._last.index(max(before))] = number
