# SPDX-License-Identifier: Apache-2.0
"""Recorder of rows to an MCAP file during a simulation.

Rows are written as a chunk twice a second, or when a chunk is full, and passed to the operating system immediately: a
killed process loses at most the last chunk. States are stored in tables of many rows, exactly; messages for viewers one
by one, at a lower rate.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.clock import SYSTEM_CLOCK, Clock, ManualClock
from ada_dynamics.contact.contact import ContactFrame
from ada_dynamics.errors import InputError, RecordingError
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.log_quantities import ROWS_AT_ONCE, LogQuantities
from ada_dynamics.simulation.log_rows import EventRecord
from ada_dynamics.simulation.record import cdr, messages
from ada_dynamics.simulation.record.content import WRENCH, Content, content_of, event_text
from ada_dynamics.simulation.record.mcap_writing import Topic, TopicWriter
from ada_dynamics.simulation.record.viewer_topics import ViewerTopics, description, nanoseconds
from ada_dynamics.structured_text.files import to_json

if TYPE_CHECKING:
    from ada_dynamics.dynamics import Dynamics


STATE, EVENTS, DESCRIPTION = "/ada/state", "/events", "/robot_description"
METADATA, METADATA_END = "ada_dynamics", "ada_dynamics_end"  # before the first row, and after the last row

CHUNK_SECONDS = 0.5  # [s], maximum wall time of a chunk
CHUNK_BYTES = 2**19  # [byte], maximum size of the rows of a chunk
RATE = 100.0  # [Hz]


class McapRecorder:
    """Recorder for Foxglove, PlotJuggler, rerun, ROS 2 bags and `Log.load`.

    Example::

        with McapRecorder("run.mcap", model, external=["hand"], info={"integrator": "rkf45"}) as recorder:
            recorder.append(t, q, v, a, tau, {"hand": wrench})

    Topics: /ada/state (every row: t, q, v, a, tau, wrenches), /events, /robot_description, and at `rate`
    /joint_states, /tf, /energy, /loop_gap, /wrench/LINK, /wrench/contact/NAME.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        model: Model,
        *,
        external: Sequence[str] = (),
        contacts: Sequence[str] = (),
        contact_frames: Mapping[str, ContactFrame] | None = None,
        info: Mapping[str, Any] | None = None,
        dynamics: Dynamics | None = None,
        rate: float = RATE,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Create the file; an existing file is replaced.

        Args:
            path: the file.
            model: the robot.
            external: links with external wrenches; others may follow later.
            contacts: names of contacts; others may follow later.
            contact_frames: frames of the contacts; see `Log`.
            info: settings of the simulation, serializable as JSON.
            dynamics: dynamics that compute energies and poses; created by default.
            rate: rate of the messages for viewers [Hz], at most one per row.
            clock: clock that determines when rows are written.

        Raises:
            InputError: the rate is not positive, or the package mcap is not installed.
            RecordingError: the file cannot be written.
        """
        if not rate > 0.0:
            raise InputError(
                f"rate is {rate!r}; it must be a positive number of messages per second.", field="rate", value=rate
            )
        if dynamics is None:
            from ada_dynamics.dynamics import Dynamics

            dynamics = Dynamics(model)
        self.path = Path(path)
        self._content = Content(model, tuple(external), tuple(contacts), dict(contact_frames or {}), dict(info or {}))
        self._dynamics = dynamics
        self._rate, self._clock = rate, clock
        self._tick = -np.inf  # period of the last row for viewers
        self._waiting = 0  # number of pending rows in the table
        self._texts: list[tuple[str, float, str]] = []  # topic, time, text
        self._rows = 0
        self._last_chunk = self._clock()
        self._topics: dict[str, Topic] = {}
        self._writer = TopicWriter(self.path, overwrite=True)
        self._begin_columns()
        robot = description(model)
        if robot is not None:
            self._write(DESCRIPTION, 0, cdr.text_message(robot))
        self._writer.flush()

    def _begin_columns(self) -> None:
        """Write the metadata of the columns that follow, and register the topics."""
        self._viewers = ViewerTopics(self._content, self._dynamics)
        self._table = np.zeros((max(1, CHUNK_BYTES // (8 * self._content.width)), self._content.width))
        self._writer.metadata(METADATA, self._content.texts())
        kinds = {STATE: messages.NUMBERS, EVENTS: messages.TEXT, DESCRIPTION: messages.TEXT}
        kinds |= {topic.name: topic.kind for topic in self._viewers.topics}
        self._topics = {name: Topic(name, kind, messages.DEFINITIONS[kind]) for name, kind in kinds.items()}

    # --- rows ---------------------------------------------------------------------------------------------------
    def __len__(self) -> int:
        """Number of rows that were appended."""
        return self._rows

    def append(
        self,
        t: Array,
        q: Array,
        v: Array,
        a: Array,
        tau: Array,
        external: Mapping[str, Array] | None = None,
        contact: Mapping[str, Array] | None = None,
    ) -> None:
        """Append rows, (n, ...) each, or one row; see `LogBuffer.append`.

        Raises:
            InputError: the recorder is closed.
            RecordingError: the file cannot be written; its content so far is readable.
        """
        self._require_open()
        times = np.atleast_1d(np.asarray(t, dtype=np.float64))
        parts = [times[:, None], *(x if np.ndim(x) == 2 else np.reshape(x, (1, -1)) for x in (q, v, a, tau))]
        wrenches = self._placed(external or {}, contact or {})
        taken = 0
        while taken < len(times):
            count = min(len(times) - taken, len(self._table) - self._waiting)
            rows = self._table[self._waiting : self._waiting + count]
            given = slice(taken, taken + count)
            for columns, values in zip(self._content.columns, parts, strict=False):
                rows[:, columns] = values[given]
            if len(self._content.columns) > len(parts):
                rows[:, self._content.columns[len(parts)].start :] = 0.0
            for columns, wrench in wrenches:
                rows[:, columns] = wrench[given]
            taken += count
            self._waiting += count
            self._rows += count
            if self._waiting == len(self._table) or self._clock() - self._last_chunk >= CHUNK_SECONDS:
                self.flush()

    def _placed(self, external: Mapping[str, Array], contact: Mapping[str, Array]) -> list[tuple[slice, Array]]:
        """Return the wrenches with their columns."""
        own, touched = self._content.external, self._content.contacts
        new = [name for name in external if name not in own], [name for name in contact if name not in touched]
        if any(new):
            self.flush()
            self._content = self._content.with_wrenches(*new)
            self._begin_columns()
        columns = self._content.columns[5:]  # after t, q, v, a, tau
        named = [
            *(("link", name) for name in self._content.external),
            *(("contact", n) for n in self._content.contacts),
        ]
        given = {**{("link", n): w for n, w in external.items()}, **{("contact", n): w for n, w in contact.items()}}
        return [(columns[named.index(name)], np.reshape(wrench, (-1, WRENCH))) for name, wrench in given.items()]

    def event(self, event: EventRecord) -> None:
        """Record an event."""
        self._require_open()
        self._texts.append((EVENTS, event.t, event_text(event)))

    def singular_configuration(self, t: float) -> None:
        """Record the time of a passage through a singular configuration [s]."""
        self._require_open()
        self._texts.append((EVENTS, t, to_json({"singular": True, "t": float(t)})))

    # --- the file -----------------------------------------------------------------------------------------------
    def flush(self) -> None:
        """Write the pending rows as a chunk."""
        self._require_open()
        rows, texts = self._table[: self._waiting], self._texts
        self._waiting, self._texts = 0, []
        if len(rows):
            self._write_rows(rows)
        for topic, t, text in texts:
            self._write(topic, int(nanoseconds(np.array([t]))[0]), cdr.text_message(text))
        self._writer.flush()
        self._last_chunk = self._clock()

    def _write_rows(self, rows: Array) -> None:
        times = nanoseconds(rows[:, 0])
        self._write(STATE, int(times[0]), cdr.table_message(rows))
        chosen = self._for_viewers(rows)
        for topic, encoded in self._viewers.encode(times[chosen], rows[chosen]):
            for at, message in zip(times[chosen].tolist(), encoded, strict=True):
                self._write(topic.name, at, message)

    def _for_viewers(self, rows: Array) -> NDArray[np.intp]:
        """Return the rows for viewers: the first one in each period, with finite numbers."""
        ticks = np.floor(rows[:, 0] * self._rate + 1e-6)
        state = rows[:, : 1 + self._content.model.nq + self._content.model.nv]
        chosen = np.isfinite(state).all(axis=1) & (np.diff(ticks, prepend=self._tick) > 0.0)
        self._tick = float(ticks[-1])
        return np.flatnonzero(chosen)

    def _write(self, topic: str, at: int, message: bytes) -> None:
        self._writer.add(self._topics[topic], at, at, message)

    def close(self, info: Mapping[str, Any] | None = None) -> None:
        """Write the end of the file with its index.

        Args:
            info: final information about the simulation.
        """
        if not self._writer.is_open:
            return
        self.flush()
        self._writer.metadata(METADATA_END, {"info": to_json(info or {})})
        self._writer.close()

    def __enter__(self) -> McapRecorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, _: TracebackType | None
    ) -> None:
        if problem is None:
            self.close()
        elif self._writer.is_open:  # keep the recording, and let the first error propagate
            with suppress(RecordingError):
                self.close({"ended_by": f"{type(problem).__name__}: {problem}"})

    def _require_open(self) -> None:
        if self._writer.failure is not None:
            raise RecordingError(self._writer.failure)
        if not self._writer.is_open:
            raise InputError(f"the recording {self.path} is closed.")


def write_mcap(log: LogQuantities, path: Path, rate: float) -> Path:
    """Write a log; see `Log.to_mcap`."""
    content = content_of(log)
    with McapRecorder(
        path,
        log.model,
        external=content.external,
        contacts=content.contacts,
        contact_frames=log.contact_frames,
        info=content.info,
        dynamics=log.dynamics,
        rate=rate,
        clock=ManualClock(),  # chunks are written when they are full
    ) as recorder:
        for first in range(0, len(log), ROWS_AT_ONCE):
            rows = slice(first, first + ROWS_AT_ONCE)
            external = {link: wrench[rows] for link, wrench in log.external.items()}
            contact = {name: wrench[rows] for name, wrench in log.contact_wrenches.items()}
            recorder.append(log.t[rows], log.q[rows], log.v[rows], log.a[rows], log.tau[rows], external, contact)
        for event in log.events:
            recorder.event(event)
        for t in log.singular:
            recorder.singular_configuration(t)
        recorder.close({"complete": log.info.get("complete", True)})
    return path
