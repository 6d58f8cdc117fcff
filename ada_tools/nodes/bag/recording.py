# SPDX-License-Identifier: Apache-2.0
"""Write messages in a separate thread, so that a slow disk does not block their sources; imports no rclpy."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ada_dynamics.simulation.record.mcap_writing import Topic, TopicWriter

PERIOD = 0.25  # [s] write period; at most this much is lost if the recorder is killed
CHUNK_BYTES = 2**19  # [byte] size that triggers an earlier write
MOST_WAITING = 64 * 2**20  # [byte] maximum memory of queued messages, above which messages are dropped
OBJECT = 250  # [byte] memory overhead per message


class Recording:
    """Accepts messages from any thread and writes them in chunks.

    Attributes:
        writer: file writer, owned by the recording.
        messages: number of messages in the file.
        waiting: memory of queued messages [byte].
        dropped: messages dropped because of a full queue or a failed file.
        failure: reason why the file ended early; None without a failure.
    """

    def __init__(
        self, writer: TopicWriter, *, period: float = PERIOD, on_failure: Callable[[str], None] | None = None
    ) -> None:
        """Start the writer thread.

        Args:
            writer: file writer.
            period: write period [s].
            on_failure: called once from the writer thread if the file ended early.
        """
        self.writer = writer
        self.messages = self.waiting = self.dropped = 0
        self.failure: str | None = None
        self._period, self._on_failure = period, on_failure
        self._condition = threading.Condition()
        self._queue: list[tuple[Topic, int, int, bytes]] = []
        self._is_ending = False
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)
        self._thread.start()

    def take(self, topic: Topic, received: int, published: int, raw: bytes) -> None:
        """Queue a message; see `TopicWriter.add`. Never blocks."""
        size = len(raw) + OBJECT
        with self._condition:
            if self._is_ending or self.failure or self.waiting + size > MOST_WAITING:
                self.dropped += 1
                return
            self._queue.append((topic, received, published, raw))
            self.waiting += size
            if self.waiting >= CHUNK_BYTES:
                self._condition.notify()

    def close(self) -> None:
        """Write all queued messages and finish the file."""
        with self._condition:
            self._is_ending = True
            self._condition.notify()
        self._thread.join()

    def _run(self) -> None:
        messages: list[tuple[Topic, int, int, bytes]] = []
        is_last = False
        try:
            while not is_last:
                with self._condition:
                    self._condition.wait_for(lambda: self._is_ending or self.waiting >= CHUNK_BYTES, self._period)
                    messages, self._queue, is_last = self._queue, [], self._is_ending
                for message in messages:
                    self.writer.add(*message)
                if messages:
                    self.writer.flush()
                with self._condition:
                    self.messages += len(messages)
                    self.waiting -= sum(len(raw) + OBJECT for *_, raw in messages)
                    messages = []
            self.writer.close()
        except Exception as problem:  # any failure must be reported
            with self._condition:
                self.failure = self.writer.failure or f"the recording {self.writer.path} failed: {problem!r}."
                self.dropped += len(messages) + len(self._queue)
                self._queue, self.waiting = [], 0
            if self._on_failure is not None:
                self._on_failure(self.failure)


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
