# SPDX-License-Identifier: Apache-2.0
"""A run: from break to break of the input in compiled loops, with rows for the log and a look at the events."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.simulation.events import zero_between
from ada_dynamics.simulation.log import EventRecord, LogBuffer
from ada_dynamics.simulation.motion import Motion
from ada_dynamics.simulation.number_march import MotionError

CHUNK = 2000  # steps at once
CHUNK_WITH_EVENTS = 50
BLOCK = 1000  # rows of the log that are worked out together
ON_GRID = 1e-9  # of a step: a time that near to the end of a step is there


class Run:
    """One call of `Simulation.run`.

    The row of a time holds the input that acts from then on, so that a row waits until the next input is known.
    """

    def __init__(
        self, motion: Motion, buffer: LogBuffer | None = None, progress: Callable[[float], None] | None = None
    ) -> None:
        """Args: the motion, where rows go, and what is called with the time that has passed."""
        self.motion, self.buffer, self.progress = motion, buffer, progress
        self.stepper = motion.stepper
        self.begin = motion.t
        self._steps_here = 0  # since the run began
        self._ended = False
        self._last_logged = -np.inf
        self._last_input: Array | None = None
        self._waiting: list[tuple[Array, Array, Array]] = []  # times, states, inputs
        self._rows_waiting = 0
        self._values = [event.value(motion.t, motion.q, motion.v) for event in motion.events]
        self._counted = len(self.stepper.counts.singular)
        self._steps_before = self.stepper.counts.steps
        self._careful_before = self.stepper.counts.careful

    # --- time ---------------------------------------------------------------------------------------------------
    def until(self, end: float) -> None:
        """Move on to a time; steps stay on the grid of earlier ones, and one that passes the end is shortened."""
        motion = self.motion
        h = motion.step
        while not self._ended:
            left = (end - motion.t) / h
            whole = int(left + ON_GRID)
            if whole < 1:
                if left > ON_GRID:
                    self._refresh(motion.t)
                    self._log_present_if_due(motion.t)
                    if self._shorter_steps(end):
                        motion.set_time(end)
                break
            self._segment(whole)
            if self.progress is not None:
                self.progress(motion.t - self.begin)
        self._log_present(motion.t)
        self.flush()
        self._tell_singular()

    def _segment(self, most: int) -> None:
        """Whole steps to the next break of the input, or one step that has a break in it."""
        motion = self.motion
        h, t = motion.step, motion.t
        self._refresh(t)
        self._log_present_if_due(t)
        to_break = (motion.inputs.next_break(t) - t) / h
        steps = min(most, CHUNK_WITH_EVENTS if motion.events else CHUNK)
        if to_break < 1.0 - ON_GRID:
            if self._shorter_steps(t + h):
                motion.done += 1
                self._steps_here += 1
            return
        if to_break < np.inf:
            steps = max(1, min(steps, int(to_break + ON_GRID)))
        self._whole_steps(t, steps)

    def _whole_steps(self, t: float, steps: int) -> None:
        motion = self.motion
        h = motion.step
        before = self.stepper.x
        origin, first = motion.origin, motion.done - self._steps_here  # which an event may change
        every = 1 if motion.events or self.stepper.method.is_adaptive else motion.log_every
        if self.buffer is None and not motion.events and not self.stepper.method.is_adaptive:
            every = 0  # nobody looks at the rows
        phase = self._steps_here % every if every else 0
        lost = None
        try:
            rows = self._march(motion.origin, motion.done, steps, h, every, phase)
        except MotionError as problem:
            if problem.rows is None or not every:
                raise
            rows, lost = problem.rows, problem
            steps = len(rows) * every - phase + 1  # of which the last is not kept
        if motion.events:
            steps = self._look(t, h, np.vstack([before, rows[:-1]]), rows)
            rows = rows[: max(steps, 0)]
        if self.buffer is not None:
            if every != motion.log_every:
                numbers = self._steps_here + 1 + np.arange(len(rows))
            else:
                numbers = (self._steps_here // every + 1 + np.arange(len(rows))) * every
            due = (numbers % motion.log_every == 0) & (numbers < self._steps_here + steps)
            self._log_rows(origin + (first + numbers[due]) * h, rows[due])
        if lost is not None:
            raise lost
        if not self._ended:
            motion.done += steps
            self._steps_here += steps

    def _march(self, origin: float, first: int, steps: int, h: float, every: int, phase: int) -> Array:
        if self.stepper.method.is_adaptive:
            return self.stepper.march_adaptively(origin, first, steps, h)
        return self.stepper.march(origin, first, steps, h, every, phase)

    def _shorter_steps(self, end: float) -> bool:
        """Steps from break to break of the input, up to a time; no rows. False where an event ended the run before."""
        t = self.motion.t
        while not self._ended and end - t > ON_GRID * self.motion.step:
            self._refresh(t)
            stop = min(end, self.motion.inputs.next_break(t))
            if end - stop < ON_GRID * self.motion.step:
                stop = end
            before = self.stepper.x
            self._march(t, 0, 1, stop - t, 0, 0)
            if self.motion.events:
                self._look(t, stop - t, before[None, :], self.stepper.x[None, :])
            t = stop
        return not self._ended

    def _refresh(self, t: float) -> None:
        x, nq = self.stepper.x, self.motion.system.model.nq
        if self.motion.inputs.pushes_end(t):
            self.flush()  # rows with another push are worked out on their own
        u = self.motion.inputs.at(t, x[:nq], x[nq:])
        loads = self.motion.system.equations.chosen.start
        if u is not self._last_input and not np.array_equal(u[:loads], self.stepper.u[:loads]):
            self.stepper.u = u
        self._last_input = u

    # --- log ----------------------------------------------------------------------------------------------------
    def _log_present_if_due(self, t: float) -> None:
        if self._steps_here % self.motion.log_every == 0:
            self._log_present(t)

    def _log_present(self, t: float) -> None:
        if self.buffer is None or t <= self._last_logged:
            return
        self._log_rows(np.array([t]), self.stepper.x[None, :])

    def _log_rows(self, t: Array, x: Array) -> None:
        """Rows under the present input; they are worked out together with later ones."""
        if self.buffer is None or not len(t):
            return
        self._waiting.append((t, x, np.tile(self.stepper.u, (len(t), 1))))
        self._rows_waiting += len(t)
        self._last_logged = float(t[-1])
        if self._rows_waiting >= BLOCK:
            self.flush()

    def flush(self) -> None:
        """Hand the rows that wait to the log."""
        if self.buffer is None or not self._waiting:
            return
        motion, nq, nv = self.motion, self.motion.system.model.nq, self.motion.system.model.nv
        t, x, u = (np.ascontiguousarray(np.concatenate(parts)) for parts in zip(*self._waiting, strict=True))
        self._waiting, self._rows_waiting = [], 0
        q, v = np.ascontiguousarray(x[:, :nq]), np.ascontiguousarray(x[:, nq:])
        a = self.stepper.accelerations(x, u, t, motion.step)
        contact: dict[str, Array] = {}
        if motion.contact is not None and motion.system.contacts is not None:
            found = self._contact_wrenches(q, v, a)
            contact = {name: found[:, i, :] for i, name in enumerate(motion.contact.names)}
        tau = u[:, :nv]
        if motion.law is not None:
            tau = tau + motion.law.batch(np.ascontiguousarray(t[:, None]), q, v)
        if motion.system.servo_efforts is not None:
            tau = tau + motion.system.servo_efforts.batch(x, u)
        self.buffer.append(t, q, v, a, tau, motion.inputs.external(t, q, u), contact)
        self._tell_singular()

    def _contact_wrenches(self, q: Array, v: Array, a: Array) -> Array:
        """By row and contact; of semi-implicit steps those during the step that follows, as its accelerations are."""
        motion = self.motion
        if not (self.stepper.method.is_direct and motion.system.has_step):
            assert motion.system.contacts is not None
            return np.asarray(motion.system.contacts.batch_status(q, v)[0])
        h = motion.step
        return np.asarray(motion.system.step_contacts.batch_status(q, v, v + h * a, np.full((len(q), 1), h))[0])

    def _tell_singular(self) -> None:
        times = self.stepper.counts.singular
        if self.buffer is not None:
            for t in times[self._counted :]:
                self.buffer.passed_singular(t)
        self._counted = len(times)

    # --- events -------------------------------------------------------------------------------------------------
    def _look(self, t: float, h: float, before: Array, after: Array) -> int:
        """Look for events in steps of length h from t on; the number of steps up to one that ends the run."""
        nq = self.motion.system.model.nq
        for k, (x0, x1) in enumerate(zip(before, after, strict=True)):
            start = t + k * h
            found = []
            for i, event in enumerate(self.motion.events):
                value = event.value(start + h, x1[:nq], x1[nq:])
                if event.happens(self._values[i], value):
                    found.append((self._when(i, x0, start, h, self._values[i], value), i))
                self._values[i] = value
            for (s, x), i in sorted(found, key=lambda one: one[0][0]):
                event = self.motion.events[i]
                self._tell(EventRecord(float(start + s), event.name, x[:nq], x[nq:]))
                if event.terminal:
                    self.stepper.x = x
                    self.motion.set_time(float(start + s))
                    self._ended = True
                    return k + 1
            self.stepper.x = after[-1]
        return len(after)

    def _when(self, i: int, x0: Array, start: float, h: float, at_start: float, at_end: float) -> tuple[float, Array]:
        """Time within a step at which an event happens, and the state there."""
        nq, event = self.motion.system.model.nq, self.motion.events[i]
        state = x0

        def value(s: float) -> float:
            nonlocal state
            self.stepper.x = x0
            if s > 0.0:
                self._march(start, 0, 1, s, 0, 0)
            state = self.stepper.x
            return event.value(start + s, state[:nq], state[nq:])

        s = zero_between(value, 0.0, h, at_start, at_end)
        value(s)
        return s, state

    def _tell(self, record: EventRecord) -> None:
        if self.buffer is not None:
            self.buffer.event(record)

    # --- figures ------------------------------------------------------------------------------------------------
    def figures(self, began: float) -> dict[str, Any]:
        """Cost of the run."""
        wall = time.perf_counter() - began
        counts, span = self.stepper.counts, self.motion.t - self.begin
        return {
            "steps": counts.steps - self._steps_before,
            "careful_steps": counts.careful - self._careful_before,
            "seconds_of_computing": wall,
            "real_time_factor": span / wall if wall > 0.0 else np.inf,
        }
