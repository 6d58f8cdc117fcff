# SPDX-License-Identifier: Apache-2.0
"""The content of a file beside its rows, as text: model, columns, places of contacts, origin of the motion, events."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ada_dynamics._version import __version__
from ada_dynamics.arrays import Array
from ada_dynamics.model.model import Model
from ada_dynamics.output_files import to_json
from ada_dynamics.simulation.log import ContactFrame, EventRecord, Log
from ada_dynamics.simulation.record import model_text

FORMAT = "1"  # of what is written here; another one is refused
WRENCH = 6


@dataclass(frozen=True)
class Content:
    """All that is known before the first row.

    Attributes:
        model: the robot.
        external: links that have external wrenches, in the order of the columns.
        contacts: contacts, likewise.
        contact_frames: where they are.
        info: how the motion is made.
    """

    model: Model
    external: tuple[str, ...] = ()
    contacts: tuple[str, ...] = ()
    contact_frames: Mapping[str, ContactFrame] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)

    # --- columns of a row: t, q, v, a, tau, wrenches ---------------------------------------------------------------
    @cached_property
    def widths(self) -> list[int]:
        """Columns of t, q, v, a, tau, and of each wrench."""
        return [1, self.model.nq, *3 * [self.model.nv], *[WRENCH] * (len(self.external) + len(self.contacts))]

    @cached_property
    def width(self) -> int:
        """Columns of a row."""
        return sum(self.widths)

    @cached_property
    def columns(self) -> list[slice]:
        """Where they are."""
        ends = np.cumsum(self.widths).tolist()
        return [slice(end - width, end) for end, width in zip(ends, self.widths, strict=True)]

    def split(self, table: Array) -> list[Array]:
        """The columns of each part."""
        return [table[:, columns] for columns in self.columns]

    def with_wrenches(self, external: Sequence[str], contacts: Sequence[str]) -> Content:
        """The same with more columns."""
        return replace(self, external=(*self.external, *external), contacts=(*self.contacts, *contacts))

    # --- as text ----------------------------------------------------------------------------------------------------
    def texts(self) -> dict[str, str]:
        """All of it as text, by key."""
        frames = {name: [frame.link, list(frame.xyz), frame.other] for name, frame in self.contact_frames.items()}
        return {
            "format": FORMAT,
            "ada_dynamics": __version__,
            "model": model_text.to_text(self.model),
            "external": to_json(list(self.external)),
            "contacts": to_json(list(self.contacts)),
            "contact_frames": to_json(frames),
            "info": to_json(self.info),
        }

    @classmethod
    def of_texts(cls, texts: Mapping[str, str]) -> Content:
        """The content of texts.

        Raises:
            ValueError: something is missing or unusable.
        """
        missing = [
            key for key in ("format", "model", "external", "contacts", "contact_frames", "info") if key not in texts
        ]
        if missing:
            raise ValueError(f"it has no {', '.join(missing)}")
        if texts["format"] != FORMAT:
            raise ValueError(f"its format is {texts['format']!r}, and this version reads {FORMAT!r}")
        frames = {
            str(name): ContactFrame(str(link), (float(x), float(y), float(z)), None if other is None else str(other))
            for name, (link, (x, y, z), other) in json.loads(texts["contact_frames"]).items()
        }
        return cls(
            model_text.from_text(texts["model"]),
            tuple(map(str, json.loads(texts["external"]))),
            tuple(map(str, json.loads(texts["contacts"]))),
            frames,
            dict(json.loads(texts["info"])),
        )


def content_of(log: Log) -> Content:
    """The content of a log beside its rows."""
    info = {key: value for key, value in log.info.items() if key != "complete"}
    return Content(log.model, tuple(log.external), tuple(log.contact_wrenches), log.contact_frames, info)


def event_text(event: EventRecord) -> str:
    """An event as JSON."""
    return to_json({"event": event.name, "t": event.t, "q": event.q, "v": event.v})


def event_of(content: Mapping[str, Any]) -> EventRecord:
    """The event of what was read."""
    q, v = (np.array(content[key], dtype=np.float64) for key in ("q", "v"))
    return EventRecord(float(content["t"]), str(content["event"]), q, v)
