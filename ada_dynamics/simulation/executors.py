# SPDX-License-Identifier: Apache-2.0
"""Steps of the integration methods: on NumPy arrays, one at a time, and by compiled loops around compiled kernels.

`explicit_step` and `adaptive_step` call Python functions for the rate. `KernelExecutor` calls the loops of
`jit.integrator`; it integrates one state or a batch of states.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from ada_dynamics.jit import Kernel
from ada_dynamics.jit.batch import COLUMNS
from ada_dynamics.jit.fallback import reason_for_fallback
from ada_dynamics.jit.integrator import (
    AFTER_OVERFLOW,
    LARGEST_FACTOR,
    LEAST_REST,
    SAFETY,
    SMALLEST_FACTOR,
    SMALLEST_STEP,
    IntegratorState,
    compiled_integrators,
)
from ada_dynamics.jit.scalar import SINGLE
from ada_dynamics.simulation.methods import Method

Rate = Callable[[Array, float], Array]  # ẋ of a state at a time
StepKernels = tuple[Kernel, Kernel | None]  # rate and projection of x, u and t; or a whole step, and None


class IntegrationError(AdaError, ArithmeticError):
    """The integration cannot continue; the message states when and why.

    Attributes:
        time: time of the last valid state [s].
        rows: states that were computed and are due for the log.
        log: log up to that time, where one was written.
    """

    time: float = float("nan")
    rows: Array | None = None
    log: Any = None


class StepTooSmallError(Exception):
    """No step length meets the tolerance."""


def _stage_rates(method: Method, rate: Rate, x: Array, t: float, h: float, first: Array) -> Array:
    """Return the rates of all stages of a step, one row each; the rate of the first stage is given."""
    rates = np.empty((method.stages, len(x)), x.dtype)
    rates[0] = first
    for i in range(1, method.stages):
        rates[i] = rate(x + h * (method.A[i, :i] @ rates[:i]), t + h * method.c[i])
    return rates


def explicit_step(method: Method, rate: Rate, x: Array, t: float, h: float) -> Array:
    """Return the state after one step of an explicit method."""
    return np.asarray(x + h * (method.b @ _stage_rates(method, rate, x, t, h, rate(x, t))))


class AdaptiveStep(NamedTuple):
    """Result of an adaptive step."""

    x: Array
    t: float  # [s]
    length: float  # of the next step [s]
    refused: int  # number of steps that were too long


def adaptive_step(
    method: Method, rate: Rate, x: Array, t: float, until: float, length: float, tolerance: float
) -> AdaptiveStep:
    """Take one step of an embedded pair towards a time, with the error estimate and step control of `jit.integrator`.

    Args:
        method: adaptive method.
        rate: ẋ of a state at a time; it raises an IntegrationError where it is not finite.
        x: state.
        t: time [s].
        until: time that the step does not exceed [s].
        length: length of the first trial [s].
        tolerance: tolerance, relative, and absolute for components below 1.

    Raises:
        StepTooSmallError: no step length meets the tolerance.
    """
    assert method.errors is not None
    first, refused = rate(x, t), 0
    while length >= SMALLEST_STEP:
        is_last = until - t <= length * (1.0 + LEAST_REST)
        h = until - t if is_last else length
        error, factor = np.float64(np.inf), AFTER_OVERFLOW
        with suppress(IntegrationError):  # a rate is not finite: the step is too long
            rates = _stage_rates(method, rate, x, t, h, first)
            new = x + h * (method.b @ rates)
            rates = np.vstack([rates, rate(new, t + h)])
            ratios = method.errors @ rates / (tolerance * (1.0 + np.fmax(np.abs(x), np.abs(new))))
            e5, e3 = np.sum(ratios * ratios, axis=1)
            mixed = e5 + 0.01 * e3
            error = h * e5 / np.sqrt(mixed * len(x)) if mixed != 0.0 else mixed
            factor = float(np.fmin(np.fmax(SAFETY / error ** (0.5**method.roots), SMALLEST_FACTOR), LARGEST_FACTOR))
        if error < 1.0:
            following = max(h * factor, length) if is_last else h * factor
            return AdaptiveStep(new, until if is_last else t + h, following, refused)
        length, refused = h * min(factor, 1.0), refused + 1
    raise StepTooSmallError


class KernelExecutor:
    """Integration of a state, or of a batch of states, by kernels on a grid of time."""

    def __init__(
        self,
        kernels: Callable[[], StepKernels],
        method: Method,
        x: Array,
        u: Array,
        h: float = 0.0,
        origin: float = 0.0,
        tolerance: float = 0.0,
    ) -> None:
        """Initialize the executor.

        Args:
            kernels: function that returns the kernels of a step when they are needed, see `System.step_kernels`.
            method: integration method.
            x: state (n,), or states as columns (n, N).
            u: input (m,), or inputs as columns (m, N).
            h: step length [s].
            origin: start of the grid of time [s].
            tolerance: tolerance of an adaptive method.
        """
        self._kernels, self.method = kernels, method
        self._compiled = compiled_integrators() if reason_for_fallback() is None else None
        lanes = 1 if self._compiled is None else self._compiled.lanes
        self._size, self._many = len(x), x.ndim == 2
        self._wanted = x.shape[-1] if self._many else 1
        self._count = _padded(self._wanted, lanes) if self._many else 1
        self._x = np.zeros((len(x), self._count) if self._many else _padded(len(x), lanes))
        self.s = s = IntegratorState(
            stages=method.stages, tolerance=tolerance, roots=method.roots, every=1, h=h, origin=origin
        )
        self._address = ctypes.addressof(s)
        self.start(x, u)
        self._t, self._table = np.zeros(self._count), method.table()
        self._work = np.zeros((method.stages + 3) * self._x.size)
        s.n, s.states = self._x.size, self._count
        s.used = s.n if self._many else self._size
        s.x, s.t, s.work, s.table = (a.ctypes.data for a in (self._x, self._t, self._work, self._table))

    @property
    def is_native(self) -> bool:
        """True if compiled loops call the kernels."""
        return self._compiled is not None

    @property
    def x(self) -> Array:
        """Current state, or states as columns."""
        return self._x[:, : self._wanted] if self._many else self._x[: self._size]

    @x.setter
    def x(self, value: Array) -> None:
        self.x[...] = value

    def start(self, x: Array, u: Array) -> None:
        """Continue from other states, in the same number, with other inputs."""
        self.x = x
        if self._many:  # pad the vector lanes
            self._x[:, self._wanted :] = x[:, -1:]
            u = u[:, np.minimum(np.arange(self._count), self._wanted - 1)]
        self._u = np.ascontiguousarray(u)
        self.s.u = self._u.ctypes.data

    def rows(self, count: int) -> Array:
        """Allocate rows for `count` states."""
        return np.zeros((count, *self._x.shape))

    def states(self, rows: Array) -> Array:
        """Return the states in rows without the padding of vector lanes."""
        return rows[:, :, : self._wanted] if self._many else rows[:, : self._size]

    def advance(self, first: int, steps: int, rows: Array | None = None, every: int = 1, phase: int = 0) -> int:
        """Take steps; return the number of steps until a kernel failed.

        Args:
            first: number of steps since the origin.
            steps: number of steps to take.
            rows: memory for the states, see `every`.
            every: number of steps between two rows.
            phase: number of steps since the last row.
        """
        s = self.s
        s.first, s.steps, s.every, s.phase, s.done = first, steps, every, phase, 0
        s.log = None if rows is None else rows.ctypes.data
        self._loop(self._address)
        return int(s.done)

    def advance_adaptively(self, first: int, intervals: int, rows: Array) -> tuple[int, int]:
        """Integrate to equidistant times; return the number of completed intervals and the status of the loop."""
        s = self.s
        s.first, s.steps, s.log, s.done = first, intervals, rows.ctypes.data, 0
        status = self._loop(self._address)
        return int(s.done), status

    @cached_property
    def _loop(self) -> Callable[[int], int]:
        """Compiled loop, a function of the address of its state that returns a status."""
        symbol = COLUMNS if self._many else SINGLE
        rate, settle = self._kernels()
        self.s.rate = rate.native_address(symbol)
        self.s.settle = None if settle is None else settle.native_address(symbol)
        name = "direct" if self.method.is_direct else "adaptive" if self.method.is_adaptive else "fixed"
        found: Callable[[int], int] = getattr(self._compiled, name)
        return found


def _padded(count: int, lanes: int) -> int:
    """Round a count up to whole vector lanes."""
    return -(-count // lanes) * lanes
