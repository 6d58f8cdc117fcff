# SPDX-License-Identifier: Apache-2.0
"""Bytes of an MCAP file: chunks of messages and their index.

The index has an entry of 80 bytes per chunk, plus 10 bytes per topic in it, which is written at the end: tens of
megabytes per day. It is stored in a temporary file, so that the memory of a recording does not grow; the writer of the
package mcap keeps it as objects, 0.6 kB per chunk and 65 bytes per topic in it, and cannot end a chunk on request.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any

from ada_dynamics.simulation.record.mcap_records import MCAP_MAGIC, MESSAGE, MESSAGE_HEADER, RECORD_HEADER, mcap_module

INDEX_IN_MEMORY = 2**16  # [byte], maximum size of the index in memory
PART = 2**20  # [byte] of the index that are copied together
_MESSAGE_INDEX = 0x07
_CHANNEL = struct.Struct("<HI")  # channel, size of its entries
_PLACE = struct.Struct("<QQ")  # time and offset of a message


class Chunks:
    """Encoder of messages into chunks and their index."""

    def __init__(self, folder: Path) -> None:
        """Initialize the encoder.

        Args:
            folder: folder of the temporary index, on the disk of the recording.
        """
        self._compress = mcap_module("lz4.frame").compress
        self._schemas: list[bytes] = []
        self._channels: list[bytes] = []
        self._counts: dict[int, int] = {}  # messages of each channel
        self._span: tuple[int, int] | None = None  # first and last time of all
        self._count = 0  # of chunks
        self._texts: list[tuple[str, bytes]] = []  # that are to lie before the next chunk
        self._said: list[bytes] = []  # where those before lie
        self._chunk = bytearray()
        self._chunk_span: tuple[int, int] | None = None
        self._places: dict[int, bytearray] = {}  # of the messages in it, for each channel
        place = str(folder) if os.access(folder, os.W_OK) else None
        self._index = SpooledTemporaryFile(INDEX_IN_MEMORY, dir=place)  # noqa: SIM115 (closed by `close`)

    @staticmethod
    def beginning(profile: str, library: str) -> bytes:
        """Return the first bytes of a file."""
        return MCAP_MAGIC + _record("Header", profile=profile, library=library)

    @staticmethod
    def short_end() -> bytes:
        """Return the last bytes of a file without an index, whose topics readers find by a scan."""
        footer = _record("Footer", summary_start=0, summary_offset_start=0, summary_crc=0)
        return _record("DataEnd", data_section_crc=0) + footer + MCAP_MAGIC

    # --- what is added ------------------------------------------------------------------------------------------
    def schema(self, name: str, encoding: str, text: str) -> int:
        """Add a message type; return its number."""
        number = len(self._schemas) + 1
        self._schemas.append(_record("Schema", id=number, name=name, encoding=encoding, data=text.encode()))
        self._chunk += self._schemas[-1]
        return number

    def channel(self, topic: str, encoding: str, schema: int, about: Mapping[str, str]) -> int:
        """Add a topic; return its number."""
        number = len(self._channels) + 1
        fields = {"topic": topic, "message_encoding": encoding, "schema_id": schema, "metadata": dict(about)}
        self._channels.append(_record("Channel", id=number, **fields))
        self._chunk += self._channels[-1]
        return number

    def message(self, channel: int, received: int, published: int, raw: bytes) -> None:
        """Add a message."""
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

    def text(self, name: str, texts: Mapping[str, str]) -> None:
        """Add metadata between chunks."""
        self._texts.append((name, _record("Metadata", name=name, metadata=dict(texts))))

    # --- what comes out -----------------------------------------------------------------------------------------
    @property
    def end_size(self) -> int:
        """Approximate size of the end of the file [byte]."""
        return self._index.tell() + sum(map(len, (*self._schemas, *self._channels, *self._said))) + 1000

    def take(self, at: int) -> Iterator[bytes]:
        """Return the encoded additions for a position in the file."""
        found = bytearray()
        for name, record in self._texts:
            self._said.append(_record("MetadataIndex", offset=at + len(found), length=len(record), name=name))
            found += record
        self._texts = []
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
        where, places = {}, bytearray()
        for channel, own in self._places.items():
            where[channel] = at + len(chunk) + len(places)
            places += (
                RECORD_HEADER.pack(_MESSAGE_INDEX, _CHANNEL.size + len(own)) + _CHANNEL.pack(channel, len(own)) + own
            )
        place = {"chunk_start_offset": at, "chunk_length": len(chunk), "compressed_size": len(data)}
        inside = {"message_index_offsets": where, "message_index_length": len(places)}
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

    def _summary(self) -> Iterator[tuple[int, Iterator[bytes]]]:
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
            metadata_count=len(self._said),
            schema_count=len(self._schemas),
        )
        self._index.seek(0)
        index = iter(lambda: self._index.read(PART), b"")
        kinds = {opcode.SCHEMA: self._schemas, opcode.CHANNEL: self._channels, opcode.STATISTICS: [statistics]}
        for kind, parts in {**kinds, opcode.CHUNK_INDEX: index, opcode.METADATA_INDEX: self._said}.items():
            yield kind, iter(parts)

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
