# SPDX-License-Identifier: Apache-2.0
"""Rows and events of a simulation: of a log, and of a running simulation, with the columns of memory and files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
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


@dataclass(frozen=True)
class Columns:
    """Columns of the table of rows, and the metadata that are known before the first row.

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

    def table(self, rows: Mapping[str, ArrayLike], count: int) -> Array:
        """Return rows as a table; wrenches that are not given are zero."""
        table = np.zeros((count, self.width))
        for key, columns in self.slices.items():
            table[:, columns] = rows.get(key, 0.0)
        return table

    def split(self, table: Array) -> dict[str, Array]:
        """Return the parts of a table."""
        return {key: table[:, columns] for key, columns in self.slices.items()}


class RowReceiver(ABC):
    """Receiver of the rows and events of a running simulation.

    Attributes:
        columns: present columns; wrenches on further links and of further contacts add columns.
    """

    def __init__(self, columns: Columns) -> None:
        """Initialize without rows."""
        self.columns = columns
        self._rows = 0
        self._events: list[EventRecord] = []
        self._singular: list[float] = []

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
        external, contact, own = external or {}, contact or {}, self.columns
        links, contacts = dict.fromkeys([*own.external, *external]), dict.fromkeys([*own.contacts, *contact])
        if len(links) > len(own.external) or len(contacts) > len(own.contacts):
            self.begin(replace(own, external=tuple(links), contacts=tuple(contacts)))
        times = np.atleast_1d(np.asarray(t, dtype=np.float64))
        rows: dict[str, ArrayLike] = {"t": times[:, None], "q": q, "v": v, "a": a, "tau": tau}
        rows |= {f"external {link}": wrench for link, wrench in external.items()}
        rows |= {f"contact {name}": wrench for name, wrench in contact.items()}
        self.take(self.columns.table(rows, len(times)))
        self._rows += len(times)

    def begin(self, columns: Columns) -> None:
        """Continue with other columns."""
        self.columns = columns

    @abstractmethod
    def take(self, table: Array) -> None:
        """Receive rows with the present columns."""

    def event(self, event: EventRecord) -> None:
        """Append an event."""
        self._events.append(event)

    def singular_configuration(self, t: float) -> None:
        """Append the time of a passage through a singular configuration [s]."""
        self._singular.append(float(t))


class LogBuffer(RowReceiver):
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
        super().__init__(Columns(model, contact_frames=contact_frames or {}, info=info or {}))
        self._keep, self._dynamics = keep, dynamics
        self._blocks: list[tuple[Columns, Array]] = []

    def take(self, table: Array) -> None:
        """Append rows."""
        if not self._keep and self._blocks:
            del self._blocks[1:]
            table = table[-1:]
        elif not self._keep and len(table) > 1:
            self._blocks.append((self.columns, table[:1]))
            table = table[-1:]
        if len(table):
            self._blocks.append((self.columns, table))

    def content(self, **info: Any) -> dict[str, Any]:
        """Return the arguments of `Log` for all rows so far, with additional information."""
        now = self.columns
        tables = [x if own == now else now.table(own.split(x), len(x)) for own, x in self._blocks]
        parts = now.split(np.concatenate([np.zeros((0, now.width)), *tables]))
        return {
            "model": now.model,
            "t": parts["t"][:, 0],
            **{name: parts[name] for name in ("q", "v", "a", "tau")},
            "external": {link: parts[f"external {link}"] for link in now.external},
            "contact_wrenches": {name: parts[f"contact {name}"] for name in now.contacts},
            "contact_frames": now.contact_frames,
            "dynamics": self._dynamics,
            "events": self._events,
            "singular": self._singular,
            "info": {**now.info, **info},
        }
