# SPDX-License-Identifier: Apache-2.0
"""Marches a state through time: in compiled loops, and in single careful steps where a kernel stops.

A kernel stops at singular poses of loops, where only numbers can tell how the motion goes on. Such a step is taken
here, stage by stage, and the compiled loop goes on after it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ada_dynamics.algorithms.applied_wrench import PARAMETERS
from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from ada_dynamics.jit import Kernel
from ada_dynamics.jit.emit_kernel import GUARD_FAILED, SINGLE
from ada_dynamics.jit.fallback import reason_for_fallback
from ada_dynamics.jit.march import March, march
from ada_dynamics.jit.march_adaptive import SMALLEST_STEP, STEP_TOO_SMALL
from ada_dynamics.jit.march_text import DIRECT_PASSES
from ada_dynamics.simulation.march import error_and_factor, explicit_step
from ada_dynamics.simulation.methods import Method
from ada_dynamics.simulation.system import System

ONE_PASSING = 5e-3  # [s]; steps through a singular pose that follow each other within it are one passing


class MotionError(AdaError, ArithmeticError):
    """A motion cannot be computed any further; the message says when and why."""


@dataclass
class Counts:
    """What a march has cost."""

    steps: int = 0
    refused: int = 0  # steps of an adaptive method that were too long
    careful: int = 0  # steps that were taken on numbers
    singular: list[float] = field(default_factory=list)  # times at which singular poses were passed [s]


class Stepper:
    """The state of a system, and how it moves on."""

    def __init__(self, system: System, method: Method, tolerance: float = 1e-10) -> None:
        """Args: what moves, by which method, and the tolerance of an adaptive one."""
        self.system = system
        self.method = method
        self.tolerance = tolerance
        self.counts = Counts()
        self._last_singular = -np.inf
        self._native = self._native_march()
        lanes = self._native.lanes if self._native else 1
        self._padded = -(-system.size // lanes) * lanes
        self._x = np.zeros(self._padded)
        self._u = system.inputs(np.zeros(system.model.nv), np.zeros(PARAMETERS * len(system.equations.loads.applied)))
        self._u_address = self._u.ctypes.data
        self._table = method.table()
        self._table_address = self._table.ctypes.data
        self._work = np.zeros((method.stages + 3) * self._padded)
        self._time = np.zeros(1)
        self._state = np.zeros(6)
        self._counters = self._state.view(np.int64)
        self._fixed_addresses = tuple(array.ctypes.data for array in (self._x, self._time, self._state, self._work))
        self._addresses: tuple[int | None, int | None] | None = None

    def _native_march(self) -> March | None:
        return march() if reason_for_fallback() is None and self.system.is_compiled else None

    @property
    def is_native(self) -> bool:
        """Whether compiled loops do the work."""
        return self._native is not None

    # --- state and input ----------------------------------------------------------------------------------------
    @property
    def x(self) -> Array:
        """The state."""
        return self._x[: self.system.size].copy()

    @x.setter
    def x(self, value: Array) -> None:
        self._x[: self.system.size] = value
        self.forget()

    @property
    def u(self) -> Array:
        """The input."""
        return self._u

    @u.setter
    def u(self, value: Array) -> None:
        chosen = self._u[self.system.equations.chosen]
        self._u = np.array(value, dtype=np.float64)
        self._u[self.system.equations.chosen] = chosen  # which belongs to the state
        self._u_address = self._u.ctypes.data
        self.forget()

    def restart(self, x: Array) -> None:
        """Go on from a state as if nothing had been before."""
        self.x = x
        self._choose()
        self._state[:] = 0.0
        self.counts = Counts()
        self._last_singular = -np.inf

    def forget(self) -> None:
        """The rate that an adaptive method kept does not hold any more."""
        self._counters[5] = 0

    def _choose(self) -> bool:
        """Take combinations of redundant conditions that suit the state; whether they are others than before."""
        chosen = self.system.chosen(self.x[None, :])
        if chosen is None or np.array_equal(chosen[0], self._u[self.system.equations.chosen], equal_nan=True):
            return False
        self._u[self.system.equations.chosen] = chosen[0]
        self.forget()
        return True

    def accelerations(self, X: Array, U: Array, T: Array, h: float) -> Array:
        """Accelerations in rows of states, inputs and times.

        A semi-implicit step has no others than the mean ones of the step that follows.
        """
        if not (self.method.is_direct and self.system.has_step):
            return self.system.accelerations(X, U, T)
        U[:, -1] = h
        nq = self.system.model.nq
        after, status = self.system.step.rows_status(X, U, T[:, None])
        if status:  # of some row, which only numbers can tell
            after = np.array([self._semi_implicit(x, u, t, h)[0] for x, u, t in zip(X, U, T.tolist(), strict=True)])
        return np.asarray((after[:, nq:] - X[:, nq:]) / h)

    # --- fixed steps --------------------------------------------------------------------------------------------
    def march(self, origin: float, first: int, steps: int, h: float, every: int = 1, phase: int = 0) -> Array:
        """Take steps from origin + first h; the states after every so many of them, as rows.

        Args:
            origin: [s].
            first: steps done since then.
            steps: to take.
            h: their length [s].
            every: the states after every so many steps are kept; 0 keeps none.
            phase: steps done since the last one that was kept.
        """
        rows = np.empty(((phase + steps) // every if every else 0, self._padded))
        self._u[-1] = h
        done = 0
        while done < steps:
            done += self._march_natively(origin, first + done, steps - done, h, rows, every, phase + done)
            if done < steps and not self._choose():
                self._careful_step(origin + (first + done) * h, h)
                done += 1
                if every and (phase + done) % every == 0:
                    rows[(phase + done) // every - 1] = self._x
        self.counts.steps += steps
        return rows[:, : self.system.size]

    def _march_natively(
        self, origin: float, first: int, steps: int, h: float, rows: Array, every: int, phase: int
    ) -> int:
        """Number of steps that compiled code took."""
        if self._native is None:
            return 0
        rate, settle = self._kernel_addresses()
        log = rows[phase // every :] if every else rows
        pointers = (rate, settle, *self._data(log if every and len(log) else None))
        sizes = (self._padded, 1)
        self._counters[0] = 0
        grid = (first, steps, max(every, 1), phase % every if every else 0, origin, h)
        if self.method.is_direct:
            self._native.direct(*pointers, *sizes, *grid)
        else:
            self._native.fixed(*pointers, *sizes, self._table_address, self.method.stages, *grid)
        return int(self._counters[0])

    def _data(self, log: Array | None) -> tuple[int | None, ...]:
        x, t, state, work = self._fixed_addresses
        return x, self._u_address, t, state, None if log is None else log.ctypes.data, work

    def _kernel_addresses(self) -> tuple[int | None, int | None]:
        if self._addresses is None:
            main = self.system.step if self.method.is_direct else self.system.rate
            # a kernel writes so many numbers as the state has: the rest of a padded vector stays zero
            settle = None if self.method.is_direct and self.system.kernels.closed is None else self.system.settle
            self._addresses = main.native_address(SINGLE), settle.native_address(SINGLE) if settle else None
        return self._addresses

    # --- adaptive steps -----------------------------------------------------------------------------------------
    def march_adaptively(self, origin: float, first: int, rows: int, interval: float, length: float) -> Array:
        """Go on to each of so many equidistant times; the states there, as rows.

        Args:
            origin: [s].
            first: intervals done since then.
            rows: intervals to go.
            interval: their length [s].
            length: of the first step to try, where none was taken before [s].
        """
        kept = np.empty((rows, self._padded))
        self._state[1] = origin + first * interval
        if not self._state[2] > 0.0:
            self._state[2] = min(length, interval)
        done = 0
        while done < rows:
            until = origin + (first + done + 1) * interval
            status = GUARD_FAILED
            if self._native is not None:
                rate, settle = self._kernel_addresses()
                pointers = (rate, settle, *self._data(kept[done:]))
                self._counters[0] = 0
                method = (self._table.ctypes.data, self.method.stages)
                more = (first + done, rows - done, origin, interval, self.tolerance, self.system.size)
                status = self._native.adaptive(*pointers, self._padded, 1, *method, *more)
                done += int(self._counters[0])
                until = origin + (first + done + 1) * interval
            if done < rows:
                if status == STEP_TOO_SMALL:
                    raise self._too_small(float(self._state[1]))
                if self._choose():
                    continue
                if self._careful_adaptive_step(until):
                    kept[done] = self._x
                    done += 1
        self.counts.steps += int(self._counters[3])
        self.counts.refused += int(self._counters[4])
        self._counters[3:5] = 0
        return kept[:, : self.system.size]

    def _careful_adaptive_step(self, until: float) -> bool:
        """One step on numbers, as long as the error allows; whether it ends at `until`."""
        t = float(self._state[1])
        while True:
            wanted = float(self._state[2])
            if wanted < SMALLEST_STEP:
                raise self._too_small(t)
            is_last = until - t <= wanted * (1.0 + 1e-9)
            h = until - t if is_last else wanted
            x = self.x
            try:
                new, K, singular = self._stages(x, t, h)
                end, _ = self.system.rate_anywhere(new, self._u, t + h)
            except MotionError:
                self._state[2] = 0.25 * h
                if self._state[2] < SMALLEST_STEP:
                    raise
                continue
            error, factor = error_and_factor(self.method, K, end, x, new, h, self.tolerance)
            if error < 1.0:
                break
            self._state[2] = h * min(factor, 1.0)
            self._counters[4] += 1
        self._accept(new, t, singular)
        self._state[1] = until if is_last else t + h
        self._state[2] = max(wanted, h * factor) if is_last else h * factor
        self._counters[3] += 1
        return is_last

    # --- careful steps ------------------------------------------------------------------------------------------
    def _careful_step(self, t: float, h: float) -> None:
        """One step on numbers."""
        x = self.x
        if self.method.is_direct:
            new, singular = self._semi_implicit(x, self._u, t, h)
        else:
            new, _, singular = self._stages(x, t, h)
        self._accept(new, t, singular)

    def _stages(self, x: Array, t: float, h: float) -> tuple[Array, Array, bool]:
        met = []

        def rate(state: Array, time: float) -> Array:
            found, singular = self.system.rate_anywhere(state, self._u, time)
            if not np.isfinite(found).all():
                raise self._explain(state, time)
            met.append(singular)
            return found

        new, K = explicit_step(self.method, rate, x, t, h)
        return new, K, any(met)

    def _semi_implicit(self, x: Array, u: Array, t: float, h: float) -> tuple[Array, bool]:
        """x after a step; in a singular pose by accelerations in which nothing is implicit."""
        if self.system.has_step:
            found, status = self.system.step.single_status(x, u, np.array([t]))
            if not status:
                return found, False
        rate, singular = self.system.rate_anywhere(x, u, t)
        if not np.isfinite(rate).all():
            raise self._explain(x, t)
        model = self.system.model
        v = x[model.nq :] + h * rate[model.nq :]
        return np.concatenate([model.integrate(x[: model.nq], v, h), v]), singular

    def _accept(self, new: Array, t: float, singular: bool) -> None:
        if not np.isfinite(new).all():
            raise self._explain(new, t)
        self.x = self._settled(new)
        self.counts.careful += self._native is not None
        if singular:
            if t > self._last_singular + ONE_PASSING:
                self.counts.singular.append(t)
            self._last_singular = t

    def _settled(self, x: Array) -> Array:
        for _ in range(DIRECT_PASSES if self.method.is_direct else 1):
            x = self._settled_once(x)
        return x

    def _settled_once(self, x: Array) -> Array:
        settle: Kernel | None = self.system.settle if self.system.is_compiled else None
        if settle is not None:
            found, status = settle.single_status(x, self._u)
            if not status:
                return np.asarray(found)
        return self.system.settled_anywhere(x)

    # --- what went wrong ----------------------------------------------------------------------------------------
    def _too_small(self, t: float) -> MotionError:
        return MotionError(
            f"the motion of model {self.system.model.name!r} cannot be followed past t = {t:.9g} s: no step is short "
            f"enough for the tolerance {self.tolerance:g}. Something jumps there, or grows without bounds."
        )

    def _explain(self, x: Array, t: float) -> MotionError:
        model = self.system.model
        where = f"the motion of model {model.name!r} cannot go on at t = {t:.9g} s"
        q, v = x[: model.nq], x[model.nq :]
        if np.isfinite(x).all():
            problems = model.position_problems(np.array(self.system.equations.nearest(q.tolist()), dtype=float))
            if problems:
                return MotionError(f"{where}: {'; '.join(problems)}.")
        fast = float(np.max(np.abs(v), initial=0.0))
        instead = "" if self.method.is_direct else ", or integrator='semi_implicit'"
        return MotionError(
            f"{where}: its accelerations are not finite (fastest velocity {fast:.3g}). The step may be too long for "
            f"its stiffest spring, contact or controller: take a shorter one{instead}."
        )
