# SPDX-License-Identifier: Apache-2.0
"""LLVM text of the loops that march a state through time: explicit Runge-Kutta methods around a compiled kernel.

The code knows neither robot nor method: the kernel comes as an address, the method as a table, so that one object
serves all. `simulation/march.py` is the same in Python.

    march_fixed     steps of equal length
    march_direct    a kernel that takes the whole step by itself
    march_adaptive  steps whose length follows from two error estimates (see `march_adaptive`)
"""

from __future__ import annotations

from ada_dynamics.jit.llvm_text import Lanes
from ada_dynamics.jit.march_adaptive import adaptive_text
from ada_dynamics.jit.march_parts import DATA, KERNELS, MarchBody, combine_call, combine_text, evaluate, finish
from ada_dynamics.jit.target import Target

FIXED, DIRECT = "march_fixed", "march_direct"

# A step of first order leaves the loops by some h²; settling once would leave the square of that, and it is seen.
DIRECT_PASSES = 2


def march_text(target: Target) -> str:
    """All marches.

    They return a status word: 0, or what stopped them; then the state is that before the failing step. Vectors of
    the state have a multiple of `target.lanes` elements. The first element of `state` counts the steps (or rows) done.
    """
    lanes = Lanes(target.lanes)
    parts = (combine_text(lanes, target), _fixed(lanes), _direct(lanes), adaptive_text(lanes), _preamble(lanes, target))
    return "".join(parts)


def _preamble(lanes: Lanes, target: Target) -> str:
    real, suffix = lanes.real, lanes.suffix
    lines = [
        f"declare {real} @llvm.fma.{suffix}({real}, {real}, {real})",
        f"declare {real} @llvm.fabs.{suffix}({real})",
        "declare double @llvm.sqrt.f64(double)",
        "declare double @llvm.minnum.f64(double, double)",
        "declare double @llvm.maxnum.f64(double, double)",
    ]
    if lanes.width > 1:
        lines.append(f"declare {real} @llvm.maxnum.{suffix}({real}, {real})")
        lines.append(f"declare double @llvm.vector.reduce.fadd.{suffix}(double, {real})")
    text = "".join(f"{line}\n" for line in lines)
    return text + f"attributes #0 = {{ {target.function_attributes} }}\n"


def _log(body: MarchBody, done: str, lanes: Lanes) -> None:
    """Keep the state if its turn has come."""
    since = body.emit(f"add i64 {done}, %phase")
    rest = body.emit(f"srem i64 {since}, %every")
    due = body.emit(f"icmp eq i64 {rest}, 0")
    wanted = body.emit("icmp ne ptr %log, null")
    with body.when(body.emit(f"and i1 {due}, {wanted}")):
        row = body.emit(f"sdiv i64 {since}, %every")
        row = body.emit(f"sub i64 {row}, 1")
        body.copy("%x", body.element("%log", body.emit(f"mul i64 {row}, %n")), "%n", lanes)


def _start_time(body: MarchBody, k: str) -> str:
    """Time before step k: never a sum of steps."""
    position = body.emit(f"add i64 %first, {k}")
    count = body.emit(f"sitofp i64 {position} to double")
    return body.emit(f"fadd double %origin, {body.emit(f'fmul double {count}, %h')}")


def _advance(body: MarchBody, k: str) -> str:
    done = body.emit(f"add i64 {k}, 1")
    body.do(f"store i64 {done}, ptr %state")
    return done


_FIXED_ARGUMENTS = "i64 %first, i64 %steps, i64 %every, i64 %phase, double %origin, double %h"


def _fixed(lanes: Lanes) -> str:
    """Explicit Runge-Kutta: `method` holds a row of stage coefficients per stage, one of weights, and the nodes."""
    body = MarchBody()
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
            combine_call(body, "%x", row, s, "%h", point)
            shift = body.emit(f"fmul double %h, {body.load('double', nodes, s)}")
            time = body.emit(f"fadd double {begin}, {shift}")
            out = body.element("%work", body.emit(f"mul i64 {s}, %n"))
            status = evaluate(body, point, time, out)
            body.leave_if(body.emit(f"icmp ne i32 {status}, 0"), status)
        weights = body.element("%method", body.emit("mul i64 %stages, %stages"))
        combine_call(body, "%x", weights, "%stages", "%h", point)
        finish(body, point, settled, lanes)
        _log(body, _advance(body, k), lanes)
    body.do("ret i32 0")
    head = f"define i32 @{FIXED}({KERNELS}, {DATA}, ptr noalias %method, i64 %stages, {_FIXED_ARGUMENTS}) #0"
    return f"{head} {{\n{body}\n}}\n"


def _direct(lanes: Lanes) -> str:
    """x⁺ = rate(x, u, t), which knows the length of the step."""
    body = MarchBody()
    body.label("entry")
    settled = body.element("%work", "%n")
    with body.repeat("%steps") as k:
        status = evaluate(body, "%x", _start_time(body, k), "%work")
        body.leave_if(body.emit(f"icmp ne i32 {status}, 0"), status)
        finish(body, "%work", settled, lanes, DIRECT_PASSES)
        _log(body, _advance(body, k), lanes)
    body.do("ret i32 0")
    head = f"define i32 @{DIRECT}({KERNELS}, {DATA}, {_FIXED_ARGUMENTS}) #0"
    return f"{head} {{\n{body}\n}}\n"
