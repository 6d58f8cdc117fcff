# SPDX-License-Identifier: Apache-2.0
"""Rows and events of a running simulation: the buffer in memory, and the interface of recorders that write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.contact.contact import ContactFrame
from ada_dynamics.model.model import Model

if TYPE_CHECKING:
    from ada_dynamics.dynamics import Dynamics

Wrenches = Mapping[str, ArrayLike]


class EventRecord(NamedTuple):
    """An event that occurred between two steps."""

    t: float  # [s]
    name: str
    q: Array
    v: Array


class Recorder(Protocol):
    """Receiver of the rows of a running simulation, such as `record.recorder.McapRecorder`."""

    def append(
        self,
        t: Array,
        q: Array,
        v: Array,
        a: Array,
        tau: Array,
        external: Mapping[str, Array],
        contact: Mapping[str, Array],
    ) -> None:
        """Record rows."""

    def event(self, event: EventRecord) -> None:
        """Record an event."""

    def singular_configuration(self, t: float) -> None:
        """Record the time of a passage through a singular configuration [s]."""

    def close(self, info: Mapping[str, Any] | None = None) -> None:
        """Finish the recording, with final information."""


class RowBuffer:
    """Rows and events in memory, which are also passed to recorders; see `log.LogBuffer`."""

    def __init__(
        self,
        model: Model,
        *,
        recorders: Sequence[Recorder] = (),
        keep: bool = True,
        contact_frames: Mapping[str, ContactFrame] | None = None,
        info: Mapping[str, Any] | None = None,
        dynamics: Dynamics | None = None,
    ) -> None:
        """Initialize an empty buffer.

        Args:
            model: the robot.
            recorders: receivers of all rows and events.
            keep: whether all rows are kept in memory; if False, only the first and the last row, for long recordings.
            contact_frames: see `Log`.
            info: see `Log`.
            dynamics: see `Log`.
        """
        self.model = model
        self.recorders = list(recorders)
        self.keep = keep
        self.contact_frames = dict(contact_frames or {})
        self.info: dict[str, Any] = dict(info or {})
        self.dynamics = dynamics
        self.events: list[EventRecord] = []
        self.singular: list[float] = []
        widths = {"t": 1, "q": model.nq, "v": model.nv, "a": model.nv, "tau": model.nv}
        self._state = {name: GrowableTable(width) for name, width in widths.items()}
        self._external: dict[str, GrowableTable] = {}
        self._contact: dict[str, GrowableTable] = {}
        self._rows = 0

    def __len__(self) -> int:
        """Number of rows that were appended."""
        return self._rows

    def append(
        self,
        t: ArrayLike,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        external: Wrenches | None = None,
        contact: Wrenches | None = None,
    ) -> None:
        """Append rows; the arrays are copied. The wrench of an omitted link or contact is zero.

        Args:
            t: times, (n,), or one time with all other arrays as one row.
            q: configurations, (n, nq).
            v: velocities, (n, nv).
            a: accelerations, (n, nv).
            tau: joint torques, (n, nv).
            external: external wrenches by link as in `Log`, (n, 6).
            contact: contact wrenches by contact as in `Log`, (n, 6).
        """
        times = np.atleast_1d(np.asarray(t, dtype=np.float64))
        if not len(times):
            return
        state = [_as_rows(x) for x in (q, v, a, tau)]
        forces = {link: _as_rows(w) for link, w in (external or {}).items()}
        contacts = {name: _as_rows(w) for name, w in (contact or {}).items()}
        before = len(self._state["t"])
        added = list(zip(self._state.values(), (times[:, None], *state), strict=True))
        for tables, given in ((self._external, forces), (self._contact, contacts)):
            for name in given:
                if name not in tables:
                    tables[name] = GrowableTable(6, before)
            added += [(table, given.get(name, np.zeros((len(times), 6)))) for name, table in tables.items()]
        for table, rows in added:
            if not self.keep and len(table):  # the first row and the last
                table.cut(1)
                rows = rows[-1:]
            elif not self.keep and len(rows) > 1:
                rows = rows[[0, -1]]
            table.append(rows)
        self._rows += len(times)
        for recorder in self.recorders:  # last, because a full disk ends the run
            recorder.append(times, state[0], state[1], state[2], state[3], forces, contacts)

    def event(self, event: EventRecord) -> None:
        """Append an event."""
        self.events.append(event)
        for recorder in self.recorders:
            recorder.event(event)

    def singular_configuration(self, t: float) -> None:
        """Append the time of a passage through a singular configuration [s]."""
        self.singular.append(float(t))
        for recorder in self.recorders:
            recorder.singular_configuration(t)

    def content(self, **info: Any) -> dict[str, Any]:
        """Return the arguments of `Log` for all rows so far, with additional information."""
        state, external, contact = (
            {name: table.rows() for name, table in tables.items()}
            for tables in (self._state, self._external, self._contact)
        )
        return {
            "model": self.model,
            **state,
            "t": state["t"][:, 0],
            "external": external,
            "contact_wrenches": contact,
            "contact_frames": self.contact_frames,
            "events": self.events,
            "singular": self.singular,
            "info": {**self.info, **info},
            "dynamics": self.dynamics,
        }


def _as_rows(x: ArrayLike) -> Array:
    rows = np.asarray(x, dtype=np.float64)
    return rows[None, :] if rows.ndim == 1 else rows


class GrowableTable:
    """Two-dimensional array whose capacity grows geometrically, so that the cost of a row is constant."""

    def __init__(self, width: int, zeros: int = 0) -> None:
        """Initialize the table.

        Args:
            width: number of columns.
            zeros: number of initial rows of zeros.
        """
        self._array = np.zeros((max(zeros, 16), width))
        self._count = zeros

    def __len__(self) -> int:
        return self._count

    def append(self, rows: Array) -> None:
        """Append rows as a copy."""
        count = self._count + len(rows)
        if count > len(self._array):
            # arrays that were returned before are views of the old array
            larger = np.empty((max(count, len(self._array) * 3 // 2), self._array.shape[1]))
            larger[: self._count] = self._array[: self._count]
            self._array = larger
        self._array[self._count : count] = rows
        self._count = count

    def cut(self, count: int) -> None:
        """Keep only the first rows; arrays that were returned before do not change."""
        self._array = self._array[:count].copy() if count < self._count else self._array
        self._count = min(count, self._count)

    def rows(self) -> Array:
        """Return all rows without a copy."""
        return self._array[: self._count]
