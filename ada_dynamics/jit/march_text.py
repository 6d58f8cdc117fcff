# SPDX-License-Identifier: Apache-2.0
"""The marches as machine code: one object that serves all robots and methods."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partialmethod
from typing import Any

from ada_dynamics.jit import compiler
from ada_dynamics.jit.lanes import spread
from ada_dynamics.jit.llvm_text import ONE, Body, Lanes, double
from ada_dynamics.jit.marching import (
    MarchState,
    adaptive,
    backward_direct,
    backward_fixed,
    copy,
    direct,
    fixed,
)
from ada_dynamics.jit.native import obtain
from ada_dynamics.jit.target import Target

MARCHES = {
    "march_fixed": fixed,
    "march_direct": direct,
    "march_adaptive": adaptive,
    "march_backward_fixed": backward_fixed,
    "march_backward_direct": backward_direct,
}

_KINDS = {ctypes.c_void_p: "ptr", ctypes.c_int64: "i64", ctypes.c_double: "double"}
_FIELDS = {name: kind for name, kind, *_ in MarchState._fields_}
_COMPARE = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq"}
_REAL = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_WHOLE = {"+": "add", "-": "sub", "*": "mul", "//": "sdiv", "%": "srem"}


def march_text(target: Target) -> str:
    """Functions `i32 NAME(ptr state)` of a `MarchState`, whose vectors have a multiple of `target.lanes` elements."""
    texts = []
    for name, march in MARCHES.items():
        march(code := _MarchText(target))
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
    """An operand of machine code. Operators write instructions; a scalar beside a vector stands in each lane."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, body: Body, kind: str, name: str, lanes: Lanes = ONE) -> None:
        """Args: where instructions go, the type, the text; and how many numbers an index stands for."""
        self.body, self.kind, self.name, self.lanes = body, kind, name, lanes

    def __str__(self) -> str:
        return self.name

    def _like(self, other: Any) -> str:
        """Text of a number of this one's type."""
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

    # --- memory behind a pointer --------------------------------------------------------------------------------
    def __getitem__(self, i: Any) -> Value:
        """The numbers at an index; what begins there, of a slice."""
        if isinstance(i, slice):
            return Value(self.body, "ptr", self.body.element(self.name, str(i.start)))
        lanes = i.lanes if isinstance(i, Value) else ONE
        return Value(self.body, lanes.real, self.body.load(lanes.real, self.name, str(i)), lanes)

    def __setitem__(self, i: Any, value: Any) -> None:
        lanes = i.lanes if isinstance(i, Value) else ONE
        text = value.name if isinstance(value, Value) else double(value)
        self.body.store(lanes.real, text, self.name, str(i))


class _Fields:
    """A `MarchState` behind a pointer: its fields are read and written as attributes."""

    _body: Body

    def __init__(self, body: Body) -> None:
        self.__dict__["_body"] = body

    def _place(self, name: str) -> tuple[str, str]:
        kind = _KINDS[_FIELDS[name]]
        return kind, self._body.element("%s", getattr(MarchState, name).offset, "i8")

    def __getattr__(self, name: str) -> Value:
        kind, place = self._place(name)
        return Value(self._body, kind, self._body.emit(f"load {kind}, ptr {place}"))

    def __setattr__(self, name: str, value: Any) -> None:
        kind, place = self._place(name)
        self._body.do(f"store {kind} {value}, ptr {place}")


class _Sum:
    """A sum over lanes."""

    def __init__(self, body: Body, lanes: Lanes) -> None:
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


class _MarchText:
    """Writes a march down; the methods are those of `simulation.number_march.NumberMarch`."""

    def __init__(self, target: Target) -> None:
        self._lanes, self._fma = Lanes(target.lanes), target.fma
        self.body = Body()
        self.s = _Fields(self.body)
        # what stays as it is
        self._rate, self._settle = self.s.rate, self.s.settle
        self._u, self._t, self._states = self.s.u, self.s.t, self.s.states
        self.x, self.work, self.table, self.log = self.s.x, self.s.work, self.s.table, self.s.log
        self.by_x, self.by_u, self.added = self.s.by_x, self.s.by_u, self.s.added
        self.has_settle, self.has_log, self.has_added = map(self._is_given, (self._settle, self.log, self.added))
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

    def settle(self, new: Value) -> None:
        settled = self.work[(self.s.stages + 2) * self.s.n :]
        status = self._value(
            "i32", f"call i32 {self._settle}(ptr {new}, ptr {self._u}, ptr {settled}, i64 {self._states})"
        )
        self.leave_if(status > 0, status)
        copy(self, settled, new)

    def pull(self, x: Value, t: Value, w: Value) -> Value:
        """Gradients of w·rate by x and then by u."""
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
        """[x; w] as kernels take it, and room for what they give."""
        s = self.s
        pair = self.work[(s.stages + 4) * s.n :]
        copy(self, x, pair)
        copy(self, w, pair[s.used :])
        return pair, pair[s.n * 2 :]

    def use_input(self, step: Value) -> None:
        """The input of a step, counted from time zero."""
        self._u = self.s.u[self.input_row(step) * self.s.next_u :]

    def input_row(self, step: Value) -> Value:
        """Its row."""
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
        return Value(self.body, "ptr", self.body.room("[2 x double]"))

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
class CompiledMarch:
    """Functions of the address of a `MarchState`; they return the status word."""

    def __init__(self) -> None:
        target = Target.host()
        code, _ = obtain("march", "march", lambda: (march_text(target), {}), target)
        self.lanes = target.lanes
        self._library = compiler.load(code, MARCHES)
        kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
        functions: list[Callable[[int], int]] = [kind(self._library.address(name)) for name in MARCHES]
        self.fixed, self.direct, self.adaptive, self.backward_fixed, self.backward_direct = functions


@lru_cache(maxsize=1)
def march() -> CompiledMarch:
    """The marches, compiled or fetched from the cache at the first call."""
    return CompiledMarch()
