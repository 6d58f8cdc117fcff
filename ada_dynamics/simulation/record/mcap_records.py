# SPDX-License-Identifier: Apache-2.0
"""Records of MCAP files, parsed in blocks for speed, without an object per message."""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, BinaryIO, ClassVar, NamedTuple

from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.resources import how_to_install

MCAP_MAGIC = b"\x89MCAP0\r\n"
ENCODING = "ros2msg"  # encoding of type definitions
SCHEMA, CHANNEL, MESSAGE, CHUNK, METADATA, DATA_END = 0x03, 0x04, 0x05, 0x06, 0x0C, 0x0F  # opcodes
RECORD_HEADER = struct.Struct("<BQ")  # opcode and length, before each record
MOST_IN_CHUNK = 128 * 1024 * 1024  # [byte], maximum size of a chunk; usual chunks have some MB, or one large message
PRIVATE = 0x80  # first opcode for private use
MESSAGE_HEADER = struct.Struct("<HIQQ")  # channel, sequence, time of log, time of publication


class CutShortError(Exception):
    """The file ends within a record."""


class Whole:
    """A file that returns all requested bytes or raises an error."""

    def __init__(self, file: BinaryIO) -> None:
        """Initialize with a file that is open for reading."""
        self._file = file

    def read(self, size: int = -1) -> bytes:
        """Read bytes.

        Raises:
            CutShortError: the file has fewer bytes.
        """
        data = self._file.read(size)
        if len(data) < size:
            raise CutShortError("it ends within a record")
        return data


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


def read_records(file: BinaryIO, take: Callable[[int, int, bytes], None]) -> str:
    """Pass the complete records of a file to `take`, with chunks as one record.

    Args:
        file: file that is open for reading, after its magic bytes.
        take: callback with opcode, offset and content of a record.

    Returns:
        Reason for which the file ends early; "" for a complete file.
    """
    whole, offset = Whole(file), file.tell()
    end = os.fstat(file.fileno()).st_size
    try:
        while True:
            offset = file.tell()
            opcode, length = RECORD_HEADER.unpack(whole.read(RECORD_HEADER.size))
            if opcode == DATA_END:
                return ""  # the index follows
            if not 0 < opcode < DATA_END and opcode < PRIVATE:
                raise ValueError(f"a record with the unknown opcode {opcode}")
            if length > end - file.tell():
                raise CutShortError  # before memory is allocated
            take(opcode, offset, whole.read(length))
    except CutShortError:
        return "it has no end: its recorder was killed, or the disk was full"
    except (OSError, AdaError, MemoryError):  # not caused by damage
        raise
    except Exception as damage:  # decompression, CRC, lengths and others
        return f"it is damaged from byte {offset} on: {type(damage).__name__}: {str(damage)[:120]}"


class TopicReader:
    """Base of readers that need the metadata and the messages of some topics; all other records are skipped.

    Attributes:
        topics: names of these topics.
    """

    topics: ClassVar[tuple[str, ...]]

    def __init__(self) -> None:
        """Initialize without channels."""
        self._channels: dict[int, str] = {}

    def take(self, opcode: int, _offset: int, data: bytes) -> None:
        """Process one record, see `read_records`."""
        if opcode == CHUNK:
            self.take_messages(list(self._messages(chunk_data(parsed("Chunk", data)))))
        elif opcode == METADATA:
            record = parsed("Metadata", data)
            self.take_metadata(record.name, record.metadata)

    def take_metadata(self, name: str, texts: Mapping[str, str]) -> None:
        """Process metadata."""
        raise NotImplementedError

    def take_messages(self, messages: Sequence[TopicMessage]) -> None:
        """Process the messages of a chunk."""
        raise NotImplementedError

    def _messages(self, data: bytes) -> Iterator[TopicMessage]:
        for opcode, begin, end in records_in(data):
            if opcode == CHANNEL:
                channel = parsed("Channel", data[begin:end])
                self._channels[channel.id] = channel.topic
            elif opcode == MESSAGE:
                number, _, at, _ = MESSAGE_HEADER.unpack_from(data, begin)
                topic = self._channels.get(number)
                if topic in self.topics:
                    yield TopicMessage(topic, at, data[begin + MESSAGE_HEADER.size : end])


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
