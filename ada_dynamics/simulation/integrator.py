# SPDX-License-Identifier: Apache-2.0
"""Numerical integration of a system: compiled loops, with single steps on NumPy arrays where a kernel fails.

Kernels fail near singular configurations of loops, where the rank-revealing solver computes the accelerations. The
integrator takes such a step on NumPy arrays and then continues the compiled loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ada_dynamics.algorithms.applied_wrench import PARAMETERS
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.jit import GuardError, Kernel
from ada_dynamics.jit.integrator import STEP_TOO_SMALL
from ada_dynamics.jit.scalar import GUARD_FAILED
from ada_dynamics.simulation.executors import (
    IntegrationError,
    KernelExecutor,
    StepTooSmallError,
    adaptive_step,
    explicit_step,
)
from ada_dynamics.simulation.methods import Method
from ada_dynamics.simulation.system import System

ONE_PASSAGE = 5e-3  # [s] between singular steps that belong to the same passage of a singular configuration
FAILURES = (GuardError, np.linalg.LinAlgError, IntegrationError, StepTooSmallError)  # errors that end an integration
NO_ROWS = np.zeros((0, 0))
FIRST_LENGTH = 1e-3  # [s], first trial step of an adaptive method


@dataclass
class Counts:
    """Cost of an integration."""

    steps: int = 0
    refused: int = 0  # steps of an adaptive method that were too long
    fallback: int = 0  # steps that were taken on numbers
    singular: list[float] = field(default_factory=list)  # times at which singular configurations were passed [s]


class Integrator:
    """State of a system and the method that integrates it.

    Attributes:
        system: system that is integrated.
        method: integration method.
        tolerance: tolerance of an adaptive method.
        counts: cost since the last restart.
        is_native: True if compiled loops take the steps.
    """

    def __init__(self, system: System, method: Method, tolerance: float = 1e-10) -> None:
        """Initialize the state with zeros.

        Args:
            system: system that is integrated.
            method: integration method.
            tolerance: tolerance of an adaptive method.
        """
        self.system = system
        self.method = method
        self.tolerance = tolerance
        self.counts = Counts()
        self._last_singular = -np.inf
        self._start, self._is_singular = 0.0, False  # time and status of the current step on NumPy arrays
        self._u = system.inputs(np.zeros(system.model.nv), np.zeros(PARAMETERS * len(system.equations.loads.applied)))
        kernels = lambda: system.step_kernels(method.is_direct)  # noqa: E731
        self._kernels = KernelExecutor(kernels, method, np.zeros(system.size), self._u, tolerance=tolerance)
        self.is_native = self._kernels.is_native and system.is_compiled
        self._s, self._x = self._kernels.s, self._kernels.x

    # --- state and input ----------------------------------------------------------------------------------------
    @property
    def x(self) -> Array:
        """Current state."""
        return self._x.copy()

    @x.setter
    def x(self, value: Array) -> None:
        self._x[...] = value
        self.discard_rate()

    @property
    def u(self) -> Array:
        """Current input."""
        return self._u

    @u.setter
    def u(self, value: Array) -> None:
        chosen = self.system.equations.chosen  # depends on the state
        self._u[: chosen.start], self._u[chosen.stop :] = value[: chosen.start], value[chosen.stop :]
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
        self._s.taken = self._s.refused = 0
        self._s.time = self._s.length = 0.0
        self.counts = Counts()
        self._last_singular = -np.inf

    def discard_rate(self) -> None:
        """Discard the rate that an adaptive method reuses from its last stage."""
        self._s.known = 0

    def _select_constraints(self) -> bool:
        """Select combinations of redundant constraints for the state; return True if they have changed."""
        chosen = self.system.chosen(self.x[None, :])
        if chosen is None or np.array_equal(chosen[0], self._u[self.system.equations.chosen], equal_nan=True):
            return False
        self._u[self.system.equations.chosen] = chosen[0]
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
            after = np.array([self._step_or_nan(x, u, t, h) for x, u, t in zip(X, U, T.tolist(), strict=True)])
        return np.asarray((after[:, nq:] - X[:, nq:]) / h)

    def _step_or_nan(self, x: Array, u: Array, t: float, h: float) -> Array:
        """Return x after a semi-implicit step, NaN if the step fails."""
        try:
            return self._semi_implicit(x, u, t, h)[0]
        except FAILURES:
            return np.full(len(x), np.nan)

    # --- fixed steps --------------------------------------------------------------------------------------------
    def advance(self, origin: float, first: int, steps: int, h: float, every: int = 1, phase: int = 0) -> Array:
        """Take fixed steps from the time origin + first h; return the logged states as rows.

        Args:
            origin: start of the grid of time [s].
            first: number of steps since then.
            steps: number of steps to take.
            h: step length [s].
            every: number of steps between two rows; 0 for no rows.
            phase: number of steps since the last row.
        """
        s, kernels, size = self._s, self._kernels, self.system.size
        rows = kernels.rows((phase + steps) // every) if every else NO_ROWS
        self._u[-1] = s.h = h
        s.origin = origin
        done = 0
        while done < steps:
            if self.is_native:
                left = rows[(phase + done) // every :] if every else None
                done += kernels.advance(first + done, steps - done, left, every or 1, (phase + done) % (every or 1))
            if done < steps and not self._select_constraints():
                s.first = first + done
                try:
                    self._fallback_step(origin + (first + done) * h)
                except IntegrationError as problem:
                    problem.rows = rows[: (phase + done) // every if every else 0, :size]
                    raise
                done += 1
                if every and (phase + done) % every == 0:
                    rows[(phase + done) // every - 1, :size] = self._x
        self.counts.steps += steps
        return rows[:, :size]

    # --- adaptive steps -----------------------------------------------------------------------------------------
    def advance_adaptively(self, origin: float, first: int, rows: int, interval: float) -> Array:
        """Integrate to equidistant times with adaptive steps; return the states there as rows.

        Args:
            origin: start of the grid of time [s].
            first: number of intervals since then.
            rows: number of intervals to integrate.
            interval: length of an interval [s].
        """
        s, kernels, size = self._s, self._kernels, self.system.size
        kept = kernels.rows(rows)
        s.origin, s.h, s.time = origin, interval, origin + first * interval
        if not s.length > 0.0:
            s.length = min(FIRST_LENGTH, interval)
        done = 0
        while done < rows:
            status = GUARD_FAILED
            if self.is_native:
                taken, status = kernels.advance_adaptively(first + done, rows - done, kept[done:])
                done += taken
            if done < rows:
                if status == STEP_TOO_SMALL:
                    raise self._too_small(s.time)
                if self._select_constraints():
                    continue
                until = origin + (first + done + 1) * interval
                self._fallback_step(s.time, until)
                if s.time >= until:
                    kept[done, :size] = self._x
                    done += 1
        self.counts.steps += s.taken
        self.counts.refused += s.refused
        s.taken = s.refused = 0
        return kept[:, :size]

    # --- steps on NumPy arrays ----------------------------------------------------------------------------------
    def _fallback_step(self, t: float, until: float | None = None) -> None:
        """Take one step on NumPy arrays: of fixed length, or an adaptive one towards the time `until`."""
        self._start, self._is_singular = t, False
        s, x = self._s, self.x
        try:
            with np.errstate(all="ignore"):
                if until is not None:
                    step = adaptive_step(self.method, self._robust_rate, x, t, until, s.length, self.tolerance)
                    self.x = self._settled(step.x)
                    s.time, s.length = step.t, step.length
                    s.taken, s.refused = s.taken + 1, s.refused + step.refused
                elif self.method.is_direct:
                    self.x = self._robust_rate(x, t)
                else:
                    self.x = self._settled(explicit_step(self.method, self._robust_rate, x, t, s.h))
        except StepTooSmallError:
            raise self._too_small(t) from None
        except (GuardError, np.linalg.LinAlgError, InputError) as problem:
            why = "the loops cannot be closed after the step" if self.system.kernels.closed else str(problem)
            raise self._failure(self.x, t, why) from problem
        self.counts.fallback += self.is_native
        if self._is_singular:
            if t > self._last_singular + ONE_PASSAGE:
                self.counts.singular.append(t)
            self._last_singular = t

    def _robust_rate(self, x: Array, t: float) -> Array:
        """Return ẋ, or for a direct method x after the step, in regular and singular configurations."""
        if self.method.is_direct:
            found, singular = self._semi_implicit(x, self._u, t, self._s.h)
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
        why = f"no step length meets the tolerance {self.tolerance:g}; the solution is discontinuous or unbounded."
        return self._error(self.x, t, why)

    def _failure(self, x: Array, t: float, why: str = "accelerations are not finite") -> IntegrationError:
        nq = self.system.model.nq
        if np.isfinite(x).all():
            q = np.array(self.system.equations.nearest(x[:nq].tolist()), dtype=float)
            problems = self.system.model.position_problems(q)
            if problems:
                return self._error(x, t, f"{'; '.join(problems)}.")
        speed = float(np.max(np.abs(x[nq:]), initial=0.0))
        other = "" if self.method.is_direct else " or integrator='semi_implicit'"
        return self._error(
            x,
            t,
            f"{why.rstrip('.')}. The fastest joint is {self._fastest_joint(x)!r} with {speed:.3g} rad/s or m/s. The "
            "step may be too long for this velocity or the stiffest spring, contact or controller; use a shorter "
            f"one{other}.",
        )

    def _error(self, x: Array, t: float, why: str) -> IntegrationError:
        where = f"model {self.system.model.name!r}: the integration fails at t = {t:.9g} s"
        problem = IntegrationError(f"{where}: {why}", joint=self._fastest_joint(x))
        problem.time = t
        return problem

    def _fastest_joint(self, x: Array) -> str | None:
        """Return the joint with the largest velocity, or one whose velocity is NaN; None without velocities."""
        v = x[self.system.model.nq :]
        if not len(v):
            return None
        return self.system.model.joint_of_velocity(int(np.argmax(np.where(np.isfinite(v), np.abs(v), np.inf))))
