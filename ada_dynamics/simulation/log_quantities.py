# SPDX-License-Identifier: Apache-2.0
"""Quantities derived from the rows of a log on demand: energy, wrenches, gaps, momentum."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.contact.wrenches import link_wrenches
from ada_dynamics.errors import InputError, SingularConfigurationWarning

if TYPE_CHECKING:
    from ada_dynamics.analysis.power import PowerBalance
    from ada_dynamics.constraints.analysis import UniqueComponents
    from ada_dynamics.contact.wrenches import ContactFrame
    from ada_dynamics.dynamics import Dynamics
    from ada_dynamics.dynamics.motion_queries import Energy
    from ada_dynamics.model.model import Model


ROWS_AT_ONCE = 16384  # of one batch call: enough for full speed, few enough for any memory
SAME_MOTION = 1e-4  # of accelerations; those beside singular poses have few digits


class LogQuantities:
    """Quantities of the rows of a log, kept once worked out."""

    model: Model
    t: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    external: dict[str, Array]
    contact_wrenches: dict[str, Array]
    contact_frames: dict[str, ContactFrame]
    _given_dynamics: Dynamics | None

    @cached_property
    def dynamics(self) -> Dynamics:
        """The dynamics for the quantities: the simulation's, or one made here."""
        if self._given_dynamics is not None:
            return self._given_dynamics
        from ada_dynamics.dynamics import Dynamics

        return Dynamics(self.model, q0=self.q[0] if self.model.loops and len(self.q) else None)

    @cached_property
    def energy(self) -> Energy:
        """Kinetic energy (with rotors) and potential energy (zero at the world's origin), (N,) each [J]."""
        from ada_dynamics.dynamics.motion_queries import Energy

        both = self._in_parts(lambda rows: np.column_stack(self.dynamics.energy(self.q[rows], self.v[rows])), 2)
        return Energy(np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1]))

    @property
    def total_energy(self) -> Array:
        """Kinetic and potential energy together, (N,) [J]."""
        return np.asarray(self.energy.kinetic + self.energy.potential, dtype=np.float64)

    @cached_property
    def balance(self) -> PowerBalance:
        """Where the energy came from and went to; see `analysis.power`. Efforts that nobody gave count as none.

        Work is nan, with an UnknownWorkWarning, from where on the rows do not show it: they need every step of the
        simulation and every call of its controller (log_every=1, a control_period that is a multiple of the step).

        Raises:
            InputError: some rows have efforts and others do not, or it is not known where contacts are.
        """
        from ada_dynamics.analysis.power import power_balance

        return power_balance(self, efforts=self.tau if np.isfinite(self.tau).any() else np.zeros_like(self.tau))

    @property
    def energy_drift(self) -> float:
        """Gain or loss of energy that no power explains: an error of the simulation, as a share of what moved.

        The largest residual of `balance`, by the largest kinetic energy, change of the potential one, or work of
        motors, external wrenches, contacts, stops, or of damping and friction. What these do is no drift. Nan, with an
        UnknownWorkWarning, where the rows do not show what these do (see `balance`).
        """
        return self.balance.worst

    @cached_property
    def com(self) -> Array:
        """Centre of mass of all bodies that can move, in the world, (N, 3) [m]."""
        return self._in_parts(lambda rows: self.dynamics.com(self.q[rows]), 3)

    @cached_property
    def momentum(self) -> Array:
        """Centroidal momentum [linear, angular] in the world's axes, (N, 6) [kg m/s, kg m²/s]."""
        return self._in_parts(lambda rows: self.dynamics.momentum(self.q[rows], self.v[rows]), 6)

    @cached_property
    def loop_gap(self) -> Array:
        """Largest gap of all loops, (N,) [m, rad]; zero without loops."""
        return self._in_parts(lambda rows: self.dynamics.constraints.closure_error(self.q[rows])[:, None], 1)[:, 0]

    @property
    def wrenches(self) -> dict[str, Array]:
        """By joint, tree joints and loop joints, the wrench [f, n] that it puts on its child, (N, 6).

        Axes as in `Dynamics.joint_wrenches`; external and contact wrenches are taken into account. Without loops they
        follow from the accelerations, whatever acted in the joints; loops need the efforts, too.

        Raises:
            InputError: the log has neither accelerations nor efforts, does not say where its contacts are, or more than
                its efforts acted in the joints of a mechanism with loops.
        """
        return self._wrenches_and_flags[0]

    @property
    def wrenches_unique(self) -> UniqueComponents:
        """By joint, which of the six components follow from the motion alone, in all rows (see `JointWrenches`)."""
        return self._wrenches_and_flags[1]

    @cached_property
    def applied(self) -> dict[str, Array]:
        """By link, external and contact wrenches together, [f, n] at the link's origin in its axes, (N, 6)."""
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
            with warnings.catch_warnings():  # `singular` has the times; `wrenches_unique` what is lost by it
                warnings.simplefilter("ignore", SingularConfigurationWarning)
                efforts = self._all_efforts(rows, wrenches)
                part = self.dynamics.joint_wrenches(self.q[rows], self.v[rows], efforts, wrenches)
            for joint, wrench in part.items():
                found.setdefault(joint, np.empty((len(self.t), 6)))[rows] = wrench
                flags[joint] = flags.get(joint, np.ones(6, dtype=bool)) & np.asarray(part.unique[joint])
        return found, flags

    def _all_efforts(self, rows: slice, wrenches: dict[str, Array] | None) -> Array:
        """Efforts that give the accelerations of the log: those of the motors, and of stops, friction and the like."""
        q, v, a, tau = self.q[rows], self.v[rows], self.a[rows], self.tau[rows]
        has_accelerations = bool(np.isfinite(a).all())
        if has_accelerations and not self.model.loops:
            return self.dynamics.inverse(q, v, a, wrenches)
        if not np.isfinite(tau).all():
            raise InputError("the log has no joint efforts (tau) in some rows; wrenches at joints need them.")
        if has_accelerations:
            off = np.max(np.abs(self.dynamics.forward(q, v, tau, wrenches) - a), axis=1, initial=0.0)
            wrong = np.flatnonzero(off > SAME_MOTION * (1.0 + np.max(np.abs(a), axis=1, initial=0.0)))
            if len(wrong):
                raise InputError(
                    f"at t = {self.t[rows][wrong[0]]:g} s more than the logged efforts acted in the joints (stops, "
                    "friction, a continuous controller), so how the loops shared it is not known; take rows without "
                    "it, log[i:j].wrenches."
                )
        return tau

    # --- in parts -----------------------------------------------------------------------------------------------
    def _parts(self) -> Iterator[slice]:
        for first in range(0, max(len(self.t), 1), ROWS_AT_ONCE):  # without rows one part, which has none
            yield slice(first, min(first + ROWS_AT_ONCE, len(self.t)))

    def _in_parts(self, compute: Callable[[slice], Any], width: int) -> Array:
        """Rows of a result, worked out part by part so that memory does not grow with temporary arrays."""
        result = np.empty((len(self.t), width))
        for rows in self._parts():
            result[rows] = compute(rows)
        return result
