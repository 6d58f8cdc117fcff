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
from ada_dynamics.errors import InputError, SingularConfigurationError
from ada_dynamics.simulation.context import SimulationContext
from ada_dynamics.simulation.linearization import LinearizedSteps, RecordedTrajectory, TrajectoryGradient
from ada_dynamics.simulation.options import finite_array, whole_steps
from ada_dynamics.simulation.rollout import Rollout

T = TypeVar("T")


class StepDerivatives(NamedTuple):
    """State after a step and its derivatives: d[q; v] = A d[q; v] + B dτ + P dp; for one state or for N."""

    q: Array
    v: Array
    A: Array  # (2 nv, 2 nv)
    B: Array  # (2 nv, nv)
    P: Array  # (2 nv, parameters)


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
        t: ArrayLike | None = None,
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
            t: time before the step, for control laws that depend on it, or N times; the current time by default [s].

        Raises:
            InputError: the steps of the simulation have no derivatives, or the state violates the loop constraints.
            SingularConfigurationError: a step passes through a singular configuration.
        """
        count = whole_steps("steps", steps)

        def evaluate(own: LinearizedSteps) -> StepDerivatives:
            X, efforts, is_batch = own.states(q, v, tau)
            times = np.broadcast_to(finite_array("t", self.context.t if t is None else t, (), (len(X),)), len(X))
            found = own.derivatives(X, own.inputs(X, efforts), count, times)
            found = own.by_coordinates(X, found, coordinates)
            after, *linear = found if is_batch else (x[0] for x in found)
            nq = own.model.nq
            return StepDerivatives(after[..., :nq], after[..., nq:], *linear)

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
    ) -> tuple[Rollout, Callable[..., TrajectoryGradient]]:
        """Simulate with given torques; return the trajectory and its vector-Jacobian product (discrete adjoint).

        The linear map of each row is that of `step_derivatives` of the rows.

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

    def _reject_terminal_events(self, path: Rollout) -> None:
        """Raise an InputError for a terminal event between the rows."""
        for event in (one for one in self.context.events if one.terminal):
            values = [event.value(*row) for row in zip(path.t.tolist(), path.q, path.v, strict=True)]
            for t, before, after in zip(path.t, values[:-1], values[1:], strict=False):
                if event.happens(before, after):
                    raise InputError(
                        f"event {event.name!r} ends the simulation after t = {t:g} s; use fewer rows.", field="tau"
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
        efforts = finite_array("tau", tau, ("R", model.nv))
        return RecordedTrajectory(
            steps, steps.closed(start)[0], efforts, whole_steps("hold", hold), self.context.time(t)
        )

    def _path(self, recorded: RecordedTrajectory) -> Rollout:
        nq, states = self.context.system.model.nq, recorded.states
        path = Rollout(recorded.t, states[:, :nq].copy(), states[:, nq:].copy())
        self._reject_terminal_events(path)
        return path

    def _with_fallback(self, evaluate: Callable[[LinearizedSteps], T], parameters: Sequence[str]) -> T:
        """Evaluate with the fastest kernels, or with those that fail only in singular configurations."""
        names = tuple(parameters)
        if names not in self._known_steps:
            self._known_steps[names] = LinearizedSteps(self.context, names)
        own = self._known_steps[names]
        try:
            return evaluate(own)
        except SingularConfigurationError:
            if own.robust is None:
                raise
            return evaluate(own.robust)

    @cached_property
    def _known_steps(self) -> dict[tuple[str, ...], LinearizedSteps]:
        return {}
