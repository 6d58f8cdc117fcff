# SPDX-License-Identifier: Apache-2.0
"""What the marches share: loops in LLVM text, combinations of rates, calls of kernels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ada_dynamics.jit.llvm_text import Body, Lanes
from ada_dynamics.jit.target import Target

# Arguments of all marches. `rate` and `settle` are kernels of one state, or of `states` columns (which the former
# ignore); `settle` brings a state back to where it belongs, and may be null; `log` takes the state after every
# `every`th step, `phase` of which were done before, and may be null.
KERNELS = "ptr %rate, ptr %settle"
DATA = "ptr %x, ptr %u, ptr %t, ptr %state, ptr %log, ptr noalias %work, i64 %n, i64 %states"


class MarchBody(Body):
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


def spread(body: Body, value: str, lanes: Lanes) -> str:
    """The same number in each lane."""
    if lanes.width == 1:
        return value
    first = body.emit(f"insertelement {lanes.real} poison, double {value}, i64 0")
    return body.emit(f"shufflevector {lanes.real} {first}, {lanes.real} poison, <{lanes.width} x i32> zeroinitializer")


def combine_text(lanes: Lanes, target: Target) -> str:
    """out = x + h Σ c_j K_j over the first `count` rows K_j of n numbers."""
    body, real = MarchBody(), lanes.real

    def fma(a: str, b: str, c: str) -> str:
        if target.fma:
            return body.emit(f"call {real} @llvm.fma.{lanes.suffix}({real} {a}, {real} {b}, {real} {c})")
        return body.emit(f"fadd {real} {body.emit(f'fmul {real} {a}, {b}')}, {c}")

    body.label("entry")
    sum_slot = body.emit(f"alloca {real}")
    wide_h = spread(body, "%h", lanes)
    with body.repeat("%n", lanes.width) as i:
        body.do(f"store {real} zeroinitializer, ptr {sum_slot}")
        with body.repeat("%count") as j:
            c = spread(body, body.load("double", "%c", j), lanes)
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


def combine_call(body: Body, x: str, row: str, count: str, h: str, out: str) -> None:
    """Call it."""
    arguments = f"ptr {x}, ptr %work, ptr {row}, i64 {count}, double {h}, ptr {out}, i64 %n"
    body.do(f"call void @combine({arguments})")


def evaluate(body: MarchBody, x: str, time: str, out: str) -> str:
    """Status of rate(x, u, t) -> out."""
    body.fill(time, "%t", "%states")
    return body.emit(f"call i32 %rate(ptr {x}, ptr %u, ptr %t, ptr {out}, i64 %states)")


def finish(body: MarchBody, new: str, settled: str, lanes: Lanes, passes: int = 1) -> None:
    """Settle the new state, so many times, where that is wanted, and make it the state."""
    wanted = body.emit("icmp ne ptr %settle, null")
    with body.when(wanted):
        for _ in range(passes):
            status = body.emit(f"call i32 %settle(ptr {new}, ptr %u, ptr {settled}, i64 %states)")
            body.leave_if(body.emit(f"icmp ne i32 {status}, 0"), status)
            body.copy(settled, new, "%n", lanes)
    body.copy(new, "%x", "%n", lanes)
