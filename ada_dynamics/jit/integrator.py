# SPDX-License-Identifier: Apache-2.0
"""Time integration: explicit Runge-Kutta methods with fixed and adaptive steps, forwards and backwards.

The steps are functions of an executor `on`, which writes their machine code for all robots and methods. The rate is a
function that is called, the method is a table. Loops and branches are `for` statements, whose body is written once.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partialmethod
from typing import Any, TypeAlias

from ada_dynamics.jit import compiler
from ada_dynamics.jit.lowering import ONE, Instructions, Lanes, double, spread
from ada_dynamics.jit.native import Module, obtain
from ada_dynamics.jit.target import Target

# --- methods ----------------------------------------------------------------------------------------------------------
# A number or array, or an operand of machine code, with the same operators, slices and comparisons.
Number: TypeAlias = Any
Vector: TypeAlias = Any

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
    rows of `backward_table`.
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


def fixed(on: Any) -> None:
    """Take steps of equal length by an explicit method; write rows of the log, and the points of the stages."""
    s = on.s
    n, stages, h = s.n, s.stages, s.h
    apart = on.choose(on.has_points, n, 0)
    first_point = on.choose(on.has_points, on.points, on.work[stages * n :])
    for k in on.repeat(s.steps):
        t = _take_input(on, k)
        points = first_point[k * (stages + 1) * apart :]
        new = points[stages * apart :]
        _stages(on, 0, t, h, points, apart, _evaluate)
        _combine(on, on.table[stages * stages :], stages, h, new)
        _finish(on, new)
        _keep_row(on, k + 1)


def direct(on: Any) -> None:
    """Take steps x⁺ = rate(x, u, t), where the rate includes the step length and returns an allowed state."""
    s = on.s
    for k in on.repeat(s.steps):
        t = _take_input(on, k)
        for _ in on.when(on.has_points):
            copy(on, on.x, on.points[k * s.n :])
        _evaluate(on, on.x, t, on.work)
        copy(on, on.work, on.x)
        _keep_row(on, k + 1)


def adaptive(on: Any) -> None:
    """Integrate to equidistant times, with a row of the log for each, in adaptive steps."""
    s = on.s
    for k in on.repeat(s.steps):
        until = s.origin + on.real(s.first + k + 1) * s.h
        for _ in on.loop(lambda until=until: until - s.time > 0.0):
            adaptive_step(on, until)
        s.done = k + 1
        for _ in on.when(on.has_log):
            copy(on, on.x, on.log[k * s.n :])


def backward_fixed(on: Any) -> None:
    """Compute the gradients by the first state and by u from that by the last, for steps of an explicit method.

    With the stages X_i = x + h Σ a_ij K_j, K_i = f(X_i), and the gradient w by x + h Σ b_i K_i,

        l_i = f_x(X_i)ᵀ h (b_i w + Σ_{j>i} a_ji l_j),     w ← w + Σ l_i,

    which is an explicit method from the last stage to the first (Hairer, Lubich, Wanner, sec. VI.4).
    """
    s = on.s
    n, stages, h = s.n, s.stages, s.h
    turned = on.table[(stages + 2) * stages :]
    weights, nodes, ones = (turned[(stages + row) * stages :] for row in range(3))
    slopes = on.work[(stages + 3) * n :]
    for k in on.repeat(s.steps):
        before = s.steps - k - 1
        points, t = on.points[before * (stages + 1) * n :], _take_input(on, before)
        for _ in on.when(on.has_settle):
            on.pull_settle(points[stages * n :], on.by_x)
        for i in on.repeat(stages):
            for j in on.lanes_of(n):
                slopes[j] = (on.weighted(turned[i * stages :], i, j, True) + on.by_x[j] * weights[i]) * h
            _pull(on, points[(stages - i - 1) * n :], t + h * nodes[i], slopes, on.work[i * n :], before)
        for j in on.lanes_of(n):
            on.by_x[j] = on.by_x[j] + on.weighted(ones, stages, j, True)
        _add_own(on, before)
    s.done = s.steps


def backward_direct(on: Any) -> None:
    """Compute gradients as `backward_fixed` for steps x⁺ = rate(x, u, t)."""
    s = on.s
    for k in on.repeat(s.steps):
        before = s.steps - k - 1
        t = _take_input(on, before)
        _pull(on, on.points[before * s.n :], t, on.by_x, on.by_x, before)
        _add_own(on, before)
    s.done = s.steps


def backward_table(A: Any, b: Any, c: Any) -> list[float]:
    """Coefficients of the backward method, from the last stage to the first: a_ji by rows, b, c, and a row of ones."""
    turned = [list(column) for column in zip(*A, strict=True)]
    rows = [row[::-1] for row in turned[::-1]]
    return [float(x) for row in (*rows, list(b)[::-1], list(c)[::-1], [1.0] * len(b)) for x in row]


def _take_input(on: Any, k: Number) -> Number:
    """Select the input of a step; return its start time, computed from the step number without accumulation."""
    s = on.s
    on.use_input(s.first + k)
    return s.origin + on.real(s.first + k) * s.h


def _pull(on: Any, x: Vector, t: Number, w: Vector, out: Vector, before: Number) -> None:
    """out = gradient of w·rate by the state; the gradient by the input is added to its row."""
    s = on.s
    gradients = on.pull(x, t, w)
    copy(on, gradients, out)
    of_input, by_u = gradients[s.used :], on.by_u[on.input_row(s.first + before) * s.inputs :]
    for j in on.lanes_of(s.inputs):
        by_u[j] = by_u[j] + of_input[j]


def _add_own(on: Any, before: Number) -> None:
    """Add the gradient that is given at the state before a step, if that is the first one of a row."""
    step = on.s.first + before
    for _ in on.when(step % on.s.hold == 0):
        own = on.added[on.input_row(step) * on.s.n :]
        for j in on.lanes_of(on.s.n):
            on.by_x[j] = on.by_x[j] + own[j]


def adaptive_step(on: Any, until: Number) -> None:
    """Take a step towards a time, or reduce the step length.

    Embedded formulas with two error estimates (Hairer et al. I, II.5 and II.10).
    """
    s = on.s
    n, stages, now, wanted = s.n, s.stages, s.time, s.length
    point, last_rate = on.work[(stages + 1) * n :], on.work[stages * n :]
    on.leave_if(on.no(wanted >= SMALLEST_STEP), STEP_TOO_SMALL)
    left = until - now
    is_last = left <= wanted * (1.0 + LEAST_REST)
    h = on.choose(is_last, left, wanted)
    for _ in on.when(s.known == 0):
        _evaluate(on, on.x, now, on.work)
        s.known = 1
    verdict = on.pair()
    verdict[0], verdict[1] = float("inf"), AFTER_OVERFLOW  # kept if a rate is not finite
    with on.attempt():
        _stages(on, 1, now, h, point, 0, _try)
        _combine(on, on.table[stages * stages :], stages, h, point)
        _try(on, point, now + h, last_rate)
        verdict[0] = _error(on, point, h)
        verdict[1] = _factor(on, verdict)
    error, factor = verdict[0], verdict[1]
    for _ in on.when(error < 1.0):
        _finish(on, point)
        s.time = on.choose(is_last, until, now + h)
        s.length = on.choose(is_last, on.larger(h * factor, wanted), h * factor)
        s.taken = s.taken + 1
        # the last rate is the first one of the next step, unless the state was projected
        copy(on, last_rate, on.work)
        s.known = on.choose(on.has_settle, 0, 1)
    for _ in on.when(on.no(error < 1.0)):
        s.length = h * on.smaller(factor, 1.0)
        s.refused = s.refused + 1


def _stages(on: Any, start: int, t: Number, h: Number, points: Vector, apart: Number, evaluate: Any) -> None:
    """Evaluate the rates of all stages from `start`, at points that are so many numbers apart."""
    n, stages = on.s.n, on.s.stages
    nodes = on.table[(stages + 1) * stages :]
    for k in on.repeat(stages - start):
        i = k + start
        point = points[i * apart :]
        _combine(on, on.table[i * stages :], i, h, point)
        evaluate(on, point, t + h * nodes[i], on.work[i * n :])


def _combine(on: Any, weights: Vector, count: Number, h: Number, out: Vector) -> None:
    """out = x + h Σ w_j K_j over the first `count` rates."""
    for i in on.lanes_of(on.s.n):
        out[i] = on.multiply_add(h, on.weighted(weights, count, i, True), on.x[i])


def _error(on: Any, new: Vector, h: Number) -> Number:
    """err = h e₅ / sqrt((e₅ + 0.01 e₃) n) with sums of squares e, each weighted by tolerance (1 + max |x|).

    Padding numbers are zero and contribute nothing.
    """
    s = on.s
    rates = s.stages + 1
    first = on.table[(s.stages + 2) * s.stages :]
    sums = on.sums()
    for i in on.lanes_of(s.n):
        allowed = s.tolerance * (1.0 + on.larger(abs(on.x[i]), abs(new[i])))
        for total, weights in zip(sums, (first, first[rates:]), strict=True):
            ratio = on.weighted(weights, rates, i, False) / allowed
            total.add(ratio * ratio)
    e5, e3 = (total.value() for total in sums)
    mixed = e5 + e3 * 0.01
    return on.choose(mixed == 0.0, 0.0, h * e5 / on.sqrt(mixed * on.real(s.used)))


def _factor(on: Any, error: Vector) -> Number:
    """0.9 err^(-1/2^roots) within its bounds, of an error in memory; the smallest factor for NaN."""
    root = on.pair()
    root[0] = error[0]
    for _ in on.repeat(on.s.roots):
        root[0] = on.sqrt(root[0])
    return on.smaller(on.larger(SAFETY / root[0], SMALLEST_FACTOR), LARGEST_FACTOR)


def _finish(on: Any, new: Vector) -> None:
    """Make the new state the current one, projected if required."""
    for _ in on.when(on.has_settle):
        copy(on, on.settled(new), on.x)
    for _ in on.when(on.no(on.has_settle)):
        copy(on, new, on.x)


def _keep_row(on: Any, done: Number) -> None:
    """Count the step, and write a row of the log if it is due."""
    s = on.s
    s.done = done
    since = done + s.phase
    for _ in on.when(on.has_log & (since % s.every == 0)):
        copy(on, on.x, on.log[(since // s.every - 1) * s.n :])


def copy(on: Any, source: Vector, target: Vector) -> None:
    """Copy a state."""
    for i in on.lanes_of(on.s.n):
        target[i] = source[i]


def _evaluate(on: Any, x: Vector, t: Number, out: Vector) -> None:
    status = on.rate(x, t, out)
    on.leave_if(status > 0, status)


def _try(on: Any, x: Vector, t: Number, out: Vector) -> None:
    """Evaluate a rate; abandon the step if it is not finite (status 1)."""
    status = on.rate(x, t, out)
    on.leave_if(status > 1, status)
    on.abandon_if(status == 1)


# --- lowering ---------------------------------------------------------------------------------------------------------
INTEGRATORS = {
    "integrate_fixed": fixed,
    "integrate_direct": direct,
    "integrate_adaptive": adaptive,
    "integrate_backward_fixed": backward_fixed,
    "integrate_backward_direct": backward_direct,
}

_KINDS = {ctypes.c_void_p: "ptr", ctypes.c_int64: "i64", ctypes.c_double: "double"}
_FIELDS = {name: kind for name, kind, *_ in IntegratorState._fields_}
_COMPARE = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq"}
_REAL = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_WHOLE = {"+": "add", "-": "sub", "*": "mul", "//": "sdiv", "%": "srem"}


def integrator_text(target: Target) -> str:
    """Module with `i32 NAME(ptr state)` per integrator; vectors have a multiple of `target.lanes` elements."""
    texts = []
    for name, integrator in INTEGRATORS.items():
        integrator(code := _Executor(target))
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


class Value:
    """Operand of machine code whose operators write instructions; scalars are broadcast."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, body: Instructions, kind: str, name: str, lanes: Lanes = ONE) -> None:
        """Args: function body, type, text of the operand; lanes of the numbers at an index."""
        self.body, self.kind, self.name, self.lanes = body, kind, name, lanes

    def __str__(self) -> str:
        return self.name

    def _like(self, other: Any) -> str:
        """Operand of the type of this value."""
        if isinstance(other, Value):
            return spread(self.body, self.lanes, other.name) if self.kind != other.kind else other.name
        if self.kind[0] == "i":
            return str(int(other))
        return self.lanes.number(float(other))

    def _do(self, sign: str, other: Any, turned: bool = False) -> Value:
        if isinstance(other, Value) and other.lanes.width > self.lanes.width and self.kind != "i64":
            return other._do(sign, self, not turned)
        a, b = self.name, self._like(other)
        operation = (_WHOLE if self.kind[0] == "i" else _REAL)[sign]
        text = f"{operation} {self.kind} " + (f"{b}, {a}" if turned else f"{a}, {b}")
        return Value(self.body, self.kind, self.body.emit(text), self.lanes)

    def _compare(self, sign: str, other: Any) -> Value:
        end = _COMPARE[sign]
        is_real = self.kind == "double"
        how = "fcmp o" if is_real else "icmp " if sign == "==" else "icmp s"
        return Value(self.body, "i1", self.body.emit(f"{how}{end} {self.kind} {self.name}, {self._like(other)}"))

    def __abs__(self) -> Value:
        text = f"call {self.kind} @llvm.fabs.{self.lanes.suffix}({self.kind} {self.name})"
        return Value(self.body, self.kind, self.body.emit(text), self.lanes)

    def __and__(self, other: Value) -> Value:
        return Value(self.body, "i1", self.body.emit(f"and i1 {self.name}, {other.name}"))

    __add__ = partialmethod(_do, "+")
    __radd__ = partialmethod(_do, "+", turned=True)
    __sub__ = partialmethod(_do, "-")
    __mul__ = partialmethod(_do, "*")
    __truediv__ = partialmethod(_do, "/")
    __rtruediv__ = partialmethod(_do, "/", turned=True)
    __floordiv__ = partialmethod(_do, "//")
    __mod__ = partialmethod(_do, "%")
    __lt__ = partialmethod(_compare, "<")
    __le__ = partialmethod(_compare, "<=")
    __gt__ = partialmethod(_compare, ">")
    __ge__ = partialmethod(_compare, ">=")
    __eq__ = partialmethod(_compare, "==")

    def __getitem__(self, i: Any) -> Value:
        """Load the numbers at an index, or the address of the start of a slice."""
        if isinstance(i, slice):
            return Value(self.body, "ptr", self.body.element(self.name, str(i.start)))
        lanes = i.lanes if isinstance(i, Value) else ONE
        return Value(self.body, lanes.real, self.body.load(lanes.real, self.name, str(i)), lanes)

    def __setitem__(self, i: Any, value: Any) -> None:
        lanes = i.lanes if isinstance(i, Value) else ONE
        text = value.name if isinstance(value, Value) else double(value)
        self.body.store(lanes.real, text, self.name, str(i))


class _Fields:
    """Fields of a `IntegratorState` in memory, loaded and stored as attributes."""

    _body: Instructions

    def __init__(self, body: Instructions) -> None:
        self.__dict__["_body"] = body

    def _place(self, name: str) -> tuple[str, str]:
        kind = _KINDS[_FIELDS[name]]
        return kind, self._body.element("%s", getattr(IntegratorState, name).offset, "i8")

    def __getattr__(self, name: str) -> Value:
        kind, place = self._place(name)
        return Value(self._body, kind, self._body.emit(f"load {kind}, ptr {place}"))

    def __setattr__(self, name: str, value: Any) -> None:
        kind, place = self._place(name)
        self._body.do(f"store {kind} {value}, ptr {place}")


class _Sum:
    """Sum over lanes."""

    def __init__(self, body: Instructions, lanes: Lanes) -> None:
        self._lanes = lanes
        self._sum = body.variable(lanes.real, "zeroinitializer" if lanes.width > 1 else double(0.0))

    def add(self, value: Value) -> None:
        self._sum.update("fadd", value.name)

    def value(self) -> Value:
        body, lanes = self._sum.body, self._lanes
        total = self._sum.get()
        if lanes.width > 1:
            arguments = f"double {double(0.0)}, {lanes.real} {total}"
            total = body.emit(f"call reassoc double @llvm.vector.reduce.fadd.{lanes.suffix}({arguments})")
        return Value(body, "double", total)


class _Executor:
    """Writes the machine code of a loop over time steps."""

    def __init__(self, target: Target) -> None:
        self._lanes, self._fma = Lanes(target.lanes), target.fma
        self.body = Instructions()
        self.s = _Fields(self.body)
        self._rate, self._settle = self.s.rate, self.s.settle
        self._u, self._t, self._states = self.s.u, self.s.t, self.s.states
        self.x, self.work, self.table, self.log = self.s.x, self.s.work, self.s.table, self.s.log
        self.points = self.s.points
        self.by_x, self.by_u, self.added = self.s.by_x, self.s.by_u, self.s.added
        self.has_settle, self.has_log, self.has_points = map(self._is_given, (self._settle, self.log, self.points))
        self._abandoned = ""

    def _value(self, kind: str, text: str, lanes: Lanes = ONE) -> Value:
        return Value(self.body, kind, self.body.emit(text), lanes)

    def _is_given(self, pointer: Value) -> Value:
        return self._value("i1", f"icmp ne ptr {pointer}, null")

    # --- kernels ------------------------------------------------------------------------------------------------
    def rate(self, x: Value, t: Value, out: Value) -> Value:
        with self.body.repeat(str(self._states)) as i:
            self.body.store("double", str(t), str(self._t), i)
        return self._value(
            "i32", f"call i32 {self._rate}(ptr {x}, ptr {self._u}, ptr {self._t}, ptr {out}, i64 {self._states})"
        )

    def settled(self, new: Value) -> Value:
        """Memory with the projection of a state."""
        settled = self.work[(self.s.stages + 2) * self.s.n :]
        status = self._value(
            "i32", f"call i32 {self._settle}(ptr {new}, ptr {self._u}, ptr {settled}, i64 {self._states})"
        )
        self.leave_if(status > 0, status)
        return settled

    def pull(self, x: Value, t: Value, w: Value) -> Value:
        """Gradients of w·rate by x, then by u."""
        pair, gradients = self._with_gradient(x, w)
        with self.body.repeat(str(self._states)) as i:
            self.body.store("double", str(t), str(self._t), i)
        operands = f"ptr {pair}, ptr {self._u}, ptr {self._t}, ptr {gradients}, i64 {self._states}"
        status = self._value("i32", f"call i32 {self.s.pull}({operands})")
        self.leave_if(status > 0, status)
        return gradients

    def pull_settle(self, x: Value, w: Value) -> None:
        pair, gradients = self._with_gradient(x, w)
        operands = f"ptr {pair}, ptr {self._u}, ptr {gradients}, i64 {self._states}"
        status = self._value("i32", f"call i32 {self.s.pull_settle}({operands})")
        self.leave_if(status > 0, status)
        copy(self, gradients, w)

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

    # --- control ------------------------------------------------------------------------------------------------
    def repeat(self, count: Value) -> Iterator[Value]:
        with self.body.repeat(str(count)) as i:
            yield Value(self.body, "i64", i)

    def lanes_of(self, count: Value) -> Iterator[Value]:
        with self.body.repeat(str(count), self._lanes.width) as i:
            yield Value(self.body, "i64", i, self._lanes)

    def when(self, condition: Value) -> Iterator[None]:
        with self.body.when(str(condition)):
            yield

    def loop(self, condition: Callable[[], Value]) -> Iterator[None]:
        with self.body.loop(lambda: str(condition())):
            yield

    @contextmanager
    def attempt(self) -> Iterator[None]:
        self._abandoned = self.body.new_label()
        yield
        self.body.go(self._abandoned)
        self.body.label(self._abandoned)

    def abandon_if(self, condition: Value) -> None:
        stay = self.body.new_label()
        self.body.fork(str(condition), self._abandoned, stay)
        self.body.label(stay)

    def leave_if(self, condition: Value, status: Any) -> None:
        self.body.leave_if(str(condition), str(status))

    # --- numbers ------------------------------------------------------------------------------------------------
    def weighted(self, weights: Value, count: Value, i: Value, fused: bool) -> Value:
        total = self.body.variable(self._lanes.real, self._lanes.number(0.0))
        n = self.s.n
        for j in self.repeat(count):
            w, rate = weights[j], self.work[j * n :][i]
            if fused:
                total.set(str(self.multiply_add(w, rate, Value(self.body, rate.kind, total.get(), rate.lanes))))
            else:
                total.update("fadd", str(rate * w))
        return Value(self.body, self._lanes.real, total.get(), self._lanes)

    def sums(self) -> tuple[_Sum, _Sum]:
        return _Sum(self.body, self._lanes), _Sum(self.body, self._lanes)

    def pair(self) -> Value:
        return Value(self.body, "ptr", self.body.stack("[2 x double]"))

    def real(self, count: Value) -> Value:
        return self._value("double", f"sitofp i64 {count} to double")

    def no(self, condition: Value) -> Value:
        return self._value("i1", f"xor i1 {condition}, true")

    def choose(self, condition: Value, a: Any, b: Any) -> Value:
        kind = next((x.kind for x in (a, b) if isinstance(x, Value)), "i64")
        a, b = (double(x) if isinstance(x, float) else x for x in (a, b))
        return self._value(kind, f"select i1 {condition}, {kind} {a}, {kind} {b}")

    def multiply_add(self, a: Value, b: Value, c: Value) -> Value:
        if not self._fma:
            total: Value = b * a + c
            return total
        kind, lanes = b.kind, b.lanes
        text = f"call {kind} @llvm.fma.{lanes.suffix}({kind} {b._like(a)}, {kind} {b}, {kind} {c})"
        return self._value(kind, text, lanes)

    def sqrt(self, a: Value) -> Value:
        return self._value("double", f"call double @llvm.sqrt.f64(double {a})")

    def _extreme(self, which: str, a: Value, b: Any) -> Value:
        return self._value(
            a.kind, f"call {a.kind} @llvm.{which}num.{a.lanes.suffix}({a.kind} {a}, {a.kind} {a._like(b)})", a.lanes
        )

    def larger(self, a: Value, b: Any) -> Value:
        return self._extreme("max", a, b)

    def smaller(self, a: Value, b: Any) -> Value:
        return self._extreme("min", a, b)


# --- code -------------------------------------------------------------------------------------------------------------
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
