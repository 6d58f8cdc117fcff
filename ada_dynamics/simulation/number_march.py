# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D102  (what the methods do stands in March)
"""The marches of `jit.marching` on numbers: where nothing is compiled, and for single steps that kernels leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from ada_dynamics.jit.emit_kernel import NOT_FINITE
from ada_dynamics.jit.marching import March, MarchState


class MotionError(AdaError, ArithmeticError):
    """A motion cannot be computed any further; the message says when and why."""


class StepTooSmallError(Exception):
    """No step is short enough for the tolerance."""


class _Abandoned(Exception):
    """A rate is not finite: the step is too long."""


class _Sum:
    def __init__(self) -> None:
        self._total: Any = 0.0

    def add(self, values: Array) -> None:
        self._total = np.sum(values)

    def value(self) -> Any:
        return self._total


class NumberMarch(March):
    """Single steps, by functions that may look at the state as they like."""

    has_settle, has_log = True, False

    def __init__(
        self,
        s: MarchState,
        x: Array,
        table: Array,
        rate: Callable[[Array, float], Array],
        settled: Callable[[Array], Array],
    ) -> None:
        """Args: where the march is, the state that moves, the method; ẋ of a state and a time; a state set right."""
        self.s, self.x, self.table = s, x, table
        self.work = np.empty((s.stages + 3) * len(x))
        self._rate, self._settled = rate, settled
        self.problem: MotionError | None = None  # of the last rate that was not finite

    def step(self, until: float | None = None) -> None:
        """The next step of equal length; or one towards a time, as long as the error allows."""
        s, padded = self.s, self.s.n
        s.n, s.steps, s.known = len(self.x), 1, 0
        taken = s.taken
        try:
            with np.errstate(all="ignore"):
                if until is None:
                    (self.fixed if s.stages else self.direct)()
                    return
                while s.taken == taken:
                    self.adaptive_step(until)
        finally:
            s.n, s.known = padded, 0

    # --- kernels ------------------------------------------------------------------------------------------------
    def rate(self, x: Array, t: float, out: Array) -> int:
        n = len(self.x)
        try:
            out[:n] = self._rate(x[:n], t)
        except MotionError as problem:
            self.problem = problem
            return NOT_FINITE
        self.problem = None
        return 0

    def settle(self, new: Array) -> None:
        n = len(self.x)
        new[:n] = self._settled(new[:n])

    # --- control ------------------------------------------------------------------------------------------------
    def repeat(self, count: int) -> range:
        return range(count)

    def lanes_of(self, count: int) -> tuple[slice]:
        return (slice(count),)

    def when(self, condition: Any) -> Iterator[None]:
        if condition:
            yield

    def loop(self, condition: Callable[[], Any]) -> Iterator[None]:
        while condition():
            yield

    @contextmanager
    def attempt(self) -> Iterator[None]:
        with suppress(_Abandoned):
            yield

    def abandon_if(self, condition: Any) -> None:
        if condition:
            raise _Abandoned

    def leave_if(self, condition: Any, status: int) -> None:
        if condition:
            raise self.problem or StepTooSmallError

    # --- numbers ------------------------------------------------------------------------------------------------
    def weighted(self, weights: Array, count: int, i: slice, fused: bool) -> Array:
        n = len(self.x)
        return np.asarray(weights[:count] @ self.work[: count * n].reshape(count, n))

    def sums(self) -> tuple[_Sum, _Sum]:
        return _Sum(), _Sum()

    def pair(self) -> Array:
        return np.empty(2)

    def real(self, count: int) -> float:
        return float(count)

    def no(self, condition: Any) -> bool:
        return not condition

    def choose(self, condition: Any, a: Any, b: Any) -> Any:
        return a if condition else b

    def multiply_add(self, a: Any, b: Array, c: Array) -> Array:
        return np.asarray(a * b + c)

    def sqrt(self, a: Any) -> Any:
        return np.sqrt(a)

    def larger(self, a: Any, b: Any) -> Any:
        return np.fmax(a, b)

    def smaller(self, a: Any, b: Any) -> Any:
        return np.fmin(a, b)
