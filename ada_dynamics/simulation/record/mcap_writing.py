# SPDX-License-Identifier: Apache-2.0
"""Writer of messages to MCAP files for ROS 2 bags and viewers.

Each chunk is passed to the operating system as a whole: the file of a killed process ends with a complete chunk. If a
chunk cannot be written, it is removed and the file is ended after the previous chunk.
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

RESERVE = 16 * 2**20  # [byte], free space on the disk for the end of the file and for other programs


class Topic(NamedTuple):
    """A topic of a recording.

    Attributes:
        name: fully qualified name, such as /joint_states.
        kind: message type, such as sensor_msgs/msg/JointState.
        definition: text of the type definition; empty if unknown.
        offered_qos: see `offered_qos.to_text`.
        type_hash: ROS 2 hash of the type; may be empty.
    """

    name: str
    kind: str
    definition: str = ""
    offered_qos: str = ""
    type_hash: str = ""


class TopicWriter:
    """Writer of an MCAP file for one thread; topics are registered on first use.

    Example::

        with TopicWriter("run.mcap") as writer:
            writer.add(topic, received, published, raw)
            writer.flush()  # at least twice a second
    """

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = False, reserve: int = RESERVE) -> None:
        """Create the file.

        Args:
            path: the file.
            overwrite: whether an existing file is replaced.
            reserve: free space to leave on the disk [byte].

        Raises:
            InputError: the file exists, or the package mcap is not installed.
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
        """Size of the file [byte]."""
        return self._good

    def add(self, topic: Topic, received: int, published: int, raw: bytes) -> None:
        """Add a message, which `flush` writes.

        Args:
            topic: topic of the message.
            received: time of reception [ns].
            published: time of publication [ns].
            raw: bytes of the message.

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
        """Add metadata about the messages that follow.

        Args:
            name: name of the metadata.
            texts: texts by key.
        """
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
        """Write all additions as a chunk.

        Raises:
            RecordingError: the chunk cannot be written; the file is ended after the previous chunk.
        """
        self._require_open()
        self._append(self._chunks.take(self._good), self._reserve + self._chunks.end_size)

    def close(self) -> None:
        """Write the remaining additions, and the end of the file with its index."""
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
        """Append all bytes or none, and leave free space on the disk."""
        size = 0
        try:
            for part in parts:
                needed = len(part) + spare
                if shutil.disk_usage(self.path.parent).free < needed:
                    raise OSError(f"the disk has less than {needed / 2**20:.0f} MiB left")
                rest = memoryview(part)
                while len(rest):  # a nearly full disk accepts a part
                    rest = rest[self._file.write(rest) or 0 :]
                size += len(part)
        except OSError as problem:
            self._end_early(problem)
        else:
            self._good += size

    def _end_early(self, problem: OSError) -> None:
        """Remove an incomplete chunk, and end the file after the previous chunk."""
        self.is_open = False
        self.failure = (
            f"the recording {self.path} cannot be written: {problem.strerror or problem}. The part that was written "
            "before is readable."
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
