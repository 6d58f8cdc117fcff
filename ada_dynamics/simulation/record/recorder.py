# SPDX-License-Identifier: Apache-2.0
"""Recorder of rows to an MCAP file during a simulation.

Rows are written as a chunk twice a second, or when a chunk is full, and passed to the operating system immediately: a
killed process loses at most the last chunk. States are stored in tables of many rows, exactly; messages for viewers
(joint states, transforms, energy, closure error and wrenches) one by one, at a lower rate.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.clock import SYSTEM_CLOCK, Clock, ManualClock
from ada_dynamics.contact.contact import ContactFrame
from ada_dynamics.errors import AdaError, InputError, RecordingError, invalid
from ada_dynamics.model.description import WORLD_LINK
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.log_rows import LogRows, selected
from ada_dynamics.simulation.record import messages
from ada_dynamics.simulation.record.log_files import (
    DESCRIPTION,
    EVENTS,
    METADATA,
    METADATA_END,
    ROWS_AT_ONCE,
    STATE,
    TableColumns,
    event_text,
    texts_of,
)
from ada_dynamics.simulation.record.mcap_files import Topic, TopicWriter
from ada_dynamics.spatial.orientation import quaternions
from ada_dynamics.structured_text.files import to_json

if TYPE_CHECKING:
    from ada_dynamics.dynamics import Dynamics

CHUNK_SECONDS = 0.5  # [s], maximum wall time of a chunk
CHUNK_BYTES = 2**20  # [byte], maximum size of the rows of a chunk
RATE = 100.0  # [Hz]
Times = NDArray[np.int64]
_CONTACT = "contact/"


class McapRecorder(TopicWriter):
    """Recorder for Foxglove, PlotJuggler, rerun, ROS 2 bags and `Log.load`.

    Example::

        with McapRecorder("run.mcap", model, info={"integrator": "rkf45"}) as recorder:
            recorder.append(LogRows(model, t, q, v, a, tau, external={"hand": wrench}))

    Topics: /ada/state (every row: t, q, v, a, tau, wrenches), /events, /robot_description, and at `rate`
    /joint_states, /tf, /energy, /loop_gap, /wrench/LINK, /wrench/contact/NAME.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        model: Model,
        *,
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
            raise invalid("rate", rate, "a positive number of messages per second")
        if dynamics is None:
            from ada_dynamics.dynamics import Dynamics

            dynamics = Dynamics(model)
        self._dynamics = dynamics
        self._rate, self._clock = rate, clock
        self._tick = -np.inf  # period of the last row for viewers
        self._waiting = 0  # number of pending rows in the table
        self._events: list[tuple[float, str]] = []  # times [s] and texts
        self._last_chunk = self._clock()
        super().__init__(path)
        self._begin_columns(TableColumns(model, contact_frames=dict(contact_frames or {}), info=dict(info or {})))
        robot = description(model)
        if robot is not None:
            self._add(DESCRIPTION, messages.TEXT, 0, messages.text_message(robot))
        super().flush()

    def _begin_columns(self, columns: TableColumns) -> None:
        """Write the metadata of the columns that follow."""
        self._columns = columns
        self._viewer_topics = list(_viewer_topics(columns, self._dynamics))
        self._table = np.zeros((max(1, CHUNK_BYTES // (8 * columns.width)), columns.width))
        self.metadata(METADATA, texts_of(columns))

    def append(self, rows: LogRows) -> None:
        """Add rows and events, which are written in chunks; wrenches of new links and contacts add columns.

        Raises:
            InputError: the recorder is closed.
            RecordingError: the file cannot be written; its content so far is readable.
        """
        self._require_open()
        now = self._columns
        external = tuple(dict.fromkeys([*now.external, *rows.external]))
        contacts = tuple(dict.fromkeys([*now.contacts, *rows.contact_wrenches]))
        if (external, contacts) != (now.external, now.contacts):
            self.flush()
            self._begin_columns(replace(now, external=external, contacts=contacts))
        self._events += [(event.t, event_text(event)) for event in rows.events]
        self._events += [(t, to_json({"singular": True, "t": t})) for t in rows.singular]
        table = self._columns.table(rows)
        while len(table):
            count = min(len(table), len(self._table) - self._waiting)
            self._table[self._waiting : self._waiting + count] = table[:count]
            table = table[count:]
            self._waiting += count
            if self._waiting == len(self._table) or self._clock() - self._last_chunk >= CHUNK_SECONDS:
                self.flush()

    # --- the file -----------------------------------------------------------------------------------------------
    def flush(self) -> None:
        """Write the pending rows as a chunk."""
        self._require_open()
        rows, events = self._table[: self._waiting], self._events
        self._waiting, self._events = 0, []
        if len(rows):
            self._write_rows(rows)
        for t, text in events:
            self._add(EVENTS, messages.TEXT, int(_nanoseconds(np.array([t]))[0]), messages.text_message(text))
        super().flush()
        self._last_chunk = self._clock()

    def _write_rows(self, rows: Array) -> None:
        times = _nanoseconds(rows[:, 0])
        self._add(STATE, messages.NUMBERS, int(times[0]), messages.table_message(rows))
        chosen = self._for_viewers(rows)
        parts = {key: np.ascontiguousarray(part) for key, part in self._columns.split(rows[chosen]).items()}
        for name, kind, message, values in self._viewer_topics:
            with suppress(InputError):  # not computable, such as after an overflow; the states are recorded in any case
                for at, raw in zip(times[chosen].tolist(), message.fill(times[chosen], values(parts)), strict=True):
                    self._add(name, kind, at, raw)

    def _for_viewers(self, rows: Array) -> NDArray[np.intp]:
        """Return the rows for viewers: the first one in each period, with finite numbers."""
        ticks = np.floor(rows[:, 0] * self._rate + 1e-6)
        state = rows[:, : self._columns.slices["v"].stop]
        chosen = np.isfinite(state).all(axis=1) & (np.diff(ticks, prepend=self._tick) > 0.0)
        self._tick = float(ticks[-1])
        return np.flatnonzero(chosen)

    def _add(self, name: str, kind: str, at: int, message: bytes) -> None:
        self.add(Topic(name, kind, messages.DEFINITIONS[kind], name == DESCRIPTION), at, message)

    def close(self, info: Mapping[str, Any] | None = None) -> None:
        """Write the end of the file with its index.

        Args:
            info: final information about the simulation.
        """
        if not self.is_open:
            return
        self.flush()
        self.metadata(METADATA_END, {"info": to_json(info or {})})
        super().close()

    def __enter__(self) -> McapRecorder:
        return self

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if problem is not None and self.is_open:  # keep the recording, and let the first error propagate
            with suppress(RecordingError):
                self.close({"ended_by": f"{type(problem).__name__}: {problem}"})
        super().__exit__(kind, problem, trace)


def write_mcap(log: LogRows, path: Path, rate: float, dynamics: Dynamics) -> Path:
    """Write a log; see `Log.to_mcap`."""
    info, frames = {key: value for key, value in log.info.items() if key != "complete"}, log.contact_frames
    clock = ManualClock()  # chunks are written when they are full
    with McapRecorder(
        path, log.model, contact_frames=frames, info=info, dynamics=dynamics, rate=rate, clock=clock
    ) as recorder:
        for first in range(0, len(log), ROWS_AT_ONCE):
            recorder.append(LogRows(**selected(log, slice(first, first + ROWS_AT_ONCE))))
        recorder.append(LogRows(**selected(log, slice(0)), events=log.events, singular=log.singular))
        recorder.close({"complete": log.info.get("complete", True)})
    return path


# --- topics for viewers -----------------------------------------------------------------------------------------------
class _ViewerTopic(NamedTuple):
    name: str
    kind: str
    message: messages.Message
    values: Callable[[Mapping[str, Array]], dict[str, Array]]  # numbers of the message, of the parts of rows


def _viewer_topics(columns: TableColumns, dynamics: Dynamics) -> Iterator[_ViewerTopic]:
    """Return the topics for viewers."""
    model, states = columns.model, messages.JointStates(columns.model)
    # Contact wrenches are in world axes, so each contact has its own frame.
    places = {name: frame for name, frame in columns.contact_frames.items() if name in columns.contacts}
    links = [link for link in model.link_names if link != WORLD_LINK]
    moves = messages.transforms(WORLD_LINK, [*links, *(_CONTACT + name for name in places)])

    def transforms(x: Mapping[str, Array]) -> dict[str, Array]:
        poses = dynamics.forward_kinematics(x["q"])
        found = {link: _translation_and_rotation(poses[link]) for link in links}
        for name, frame in places.items():
            place = np.zeros((len(x["q"]), 7))
            place[:, :3] = poses[frame.link][:, :3, 3] + poses[frame.link][:, :3, :3] @ np.asarray(frame.xyz)
            place[:, 6] = 1.0
            found[_CONTACT + name] = place
        return found

    def energies(x: Mapping[str, Array]) -> dict[str, Array]:
        kinetic, potential = dynamics.energy(x["q"], x["v"])
        return {"data": np.stack([kinetic, potential, kinetic + potential], axis=1)}

    if states.names:
        parts = messages.JOINT_STATE_PARTS
        numbers = lambda x: dict(zip(parts, states.numbers(x["q"], x["v"], x["tau"]), strict=True))  # noqa: E731
        yield _ViewerTopic("/joint_states", messages.JOINT_STATE, messages.joint_state(states.names), numbers)
    yield _ViewerTopic("/tf", messages.TRANSFORMS, moves, transforms)
    yield _ViewerTopic("/energy", messages.NUMBERS, messages.vectors({"kinetic, potential, total [J]": 3}), energies)
    if model.loops:
        gap = lambda x: {"data": dynamics.constraints.closure_error(x["q"])}  # noqa: E731
        yield _ViewerTopic("/loop_gap", messages.NUMBER, messages.number(), gap)
    wrenches = [(f"external {link}", link, link) for link in columns.external]
    for name in columns.contacts:
        wrenches.append((f"contact {name}", _CONTACT + name, _CONTACT + name if name in places else WORLD_LINK))
    taken: set[str] = set()
    for key, name, frame in wrenches:
        own = lambda x, key=key: {"wrench": x[key]}  # noqa: E731
        yield _ViewerTopic(_unused(f"/wrench/{name}", taken), messages.WRENCH, messages.wrench(frame), own)


def _translation_and_rotation(poses: Array) -> Array:
    """Return x, y, z, qx, qy, qz, qw."""
    wxyz = quaternions(poses[:, :3, :3])
    return np.concatenate([poses[:, :3, 3], wxyz[:, 1:], wxyz[:, :1]], axis=1)


def _unused(topic: str, taken: set[str]) -> str:
    """Return a valid and unique topic name."""
    plain = re.sub(r"[^A-Za-z0-9_/]", "_", topic)
    name, number = plain, 2
    while name in taken:
        name, number = f"{plain}_{number}", number + 1
    taken.add(name)
    return name


def _nanoseconds(t: Array) -> Times:
    """Return non-negative times of messages [ns]."""
    finite = np.nan_to_num(t, nan=0.0, posinf=0.0, neginf=0.0)
    return np.maximum(np.round(finite * messages.NANOSECONDS), 0.0).astype(np.int64)


def description(model: Model) -> str | None:
    """Return the URDF of a model with its loops and motors; None if URDF cannot represent it.

    It is the source of the model if that is complete. Otherwise, such as for loops and motors from a separate file, a
    URDF is written with joints of URDF 1.0, `<loop_joint>` elements and passive joints. Relative mesh paths are
    replaced by file:// addresses.
    """
    from ada_dynamics.model.edit import split_universals
    from ada_dynamics.robots.addresses import with_lasting_addresses
    from ada_dynamics.robots.writers import render

    text = model.source
    if text is None or not _is_complete(text, model):
        try:
            (text,) = render(split_universals(model), "loop_joint").texts.values()
        except AdaError:
            return None
    return with_lasting_addresses(text, model, None)[0]


def _is_complete(text: str, model: Model) -> bool:
    """Return True if a URDF alone contains the joints, loops and motors of a model, in standard joint types."""
    from ada_dynamics.robots.load import find_robot, to_model
    from ada_dynamics.robots.readers.urdf import STANDARD

    if "<robot" not in text:
        return False
    try:
        alone = to_model(*find_robot(text))  # without the warnings of `load`
    except AdaError:
        return False
    floating = [name for name in model.joints if name not in alone.joints and name == model.floating_joint]
    return (
        all(joint.kind in STANDARD for joint in alone.joints.values())
        and alone.loop_names == model.loop_names
        and [*floating, *alone.joints] == list(model.joints)
        and alone.actuated == tuple(name for name in model.actuated if name not in floating)
    )
