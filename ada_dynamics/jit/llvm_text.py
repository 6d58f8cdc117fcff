# SPDX-License-Identifier: Apache-2.0
"""LLVM assembly text as Python objects: numbers, vector types, a function body with loops, branches, variables."""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property


def double(value: float) -> str:
    """An exact LLVM constant."""
    return f"0x{struct.pack('>d', value).hex().upper()}"


# Vectors of AVX2, whose instructions take an operand from memory, but not one number for all lanes.
_AVX2_BITS = 256
_KEPT = re.compile(r"@kept_([0-9A-F]{16})\b")


def with_constants(text: str) -> str:
    """A module with the constants in memory that it mentions (see `Body.constant`)."""
    found = dict.fromkeys(_KEPT.findall(text))
    # Not called constant: where functions are inlined, LLVM would put the numbers back in place of the loads.
    return text + "".join(
        f"@kept_{bits} = private global <4 x double> splat (double 0x{bits}), align 32\n" for bits in found
    )


@dataclass(frozen=True, order=True)
class Lanes:
    """Types of `width` numbers side by side, of as many states or of lanes of one; a width of 1 is a scalar."""

    width: int
    bits: int = 64

    @cached_property
    def scalar(self) -> str:
        """Type of one number."""
        return {32: "float", 64: "double"}[self.bits]

    @cached_property
    def real(self) -> str:
        """Type of one number in each lane."""
        return self.scalar if self.width == 1 else f"<{self.width} x {self.scalar}>"

    @cached_property
    def integer(self) -> str:
        """Type of one integer, as long as a number, in each lane."""
        return f"i{self.bits}" if self.width == 1 else f"<{self.width} x i{self.bits}>"

    @cached_property
    def boolean(self) -> str:
        """Type of one truth value in each lane."""
        return "i1" if self.width == 1 else f"<{self.width} x i1>"

    @cached_property
    def pair(self) -> str:
        """Type of what `sincos` returns."""
        return f"{{{self.real}, {self.real}}}"

    @cached_property
    def suffix(self) -> str:
        """End of the name of an LLVM intrinsic on these."""
        return f"f{self.bits}" if self.width == 1 else f"v{self.width}f{self.bits}"

    def number(self, value: float) -> str:
        """The constant in each lane."""
        # LLVM writes a float as the double that it is equal to
        text = double(value if self.bits == 64 else ctypes.c_float(value).value)
        return text if self.width == 1 else f"splat ({self.scalar} {text})"

    def whole(self, value: int) -> str:
        """The integer constant in each lane."""
        return str(value) if self.width == 1 else f"splat (i{self.bits} {value})"


ONE = Lanes(1)


@dataclass(frozen=True)
class Variable:
    """A variable of a function: memory, which LLVM turns into registers."""

    body: Body
    kind: str
    place: str

    def get(self) -> str:
        """Its value."""
        return self.body.emit(f"load {self.kind}, ptr {self.place}")

    def set(self, value: str) -> None:
        """Give it a value."""
        self.body.do(f"store {self.kind} {value}, ptr {self.place}")

    def update(self, operation: str, operand: str) -> None:
        """Set it to `operation kind value, operand`."""
        self.set(self.body.emit(f"{operation} {self.kind} {self.get()}, {operand}"))


@dataclass
class Body:
    """Instructions of one function; `emit` returns the name of the result."""

    lines: list[str] = field(default_factory=list)
    count: int = 0
    variables: list[str] = field(default_factory=list)
    blocks: int = 0

    def emit(self, instruction: str) -> str:
        """Add an instruction that has a result."""
        self.count += 1
        name = f"%t{self.count}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Add an instruction that has none."""
        self.lines.append(f"  {instruction}")

    def label(self, name: str) -> None:
        """Start a basic block."""
        self.lines.append(f"{name}:")

    # --- memory -------------------------------------------------------------------------------------------------
    def room(self, kind: str, align: int = 64) -> str:
        """Memory that lasts as long as the call."""
        name = f"%v{len(self.variables)}"
        self.variables.append(f"  {name} = alloca {kind}, align {align}")
        return name

    def variable(self, kind: str, value: str) -> Variable:
        """A new variable."""
        made = Variable(self, kind, self.room(kind))
        made.set(value)
        return made

    def element(self, pointer: str, offset: str | int, kind: str = "double") -> str:
        """Address of the number at `offset` (an i64) behind `pointer`."""
        return pointer if offset == 0 else self.emit(f"getelementptr {kind}, ptr {pointer}, i64 {offset}")

    def load(self, kind: str, pointer: str, offset: str | int = 0) -> str:
        """Load behind `pointer`; nothing is assumed about alignment beyond that of a double."""
        return self.emit(f"load {kind}, ptr {self.element(pointer, offset)}, align 8")

    def constant(self, kind: Lanes, value: float) -> str:
        """A number in each lane, as an operand.

        For AVX2 in memory once for each lane, where instructions take it from; LLVM would spend one more on it.
        """
        if kind.width * kind.bits != _AVX2_BITS or kind.bits != 64:
            return kind.number(value)
        place = f"@kept_{double(value)[2:]}"
        return self.emit(f"load {kind.real}, ptr {place}, align 32, !invariant.load !{{}}")

    def store(self, kind: str, value: str, pointer: str, offset: str | int = 0) -> None:
        """Store behind `pointer`."""
        self.do(f"store {kind} {value}, ptr {self.element(pointer, offset)}, align 8")

    def prefetch(self, pointer: str, offset: int) -> None:
        """Ask for what will be read, if there is such memory: into the second cache, for it would crowd the first."""
        self.do(f"call void @llvm.prefetch.p0(ptr {self.element(pointer, offset)}, i32 0, i32 2, i32 1)")

    def entry(self, kind: str, table: str, i: str | int) -> str:
        """Number i of a table."""
        return self.emit(f"load {kind}, ptr {self.element(table, i, kind)}")

    # --- control ------------------------------------------------------------------------------------------------
    def new_label(self) -> str:
        """Name of a block that is to come."""
        self.blocks += 1
        return f"b{self.blocks}"

    def go(self, label: str) -> None:
        """End the block, and go on at another one."""
        self.do(f"br label %{label}")

    def fork(self, condition: str, then: str, otherwise: str) -> None:
        """End the block, and go on at one of two others."""
        self.do(f"br i1 {condition}, label %{then}, label %{otherwise}")

    @contextmanager
    def loop(self, condition: Callable[[], str]) -> Iterator[None]:
        """The lines within run as long as the i1, which is looked at before each turn, holds."""
        test, turn, after = (self.new_label() for _ in range(3))
        self.go(test)
        self.label(test)
        self.fork(condition(), turn, after)
        self.label(turn)
        yield
        self.go(test)
        self.label(after)

    @contextmanager
    def repeat(self, until: str, step: int = 1) -> Iterator[str]:
        """The lines within run for an index from 0, by `step`, below `until`."""
        index = self.variable("i64", "0")
        with self.loop(lambda: self.emit(f"icmp slt i64 {index.get()}, {until}")):
            now = index.get()
            yield now
            index.set(self.emit(f"add i64 {now}, {step}"))

    @contextmanager
    def in_blocks(self, count: str, width: int) -> Iterator[str]:
        """The lines within run for the first of each `width` of `count` states; the last block moves back to fit.

        So a state is never computed differently at the end of a batch, only twice.
        """
        last = self.emit(f"sub i64 {count}, {width}")
        with self.repeat(count, width) as block:
            past = self.emit(f"icmp sgt i64 {block}, {last}")
            yield self.emit(f"select i1 {past}, i64 {last}, i64 {block}")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """The lines within run only if the i1 holds."""
        then, after = self.new_label(), self.new_label()
        self.fork(condition, then, after)
        self.label(then)
        yield
        self.go(after)
        self.label(after)

    def leave_if(self, condition: str, result: str, kind: str = "i32") -> None:
        """Return `result` if the i1 holds."""
        leave, stay = self.new_label(), self.new_label()
        self.fork(condition, leave, stay)
        self.label(leave)
        self.do(f"ret {kind} {result}")
        self.label(stay)

    def cases(self, kind: str, value: str, numbers: Iterable[int]) -> Iterator[int]:
        """Each number in turn: the lines of its turn run where the value is that number, which it must be one of."""
        labels = {number: self.new_label() for number in numbers}
        unknown, after = self.new_label(), self.new_label()
        text = " ".join(f"{kind} {number}, label %{label}" for number, label in labels.items())
        self.do(f"switch {kind} {value}, label %{unknown} [{text}]")
        for number, label in labels.items():
            self.label(label)
            yield number
            self.go(after)
        self.label(unknown)
        self.do("unreachable")
        self.label(after)

    def any_lane(self, flags: str, lanes: Lanes) -> str:
        """i1: whether the flag of some lane is set."""
        if lanes.width == 1:
            return flags
        bits = self.emit(f"bitcast {lanes.boolean} {flags} to i{lanes.width}")
        return self.emit(f"icmp ne i{lanes.width} {bits}, 0")

    def __str__(self) -> str:
        return "\n".join([*self.variables, *self.lines])
