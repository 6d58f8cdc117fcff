# SPDX-License-Identifier: Apache-2.0
"""Metadata of a log file, as text: model, columns, contact frames, settings of the simulation, events."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ada_dynamics._version import __version__
from ada_dynamics.arrays import Array
from ada_dynamics.contact.contact import ContactFrame
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.log_quantities import LogQuantities
from ada_dynamics.simulation.log_rows import EventRecord
from ada_dynamics.simulation.record import model_text
from ada_dynamics.structured_text.files import to_json

FORMAT = "1"  # version of the format; other versions are rejected
WRENCH = 6


@dataclass(frozen=True)
class Content:
    """Metadata that are known before the first row.

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

    # --- columns of a row: t, q, v, a, tau, wrenches ---------------------------------------------------------------
    @cached_property
    def widths(self) -> list[int]:
        """Number of columns of t, q, v, a, tau, and of each wrench."""
        return [1, self.model.nq, *3 * [self.model.nv], *[WRENCH] * (len(self.external) + len(self.contacts))]

    @cached_property
    def width(self) -> int:
        """Number of columns."""
        return sum(self.widths)

    @cached_property
    def columns(self) -> list[slice]:
        """Columns of each part."""
        ends = np.cumsum(self.widths).tolist()
        return [slice(end - width, end) for end, width in zip(ends, self.widths, strict=True)]

    def split(self, table: Array) -> list[Array]:
        """Return the columns of each part of a table."""
        return [table[:, columns] for columns in self.columns]

    def with_wrenches(self, external: Sequence[str], contacts: Sequence[str]) -> Content:
        """Return a copy with additional columns."""
        return replace(self, external=(*self.external, *external), contacts=(*self.contacts, *contacts))

    # --- as text ----------------------------------------------------------------------------------------------------
    def texts(self) -> dict[str, str]:
        """Return the metadata as texts by key."""
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
        """Return the metadata from texts.

        Raises:
            ValueError: a text is missing or invalid.
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


def content_of(log: LogQuantities) -> Content:
    """Return the metadata of a log."""
    info = {key: value for key, value in log.info.items() if key != "complete"}
    return Content(log.model, tuple(log.external), tuple(log.contact_wrenches), log.contact_frames, info)


def event_text(event: EventRecord) -> str:
    """Return an event as JSON."""
    return to_json({"event": event.name, "t": event.t, "q": event.q, "v": event.v})


def event_of(content: Mapping[str, Any]) -> EventRecord:
    """Return the event from JSON."""
    q, v = (np.array(content[key], dtype=np.float64) for key in ("q", "v"))
    return EventRecord(float(content["t"]), str(content["event"]), q, v)
