# SPDX-License-Identifier: Apache-2.0
"""Context of a simulation: initial state, system, integrator, inputs and time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import closed_configuration
from ada_dynamics.constraints.singular import CLOSED
from ada_dynamics.contact.contact import Contact
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.arguments import Algorithm
from ada_dynamics.dynamics.computation import kernels_of
from ada_dynamics.dynamics.kernel_store import tree_fingerprint
from ada_dynamics.errors import InputError
from ada_dynamics.jit import Kernel
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.events import Event
from ada_dynamics.simulation.forces import Inputs
from ada_dynamics.simulation.integrator import Integrator
from ada_dynamics.simulation.methods import Method
from ada_dynamics.simulation.options import finite_array
from ada_dynamics.simulation.system import System, dynamics_for, frictionless

AT_REST = 1e-9  # [m/s, rad/s]
OPEN = 1e-6  # constraint violation [m, rad] or its rate [m/s, rad/s] beyond rounding
# Change of the velocity by the projection near a dead point (singular values down to a hundredth of the largest one),
# relative to the closure error times the largest velocity.
TURNED_BY_GAP = 100.0
BEYOND_ROUNDING = 3.0  # accepted constraint violation, relative to what remains after the projection


@dataclass(eq=False)
class SimulationContext:
    """System, integrator and inputs on a grid of time with `done` steps of length `step` since `origin`."""

    system: System
    integrator: Integrator
    inputs: Inputs
    step: float  # [s]
    log_every: int
    contact: Contact | None = None
    events: tuple[Event, ...] = ()
    law: Kernel | None = None  # control law that is part of the equations of motion
    origin: float = 0.0  # [s]
    done: int = 0

    @property
    def method(self) -> Method:
        """Integration method."""
        return self.integrator.method

    @property
    def t(self) -> float:
        """Current time [s]."""
        return self.origin + self.done * self.step

    def time(self, t: float | None) -> float:
        """Return the given time, or the current time if None [s]."""
        return float(finite_array("t", self.t if t is None else t, ()))

    @property
    def tau(self) -> Array:
        """Current joint torques of controllers and servos."""
        efforts = self.system.servo_efforts
        if efforts is None:
            return self.inputs.tau.copy()
        x, nq = self.integrator.x, self.system.model.nq
        return np.asarray(self.inputs.tau + efforts.single(x, self.inputs.at(self.t, x[:nq], x[nq:])))

    def restart(self, x: Array, t: float) -> None:
        """Continue from a state without history."""
        self.set_time(t)
        self.integrator.restart(x)
        self.inputs.restart()

    def set_time(self, t: float) -> None:
        """Start a new grid of time."""
        self.origin, self.done = self.time(t), 0

    def refuse_terminal_events(self) -> None:
        """Raise an InputError if an event ends runs, for calculations that do not locate events."""
        for event in self.events:
            if event.terminal:
                raise InputError(
                    f"event {event.name!r} is terminal, and only run() locates events; use it, or a simulation without "
                    "this event.",
                    field="events",
                    value=event.name,
                )


# --- initial state ----------------------------------------------------------------------------------------------------
def initial_state(
    model: Model,
    q: ArrayLike | Mapping[str, ArrayLike] | None,
    v: ArrayLike | None,
    algorithm: Algorithm,
    dynamics: Dynamics | None,
) -> tuple[Dynamics, Array]:
    """Return the dynamics of a simulation, given or new ones, and its closed initial state [q; v] after checks."""
    (q0, v0), own = checked_start(model, q, v), frictionless(model)
    if dynamics is None:
        dynamics = dynamics_for(own, algorithm, q0)
    elif (dynamics.model.joint_names, tree_fingerprint(dynamics.model.tree)) != (
        own.joint_names,
        tree_fingerprint(own.tree),
    ):
        raise InputError(
            f"dynamics is not of model {model.name!r} without joint friction: its joints, masses, gravity, loops or "
            "friction differ. Omit it, or use algorithm=.",
            field="dynamics",
        )
    return dynamics, closed_states(model, dynamics, q0[None], v0[None])[0]


def checked_start(
    model: Model, q: ArrayLike | Mapping[str, ArrayLike] | None, v: ArrayLike | None
) -> tuple[Array, Array]:
    """Return the initial configuration and velocity after a check; loops are closed with joints given by name.

    Raises:
        InputError: a vector has the wrong length or is not finite, or a quaternion is not normalized.
    """
    if q is None or isinstance(q, Mapping):
        q0 = np.array(closed_configuration(model, q, list(q or ())))
    else:
        q0 = finite_array("q", model.as_positions(q), (model.nq,))
    v0 = np.zeros(model.nv) if v is None else finite_array("v", model.as_velocities(v), (model.nv,))
    problems = model.position_problems(q0)
    if problems:
        raise InputError(f"q is not a configuration of model {model.name!r}: {'; '.join(problems)}.", field="q")
    return q0, v0


def closed_states(model: Model, dynamics: Dynamics, q: Array, v: Array) -> Array:
    """Return rows of states [q; v], projected onto the loop constraints.

    Raises:
        InputError: a state is invalid, or violates the constraints by more than rounding.
    """
    closed, where = kernels_of(dynamics).closed, [f"state {i}: " if len(q) > 1 else "" for i in range(len(q))]
    for row, *state in zip(where, q, v, strict=True):
        try:
            checked_start(model, *state)
        except InputError as problem:
            raise type(problem)(f"{row}{problem}", field=problem.field) from None
    if closed is None:
        return np.hstack([q, v])
    gap = np.max(np.abs(closed.violation(np.ascontiguousarray(q))), axis=1, initial=0.0)
    off = np.flatnonzero((gap >= CLOSED * closed.analysis.constraints.length) | v.any(axis=1))
    nearest, allowed = q.copy(), v.copy()
    nearest[off], allowed[off] = dynamics.project_to_constraints(q[off], v[off])
    gap, left = (np.max(np.abs(closed.weighted_violation(at)), axis=1, initial=0.0) for at in (q, nearest))
    for i in np.flatnonzero(gap > np.maximum(OPEN, BEYOND_ROUNDING * left)):
        gaps = {name: float(np.max(np.abs(g))) for name, g in dynamics.constraints.state(q[i]).violation.items()}
        shown = ", ".join(f"{name!r} by {gap:.3g}" for name, gap in gaps.items() if gap > 0.1 * OPEN)
        raise InputError(
            f"{where[i]}model {model.name!r}: the initial configuration violates loop constraints: {shown} [m, rad]; "
            "use q = ada.close_loops(model, q).",
            loop=max(gaps, key=lambda name: gaps[name]),
            field="q",
        )
    change, speed = (np.max(np.abs(x), axis=1, initial=0.0) for x in (allowed - v, v))
    allowed_change = np.maximum(OPEN, np.maximum(OPEN, TURNED_BY_GAP * left) * speed)  # fast motions leave more
    for i in np.flatnonzero(change > allowed_change):
        raise InputError(
            f"{where[i]}model {model.name!r}: the initial velocity violates the loop constraints: the projection "
            f"changes it by {change[i]:.3g}; use q, v = Dynamics(model, q0=q).project_to_constraints(q, v).",
            field="v",
        )
    return np.hstack([nearest, allowed])


def require_determinate(model: Model, dynamics: Dynamics, q: Array, v: Array) -> None:
    """Raise an InputError if the mechanism cannot move, or is at rest in a bifurcation."""
    if (closed := kernels_of(dynamics).closed) is None:
        return
    if closed.analysis.mobility == 0:
        raise InputError(f"model {model.name!r} has mobility 0 (see: ada check); remove a loop joint.")
    at_rest = np.all(np.abs(v) <= AT_REST) and dynamics.constraints.state(q).is_singular
    if at_rest and closed.solution(q, v)[1].is_singular:  # not where the constraints are nearly dependent everywhere
        ways = dynamics.constraints.branch_directions(q)
        shown = "; ".join(np.array2string(way, precision=4, separator=", ", suppress_small=True) for way in ways)
        raise InputError(
            f"model {model.name!r} is at rest in a singular configuration, where its motion is not determined"
            + (f"; branches: {shown}" if ways else "")
            + ". Start from another configuration, or with a velocity."
        )
