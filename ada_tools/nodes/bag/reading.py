# SPDX-License-Identifier: Apache-2.0
"""Read serialized messages from MCAP files of any ROS 2 program; imports no rclpy.

A file is first scanned completely to find its contents, so that files without an index (killed recorder) are handled
equally, and damage is detected before playback. Parts of it are then read on demand.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ada_dynamics.errors import InputError, RecordingError
from ada_dynamics.simulation.record.mcap_files import (
    CHANNEL,
    CHUNK,
    MCAP_MAGIC,
    MESSAGE,
    MESSAGE_HEADER,
    RECORD_HEADER,
    SCHEMA,
    CutShortError,
    chunk_data,
    mcap_module,
    parsed,
    read_exactly,
    read_records,
    records_in,
)
from ada_tools.nodes.bag.message_types import full_name

_STRETCH = 2**20  # [byte] maximum size of records outside of chunks read at once


class Channel(NamedTuple):
    """Messages of one topic and type.

    Attributes:
        id: channel id in the file.
        topic: topic such as /joint_states.
        kind: message type such as sensor_msgs/msg/JointState; the name in the file if it is not a message type.
        encoding: message encoding; ROS 2 uses "cdr".
        definition: message definition; empty if missing.
        definition_encoding: encoding of the definition.
        offered_qos: see `topics.read_qos`; empty if missing.
    """

    id: int
    topic: str
    kind: str
    encoding: str
    definition: str
    definition_encoding: str
    offered_qos: str


class RecordedMessage(NamedTuple):
    """A message; `at` is its recording time [ns]."""

    channel: int
    at: int
    raw: bytes


class _Piece(NamedTuple):
    """Contiguous messages in the file: a chunk, or records outside of chunks."""

    offset: int
    size: int
    is_chunk: bool
    first: int  # [ns]


class TopicFile:
    """Contents of a file.

    Attributes:
        path: path of the file.
        channels: channels by id.
        counts: number of messages per channel.
        first: time of the first message [ns].
        last: time of the last message [ns].
        problem: reason why the file is truncated; empty for a complete file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Scan a file.

        Raises:
            InputError: the package mcap is missing.
            RecordingError: the file cannot be read, is not an MCAP file, or has no messages.
        """
        mcap_module("mcap")
        self.path = Path(path)
        self.channels: dict[int, Channel] = {}
        self.counts: dict[int, int] = {}
        self.first, self.last = 0, 0
        self._pieces: list[_Piece] = []
        self._schemas: dict[int, Any] = {}
        try:
            with self.path.open("rb") as file:
                beginning = file.read(len(MCAP_MAGIC))
                if beginning != MCAP_MAGIC:
                    what = "is not an MCAP file" if beginning else "is empty"
                    raise RecordingError(
                        f"{self.path} {what}; a replay needs an .mcap file, such as record_node writes."
                    )
                self.problem = read_records(file, self._take)
        except OSError as failure:
            raise RecordingError(f"{self.path} cannot be read: {failure.strerror or failure}.") from None
        if not self._pieces:
            why = f": {self.problem}" if self.problem else ""
            raise RecordingError(f"{self.path} has no messages{why}; record it again.")
        self.first = min(piece.first for piece in self._pieces)

    def __len__(self) -> int:
        """Number of messages."""
        return sum(self.counts.values())

    def messages(self, channels: Collection[int]) -> Iterator[RecordedMessage]:
        """Messages of some channels ordered by time, then by file position.

        Raises:
            RecordingError: the file has changed since the scan.
        """
        waiting: list[tuple[int, int, int, RecordedMessage]] = []
        try:
            with self.path.open("rb") as file:
                for piece in sorted(self._pieces, key=lambda piece: (piece.first, piece.offset)):
                    while waiting and waiting[0][0] < piece.first:
                        yield heapq.heappop(waiting)[-1]
                    for i, message in enumerate(_messages_in(_data(file, piece))):
                        if message.channel in channels:
                            heapq.heappush(waiting, (message.at, piece.offset, i, message))
        except (OSError, CutShortError, ValueError) as problem:
            raise RecordingError(f"{self.path} changed and cannot be read: {problem}.") from None
        while waiting:
            yield heapq.heappop(waiting)[-1]

    # --- scan ---------------------------------------------------------------------------------------------------
    def _take(self, opcode: int, offset: int, data: bytes) -> None:
        """Register the contents of a record."""
        if opcode not in (CHUNK, SCHEMA, CHANNEL, MESSAGE):
            return
        is_chunk, size = opcode == CHUNK, RECORD_HEADER.size + len(data)
        first = self._register(
            chunk_data(parsed("Chunk", data)) if is_chunk else RECORD_HEADER.pack(opcode, len(data)) + data
        )
        if first is None:
            return
        last = self._pieces[-1] if self._pieces and not is_chunk else None
        if last and not last.is_chunk and last.offset + last.size == offset and last.size < _STRETCH:
            self._pieces[-1] = last._replace(size=last.size + size, first=min(last.first, first))
        else:
            self._pieces.append(_Piece(offset, size, is_chunk, first))

    def _register(self, data: bytes) -> int | None:
        """Register all messages in some records, or none on an error; return the time of the first one."""
        times: dict[int, list[int]] = {}
        for opcode, begin, end in records_in(data):
            if opcode == MESSAGE:
                channel, _, at, _ = MESSAGE_HEADER.unpack_from(data, begin)
                if channel not in self.channels:
                    raise ValueError(f"a message of channel {channel}, which is missing in the file")
                times.setdefault(channel, []).append(at)
            elif opcode == SCHEMA:
                schema = parsed("Schema", data[begin:end])
                self._schemas[schema.id] = schema
            elif opcode == CHANNEL:
                self._add_channel(parsed("Channel", data[begin:end]))
        for channel, found in times.items():
            self.counts[channel] = self.counts.get(channel, 0) + len(found)
            self.last = max(self.last, *found)
        return min(map(min, times.values()), default=None)

    def _add_channel(self, channel: Any) -> None:
        schema = self._schemas.get(channel.schema_id)
        self.channels[channel.id] = Channel(
            channel.id,
            channel.topic,
            _kind(schema.name) if schema else "",
            channel.message_encoding,
            schema.data.decode(errors="replace") if schema else "",
            schema.encoding if schema else "",
            channel.metadata.get("offered_qos_profiles", ""),
        )


def _kind(name: str) -> str:
    try:
        return full_name(name)
    except InputError:
        return name


def _data(file: BinaryIO, piece: _Piece) -> bytes:
    file.seek(piece.offset)
    data = read_exactly(file, piece.size)
    return chunk_data(parsed("Chunk", data[RECORD_HEADER.size :])) if piece.is_chunk else data


def _messages_in(data: bytes) -> Iterator[RecordedMessage]:
    for opcode, begin, end in records_in(data):
        if opcode == MESSAGE:
            channel, _, at, _ = MESSAGE_HEADER.unpack_from(data, begin)
            yield RecordedMessage(channel, at, data[begin + MESSAGE_HEADER.size : end])
