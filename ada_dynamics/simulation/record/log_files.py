# SPDX-License-Identifier: Apache-2.0
"""Files of logs: arrays (.npz) and tables (.csv), the metadata of recordings as text, and their reader.

The model is JSON text, bit for bit, so that a file does not depend on others. Robot formats are not suitable: each of
them lacks joint or loop types, or rounds orientations (roll, pitch, yaw). Reading executes no code from the file.
"""

from __future__ import annotations

import csv
import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ada_dynamics._version import __version__
from ada_dynamics.arrays import Array
from ada_dynamics.contact.contact import ContactFrame
from ada_dynamics.errors import ModelError, RecordingCutShortWarning, RecordingError
from ada_dynamics.model.elements import Joint, Limits, Link, LoopJoint, Mimic, Shape
from ada_dynamics.model.joints import Coordinate, JointType
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.log_rows import ARRAYS, EventRecord, LogBuffer, LogRows
from ada_dynamics.simulation.record.mcap_files import MCAP_MAGIC, TopicMessage, read_topics
from ada_dynamics.simulation.record.messages import read_table, read_text
from ada_dynamics.structured_text.files import atomic_write, to_json

FORMAT = "1"  # version of the format; other versions are rejected
STATE, EVENTS, DESCRIPTION = "/ada/state", "/events", "/robot_description"  # topics
METADATA, METADATA_END = "ada_dynamics", "ada_dynamics_end"  # before the first row, and after the last row
ROWS_AT_ONCE = 16384  # rows that are written together

_ARRAYS = {"com", "inertia", "xyz", "rotation", "axis", "axis2"}
_ARRAYS |= {"parent_xyz", "parent_rotation", "child_xyz", "child_rotation"}
_PARTS = {"limits": Limits, "mimic": Mimic, "visuals": Shape, "collisions": Shape}
_EFFORTS = {"rad": "N m", "m": "N"}
_WRENCH = (("fx", "N"), ("fy", "N"), ("fz", "N"), ("nx", "N m"), ("ny", "N m"), ("nz", "N m"))


# --- columns and metadata ---------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class TableColumns:
    """Columns of a table of rows, and the metadata that are known before the first row.

    Attributes:
        model: the robot.
        external: links with external wrenches, in the order of the columns.
        contacts: contacts, in the order of the columns.
        contact_frames: frames of the contacts.
        info: settings of the simulation.
    """

    model: Model
    external: tuple[str, ...] = ()
    contacts: tuple[str, ...] = ()
    contact_frames: Mapping[str, ContactFrame] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Columns of t, q, v, a and tau, of `external LINK` for each wrench, and of `contact NAME`."""
        nq, nv = self.model.nq, self.model.nv
        wrenches = [*(f"external {link}" for link in self.external), *(f"contact {name}" for name in self.contacts)]
        widths = {"t": 1, "q": nq, "v": nv, "a": nv, "tau": nv, **dict.fromkeys(wrenches, 6)}
        ends = np.cumsum([*widths.values()]).tolist()
        return {key: slice(end - width, end) for (key, width), end in zip(widths.items(), ends, strict=True)}

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(max(columns.stop for columns in self.slices.values()))

    def table(self, rows: LogRows) -> Array:
        """Return rows as a table; wrenches that they do not have are zero."""
        parts = arrays_of(rows)
        table = np.zeros((len(rows), self.width))
        for key, columns in self.slices.items():
            table[:, columns] = parts.get(key, 0.0)
        return table

    def split(self, table: Array) -> dict[str, Array]:
        """Return the parts of a table."""
        return {key: table[:, columns] for key, columns in self.slices.items()}

    def rows(self, table: Array, events: Sequence[EventRecord], singular: Sequence[float]) -> LogRows:
        """Return the rows of a table, with events."""
        parts = self.split(table)
        return LogRows(
            self.model,
            parts["t"][:, 0],
            *(parts[name] for name in ARRAYS[1:]),
            external={link: parts[f"external {link}"] for link in self.external},
            contact_wrenches={name: parts[f"contact {name}"] for name in self.contacts},
            events=events,
            singular=singular,
        )


def arrays_of(rows: LogRows) -> dict[str, Array]:
    """Return the arrays of a log by the names of `TableColumns.slices`."""
    arrays = {"t": rows.t[:, None], **{name: getattr(rows, name) for name in ARRAYS[1:]}}
    arrays |= {f"external {link}": wrench for link, wrench in rows.external.items()}
    return arrays | {f"contact {name}": wrench for name, wrench in rows.contact_wrenches.items()}


def texts_of(columns: TableColumns) -> dict[str, str]:
    """Return the metadata as texts by key."""
    frames = {name: [frame.link, list(frame.xyz), frame.other] for name, frame in columns.contact_frames.items()}
    return {
        "format": FORMAT,
        "ada_dynamics": __version__,
        "model": model_to_text(columns.model),
        "external": to_json(list(columns.external)),
        "contacts": to_json(list(columns.contacts)),
        "contact_frames": to_json(frames),
        "info": to_json(columns.info),
    }


def columns_of_texts(texts: Mapping[str, str]) -> TableColumns:
    """Return the metadata from texts.

    Raises:
        ValueError: a text is missing or invalid.
    """
    missing = [key for key in ("format", "model", "external", "contacts", "contact_frames", "info") if key not in texts]
    if missing:
        raise ValueError(f"it has no {', '.join(missing)}")
    if texts["format"] != FORMAT:
        raise ValueError(f"its format is {texts['format']!r}, and this version reads {FORMAT!r}")
    frames = {
        str(name): ContactFrame(str(link), (float(x), float(y), float(z)), None if other is None else str(other))
        for name, (link, (x, y, z), other) in json.loads(texts["contact_frames"]).items()
    }
    external, contacts = (tuple(map(str, json.loads(texts[key]))) for key in ("external", "contacts"))
    return TableColumns(model_from_text(texts["model"]), external, contacts, frames, dict(json.loads(texts["info"])))


def event_text(event: EventRecord) -> str:
    """Return an event as JSON."""
    return to_json({"event": event.name, "t": event.t, "q": event.q, "v": event.v})


def event_of(content: Mapping[str, Any]) -> EventRecord:
    """Return the event from JSON."""
    q, v = (np.array(content[key], dtype=np.float64) for key in ("q", "v"))
    return EventRecord(float(content["t"]), str(content["event"]), q, v)


# --- models -----------------------------------------------------------------------------------------------------------
def model_to_text(model: Model) -> str:
    """Return the text of a model."""
    content = {
        "name": model.name,
        "root": model.root,
        "gravity": list(model.gravity),
        "actuated": list(model.actuated),
        "links": [asdict(link, dict_factory=_finite) for link in model.links.values()],
        "joints": [asdict(joint, dict_factory=_finite) for joint in model.joints.values()],
        "loops": [asdict(loop, dict_factory=_finite) for loop in model.loops.values()],
        "source": model.source,
    }
    return json.dumps(content, default=np.ndarray.tolist, ensure_ascii=False, allow_nan=False)


def model_from_text(text: str) -> Model:
    """Return the model of a text.

    Raises:
        ModelError: the text is not a model.
    """
    try:
        content = json.loads(text)
        links = [_made(Link, one) for one in content["links"]]
        joints = [_made(Joint, one) for one in content["joints"]]
        loops = [_made(LoopJoint, one) for one in content["loops"]]
        name, root, gravity, source = (content[key] for key in ("name", "root", "gravity", "source"))
        model = Model(name, root, links, joints, gravity, source, loops, content["actuated"])
        _ = model.tree  # raises errors of unknown names and types
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as problem:
        raise ModelError(f"the model is invalid ({type(problem).__name__}: {problem})") from None
    return model


def _finite(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return fields with infinite numbers as texts, because JSON has no infinity."""
    return {name: str(x) if isinstance(x, float) and not math.isfinite(x) else x for name, x in fields}


def _made(cls: Any, content: dict[str, Any]) -> Any:
    values: dict[str, Any] = {}
    for name, value in content.items():
        if name in _ARRAYS:
            values[name] = None if value is None else np.array(value, dtype=float)
        elif name in _PARTS and isinstance(value, list):
            values[name] = tuple(_made(_PARTS[name], one) for one in value)
        elif name in _PARTS and value is not None:
            values[name] = _made(_PARTS[name], value)
        elif isinstance(value, list):
            values[name] = tuple(value)
        else:
            values[name] = float(value) if cls is Limits else value
    return cls(**values)


# --- .npz -------------------------------------------------------------------------------------------------------------
def write_npz(log: LogRows, path: Path) -> Path:
    """Write the arrays of a log for `numpy.load`; an existing file is replaced atomically."""
    with atomic_write(path, RecordingError) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **(arrays_of(log) | {"t": log.t}))
    return path


# --- .csv -------------------------------------------------------------------------------------------------------------
def write_csv(log: LogRows, path: Path, quantities: Sequence[Array]) -> Path:
    """Write a log; an existing file is replaced atomically.

    Args:
        log: the log.
        path: the file.
        quantities: kinetic and potential energy, and for models with loops the closure error, (N,) each.
    """
    columns = [*arrays_of(log).values(), *(quantity[:, None] for quantity in quantities)]
    with atomic_write(path, RecordingError) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(header(log))
        for first in range(0, len(log), ROWS_AT_ONCE):
            table = np.concatenate([part[first : first + ROWS_AT_ONCE] for part in columns], axis=1)
            file.writelines(",".join(map(repr, row)) + "\n" for row in table.tolist())
    return path


def header(log: LogRows) -> list[str]:
    """Return names and units of the columns."""
    model = log.model
    names = ["t [s]"]
    names += _joint_columns(model, "q", lambda joint: joint.coordinates, lambda unit: unit)
    names += _joint_columns(model, "v", lambda joint: joint.rates, lambda unit: f"{unit}/s")
    names += _joint_columns(model, "a", lambda joint: joint.rates, lambda unit: f"{unit}/s^2")
    names += _joint_columns(model, "tau", lambda joint: joint.rates, lambda unit: _EFFORTS[unit])
    for what, given in (("external", log.external), ("contact", log.contact_wrenches)):
        names += [f"{what} {name} {part} [{unit}]" for name in given for part, unit in _WRENCH]
    names += ["kinetic energy [J]", "potential energy [J]"]
    return [*names, "loop gap [m, rad]"] if model.loops else names


def _joint_columns(
    model: Model,
    what: str,
    numbers_of: Callable[[type[JointType]], tuple[Coordinate, ...]],
    unit_of: Callable[[str], str],
) -> Iterator[str]:
    for joint in model.joint_names:
        for part in numbers_of(model.joints[joint].type):
            yield f"{what} {joint} {part.name}".rstrip() + f" [{unit_of(part.unit)}]"


# --- reading ----------------------------------------------------------------------------------------------------------
def read_log(path: Path) -> dict[str, Any]:
    """Return the arguments of `Log` from a recording, as far as it is complete; see `Log.load`.

    Raises:
        RecordingError: the file is not a recording of this library, or cannot be read.
    """
    reading = _Reading(path)
    try:
        with path.open("rb") as file:
            beginning = file.read(len(MCAP_MAGIC))
            if beginning != MCAP_MAGIC:
                what = "is empty" if not beginning else "is not an .mcap file"
                raise RecordingError(
                    f"{path} {what}; Log.load reads recordings and files of Log.to_mcap. Read other files with "
                    "numpy.load (.npz) or numpy.loadtxt (.csv)."
                )
            problem = read_topics(file, (STATE, EVENTS), reading.take_metadata, reading.take_messages)
    except OSError as failure:
        hint = " Give an .mcap file in it." if path.is_dir() else ""
        raise RecordingError(f"{path} cannot be read: {failure.strerror or failure}.{hint}") from None
    if reading.buffer is None or reading.columns is None:
        raise RecordingError(
            f"{path} is an MCAP file, but not a recorded simulation: it has no metadata {METADATA!r}"
            + (f" ({problem})." if problem else ".")
            + " `ada record info` shows the topics of bags and flight records; `ros2 bag play` plays them.",
            field="metadata",
        )
    if not problem and reading.ending is None:
        problem = "its recorder could not write its end: the disk was full"
    content, ending = reading.buffer.content(), reading.ending or {}
    is_complete = not problem and bool(ending.get("complete", True))
    content["contact_frames"] = reading.columns.contact_frames
    content["info"] = {**reading.columns.info, **ending, "complete": is_complete}
    if problem:
        t = content["t"]
        rows = f"{len(t)} rows up to t = {t[-1]:g} s" if len(t) else "no row"
        message = f"{path} was cut short ({problem}); it contains {rows}."
        warnings.warn(message, RecordingCutShortWarning, stacklevel=3)
    return content


class _Reading:
    """Collects the rows of a log; messages for viewers are skipped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.buffer: LogBuffer | None = None
        self.columns: TableColumns | None = None
        self.ending: dict[str, Any] | None = None  # final information

    def take_metadata(self, name: str, texts: Mapping[str, str]) -> None:
        """Process the columns of the rows that follow, or the final information."""
        try:
            if name == METADATA_END:
                self.ending = dict(json.loads(texts["info"]))
            elif name == METADATA:
                self.columns = now = columns_of_texts(texts)
                self.buffer = self.buffer or LogBuffer(now.model)
                self.buffer.append(now.rows(np.zeros((0, now.width)), [], []))  # wrenches, also without rows
        except (ValueError, KeyError, TypeError, RecursionError, ModelError) as problem:
            raise RecordingError(f"{self.path} contains an invalid recording: {problem}.") from None

    def take_messages(self, messages: Sequence[TopicMessage]) -> None:
        """Process a chunk, as a whole or not at all if it is damaged."""
        tables = [read_table(message.raw) for message in messages if message.topic == STATE]
        texts = [json.loads(read_text(message.raw)) for message in messages if message.topic == EVENTS]
        if self.buffer is None or self.columns is None:
            return  # topics of another program with these names
        width = self.columns.width
        for table in tables:
            if table.shape[1] != width:
                text = f"its rows have {table.shape[1]} columns; its metadata declare {width}"
                raise RecordingError(f"{self.path} contains an invalid recording: {text}.")
        events = [event_of(text) for text in texts if "event" in text]
        singular = [float(text["t"]) for text in texts if "singular" in text and "event" not in text]
        self.buffer.append(self.columns.rows(np.concatenate([np.zeros((0, width)), *tables]), events, singular))
