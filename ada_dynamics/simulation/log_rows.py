# SPDX-License-Identifier: Apache-2.0
"""Rows and events of a simulation: of a log, and of a running simulation in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.contact.contact import ContactFrame
from ada_dynamics.errors import InputError
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
        self.q = self._rows("q", q, model.nq)
        self.v = self._rows("v", v, model.nv)
        self.a = self._rows("a", self._unknown() if a is None else a, model.nv)
        self.tau = self._rows("tau", self._unknown() if tau is None else tau, model.nv)
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

    def _unknown(self) -> Array:
        return np.full((len(self.t), self.model.nv), np.nan)

    def _rows(self, name: str, values: ArrayLike, width: int) -> Array:
        rows = np.ascontiguousarray(values, dtype=np.float64)
        if rows.shape != (len(self.t), width):
            raise InputError(
                f"{name} has shape {rows.shape}; {len(self.t)} rows of model {self.model.name!r} need "
                f"({len(self.t)}, {width}).",
                field=name,
                value=rows.shape,
                allowed=(len(self.t), width),
            )
        return rows

    def __len__(self) -> int:
        return len(self.t)


class LogBuffer:
    """Rows and events of a running simulation in memory.

    Example::

        buffer = LogBuffer(model, info={"integrator": "rkf45", "step": 1e-3})
        buffer.append(t, q, v, a, tau, external={"hand": w})     # rows, or one row
        log = Log(**buffer.content())                            # later rows do not change it
    """

    def __init__(
        self,
        model: Model,
        *,
        keep: bool = True,
        contact_frames: Mapping[str, ContactFrame] | None = None,
        info: Mapping[str, Any] | None = None,
        dynamics: Dynamics | None = None,
    ) -> None:
        """Initialize an empty buffer.

        Args:
            model: the robot.
            keep: whether all rows are kept in memory; if False, only the first and the last row, for long recordings.
            contact_frames: see `Log`.
            info: see `Log`.
            dynamics: see `Log`.
        """
        self._keep = keep
        self._constant = {"model": model, "contact_frames": contact_frames, "dynamics": dynamics}
        self._info: dict[str, Any] = dict(info or {})
        self._events: list[EventRecord] = []
        self._singular: list[float] = []
        widths = {"q": model.nq, "v": model.nv, "a": model.nv, "tau": model.nv}
        empty = {"t": np.zeros(0), **{name: np.zeros((0, width)) for name, width in widths.items()}}
        # blocks of rows: t, q, v, a and tau; external wrenches; contact wrenches
        self._blocks: list[tuple[dict[str, Array], ...]] = [(empty, {}, {})]
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
        state = {"q": q, "v": v, "a": a, "tau": tau}
        given, forces, contacts = (
            {name: np.atleast_2d(np.asarray(x, dtype=np.float64)) for name, x in part.items()}
            for part in (state, external or {}, contact or {})
        )
        kept = [slice(None)]
        if not self._keep:  # the first row and the last
            kept = [slice(-1, None)] if self._rows or len(times) == 1 else [slice(1), slice(-1, None)]
            del self._blocks[2:]
        for rows in kept:
            parts = ({"t": times, **given}, forces, contacts)
            self._blocks.append(tuple({name: x[rows].copy() for name, x in part.items()} for part in parts))
        self._rows += len(times)

    def event(self, event: EventRecord) -> None:
        """Append an event."""
        self._events.append(event)

    def singular_configuration(self, t: float) -> None:
        """Append the time of a passage through a singular configuration [s]."""
        self._singular.append(float(t))

    def content(self, **info: Any) -> dict[str, Any]:
        """Return the arguments of `Log` for all rows so far, with additional information."""
        return {
            **self._constant,
            **self._columns(0),
            "external": self._columns(1),
            "contact_wrenches": self._columns(2),
            "events": self._events,
            "singular": self._singular,
            "info": {**self._info, **info},
        }

    def _columns(self, part: int) -> dict[str, Array]:
        """Return the columns of one part of all blocks; wrenches are zero in blocks that lack them."""
        columns = {}
        for name in dict.fromkeys(chain.from_iterable(block[part] for block in self._blocks)):
            columns[name] = np.concatenate(
                [block[part].get(name, np.zeros((len(block[0]["t"]), 6))) for block in self._blocks]
            )
        return columns
