# SPDX-License-Identifier: Apache-2.0
"""Writes messages to an MCAP file that ROS 2 bags and viewers read.

Each chunk goes to the operating system as a whole: a killed process leaves a file that ends with a whole chunk. When a
chunk cannot be written, what there is of it is taken back and the file gets an end, so that it is a proper one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ada_dynamics._version import __version__
from ada_dynamics.errors import InputError, RecordingError
from ada_dynamics.simulation.record.mcap_chunks import Chunks
from ada_dynamics.simulation.record.mcap_records import ENCODING

RESERVE = 16 * 2**20  # [byte] of the disk that are left free: room for the end of the file, and for everybody else


class Topic(NamedTuple):
    """A topic as a recording has it.

    Attributes:
        name: fully qualified, such as /joint_states.
        kind: type of its messages, such as sensor_msgs/msg/JointState.
        definition: text of that type; empty where it is not known.
        offered_qos: see `offered_qos.to_text`.
        type_hash: of the type, as ROS 2 knows it; may be empty.
    """

    name: str
    kind: str
    definition: str = ""
    offered_qos: str = ""
    type_hash: str = ""


class TopicWriter:
    """A file that messages are added to, by one thread; topics are registered when they are first used.

    Example::

        with TopicWriter("run.mcap") as writer:
            writer.add(topic, received, published, raw)
            writer.flush()  # at least twice a second
    """

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = False, reserve: int = RESERVE) -> None:
        """Begin the file.

        Args:
            path: the file.
            overwrite: whether it may take the place of another one.
            reserve: of the disk that is left free [byte].

        Raises:
            InputError: there is such a file already, or the package mcap is missing.
            RecordingError: the file cannot be written.
        """
        self.path = Path(path)
        self.messages = 0
        self.is_open = True
        self.failure: str | None = None
        self._reserve = reserve
        self._ids: dict[tuple[str, str], int] = {}
        self._schemas: dict[tuple[str, str], int] = {}
        self._good = 0  # size of the file up to its last whole chunk
        self._chunks = Chunks(self.path.parent)
        beginning = self._chunks.beginning("ros2", f"ada_dynamics {__version__}")
        self._file = self._opened(overwrite)
        self._append([beginning], reserve)

    def _opened(self, overwrite: bool) -> BinaryIO:
        try:
            return self.path.open("wb" if overwrite else "xb", buffering=0)
        except FileExistsError:
            raise InputError(
                f"{self.path} exists already; give another path, or set overwrite to true to replace it."
            ) from None
        except OSError as problem:
            raise RecordingError(
                f"the recording {self.path} cannot be written: {problem.strerror or problem}."
            ) from None

    @property
    def size(self) -> int:
        """Of the file [byte]."""
        return self._good

    def add(self, topic: Topic, received: int, published: int, raw: bytes) -> None:
        """Add a message; `flush` writes it.

        Args:
            topic: that it came on.
            received: when it came [ns].
            published: when it was sent [ns].
            raw: its bytes.

        Raises:
            RecordingError: the file has failed before, or is closed.
        """
        self._require_open()
        channel = self._ids.get((topic.name, topic.kind))
        if channel is None:
            channel = self._begin(topic)
        self._chunks.message(channel, received, published, raw)
        self.messages += 1

    def metadata(self, name: str, texts: Mapping[str, str]) -> None:
        """Say something about the messages that follow. Args: its name; the texts by theirs."""
        self._require_open()
        self._chunks.text(name, texts)

    def _begin(self, topic: Topic) -> int:
        key = (topic.kind, topic.definition)
        if key not in self._schemas:
            encoding = ENCODING if topic.definition else ""
            self._schemas[key] = self._chunks.schema(topic.kind, encoding, topic.definition)
        about = {"offered_qos_profiles": topic.offered_qos, "topic_type_hash": topic.type_hash}
        metadata = {name: text for name, text in about.items() if text}
        channel = self._chunks.channel(topic.name, "cdr", self._schemas[key], metadata)
        self._ids[topic.name, topic.kind] = channel
        return channel

    def flush(self) -> None:
        """Write all that was added, as a chunk.

        Raises:
            RecordingError: it cannot be written; the file has its end behind the chunks before.
        """
        self._require_open()
        self._append(self._chunks.take(self._good), self._reserve + self._chunks.end_size)

    def close(self) -> None:
        """Write what is left, and the end of the file with its index."""
        if not self.is_open:
            return
        self.flush()
        self._append(self._chunks.end(self._good), 0)
        self._chunks.close()
        self._file.close()
        self.is_open = False

    def __enter__(self) -> TopicWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        elif self.is_open:
            with suppress(RecordingError):
                self.close()

    def _require_open(self) -> None:
        if not self.is_open:
            raise RecordingError(self.failure or f"the recording {self.path} is closed.")

    def _append(self, parts: Iterable[bytes], spare: int) -> None:
        """Write bytes behind what there is, all or none of them, and leave some of the disk free."""
        size = 0
        try:
            for part in parts:
                needed = len(part) + spare
                if shutil.disk_usage(self.path.parent).free < needed:
                    raise OSError(f"the disk has less than {needed / 2**20:.0f} MiB left")
                rest = memoryview(part)
                while len(rest):  # a disk that is nearly full takes a part
                    rest = rest[self._file.write(rest) or 0 :]
                size += len(part)
        except OSError as problem:
            self._end_early(problem)
        else:
            self._good += size

    def _end_early(self, problem: OSError) -> None:
        """Take back what there is of a chunk, and end the file behind the chunk before."""
        self.is_open = False
        self.failure = (
            f"the recording {self.path} cannot be written: {problem.strerror or problem}. What was written before "
            "stays readable."
        )
        with suppress(OSError):
            self._file.truncate(self._good)
            self._file.seek(self._good)
            if self._good:
                self._file.write(self._chunks.short_end())
        for file in (self._file, self._chunks):
            with suppress(OSError):
                file.close()
        raise RecordingError(self.failure) from None
