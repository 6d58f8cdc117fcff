# SPDX-License-Identifier: Apache-2.0
"""Run loop: integrates between the discontinuities of the input, collects rows for the log and locates events."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.simulation.accuracy_checks import EnergyMonitor
from ada_dynamics.simulation.context import SimulationContext
from ada_dynamics.simulation.events import zero_between
from ada_dynamics.simulation.integrator import IntegrationError
from ada_dynamics.simulation.log_rows import EventRecord, LogRows

CHUNK = 2000  # steps per call of the integrator
CHUNK_WITH_EVENTS = 50
BLOCK = 1000  # rows of the log whose quantities are computed together
ON_GRID = 1e-9  # tolerance of times on the grid, as a fraction of the step


class RunLoop:
    """One call of `Simulation.run`.

    A row of the log contains the input that acts from its time on; it is written when that input is known.
    """

    def __init__(
        self,
        context: SimulationContext,
        energy: EnergyMonitor,
        recorders: Sequence[Callable[[LogRows], None]] = (),
    ) -> None:
        """Initialize the loop.

        Args:
            context: context of the simulation.
            energy: monitor of its energy.
            recorders: receivers of blocks of rows with their events, in this order.
        """
        self.context, self.energy, self.recorders = context, energy, recorders
        self.progress: Callable[[float], None] | None = None  # called with the elapsed simulated time [s]
        self.integrator = context.integrator
        self.begin = context.t
        self._steps_here = 0  # since the run began
        self._ended = False
        self._last_logged = -np.inf
        self._last_input: Array | None = None
        self._waiting: list[tuple[Array, Array, Array]] = []  # times, states, inputs
        self._rows_waiting = 0
        self._events: list[EventRecord] = []
        x, nq = self.integrator.x, context.system.model.nq
        self._values = [event.value(context.t, x[:nq], x[nq:]) for event in context.events]
        self._counted = len(self.integrator.counts.singular)
        self._before = self.integrator.counts.steps, self.integrator.counts.fallback

    # --- time ---------------------------------------------------------------------------------------------------
    def until(self, end: float) -> None:
        """Integrate to the time `end`; the last step is shortened if `end` is not on the grid of time."""
        context = self.context
        while not self._ended and end - context.t > ON_GRID * context.step:
            self._segment(end)
            if self.progress is not None:
                self.progress(context.t - self.begin)
        self._log_present(context.t)
        self.flush()
        self.energy.check(self.integrator.x[None])

    def _segment(self, end: float) -> None:
        """Take whole steps up to the next discontinuity of the input, or one step that contains it or the end."""
        context = self.context
        h, t = context.step, context.t
        self._update_input(t)
        if self._steps_here % context.log_every == 0:
            self._log_present(t)
        left, to_break = (end - t) / h, (context.inputs.next_break(t) - t) / h
        if left < 1.0 - ON_GRID:
            if self._shorter_steps(end):
                context.set_time(end)
        elif to_break < 1.0 - ON_GRID:
            if self._shorter_steps(t + h):
                context.done += 1
                self._steps_here += 1
        else:
            most = CHUNK_WITH_EVENTS if context.events else CHUNK
            self._whole_steps(t, max(1, int(min(left, to_break, most) + ON_GRID)))

    def _whole_steps(self, t: float, steps: int) -> None:
        context = self.context
        h = context.step
        before = self.integrator.x
        origin, first = context.origin, context.done - self._steps_here  # an event may change both
        every = 1 if context.events or context.method.is_adaptive else context.log_every
        if not self.recorders and not context.events:
            every = 0  # rows are not needed
        phase = self._steps_here % every if every else 0
        lost = None
        try:
            rows = self.integrator.advance(context.origin, context.done, steps, h, every, phase)
        except IntegrationError as problem:
            if problem.rows is None or not every:
                raise
            rows, lost = problem.rows, problem
            steps = len(rows) * every - phase + 1  # the last step has no row
        if context.events:
            steps = self._locate_events(t, h, np.vstack([before, rows[:-1]]), rows)
            rows = rows[: max(steps, 0)]
        if self.recorders:
            numbers = (self._steps_here // every + 1 + np.arange(len(rows))) * every
            due = (numbers % context.log_every == 0) & (numbers < self._steps_here + steps)
            self._log_rows(origin + (first + numbers[due]) * h, rows[due])
        if lost is not None:
            raise lost
        if not self._ended:
            context.done += steps
            self._steps_here += steps
        self.energy.follow(self.integrator.x, context.inputs.tau, steps)

    def _shorter_steps(self, end: float) -> bool:
        """Integrate to a time with steps that end at discontinuities; return False if an event ended the run."""
        t = self.context.t
        while not self._ended and end - t > ON_GRID * self.context.step:
            self._update_input(t)
            stop = min(end, self.context.inputs.next_break(t))
            if end - stop < ON_GRID * self.context.step:
                stop = end
            before = self.integrator.x
            self.integrator.advance(t, 0, 1, stop - t, 0)
            if self.context.events:
                self._locate_events(t, stop - t, before[None, :], self.integrator.x[None, :])
            self.energy.follow(self.integrator.x, self.context.inputs.tau, 1)
            t = stop
        return not self._ended

    def _update_input(self, t: float) -> None:
        x, nq = self.integrator.x, self.context.system.model.nq
        if self.context.inputs.pushes_end(t):
            self.flush()  # the queued rows have other pushes
        u = self.context.inputs.at(t, x[:nq], x[nq:])
        loads = self.context.system.equations.combination_inputs.start
        if u is not self._last_input and not np.array_equal(u[:loads], self.integrator.u[:loads]):
            self.integrator.u = u
        self._last_input = u

    # --- log ----------------------------------------------------------------------------------------------------
    def _log_present(self, t: float) -> None:
        if self.recorders and t > self._last_logged:
            self._log_rows(np.array([t]), self.integrator.x[None, :])

    def _log_rows(self, t: Array, x: Array) -> None:
        """Queue rows with the current input; their quantities are computed in blocks."""
        if not len(t):
            return
        self._waiting.append((t, x, np.tile(self.integrator.u, (len(t), 1))))
        self._rows_waiting += len(t)
        self._last_logged = float(t[-1])
        if self._rows_waiting >= BLOCK:
            self.flush()

    def flush(self) -> None:
        """Pass the queued rows and the events to the recorders."""
        singular = self.integrator.counts.singular[self._counted :]
        if not self.recorders or not (self._waiting or self._events or singular):
            return
        model = self.context.system.model
        rows = self._rows() if self._waiting else {"t": [], "q": np.zeros((0, model.nq)), "v": np.zeros((0, model.nv))}
        block = LogRows(model, **rows, events=self._events, singular=singular)
        self._events, self._counted = [], self._counted + len(singular)
        for recorder in self.recorders:
            recorder(block)

    def _rows(self) -> dict[str, Any]:
        """Return the queued rows with their accelerations, torques and wrenches."""
        context, nq, nv = self.context, self.context.system.model.nq, self.context.system.model.nv
        t, x, u = (np.ascontiguousarray(np.concatenate(parts)) for parts in zip(*self._waiting, strict=True))
        self._waiting, self._rows_waiting = [], 0
        q, v = np.ascontiguousarray(x[:, :nq]), np.ascontiguousarray(x[:, nq:])
        a = self.integrator.accelerations(x, u, t, context.step)
        contact: dict[str, Array] = {}
        if context.contact is not None and context.system.contacts is not None:
            found = self._contact_wrenches(q, v, a)
            contact = {name: found[:, i, :] for i, name in enumerate(context.contact.names)}
        tau = u[:, :nv]
        if context.law is not None:
            tau = tau + context.law.batch(np.ascontiguousarray(t[:, None]), q, v)
        if context.system.servo_efforts is not None:
            tau = tau + context.system.servo_efforts.batch(x, u)
        external = context.inputs.external(t, q, u)
        return {"t": t, "q": q, "v": v, "a": a, "tau": tau, "external": external, "contact_wrenches": contact}

    def _contact_wrenches(self, q: Array, v: Array, a: Array) -> Array:
        """Contact wrenches by row; for semi-implicit steps the wrenches during the step that follows."""
        context = self.context
        if not (self.integrator.method.is_direct and context.system.has_step):
            assert context.system.contacts is not None
            return np.asarray(context.system.contacts.batch_status(q, v)[0])
        h = context.step
        return np.asarray(context.system.step_contacts.batch_status(q, v, v + h * a, np.full((len(q), 1), h))[0])

    # --- events -------------------------------------------------------------------------------------------------
    def _locate_events(self, t: float, h: float, before: Array, after: Array) -> int:
        """Locate events in steps of length h from t on; return the number of steps up to a terminal event."""
        nq = self.context.system.model.nq
        for k, (x0, x1) in enumerate(zip(before, after, strict=True)):
            start = t + k * h
            found = []
            for i, event in enumerate(self.context.events):
                value = event.value(start + h, x1[:nq], x1[nq:])
                if event.happens(self._values[i], value):
                    found.append((self._event_time(i, x0, start, h, self._values[i], value), i))
                self._values[i] = value
            for (s, x), i in sorted(found, key=lambda one: one[0][0]):
                event = self.context.events[i]
                if self.recorders:
                    self._events.append(EventRecord(float(start + s), event.name, x[:nq], x[nq:]))
                if event.terminal:
                    self.integrator.x = x
                    self.context.set_time(float(start + s))
                    self._ended = True
                    return k + 1
            self.integrator.x = after[-1]
        return len(after)

    def _event_time(
        self, i: int, x0: Array, start: float, h: float, at_start: float, at_end: float
    ) -> tuple[float, Array]:
        """Return the time within a step at which an event occurs, and the state there."""
        nq, event = self.context.system.model.nq, self.context.events[i]
        state = x0

        def value(s: float) -> float:
            nonlocal state
            self.integrator.x = x0
            if s > 0.0:
                self.integrator.advance(start, 0, 1, s, 0)
            state = self.integrator.x
            return event.value(start + s, state[:nq], state[nq:])

        s = zero_between(value, 0.0, h, at_start, at_end)
        value(s)
        return s, state

    # --- figures ------------------------------------------------------------------------------------------------
    def figures(self, began: float) -> dict[str, Any]:
        """Return the computational cost of the run."""
        wall = time.perf_counter() - began
        counts, span = self.integrator.counts, self.context.t - self.begin
        return {
            "steps": counts.steps - self._before[0],
            "fallback_steps": counts.fallback - self._before[1],
            "wall_time": wall,
            "real_time_factor": span / wall if wall > 0.0 else np.inf,
        }
