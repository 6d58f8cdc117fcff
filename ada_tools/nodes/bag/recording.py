# SPDX-License-Identifier: Apache-2.0
"""Write messages in a separate thread, so that a slow disk does not block their sources; imports no rclpy."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from ada_dynamics.simulation.record.mcap_writing import Topic, TopicWriter

PERIOD = 0.25  # [s] write period; at most this much is lost if the recorder is killed
CHUNK_BYTES = 2**19  # [byte] size that triggers an earlier write
MOST_WAITING = 64 * 2**20  # [byte] maximum memory of queued messages, above which messages are dropped
OBJECT = 250  # [byte] memory overhead per message


class _Message(NamedTuple):
    topic: Topic
    received: int
    published: int
    raw: bytes


class RecordingStatistics(NamedTuple):
    """Progress of a recording.

    Attributes:
        messages: number of messages in the file.
        size: file size [byte].
        waiting: memory of queued messages [byte].
        dropped: messages dropped because of a full queue or a failed file.
        failure: reason why the file ended early; None without a failure.
    """

    messages: int
    size: int
    waiting: int
    dropped: int
    failure: str | None


class Recording:
    """Accepts messages from any thread and writes them in chunks."""

    def __init__(
        self,
        writer: TopicWriter,
        *,
        period: float = PERIOD,
        most_waiting: int = MOST_WAITING,
        on_failure: Callable[[str], None] | None = None,
    ) -> None:
        """Start the writer thread.

        Args:
            writer: file writer, owned by this recording from now on.
            period: write period [s].
            most_waiting: maximum memory of queued messages [byte].
            on_failure: called once from the writer thread if the file ended early.
        """
        self.writer = writer
        self._period = period
        self._most_waiting = most_waiting
        self._on_failure = on_failure
        self._condition = threading.Condition()
        self._waiting: list[_Message] = []
        self._in_hand: list[_Message] = []  # being written
        self._bytes = 0
        self._dropped = 0
        self._written = 0
        self._failure: str | None = None
        self._is_ending = False
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)
        self._thread.start()

    def take(self, topic: Topic, received: int, published: int, raw: bytes) -> None:
        """Queue a message; see `TopicWriter.add`. Never blocks."""
        with self._condition:
            size = len(raw) + OBJECT
            if self._is_ending or self._failure or self._bytes + size > self._most_waiting:
                self._dropped += 1
                return
            self._waiting.append(_Message(topic, received, published, raw))
            self._bytes += size
            if self._bytes >= CHUNK_BYTES:
                self._condition.notify()

    @property
    def statistics(self) -> RecordingStatistics:
        """Progress of the recording."""
        with self._condition:
            return RecordingStatistics(self._written, self.writer.size, self._bytes, self._dropped, self._failure)

    def close(self) -> None:
        """Write all queued messages and finish the file."""
        with self._condition:
            self._is_ending = True
            self._condition.notify()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._write_next():
                pass
            self.writer.close()
        except Exception as problem:  # any failure must be reported
            failure = self.writer.failure or f"the recording {self.writer.path} failed: {problem!r}."
            with self._condition:
                self._failure = failure
                self._dropped += len(self._in_hand) + len(self._waiting)
                self._in_hand, self._waiting, self._bytes = [], [], 0
            if self._on_failure is not None:
                self._on_failure(failure)

    def _write_next(self) -> bool:
        """Wait for messages and write them; return True after the last ones."""
        with self._condition:
            self._condition.wait_for(lambda: self._is_ending or self._bytes >= CHUNK_BYTES, self._period)
            self._in_hand, self._waiting = self._waiting, []
            is_last = self._is_ending
        if self._in_hand:
            for message in self._in_hand:
                self.writer.add(*message)
            self.writer.flush()
            with self._condition:
                self._written += len(self._in_hand)
                self._bytes -= sum(len(message.raw) + OBJECT for message in self._in_hand)
                self._in_hand = []
        return is_last


class SequenceGaps:
    """Sequence numbers of one topic, with one or more publishers that count independently.

    The sender of a message is unknown: a number that continues a known sequence is assigned to it. Any other number
    starts the sequence of a new publisher or, if all publishers are known, indicates a gap. The count is therefore
    correct once a message of each publisher was received.

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
