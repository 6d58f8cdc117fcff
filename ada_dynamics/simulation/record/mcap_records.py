# SPDX-License-Identifier: Apache-2.0
"""Records of MCAP files, read one by one: many at once where the package mcap would make an object of each."""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, BinaryIO

from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.extras import how_to_install

MCAP_MAGIC = b"\x89MCAP0\r\n"
ENCODING = "ros2msg"  # of the definitions of types
SCHEMA, CHANNEL, MESSAGE, CHUNK, METADATA, DATA_END = 0x03, 0x04, 0x05, 0x06, 0x0C, 0x0F  # opcodes
RECORD_HEADER = struct.Struct("<BQ")  # opcode and length, before each record
MOST_IN_CHUNK = 128 * 1024 * 1024  # [byte] of a chunk; programs write up to some MB, or one large message
PRIVATE = 0x80  # opcodes from here on are for whoever wants some
MESSAGE_HEADER = struct.Struct("<HIQQ")  # channel, sequence, time of log, time of publication


class CutShortError(Exception):
    """The file ends within a record."""


class Whole:
    """A file that gives all bytes asked for, or says that it ends: half a record must not be read."""

    def __init__(self, file: BinaryIO) -> None:
        """Args: a file, open for reading."""
        self._file = file

    def read(self, size: int = -1) -> bytes:
        """All of them.

        Raises:
            CutShortError: there are fewer.
        """
        data = self._file.read(size)
        if len(data) < size:
            raise CutShortError("it ends within a record")
        return data


def chunk_data(chunk: Any) -> bytes:
    """The records in a chunk, decompressed, their number of bytes and check sum compared.

    Raises:
        ValueError: they are others, or too many.
    """
    size: int = chunk.uncompressed_size
    if size > MOST_IN_CHUNK:
        raise ValueError(f"a chunk says that it has {size} bytes; at most {MOST_IN_CHUNK} are read")
    data = _decompressed(chunk.compression, chunk.data, size + 1)
    if len(data) != size:
        raise ValueError(f"a chunk has {len(data) if len(data) < size else 'more'} bytes; it says {size}")
    if chunk.uncompressed_crc and zlib.crc32(data) != chunk.uncompressed_crc:
        raise ValueError("the check sum of a chunk is another")
    return data


def _decompressed(compression: str, data: bytes, most: int) -> bytes:
    """As many bytes as there are, at most some: the packages' own `decompress` believe what the data say."""
    if compression == "zstd":
        stream = mcap_module("zstandard").ZstdDecompressor().stream_reader(data)
        return bytes(stream.read(most))
    if compression == "lz4":
        return bytes(mcap_module("lz4.frame").LZ4FrameDecompressor().decompress(data, max_length=most))
    if compression:
        raise ValueError(f"the compression {compression[:20]!r} is not read; zstd and lz4 are")
    return data


def read_records(file: BinaryIO, take: Callable[[int, int, bytes], None]) -> str:
    """Hand over the records of a file, chunks as they are, as far as they are whole and `take` can use them.

    Args:
        file: open for reading, behind its magic bytes.
        take: gets opcode, offset and content of each.

    Returns:
        Why the file ends early; "" where it has its end.
    """
    whole, offset = Whole(file), file.tell()
    end = os.fstat(file.fileno()).st_size
    try:
        while True:
            offset = file.tell()
            opcode, length = RECORD_HEADER.unpack(whole.read(RECORD_HEADER.size))
            if opcode == DATA_END:
                return ""  # what follows is an index
            if not 0 < opcode < DATA_END and opcode < PRIVATE:
                raise ValueError(f"a record of the unknown kind {opcode}")
            if length > end - file.tell():
                raise CutShortError  # before memory is asked for
            take(opcode, offset, whole.read(length))
    except CutShortError:
        return "it has no end: its recorder was killed, or the disk was full"
    except (OSError, AdaError, MemoryError):  # the file is as it should be
        raise
    except Exception as damage:  # of any kind: decompression, check sums, lengths
        return f"it is damaged from byte {offset} on: {type(damage).__name__}: {str(damage)[:120]}"


def records_in(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Opcode, begin and end of each record.

    Raises:
        ValueError: the last record is longer than the data.
    """
    at = 0
    while at < len(data):
        if at + RECORD_HEADER.size > len(data):
            raise ValueError("a record ends too early")
        opcode, length = RECORD_HEADER.unpack_from(data, at)
        at += RECORD_HEADER.size
        if at + length > len(data):
            raise ValueError(f"a record of {length} bytes ends too early")
        yield opcode, at, at + length
        at += length


def parsed(kind: str, data: bytes) -> Any:
    """A record as the package mcap has it: "Schema", "Channel", "Chunk" or "Metadata"."""
    stream = mcap_module("mcap.data_stream").ReadDataStream(io.BytesIO(data))
    return getattr(mcap_module("mcap.records"), kind).read(stream)


def mcap_module(name: str) -> Any:
    """A module of the package mcap.

    Raises:
        InputError: the package is not installed.
    """
    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"recordings (.mcap) need the package mcap: {how_to_install('record')}") from None
