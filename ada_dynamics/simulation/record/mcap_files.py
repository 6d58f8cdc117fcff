# SPDX-License-Identifier: Apache-2.0
"""MCAP files with ROS 2 messages: their records, parsed in blocks for speed, and a writer for bags and viewers.

Each chunk is passed to the operating system as a whole: the file of a killed process ends with a complete chunk. If a
chunk cannot be written, it is removed and the file is ended after the previous chunk.

The index has an entry of 80 bytes per chunk, plus 10 bytes per topic in it, which is written at the end: tens of
megabytes per day. It is stored in a temporary file, so that the memory of a recording does not grow; the writer of the
package mcap keeps it as objects, 0.6 kB per chunk and 65 bytes per topic in it.
"""

from __future__ import annotations

import io
import os
import shutil
import struct
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, NamedTuple

from ada_dynamics._version import __version__
from ada_dynamics.errors import AdaError, InputError, RecordingError
from ada_dynamics.resources import how_to_install

MCAP_MAGIC = b"\x89MCAP0\r\n"
ENCODING = "ros2msg"  # encoding of type definitions
SCHEMA, CHANNEL, MESSAGE, CHUNK, METADATA, DATA_END = 0x03, 0x04, 0x05, 0x06, 0x0C, 0x0F  # opcodes
RECORD_HEADER = struct.Struct("<BQ")  # opcode and length, before each record
MOST_IN_CHUNK = 128 * 1024 * 1024  # [byte], maximum size of a chunk; usual chunks have some MB, or one large message
PRIVATE = 0x80  # first opcode for private use
MESSAGE_HEADER = struct.Struct("<HIQQ")  # channel, sequence, time of log, time of publication
RESERVE = 16 * 2**20  # [byte], free space on the disk for the end of the file and for other programs
INDEX_IN_MEMORY = 2**16  # [byte], maximum size of the index in memory
PART = 2**20  # [byte] of the index that are copied together
_MESSAGE_INDEX = 0x07  # opcode
_CHANNEL = struct.Struct("<HI")  # channel, size of its entries
_PLACE = struct.Struct("<QQ")  # time and offset of a message


class TopicMessage(NamedTuple):
    """A message of a topic; `at` is the time at which it was recorded [ns]."""

    topic: str
    at: int
    raw: bytes


def chunk_data(chunk: Any) -> bytes:
    """Return the decompressed records of a chunk after a check of their size and CRC.

    Raises:
        ValueError: size or CRC are wrong, or the size exceeds the limit.
    """
    size: int = chunk.uncompressed_size
    if size > MOST_IN_CHUNK:
        raise ValueError(f"a chunk declares {size} bytes; the limit is {MOST_IN_CHUNK}")
    data = _decompressed(chunk.compression, chunk.data, size + 1)
    if len(data) != size:
        raise ValueError(f"a chunk has {len(data) if len(data) < size else 'more'} bytes; it declares {size}")
    if chunk.uncompressed_crc and zlib.crc32(data) != chunk.uncompressed_crc:
        raise ValueError("the CRC of a chunk is wrong")
    return data


def _decompressed(compression: str, data: bytes, most: int) -> bytes:
    """Decompress at most `most` bytes; the functions of the packages trust the size in the data."""
    if compression == "zstd":
        stream = mcap_module("zstandard").ZstdDecompressor().stream_reader(data)
        return bytes(stream.read(most))
    if compression == "lz4":
        return bytes(mcap_module("lz4.frame").LZ4FrameDecompressor().decompress(data, max_length=most))
    if compression:
        raise ValueError(f"the compression {compression[:20]!r} is not supported; zstd and lz4 are")
    return data


def read_topics(
    file: BinaryIO,
    topics: Collection[str],
    take_metadata: Callable[[str, Mapping[str, str]], None],
    take_messages: Callable[[Sequence[TopicMessage]], None],
) -> str:
    """Pass the metadata and the messages of some topics, chunk by chunk, to functions; all other records are skipped.

    Args:
        file: file that is open for reading, after its magic bytes.
        topics: names of the topics.
        take_metadata: callback with name and texts.
        take_messages: callback with the messages of a chunk.

    Returns:
        Reason for which the file ends early; "" for a complete file.
    """
    channels: dict[int, str] = {}

    def messages_in(data: bytes) -> Iterator[TopicMessage]:
        for opcode, begin, end in records_in(data):
            if opcode == CHANNEL:
                channel = parsed("Channel", data[begin:end])
                channels[channel.id] = channel.topic
            elif opcode == MESSAGE:
                number, _, at, _ = MESSAGE_HEADER.unpack_from(data, begin)
                topic = channels.get(number, "")
                if topic in topics:
                    yield TopicMessage(topic, at, data[begin + MESSAGE_HEADER.size : end])

    end = os.fstat(file.fileno()).st_size
    while True:
        offset, header = file.tell(), file.read(RECORD_HEADER.size)
        opcode, length = RECORD_HEADER.unpack(header) if len(header) == RECORD_HEADER.size else (MESSAGE, end)
        if opcode == DATA_END:
            return ""  # the index follows
        if offset + len(header) + length > end:  # before memory is allocated
            return "it has no end: its recorder was killed, or the disk was full"
        data = file.read(length)
        try:
            if opcode == CHUNK:
                take_messages(list(messages_in(chunk_data(parsed("Chunk", data)))))
            elif opcode == METADATA:
                record = parsed("Metadata", data)
                take_metadata(record.name, record.metadata)
            elif not 0 < opcode < DATA_END and opcode < PRIVATE:
                raise ValueError(f"a record with the unknown opcode {opcode}")
        except (OSError, AdaError, MemoryError):  # not caused by damage
            raise
        except Exception as damage:  # decompression, CRC, lengths and others
            return f"it is damaged from byte {offset} on: {type(damage).__name__}: {str(damage)[:120]}"


def records_in(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Return opcode, begin and end of each record.

    Raises:
        ValueError: the last record is truncated.
    """
    at = 0
    while at < len(data):
        if at + RECORD_HEADER.size > len(data):
            raise ValueError("a record is truncated")
        opcode, length = RECORD_HEADER.unpack_from(data, at)
        at += RECORD_HEADER.size
        if at + length > len(data):
            raise ValueError(f"a record of {length} bytes is truncated")
        yield opcode, at, at + length
        at += length


def parsed(kind: str, data: bytes) -> Any:
    """Parse a record of the package mcap: "Schema", "Channel", "Chunk" or "Metadata"."""
    stream = mcap_module("mcap.data_stream").ReadDataStream(io.BytesIO(data))
    return getattr(mcap_module("mcap.records"), kind).read(stream)


def mcap_module(name: str) -> Any:
    """Import a module of the package mcap.

    Raises:
        InputError: the package is not installed.
    """
    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"recordings (.mcap) need the package mcap: {how_to_install('record')}") from None


# --- writing ----------------------------------------------------------------------------------------------------------
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
        self.is_open = True
        self.failure: str | None = None
        self._reserve = reserve
        self._size = 0  # of the file up to its last whole chunk
        self._compress = mcap_module("lz4.frame").compress
        self._schemas: dict[tuple[str, str], bytes] = {}  # records by type and definition
        self._channels: dict[tuple[str, str], tuple[int, bytes]] = {}  # numbers and records by topic and type
        self._counts: dict[int, int] = {}  # messages of each channel
        self._span: tuple[int, int] | None = None  # first and last time of all messages
        self._chunk_count = 0
        self._metadata: list[tuple[str, bytes]] = []  # records before the next chunk
        self._metadata_index: list[bytes] = []
        self._chunk = bytearray()
        self._chunk_span: tuple[int, int] | None = None
        self._places: dict[int, bytearray] = {}  # message index of the chunk by channel
        # before the file is created: the package mcap may be missing
        beginning = MCAP_MAGIC + _record("Header", profile="ros2", library=f"ada_dynamics {__version__}")
        folder = str(self.path.parent) if os.access(self.path.parent, os.W_OK) else None
        self._index = SpooledTemporaryFile(INDEX_IN_MEMORY, dir=folder)  # noqa: SIM115 (closed with the file)
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
        return self._size

    # --- additions ----------------------------------------------------------------------------------------------
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
        channel, _ = self._channels.get((topic.name, topic.kind)) or self._begin(topic)
        places = self._places.get(channel)
        if places is None:
            places = self._places[channel] = bytearray()
        places += _PLACE.pack(received, len(self._chunk))
        header = MESSAGE_HEADER.pack(channel, 0, received, published)
        self._chunk += RECORD_HEADER.pack(MESSAGE, len(header) + len(raw)) + header
        self._chunk += raw
        self._counts[channel] = self._counts.get(channel, 0) + 1
        self._chunk_span = _widened(self._chunk_span, (received, received))

    def _begin(self, topic: Topic) -> tuple[int, bytes]:
        """Add a topic, and its type if it is new; return number and record of the channel."""
        key = (topic.kind, topic.definition)
        if key not in self._schemas:
            encoding = ENCODING if topic.definition else ""
            self._schemas[key] = _record(
                "Schema", id=len(self._schemas) + 1, name=topic.kind, encoding=encoding, data=topic.definition.encode()
            )
            self._chunk += self._schemas[key]
        number = len(self._channels) + 1
        about = {"offered_qos_profiles": topic.offered_qos, "topic_type_hash": topic.type_hash}
        record = _record(
            "Channel",
            id=number,
            topic=topic.name,
            message_encoding="cdr",
            schema_id=list(self._schemas).index(key) + 1,
            metadata={name: text for name, text in about.items() if text},
        )
        self._channels[topic.name, topic.kind] = number, record
        self._chunk += record
        return number, record

    def metadata(self, name: str, texts: Mapping[str, str]) -> None:
        """Add metadata about the messages that follow.

        Args:
            name: name of the metadata.
            texts: texts by key.
        """
        self._require_open()
        self._metadata.append((name, _record("Metadata", name=name, metadata=dict(texts))))

    # --- output -------------------------------------------------------------------------------------------------
    def flush(self) -> None:
        """Write all additions as a chunk.

        Raises:
            RecordingError: the chunk cannot be written; the file is ended after the previous chunk.
        """
        self._require_open()
        records = (*self._schemas.values(), *(record for _, record in self._channels.values()), *self._metadata_index)
        size_of_end = self._index.tell() + sum(map(len, records)) + 1000
        self._append(self._ended_additions(), self._reserve + size_of_end)

    def _ended_additions(self) -> Iterator[bytes]:
        """Return the metadata and the chunk for the present end of the file."""
        found = bytearray()
        for name, record in self._metadata:
            place = {"offset": self._size + len(found), "length": len(record)}
            self._metadata_index.append(_record("MetadataIndex", **place, name=name))
            found += record
        self._metadata = []
        if self._chunk_span is not None:
            found += self._ended_chunk(self._chunk_span, self._size + len(found))
            self._chunk, self._chunk_span, self._places = bytearray(), None, {}
        yield bytes(found)

    def _ended_chunk(self, span: tuple[int, int], at: int) -> bytes:
        """Return the chunk with its message index, and add it to the index of chunks."""
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
        self._span, self._chunk_count = _widened(self._span, span), self._chunk_count + 1
        return chunk + places

    def close(self) -> None:
        """Write the remaining additions, and the end of the file with its index."""
        if not self.is_open:
            return
        self.flush()
        self._append(self._end(), 0)
        self._index.close()
        self._file.close()
        self.is_open = False

    def _end(self) -> Iterator[bytes]:
        """Return the end of the file, after all chunks."""
        first = _record("DataEnd", data_section_crc=0)
        yield first
        begin, crc, offsets = self._size + len(first), 0, b""
        place = begin
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
            chunk_count=self._chunk_count,
            message_count=sum(self._counts.values()),
            message_end_time=last,
            message_start_time=first,
            metadata_count=len(self._metadata_index),
            schema_count=len(self._schemas),
        )
        yield opcode.SCHEMA, self._schemas.values()
        yield opcode.CHANNEL, [record for _, record in self._channels.values()]
        yield opcode.STATISTICS, [statistics]
        self._index.seek(0)
        yield opcode.CHUNK_INDEX, iter(lambda: self._index.read(PART), b"")
        yield opcode.METADATA_INDEX, self._metadata_index

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
            self._size += size

    def _end_early(self, problem: OSError) -> None:
        """Remove an incomplete chunk, and end the file without an index after the previous chunk."""
        self.is_open = False
        self.failure = (
            f"the recording {self.path} cannot be written: {problem.strerror or problem}. The part that was written "
            "before is readable."
        )
        with suppress(OSError):
            self._file.truncate(self._size)
            self._file.seek(self._size)
            if self._size:
                footer = _record("Footer", summary_start=0, summary_offset_start=0, summary_crc=0)
                self._file.write(_record("DataEnd", data_section_crc=0) + footer + MCAP_MAGIC)
        for file in (self._file, self._index):
            with suppress(OSError):
                file.close()
        raise RecordingError(self.failure) from None

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


def _record(kind: str, **fields: Any) -> bytes:
    """Return a record of the package mcap by its name."""
    builder = mcap_module("mcap.data_stream").RecordBuilder()
    getattr(mcap_module("mcap.records"), kind)(**fields).write(builder)
    record: bytes = builder.end()
    return record


def _widened(span: tuple[int, int] | None, other: tuple[int, int]) -> tuple[int, int]:
    return other if span is None else (min(span[0], other[0]), max(span[1], other[1]))
