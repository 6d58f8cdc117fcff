# SPDX-License-Identifier: Apache-2.0
"""The log of a motion: states over time and what acted on the robot; and the buffer that a running simulation fills."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.analysis.sampled_signals import hermite
from ada_dynamics.arrays import Array
from ada_dynamics.contact.wrenches import ContactFrame
from ada_dynamics.display import NotebookDisplay
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.log_quantities import LogQuantities

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ada_dynamics.drawing.animate import Film
    from ada_dynamics.drawing.panels import Panel
    from ada_dynamics.drawing.robot_drawing import Plane
    from ada_dynamics.dynamics import Dynamics


PathLike = str | os.PathLike[str]
Wrenches = Mapping[str, ArrayLike]

__all__ = ["ContactFrame", "EventRecord", "Log", "LogBuffer", "Recorder"]


class EventRecord(NamedTuple):
    """Something that happened between two steps."""

    t: float  # [s]
    name: str
    q: Array
    v: Array


class Log(NotebookDisplay, LogQuantities):
    """A motion, row by row.

    Example::

        log = sim.run(3.0)
        log.t, log.q, log.v, log.a, log.tau        # one row per logged step
        log.energy.kinetic, log.energy_drift       # worked out when first asked for
        log.save("fall.npz"); log.to_mcap("fall.mcap"); log.to_csv("fall.csv")
        Log.load("fall.mcap").plot("fall.png")

    Attributes:
        model: the robot.
        t: times [s], (N,).
        q: positions, (N, nq).
        v: velocities, (N, nv).
        a: accelerations, (N, nv); NaN where nobody gave them.
        tau: joint efforts of the motors, (N, nv); NaN where nobody gave them.
        external: by link, the external wrench [f, n] at the link's origin in its axes, (N, 6).
        contact_wrenches: by contact, the wrench [f, n] of the ground (or of the other body) on the body of that contact
            about the contact's origin, in the world's axes, (N, 6).
        contact_frames: by contact, where its origin is.
        events: what happened, in the order of time.
        singular: times of steps so near to a singular pose that the rate of the loop conditions decided [s];
            `analysis.singularity` finds all of them.
        signals: of a controller, by name, a row for each time of `signal_times`; not kept in files.
        signal_times: when the controller was called [s].
        info: how it was made (integrator, step, ...), fit for JSON; `complete` is False where a recording was cut
            short.
    """

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
        """Take arrays as they are, without a copy where they are float64 and contiguous.

        Arguments are the attributes of these names; `dynamics`, what works out quantities, is made when needed.

        Raises:
            InputError: the arrays do not fit to the model or to each other.
        """
        self.model = model
        self.t = np.ascontiguousarray(t, dtype=np.float64)
        if self.t.ndim != 1:
            raise InputError(f"t has shape {self.t.shape}; a log needs one time per row, (N,).")
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
        self.info: dict[str, Any] = {"complete": True, **(info or {})}
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
                f"({len(self.t)}, {width})."
            )
        return rows

    # --- rows ---------------------------------------------------------------------------------------------------
    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        span = f"t = {self.t[0]:g} ... {self.t[-1]:g} s" if len(self) else "empty"
        return f"<Log of {self.model.name!r}: {len(self)} rows, {span}>"

    def __getitem__(self, rows: slice) -> Log:
        """The log of some rows, `log[i:j]`; events and singular poses outside of their times are left out."""
        if not isinstance(rows, slice):
            raise InputError(
                f"log[{rows!r:.50}]: give a range of rows, log[i:j]; single values are log.q[i], log.v[i]."
            )
        t = self.t[rows]
        first, last = (float(np.min(t)), float(np.max(t))) if len(t) else (np.inf, -np.inf)
        return Log(
            self.model,
            t,
            self.q[rows],
            self.v[rows],
            self.a[rows],
            self.tau[rows],
            external={link: w[rows] for link, w in self.external.items()},
            contact_wrenches={name: w[rows] for name, w in self.contact_wrenches.items()},
            contact_frames=self.contact_frames,
            events=[event for event in self.events if first <= event.t <= last],
            singular=[time for time in self.singular if first <= time <= last],
            info=self._holding_info() if rows.step not in (None, 1) else self.info,
            dynamics=self._given_dynamics,
        )

    def _holding_info(self) -> dict[str, Any]:
        """For a log of less rows: efforts that change from row to row hold for that time, if nothing else is known."""
        tau = np.nan_to_num(self.tau)
        if len(self) < 2 or "control_period" in self.info or not np.any(tau[1:] != tau[:-1]):
            return self.info
        return {**self.info, "control_period": float(np.min(np.diff(self.t))), "control_start": float(self.t[0])}

    def at(self, t: float) -> tuple[Array, Array]:
        """Position and velocity at a time between two rows.

        Cubic (Hermite) on the configuration manifold: exact in the rows, with their velocities as slopes.

        Raises:
            InputError: the time is not within the log.
        """
        if np.ndim(t) or not len(self) or not self.t[0] <= t <= self.t[-1]:
            span = f"from {self.t[0]:g} to {self.t[-1]:g} s" if len(self) else "empty"
            raise InputError(f"t is {t!r:.80}; it must be one time, and the log is {span}.")
        i = int(np.searchsorted(self.t, t, side="right")) - 1
        if self.t[i] == t:
            return self.q[i].copy(), self.v[i].copy()
        h = float(self.t[i + 1] - self.t[i])
        s = (float(t) - float(self.t[i])) / h
        way = self.model.difference(self.q[i], self.q[i + 1])
        moved = hermite(s, np.zeros(self.model.nv), way, h * self.v[i], h * self.v[i + 1])
        slopes = np.array([self.a[i], self.a[i + 1]])
        if not np.isfinite(slopes).all():  # nobody gave accelerations
            slopes[:] = (self.v[i + 1] - self.v[i]) / h
        v = hermite(s, self.v[i], self.v[i + 1], h * slopes[0], h * slopes[1])
        return self.model.integrate(self.q[i], moved), v

    def _file(self, path: PathLike | None, ending: str) -> Path:
        """Without a path: the model's name, where the program runs."""
        return Path(self.model.name + ending) if path is None else Path(path)

    # --- files --------------------------------------------------------------------------------------------------
    def save(self, path: PathLike | None = None) -> Path:
        """Write everything to a file of the kind that its ending says. Returns the file.

        Args:
            path: .npz (also without an ending) or .mcap, which `Log.load` reads, or .csv; the model's name by default.

        Raises:
            InputError: the ending is another one.
            RecordingError: the file cannot be written.
        """
        writers = {".npz": self.to_npz, ".mcap": self.to_mcap, ".csv": self.to_csv}
        ending = ".npz" if path is None else Path(path).suffix.lower() or ".npz"
        if ending not in writers:
            raise InputError(f"the log cannot be saved as {path}: its ending must be one of {', '.join(writers)}.")
        return writers[ending](path)

    def to_npz(self, path: PathLike | None = None) -> Path:
        """Write everything to an .npz file, which `Log.load` and `numpy.load` read. Returns the file."""
        from ada_dynamics.simulation.record.npz import write_npz

        return write_npz(self, self._file(path, ".npz"))

    def to_csv(self, path: PathLike | None = None) -> Path:
        """Write t, q, v, a, tau, wrenches and energies as a table with a line of names and units. Returns the file."""
        from ada_dynamics.simulation.record.csv_table import write_csv

        return write_csv(self, self._file(path, ".csv"))

    def to_mcap(self, path: PathLike | None = None, rate: float = 100.0) -> Path:
        """Write everything to an .mcap file, for Foxglove, PlotJuggler, rerun and `Log.load`. Returns the file.

        Args:
            path: the file; the model's name by default.
            rate: of what is there for viewers, such as /tf [Hz]; the states themselves are all in it.
        """
        from ada_dynamics.simulation.record.recorder import write_mcap

        return write_mcap(self, self._file(path, ".mcap"), rate)

    @staticmethod
    def load(path: PathLike) -> Log:
        """Read an .npz or .mcap file that this library wrote.

        A recording without an end (its run was killed, its disk was full) gives what is in it, with a
        RecordingCutShortWarning and `log.info["complete"]` False.

        Raises:
            RecordingError: the file is no such file, or is damaged.
        """
        from ada_dynamics.simulation.record.log_reading import read_log

        return read_log(Path(path))

    # --- pictures -----------------------------------------------------------------------------------------------
    def plot(
        self,
        path: PathLike | None = None,
        panels: Sequence[str | Panel] | None = None,
        *,
        joints: Sequence[str] | None = None,
    ) -> Figure:
        """Draw the motion over time; see `drawing.plots.plot_log`. Returns matplotlib's Figure.

        Args:
            path: file to write; none where None.
            panels: names of panels; those that suit the robot by default.
            joints: whose curves are drawn, at most 8; by default those that move most, where a robot has more.
        """
        from ada_dynamics.drawing.plots import plot_log

        figure: Figure = plot_log(self, path, panels, joints=joints)
        return figure

    def animate(
        self,
        path: PathLike | None = None,
        *,
        fps: float = 25.0,
        speed: float = 1.0,
        plane: Plane | None = None,
    ) -> Film:
        """Write a moving picture, which a notebook shows. Returns the film, which is also the path of its file.

        Args:
            path: .gif (needs pillow), .mp4 (needs ffmpeg) or .png (one frame); the model's name as .gif by default.
            fps: frames per second.
            speed: seconds of the motion per second of the film.
            plane: seen along an axis or in space; by default "xz" for a robot that stays in it, else "3d".

        Raises:
            InputError: as `drawing.animate.animate`.
        """
        from ada_dynamics.drawing.animate import Film, animate

        return Film(animate(self, self._file(path, ".gif"), fps=fps, speed=speed, plane=plane))


class Recorder(Protocol):
    """Receives the rows of a running simulation; `record.recorder.McapRecorder` is one."""

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
        """Take some rows."""

    def event(self, event: EventRecord) -> None:
        """Take an event."""

    def singular_configuration(self, t: float) -> None:
        """Take the time at which a singular pose was passed."""

    def close(self, info: Mapping[str, Any] | None = None) -> None:
        """End, with what is known about the motion by then."""


class LogBuffer:
    """Where a simulation puts its rows while it runs: arrays that grow, and recorders that write them to disk.

    Example::

        buffer = LogBuffer(model, recorders=[recorder], info={"integrator": "rkf45", "step": 1e-3})
        buffer.append(t, q, v, a, tau, external={"hand": w})     # some rows, or one
        log = buffer.log()                                       # any time; later rows do not change it
    """

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
        """Begin without rows.

        Args:
            model: the robot.
            recorders: get all rows and events, too.
            keep: whether rows are kept in memory. Without it, only the first and the last one are, so that a recording
                may take hours.
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
        self._t = GrowableTable(1)
        self._own = {"q": GrowableTable(model.nq), **{name: GrowableTable(model.nv) for name in ("v", "a", "tau")}}
        self._external: dict[str, GrowableTable] = {}
        self._contact: dict[str, GrowableTable] = {}
        self._rows = 0

    def __len__(self) -> int:
        """How many rows were appended."""
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
        """Add rows; the arrays are copied. A link or contact that is left out has no wrench in these rows.

        Args:
            t: times, (n,), or one time with all other arrays one row.
            q: positions, (n, nq).
            v: velocities, (n, nv).
            a: accelerations, (n, nv).
            tau: joint efforts, (n, nv).
            external: by link, external wrenches as in `Log`, (n, 6).
            contact: by contact, contact wrenches as in `Log`, (n, 6).
        """
        times = np.atleast_1d(np.asarray(t, dtype=np.float64))
        if not len(times):
            return
        own = {name: _as_rows(x) for name, x in (("q", q), ("v", v), ("a", a), ("tau", tau))}
        forces = {link: _as_rows(w) for link, w in (external or {}).items()}
        touches = {name: _as_rows(w) for name, w in (contact or {}).items()}
        self._rows += len(times)
        tables = [(self._t, times[:, None]), *((self._own[name], rows) for name, rows in own.items())]
        before = len(self._t)
        for kept, given in ((self._external, forces), (self._contact, touches)):
            for name in given:
                kept.setdefault(name, GrowableTable(6, before))
            tables += [(table, given.get(name, np.zeros((len(times), 6)))) for name, table in kept.items()]
        for table, rows in tables:
            if not self.keep and len(table):  # the first row and the last
                table.cut(1)
                rows = rows[-1:]
            elif not self.keep and len(rows) > 1:
                rows = rows[[0, -1]]
            table.append(rows)
        for recorder in self.recorders:  # last, because one whose disk is full ends the run
            recorder.append(times, own["q"], own["v"], own["a"], own["tau"], forces, touches)

    def event(self, event: EventRecord) -> None:
        """Add an event."""
        self.events.append(event)
        for recorder in self.recorders:
            recorder.event(event)

    def singular_configuration(self, t: float) -> None:
        """Add the time at which a singular pose was passed [s]."""
        self.singular.append(float(t))
        for recorder in self.recorders:
            recorder.singular_configuration(t)

    def log(self, **info: Any) -> Log:
        """The log of all rows until now, with more to say about how it was made."""
        return Log(
            self.model,
            self._t.rows()[:, 0],
            **{name: table.rows() for name, table in self._own.items()},
            external={link: table.rows() for link, table in self._external.items()},
            contact_wrenches={name: table.rows() for name, table in self._contact.items()},
            contact_frames=self.contact_frames,
            events=self.events,
            singular=self.singular,
            info={**self.info, **info},
            dynamics=self.dynamics,
        )


def _as_rows(x: ArrayLike) -> Array:
    rows = np.asarray(x, dtype=np.float64)
    return rows[None, :] if rows.ndim == 1 else rows


class GrowableTable:
    """A 2-D array that grows by a factor when it is full, so that a row costs the same however many there are."""

    def __init__(self, width: int, zeros: int = 0) -> None:
        """Args: columns, and how many rows of zeros to begin with."""
        self._array = np.zeros((max(zeros, 16), width))
        self._count = zeros

    def __len__(self) -> int:
        return self._count

    def append(self, rows: Array) -> None:
        """Copy rows to the end."""
        count = self._count + len(rows)
        if count > len(self._array):
            # Rows handed out stay as they are: views of the old array.
            larger = np.empty((max(count, len(self._array) * 3 // 2), self._array.shape[1]))
            larger[: self._count] = self._array[: self._count]
            self._array = larger
        self._array[self._count : count] = rows
        self._count = count

    def cut(self, count: int) -> None:
        """Forget all rows but the first ones; what was handed out stays as it is."""
        self._array = self._array[:count].copy() if count < self._count else self._array
        self._count = min(count, self._count)

    def rows(self) -> Array:
        """All rows, without a copy."""
        return self._array[: self._count]
