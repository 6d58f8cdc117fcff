# SPDX-License-Identifier: Apache-2.0
"""From an MCAP file to a log, whether the file has an end or not."""

from __future__ import annotations

import io
import json
import struct
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.errors import InputError, ModelError, RecordingCutShortWarning, RecordingError
from ada_dynamics.simulation.log import EventRecord, Log
from ada_dynamics.simulation.record import cdr
from ada_dynamics.simulation.record.content import Content, event_of
from ada_dynamics.simulation.record.recorder import EVENTS, METADATA, METADATA_END, STATE
from ada_dynamics.simulation.record.mcap_package import mcap_module

Array = NDArray[np.float64]
_CHANNEL, _MESSAGE = 0x04, 0x05
_RECORD = struct.Struct("<BQ")  # opcode and length, before each record
_MESSAGE_HEADER = struct.Struct("<HIQQ")  # channel, sequence, time of log, time of publication


class _Found(NamedTuple):
    """What a file holds."""

    metadata: dict[str, dict[str, str]]
    tables: list[Array]
    events: list[EventRecord]
    singular: list[float]
    problem: str  # why it ends early; empty where it has its end


class _CutShortError(Exception):
    """The file ends within a record."""


class _Whole(io.RawIOBase):
    """A file that gives all bytes asked for, or says that it ends: half a record must not be read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        if len(data) < size:
            raise _CutShortError("it ends within a record")
        return data


def read_mcap(path: Path) -> Log:
    """Read a log.

    A file without its end gives what is in it, with a RecordingCutShortWarning and `info["complete"]` False.

    Raises:
        RecordingError: the file is no recording of this library, or cannot be read.
    """
    try:
        with path.open("rb") as file:
            found = _records(file)
    except OSError as problem:
        raise RecordingError(f"{path} cannot be read: {problem.strerror or problem}.") from None
    if METADATA not in found.metadata:
        raise RecordingError(
            f"{path} is an MCAP file, but no recording of this library: it has no metadata {METADATA!r}"
            + (f" ({found.problem})." if found.problem else ".")
        )
    try:
        content = Content.of_texts(found.metadata[METADATA])
        ending = json.loads(found.metadata.get(METADATA_END, {}).get("info", "{}"))
        table = np.concatenate([np.empty((0, content.width)), *found.tables])
        log = content.log(table, found.events, found.singular, {**ending, "complete": not found.problem and ending.get("complete", True)})
    except (ValueError, KeyError, TypeError, InputError, ModelError) as problem:
        raise RecordingError(f"{path} holds a recording that cannot be used: {problem}.") from None
    if found.problem:
        until = f"up to t = {log.t[-1]:g} s" if len(log) else "without any"
        warnings.warn(
            f"{path} was cut short ({found.problem}); {len(log)} rows {until} are read.",
            RecordingCutShortWarning,
            stacklevel=4,
        )
    return log


def _records(file: BinaryIO) -> _Found:
    """All records as far as they are whole."""
    stream_reader = mcap_module("mcap.stream_reader")
    records = mcap_module("mcap.records")
    metadata: dict[str, dict[str, str]] = {}
    reading = _Chunks([], [], [])
    problem = "it has no end: the run was killed, or its disk was full"
    try:
        for record in stream_reader.StreamReader(_Whole(file), emit_chunks=True).records:
            if isinstance(record, records.Metadata):
                metadata[record.name] = dict(record.metadata)
            elif isinstance(record, records.Chunk):
                stream, _ = stream_reader.get_chunk_data_stream(record, validate_crc=True)
                reading.take(stream._stream.getvalue())
            elif isinstance(record, records.DataEnd):
                problem = ""
                break  # what follows is an index
    except _CutShortError:
        pass
    except Exception as damage:  # of any kind: decompression, check sums, lengths
        problem = f"it is damaged from there on: {type(damage).__name__}: {str(damage)[:120]}"
    return _Found(metadata, reading.tables, reading.events, reading.singular, problem)


class _Chunks:
    """Reads chunks, and of them only what a log needs: the rest is for viewers."""

    def __init__(self, tables: list[Array], events: list[EventRecord], singular: list[float]) -> None:
        self.tables, self.events, self.singular = tables, events, singular
        self._topics: dict[int, str] = {}

    def take(self, data: bytes) -> None:
        """Read a chunk; all of it, or nothing where it is damaged."""
        tables: list[Array] = []
        texts: list[dict[str, Any]] = []
        for channel, message in self._messages(data):
            topic = self._topics.get(channel)
            if topic == STATE:
                tables.append(cdr.Reader(message).table())
            elif topic == EVENTS:
                texts.append(json.loads(cdr.Reader(message).string()))
        self.tables += tables
        self.events += [event_of(text) for text in texts if "event" in text]
        self.singular += [float(text["t"]) for text in texts if "singular" in text]

    def _messages(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        at = 0
        while at < len(data):
            opcode, length = _RECORD.unpack_from(data, at)
            at += _RECORD.size
            if opcode == _CHANNEL:
                self._add_channel(data[at : at + length])
            elif opcode == _MESSAGE:
                channel = _MESSAGE_HEADER.unpack_from(data, at)[0]
                if self._topics.get(channel) in (STATE, EVENTS):
                    yield channel, data[at + _MESSAGE_HEADER.size : at + length]
            at += length

    def _add_channel(self, data: bytes) -> None:
        stream = mcap_module("mcap.data_stream").ReadDataStream(io.BytesIO(data))
        channel = mcap_module("mcap.records").Channel.read(stream)
        self._topics[channel.id] = channel.topic
