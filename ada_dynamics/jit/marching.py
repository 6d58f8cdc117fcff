# SPDX-License-Identifier: Apache-2.0
"""Steps through time, written once: explicit Runge-Kutta methods, and the control of their length.

The same lines run on numbers (`simulation.number_march`) and are written down as machine code (`march_text`). They know
neither robot nor method: the rate is called, the method is a table. What differs between the two are the abstract
methods at the end. Loops and branches are `for` statements: code is written for one turn of each, numbers take as many
as there are.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

# A number or array, or the machine code that stands for it: operators, slices and comparisons mean the same.
Number: TypeAlias = Any
Vector: TypeAlias = Any

SMALLEST_FACTOR, LARGEST_FACTOR, SAFETY = 0.2, 10.0, 0.9  # of one step length to the next (Hairer et al. I, II.4)
AFTER_OVERFLOW = 0.25
SMALLEST_STEP = 1e-13  # [s]; under it the error cannot be kept
LEAST_REST = 1e-9  # of a step: less must not be left of an interval

# A step of first order leaves the loops by some h²; settling once would leave the square of that, and it is seen.
DIRECT_PASSES = 2

# A bit of the status word that a march returns beside those of kernels.
STEP_TOO_SMALL = 4


class MarchState(ctypes.Structure):
    """What a march works on, and how far it is.

    `rate` and `settle` are kernels of one state, or of `states` columns (which the former ignore); `settle` brings a
    state back to where it belongs, and may be null. The method's `table` has a row of stage coefficients for each of
    `stages`, one of weights, the nodes, and, with adaptive steps, two rows of error weights over stages + 1 rates.
    """

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("rate", "settle", "x", "u", "t", "log", "work", "table")),
        # numbers in the state (a multiple of the lanes) and how many of them count; and steps: done since the origin,
        # to take, from one row of the log to the next, and done since the last row
        *((name, ctypes.c_int64) for name in ("n", "used", "states", "stages", "first", "steps", "every", "phase")),
        *((name, ctypes.c_double) for name in ("origin", "h", "tolerance")),
        ("roots", ctypes.c_int64),  # square roots in a row that make the step factor of an error
        # what has come of it: steps or rows done in this call, and of adaptive steps those taken and refused until now,
        # whether the first rate is known, where they are, and how long the next one is
        *((name, ctypes.c_int64) for name in ("done", "taken", "refused", "known")),
        *((name, ctypes.c_double) for name in ("time", "length")),
    ]


class March(ABC):
    """One of three marches to be run; each returns what stopped it, or 0, with the state before the failing step."""

    s: Any  # MarchState, or where it lies
    x: Vector
    work: Vector  # a row for each rate, the rate at the end of a step, a point, and a settled one
    table: Vector
    log: Vector

    # --- the three marches --------------------------------------------------------------------------------------
    def fixed(self) -> None:
        """Steps of equal length by an explicit method; a row of the log after every so many."""
        s = self.s
        n, stages, h = s.n, s.stages, s.h
        point = self.work[stages * n :]
        for k in self.repeat(s.steps):
            t = s.origin + self.real(s.first + k) * h  # never a sum of steps
            self._stages(0, t, h, point, self._evaluate)
            self._combine(self.table[stages * stages :], stages, h, point)
            self._finish(point, 1)
            self._keep_row(k + 1)

    def direct(self) -> None:
        """Steps x⁺ = rate(x, u, t), which knows their length."""
        s = self.s
        for k in self.repeat(s.steps):
            self._evaluate(self.x, s.origin + self.real(s.first + k) * s.h, self.work)
            self._finish(self.work, DIRECT_PASSES)
            self._keep_row(k + 1)

    def adaptive(self) -> None:
        """To each of so many equidistant times, a row each, with as many steps as that takes."""
        s = self.s
        for k in self.repeat(s.steps):
            until = s.origin + self.real(s.first + k + 1) * s.h
            for _ in self.loop(lambda until=until: until - s.time > 0.0):  # type: ignore[misc]
                self.adaptive_step(until)
            s.done = k + 1
            for _ in self.when(self.has_log):
                self._copy(self.x, self.log[k * s.n :])

    # --- steps --------------------------------------------------------------------------------------------------
    def adaptive_step(self, until: Number) -> None:
        """A step towards a time, or the knowledge that it must be shorter.

        Embedded formulas with two error estimates (Hairer et al. I, II.5 and II.10).
        """
        s = self.s
        n, stages, now, wanted = s.n, s.stages, s.time, s.length
        point, last_rate = self.work[(stages + 1) * n :], self.work[stages * n :]
        self.leave_if(self.no(wanted >= SMALLEST_STEP), STEP_TOO_SMALL)
        left = until - now
        is_last = left <= wanted * (1.0 + LEAST_REST)
        h = self.choose(is_last, left, wanted)
        for _ in self.when(s.known == 0):
            self._evaluate(self.x, now, self.work)
            s.known = 1
        verdict = self.pair()
        verdict[0], verdict[1] = float("inf"), AFTER_OVERFLOW  # until all rates are found to be finite
        with self.attempt():
            self._stages(1, now, h, point, self._try)
            self._combine(self.table[stages * stages :], stages, h, point)
            self._try(point, now + h, last_rate)
            verdict[0] = self._error(point, h)
            verdict[1] = self._factor(verdict)
        error, factor = verdict[0], verdict[1]
        for _ in self.when(error < 1.0):
            self._finish(point, 1)
            s.time = self.choose(is_last, until, now + h)
            s.length = self.choose(is_last, self.larger(h * factor, wanted), h * factor)
            s.taken = s.taken + 1
            # the last rate is the first one of the next step, unless the state was moved
            self._copy(last_rate, self.work)
            s.known = self.choose(self.has_settle, 0, 1)
        for _ in self.when(self.no(error < 1.0)):
            s.length = h * self.smaller(factor, 1.0)
            s.refused = s.refused + 1

    def _stages(self, start: int, t: Number, h: Number, point: Vector, evaluate: Any) -> None:
        """All rates from a stage on."""
        n, stages = self.s.n, self.s.stages
        nodes = self.table[(stages + 1) * stages :]
        for k in self.repeat(stages - start):
            i = k + start
            self._combine(self.table[i * stages :], i, h, point)
            evaluate(point, t + h * nodes[i], self.work[i * n :])

    def _combine(self, weights: Vector, count: Number, h: Number, out: Vector) -> None:
        """out = x + h Σ w_j K_j over the first `count` rates."""
        for i in self.lanes_of(self.s.n):
            out[i] = self.multiply_add(h, self.weighted(weights, count, i, True), self.x[i])

    def _error(self, new: Vector, h: Number) -> Number:
        """err = h e₅ / sqrt((e₅ + 0.01 e₃) n) with sums of squares e, each weighted by tolerance (1 + max |x|).

        Numbers that only fill up the lanes are zero, and so is what they add.
        """
        s = self.s
        rates = s.stages + 1
        first = self.table[(s.stages + 2) * s.stages :]
        sums = self.sums()
        for i in self.lanes_of(s.n):
            allowed = s.tolerance * (1.0 + self.larger(abs(self.x[i]), abs(new[i])))
            for total, weights in zip(sums, (first, first[rates:]), strict=True):
                ratio = self.weighted(weights, rates, i, False) / allowed
                total.add(ratio * ratio)
        e5, e3 = (total.value() for total in sums)
        mixed = e5 + e3 * 0.01
        return self.choose(mixed == 0.0, 0.0, h * e5 / self.sqrt(mixed * self.real(s.used)))

    def _factor(self, error: Vector) -> Number:
        """0.9 err^(-1/2^roots) within its bounds, of an error in memory; the smallest one where it is no number."""
        root = self.pair()
        root[0] = error[0]
        for _ in self.repeat(self.s.roots):
            root[0] = self.sqrt(root[0])
        return self.smaller(self.larger(SAFETY / root[0], SMALLEST_FACTOR), LARGEST_FACTOR)

    def _finish(self, new: Vector, passes: int) -> None:
        """Settle the new state, so many times, where that is wanted, and make it the state."""
        for _ in self.when(self.has_settle):
            for _ in range(passes):
                self.settle(new)
        self._copy(new, self.x)

    def _keep_row(self, done: Number) -> None:
        """Count the step, and keep the state if its turn has come."""
        s = self.s
        s.done = done
        since = done + s.phase
        for _ in self.when(self.has_log & (since % s.every == 0)):
            self._copy(self.x, self.log[(since // s.every - 1) * s.n :])

    def _copy(self, source: Vector, target: Vector) -> None:
        for i in self.lanes_of(self.s.n):
            target[i] = source[i]

    def _evaluate(self, x: Vector, t: Number, out: Vector) -> None:
        status = self.rate(x, t, out)
        self.leave_if(status > 0, status)

    def _try(self, x: Vector, t: Number, out: Vector) -> None:
        """A rate that is not finite (status 1) tells that the step is too long."""
        status = self.rate(x, t, out)
        self.leave_if(status > 1, status)
        self.abandon_if(status == 1)

    # --- what runs it -------------------------------------------------------------------------------------------
    has_settle: Number
    has_log: Number

    @abstractmethod
    def rate(self, x: Vector, t: Number, out: Vector) -> Number:
        """Status of out = rate(x, u, t)."""

    @abstractmethod
    def settle(self, new: Vector) -> None:
        """Bring a state back to where it belongs."""

    @abstractmethod
    def repeat(self, count: Number) -> Iterable[Number]:
        """Run for each index below `count`."""

    @abstractmethod
    def lanes_of(self, count: Number) -> Iterable[Number]:
        """Run for all of so many numbers, several at a time."""

    @abstractmethod
    def when(self, condition: Number) -> Iterable[None]:
        """Run where a condition holds."""

    @abstractmethod
    def loop(self, condition: Callable[[], Number]) -> Iterable[None]:
        """Run as long as what the function returns holds."""

    @abstractmethod
    def attempt(self) -> AbstractContextManager[None]:
        """Lines that `abandon_if` leaves, to go on behind them."""

    @abstractmethod
    def abandon_if(self, condition: Number) -> None:
        """Leave the attempt where a condition holds."""

    @abstractmethod
    def leave_if(self, condition: Number, status: Number) -> None:
        """End the march where a condition holds."""

    @abstractmethod
    def weighted(self, weights: Vector, count: Number, i: Number, fused: bool) -> Number:
        """Numbers i of Σ w_j K_j over the first rates; with one rounding of product and sum where that is possible."""

    @abstractmethod
    def sums(self) -> tuple[Any, Any]:
        """Two sums over lanes: `add`, `value`."""

    @abstractmethod
    def pair(self) -> Vector:
        """Memory for two numbers."""

    @abstractmethod
    def real(self, count: Number) -> Number:
        """A count as a number."""

    @abstractmethod
    def no(self, condition: Number) -> Number:
        """True if the condition does not hold."""

    @abstractmethod
    def choose(self, condition: Number, a: Number, b: Number) -> Number:
        """a where the condition holds, else b."""

    @abstractmethod
    def multiply_add(self, a: Number, b: Number, c: Number) -> Number:
        """a b + c, with one rounding where that is possible."""

    @abstractmethod
    def sqrt(self, a: Number) -> Number:
        """Square root; NaN of negative numbers."""

    @abstractmethod
    def larger(self, a: Number, b: Number) -> Number:
        """The larger one, or the one that is a number."""

    @abstractmethod
    def smaller(self, a: Number, b: Number) -> Number:
        """The smaller one, or the one that is a number."""
