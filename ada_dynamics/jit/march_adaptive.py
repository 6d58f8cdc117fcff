# SPDX-License-Identifier: Apache-2.0
"""LLVM text of the adaptive march: embedded formulas with two error estimates (Hairer et al. I, II.5 and II.10)."""

from __future__ import annotations

from ada_dynamics.jit.llvm_text import Body, Lanes, double
from ada_dynamics.jit.march_parts import DATA, KERNELS, MarchBody, combine_call, evaluate, finish, spread

ADAPTIVE = "march_adaptive"

SMALLEST_FACTOR, LARGEST_FACTOR, SAFETY = 0.2, 10.0, 0.9  # of one step length to the next (II.4)
AFTER_OVERFLOW = 0.25
SMALLEST_STEP = 1e-13  # [s]; under it the error cannot be kept

# A bit of the status word that the march returns beside those of kernels.
STEP_TOO_SMALL = 4


def adaptive_text(lanes: Lanes) -> str:
    """To each of `rows` equidistant times, with as many steps as that takes; and the step loop that it calls.

    `method` is as above, its last node 1, then come two rows of error weights over stages + 1 rates.
    """
    body = MarchBody()
    body.label("entry")
    done_so_far = body.emit("load i64, ptr %state")
    with body.repeat("%rows") as r:
        position = body.emit(f"add i64 {body.emit(f'add i64 %first, {r}')}, 1")
        count = body.emit(f"sitofp i64 {position} to double")
        until = body.emit(f"fadd double %origin, {body.emit(f'fmul double {count}, %interval')}")
        arguments = f"{KERNELS}, {DATA}, ptr %method, i64 %stages, double {until}, double %tolerance, i64 %used"
        status = body.emit(f"call i32 @march_until({arguments})")
        body.leave_if(body.emit(f"icmp ne i32 {status}, 0"), status)
        done = body.emit(f"add i64 {body.emit(f'add i64 {done_so_far}, {r}')}, 1")
        body.do(f"store i64 {done}, ptr %state")
        with body.when(body.emit("icmp ne ptr %log, null")):
            body.copy("%x", body.element("%log", body.emit(f"mul i64 {r}, %n")), "%n", lanes)
    body.do("ret i32 0")
    head = f"define i32 @{ADAPTIVE}({KERNELS}, {DATA}, ptr noalias %method, i64 %stages, i64 %first, i64 %rows, "
    head += "double %origin, double %interval, double %tolerance, i64 %used) #0"
    return _until(lanes) + f"{head} {{\n{body}\n}}\n"


def _until(lanes: Lanes) -> str:
    """Steps of fitting length to a time.

    state: i64 rows done, double time, double length of the next step, i64 steps taken, i64 steps refused, i64 whether
    the first rate is known.
    """
    body = MarchBody()
    body.label("entry")
    layout = _AdaptiveLayout(body, lanes)
    body.do("br label %step")
    body.label("step")
    now = body.load("double", layout.time)
    left = body.emit(f"fsub double %until, {now}")
    body.leave_if(body.emit(f"fcmp ole double {left}, {double(0.0)}"), "0")
    wanted = body.load("double", layout.length)
    body.leave_if(body.emit(f"fcmp ult double {wanted}, {double(SMALLEST_STEP)}"), str(STEP_TOO_SMALL))
    # what would be left after this step must not be next to nothing
    enough = body.emit(f"fmul double {wanted}, {double(1.0 + 1e-9)}")
    is_last = body.emit(f"fcmp ole double {left}, {enough}")
    h = body.emit(f"select i1 {is_last}, double {left}, double {wanted}")
    _stages(body, layout, now, h)
    body.label("estimate")
    error = _error(body, layout, h, lanes)
    factor = _factor(body, error)
    good = body.emit(f"fcmp olt double {error}, {double(1.0)}")
    body.do(f"br i1 {good}, label %accept, label %refuse")
    body.label("accept")
    finish(body, layout.point, layout.settled, lanes)
    end = body.emit(f"fadd double {now}, {h}")
    body.store("double", body.emit(f"select i1 {is_last}, double %until, double {end}"), layout.time)
    grown = body.emit(f"fmul double {h}, {factor}")
    kept = body.emit(f"call double @llvm.maxnum.f64(double {grown}, double {wanted})")
    body.store("double", body.emit(f"select i1 {is_last}, double {kept}, double {grown}"), layout.length)
    _count(body, layout.taken)
    # the last rate is the first one of the next step, unless the state was moved
    body.copy(layout.last_rate, "%work", "%n", lanes)
    moved = body.emit("icmp ne ptr %settle, null")
    body.do(f"store i64 {body.emit(f'select i1 {moved}, i64 0, i64 1')}, ptr {layout.known}")
    body.do("br label %step")
    body.label("refuse")
    least = body.emit(f"call double @llvm.minnum.f64(double {factor}, double {double(1.0)})")
    body.store("double", body.emit(f"fmul double {h}, {least}"), layout.length)
    _count(body, layout.refused)
    body.do("br label %step")
    body.label("overflow")
    body.store("double", body.emit(f"fmul double {h}, {double(AFTER_OVERFLOW)}"), layout.length)
    _count(body, layout.refused)
    body.do("br label %step")
    head = f"define internal i32 @march_until({KERNELS}, {DATA}, ptr noalias %method, i64 %stages, double %until, "
    head += "double %tolerance, i64 %used) #0"
    return f"{head} {{\n{body}\n}}\n"


class _AdaptiveLayout:
    """Where things lie in the work space, the method and the state."""

    def __init__(self, body: Body, lanes: Lanes) -> None:
        one_more = body.emit("add i64 %stages, 1")
        square = body.emit(f"mul i64 {one_more}, %stages")
        self.nodes = body.element("%method", square)
        self.weights = body.element("%method", body.emit("mul i64 %stages, %stages"))
        self.first_error = body.element(self.nodes, "%stages")
        self.second_error = body.element(self.first_error, one_more)
        self.last_rate = body.element("%work", body.emit("mul i64 %stages, %n"))
        self.point = body.element(self.last_rate, "%n")
        self.settled = body.element(self.point, "%n")
        self.rates = one_more
        self.time = body.element("%state", 1)
        self.length = body.element("%state", 2)
        self.taken = body.element("%state", 3)
        self.refused = body.element("%state", 4)
        self.known = body.element("%state", 5)
        # numbers that change, which must be set aside outside of the loops
        self.sums = [body.emit(f"alloca {lanes.real}") for _ in range(2)]
        self.parts = [body.emit(f"alloca {lanes.real}") for _ in range(2)]


def _count(body: Body, counter: str) -> None:
    more = body.emit(f"add i64 {body.emit(f'load i64, ptr {counter}')}, 1")
    body.do(f"store i64 {more}, ptr {counter}")


def _stages(body: MarchBody, layout: _AdaptiveLayout, now: str, h: str) -> None:
    """All rates, and the new state in `point`; a rate that is not finite tells that the step is too long."""

    def look(status: str) -> None:
        body.loops += 1
        n = body.loops
        body.do(f"switch i32 {status}, label %leave{n} [i32 0, label %stay{n} i32 1, label %overflow]")
        body.label(f"leave{n}")
        body.do(f"ret i32 {status}")
        body.label(f"stay{n}")

    known = body.emit(f"icmp ne i64 {body.emit(f'load i64, ptr {layout.known}')}, 0")
    with body.when(body.emit(f"xor i1 {known}, true")):
        status = evaluate(body, "%x", now, "%work")
        body.leave_if(body.emit(f"icmp ne i32 {status}, 0"), status)
        body.do(f"store i64 1, ptr {layout.known}")
    rest = body.emit("sub i64 %stages, 1")
    with body.repeat(rest) as before:
        s = body.emit(f"add i64 {before}, 1")
        row = body.element("%method", body.emit(f"mul i64 {s}, %stages"))
        combine_call(body, "%x", row, s, h, layout.point)
        shift = body.emit(f"fmul double {h}, {body.load('double', layout.nodes, s)}")
        out = body.element("%work", body.emit(f"mul i64 {s}, %n"))
        look(evaluate(body, layout.point, body.emit(f"fadd double {now}, {shift}"), out))
    combine_call(body, "%x", layout.weights, "%stages", h, layout.point)
    look(evaluate(body, layout.point, body.emit(f"fadd double {now}, {h}"), layout.last_rate))
    body.do("br label %estimate")


def _error(body: MarchBody, layout: _AdaptiveLayout, h: str, lanes: Lanes) -> str:
    """err = h e₅ / sqrt((e₅ + 0.01 e₃) n) with sums of squares e, each weighted by tolerance (1 + max |x|).

    Numbers that only fill up the lanes are zero, and so is what they add.
    """
    sums, parts, real = layout.sums, layout.parts, lanes.real
    for slot in sums:
        body.do(f"store {real} zeroinitializer, ptr {slot}")
    tolerance = spread(body, "%tolerance", lanes)
    with body.repeat("%n", lanes.width) as i:
        for slot in parts:
            body.do(f"store {real} zeroinitializer, ptr {slot}")
        with body.repeat(layout.rates) as j:
            rate = body.load(real, body.element("%work", body.emit(f"mul i64 {j}, %n")), i)
            for slot, row in zip(parts, (layout.first_error, layout.second_error), strict=True):
                share = body.emit(f"fmul {real} {rate}, {spread(body, body.load('double', row, j), lanes)}")
                _add_to(body, slot, share, real)
        sizes = [
            body.emit(f"call {real} @llvm.fabs.{lanes.suffix}({real} {body.load(real, x, i)})")
            for x in ("%x", layout.point)
        ]
        largest = body.emit(f"call {real} @llvm.maxnum.{lanes.suffix}({real} {sizes[0]}, {real} {sizes[1]})")
        allowed = body.emit(f"fmul {real} {tolerance}, {body.emit(f'fadd {real} {largest}, {lanes.number(1.0)}')}")
        for slot, total in zip(parts, sums, strict=True):
            ratio = body.emit(f"fdiv {real} {body.emit(f'load {real}, ptr {slot}')}, {allowed}")
            _add_to(body, total, body.emit(f"fmul {real} {ratio}, {ratio}"), real)
    e5, e3 = (_total(body, body.emit(f"load {real}, ptr {slot}"), lanes) for slot in sums)
    mixed = body.emit(f"fadd double {e5}, {body.emit(f'fmul double {e3}, {double(0.01)}')}")
    count = body.emit("sitofp i64 %used to double")
    root = body.emit(f"call double @llvm.sqrt.f64(double {body.emit(f'fmul double {mixed}, {count}')})")
    error = body.emit(f"fdiv double {body.emit(f'fmul double {h}, {e5}')}, {root}")
    nothing = body.emit(f"fcmp oeq double {mixed}, {double(0.0)}")
    return body.emit(f"select i1 {nothing}, double {double(0.0)}, double {error}")


def _add_to(body: MarchBody, slot: str, value: str, real: str) -> None:
    so_far = body.emit(f"load {real}, ptr {slot}")
    body.do(f"store {real} {body.emit(f'fadd {real} {so_far}, {value}')}, ptr {slot}")


def _total(body: MarchBody, value: str, lanes: Lanes) -> str:
    """Sum over the lanes."""
    if lanes.width == 1:
        return value
    arguments = f"double {double(0.0)}, {lanes.real} {value}"
    return body.emit(f"call reassoc double @llvm.vector.reduce.fadd.{lanes.suffix}({arguments})")


def _factor(body: Body, error: str) -> str:
    """0.9 err^(-1/8) within its bounds; the smallest one where the error is no number."""
    root = error
    for _ in range(3):
        root = body.emit(f"call double @llvm.sqrt.f64(double {root})")
    raw = body.emit(f"fdiv double {double(SAFETY)}, {root}")
    low = body.emit(f"call double @llvm.maxnum.f64(double {raw}, double {double(SMALLEST_FACTOR)})")
    return body.emit(f"call double @llvm.minnum.f64(double {low}, double {double(LARGEST_FACTOR)})")
