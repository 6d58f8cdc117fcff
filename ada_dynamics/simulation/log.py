# SPDX-License-Identifier: Apache-2.0
"""Log of a simulation: states and forces over time, derived quantities, files and pictures."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.analysis.sampled_signals import hermite
from ada_dynamics.arrays import Array
from ada_dynamics.contact.contact import ContactFrame, link_wrenches
from ada_dynamics.display import NotebookDisplay
from ada_dynamics.errors import InputError, SingularConfigurationWarning, invalid
from ada_dynamics.simulation.log_rows import EventRecord, LogBuffer, LogRows, selected

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ada_dynamics.analysis.power import PowerBalance
    from ada_dynamics.constraints.analysis import UniqueComponents
    from ada_dynamics.drawing.animate import Film
    from ada_dynamics.drawing.panels import Panel
    from ada_dynamics.drawing.robot_drawing import Plane
    from ada_dynamics.dynamics import Dynamics
    from ada_dynamics.dynamics.dynamics import Energy

PathLike = str | os.PathLike[str]
ROWS_AT_ONCE = 16384  # rows of one batch call
SAME_MOTION = 1e-4  # relative tolerance of accelerations, which lose digits near singular configurations

__all__ = ["ContactFrame", "EventRecord", "Log", "LogBuffer"]


class Log(NotebookDisplay, LogRows):
    """Simulated or recorded states, row by row.

    Example::

        log = sim.run(3.0)
        log.t, log.q, log.v, log.a, log.tau        # one row per logged step
        log.energy.kinetic, log.energy_drift       # computed on first access
        log.save("fall.mcap"); log.to_csv("fall.csv"); log.to_npz("fall.npz")
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

    # --- rows ---------------------------------------------------------------------------------------------------
    def __repr__(self) -> str:
        span = f"t = {self.t[0]:g} ... {self.t[-1]:g} s" if len(self) else "empty"
        return f"<Log of {self.model.name!r}: {len(self)} rows, {span}>"

    def __getitem__(self, rows: slice) -> Log:
        """Return the log of a range of rows, `log[i:j]`, with the events and singular times in this range."""
        if not isinstance(rows, slice):
            raise InputError(f"log[{rows!r:.50}]: use a slice, log[i:j]; single rows are log.q[i], log.v[i].")
        t = self.t[rows]
        first, last = (float(np.min(t)), float(np.max(t))) if len(t) else (np.inf, -np.inf)
        return Log(
            **selected(self, rows),
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

    # --- quantities -------------------------------------------------------------------------------------------------
    @cached_property
    def dynamics(self) -> Dynamics:
        """Dynamics that compute the quantities: those of the simulation, or new ones."""
        if self._given_dynamics is not None:
            return self._given_dynamics
        from ada_dynamics.dynamics import Dynamics

        return Dynamics(self.model, q0=self.q[0] if self.model.loops and len(self.q) else None)

    @cached_property
    def energy(self) -> Energy:
        """Kinetic energy (with rotors) and potential energy (zero at the origin of the world), (N,) each [J]."""
        from ada_dynamics.dynamics.dynamics import Energy

        both = self._in_parts(lambda rows: np.column_stack(self.dynamics.energy(self.q[rows], self.v[rows])), 2)
        return Energy(np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1]))

    @property
    def total_energy(self) -> Array:
        """Sum of kinetic and potential energy, (N,) [J]."""
        return np.asarray(self.energy.kinetic + self.energy.potential, dtype=np.float64)

    @cached_property
    def balance(self) -> PowerBalance:
        """Power balance, see `analysis.power`. Unknown torques count as zero.

        Work is NaN, with an UnknownWorkWarning, after the first row that does not determine it: the rows need every
        step and every call of the controller (log_every=1, a control_period that is a multiple of the step).

        Raises:
            InputError: some rows have torques and others do not, or the contact frames are unknown.
        """
        from ada_dynamics.analysis.power import power_balance

        return power_balance(self)

    @property
    def energy_drift(self) -> float:
        """Energy error of the simulation, as a fraction of the exchanged energy.

        It is the largest residual of `balance`, relative to the largest of the kinetic energy, the change of the
        potential energy, and the work of motors, external wrenches, contacts, joint stops, damping and friction. NaN,
        with an UnknownWorkWarning, if the rows do not determine the work (see `balance`).
        """
        return self.balance.worst

    @cached_property
    def com(self) -> Array:
        """Centre of mass of all movable bodies in the world, (N, 3) [m]."""
        return self._in_parts(lambda rows: self.dynamics.com(self.q[rows]), 3)

    def path(self, link: str, point: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
        """Positions of a point of a link in the world, (N, 3) [m]; the point is in the frame of the link."""
        from ada_dynamics.analysis.linkages import point_path

        return self._in_parts(lambda rows: point_path(self.dynamics, link, self.q[rows], point), 3)

    @cached_property
    def momentum(self) -> Array:
        """Centroidal momentum [linear, angular] in world axes, (N, 6) [kg m/s, kg m²/s]."""
        return self._in_parts(lambda rows: self.dynamics.momentum(self.q[rows], self.v[rows]), 6)

    @cached_property
    def loop_gap(self) -> Array:
        """Closure error, the largest constraint violation of all loops, (N,) [m, rad]; zero without loops."""
        return self._in_parts(lambda rows: self.dynamics.constraints.closure_error(self.q[rows])[:, None], 1)[:, 0]

    @property
    def wrenches(self) -> dict[str, Array]:
        """Wrench [f, n] of each tree and loop joint on its child, (N, 6).

        Axes are those of `Dynamics.joint_wrenches`; external and contact wrenches are included. Without loops the
        wrenches follow from the accelerations alone; with loops the torques are needed.

        Raises:
            InputError: the log has neither accelerations nor torques, its contact frames are unknown, or unlogged
                torques acted in the joints of a mechanism with loops.
        """
        return self._wrenches_and_flags[0]

    @property
    def wrenches_unique(self) -> UniqueComponents:
        """Flags by joint of the six components that are uniquely determined in all rows, see `JointWrenches`."""
        return self._wrenches_and_flags[1]

    @cached_property
    def applied(self) -> dict[str, Array]:
        """External and contact wrenches by link, [f, n] at the origin of the link in its axes, (N, 6)."""
        if not self.contact_wrenches:
            return self.external
        total = {link: wrench.copy() for link, wrench in self.external.items()}
        for rows in self._parts():
            wrenches = {name: wrench[rows] for name, wrench in self.contact_wrenches.items()}
            for link, wrench in link_wrenches(self.dynamics, self.q[rows], wrenches, self.contact_frames).items():
                total.setdefault(link, np.zeros((len(self.t), 6)))[rows] += wrench
        return total

    @cached_property
    def _wrenches_and_flags(self) -> tuple[dict[str, Array], UniqueComponents]:
        applied = self.applied
        found: dict[str, Array] = {}
        flags: UniqueComponents = {}
        for rows in self._parts():
            wrenches = {link: wrench[rows] for link, wrench in applied.items()} or None
            with warnings.catch_warnings():  # `singular` and `wrenches_unique` contain this information
                warnings.simplefilter("ignore", SingularConfigurationWarning)
                efforts = self._all_efforts(rows, wrenches)
                part = self.dynamics.joint_wrenches(self.q[rows], self.v[rows], efforts, wrenches)
            for joint, wrench in part.items():
                found.setdefault(joint, np.empty((len(self.t), 6)))[rows] = wrench
                flags[joint] = flags.get(joint, np.ones(6, dtype=bool)) & np.asarray(part.unique[joint])
        return found, flags

    def _all_efforts(self, rows: slice, wrenches: dict[str, Array] | None) -> Array:
        """Return the torques that produce the logged accelerations: of motors, joint stops, friction and others."""
        q, v, a, tau = self.q[rows], self.v[rows], self.a[rows], self.tau[rows]
        has_accelerations = bool(np.isfinite(a).all())
        if has_accelerations and not self.model.loops:
            return self.dynamics.inverse(q, v, a, wrenches)
        if not np.isfinite(tau).all():
            raise InputError("the log has no joint torques (tau) in some rows, which joint wrenches need.", field="tau")
        if has_accelerations:
            off = np.max(np.abs(self.dynamics.forward(q, v, tau, wrenches) - a), axis=1, initial=0.0)
            wrong = np.flatnonzero(off > SAME_MOTION * (1.0 + np.max(np.abs(a), axis=1, initial=0.0)))
            if len(wrong):
                raise InputError(
                    f"at t = {self.t[rows][wrong[0]]:g} s unlogged torques acted in the joints (joint stops, friction, "
                    "a continuous controller), so the constraint forces are unknown; use other rows, log[i:j].wrenches."
                )
        return tau

    def _parts(self) -> Iterator[slice]:
        for first in range(0, max(len(self.t), 1), ROWS_AT_ONCE):
            yield slice(first, min(first + ROWS_AT_ONCE, len(self.t)))

    def _in_parts(self, compute: Callable[[slice], Any], width: int) -> Array:
        """Compute a result in blocks of rows, which bounds the memory of temporary arrays."""
        result = np.empty((len(self.t), width))
        for rows in self._parts():
            result[rows] = compute(rows)
        return result

    # --- files --------------------------------------------------------------------------------------------------
    def _file(self, path: PathLike | None, ending: str) -> Path:
        """Return a path; by default the name of the model in the working directory."""
        return Path(self.model.name + ending) if path is None else Path(path)

    def save(self, path: PathLike | None = None) -> Path:
        """Save the log in the format of the file extension; return the file.

        Args:
            path: .mcap (default), which `Log.load` reads, .npz or .csv; the name of the model by default.

        Raises:
            InputError: the extension is unknown.
            RecordingError: the file cannot be written.
        """
        writers = {".mcap": self.to_mcap, ".npz": self.to_npz, ".csv": self.to_csv}
        ending = ".mcap" if path is None else Path(path).suffix.lower() or ".mcap"
        if ending not in writers:
            raise invalid(
                "path", str(path), f"a file with one of the extensions {', '.join(writers)}", allowed=tuple(writers)
            )
        return writers[ending](path)

    def to_npz(self, path: PathLike | None = None) -> Path:
        """Save the arrays t, q, v, a, tau and wrenches as an .npz file for `numpy.load`; return the file."""
        from ada_dynamics.simulation.record.log_files import write_npz

        return write_npz(self, self._file(path, ".npz"))

    def to_csv(self, path: PathLike | None = None) -> Path:
        """Save t, q, v, a, tau, wrenches and energies as a table with a header of names and units; return the file."""
        from ada_dynamics.simulation.record.log_files import write_csv

        quantities = [*self.energy, *([self.loop_gap] if self.model.loops else [])]
        return write_csv(self, self._file(path, ".csv"), quantities)

    def to_mcap(self, path: PathLike | None = None, rate: float = 100.0) -> Path:
        """Save the log as an .mcap file for Foxglove, PlotJuggler, rerun and `Log.load`; return the file.

        Args:
            path: the file; the name of the model by default.
            rate: rate of the messages for viewers, such as /tf [Hz]; states are saved at all rows.
        """
        from ada_dynamics.simulation.record.recorder import write_mcap

        return write_mcap(self, self._file(path, ".mcap"), rate, self.dynamics)

    @staticmethod
    def load(path: PathLike) -> Log:
        """Load an .mcap file that this library saved.

        A recording without an end (its process was killed, the disk was full) is loaded as far as it is complete, with
        a RecordingCutShortWarning and `log.info["complete"]` False.

        Raises:
            RecordingError: the file has another format or is damaged.
        """
        from ada_dynamics.simulation.record.log_files import read_log

        return Log(**read_log(Path(path)))

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
        trace: tuple[str, ArrayLike] | None = None,
        forces: bool = False,
    ) -> Film:
        """Save an animation, which a notebook displays; return the film, which is also the path of its file.

        Args:
            path: .gif (needs pillow), .mp4 (needs ffmpeg) or .png (one frame); the name of the model as .gif by
                default.
            fps: frames per second.
            speed: simulated seconds per second of the film.
            plane: plane of the view, or "3d"; by default "xz" for a robot that stays in it, else "3d".
            trace: link and point in its frame [m], whose path is drawn.
            forces: whether arrows show the forces in the joints on their child links.

        Raises:
            InputError: see `drawing.animate.animate`.
        """
        from ada_dynamics.drawing.animate import Film, animate

        file = self._file(path, ".gif")
        return Film(animate(self, file, fps=fps, speed=speed, plane=plane, trace=trace, forces=forces))
