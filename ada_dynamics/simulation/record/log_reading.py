# SPDX-License-Identifier: Apache-2.0
"""Readers of log files, complete or cut short."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError, ModelError, RecordingCutShortWarning, RecordingError
from ada_dynamics.simulation.log_rows import RowBuffer
from ada_dynamics.simulation.record import cdr
from ada_dynamics.simulation.record.content import Content, event_of
from ada_dynamics.simulation.record.mcap_records import MCAP_MAGIC, TopicMessage, TopicReader, read_records
from ada_dynamics.simulation.record.recorder import EVENTS, METADATA, METADATA_END, STATE

L = TypeVar("L")
_ZIP = b"PK"


def read_log(path: Path, make: Callable[..., L]) -> L:
    """Read an .npz or .mcap file, see `Log.load`; `make` is `Log`, which imports this module."""
    beginning = first_bytes(path)
    if beginning.startswith(_ZIP):
        from ada_dynamics.simulation.record.npz import read_npz

        return read_npz(path, make)
    if beginning == MCAP_MAGIC:
        return read_mcap(path, make)
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


def read_mcap(path: Path, make: Callable[..., L]) -> L:
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
    content = reading.buffer.content(**{**ending, "complete": not problem and bool(ending.get("complete", True))})
    if problem:
        t = content["t"]
        rows = f"{len(t)} rows up to t = {t[-1]:g} s" if len(t) else "no row"
        message = f"{path} was cut short ({problem}); it contains {rows}."
        warnings.warn(message, RecordingCutShortWarning, stacklevel=4)
    return make(**content)


class _Reading(TopicReader):
    """Collects the rows of a log; messages for viewers are skipped."""

    topics = (STATE, EVENTS)

    def __init__(self) -> None:
        super().__init__()
        self.buffer: RowBuffer | None = None
        self.ending: dict[str, Any] | None = None  # final information
        self._content: Content | None = None

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
            self.buffer = RowBuffer(content.model, contact_frames=content.contact_frames, info=content.info)

    def take_messages(self, messages: Sequence[TopicMessage]) -> None:
        """Process a chunk, as a whole or not at all if it is damaged."""
        tables = [cdr.read_table(message.raw) for message in messages if message.topic == STATE]
        texts = [json.loads(cdr.read_text(message.raw)) for message in messages if message.topic == EVENTS]
        if self.buffer is None or self._content is None:
            return  # topics of another program with these names
        for table in tables:
            self._append(self._content, self.buffer, table)
        for text in texts:
            if "event" in text:
                self.buffer.event(event_of(text))
            elif "singular" in text:
                self.buffer.singular_configuration(float(text["t"]))

    def _append(self, content: Content, buffer: RowBuffer, table: Array) -> None:
        if table.shape[1] != content.width:
            raise _UnusableError(f"its rows have {table.shape[1]} columns; its metadata declare {content.width}")
        t, q, v, a, tau, *wrenches = content.split(table)
        count = len(content.external)
        external = dict(zip(content.external, wrenches[:count], strict=True))
        buffer.append(t[:, 0], q, v, a, tau, external, dict(zip(content.contacts, wrenches[count:], strict=True)))
