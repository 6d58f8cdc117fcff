# SPDX-License-Identifier: Apache-2.0
"""MCAP files with ROS 2 messages: their records, parsed in blocks for speed, and a writer for viewers.

Each chunk is passed to the operating system as a whole: the file of a killed process ends with a complete chunk. If a
chunk cannot be written, it is removed and the file is ended after the previous chunk.

The package mcap keeps the index in memory until the end: about 1 kB per chunk, or 170 MB in a day of recording.
"""

from __future__ import annotations

import io
import os
import shutil
import struct
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

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
# quality of service for rosbag2: the last message, reliable, transient local; without deadline, lifespan and lease
_UNLIMITED = "{sec: 9223372036, nsec: 854775807}"
_LATCHED = f"""[{{history: 1, depth: 1, reliability: 1, durability: 1, deadline: {_UNLIMITED}, lifespan: {_UNLIMITED},
  liveliness: 1, liveliness_lease_duration: {_UNLIMITED}, avoid_ros_namespace_conventions: false}}]"""


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
        is_latched: whether `ros2 bag play` publishes it for subscribers that start later, too.
    """

    name: str
    kind: str
    definition: str = ""
    is_latched: bool = False


class _Output(io.BytesIO):
    """Output of the writer of the package mcap, which `TopicWriter.flush` writes to the file as a whole."""

    size = 0  # of the file [byte]

    def tell(self) -> int:
        """Position in the file."""
        return self.size + super().tell()


class TopicWriter:
    """Writer of an MCAP file for one thread, which replaces an existing file; topics are registered on first use.

    Example::

        with TopicWriter("run.mcap") as writer:
            writer.add(topic, at, raw)
            writer.flush()  # at least twice a second
    """

    def __init__(self, path: str | os.PathLike[str], *, reserve: int = RESERVE) -> None:
        """Create the file.

        Args:
            path: the file.
            reserve: free space to leave on the disk [byte].

        Raises:
            InputError: the package mcap is not installed.
            RecordingError: the file cannot be written.
        """
        self.path = Path(path)
        self.is_open = True
        self.failure: str | None = None
        self._reserve = reserve
        self._output = _Output()
        self._schemas: dict[tuple[str, str], int] = {}  # by type and definition
        self._channels: dict[tuple[str, str], int] = {}  # by topic and type
        package = mcap_module("mcap.writer")  # before the file is created
        compression = package.CompressionType.LZ4
        self._writer = package.Writer(self._output, chunk_size=MOST_IN_CHUNK, compression=compression)
        try:
            self._file = self.path.open("wb", buffering=0)
        except OSError as problem:
            raise RecordingError(
                f"the recording {self.path} cannot be written: {problem.strerror or problem}."
            ) from None
        self._writer.start("ros2", f"ada_dynamics {__version__}")
        self._write(reserve)

    # --- additions ----------------------------------------------------------------------------------------------
    def add(self, topic: Topic, at: int, raw: bytes) -> None:
        """Add a message, which `flush` writes.

        Args:
            topic: topic of the message.
            at: time of the message [ns].
            raw: bytes of the message.

        Raises:
            InputError: the file is closed.
            RecordingError: the file has failed before.
        """
        self._require_open()
        channel = self._channels.get((topic.name, topic.kind)) or self._begin(topic)
        self._writer.add_message(channel, at, raw, at)

    def _begin(self, topic: Topic) -> int:
        """Add a topic, and its type if it is new; return the number of the channel."""
        key = (topic.kind, topic.definition)
        if key not in self._schemas:
            encoding = ENCODING if topic.definition else ""
            self._schemas[key] = self._writer.register_schema(topic.kind, encoding, topic.definition.encode())
        about = {"offered_qos_profiles": _LATCHED} if topic.is_latched else {}
        channel = int(self._writer.register_channel(topic.name, "cdr", self._schemas[key], about))
        self._channels[topic.name, topic.kind] = channel
        return channel

    def metadata(self, name: str, texts: Mapping[str, str]) -> None:
        """Add metadata about the messages that follow.

        Args:
            name: name of the metadata.
            texts: texts by key.
        """
        self._require_open()
        self._writer.add_metadata(name, dict(texts))

    # --- output -------------------------------------------------------------------------------------------------
    def flush(self) -> None:
        """Write all additions as a chunk.

        Raises:
            RecordingError: the chunk cannot be written; the file is ended after the previous chunk.
        """
        self._require_open()
        self._writer.flush()
        self._write(self._reserve)

    def close(self) -> None:
        """Write the remaining additions, and the end of the file with its index."""
        if not self.is_open:
            return
        self.flush()
        self._writer.finish()
        self._write(0)
        self._file.close()
        self.is_open = False

    def _write(self, spare: int) -> None:
        """Write all pending bytes or none, and leave free space on the disk."""
        output, rest = self._output, memoryview(self._output.getvalue())
        try:
            needed = len(rest) + spare
            if shutil.disk_usage(self.path.parent).free < needed:
                raise OSError(f"the disk has less than {needed / 2**20:.0f} MiB left")
            while len(rest):  # a nearly full disk accepts a part
                rest = rest[self._file.write(rest) or 0 :]
        except OSError as problem:
            self._end_early(problem)
        output.size = output.tell()
        output.seek(0)
        output.truncate()

    def _end_early(self, problem: OSError) -> NoReturn:
        """Remove an incomplete chunk, and end the file without an index after the previous chunk."""
        self.is_open = False
        self.failure = (
            f"the recording {self.path} cannot be written: {problem.strerror or problem}. The part that was written "
            "before is readable."
        )
        size, records = self._output.size, mcap_module("mcap.records")
        end = mcap_module("mcap.data_stream").RecordBuilder()
        records.DataEnd(data_section_crc=0).write(end)
        records.Footer(summary_start=0, summary_offset_start=0, summary_crc=0).write(end)
        with suppress(OSError):
            self._file.truncate(size)
            self._file.seek(size)
            if size:
                self._file.write(end.end() + MCAP_MAGIC)
        with suppress(OSError):
            self._file.close()
        raise RecordingError(self.failure) from None

    def __enter__(self) -> TopicWriter:
        return self

    def __exit__(self, kind: object, problem: BaseException | None, _: object) -> None:
        if problem is None:
            self.close()
        elif self.is_open:
            with suppress(RecordingError):
                self.close()

    def _require_open(self) -> None:
        if self.failure is not None:
            raise RecordingError(self.failure)
        if not self.is_open:
            raise InputError(f"the recording {self.path} is closed.")
