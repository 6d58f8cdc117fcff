# SPDX-License-Identifier: Apache-2.0
"""Machine code written with the operators of Python: operands, fields of a structure in memory, loops and branches.

A loop or a branch is a `for` statement, whose body is executed once to write the instructions:

    for i in code.lanes_of(n):           # i = 0, W, 2 W, ... for vectors of W numbers
        y[i] = y[i] + x[i] * 2.0         # two vector loads, a product, a sum, and a vector store
    for _ in code.when(total > 1.0):     # a branch
        y[0] = total
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partialmethod
from typing import Any

from ada_dynamics.jit.lowering import ONE, Instructions, Lanes, Variable, double, spread

_KINDS: dict[Any, str] = {ctypes.c_void_p: "ptr", ctypes.c_int64: "i64", ctypes.c_double: "double"}
_COMPARE = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq"}
_REAL = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_WHOLE = {"+": "add", "-": "sub", "*": "mul", "//": "sdiv", "%": "srem"}


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
        is_real = self.kind == self.lanes.real
        how = "fcmp o" if is_real else "icmp " if sign == "==" else "icmp s"
        found = self.body.emit(f"{how}{end} {self.kind} {self.name}, {self._like(other)}")
        return Value(self.body, self.lanes.boolean if is_real else "i1", found, self.lanes)

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


class Fields:
    """Fields of a structure in memory, loaded and stored as attributes."""

    _body: Instructions
    _pointer: str
    _structure: type[ctypes.Structure]

    def __init__(self, body: Instructions, pointer: str, structure: type[ctypes.Structure]) -> None:
        """Args: function body, address of the structure, and its layout."""
        self.__dict__.update(_body=body, _pointer=pointer, _structure=structure)

    def _place(self, name: str) -> tuple[str, str]:
        kinds = {field[0]: field[1] for field in self._structure._fields_}
        offset = getattr(self._structure, name).offset
        return _KINDS[kinds[name]], self._body.element(self._pointer, offset, "i8")

    def __getattr__(self, name: str) -> Value:
        kind, place = self._place(name)
        return Value(self._body, kind, self._body.emit(f"load {kind}, ptr {place}"))

    def __setattr__(self, name: str, value: Any) -> None:
        kind, place = self._place(name)
        self._body.do(f"store {kind} {value}, ptr {place}")


class CodeWriter:
    """Writes the instructions of one function."""

    def __init__(self, lanes: Lanes, fma: bool) -> None:
        """Args: vectors of the code; whether the processor has fused multiply-add."""
        self.lanes, self._fma = lanes, fma
        self.body = Instructions()
        self._abandoned = ""

    def _value(self, kind: str, text: str, lanes: Lanes = ONE) -> Value:
        return Value(self.body, kind, self.body.emit(text), lanes)

    def is_given(self, pointer: Value) -> Value:
        """i1: whether an address is not null."""
        return self._value("i1", f"icmp ne ptr {pointer}, null")

    # --- control ------------------------------------------------------------------------------------------------
    def repeat(self, count: Value) -> Iterator[Value]:
        """Loop over the index 0, 1, ..., count - 1."""
        with self.body.repeat(str(count)) as i:
            yield Value(self.body, "i64", i)

    def lanes_of(self, count: Value) -> Iterator[Value]:
        """Loop over the index of the first of W numbers: elements at this index are vectors."""
        with self.body.repeat(str(count), self.lanes.width) as i:
            yield Value(self.body, "i64", i, self.lanes)

    def when(self, condition: Value) -> Iterator[None]:
        """Branch that is taken if the condition is true."""
        with self.body.when(str(condition)):
            yield

    def loop(self, condition: Callable[..., Value]) -> Iterator[None]:
        """Loop while the condition, which is evaluated before each iteration, is true."""
        with self.body.loop(lambda: str(condition())):
            yield

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Instructions whose rest `abandon_if` skips."""
        self._abandoned = self.body.new_label()
        yield
        self.body.go(self._abandoned)
        self.body.label(self._abandoned)

    def abandon_if(self, condition: Value) -> None:
        """Continue behind the enclosing `attempt` if the condition is true."""
        stay = self.body.new_label()
        self.body.fork(str(condition), self._abandoned, stay)
        self.body.label(stay)

    def leave_if(self, condition: Value, status: Any) -> None:
        """Return a status if the condition is true."""
        self.body.leave_if(str(condition), str(status))

    # --- numbers ------------------------------------------------------------------------------------------------
    def vector_sum(self) -> Variable:
        """Variable of W numbers, zero at first."""
        return self.body.variable(self.lanes.real, self.lanes.number(0.0))

    def total(self, vector: Variable) -> Value:
        """Sum of the W numbers of a variable."""
        lanes, found = self.lanes, vector.get()
        if lanes.width > 1:
            arguments = f"double {double(0.0)}, {lanes.real} {found}"
            found = self.body.emit(f"call reassoc double @llvm.vector.reduce.fadd.{lanes.suffix}({arguments})")
        return Value(self.body, "double", found)

    def pair(self) -> Value:
        """Address of memory for two numbers."""
        return Value(self.body, "ptr", self.body.stack("[2 x double]"))

    def real(self, count: Value) -> Value:
        """An integer as a double."""
        return self._value("double", f"sitofp i64 {count} to double")

    def no(self, condition: Value) -> Value:
        """Logical negation."""
        return self._value("i1", f"xor i1 {condition}, true")

    def choose(self, condition: Value, a: Any, b: Any) -> Value:
        """`a` if the condition is true, else `b`; both are evaluated."""
        like = next((x for x in (a, b) if isinstance(x, Value)), Value(self.body, "i64", ""))
        operands = ", ".join(f"{like.kind} {like._like(x)}" for x in (a, b))
        return self._value(like.kind, f"select {condition.kind} {condition}, {operands}", like.lanes)

    def multiply_add(self, a: Value, b: Value, c: Value) -> Value:
        """a b + c, rounded once if the processor can."""
        if not self._fma:
            total: Value = b * a + c
            return total
        kind, lanes = b.kind, b.lanes
        text = f"call {kind} @llvm.fma.{lanes.suffix}({kind} {b._like(a)}, {kind} {b}, {kind} {c})"
        return self._value(kind, text, lanes)

    def sqrt(self, a: Value) -> Value:
        """Square root of a scalar."""
        return self._value("double", f"call double @llvm.sqrt.f64(double {a})")

    def _extreme(self, which: str, a: Value, b: Any) -> Value:
        return self._value(
            a.kind, f"call {a.kind} @llvm.{which}num.{a.lanes.suffix}({a.kind} {a}, {a.kind} {a._like(b)})", a.lanes
        )

    def larger(self, a: Value, b: Any) -> Value:
        """Maximum; of a number and NaN the number."""
        return self._extreme("max", a, b)

    def smaller(self, a: Value, b: Any) -> Value:
        """Minimum; of a number and NaN the number."""
        return self._extreme("min", a, b)
