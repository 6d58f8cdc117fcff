# SPDX-License-Identifier: Apache-2.0
"""Quantities derived from the rows of a log: energy, wrenches, constraint violation, momentum."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.contact.contact import link_wrenches
from ada_dynamics.errors import InputError, SingularConfigurationWarning

if TYPE_CHECKING:
    from ada_dynamics.analysis.power import PowerBalance
    from ada_dynamics.constraints.analysis import UniqueComponents
    from ada_dynamics.contact.contact import ContactFrame
    from ada_dynamics.dynamics import Dynamics
    from ada_dynamics.dynamics.front import Energy
    from ada_dynamics.model.model import Model
    from ada_dynamics.simulation.log_rows import EventRecord

ROWS_AT_ONCE = 16384  # rows of one batch call
SAME_MOTION = 1e-4  # relative tolerance of accelerations, which lose digits near singular configurations


class LogQuantities:
    """Quantities of the rows of a log, cached on first access."""

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
    _given_dynamics: Dynamics | None

    def __len__(self) -> int:
        return len(self.t)

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
        from ada_dynamics.dynamics.front import Energy

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
        step of the
        simulation and every call of its controller (log_every=1, a control_period that is a multiple of the step).

        Raises:
            InputError: some rows have torques and others do not, or the contact frames are unknown.
        """
        from ada_dynamics.analysis.power import power_balance

        return power_balance(self, efforts=self.tau if np.isfinite(self.tau).any() else np.zeros_like(self.tau))

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
        return link_wrenches(self, self._parts())

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

    # --- in parts -----------------------------------------------------------------------------------------------
    def _parts(self) -> Iterator[slice]:
        for first in range(0, max(len(self.t), 1), ROWS_AT_ONCE):
            yield slice(first, min(first + ROWS_AT_ONCE, len(self.t)))

    def _in_parts(self, compute: Callable[[slice], Any], width: int) -> Array:
        """Compute a result in blocks of rows, which bounds the memory of temporary arrays."""
        result = np.empty((len(self.t), width))
        for rows in self._parts():
            result[rows] = compute(rows)
        return result
