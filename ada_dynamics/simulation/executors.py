# SPDX-License-Identifier: Apache-2.0
"""Executors of the integration loops of `jit`: on NumPy arrays, step by step, and on compiled kernels, loop by loop.

`NumpyExecutor` calls Python functions for the rate and the projection. `KernelExecutor` calls kernels, in compiled
loops where LLVM is available; it integrates one state or a batch of states, and propagates gradients backwards.
"""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.quantities import Quantity
from ada_dynamics.errors import AdaError
from ada_dynamics.jit import Kernel, integrator
from ada_dynamics.jit.batch import COLUMNS
from ada_dynamics.jit.fallback import reason_for_fallback
from ada_dynamics.jit.integrator import IntegratorState, compiled_integrators
from ada_dynamics.jit.scalar import NOT_FINITE, SINGLE
from ada_dynamics.simulation.methods import Method
from ada_dynamics.simulation.system import System

Rate = Callable[[Array, float], Array]  # ẋ of a state at a time


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


class _Abandoned(Exception):
    """The rate is not finite: the step is too long."""


class _Sum:
    def __init__(self) -> None:
        self._total: Any = 0.0

    def add(self, values: Array) -> None:
        self._total = np.sum(values)

    def value(self) -> Any:
        return self._total


def integrator_state(method: Method, table: Array, tolerance: float) -> IntegratorState:
    """Return the state of an integration loop with the coefficients of a method."""
    state = IntegratorState(stages=method.stages, tolerance=tolerance, roots=method.roots, every=1, hold=1)
    state.table = table.ctypes.data
    return state


def explicit_step(method: Method, rate: Rate, x: Array, t: float, h: float) -> Array:
    """Return the state after one step of an explicit method."""
    s = IntegratorState(n=len(x), used=len(x), stages=method.stages, every=1, origin=t, h=h)
    executor = NumpyExecutor(s, x.copy(), method.table(), rate)
    executor.step()
    return executor.x


class NumpyExecutor:
    """Single steps on NumPy arrays, with Python functions for the rate and the projection.

    Its methods are the operations of the integration loops in `jit`, executed immediately.
    """

    has_log = has_added = False

    def __init__(
        self,
        s: IntegratorState,
        x: Array,
        table: Array,
        rate: Rate,
        settled: Callable[[Array], Array] | None = None,
    ) -> None:
        """Initialize the executor.

        Args:
            s: state of the integration loop.
            x: state of the system, updated in place.
            table: coefficients of the method.
            rate: ẋ of a state and a time.
            settled: projection onto the admissible states; None if all states are admissible.
        """
        self.s, self.x, self.table = s, x, table
        self.work = np.empty((s.stages + 3) * len(x), x.dtype)
        self._rate, self._settled, self.has_settle = rate, settled or np.copy, settled is not None
        self.problem: IntegrationError | None = None  # of the last rate that was not finite

    def step(self, until: float | None = None) -> None:
        """Take one step of fixed length, or one adaptive step towards the time `until`."""
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
        """Evaluate the rate into `out` and return the status."""
        n = len(self.x)
        try:
            out[:n] = self._rate(x[:n], t)
        except IntegrationError as problem:
            self.problem = problem
            return NOT_FINITE
        self.problem = None
        return 0

    def settle(self, new: Array) -> None:
        """Project a state onto the admissible states, in place."""
        n = len(self.x)
        new[:n] = self._settled(new[:n])

    def use_input(self, step: int) -> None:
        """Select the input of a step; this executor has one input for all steps."""

    # --- control ------------------------------------------------------------------------------------------------
    repeat = range

    def lanes_of(self, count: int) -> tuple[slice]:
        """Iterate over the vector lanes of an array of this length."""
        return (slice(count),)

    def when(self, condition: Any) -> Iterator[None]:
        """Execute the body if the condition holds."""
        if condition:
            yield

    def loop(self, condition: Callable[[], Any]) -> Iterator[None]:
        """Execute the body while the condition holds."""
        while condition():
            yield

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Execute a body that `abandon_if` leaves."""
        with suppress(_Abandoned):
            yield

    def abandon_if(self, condition: Any) -> None:
        """Leave the attempt if the condition holds."""
        if condition:
            raise _Abandoned

    def leave_if(self, condition: Any, status: int) -> None:
        """Stop the integration if the condition holds."""
        if condition:
            raise self.problem or StepTooSmallError

    # --- numbers ------------------------------------------------------------------------------------------------
    def weighted(self, weights: Array, count: int, i: slice, fused: bool) -> Array:
        """Return the components i of Σ w_j K_j over the first `count` rates."""
        n = len(self.x)
        return np.asarray(weights[:count] @ self.work[: count * n].reshape(count, n))

    def sums(self) -> tuple[_Sum, _Sum]:
        """Return two accumulators."""
        return _Sum(), _Sum()

    def pair(self) -> Array:
        """Allocate two numbers."""
        return np.empty(2)

    real = float
    no = staticmethod(operator.not_)
    sqrt = staticmethod(np.sqrt)  # NaN for negative arguments
    larger, smaller = staticmethod(np.fmax), staticmethod(np.fmin)  # ignore NaN

    def choose(self, condition: Any, a: Any, b: Any) -> Any:
        """Return a if the condition holds, else b."""
        return a if condition else b

    def multiply_add(self, a: Any, b: Array, c: Array) -> Array:
        """Return a b + c, rounded once where the processor has fused products."""
        return np.asarray(a * b + c)


@dataclass(frozen=True, eq=False)
class StepKernels:
    """Kernels that an integration loop calls.

    Attributes:
        rate: ẋ of x, u and t; for a direct method, x after a step.
        settle: projection of x with the input u onto the admissible states; None if all states are admissible.
        pull: vector-Jacobian product of `rate`, of [x; w], u and t; for gradients only.
        pull_settle: vector-Jacobian product of `settle`.
    """

    rate: Kernel
    settle: Kernel | None = None
    pull: Kernel | None = None
    pull_settle: Kernel | None = None

    @classmethod
    def of(cls, system: System, method: Method, product: Callable[[Quantity], Quantity] | None = None) -> StepKernels:
        """Return the kernels of a system, or of a transformation of its quantities, such as their derivatives."""
        made = (
            (one if one is None or product is None else product(one))
            for one in system.step_quantities(method.is_direct)
        )
        rate, settle = (None if one is None else system.kernel_of(one) for one in made)
        assert rate is not None
        return cls(rate, settle)


class KernelExecutor:
    """Integration of a state, or of a batch of states, by kernels on a grid of time."""

    def __init__(
        self,
        kernels: StepKernels | Callable[[], StepKernels],
        method: Method,
        x: Array,
        u: Array,
        h: float = 0.0,
        hold: int = 1,
        origin: float = 0.0,
        tolerance: float = 0.0,
    ) -> None:
        """Initialize the executor.

        Args:
            kernels: kernels of the system, or a function that returns them on first use.
            method: integration method.
            x: state (n,), or states as columns (n, N).
            u: rows of inputs, (R, m) or (R, m, N): one row for all steps, or one row per `hold` steps.
            h: step length [s].
            hold: number of steps that use one row of u.
            origin: start of the grid of time [s].
            tolerance: tolerance of an adaptive method.
        """
        self._given, self.method = kernels, method
        self._compiled = compiled_integrators() if reason_for_fallback() is None else None
        lanes = 1 if self._compiled is None else self._compiled.lanes
        self._size, self._many = len(x), x.ndim == 2
        self._wanted = x.shape[-1] if self._many else 1
        self._count = _padded(self._wanted, lanes) if self._many else 1
        self._x = np.zeros((len(x), self._count) if self._many else _padded(len(x), lanes))
        self._lanes = lanes
        self.table = np.concatenate([method.table(), integrator.backward_table(method.A, method.b, method.c)])
        self.s = s = integrator_state(method, self.table, tolerance)
        s.h, s.origin = h, origin
        self._address = ctypes.addressof(s)
        self.start(x, u)
        self._t = np.zeros(self._count)
        inputs = self._u[0].size
        self.inputs = -(-inputs // lanes) * lanes
        self._work = np.zeros((method.stages + 7) * self._x.size + self.inputs)
        s.n = self._x.size
        s.used = s.n if self._many else self._size
        s.states, s.inputs, s.hold = self._count, self.inputs, hold
        s.x, s.t, s.work = (a.ctypes.data for a in (self._x, self._t, self._work))

    @property
    def is_native(self) -> bool:
        """True if compiled loops call the kernels."""
        return self._compiled is not None

    @cached_property
    def kernels(self) -> StepKernels:
        """Kernels of the system."""
        kernels = self._given() if callable(self._given) else self._given
        if self._compiled is not None:
            symbol = COLUMNS if self._many else SINGLE
            for field in ("rate", "settle", "pull", "pull_settle"):
                kernel = getattr(kernels, field)
                setattr(self.s, field, None if kernel is None else kernel.native_address(symbol))
        return kernels

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
        if self._many:
            self._x[:, self._wanted :] = x[:, -1:]  # padding of the vector lanes
        self.take_inputs(u)

    def take_inputs(self, u: Array) -> None:
        """Replace the inputs."""
        self._u = np.ascontiguousarray(_columns(u, self._lanes) if self._many else u)
        self.s.u, self.s.next_u = self._u.ctypes.data, self._u[0].size if len(self._u) > 1 else 0

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
        self._forward(rows)
        return int(s.done)

    def advance_adaptively(self, first: int, intervals: int, rows: Array) -> tuple[int, int]:
        """Integrate to equidistant times; return the number of completed intervals and the status of the loop."""
        s = self.s
        s.first, s.steps, s.log, s.done = first, intervals, rows.ctypes.data, 0
        status = self._loop("adaptive")(rows)
        return int(s.done), status

    def adjoint(self, first: int, steps: int, by_x: Array, by_u: Array, added: Array | None) -> bool:
        """Take steps and propagate a gradient back to the current state; return True if no kernel failed.

        Args:
            first: number of steps between the origin and the current state.
            steps: number of steps to take.
            by_x: gradient with respect to the state after the steps; replaced by that with respect to the state.
            by_u: gradients with respect to the rows of u, to which the result is added.
            added: rows of direct gradients with respect to the state before each step.
        """
        s = self.s
        s.first, s.steps, s.every, s.phase, s.done = first, steps, 1, 0, 0
        stages = self.rows(steps if self.method.is_direct else steps * (self.method.stages + 1))
        s.log = stages.ctypes.data
        for field, array in (("by_x", by_x), ("by_u", by_u), ("added", added)):
            setattr(s, field, None if array is None else array.ctypes.data)
        self._loop("backward_direct" if self.method.is_direct else "backward_fixed")(stages, by_x, by_u, added)
        return bool(s.done == steps)

    @cached_property
    def _forward(self) -> Callable[..., int]:
        return self._loop("direct" if self.method.is_direct else "fixed")

    def _loop(self, name: str) -> Callable[..., int]:
        """Return a loop of `jit` as a function of the rows and gradients, which returns a status."""
        self.kernels  # noqa: B018 (their addresses are part of the state)
        if self._compiled is None:
            return partial(_run_on_numpy, self, name)
        loop, address = getattr(self._compiled, name), self._address
        return lambda *_: loop(address)


class _Stopped(Exception):
    """A kernel rejected a state."""


class _NumpyKernelExecutor(NumpyExecutor):
    """Execution of a `KernelExecutor` without LLVM: one kernel call after another."""

    def __init__(self, own: KernelExecutor, rows: Array | None, *gradients: Array | None) -> None:
        super().__init__(own.s, own._x.reshape(-1), own.table, lambda x, t: x)
        self._own, self._input = own, own._u[0]
        self.has_settle, self.has_log = own.kernels.settle is not None, rows is not None
        self.work = own._work
        self.log = None if rows is None else rows.reshape(-1)
        flat: list[Any] = [None if one is None else one.reshape(-1) for one in gradients]
        self.by_x, self.by_u, self.added = flat or [None] * 3
        self.has_added = self.added is not None

    def rate(self, x: Array, t: float, out: Array) -> int:
        return self._call(self._own.kernels.rate, out, x[: self.s.n], self._input, t)

    def settle(self, new: Array) -> None:
        self._call(self._own.kernels.settle, new, new[: self.s.n].copy(), self._input)

    def pull(self, x: Array, t: float, w: Array) -> Array:
        """Vector-Jacobian product of the rate with respect to x and u."""
        pair = np.concatenate([x[: self.s.used], w[: self.s.used]])
        gradients = np.zeros(self.s.n + self.s.inputs)
        self._call(self._own.kernels.pull, gradients, pair, self._input, t)
        return gradients

    def pull_settle(self, x: Array, w: Array) -> None:
        """Replace w by the vector-Jacobian product of the projection with respect to x."""
        pair = np.concatenate([x[: self.s.used], w[: self.s.used]])
        gradients = np.zeros(self.s.n + self.s.inputs)
        self._call(self._own.kernels.pull_settle, gradients, pair, self._input)
        w[: self.s.used] = gradients[: self.s.used]

    def use_input(self, step: int) -> None:
        self._input = self._own._u[self.input_row(step) if self.s.next_u else 0]

    def input_row(self, step: int) -> int:
        """Return the row of u that a step uses."""
        return int(step // self.s.hold)

    def _call(self, kernel: Kernel | None, out: Array, x: Array, u: Array, t: float | None = None) -> int:
        assert kernel is not None
        count = self._own._count
        many = [x[: x.size // count * count].reshape(-1, count), u.reshape(-1, count)]
        if t is not None:
            many.append(np.full((1, count), t))
        found, status = kernel.batch_status(*(np.ascontiguousarray(a.T) for a in many))
        if status:
            raise _Stopped
        out[: found.size] = found.T.reshape(-1)
        return 0


def _run_on_numpy(own: KernelExecutor, name: str, rows: Array | None, *gradients: Array | None) -> int:
    """Run a loop until a kernel rejects a state."""
    with suppress(_Stopped):
        getattr(integrator, name)(_NumpyKernelExecutor(own, rows, *gradients))
    return 0


def _padded(count: int, lanes: int) -> int:
    """Round a count up to whole vector lanes."""
    return -(-count // lanes) * lanes


def _columns(u: Array, lanes: int) -> Array:
    """Repeat the last column of inputs until the vector lanes are full."""
    count = u.shape[-1]
    if count % lanes == 0:
        return u
    return np.ascontiguousarray(u[..., np.minimum(np.arange(_padded(count, lanes)), count - 1)])
