# SPDX-License-Identifier: Apache-2.0
"""Time integration: explicit Runge-Kutta methods with fixed and adaptive steps, forwards and backwards.

The functions of this file are executed once, to write the machine code of the steps (see `code_writer`), which serves
all robots and methods: the rate is a kernel that the code calls, the method is a table that it reads.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

from ada_dynamics.jit import compiler
from ada_dynamics.jit.code_writer import CodeWriter, Fields, Value
from ada_dynamics.jit.lowering import Lanes
from ada_dynamics.jit.native import Module, obtain
from ada_dynamics.jit.target import Target

# --- state ------------------------------------------------------------------------------------------------------------
Number: TypeAlias = Any  # a `Value` of the machine code, or a constant
Vector: TypeAlias = Any  # a `Value` that is an address

SMALLEST_FACTOR, LARGEST_FACTOR, SAFETY = 0.2, 10.0, 0.9  # of one step length to the next (Hairer et al. I, II.4)
AFTER_OVERFLOW = 0.25
SMALLEST_STEP = 1e-13  # [s]; shorter steps cannot reduce the error
LEAST_REST = 1e-9  # smallest remainder of an interval, relative to a step

STEP_TOO_SMALL = 4  # bit of the status word, in addition to those of kernels


class IntegratorState(ctypes.Structure):
    """State of an integration, and its progress.

    `rate` and `settle` are kernels of one state, or of `states` columns (kernels of one state ignore the argument);
    `settle` projects a state onto the allowed states, and may be null. The `table` of the method has a row of stage
    coefficients for each of `stages`, a row of weights, the nodes, and, for adaptive steps, two rows of error weights
    over stages + 1 rates.

    Where `points` is given, steps forwards fill it: for each step the points of all stages and the state before its
    projection, or for a direct method the state before the step. Steps backwards read it; `pull` and `pull_settle` are
    kernels of [state; gradient by the result] that compute the gradients by [state; u]; the table continues with the
    rows of `Method.backward_table` in `simulation`.
    """

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("rate", "settle", "x", "u", "t", "log", "points", "work", "table")),
        # numbers in the state (a multiple of the lanes) and how many are used; steps since the origin, steps to take,
        # steps per row of the log, and steps since the last row
        *((name, ctypes.c_int64) for name in ("n", "used", "states", "stages", "first", "steps", "every", "phase")),
        *((name, ctypes.c_double) for name in ("origin", "h", "tolerance")),
        ("roots", ctypes.c_int64),  # number of square roots that turn an error into a step factor
        # progress: steps or rows of this call; adaptive steps accepted and rejected so far, whether the first rate is
        # known, time, and length of the next step
        *((name, ctypes.c_int64) for name in ("done", "taken", "refused", "known")),
        *((name, ctypes.c_double) for name in ("time", "length")),
        # changing inputs: stride of the rows of u (0: u is constant), and steps per row
        *((name, ctypes.c_int64) for name in ("next_u", "hold")),
        # backwards: kernels; gradients by the state and by each row of u; gradients added at the state before each row
        # of u; and numbers in u (a multiple of the lanes)
        *((name, ctypes.c_void_p) for name in ("pull", "pull_settle", "by_x", "by_u", "added")),
        ("inputs", ctypes.c_int64),
    ]


def fixed(code: StepCode) -> None:
    """Take steps of equal length by an explicit method; write rows of the log, and the points of the stages."""
    s = code.s
    n, stages, h = s.n, s.stages, s.h
    apart = code.choose(code.has_points, n, 0)
    first_point = code.choose(code.has_points, code.points, code.work[stages * n :])
    for k in code.repeat(s.steps):
        t = _select_input(code, k)
        points = first_point[k * (stages + 1) * apart :]
        new = points[stages * apart :]
        _stages(code, 0, t, h, points, apart, _evaluate)
        _combine(code, code.table[stages * stages :], stages, h, new)
        _accept(code, new)
        _log_row(code, k + 1)


def direct(code: StepCode) -> None:
    """Take steps x⁺ = rate(x, u, t), where the rate includes the step length and returns an allowed state."""
    s = code.s
    for k in code.repeat(s.steps):
        t = _select_input(code, k)
        for _ in code.when(code.has_points):
            copy(code, code.x, code.points[k * s.n :])
        _evaluate(code, code.x, t, code.work)
        copy(code, code.work, code.x)
        _log_row(code, k + 1)


def adaptive(code: StepCode) -> None:
    """Integrate to equidistant times, with a row of the log for each, in adaptive steps."""
    s = code.s
    for k in code.repeat(s.steps):
        until = s.origin + code.real(s.first + k + 1) * s.h
        for _ in code.loop(lambda until=until: until - s.time > 0.0):
            adaptive_step(code, until)
        s.done = k + 1
        for _ in code.when(code.has_log):
            copy(code, code.x, code.log[k * s.n :])


def backward_fixed(code: StepCode) -> None:
    """Compute the gradients by the first state and by u from that by the last, for steps of an explicit method.

    With the stages X_i = x + h Σ a_ij K_j, K_i = f(X_i), and the gradient w by x + h Σ b_i K_i,

        l_i = f_x(X_i)ᵀ h (b_i w + Σ_{j>i} a_ji l_j),     w ← w + Σ l_i,

    which is an explicit method from the last stage to the first (Hairer, Lubich, Wanner, sec. VI.4).
    """
    s = code.s
    n, stages, h = s.n, s.stages, s.h
    turned = code.table[(stages + 2) * stages :]
    weights, nodes, ones = (turned[(stages + row) * stages :] for row in range(3))
    slopes = code.work[(stages + 3) * n :]
    for k in code.repeat(s.steps):
        before = s.steps - k - 1
        points, t = code.points[before * (stages + 1) * n :], _select_input(code, before)
        for _ in code.when(code.has_settle):
            code.pull_settle(points[stages * n :], code.by_x)
        for i in code.repeat(stages):
            for j in code.lanes_of(n):
                slopes[j] = (code.weighted(turned[i * stages :], i, j, True) + code.by_x[j] * weights[i]) * h
            _pull(code, points[(stages - i - 1) * n :], t + h * nodes[i], slopes, code.work[i * n :], before)
        for j in code.lanes_of(n):
            code.by_x[j] = code.by_x[j] + code.weighted(ones, stages, j, True)
        _add_direct_gradient(code, before)
    s.done = s.steps


def backward_direct(code: StepCode) -> None:
    """Compute gradients as `backward_fixed` for steps x⁺ = rate(x, u, t)."""
    s = code.s
    for k in code.repeat(s.steps):
        before = s.steps - k - 1
        t = _select_input(code, before)
        _pull(code, code.points[before * s.n :], t, code.by_x, code.by_x, before)
        _add_direct_gradient(code, before)
    s.done = s.steps


def _select_input(code: StepCode, k: Number) -> Number:
    """Select the input of a step; return its start time, computed from the step number without accumulation."""
    s = code.s
    code.use_input(s.first + k)
    return s.origin + code.real(s.first + k) * s.h


def _pull(code: StepCode, x: Vector, t: Number, w: Vector, out: Vector, before: Number) -> None:
    """out = gradient of w·rate by the state; the gradient by the input is added to its row."""
    s = code.s
    gradients = code.pull(x, t, w)
    copy(code, gradients, out)
    of_input, by_u = gradients[s.used :], code.by_u[code.input_row(s.first + before) * s.inputs :]
    for j in code.lanes_of(s.inputs):
        by_u[j] = by_u[j] + of_input[j]


def _add_direct_gradient(code: StepCode, before: Number) -> None:
    """Add the gradient that is given at the state before a step, if that is the first one of a row."""
    step = code.s.first + before
    for _ in code.when(step % code.s.hold == 0):
        own = code.added[code.input_row(step) * code.s.n :]
        for j in code.lanes_of(code.s.n):
            code.by_x[j] = code.by_x[j] + own[j]


def adaptive_step(code: StepCode, until: Number) -> None:
    """Take a step towards a time, or reduce the step length.

    Embedded formulas with two error estimates (Hairer et al. I, II.5 and II.10).
    """
    s = code.s
    n, stages, now, wanted = s.n, s.stages, s.time, s.length
    point, last_rate = code.work[(stages + 1) * n :], code.work[stages * n :]
    code.leave_if(code.no(wanted >= SMALLEST_STEP), STEP_TOO_SMALL)
    left = until - now
    is_last = left <= wanted * (1.0 + LEAST_REST)
    h = code.choose(is_last, left, wanted)
    for _ in code.when(s.known == 0):
        _evaluate(code, code.x, now, code.work)
        s.known = 1
    verdict = code.pair()
    verdict[0], verdict[1] = float("inf"), AFTER_OVERFLOW  # kept if a rate is not finite
    with code.attempt():
        _stages(code, 1, now, h, point, 0, _evaluate_or_abandon)
        _combine(code, code.table[stages * stages :], stages, h, point)
        _evaluate_or_abandon(code, point, now + h, last_rate)
        verdict[0] = _error(code, point, h)
        verdict[1] = _factor(code, verdict)
    error, factor = verdict[0], verdict[1]
    for _ in code.when(error < 1.0):
        _accept(code, point)
        s.time = code.choose(is_last, until, now + h)
        s.length = code.choose(is_last, code.larger(h * factor, wanted), h * factor)
        s.taken = s.taken + 1
        # the last rate is the first one of the next step, unless the state was projected
        copy(code, last_rate, code.work)
        s.known = code.choose(code.has_settle, 0, 1)
    for _ in code.when(code.no(error < 1.0)):
        s.length = h * code.smaller(factor, 1.0)
        s.refused = s.refused + 1


def _stages(code: StepCode, start: int, t: Number, h: Number, points: Vector, apart: Number, evaluate: Any) -> None:
    """Evaluate the rates of all stages from `start` on; point i is at i * `apart`."""
    n, stages = code.s.n, code.s.stages
    nodes = code.table[(stages + 1) * stages :]
    for k in code.repeat(stages - start):
        i = k + start
        point = points[i * apart :]
        _combine(code, code.table[i * stages :], i, h, point)
        evaluate(code, point, t + h * nodes[i], code.work[i * n :])


def _combine(code: StepCode, weights: Vector, count: Number, h: Number, out: Vector) -> None:
    """out = x + h Σ w_j K_j over the first `count` rates."""
    for i in code.lanes_of(code.s.n):
        out[i] = code.multiply_add(h, code.weighted(weights, count, i, True), code.x[i])


def _error(code: StepCode, new: Vector, h: Number) -> Number:
    """err = h e₅ / sqrt((e₅ + 0.01 e₃) n) with sums of squares e, each weighted by tolerance (1 + max |x|).

    Padding numbers are zero and contribute nothing.
    """
    s = code.s
    rates = s.stages + 1
    first = code.table[(s.stages + 2) * s.stages :]
    sums = code.vector_sum(), code.vector_sum()
    for i in code.lanes_of(s.n):
        allowed = s.tolerance * (1.0 + code.larger(abs(code.x[i]), abs(new[i])))
        for total, weights in zip(sums, (first, first[rates:]), strict=True):
            ratio = code.weighted(weights, rates, i, False) / allowed
            total.update("fadd", str(ratio * ratio))
    e5, e3 = map(code.total, sums)
    mixed = e5 + e3 * 0.01
    return code.choose(mixed == 0.0, 0.0, h * e5 / code.sqrt(mixed * code.real(s.used)))


def _factor(code: StepCode, error: Vector) -> Number:
    """0.9 err^(-1/2^roots) within its bounds, of an error in memory; the smallest factor for NaN."""
    root = code.pair()
    root[0] = error[0]
    for _ in code.repeat(code.s.roots):
        root[0] = code.sqrt(root[0])
    return code.smaller(code.larger(SAFETY / root[0], SMALLEST_FACTOR), LARGEST_FACTOR)


def _accept(code: StepCode, new: Vector) -> None:
    """Make the new state the current one, projected if required."""
    for _ in code.when(code.has_settle):
        copy(code, code.settled(new), code.x)
    for _ in code.when(code.no(code.has_settle)):
        copy(code, new, code.x)


def _log_row(code: StepCode, done: Number) -> None:
    """Count the step, and write a row of the log if it is due."""
    s = code.s
    s.done = done
    since = done + s.phase
    for _ in code.when(code.has_log & (since % s.every == 0)):
        copy(code, code.x, code.log[(since // s.every - 1) * s.n :])


def copy(code: StepCode, source: Vector, target: Vector) -> None:
    """Copy a state."""
    for i in code.lanes_of(code.s.n):
        target[i] = source[i]


def _evaluate(code: StepCode, x: Vector, t: Number, out: Vector) -> None:
    status = code.rate(x, t, out)
    code.leave_if(status > 0, status)


def _evaluate_or_abandon(code: StepCode, x: Vector, t: Number, out: Vector) -> None:
    """Evaluate a rate; abandon the step if it is not finite (status 1)."""
    status = code.rate(x, t, out)
    code.leave_if(status > 1, status)
    code.abandon_if(status == 1)


# --- code -------------------------------------------------------------------------------------------------------------
class StepCode(CodeWriter):
    """Writes the code of a loop over time steps: the functions above, with the kernels and the memory of a state."""

    def __init__(self, target: Target) -> None:
        """Load the addresses that all steps use."""
        super().__init__(Lanes(target.lanes), target.fma)
        self.s = Fields(self.body, "%s", IntegratorState)
        self._rate, self._settle = self.s.rate, self.s.settle
        self._u, self._t, self._states = self.s.u, self.s.t, self.s.states
        self.x, self.work, self.table, self.log = self.s.x, self.s.work, self.s.table, self.s.log
        self.points = self.s.points
        self.by_x, self.by_u, self.added = self.s.by_x, self.s.by_u, self.s.added
        self.has_settle, self.has_log, self.has_points = map(self.is_given, (self._settle, self.log, self.points))

    # --- kernels ------------------------------------------------------------------------------------------------
    def rate(self, x: Value, t: Value, out: Value) -> Value:
        """Call the kernel of the rate; return its status."""
        self._set_time(t)
        return self._call(self._rate, x, self._u, self._t, out)

    def settled(self, new: Value) -> Value:
        """Memory with the projection of a state."""
        settled = self.work[(self.s.stages + 2) * self.s.n :]
        status = self._call(self._settle, new, self._u, settled)
        self.leave_if(status > 0, status)
        return settled

    def pull(self, x: Value, t: Value, w: Value) -> Value:
        """Gradients of w·rate by x, then by u."""
        pair, gradients = self._with_gradient(x, w)
        self._set_time(t)
        status = self._call(self.s.pull, pair, self._u, self._t, gradients)
        self.leave_if(status > 0, status)
        return gradients

    def pull_settle(self, x: Value, w: Value) -> None:
        """w ← gradient of w·settled(x) by x."""
        pair, gradients = self._with_gradient(x, w)
        status = self._call(self.s.pull_settle, pair, self._u, gradients)
        self.leave_if(status > 0, status)
        copy(self, gradients, w)

    def _call(self, kernel: Value, *memory: Value) -> Value:
        operands = ", ".join(f"ptr {place}" for place in memory)
        return self._value("i32", f"call i32 {kernel}({operands}, i64 {self._states})")

    def _set_time(self, t: Value) -> None:
        for i in self.repeat(self._states):
            self._t[i] = t

    def _with_gradient(self, x: Value, w: Value) -> tuple[Value, Value]:
        """Argument [x; w] of the kernels, and memory for their results."""
        s = self.s
        pair = self.work[(s.stages + 4) * s.n :]
        copy(self, x, pair)
        copy(self, w, pair[s.used :])
        return pair, pair[s.n * 2 :]

    def use_input(self, step: Value) -> None:
        """Select the input of a step, counted from time zero."""
        self._u = self.s.u[self.input_row(step) * self.s.next_u :]

    def input_row(self, step: Value) -> Value:
        """Row of the input of a step."""
        row: Value = step // self.s.hold
        return row

    def weighted(self, weights: Value, count: Value, i: Value, fused: bool) -> Value:
        """Σ w_j K_j at index i over the first `count` rates; `fused`: with one rounding per term."""
        total, n = self.vector_sum(), self.s.n
        for j in self.repeat(count):
            w, rate = weights[j], self.work[j * n :][i]
            if fused:
                total.set(str(self.multiply_add(w, rate, Value(self.body, rate.kind, total.get(), rate.lanes))))
            else:
                total.update("fadd", str(rate * w))
        return Value(self.body, self.lanes.real, total.get(), self.lanes)


INTEGRATORS = {
    "integrate_fixed": fixed,
    "integrate_direct": direct,
    "integrate_adaptive": adaptive,
    "integrate_backward_fixed": backward_fixed,
    "integrate_backward_direct": backward_direct,
}


def integrator_text(target: Target) -> str:
    """Module with `i32 NAME(ptr state)` per integrator; vectors have a multiple of `target.lanes` elements."""
    texts = []
    for name, integrator in INTEGRATORS.items():
        integrator(code := StepCode(target))
        code.body.do("ret i32 0")
        texts.append(f"define i32 @{name}(ptr noalias %s) #0 {{\n{code.body}\n}}\n")
    return "".join(texts) + _preamble(Lanes(target.lanes), target)


def _preamble(lanes: Lanes, target: Target) -> str:
    real, suffix = lanes.real, lanes.suffix
    lines = {"declare double @llvm.sqrt.f64(double)": None}
    for kind, end in (("double", "f64"), (real, suffix)):
        lines[f"declare {kind} @llvm.fma.{end}({kind}, {kind}, {kind})"] = None
        lines[f"declare {kind} @llvm.fabs.{end}({kind})"] = None
        lines |= {f"declare {kind} @llvm.{which}num.{end}({kind}, {kind})": None for which in ("min", "max")}
    if lanes.width > 1:
        lines[f"declare double @llvm.vector.reduce.fadd.{suffix}(double, {real})"] = None
    return "\n".join([*lines, f"attributes #0 = {{ {target.function_attributes} }}\n"])


class CompiledIntegrator:
    """Compiled integrators: functions of the address of a `IntegratorState` that return a status word."""

    def __init__(self) -> None:
        target = Target.host()
        code, _ = obtain("integrators", "integrators", lambda: Module(integrator_text(target)), target)
        self.lanes = target.lanes
        self._library = compiler.load(code, INTEGRATORS)
        kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
        functions: list[Callable[[int], int]] = [kind(self._library.address(name)) for name in INTEGRATORS]
        self.fixed, self.direct, self.adaptive, self.backward_fixed, self.backward_direct = functions


@lru_cache(maxsize=1)
def compiled_integrators() -> CompiledIntegrator:
    """The compiled integrators; compiled or fetched from the cache at the first call."""
    return CompiledIntegrator()
