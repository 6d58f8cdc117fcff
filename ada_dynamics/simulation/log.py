# SPDX-License-Identifier: Apache-2.0
"""Log of a simulation: states and forces over time, its files and pictures."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.analysis.sampled_signals import hermite
from ada_dynamics.arrays import Array
from ada_dynamics.contact.contact import ContactFrame
from ada_dynamics.display import NotebookDisplay
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.log_quantities import LogQuantities
from ada_dynamics.simulation.log_rows import EventRecord, Recorder, RowBuffer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ada_dynamics.drawing.animate import Film
    from ada_dynamics.drawing.panels import Panel
    from ada_dynamics.drawing.robot_drawing import Plane
    from ada_dynamics.dynamics import Dynamics


PathLike = str | os.PathLike[str]

__all__ = ["ContactFrame", "EventRecord", "Log", "LogBuffer", "Recorder"]


class Log(NotebookDisplay, LogQuantities):
    """Simulated or recorded states, row by row.

    Example::

        log = sim.run(3.0)
        log.t, log.q, log.v, log.a, log.tau        # one row per logged step
        log.energy.kinetic, log.energy_drift       # computed on first access
        log.save("fall.npz"); log.to_mcap("fall.mcap"); log.to_csv("fall.csv")
        Log.load("fall.mcap").plot("fall.png")

    Attributes:
        model: the robot.
        t: times [s], (N,).
        q: configurations, (N, nq).
        v: velocities, (N, nv).
        a: accelerations, (N, nv); NaN if unknown.
        tau: joint torques of the motors, (N, nv); NaN if unknown.
        external: external wrench [f, n] by link, at the origin of the link in its axes, (N, 6).
        contact_wrenches: wrench [f, n] by contact, of the ground or the other body on the body of the contact, about
            the origin of the contact in world axes, (N, 6).
        contact_frames: origin by contact.
        events: events in chronological order.
        singular: times of steps so close to a singular configuration that the rate of the constraint Jacobian
            determined the acceleration [s]; `analysis.singularity` finds all singular configurations.
        signals: signals of a controller by name, one row per time of `signal_times`; not saved in files.
        signal_times: times of the calls of the controller [s].
        info: settings of the simulation (integrator, step, ...), serializable as JSON; `complete` is False if a
            recording was cut short.
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
                f"({len(self.t)}, {width}).",
                field=name,
                value=rows.shape,
                allowed=(len(self.t), width),
            )
        return rows

    # --- rows ---------------------------------------------------------------------------------------------------
    def __repr__(self) -> str:
        span = f"t = {self.t[0]:g} ... {self.t[-1]:g} s" if len(self) else "empty"
        return f"<Log of {self.model.name!r}: {len(self)} rows, {span}>"

    def __getitem__(self, rows: slice) -> Log:
        """Return the log of a range of rows, `log[i:j]`, with the events and singular times in this range."""
        if not isinstance(rows, slice):
            raise InputError(
                f"log[{rows!r:.50}]: the index must be a slice, log[i:j]; single rows are log.q[i], log.v[i]."
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
        """Return the info for a subset of rows, with the control period if torques change from row to row."""
        tau = np.nan_to_num(self.tau)
        if len(self) < 2 or "control_period" in self.info or not np.any(tau[1:] != tau[:-1]):
            return self.info
        return {**self.info, "control_period": float(np.min(np.diff(self.t))), "control_start": float(self.t[0])}

    def at(self, t: float) -> tuple[Array, Array]:
        """Return configuration and velocity at a time between two rows.

        The interpolation is cubic (Hermite) on the configuration manifold, with the velocities as slopes.

        Raises:
            InputError: the time is outside the log.
        """
        if np.ndim(t) or not len(self) or not self.t[0] <= t <= self.t[-1]:
            span = f"from {self.t[0]:g} to {self.t[-1]:g} s" if len(self) else "empty"
            raise InputError(f"t is {t!r:.80}; it must be one time, and the log is {span}.", field="t", value=t)
        i = int(np.searchsorted(self.t, t, side="right")) - 1
        if self.t[i] == t:
            return self.q[i].copy(), self.v[i].copy()
        h = float(self.t[i + 1] - self.t[i])
        s = (float(t) - float(self.t[i])) / h
        way = self.model.difference(self.q[i], self.q[i + 1])
        moved = hermite(s, np.zeros(self.model.nv), way, h * self.v[i], h * self.v[i + 1])
        slopes = np.array([self.a[i], self.a[i + 1]])
        if not np.isfinite(slopes).all():  # accelerations are unknown
            slopes[:] = (self.v[i + 1] - self.v[i]) / h
        v = hermite(s, self.v[i], self.v[i + 1], h * slopes[0], h * slopes[1])
        return self.model.integrate(self.q[i], moved), v

    def _file(self, path: PathLike | None, ending: str) -> Path:
        """Return a path; by default the name of the model in the working directory."""
        return Path(self.model.name + ending) if path is None else Path(path)

    # --- files --------------------------------------------------------------------------------------------------
    def save(self, path: PathLike | None = None) -> Path:
        """Save the log in the format of the file extension; return the file.

        Args:
            path: .npz (default) or .mcap, which `Log.load` reads, or .csv; the name of the model by default.

        Raises:
            InputError: the extension is unknown.
            RecordingError: the file cannot be written.
        """
        writers = {".npz": self.to_npz, ".mcap": self.to_mcap, ".csv": self.to_csv}
        ending = ".npz" if path is None else Path(path).suffix.lower() or ".npz"
        if ending not in writers:
            raise InputError(
                f"the log cannot be saved as {path}: the file extension must be one of {', '.join(writers)}.",
                field="path",
                value=ending,
                allowed=tuple(writers),
            )
        return writers[ending](path)

    def to_npz(self, path: PathLike | None = None) -> Path:
        """Save the log as an .npz file for `Log.load` and `numpy.load`; return the file."""
        from ada_dynamics.simulation.record.npz import write_npz

        return write_npz(self, self._file(path, ".npz"))

    def to_csv(self, path: PathLike | None = None) -> Path:
        """Save t, q, v, a, tau, wrenches and energies as a table with a header of names and units; return the file."""
        from ada_dynamics.simulation.record.csv_table import write_csv

        return write_csv(self, self._file(path, ".csv"))

    def to_mcap(self, path: PathLike | None = None, rate: float = 100.0) -> Path:
        """Save the log as an .mcap file for Foxglove, PlotJuggler, rerun and `Log.load`; return the file.

        Args:
            path: the file; the name of the model by default.
            rate: rate of the messages for viewers, such as /tf [Hz]; states are saved at all rows.
        """
        from ada_dynamics.simulation.record.recorder import write_mcap

        return write_mcap(self, self._file(path, ".mcap"), rate)

    @staticmethod
    def load(path: PathLike) -> Log:
        """Load an .npz or .mcap file that this library saved.

        A recording without an end (its process was killed, the disk was full) is loaded as far as it is complete, with
        a RecordingCutShortWarning and `log.info["complete"]` False.

        Raises:
            RecordingError: the file has another format or is damaged.
        """
        from ada_dynamics.simulation.record.log_reading import read_log

        return read_log(Path(path), Log)

    # --- pictures -----------------------------------------------------------------------------------------------
    def plot(
        self,
        path: PathLike | None = None,
        panels: Sequence[str | Panel] | None = None,
        *,
        joints: Sequence[str] | None = None,
    ) -> Figure:
        """Plot the log over time, see `drawing.plots.plot_log`; return the figure of matplotlib.

        Args:
            path: file to write; None for no file.
            panels: names of panels; a selection for the robot by default.
            joints: names of joints to plot, at most 8; those with the largest motion by default.
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
        """Save an animation, which a notebook displays; return the film, which is also the path of its file.

        Args:
            path: .gif (needs pillow), .mp4 (needs ffmpeg) or .png (one frame); the name of the model as .gif by
                default.
            fps: frames per second.
            speed: simulated seconds per second of the film.
            plane: plane of the view, or "3d"; by default "xz" for a robot that stays in it, else "3d".

        Raises:
            InputError: see `drawing.animate.animate`.
        """
        from ada_dynamics.drawing.animate import Film, animate

        return Film(animate(self, self._file(path, ".gif"), fps=fps, speed=speed, plane=plane))


class LogBuffer(RowBuffer):
    """Buffer of the rows of a running simulation, in memory and in recorders that write them to disk.

    Example::

        buffer = LogBuffer(model, recorders=[recorder], info={"integrator": "rkf45", "step": 1e-3})
        buffer.append(t, q, v, a, tau, external={"hand": w})     # rows, or one row
        log = buffer.log()                                       # later rows do not change it
    """

    def log(self, **info: Any) -> Log:
        """Return the log of all rows so far, with additional information."""
        return Log(**self.content(**info))
