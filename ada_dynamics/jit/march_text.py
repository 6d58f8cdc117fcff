# SPDX-License-Identifier: Apache-2.0
"""LLVM text of the loops that march a state through time: explicit Runge-Kutta methods around a compiled kernel.

The code knows neither robot nor method: the kernel comes as an address, the method as a table, so that one object
serves all. `simulation/march.py` is the same in Python.

    march_fixed     steps of equal length
    march_adaptive  steps whose length follows from two error estimates of embedded formulas (Hairer's DOP853)
    march_direct    a kernel that takes the whole step by itself
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ada_dynamics.jit.llvm_text import Body, Lanes, double
from ada_dynamics.jit.target import Target

FIXED, ADAPTIVE, DIRECT = "march_fixed", "march_adaptive", "march_direct"

SMALLEST_FACTOR, LARGEST_FACTOR, SAFETY = 0.2, 10.0, 0.9  # of one step length to the next (Hairer et al., II.4)
AFTER_OVERFLOW = 0.25
SMALLEST_STEP = 1e-13  # [s]; under it the error cannot be kept

# Bits of the status word that a march returns beside those of kernels.
STEP_TOO_SMALL = 4


class _Loops(Body):
    """A function body with counted loops."""

    loops = 0

    @contextmanager
    def repeat(self, until: str, step: int = 1) -> Iterator[str]:
        """The lines within are repeated for an index from 0, by `step`, below `until`."""
        self.loops += 1
        n = self.loops
        index = f"%index{n}"
        self.do(f"br label %before{n}")
        self.label(f"before{n}")
        self.do(f"br label %head{n}")
        self.label(f"head{n}")
        self.do(f"{index} = phi i64 [0, %before{n}], [%index_next{n}, %again{n}]")
        inside = self.emit(f"icmp slt i64 {index}, {until}")
        self.do(f"br i1 {inside}, label %inside{n}, label %after{n}")
        self.label(f"inside{n}")
        yield index
        self.do(f"br label %again{n}")
        self.label(f"again{n}")
        self.do(f"%index_next{n} = add i64 {index}, {step}")
        self.do(f"br label %head{n}")
        self.label(f"after{n}")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """The lines within run only if the i1 holds."""
        self.loops += 1
        n = self.loops
        self.do(f"br i1 {condition}, label %then{n}, label %end{n}")
        self.label(f"then{n}")
        yield
        self.do(f"br label %end{n}")
        self.label(f"end{n}")

    def leave_if(self, condition: str, result: str) -> None:
        """Return `result` (an i32) if the i1 holds."""
        self.loops += 1
        n = self.loops
        self.do(f"br i1 {condition}, label %leave{n}, label %stay{n}")
        self.label(f"leave{n}")
        self.do(f"ret i32 {result}")
        self.label(f"stay{n}")

    def copy(self, source: str, target: str, count: str, lanes: Lanes) -> None:
        """Copy so many doubles, a multiple of the lanes."""
        with self.repeat(count, lanes.width) as i:
            self.store(lanes.real, self.load(lanes.real, source, i), target, i)

    def fill(self, value: str, target: str, count: str) -> None:
        """The same number everywhere."""
        with self.repeat(count) as i:
            self.store("double", value, target, i)


def march_text(target: Target) -> str:
    """All marches.

    They return a status word: 0, or what stopped them; then the state is that before the failing step. Vectors of
    the state have a multiple of `target.lanes` elements. The first element of `state` counts the steps (or rows) done.
    """
    lanes = Lanes(target.lanes)
    parts = (_combine(lanes, target), _fixed(lanes), _direct(lanes), _adaptive(lanes), _preamble(lanes, target))
    return "".join(parts)


def _preamble(lanes: Lanes, target: Target) -> str:
    names = ("sqrt", "fabs")
    real = lanes.real
    text = f"declare {real} @llvm.fma.{lanes.suffix}({real}, {real}, {real})\n"
    text += "".join(f"declare double @llvm.{name}.f64(double)\n" for name in names)
    text += "declare double @llvm.minnum.f64(double, double)\ndeclare double @llvm.maxnum.f64(double, double)\n"
    return text + f"attributes #0 = {{ {target.function_attributes} }}\n"


def _spread(body: Body, value: str, lanes: Lanes) -> str:
    if lanes.width == 1:
        return value
    first = body.emit(f"insertelement {lanes.real} poison, double {value}, i64 0")
    return body.emit(f"shufflevector {lanes.real} {first}, {lanes.real} poison, <{lanes.width} x i32> zeroinitializer")


def _combine(lanes: Lanes, target: Target) -> str:
    """out = x + h Σ c_j K_j over the first `count` rows K_j of n numbers."""
    body, real = _Loops(), lanes.real

    def fma(a: str, b: str, c: str) -> str:
        if target.fma:
            return body.emit(f"call {real} @llvm.fma.{lanes.suffix}({real} {a}, {real} {b}, {real} {c})")
        return body.emit(f"fadd {real} {body.emit(f'fmul {real} {a}, {b}')}, {c}")

    body.label("entry")
    sum_slot = body.emit(f"alloca {real}")
    wide_h = _spread(body, "%h", lanes)
    with body.repeat("%n", lanes.width) as i:
        body.do(f"store {real} zeroinitializer, ptr {sum_slot}")
        with body.repeat("%count") as j:
            c = _spread(body, body.load("double", "%c", j), lanes)
            row = body.element("%K", body.emit(f"mul i64 {j}, %n"))
            added = fma(c, body.load(real, row, i), body.emit(f"load {real}, ptr {sum_slot}"))
            body.do(f"store {real} {added}, ptr {sum_slot}")
        total = body.emit(f"load {real}, ptr {sum_slot}")
        body.store(real, fma(wide_h, total, body.load(real, "%x", i)), "%out", i)
    body.do("ret void")
    head = (
        "define internal void @combine(ptr %x, ptr noalias %K, ptr noalias %c, i64 %count, double %h, ptr %out, i64 %n)"
    )
    return f"{head} noinline #0 {{\n{body}\n}}\n"


# Arguments of all marches. `rate` and `settle` are kernels of one state, or of `states` columns (which the former
# ignore); `settle` brings a state back to where it belongs, and may be null; `log` takes the state after every
# `every`th step, `phase` of which were done before, and may be null.
_KERNELS = "ptr %rate, ptr %settle"
_DATA = "ptr %x, ptr %u, ptr %t, ptr %state, ptr %log, ptr noalias %work, i64 %n, i64 %states"


def _evaluate(body: _Loops, x: str, time: str, out: str) -> str:
    """Status of rate(x, u, t) -> out."""
    body.fill(time, "%t", "%states")
    return body.emit(f"call i32 %rate(ptr {x}, ptr %u, ptr %t, ptr {out}, i64 %states)")


def _finish(body: _Loops, new: str, settled: str, lanes: Lanes) -> None:
    """Settle the new state where that is wanted, and make it the state."""
    wanted = body.emit("icmp ne ptr %settle, null")
    with body.when(wanted):
        status = body.emit(f"call i32 %settle(ptr {new}, ptr {settled}, i64 %states)")
        body.leave_if(body.emit(f"icmp ne i32 {status}, 0"), status)
        body.copy(settled, new, "%n", lanes)
    body.copy(new, "%x", "%n", lanes)


def _log(body: _Loops, done: str, lanes: Lanes) -> None:
    """Keep the state if its turn has come."""
    since = body.emit(f"add i64 {done}, %phase")
    rest = body.emit(f"srem i64 {since}, %every")
    due = body.emit(f"icmp eq i64 {rest}, 0")
    wanted = body.emit("icmp ne ptr %log, null")
    with body.when(body.emit(f"and i1 {due}, {wanted}")):
        row = body.emit(f"sdiv i64 {since}, %every")
        row = body.emit(f"sub i64 {row}, 1")
        body.copy("%x", body.element("%log", body.emit(f"mul i64 {row}, %n")), "%n", lanes)


def _start_time(body: _Loops, k: str) -> str:
    """Time before step k: never a sum of steps."""
    position = body.emit(f"add i64 %first, {k}")
    count = body.emit(f"sitofp i64 {position} to double")
    return body.emit(f"fadd double %origin, {body.emit(f'fmul double {count}, %h')}")


def _advance(body: _Loops, k: str) -> str:
    done = body.emit(f"add i64 {k}, 1")
    body.do(f"store i64 {done}, ptr %state")
    return done


_FIXED_ARGUMENTS = "i64 %first, i64 %steps, i64 %every, i64 %phase, double %origin, double %h"


def _fixed(lanes: Lanes) -> str:
    """Explicit Runge-Kutta: `method` holds a row of stage coefficients per stage, one of weights, and the nodes."""
    body = _Loops()
    body.label("entry")
    one_more = body.emit("add i64 %stages, 1")
    nodes = body.element("%method", body.emit(f"mul i64 {one_more}, %stages"))
    size = body.emit("mul i64 %stages, %n")
    point = body.element("%work", size)
    settled = body.element(point, "%n")
    with body.repeat("%steps") as k:
        begin = _start_time(body, k)
        with body.repeat("%stages") as s:
            row = body.element("%method", body.emit(f"mul i64 {s}, %stages"))
            _combine_call(body, "%x", row, s, "%h", point)
            shift = body.emit(f"fmul double %h, {body.load('double', nodes, s)}")
            time = body.emit(f"fadd double {begin}, {shift}")
            out = body.element("%work", body.emit(f"mul i64 {s}, %n"))
            status = _evaluate(body, point, time, out)
            body.leave_if(body.emit(f"icmp ne i32 {status}, 0"), status)
        weights = body.element("%method", body.emit("mul i64 %stages, %stages"))
        _combine_call(body, "%x", weights, "%stages", "%h", point)
        _finish(body, point, settled, lanes)
        _log(body, _advance(body, k), lanes)
    body.do("ret i32 0")
    head = f"define i32 @{FIXED}({_KERNELS}, {_DATA}, ptr noalias %method, i64 %stages, {_FIXED_ARGUMENTS}) #0"
    return f"{head} {{\n{body}\n}}\n"


def _combine_call(body: Body, x: str, row: str, count: str, h: str, out: str) -> None:
    arguments = f"ptr {x}, ptr %work, ptr {row}, i64 {count}, double {h}, ptr {out}, i64 %n"
    body.do(f"call void @combine({arguments})")


def _direct(lanes: Lanes) -> str:
    """x⁺ = rate(x, u, t), which knows the length of the step."""
    body = _Loops()
    body.label("entry")
    settled = body.element("%work", "%n")
    with body.repeat("%steps") as k:
        status = _evaluate(body, "%x", _start_time(body, k), "%work")
        body.leave_if(body.emit(f"icmp ne i32 {status}, 0"), status)
        _finish(body, "%work", settled, lanes)
        _log(body, _advance(body, k), lanes)
    body.do("ret i32 0")
    head = f"define i32 @{DIRECT}({_KERNELS}, {_DATA}, {_FIXED_ARGUMENTS}) #0"
    return f"{head} {{\n{body}\n}}\n"


def _adaptive(lanes: Lanes) -> str:
    """To each of `rows` equidistant times, with as many steps as that takes; and the step loop that it calls.

    `method` is as above, its last node 1, then come two rows of error weights over stages + 1 rates.
    """
    body = _Loops()
    body.label("entry")
    done_so_far = body.emit("load i64, ptr %state")
    with body.repeat("%rows") as r:
        position = body.emit(f"add i64 {body.emit(f'add i64 %first, {r}')}, 1")
        count = body.emit(f"sitofp i64 {position} to double")
        until = body.emit(f"fadd double %origin, {body.emit(f'fmul double {count}, %interval')}")
        arguments = f"{_KERNELS}, {_DATA}, ptr %method, i64 %stages, double {until}, double %tolerance, i64 %used"
        status = body.emit(f"call i32 @march_until({arguments})")
        body.leave_if(body.emit(f"icmp ne i32 {status}, 0"), status)
        done = body.emit(f"add i64 {body.emit(f'add i64 {done_so_far}, {r}')}, 1")
        body.do(f"store i64 {done}, ptr %state")
        with body.when(body.emit("icmp ne ptr %log, null")):
            body.copy("%x", body.element("%log", body.emit(f"mul i64 {r}, %n")), "%n", lanes)
    body.do("ret i32 0")
    head = f"define i32 @{ADAPTIVE}({_KERNELS}, {_DATA}, ptr noalias %method, i64 %stages, i64 %first, i64 %rows, "
    head += "double %origin, double %interval, double %tolerance, i64 %used) #0"
    return _until(lanes) + f"{head} {{\n{body}\n}}\n"


def _until(lanes: Lanes) -> str:
    """Steps of fitting length to a time.

    state: i64 rows done, double time, double length of the next step, i64 steps taken, i64 steps refused, i64 whether
    the first rate is known.
    """
    body = _Loops()
    body.label("entry")
    layout = _AdaptiveLayout(body)
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
    error = _error(body, layout, h)
    factor = _factor(body, error)
    good = body.emit(f"fcmp olt double {error}, {double(1.0)}")
    body.do(f"br i1 {good}, label %accept, label %refuse")
    body.label("accept")
    _finish(body, layout.point, layout.settled, lanes)
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
    head = f"define internal i32 @march_until({_KERNELS}, {_DATA}, ptr noalias %method, i64 %stages, double %until, "
    head += "double %tolerance, i64 %used) #0"
    return f"{head} {{\n{body}\n}}\n"


class _AdaptiveLayout:
    """Where things lie in the work space, the method and the state."""

    def __init__(self, body: Body) -> None:
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
        self.sums = [body.emit("alloca double") for _ in range(2)]
        self.parts = [body.emit("alloca double") for _ in range(2)]


def _count(body: Body, counter: str) -> None:
    more = body.emit(f"add i64 {body.emit(f'load i64, ptr {counter}')}, 1")
    body.do(f"store i64 {more}, ptr {counter}")


def _stages(body: _Loops, layout: _AdaptiveLayout, now: str, h: str) -> None:
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
        status = _evaluate(body, "%x", now, "%work")
        body.leave_if(body.emit(f"icmp ne i32 {status}, 0"), status)
        body.do(f"store i64 1, ptr {layout.known}")
    rest = body.emit("sub i64 %stages, 1")
    with body.repeat(rest) as before:
        s = body.emit(f"add i64 {before}, 1")
        row = body.element("%method", body.emit(f"mul i64 {s}, %stages"))
        _combine_call(body, "%x", row, s, h, layout.point)
        shift = body.emit(f"fmul double {h}, {body.load('double', layout.nodes, s)}")
        out = body.element("%work", body.emit(f"mul i64 {s}, %n"))
        look(_evaluate(body, layout.point, body.emit(f"fadd double {now}, {shift}"), out))
    _combine_call(body, "%x", layout.weights, "%stages", h, layout.point)
    look(_evaluate(body, layout.point, body.emit(f"fadd double {now}, {h}"), layout.last_rate))
    body.do("br label %estimate")


def _error(body: _Loops, layout: _AdaptiveLayout, h: str) -> str:
    """err = h e₅ / sqrt((e₅ + 0.01 e₃) n) with sums of squares e, each weighted by tolerance (1 + max |x|)."""
    sums, parts = layout.sums, layout.parts
    for slot in sums:
        body.do(f"store double {double(0.0)}, ptr {slot}")
    with body.repeat("%used") as i:
        for slot in parts:
            body.do(f"store double {double(0.0)}, ptr {slot}")
        with body.repeat(layout.rates) as j:
            rate = body.load("double", body.element("%work", body.emit(f"mul i64 {j}, %n")), i)
            for slot, row in zip(parts, (layout.first_error, layout.second_error), strict=True):
                share = body.emit(f"fmul double {rate}, {body.load('double', row, j)}")
                so_far = body.emit(f"load double, ptr {slot}")
                body.do(f"store double {body.emit(f'fadd double {so_far}, {share}')}, ptr {slot}")
        sizes = [
            body.emit(f"call double @llvm.fabs.f64(double {body.load('double', x, i)})") for x in ("%x", layout.point)
        ]
        largest = body.emit(f"call double @llvm.maxnum.f64(double {sizes[0]}, double {sizes[1]})")
        allowed = body.emit(f"fmul double %tolerance, {body.emit(f'fadd double {largest}, {double(1.0)}')}")
        for slot, total in zip(parts, sums, strict=True):
            ratio = body.emit(f"fdiv double {body.emit(f'load double, ptr {slot}')}, {allowed}")
            square = body.emit(f"fmul double {ratio}, {ratio}")
            so_far = body.emit(f"load double, ptr {total}")
            body.do(f"store double {body.emit(f'fadd double {so_far}, {square}')}, ptr {total}")
    e5, e3 = (body.emit(f"load double, ptr {slot}") for slot in sums)
    mixed = body.emit(f"fadd double {e5}, {body.emit(f'fmul double {e3}, {double(0.01)}')}")
    count = body.emit("sitofp i64 %used to double")
    root = body.emit(f"call double @llvm.sqrt.f64(double {body.emit(f'fmul double {mixed}, {count}')})")
    error = body.emit(f"fdiv double {body.emit(f'fmul double {h}, {e5}')}, {root}")
    nothing = body.emit(f"fcmp oeq double {mixed}, {double(0.0)}")
    return body.emit(f"select i1 {nothing}, double {double(0.0)}, double {error}")


def _factor(body: Body, error: str) -> str:
    """0.9 err^(-1/8) within its bounds; the smallest one where the error is no number."""
    root = error
    for _ in range(3):
        root = body.emit(f"call double @llvm.sqrt.f64(double {root})")
    raw = body.emit(f"fdiv double {double(SAFETY)}, {root}")
    low = body.emit(f"call double @llvm.maxnum.f64(double {raw}, double {double(SMALLEST_FACTOR)})")
    return body.emit(f"call double @llvm.minnum.f64(double {low}, double {double(LARGEST_FACTOR)})")
