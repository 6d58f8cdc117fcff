# SPDX-License-Identifier: Apache-2.0
"""Writer of messages to MCAP files for ROS 2 bags and viewers, with the records of the package mcap.

Each chunk is passed to the operating system as a whole: the file of a killed process ends with a complete chunk. If a
chunk cannot be written, it is removed and the file is ended after the previous chunk.

The index has an entry of 80 bytes per chunk, plus 10 bytes per topic in it, which is written at the end: tens of
megabytes per day. It is stored in a temporary file, so that the memory of a recording does not grow; the writer of the
package mcap keeps it as objects, 0.6 kB per chunk and 65 bytes per topic in it.
"""

from __future__ import annotations

import os
import shutil
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, NamedTuple

from ada_dynamics._version import __version__
from ada_dynamics.errors import InputError, RecordingError
from ada_dynamics.simulation.record.mcap_records import (
    ENCODING,
    MCAP_MAGIC,
    MESSAGE,
    MESSAGE_HEADER,
    RECORD_HEADER,
    mcap_module,
)

RESERVE = 16 * 2**20  # [byte], free space on the disk for the end of the file and for other programs
INDEX_IN_MEMORY = 2**16  # [byte], maximum size of the index in memory
PART = 2**20  # [byte] of the index that are copied together
_MESSAGE_INDEX = 0x07
_CHANNEL = struct.Struct("<HI")  # channel, size of its entries
_PLACE = struct.Struct("<QQ")  # time and offset of a message


class Topic(NamedTuple):
    """A topic of a recording.

    Attributes:
        name: fully qualified name, such as /joint_states.
        kind: message type, such as sensor_msgs/msg/JointState.
        definition: text of the type definition; empty if unknown.
        offered_qos: QoS of the publishers, as in ROS 2 bags; may be empty.
        type_hash: ROS 2 hash of the type; may be empty.
    """

    name: str
    kind: str
    definition: str = ""
    offered_qos: str = ""
    type_hash: str = ""


class _Encoder:
    """Encoder of messages into chunks and their index."""

    def __init__(self, folder: Path) -> None:
        """Initialize the encoder.

        Args:
            folder: folder of the temporary index, on the disk of the recording.
        """
        self._compress = mcap_module("lz4.frame").compress
        self._schemas: dict[tuple[str, str], bytes] = {}  # records by type and definition
        self._channels: list[bytes] = []  # records
        self._numbers: dict[tuple[str, str], int] = {}  # of channels, by topic and type
        self._counts: dict[int, int] = {}  # messages of each channel
        self._span: tuple[int, int] | None = None  # first and last time of all messages
        self._count = 0  # of chunks
        self._metadata: list[tuple[str, bytes]] = []  # records before the next chunk
        self._metadata_index: list[bytes] = []
        self._chunk = bytearray()
        self._chunk_span: tuple[int, int] | None = None
        self._places: dict[int, bytearray] = {}  # message index of the chunk by channel
        place = str(folder) if os.access(folder, os.W_OK) else None
        self._index = SpooledTemporaryFile(INDEX_IN_MEMORY, dir=place)  # noqa: SIM115 (closed by `close`)

    @staticmethod
    def beginning() -> bytes:
        """Return the first bytes of a file."""
        return MCAP_MAGIC + _record("Header", profile="ros2", library=f"ada_dynamics {__version__}")

    @staticmethod
    def short_end() -> bytes:
        """Return the last bytes of a file without an index, whose topics readers find by a scan."""
        footer = _record("Footer", summary_start=0, summary_offset_start=0, summary_crc=0)
        return _record("DataEnd", data_section_crc=0) + footer + MCAP_MAGIC

    # --- additions ----------------------------------------------------------------------------------------------
    def _begin(self, topic: Topic) -> int:
        """Add a topic, and its type if it is new; return the number of the channel."""
        key = (topic.kind, topic.definition)
        if key not in self._schemas:
            encoding = ENCODING if topic.definition else ""
            self._schemas[key] = _record(
                "Schema", id=len(self._schemas) + 1, name=topic.kind, encoding=encoding, data=topic.definition.encode()
            )
            self._chunk += self._schemas[key]
        number = self._numbers[topic.name, topic.kind] = len(self._channels) + 1
        about = {"offered_qos_profiles": topic.offered_qos, "topic_type_hash": topic.type_hash}
        channel = _record(
            "Channel",
            id=number,
            topic=topic.name,
            message_encoding="cdr",
            schema_id=list(self._schemas).index(key) + 1,
            metadata={name: text for name, text in about.items() if text},
        )
        self._channels.append(channel)
        self._chunk += channel
        return number

    def message(self, topic: Topic, received: int, published: int, raw: bytes) -> None:
        """Add a message."""
        channel = self._numbers.get((topic.name, topic.kind)) or self._begin(topic)
        header = MESSAGE_HEADER.pack(channel, 0, received, published)
        place = _PLACE.pack(received, len(self._chunk))
        self._chunk += RECORD_HEADER.pack(MESSAGE, len(header) + len(raw)) + header
        self._chunk += raw
        places = self._places.get(channel)
        if places is None:
            places = self._places[channel] = bytearray()
        places += place
        self._counts[channel] = self._counts.get(channel, 0) + 1
        self._chunk_span = _widened(self._chunk_span, (received, received))

    def metadata(self, name: str, texts: Mapping[str, str]) -> None:
        """Add metadata before the next chunk."""
        self._metadata.append((name, _record("Metadata", name=name, metadata=dict(texts))))

    # --- output -------------------------------------------------------------------------------------------------
    @property
    def end_size(self) -> int:
        """Approximate size of the end of the file [byte]."""
        records = (*self._schemas.values(), *self._channels, *self._metadata_index)
        return self._index.tell() + sum(map(len, records)) + 1000

    def take(self, at: int) -> Iterator[bytes]:
        """Return the encoded additions for a position in the file."""
        found = bytearray()
        for name, record in self._metadata:
            self._metadata_index.append(_record("MetadataIndex", offset=at + len(found), length=len(record), name=name))
            found += record
        self._metadata = []
        if self._chunk_span is not None:
            found += self._ended(self._chunk_span, at + len(found))
            self._chunk, self._chunk_span, self._places = bytearray(), None, {}
        yield bytes(found)

    def _ended(self, span: tuple[int, int], at: int) -> bytes:
        """Return a chunk with its message index, and add it to the index of chunks."""
        data = self._compress(self._chunk)
        times = {"message_start_time": span[0], "message_end_time": span[1]}
        packed = {"compression": "lz4", "uncompressed_size": len(self._chunk)}
        chunk = _record("Chunk", data=data, uncompressed_crc=zlib.crc32(self._chunk), **times, **packed)
        offsets, places = {}, bytearray()
        for channel, own in self._places.items():
            offsets[channel] = at + len(chunk) + len(places)
            places += RECORD_HEADER.pack(_MESSAGE_INDEX, _CHANNEL.size + len(own))
            places += _CHANNEL.pack(channel, len(own)) + own
        place = {"chunk_start_offset": at, "chunk_length": len(chunk), "compressed_size": len(data)}
        inside = {"message_index_offsets": offsets, "message_index_length": len(places)}
        self._index.write(_record("ChunkIndex", **times, **packed, **place, **inside))
        self._span, self._count = _widened(self._span, span), self._count + 1
        return chunk + places

    def end(self, at: int) -> Iterator[bytes]:
        """Return the end of the file, after all chunks."""
        first = _record("DataEnd", data_section_crc=0)
        yield first
        begin, place, crc, offsets = at + len(first), at + len(first), 0, b""
        for opcode, parts in self._summary():
            size = 0
            for part in parts:
                size, crc = size + len(part), zlib.crc32(part, crc)
                yield part
            offsets += _record("SummaryOffset", group_opcode=opcode, group_start=place, group_length=size)
            place += size
        footer = {"summary_start": begin, "summary_offset_start": place}
        unsigned = _record("Footer", **footer, summary_crc=0)[: -len(struct.pack("<I", 0))]
        crc = zlib.crc32(unsigned, zlib.crc32(offsets, crc))
        yield offsets + _record("Footer", **footer, summary_crc=crc) + MCAP_MAGIC

    def _summary(self) -> Iterator[tuple[int, Iterable[bytes]]]:
        """Return the records of the summary by opcode."""
        opcode = mcap_module("mcap.opcode").Opcode
        first, last = self._span or (0, 0)
        statistics = _record(
            "Statistics",
            attachment_count=0,
            channel_count=len(self._channels),
            channel_message_counts=self._counts,
            chunk_count=self._count,
            message_count=sum(self._counts.values()),
            message_end_time=last,
            message_start_time=first,
            metadata_count=len(self._metadata_index),
            schema_count=len(self._schemas),
        )
        yield opcode.SCHEMA, self._schemas.values()
        yield opcode.CHANNEL, self._channels
        yield opcode.STATISTICS, [statistics]
        self._index.seek(0)
        yield opcode.CHUNK_INDEX, iter(lambda: self._index.read(PART), b"")
        yield opcode.METADATA_INDEX, self._metadata_index

    def close(self) -> None:
        """Delete the temporary index."""
        self._index.close()


def _record(kind: str, **fields: Any) -> bytes:
    """Return a record of the package mcap by its name."""
    builder = mcap_module("mcap.data_stream").RecordBuilder()
    getattr(mcap_module("mcap.records"), kind)(**fields).write(builder)
    record: bytes = builder.end()
    return record


def _widened(span: tuple[int, int] | None, other: tuple[int, int]) -> tuple[int, int]:
    return other if span is None else (min(span[0], other[0]), max(span[1], other[1]))


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
        self._good = 0  # size of the file up to its last whole chunk
        self._encoder = _Encoder(self.path.parent)
        beginning = self._encoder.beginning()  # before the file is created: the package mcap may be missing
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
        self._encoder.message(topic, received, published, raw)
        self.messages += 1

    def metadata(self, name: str, texts: Mapping[str, str]) -> None:
        """Add metadata about the messages that follow.

        Args:
            name: name of the metadata.
            texts: texts by key.
        """
        self._require_open()
        self._encoder.metadata(name, texts)

    def flush(self) -> None:
        """Write all additions as a chunk.

        Raises:
            RecordingError: the chunk cannot be written; the file is ended after the previous chunk.
        """
        self._require_open()
        self._append(self._encoder.take(self._good), self._reserve + self._encoder.end_size)

    def close(self) -> None:
        """Write the remaining additions, and the end of the file with its index."""
        if not self.is_open:
            return
        self.flush()
        self._append(self._encoder.end(self._good), 0)
        self._encoder.close()
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
                self._file.write(self._encoder.short_end())
        for file in (self._file, self._encoder):
            with suppress(OSError):
                file.close()
        raise RecordingError(self.failure) from None
