# SPDX-License-Identifier: Apache-2.0
"""Numerical integration of a system: compiled loops, with single steps on NumPy arrays where a kernel fails.

`KernelExecutor` calls the loops of `jit.integrator` around kernels, for one state or a batch of states. Kernels
fail near singular configurations of loops, where the rank-revealing solver computes the accelerations: the `Integrator`
takes such a step on arrays and then continues the compiled loop.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ada_dynamics.algorithms.applied_wrench import PARAMETERS
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.quantities import Quantity
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.jit import GuardError, Kernel
from ada_dynamics.jit.batch import COLUMNS
from ada_dynamics.jit.fallback import reason_for_fallback
from ada_dynamics.jit.integrator import (
    AFTER_OVERFLOW,
    LARGEST_FACTOR,
    LEAST_REST,
    SAFETY,
    SMALLEST_FACTOR,
    SMALLEST_STEP,
    STEP_TOO_SMALL,
    IntegratorState,
    compiled_integrators,
)
from ada_dynamics.jit.scalar import SINGLE
from ada_dynamics.simulation.methods import Method
from ada_dynamics.simulation.system import System

ONE_PASSAGE = 5e-3  # [s] between singular steps that belong to the same passage of a singular configuration
NO_ROWS = np.zeros((0, 0))
FIRST_LENGTH = 1e-3  # [s], first trial step of an adaptive method
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


FAILURES = (GuardError, np.linalg.LinAlgError, IntegrationError)  # errors that end an integration


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


class KernelExecutor:
    """Integration of a state, or of a batch of states, by kernels on a grid of time."""

    def __init__(
        self,
        system: System,
        method: Method,
        x: Array,
        u: Array,
        h: float = 0.0,
        origin: float = 0.0,
        tolerance: float = 0.0,
        transform: Callable[[Quantity], Quantity] | None = None,
    ) -> None:
        """Initialize the executor.

        Args:
            system: system that is integrated.
            method: integration method.
            x: state (n,), or states as columns (n, N).
            u: input (m,), or inputs as columns (m, N).
            h: step length [s].
            origin: start of the grid of time [s].
            tolerance: tolerance of an adaptive method.
            transform: transformation of the quantities of a step, see `System.step_kernels`.
        """
        self.system, self.method, self._transform = system, method, transform
        self._compiled = compiled_integrators() if reason_for_fallback() is None else None
        self.is_native = self._compiled is not None  # whether compiled loops call the kernels
        self._loop: Callable[[int], int] | None = None  # function of the address of its state that returns a status
        self._status = 0
        lanes = 1 if self._compiled is None else self._compiled.lanes
        self._many, self._wanted = x.ndim == 2, x.shape[-1]
        self._count = padded(self._wanted, lanes) if self._many else 1
        self._x = np.zeros((len(x), self._count) if self._many else padded(len(x), lanes))
        self._state = self._x[..., : self._wanted]
        self.s = s = IntegratorState(
            stages=method.stages, tolerance=tolerance, roots=method.roots, every=1, hold=1, h=h, origin=origin
        )
        self._address = ctypes.addressof(s)
        self.start(x, u)
        self._t, self._table = np.zeros(self._count), method.table()
        self._work = np.zeros((method.stages + 3) * self._x.size)
        s.n, s.states = self._x.size, self._count
        s.used = s.n if self._many else len(x)
        s.x, s.t, s.work, s.table = (a.ctypes.data for a in (self._x, self._t, self._work, self._table))

    @property
    def x(self) -> Array:
        """Current state, or states as columns."""
        return self._state

    @x.setter
    def x(self, value: Array) -> None:
        self._state[...] = value

    def start(self, x: Array, u: Array) -> None:
        """Continue from other states, in the same number, with other inputs."""
        self.x = x
        if self._many:  # pad the vector lanes
            self._x[:, self._wanted :] = x[:, -1:]
            u = u[:, np.minimum(np.arange(self._count), self._wanted - 1)]
        self._u = np.ascontiguousarray(u)
        self.s.u = self._u.ctypes.data

    def points(self, steps: int) -> Array:
        """Allocate memory for the points of the stages of some steps, one row per step."""
        return np.zeros((steps, self.method.stages + 1, *self._x.shape))

    def use_points(self, points: Array) -> None:
        """Let steps forwards fill this memory, and steps backwards read it."""
        self.s.points = points.ctypes.data

    def rows(self, count: int) -> Array:
        """Allocate rows for `count` states."""
        return np.zeros((count, *self._x.shape))

    def take_steps(self, first: int, steps: int, rows: Array | None = None, every: int = 1, phase: int = 0) -> int:
        """Take steps by the compiled loop; return the number of steps until a kernel failed.

        Args:
            first: number of steps since the origin.
            steps: number of steps to take.
            rows: memory for the states, see `every`.
            every: number of steps between two rows.
            phase: number of steps since the last row.
        """
        s = self.s
        s.first, s.steps, s.done, s.log = first, steps, 0, None
        if rows is not None:
            s.log, s.every, s.phase = rows.ctypes.data, every, phase
        self._status = (self._loop or self._connected_loop())(self._address)
        return int(s.done)

    def _connected_loop(self) -> Callable[[int], int]:
        """Return the compiled loop after its kernels are connected."""
        symbol = COLUMNS if self._many else SINGLE
        rate, settle = self.system.step_kernels(self.method.is_direct, self._transform)
        self.s.rate = rate.native_address(symbol)
        self.s.settle = None if settle is None else settle.native_address(symbol)
        name = "direct" if self.method.is_direct else "adaptive" if self.method.is_adaptive else "fixed"
        found: Callable[[int], int] = getattr(self._compiled, name)
        self._loop = found
        return found


def padded(count: int, lanes: int) -> int:
    """Round a count up to whole vector lanes."""
    return -(-count // lanes) * lanes


@dataclass
class Counts:
    """Cost of an integration."""

    steps: int = 0
    refused: int = 0  # steps of an adaptive method that were too long
    fallback: int = 0  # steps that were taken on numbers
    singular: list[float] = field(default_factory=list)  # times at which singular configurations were passed [s]


class Integrator(KernelExecutor):
    """State of a system and the method that integrates it.

    Attributes:
        system: system that is integrated.
        method: integration method.
        tolerance: tolerance of an adaptive method.
        counts: cost since the last restart.
        is_native: True if compiled loops take the steps.
    """

    def __init__(self, system: System, method: Method, tolerance: float = 1e-10) -> None:
        """Initialize the state with zeros."""
        u = system.inputs(np.zeros(system.model.nv), np.zeros(PARAMETERS * len(system.equations.loads.applied)))
        super().__init__(system, method, np.zeros(system.size), u, tolerance=tolerance)
        self.is_native &= system.is_compiled
        self.tolerance, self.counts = tolerance, Counts()
        self._is_adaptive = method.is_adaptive
        self._last_singular = -np.inf
        self._start, self._is_singular = 0.0, False  # time and status of the current step on NumPy arrays

    # --- state and input ----------------------------------------------------------------------------------------
    @property
    def x(self) -> Array:
        """Current state."""
        return self._state.copy()

    @x.setter
    def x(self, value: Array) -> None:
        self._state[...] = value
        self.discard_rate()

    @property
    def u(self) -> Array:
        """Current input."""
        return self._u

    @u.setter
    def u(self, value: Array) -> None:
        own = self.system.equations.combination_inputs  # depends on the state
        self._u[: own.start], self._u[own.stop :] = value[: own.start], value[own.stop :]
        self.discard_rate()

    def restart(self, x: Array, u: Array | None = None) -> None:
        """Continue from a state without history.

        Args:
            x: the state.
            u: the input, which includes the combinations of redundant constraints; None keeps the present input and
                selects combinations for the state.
        """
        self.x = x
        if u is None:
            self._select_constraints()
        else:
            self._u[...] = u
        self.s.taken = self.s.refused = 0
        self.s.time = self.s.length = 0.0
        self.counts = Counts()
        self._last_singular = -np.inf

    def discard_rate(self) -> None:
        """Discard the rate that an adaptive method reuses from its last stage."""
        self.s.known = 0

    def _select_constraints(self) -> bool:
        """Select combinations of redundant constraints for the state; return True if they have changed."""
        weights, own = self.system.combination_weights(self.x[None, :]), self.system.equations.combination_inputs
        if weights is None or np.array_equal(weights[0], self._u[own], equal_nan=True):
            return False
        self._u[own] = weights[0]
        self.discard_rate()
        return True

    def accelerations(self, X: Array, U: Array, T: Array, h: float) -> Array:
        """Return accelerations for rows of states, inputs and times.

        For a semi-implicit method these are the mean accelerations of the step that follows.
        """
        if not (self.method.is_direct and self.system.has_step):
            return self.system.accelerations(X, U, T)
        U[:, -1] = h
        nq = self.system.model.nq
        after, status = self.system.step.rows_status(X, U, T[:, None])
        if status:  # a kernel rejected some row
            for i, row in enumerate(zip(X, U, T.tolist(), strict=True)):
                after[i] = np.nan
                with suppress(*FAILURES):
                    after[i] = self._semi_implicit(*row, h)[0]
        return np.asarray((after[:, nq:] - X[:, nq:]) / h)

    # --- steps --------------------------------------------------------------------------------------------------
    def advance(self, origin: float, first: int, steps: int, h: float, every: int = 1, phase: int = 0) -> Array:
        """Take steps from the time origin + first h; return the logged states as rows.

        Args:
            origin: start of the grid of time [s].
            first: number of steps since then.
            steps: number of steps to take; for an adaptive method, of intervals to integrate in its own steps.
            h: step length [s].
            every: number of steps between two rows, 1 for an adaptive method; 0 for no rows.
            phase: number of steps since the last row.
        """
        s, size = self.s, self.system.size
        rows = self.rows((phase + steps) // every) if every else NO_ROWS
        self._u[-1] = s.h = h
        s.origin, done = origin, 0
        if self._is_adaptive:
            s.time = origin + first * h
            s.length = s.length if s.length > 0.0 else min(FIRST_LENGTH, h)  # also after a failure
        while True:
            if self.is_native and every:
                row, taken = divmod(phase + done, every)
                done += self.take_steps(first + done, steps - done, rows[row:], every, taken)
            elif self.is_native:
                done += self.take_steps(first + done, steps - done)
            if done == steps:
                break
            is_too_small = self._status == STEP_TOO_SMALL
            if not is_too_small and self._select_constraints():
                continue
            until = origin + (first + done + 1) * h
            try:
                if is_too_small:
                    raise self._too_small(s.time)
                self._fallback_step(s.time if self._is_adaptive else origin + (first + done) * h, until)
            except IntegrationError as problem:
                problem.rows = rows[: (phase + done) // every if every else 0, :size]
                raise
            if self._is_adaptive and s.time < until:
                continue
            done += 1
            if every and (phase + done) % every == 0:
                rows[(phase + done) // every - 1, :size] = self._state
        if self._is_adaptive:
            steps, self.counts.refused = s.taken, self.counts.refused + s.refused
            s.taken = s.refused = 0
        self.counts.steps += steps
        return rows[:, :size]

    # --- steps on NumPy arrays ----------------------------------------------------------------------------------
    def _fallback_step(self, t: float, until: float) -> None:
        """Take one step on NumPy arrays: of fixed length, or an adaptive one towards the time `until`."""
        self._start, self._is_singular = t, False
        x = self.x
        try:
            with np.errstate(all="ignore"):
                if self._is_adaptive:
                    self._adaptive_step(x, t, until)
                elif self.method.is_direct:
                    self.x = self._robust_rate(x, t)
                else:
                    self.x = self._settled(explicit_step(self.method, self._robust_rate, x, t, self.s.h))
        except (GuardError, np.linalg.LinAlgError, InputError) as problem:
            why = "the loops cannot be closed after the step" if self.system.kernels.closed else str(problem)
            raise self._failure(self.x, t, why) from problem
        self.counts.fallback += self.is_native
        if self._is_singular:
            if t > self._last_singular + ONE_PASSAGE:
                self.counts.singular.append(t)
            self._last_singular = t

    def _adaptive_step(self, x: Array, t: float, until: float) -> None:
        """Take one step of an embedded pair, with the error estimate and the step control of `jit.integrator`."""
        method, s = self.method, self.s
        assert method.errors is not None
        first, length, refused = self._robust_rate(x, t), s.length, 0
        while length >= SMALLEST_STEP:
            is_last = until - t <= length * (1.0 + LEAST_REST)
            h = until - t if is_last else length
            error, factor = np.float64(np.inf), AFTER_OVERFLOW
            with suppress(IntegrationError):  # a rate is not finite: the step is too long
                rates = _stage_rates(method, self._robust_rate, x, t, h, first)
                new = x + h * (method.b @ rates)
                rates = np.vstack([rates, self._robust_rate(new, t + h)])
                ratios = method.errors @ rates / (self.tolerance * (1.0 + np.fmax(np.abs(x), np.abs(new))))
                e5, e3 = np.sum(ratios * ratios, axis=1)
                mixed = e5 + 0.01 * e3
                error = h * e5 / np.sqrt(mixed * len(x)) if mixed != 0.0 else mixed
                factor = float(np.fmin(np.fmax(SAFETY / error ** (0.5**method.roots), SMALLEST_FACTOR), LARGEST_FACTOR))
            if error < 1.0:
                self.x = self._settled(new)
                s.time, s.length = (until, max(h * factor, length)) if is_last else (t + h, h * factor)
                s.taken, s.refused = s.taken + 1, s.refused + refused
                return
            length, refused = h * min(factor, 1.0), refused + 1
        raise self._too_small(t)

    def _robust_rate(self, x: Array, t: float) -> Array:
        """Return ẋ, or for a direct method x after the step, in regular and singular configurations."""
        if self.method.is_direct:
            found, singular = self._semi_implicit(x, self._u, t, self.s.h)
        else:
            found, singular = self._finite_rate(x, self._u, t)
        self._is_singular |= singular
        return found

    def _finite_rate(self, x: Array, u: Array, t: float) -> tuple[Array, bool]:
        found, singular = self.system.robust_rate(x, u, t)
        if not np.isfinite(found).all():
            raise self._failure(x, t)
        return found, singular

    def _semi_implicit(self, x: Array, u: Array, t: float, h: float) -> tuple[Array, bool]:
        """Return x after a step; in a singular configuration with explicit accelerations."""
        if self.system.has_step:
            found, status = self.system.step.single_status(x, u, np.array([t]))
            if not status:
                return found, False
        rate, singular = self._finite_rate(x, u, t)
        model = self.system.model
        v = x[model.nq :] + h * rate[model.nq :]
        after = np.concatenate([model.integrate(x[: model.nq], v, h), v])
        if self.system.kernels.closed is None:
            return after, singular
        return self.system.balanced(x, u, t, rate[model.nq :], h, self.system.robust_projection(after)), singular

    def _settled(self, x: Array) -> Array:
        """Return the projection of a state onto the admissible states."""
        if not np.isfinite(x).all():
            raise self._failure(x, self._start)
        settle: Kernel | None = self.system.settle if self.system.is_compiled else None
        if settle is not None:
            found, status = settle.single_status(x, self._u)
            if not status:
                return np.asarray(found)
        return self.system.robust_projection(x)

    # --- errors -------------------------------------------------------------------------------------------------
    def _too_small(self, t: float) -> IntegrationError:
        why = f"no step length meets the tolerance {self.tolerance:g}; the solution is discontinuous or unbounded"
        return self._error(self.x, t, why)

    def _failure(self, x: Array, t: float, why: str = "accelerations are not finite") -> IntegrationError:
        nq = self.system.model.nq
        if np.isfinite(x).all():
            q = np.array(self.system.equations.nearest(x[:nq].tolist()), dtype=float)
            problems = self.system.model.position_problems(q)
            if problems:
                return self._error(x, t, "; ".join(problems))
        adaptive = "" if self.method.is_adaptive else ", integrator='dop853' near singular configurations,"
        other = "" if self.method.is_direct else f"{adaptive} or integrator='semi_implicit'"
        advice = f"velocity or the stiffest spring, contact or controller; use a shorter one{other}."
        return self._error(x, t, why.rstrip("."), f" The step may be too long for this {advice}")

    def _error(self, x: Array, t: float, why: str, advice: str = "") -> IntegrationError:
        """Return an error that names the joint with the largest velocity, or one whose velocity is NaN."""
        model, v = self.system.model, x[self.system.model.nq :]
        speeds = np.where(np.isfinite(v), np.abs(v), np.inf)
        joint = model.joint_of_velocity(int(np.argmax(speeds))) if len(v) else None
        problem = IntegrationError(
            f"model {model.name!r}: the integration fails at t = {t:.9g} s: {why}. The fastest joint is {joint!r} with "
            f"{np.max(np.abs(v), initial=0.0):.3g} rad/s or m/s.{advice}",
            joint=joint,
        )
        problem.time = t
        return problem
