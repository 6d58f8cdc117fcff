# SPDX-License-Identifier: Apache-2.0
"""Derivatives of motion: of single steps, and of many, forwards and backwards.

They are those of the steps that the simulation takes, to rounding: its integrator, loops brought back, quaternions at
unit length, stops, contact and control laws. Changes of q are velocities, those of a state [d_q; d_v].
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
    """The state after a step, and how it changes: d[q; v] = A d[q; v] + B dτ + P dp; of one state, or of N."""

    q: Array
    v: Array
    A: Array  # (2 nv, 2 nv)
    B: Array  # (2 nv, nv)
    P: Array  # (2 nv, parameters)


class Trajectory(NamedTuple):
    """A motion, R + 1 rows."""

    t: Array  # [s]
    q: Array
    v: Array


class TreeDerivatives(NamedTuple):
    """The rows of a motion by all coordinates of the tree; those that are kept at the start determine the others."""

    rows: LinearMap
    start: Array  # changes of all coordinates with those kept, at the start
    kept: list[int]


class LinearizedTrajectory(NamedTuple):
    """A motion, and how each row changes with the one before, efforts and parameters: d⁺ = A d + B dτ + P dp.

    Products over many rows are formed in coordinates of the tree and reduced at their ends, so that a row next to a
    singular configuration, where A loses digits, costs them none.
    """

    t: Array  # (R + 1,) [s]
    q: Array
    v: Array
    A: Array  # (R, 2 nv, 2 nv)
    B: Array  # (R, 2 nv, nv)
    P: Array  # (R, 2 nv, parameters)
    chain: TreeDerivatives

    def by_start(self) -> Array:
        """Derivatives of all rows by the first one, (R + 1, 2 nv, 2 nv)."""
        found = [self.chain.start]
        for A in self.chain.rows.A:
            found.append(A @ found[-1])
        return np.array(found)[:, self.chain.kept]

    def by_efforts(self) -> Array:
        """Derivatives of the last row by the efforts of each, (R, 2 nv, nv)."""
        rows = self.chain.rows
        found, after = [], np.eye(rows.A.shape[-1])[self.chain.kept]
        for A, B in zip(rows.A[::-1], rows.B[::-1], strict=True):
            found.append(after @ B)
            after = after @ A
        return np.array(found[::-1])

    def by_parameters(self) -> Array:
        """Derivatives of all rows by the parameters, (R + 1, 2 nv, parameters)."""
        rows = self.chain.rows
        found = [np.zeros(rows.P.shape[1:])]
        for A, P in zip(rows.A, rows.P, strict=True):
            found.append(A @ found[-1] + P)
        return np.array(found)[:, self.chain.kept]


class SimulationDerivatives:
    """Derivatives of the motion of a simulation; the simulation itself stays as it is."""

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
        """The state after a step, and its derivatives by the state before it and by the efforts.

        Args:
            q: positions, (nq,), or (N, nq) for N states.
            v: velocities.
            tau: efforts; those of the simulation by default.
            steps: as many as that, with the same efforts.
            coordinates: of the derivatives: "tree": each coordinate of the spanning tree by itself; "independent" or
                "actuated" (see `Dynamics.velocity_indices`): these, while all others follow along the loops. Then
                A is (2 m, 2 m).
            parameters: names of parameters of the model, as `Dynamics.parameters` has them, that P is wanted for.
            t: time before the step, for a law that depends on it; the present one by default [s].

        Raises:
            InputError: the simulation's steps have no derivatives, or the start leaves loops open.
            SingularConfigurationError: a step goes through a singular pose.
        """
        count, start = whole_steps("steps", steps), self.context.time(t)

        def ask(own: LinearizedSteps) -> StepDerivatives:
            X, efforts, is_batch = own.states(q, v, tau)
            found = own.by_coordinates(X, own.derivatives(X, own.inputs(X, efforts), count, start), coordinates)
            after, *linear = found if is_batch else (x[0] for x in found)
            nq = own.model.nq
            return StepDerivatives(after[..., :nq], after[..., nq:], *linear)

        return self._first_that_can(ask, parameters)

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
        """A motion under given efforts, linearised row by row.

        Args:
            q: positions at the start.
            v: velocities there; None for rest.
            tau: rows of efforts, (R, nv).
            hold: steps for which each row acts.
            coordinates: see `step_derivatives`.
            parameters: likewise.
            t: time of the start; the present one by default [s].
        """

        def ask(own: LinearizedSteps) -> LinearizedTrajectory:
            recorded = self._recorded(own, q, v, tau, hold, t)
            rows = recorded.linear()
            _, A, B, P = own.by_coordinates(recorded.states[:-1], rows, coordinates)
            chain = TreeDerivatives(rows, own.changes(recorded.states[:1], coordinates)[0], own.kept(coordinates))
            return LinearizedTrajectory(*self._path(recorded), A, B, P, chain)

        return self._first_that_can(ask, parameters)

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
        """A motion under given efforts, and its gradients: the discrete adjoint.

        Example::

            path, pull = sim.rollout_vjp(q, v, tau)
            g = pull(path.q[-1] - goal, path.v[-1])     # of ½ |q - goal|² + ½ |v|² at the end

        `pull(by_q, by_v)` takes the gradient of a number by the positions (as velocities) and by the velocities, at the
        last row, (nv,), or at all of them, (R + 1, nv); None for zero. It gives those by the start and by the efforts,
        at a small multiple of the time of the motion, whatever their number. Beside the rows it needs memory for some
        √N states, with N the number of all steps.

        Args:
            q: positions at the start.
            v: velocities there; None for rest.
            tau: rows of efforts, (R, nv).
            hold: steps for which each row acts.
            parameters: names of parameters of the model for which a gradient is wanted, too.
            t: time of the start; the present one by default [s].
        """
        recorded = self._first_that_can(lambda own: self._recorded(own, q, v, tau, hold, t), parameters)
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
        """Effect of an event on changes of the motion that leads to it, see `simulation.saltation`.

        Example::

            bounce = lambda q, v: ([q[0]], [-0.8 * v[0]])
            jump = sim.saltation_matrix(Event("lands", lambda t, q, v: q[0]), q, v, reset=bounce)
            whole = after.A @ jump.S @ before.A    # from a start to a time after it

        Args:
            event: or the name of one of the simulation's own; its function is of t, q and v by + - * / and
                `ada_dynamics.expr` alone.
            q: positions at the event.
            v: velocities there.
            tau: efforts; those of the simulation by default.
            t: its time; the present one by default [s].
            reset: positions and velocities after it, of those before it, in the same words; by default as before.

        Raises:
            EventError: the event cannot be differentiated, or is touched rather than crossed.
        """
        known = {one.name: one for one in self.context.events}
        if isinstance(event, str) and event not in known:
            raise unknown_name("event", event, known)
        this, time = known[event] if isinstance(event, str) else event, self.context.time(t)

        def ask(own: LinearizedSteps) -> Saltation:
            (x, *more), efforts, _ = own.states(q, v, tau)
            if more:
                raise InputError("q or v has rows; an event happens in one state.")
            rate = lambda state: own.rate(state, efforts, time)  # noqa: E731
            return saltation(this, time, x, own.model.nq, rate, own.tangents, reset)

        return self._first_that_can(ask, ())

    def _refuse_events(self, path: Trajectory) -> None:
        """Events that end a motion end its derivatives; they are looked for between the rows."""
        for event in (one for one in self.context.events if one.terminal):
            values = [event.value(*row) for row in zip(path.t.tolist(), path.q, path.v, strict=True)]
            for t, before, after in zip(path.t, values[:-1], values[1:], strict=False):
                if event.happens(before, after):
                    raise EventError(
                        f"event {event.name!r} ends the motion after t = {t:g} s; beyond it there is nothing to be "
                        "differentiated. Take fewer rows, and go on from it by saltation_matrix."
                    )

    def _recorded(
        self, steps: LinearizedSteps, q: ArrayLike, v: ArrayLike | None, tau: ArrayLike, hold: int, t: float | None
    ) -> RecordedTrajectory:
        model = self.context.system.model
        start, _, is_batch = steps.states(q, v, None)
        if is_batch:
            raise InputError(f"q or v has rows; a motion starts from one state: ({model.nq},) and ({model.nv},).")
        rows = np.asarray(tau, dtype=np.float64)
        if rows.ndim != 2 or not len(rows) or rows.shape[1] != model.nv:
            raise InputError(f"tau has shape {rows.shape}; it must be (R, {model.nv}), a row for every `hold` steps.")
        efforts = steps.finite_efforts(rows)
        return RecordedTrajectory(steps, start[0], efforts, whole_steps("hold", hold), self.context.time(t))

    def _path(self, recorded: RecordedTrajectory) -> Trajectory:
        nq, states = self.context.system.model.nq, recorded.states
        path = Trajectory(recorded.t, states[:, :nq].copy(), states[:, nq:].copy())
        self._refuse_events(path)
        return path

    def _first_that_can(self, ask: Callable[[LinearizedSteps], T], parameters: Sequence[str]) -> T:
        """An answer by the fastest kernels, or by those that only singular poses stop."""
        own = self._steps(parameters)
        try:
            return ask(own)
        except SingularConfigurationError:
            if own.robust is None:
                raise
            return ask(own.robust)

    def _steps(self, parameters: Sequence[str]) -> LinearizedSteps:
        names = tuple(parameters)
        if names not in self._known_steps:
            self._known_steps[names] = LinearizedSteps(self.context, names)
        return self._known_steps[names]

    @cached_property
    def _known_steps(self) -> dict[tuple[str, ...], LinearizedSteps]:
        return {}
