# SPDX-License-Identifier: Apache-2.0
"""Steps through time, written once: explicit Runge-Kutta methods, and the control of their length.

The same lines run on numbers (`simulation.number_march`) and are written down as machine code (`march_text`). They know
neither robot nor method: the rate is called, the method is a table. What differs between the two is `on`, with the
methods of `NumberMarch`. Loops and branches are `for` statements: code is written for one turn of each, numbers take as
many as there are.
"""

from __future__ import annotations

import ctypes
from typing import Any, TypeAlias

# A number or array, or the machine code that stands for it: operators, slices and comparisons mean the same.
Number: TypeAlias = Any
Vector: TypeAlias = Any

SMALLEST_FACTOR, LARGEST_FACTOR, SAFETY = 0.2, 10.0, 0.9  # of one step length to the next (Hairer et al. I, II.4)
AFTER_OVERFLOW = 0.25
SMALLEST_STEP = 1e-13  # [s]; under it the error cannot be kept
LEAST_REST = 1e-9  # of a step: less must not be left of an interval

# A bit of the status word that a march returns beside those of kernels.
STEP_TOO_SMALL = 4


class MarchState(ctypes.Structure):
    """State of a march, and how far it is.

    `rate` and `settle` are kernels of one state, or of `states` columns (which the former ignore); `settle` brings a
    state back to where it belongs, and may be null. The method's `table` has a row of stage coefficients for each of
    `stages`, one of weights, the nodes, and, with adaptive steps, two rows of error weights over stages + 1 rates.

    Backwards, `log` is room for what each step leaves for the way back, `pull` and `pull_settle` are kernels of [state;
    gradient by the result], which give the gradients by [state; u]; the table goes on with what `backward_table` makes.
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
        # inputs that change: numbers from one row of u to the next (0: u stays as it is), and steps for each row
        *((name, ctypes.c_int64) for name in ("next_u", "hold")),
        # backwards: kernels; the gradient by the state, by each row of u, what is added to it at the state before each
        # step (may be null), and numbers in u (a multiple of the lanes)
        *((name, ctypes.c_void_p) for name in ("pull", "pull_settle", "by_x", "by_u", "added")),
        ("inputs", ctypes.c_int64),
    ]


# --- the three marches ------------------------------------------------------------------------------------------------
def fixed(on: Any) -> None:
    """Steps of equal length by an explicit method; a row of the log after every so many."""
    s = on.s
    n, stages, h = s.n, s.stages, s.h
    point = on.work[stages * n :]
    for k in on.repeat(s.steps):
        t = _take_input(on, k)
        _stages(on, 0, t, h, point, _evaluate)
        _combine(on, on.table[stages * stages :], stages, h, point)
        _finish(on, point)
        _keep_row(on, k + 1)


def direct(on: Any) -> None:
    """Steps x⁺ = rate(x, u, t), which knows their length, and gives an allowed state."""
    s = on.s
    for k in on.repeat(s.steps):
        _evaluate(on, on.x, _take_input(on, k), on.work)
        copy(on, on.work, on.x)
        _keep_row(on, k + 1)


def adaptive(on: Any) -> None:
    """To each of so many equidistant times, a row each, with as many steps as that takes."""
    s = on.s
    for k in on.repeat(s.steps):
        until = s.origin + on.real(s.first + k + 1) * s.h
        for _ in on.loop(lambda until=until: until - s.time > 0.0):
            adaptive_step(on, until)
        s.done = k + 1
        for _ in on.when(on.has_log):
            copy(on, on.x, on.log[k * s.n :])


# --- backwards --------------------------------------------------------------------------------------------------------
def backward_fixed(on: Any) -> None:
    """Steps by an explicit method, and back from the gradient by the state after them to those before them and by u.

    With the stages X_i = x + h Σ a_ij K_j, K_i = f(X_i), and the gradient w by x + h Σ b_i K_i,

        l_i = f_x(X_i)ᵀ h (b_i w + Σ_{j>i} a_ji l_j),     w ← w + Σ l_i,

    which is an explicit method again, from the last stage to the first (Hairer, Lubich, Wanner, sec. VI.4).
    """
    s = on.s
    n, stages, h = s.n, s.stages, s.h
    nodes, turned = on.table[(stages + 1) * stages :], on.table[(stages + 2) * stages :]
    weights, nodes_turned, ones = (turned[(stages + row) * stages :] for row in range(3))
    slopes = on.work[(stages + 3) * n :]
    for k in on.repeat(s.steps):
        points, t = on.log[k * (stages + 1) * n :], _take_input(on, k)
        for i in on.repeat(stages):
            point = points[i * n :]
            _combine(on, on.table[i * stages :], i, h, point)
            _evaluate(on, point, t + h * nodes[i], on.work[i * n :])
        _combine(on, on.table[stages * stages :], stages, h, points[stages * n :])
        copy(on, points[stages * n :], on.x)
        for _ in on.when(on.has_settle):
            on.settle(on.x)
    for k in on.repeat(s.steps):
        before = s.steps - k - 1
        points, t = on.log[before * (stages + 1) * n :], _take_input(on, before)
        for _ in on.when(on.has_settle):
            on.pull_settle(points[stages * n :], on.by_x)
        for i in on.repeat(stages):
            for j in on.lanes_of(n):
                slopes[j] = (on.weighted(turned[i * stages :], i, j, True) + on.by_x[j] * weights[i]) * h
            _pull(on, points[(stages - i - 1) * n :], t + h * nodes_turned[i], slopes, on.work[i * n :], before)
        for j in on.lanes_of(n):
            on.by_x[j] = on.by_x[j] + on.weighted(ones, stages, j, True)
        _add_own(on, before)
    s.done = s.steps


def backward_direct(on: Any) -> None:
    """Text of steps x⁺ = rate(x, u, t)."""
    s = on.s
    for k in on.repeat(s.steps):
        state, t = on.log[k * s.n :], _take_input(on, k)
        copy(on, on.x, state)
        _evaluate(on, state, t, on.x)
    for k in on.repeat(s.steps):
        before = s.steps - k - 1
        state, t = on.log[before * s.n :], _take_input(on, before)
        _pull(on, state, t, on.by_x, on.by_x, before)
        _add_own(on, before)
    s.done = s.steps


def backward_table(A: Any, b: Any, c: Any) -> list[float]:
    """Coefficients of an explicit method from its last stage to its first: a_ji by rows, b, c, and a row of ones."""
    turned = [list(column) for column in zip(*A, strict=True)]
    rows = [row[::-1] for row in turned[::-1]]
    return [float(x) for row in (*rows, list(b)[::-1], list(c)[::-1], [1.0] * len(b)) for x in row]


def _take_input(on: Any, k: Number) -> Number:
    """The input of a step counts from now on; the time at which the step begins, which is never a sum of steps."""
    s = on.s
    on.use_input(s.first + k)
    return s.origin + on.real(s.first + k) * s.h


def _pull(on: Any, x: Vector, t: Number, w: Vector, out: Vector, before: Number) -> None:
    """out = gradient of w·rate by the state; that by the input is added to its row."""
    s = on.s
    gradients = on.pull(x, t, w)
    copy(on, gradients, out)
    of_input, by_u = gradients[s.used :], on.by_u[on.input_row(s.first + before) * s.inputs :]
    for j in on.lanes_of(s.inputs):
        by_u[j] = by_u[j] + of_input[j]


def _add_own(on: Any, before: Number) -> None:
    """Add what depends on the state before a step directly."""
    for _ in on.when(on.has_added):
        own = on.added[before * on.s.n :]
        for j in on.lanes_of(on.s.n):
            on.by_x[j] = on.by_x[j] + own[j]


# --- steps ------------------------------------------------------------------------------------------------------------
def adaptive_step(on: Any, until: Number) -> None:
    """A step towards a time, or the knowledge that it must be shorter.

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
    verdict[0], verdict[1] = float("inf"), AFTER_OVERFLOW  # until all rates are found to be finite
    with on.attempt():
        _stages(on, 1, now, h, point, _try)
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
        # the last rate is the first one of the next step, unless the state was moved
        copy(on, last_rate, on.work)
        s.known = on.choose(on.has_settle, 0, 1)
    for _ in on.when(on.no(error < 1.0)):
        s.length = h * on.smaller(factor, 1.0)
        s.refused = s.refused + 1


def _stages(on: Any, start: int, t: Number, h: Number, point: Vector, evaluate: Any) -> None:
    """All rates from a stage on."""
    n, stages = on.s.n, on.s.stages
    nodes = on.table[(stages + 1) * stages :]
    for k in on.repeat(stages - start):
        i = k + start
        _combine(on, on.table[i * stages :], i, h, point)
        evaluate(on, point, t + h * nodes[i], on.work[i * n :])


def _combine(on: Any, weights: Vector, count: Number, h: Number, out: Vector) -> None:
    """out = x + h Σ w_j K_j over the first `count` rates."""
    for i in on.lanes_of(on.s.n):
        out[i] = on.multiply_add(h, on.weighted(weights, count, i, True), on.x[i])


def _error(on: Any, new: Vector, h: Number) -> Number:
    """err = h e₅ / sqrt((e₅ + 0.01 e₃) n) with sums of squares e, each weighted by tolerance (1 + max |x|).

    Numbers that only fill up the lanes are zero, and so is what they add.
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
    """0.9 err^(-1/2^roots) within its bounds, of an error in memory; the smallest one where it is no number."""
    root = on.pair()
    root[0] = error[0]
    for _ in on.repeat(on.s.roots):
        root[0] = on.sqrt(root[0])
    return on.smaller(on.larger(SAFETY / root[0], SMALLEST_FACTOR), LARGEST_FACTOR)


def _finish(on: Any, new: Vector) -> None:
    """Settle the new state where that is wanted, and make it the state."""
    for _ in on.when(on.has_settle):
        on.settle(new)
    copy(on, new, on.x)


def _keep_row(on: Any, done: Number) -> None:
    """Count the step, and keep the state if its turn has come."""
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
    """A rate that is not finite (status 1) tells that the step is too long."""
    status = on.rate(x, t, out)
    on.leave_if(status > 1, status)
    on.abandon_if(status == 1)
