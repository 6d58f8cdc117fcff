# SPDX-License-Identifier: Apache-2.0
"""Derivatives of a simulation: of single steps and of trajectories, in forward and reverse mode.

They are exact derivatives of the steps that the simulation takes, including the integrator, the projection onto the
loop constraints, the normalization of quaternions, joint stops, contact and control laws. Differentials of q are
velocities, those of a state are [d_q; d_v].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.coordinates import TREE, Coordinates
from ada_dynamics.errors import EventError, InputError, SingularConfigurationError, unknown_name
from ada_dynamics.simulation.adjoint import RecordedTrajectory, TrajectoryGradient
from ada_dynamics.simulation.context import SimulationContext
from ada_dynamics.simulation.events import Event
from ada_dynamics.simulation.linearization import LinearizedSteps, LinearMap
from ada_dynamics.simulation.options import whole_steps
from ada_dynamics.simulation.saltation import Reset, Saltation, saltation

T = TypeVar("T")


class StepDerivatives(NamedTuple):
    """State after a step and its derivatives: d[q; v] = A d[q; v] + B dτ + P dp; for one state or for N."""

    q: Array
    v: Array
    A: Array  # (2 nv, 2 nv)
    B: Array  # (2 nv, nv)
    P: Array  # (2 nv, parameters)


class Trajectory(NamedTuple):
    """A simulated trajectory, R + 1 rows."""

    t: Array  # [s]
    q: Array
    v: Array


class TreeDerivatives(NamedTuple):
    """Derivatives of the rows of a trajectory in coordinates of the spanning tree.

    Attributes:
        rows: linear maps from row to row.
        start: derivative of all coordinates with respect to the selected ones, at the start.
        kept: indices of the selected coordinates.
    """

    rows: LinearMap
    start: Array  # changes of all coordinates with those kept, at the start
    kept: list[int]


class LinearizedTrajectory(NamedTuple):
    """A trajectory and the linear map of each row: d⁺ = A d + B dτ + P dp.

    Products over many rows are formed in coordinates of the spanning tree and reduced at their ends: a row close to a
    singular configuration, where A loses digits, does not affect them.
    """

    t: Array  # (R + 1,) [s]
    q: Array
    v: Array
    A: Array  # (R, 2 nv, 2 nv)
    B: Array  # (R, 2 nv, nv)
    P: Array  # (R, 2 nv, parameters)
    chain: TreeDerivatives

    def by_start(self) -> Array:
        """Derivatives of all rows with respect to the first one, (R + 1, 2 nv, 2 nv)."""
        found = [self.chain.start]
        for A in self.chain.rows.A:
            found.append(A @ found[-1])
        return np.array(found)[:, self.chain.kept]

    def by_efforts(self) -> Array:
        """Derivatives of the last row with respect to the torques of each row, (R, 2 nv, nv)."""
        rows = self.chain.rows
        found, after = [], np.eye(rows.A.shape[-1])[self.chain.kept]
        for A, B in zip(rows.A[::-1], rows.B[::-1], strict=True):
            found.append(after @ B)
            after = after @ A
        return np.array(found[::-1])

    def by_parameters(self) -> Array:
        """Derivatives of all rows with respect to the parameters, (R + 1, 2 nv, parameters)."""
        rows = self.chain.rows
        found = [np.zeros(rows.P.shape[1:])]
        for A, P in zip(rows.A, rows.P, strict=True):
            found.append(A @ found[-1] + P)
        return np.array(found)[:, self.chain.kept]


class SimulationDerivatives:
    """Derivatives of a simulation; the state of the simulation does not change."""

    context: SimulationContext

    def step_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        steps: int = 1,
        coordinates: Coordinates = TREE,
        parameters: Sequence[str] = (),
        t: float | None = None,
    ) -> StepDerivatives:
        """Return the state after a step and its derivatives with respect to the state, the torques and parameters.

        Args:
            q: configuration, (nq,), or (N, nq) for N states.
            v: velocity.
            tau: joint torques; those of the simulation by default.
            steps: number of steps with the same torques.
            coordinates: coordinates of the derivatives: "tree" for each coordinate of the spanning tree; "independent"
                or "actuated" (see `Dynamics.constraints`) for m of them, with all others along the loops; A is then
                (2 m, 2 m).
            parameters: names of parameters of the model, see `Dynamics.parameters`, for P.
            t: time before the step, for control laws that depend on it; the current time by default [s].

        Raises:
            InputError: the steps of the simulation have no derivatives, or the state violates the loop constraints.
            SingularConfigurationError: a step passes through a singular configuration.
        """
        count, start = whole_steps("steps", steps), self.context.time(t)

        def evaluate(own: LinearizedSteps) -> StepDerivatives:
            X, efforts, is_batch = own.states(q, v, tau)
            found = own.by_coordinates(X, own.derivatives(X, own.inputs(X, efforts), count, start), coordinates)
            after, *linear = found if is_batch else (x[0] for x in found)
            nq = own.model.nq
            return StepDerivatives(after[..., :nq], after[..., nq:], *linear)

        return self._with_fallback(evaluate, parameters)

    def rollout_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike | None,
        tau: ArrayLike,
        *,
        hold: int = 1,
        coordinates: Coordinates = TREE,
        parameters: Sequence[str] = (),
        t: float | None = None,
    ) -> LinearizedTrajectory:
        """Simulate with given torques and linearize each row.

        Args:
            q: initial configuration.
            v: initial velocity; zero if None.
            tau: rows of joint torques, (R, nv).
            hold: number of steps per row of torques.
            coordinates: see `step_derivatives`.
            parameters: see `step_derivatives`.
            t: initial time; the current time by default [s].
        """

        def evaluate(own: LinearizedSteps) -> LinearizedTrajectory:
            recorded = self._recorded(own, q, v, tau, hold, t)
            rows = recorded.linear()
            _, A, B, P = own.by_coordinates(recorded.states[:-1], rows, coordinates)
            chain = TreeDerivatives(rows, own.changes(recorded.states[:1], coordinates)[0], own.kept(coordinates))
            return LinearizedTrajectory(*self._path(recorded), A, B, P, chain)

        return self._with_fallback(evaluate, parameters)

    def rollout_vjp(
        self,
        q: ArrayLike,
        v: ArrayLike | None,
        tau: ArrayLike,
        *,
        hold: int = 1,
        parameters: Sequence[str] = (),
        t: float | None = None,
    ) -> tuple[Trajectory, Callable[..., TrajectoryGradient]]:
        """Simulate with given torques; return the trajectory and its vector-Jacobian product (discrete adjoint).

        Example::

            trajectory, pull = sim.rollout_vjp(q, v, tau)
            g = pull(trajectory.q[-1] - goal, trajectory.v[-1])     # of ½ |q - goal|² + ½ |v|² at the end

        `pull(by_q, by_v)` takes the gradient of a scalar with respect to q (as a velocity) and v at the last row,
        (nv,), or at all rows, (R + 1, nv); None for zero. It returns the gradients with respect to the initial state,
        the torques and the parameters. Its cost is a small multiple of the simulation, independent of their number; its
        memory is that of about √N states for N steps.

        Args:
            q: initial configuration.
            v: initial velocity; zero if None.
            tau: rows of joint torques, (R, nv).
            hold: number of steps per row of torques.
            parameters: names of parameters of the model, for gradients with respect to them.
            t: initial time; the current time by default [s].
        """
        recorded = self._with_fallback(lambda own: self._recorded(own, q, v, tau, hold, t), parameters)
        return self._path(recorded), recorded.gradient

    def saltation_matrix(
        self,
        event: Event | str,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        t: float | None = None,
        reset: Reset | None = None,
    ) -> Saltation:
        """Return the saltation matrix of an event, see `simulation.saltation`.

        Example::

            bounce = lambda q, v: ([q[0]], [-0.8 * v[0]])
            jump = sim.saltation_matrix(Event("touchdown", lambda t, q, v: q[0]), q, v, reset=bounce)
            whole = after.A @ jump.S @ before.A    # from a start to a time after the event

        Args:
            event: an event, or the name of an event of the simulation; its function of t, q and v uses + - * / and
                functions of `ada_dynamics.expr`.
            q: configuration at the event.
            v: velocity at the event.
            tau: joint torques; those of the simulation by default.
            t: time of the event; the current time by default [s].
            reset: function from q and v before the event to those after it, with the same operations; the identity by
                default.

        Raises:
            EventError: the event is not differentiable, or its zero is not simple.
        """
        known = {one.name: one for one in self.context.events}
        if isinstance(event, str) and event not in known:
            raise unknown_name("event", event, known)
        this, time = known[event] if isinstance(event, str) else event, self.context.time(t)

        def evaluate(own: LinearizedSteps) -> Saltation:
            (x, *more), efforts, _ = own.states(q, v, tau)
            if more:
                raise InputError("q or v has several rows; an event occurs in one state.", field="q")
            rate = lambda state: own.rate(state, efforts, time)  # noqa: E731
            return saltation(this, time, x, own.model.nq, rate, own.tangents, reset)

        return self._with_fallback(evaluate, ())

    def _reject_terminal_events(self, path: Trajectory) -> None:
        """Raise an EventError for a terminal event between the rows."""
        for event in (one for one in self.context.events if one.terminal):
            values = [event.value(*row) for row in zip(path.t.tolist(), path.q, path.v, strict=True)]
            for t, before, after in zip(path.t, values[:-1], values[1:], strict=False):
                if event.happens(before, after):
                    raise EventError(
                        f"event {event.name!r} ends the simulation after t = {t:g} s; use fewer rows, and continue "
                        "after the event with saltation_matrix."
                    )

    def _recorded(
        self, steps: LinearizedSteps, q: ArrayLike, v: ArrayLike | None, tau: ArrayLike, hold: int, t: float | None
    ) -> RecordedTrajectory:
        model = self.context.system.model
        start, _, is_batch = steps.states(q, v, None)
        if is_batch:
            raise InputError(
                f"q or v has several rows; a trajectory starts from one state: ({model.nq},) and ({model.nv},).",
                field="q",
            )
        rows = np.asarray(tau, dtype=np.float64)
        if rows.ndim != 2 or not len(rows) or rows.shape[1] != model.nv:
            raise InputError(
                f"tau has shape {rows.shape}; it must be (R, {model.nv}), one row per `hold` steps.", field="tau"
            )
        efforts = steps.finite_efforts(rows)
        return RecordedTrajectory(steps, start[0], efforts, whole_steps("hold", hold), self.context.time(t))

    def _path(self, recorded: RecordedTrajectory) -> Trajectory:
        nq, states = self.context.system.model.nq, recorded.states
        path = Trajectory(recorded.t, states[:, :nq].copy(), states[:, nq:].copy())
        self._reject_terminal_events(path)
        return path

    def _with_fallback(self, evaluate: Callable[[LinearizedSteps], T], parameters: Sequence[str]) -> T:
        """Evaluate with the fastest kernels, or with those that fail only in singular configurations."""
        own = self._steps(parameters)
        try:
            return evaluate(own)
        except SingularConfigurationError:
            if own.robust is None:
                raise
            return evaluate(own.robust)

    def _steps(self, parameters: Sequence[str]) -> LinearizedSteps:
        names = tuple(parameters)
        if names not in self._known_steps:
            self._known_steps[names] = LinearizedSteps(self.context, names)
        return self._known_steps[names]

    @cached_property
    def _known_steps(self) -> dict[tuple[str, ...], LinearizedSteps]:
        return {}
