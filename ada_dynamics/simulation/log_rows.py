# SPDX-License-Identifier: Apache-2.0
"""Rows and events of a log, and a buffer for those of a running simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.contact.contact import ContactFrame
from ada_dynamics.errors import InputError, invalid
from ada_dynamics.model.model import Model

if TYPE_CHECKING:
    from ada_dynamics.dynamics import Dynamics

ARRAYS = ("t", "q", "v", "a", "tau")


class EventRecord(NamedTuple):
    """An event that occurred between two steps."""

    t: float  # [s]
    name: str
    q: Array
    v: Array


class LogRows:
    """Rows of a log; see `log.Log` for the attributes."""

    model: Model
    t: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    external: dict[str, Array]
    contact_wrenches: dict[str, Array]
    contact_frames: dict[str, ContactFrame]
    events: list[EventRecord]
    singular: list[float]
    info: dict[str, Any]

    def __init__(
        self,
        model: Model,
        t: ArrayLike,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        *,
        external: Mapping[str, ArrayLike] | None = None,
        contact_wrenches: Mapping[str, ArrayLike] | None = None,
        contact_frames: Mapping[str, ContactFrame] | None = None,
        events: Sequence[EventRecord] = (),
        singular: Sequence[float] = (),
        info: Mapping[str, object] | None = None,
        dynamics: Dynamics | None = None,
    ) -> None:
        """Initialize the log; arrays that are float64 and contiguous are not copied.

        The arguments are the attributes with these names; `dynamics`, which computes quantities, is created if needed.

        Raises:
            InputError: the arrays do not match the model or each other.
        """
        self.model = model
        self.t = np.ascontiguousarray(t, dtype=np.float64)
        if self.t.ndim != 1:
            raise InputError(f"t has shape {self.t.shape}; it must be (N,), one time per row.", field="t")
        unknown = np.full((len(self.t), model.nv), np.nan)
        self.q = self._rows("q", q, model.nq)
        self.v = self._rows("v", v, model.nv)
        self.a = self._rows("a", unknown if a is None else a, model.nv)
        self.tau = self._rows("tau", unknown if tau is None else tau, model.nv)
        self.external = {link: self._rows(f"external[{link!r}]", w, 6) for link, w in (external or {}).items()}
        self.contact_wrenches = {
            name: self._rows(f"contact_wrenches[{name!r}]", w, 6) for name, w in (contact_wrenches or {}).items()
        }
        self.contact_frames = dict(contact_frames or {})
        self.events = list(events)
        self.singular = [float(time) for time in singular]
        self.info = {"complete": True, **(info or {})}
        self.signals: Mapping[str, Array] = {}
        self.signal_times: Array = np.zeros(0)
        self._given_dynamics = dynamics

    def _rows(self, name: str, values: ArrayLike, width: int) -> Array:
        rows = np.ascontiguousarray(values, dtype=np.float64)
        if rows.shape != (len(self.t), width):
            wanted = (len(self.t), width)
            required = f"{wanted} for {len(self.t)} rows of model {self.model.name!r}"
            raise invalid(name, rows.shape, required, "the shape of ", allowed=wanted)
        return rows

    def __len__(self) -> int:
        return len(self.t)


def selected(log: LogRows, rows: slice) -> dict[str, Any]:
    """Return the arguments of a log of some of the rows."""
    return {
        "model": log.model,
        **{name: getattr(log, name)[rows] for name in ARRAYS},
        "external": {link: wrench[rows] for link, wrench in log.external.items()},
        "contact_wrenches": {name: wrench[rows] for name, wrench in log.contact_wrenches.items()},
    }


class LogBuffer:
    """Rows and events of a running simulation in memory.

    Example::

        buffer = LogBuffer(model)
        buffer.append(LogRows(model, t, q, v, a, tau, external={"hand": w}))
        log = Log(**buffer.content())  # later rows do not change it
    """

    def __init__(self, model: Model, keep: bool = True) -> None:
        """Initialize an empty buffer.

        Args:
            model: the robot.
            keep: whether all rows are kept in memory; if False, only the first and the last row, for long recordings.
        """
        self._keep = keep
        self._blocks = [LogRows(model, [], np.zeros((0, model.nq)), np.zeros((0, model.nv)))]
        self._events: list[EventRecord] = []
        self._singular: list[float] = []

    def append(self, rows: LogRows) -> None:
        """Append a block of rows with its events; wrenches that it does not have are zero."""
        self._events += rows.events
        self._singular += rows.singular
        if self._keep:
            self._blocks.append(rows)
        elif len(rows):
            if len(self._blocks) == 1 and len(rows) > 1:
                self._blocks.append(LogRows(**selected(rows, slice(1))))
            self._blocks[2:] = [LogRows(**selected(rows, slice(-1, None)))]

    def content(self) -> dict[str, Any]:
        """Return model, rows and events so far as arguments of `Log`."""
        blocks = self._blocks
        found: dict[str, Any] = {"model": blocks[0].model, "events": self._events, "singular": self._singular}
        for array in ARRAYS:
            found[array] = np.concatenate([getattr(block, array) for block in blocks])
        for wrenches in ("external", "contact_wrenches"):
            parts = [(getattr(block, wrenches), np.zeros((len(block), 6))) for block in blocks]
            names = dict.fromkeys(name for given, _ in parts for name in given)
            found[wrenches] = {name: np.concatenate([given.get(name, none) for given, none in parts]) for name in names}
        return found
