# SPDX-License-Identifier: Apache-2.0
"""Count of messages lost before reception, from the sequence numbers of publishers; imports no rclpy.

DDS reports lost messages, but not those overwritten in a full subscriber queue.
"""

from __future__ import annotations


class Gaps:
    """Sequence numbers of one topic, with one or more publishers that count independently.

    The sender of a message is unknown: a number that continues a known sequence is assigned to it. Any other number
    starts
    the sequence of a new publisher or, if all publishers are known, indicates a gap. The count is therefore correct
    once a
    message of each publisher was received.

    Attributes:
        lost: number of missing messages.
    """

    def __init__(self) -> None:
        """Start without publishers."""
        self.lost = 0
        self._publishers = 0
        self._last: list[int] = []

    def publishers(self, count: int) -> None:
        """Update the number of publishers."""
        self._publishers = max(self._publishers, count)

    def take(self, number: int) -> None:
        """Process the sequence number of a message."""
        if number - 1 in self._last:
            self._last[self._last.index(number - 1)] = number
            return
        before = [last for last in self._last if last < number]
        if not before or len(self._last) < self._publishers:
            self._last.append(number)
            return
        self.lost += number - max(before) - 1
        self._last[self._last.index(max(before))] = number
