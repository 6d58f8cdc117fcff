# SPDX-License-Identifier: Apache-2.0
"""The marches of `jit.integrator` on numbers: where nothing is compiled, and for single steps that kernels leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from ada_dynamics.jit import integrator
from ada_dynamics.jit.integrator import IntegratorState
from ada_dynamics.jit.scalar import NOT_FINITE
from ada_dynamics.simulation.methods import Method

Rate = Callable[[Array, float], Array]  # ẋ of a state at a time


class MotionError(AdaError, ArithmeticError):
    """A motion cannot be computed any further; the message says when and why.

    Attributes:
        time: of the last good state [s].
        rows: states since the march began that were to be kept, and could be computed.
        log: the motion until then, where a log was written.
    """

    time: float = float("nan")
    rows: Array | None = None
    log: Any = None


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


def explicit_step(method: Method, rate: Rate, x: Array, t: float, h: float) -> Array:
    """The state after a step of an explicit method."""
    s = IntegratorState(n=len(x), used=len(x), stages=method.stages, every=1, origin=t, h=h)
    march = NumberMarch(s, x.copy(), method.table(), rate)
    march.step()
    return march.x


class NumberMarch:
    """Single steps, by functions that may look at the state as they like."""

    has_log = has_added = False

    def __init__(
        self,
        s: IntegratorState,
        x: Array,
        table: Array,
        rate: Rate,
        settled: Callable[[Array], Array] | None = None,
    ) -> None:
        """Args: where the march is, the state that moves, the method, its rate; what sets a state right, if any."""
        self.s, self.x, self.table = s, x, table
        self.work = np.empty((s.stages + 3) * len(x), x.dtype)
        self._rate, self._settled, self.has_settle = rate, settled or np.copy, settled is not None
        self.problem: MotionError | None = None  # of the last rate that was not finite

    def step(self, until: float | None = None) -> None:
        """The next step of equal length; or one towards a time, as long as the error allows."""
        s, padded = self.s, self.s.n
        s.n, s.steps, s.known = len(self.x), 1, 0
        taken = s.taken
        try:
            with np.errstate(all="ignore"):
                if until is None:
                    (integrator.fixed if s.stages else integrator.direct)(self)
                    return
                while s.taken == taken:
                    integrator.adaptive_step(self, until)
        finally:
            s.n, s.known = padded, 0

    # --- kernels ------------------------------------------------------------------------------------------------
    def rate(self, x: Array, t: float, out: Array) -> int:
        """Status of out = rate(x, u, t)."""
        n = len(self.x)
        try:
            out[:n] = self._rate(x[:n], t)
        except MotionError as problem:
            self.problem = problem
            return NOT_FINITE
        self.problem = None
        return 0

    def settle(self, new: Array) -> None:
        """Bring a state back to where it belongs."""
        n = len(self.x)
        new[:n] = self._settled(new[:n])

    def use_input(self, step: int) -> None:
        """The input of a step: there is one for all."""

    # --- control ------------------------------------------------------------------------------------------------
    def repeat(self, count: int) -> range:
        """Run for each index below `count`."""
        return range(count)

    def lanes_of(self, count: int) -> tuple[slice]:
        """Run for all of so many numbers, as many at a time as go together."""
        return (slice(count),)

    def when(self, condition: Any) -> Iterator[None]:
        """Run where a condition holds."""
        if condition:
            yield

    def loop(self, condition: Callable[[], Any]) -> Iterator[None]:
        """Run as long as what the function returns holds."""
        while condition():
            yield

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Lines that `abandon_if` leaves, to go on behind them."""
        with suppress(_Abandoned):
            yield

    def abandon_if(self, condition: Any) -> None:
        """Leave the attempt where a condition holds."""
        if condition:
            raise _Abandoned

    def leave_if(self, condition: Any, status: int) -> None:
        """End the march where a condition holds."""
        if condition:
            raise self.problem or StepTooSmallError

    # --- numbers ------------------------------------------------------------------------------------------------
    def weighted(self, weights: Array, count: int, i: slice, fused: bool) -> Array:
        """Numbers i of Σ w_j K_j over the first rates; of machine code, rounded once for each product if `fused`."""
        n = len(self.x)
        return np.asarray(weights[:count] @ self.work[: count * n].reshape(count, n))

    def sums(self) -> tuple[_Sum, _Sum]:
        """Two sums over all numbers."""
        return _Sum(), _Sum()

    def pair(self) -> Array:
        """Memory for two numbers."""
        return np.empty(2)

    def real(self, count: int) -> float:
        """A count as a number."""
        return float(count)

    def no(self, condition: Any) -> bool:
        """True if the condition does not hold."""
        return not condition

    def choose(self, condition: Any, a: Any, b: Any) -> Any:
        """a where the condition holds, else b."""
        return a if condition else b

    def multiply_add(self, a: Any, b: Array, c: Array) -> Array:
        """a b + c; rounded once where the machine can."""
        return np.asarray(a * b + c)

    def sqrt(self, a: Any) -> Any:
        """Square root; NaN of negative numbers."""
        return np.sqrt(a)

    def larger(self, a: Any, b: Any) -> Any:
        """The larger one, or the one that is a number."""
        return np.fmax(a, b)

    def smaller(self, a: Any, b: Any) -> Any:
        """The smaller one, or the one that is a number."""
        return np.fmin(a, b)
