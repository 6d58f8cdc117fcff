# SPDX-License-Identifier: Apache-2.0
"""Readers of log files, complete or cut short."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError, ModelError, RecordingCutShortWarning, RecordingError
from ada_dynamics.simulation.log import Log, LogBuffer
from ada_dynamics.simulation.record import cdr
from ada_dynamics.simulation.record.content import Content, event_of
from ada_dynamics.simulation.record.mcap_records import (
    CHANNEL,
    CHUNK,
    MCAP_MAGIC,
    MESSAGE,
    MESSAGE_HEADER,
    chunk_data,
    parsed,
    read_records,
    records_in,
)
from ada_dynamics.simulation.record.mcap_records import METADATA as METADATA_RECORD
from ada_dynamics.simulation.record.recorder import EVENTS, METADATA, METADATA_END, STATE

_ZIP = b"PK"


def read_log(path: Path) -> Log:
    """Read an .npz or .mcap file; see `Log.load`."""
    beginning = first_bytes(path)
    if beginning.startswith(_ZIP):
        from ada_dynamics.simulation.record.npz import read_npz

        return read_npz(path)
    if beginning == MCAP_MAGIC:
        return read_mcap(path)
    what = "is empty" if not beginning else "is neither an .npz nor an .mcap file"
    hint = " A .csv file has no model: read it with numpy.loadtxt." if path.suffix.lower() == ".csv" else ""
    raise RecordingError(f"{path} {what}; Log.load reads files of Log.save, Log.to_mcap and recordings.{hint}")


def first_bytes(path: Path) -> bytes:
    """Return the first bytes of a file, which determine its format.

    Raises:
        RecordingError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(len(MCAP_MAGIC))
    except OSError as problem:
        raise RecordingError(f"{path} cannot be read: {problem.strerror or problem}.") from None


class _UnusableError(AdaError):
    """The metadata of the file are invalid."""


def read_mcap(path: Path) -> Log:
    """Read a log.

    A file without an end is read as far as it is complete, with a RecordingCutShortWarning and `info["complete"]`
    False.

    Raises:
        RecordingError: the file is not a recording of this library, or cannot be read.
    """
    reading = _Reading()
    try:
        with path.open("rb") as file:
            file.seek(len(MCAP_MAGIC))
            problem = read_records(file, reading.take)
    except OSError as failure:
        raise RecordingError(f"{path} cannot be read: {failure.strerror or failure}.") from None
    except _UnusableError as failure:
        raise RecordingError(f"{path} contains an invalid recording: {failure}.") from None
    if reading.buffer is None:
        raise RecordingError(
            f"{path} is an MCAP file, but not a recording of this library: it has no metadata {METADATA!r}"
            + (f" ({problem})." if problem else ".")
        )
    if not problem and reading.ending is None:
        problem = "its recorder could not write its end: the disk was full"
    ending = reading.ending or {}
    log = reading.buffer.log(**{**ending, "complete": not problem and bool(ending.get("complete", True))})
    if problem:
        rows = f"{len(log)} rows up to t = {log.t[-1]:g} s" if len(log) else "no row"
        message = f"{path} was cut short ({problem}); it contains {rows}."
        warnings.warn(message, RecordingCutShortWarning, stacklevel=4)
    return log


class _Reading:
    """Collects the rows of a log from records; messages for viewers are ignored."""

    def __init__(self) -> None:
        self.buffer: LogBuffer | None = None
        self.ending: dict[str, Any] | None = None  # final information
        self._content: Content | None = None
        self._topics: dict[int, str] = {}

    def take(self, opcode: int, _offset: int, data: bytes) -> None:
        """Process one record of the file."""
        if opcode == CHUNK:
            self.take_chunk(chunk_data(parsed("Chunk", data)))
        elif opcode == METADATA_RECORD:
            record = parsed("Metadata", data)
            self.take_metadata(record.name, record.metadata)

    def take_metadata(self, name: str, texts: Mapping[str, str]) -> None:
        """Process the columns of the rows that follow, or the final information."""
        try:
            if name == METADATA_END:
                self.ending = dict(json.loads(texts["info"]))
            elif name == METADATA:
                self._content = Content.of_texts(texts)
        except (ValueError, KeyError, TypeError, RecursionError, ModelError) as problem:
            raise _UnusableError(str(problem)) from None
        if self._content is not None and self.buffer is None:
            content = self._content
            self.buffer = LogBuffer(content.model, contact_frames=content.contact_frames, info=content.info)

    def take_chunk(self, data: bytes) -> None:
        """Process a chunk, as a whole or not at all if it is damaged."""
        tables: list[Array] = []
        texts: list[dict[str, Any]] = []
        for channel, message in self._messages(data):
            if self._topics[channel] == STATE:
                tables.append(cdr.Reader(message).table())
            else:
                texts.append(json.loads(cdr.Reader(message).string()))
        if self.buffer is None or self._content is None:
            return  # topics of another program with these names
        for table in tables:
            self._append(self._content, self.buffer, table)
        for text in texts:
            if "event" in text:
                self.buffer.event(event_of(text))
            elif "singular" in text:
                self.buffer.singular_configuration(float(text["t"]))

    def _append(self, content: Content, buffer: LogBuffer, table: Array) -> None:
        if table.shape[1] != content.width:
            raise _UnusableError(f"its rows have {table.shape[1]} columns; its metadata declare {content.width}")
        t, q, v, a, tau, *wrenches = content.split(table)
        count = len(content.external)
        external = dict(zip(content.external, wrenches[:count], strict=True))
        buffer.append(t[:, 0], q, v, a, tau, external, dict(zip(content.contacts, wrenches[count:], strict=True)))

    def _messages(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        for opcode, begin, end in records_in(data):
            if opcode == CHANNEL:
                self._add_channel(data[begin:end])
            elif opcode == MESSAGE:
                channel = MESSAGE_HEADER.unpack_from(data, begin)[0]
                if self._topics.get(channel) in (STATE, EVENTS):
                    yield channel, data[begin + MESSAGE_HEADER.size : end]

    def _add_channel(self, data: bytes) -> None:
        channel = parsed("Channel", data)
        self._topics[channel.id] = channel.topic
