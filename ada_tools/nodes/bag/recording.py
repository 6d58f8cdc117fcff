# SPDX-License-Identifier: Apache-2.0
"""Writes messages in a thread of its own, so that a slow disk does not block their sources; no rclpy in here."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from ada_dynamics.simulation.record.mcap_writing import Topic, TopicWriter

PERIOD = 0.25  # [s] after which what came is written: what a killed recorder loses
CHUNK_BYTES = 2**19  # or after so many
MOST_WAITING = 64 * 2**20  # [byte] of memory that wait for the disk before messages are dropped
OBJECT = 250  # [byte] of memory that a message takes beside its own


class _Message(NamedTuple):
    topic: Topic
    received: int
    published: int
    raw: bytes


class RecordingStatistics(NamedTuple):
    """How far a recording is.

    Attributes:
        messages: in the file.
        size: of the file [byte].
        waiting: for the disk [byte of memory].
        dropped: messages that came while too many waited, or after the file failed.
        failure: why the file has ended early; None while all is well.
    """

    messages: int
    size: int
    waiting: int
    dropped: int
    failure: str | None


class Recording:
    """Takes messages from any thread, and writes them twice a second or sooner."""

    def __init__(
        self,
        writer: TopicWriter,
        *,
        period: float = PERIOD,
        most_waiting: int = MOST_WAITING,
        on_failure: Callable[[str], None] | None = None,
    ) -> None:
        """Begin.

        Args:
            writer: this recording's alone from now on.
            period: after which what came is written [s].
            most_waiting: bytes of memory that may wait for the disk.
            on_failure: called once, by the recording's thread, when the file has ended early.
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
        """Take a message; see `TopicWriter.add`. It never waits."""
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
        """How far it is."""
        with self._condition:
            return RecordingStatistics(self._written, self.writer.size, self._bytes, self._dropped, self._failure)

    def close(self) -> None:
        """Write what waits, and end the file; returns when that is done."""
        with self._condition:
            self._is_ending = True
            self._condition.notify()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._write_next():
                pass
            self.writer.close()
        except Exception as problem:  # of any kind: the end of the recording must be visible
            failure = self.writer.failure or f"the recording {self.writer.path} has ended: {problem!r}."
            with self._condition:
                self._failure = failure
                self._dropped += len(self._in_hand) + len(self._waiting)
                self._in_hand, self._waiting, self._bytes = [], [], 0
            if self._on_failure is not None:
                self._on_failure(failure)

    def _write_next(self) -> bool:
        """Wait for messages and write them; whether those were the last ones."""
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
