# SPDX-License-Identifier: Apache-2.0
"""Lowering to LLVM text: types, a function body with structured loops, branches and variables, lane operations.

A value of k lanes of one state is a vector whose length is the next power of two. Its padding lanes have the values of
its last lanes, so that they neither trap nor fail range checks.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property

from ada_dynamics.expr.per_lane import PerLane


def double(value: float) -> str:
    """An exact LLVM constant."""
    return f"0x{struct.pack('>d', value).hex().upper()}"


# Width of AVX2 vectors, whose instructions can load a vector operand from memory, but not broadcast a number.
_AVX2_BITS = 256
_KEPT = re.compile(r"@kept_([0-9A-F]{16})\b")


def with_constants(text: str) -> str:
    """Module with the definitions of the constants in memory that it uses (see `Instructions.constant`)."""
    found = dict.fromkeys(_KEPT.findall(text))
    # Not declared constant: LLVM would replace the loads by immediate values in inlined functions.
    return text + "".join(
        f"@kept_{bits} = private global <4 x double> splat (double 0x{bits}), align 32\n" for bits in found
    )


@dataclass(frozen=True, order=True)
class Lanes:
    """Types of vectors of `width` numbers, which belong to different states or to one; a width of 1 is a scalar."""

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
        """Type of one integer of the size of a number in each lane."""
        return f"i{self.bits}" if self.width == 1 else f"<{self.width} x i{self.bits}>"

    @cached_property
    def boolean(self) -> str:
        """Type of one boolean in each lane."""
        return "i1" if self.width == 1 else f"<{self.width} x i1>"

    @cached_property
    def pair(self) -> str:
        """Return type of `sincos`."""
        return f"{{{self.real}, {self.real}}}"

    @cached_property
    def suffix(self) -> str:
        """Suffix of the names of LLVM intrinsics of this type."""
        return f"f{self.bits}" if self.width == 1 else f"v{self.width}f{self.bits}"

    def number(self, value: float) -> str:
        """The constant in each lane."""
        # LLVM writes a float as the equal double
        text = double(value if self.bits == 64 else ctypes.c_float(value).value)
        return text if self.width == 1 else f"splat ({self.scalar} {text})"

    def whole(self, value: int) -> str:
        """The integer constant in each lane."""
        return str(value) if self.width == 1 else f"splat (i{self.bits} {value})"


ONE = Lanes(1)


@dataclass(frozen=True)
class Variable:
    """Variable of a function: stack memory, which LLVM promotes to registers."""

    body: Instructions
    kind: str
    place: str

    def get(self) -> str:
        """Load the value."""
        return self.body.emit(f"load {self.kind}, ptr {self.place}")

    def set(self, value: str) -> None:
        """Store a value."""
        self.body.do(f"store {self.kind} {value}, ptr {self.place}")

    def update(self, operation: str, operand: str) -> None:
        """Set it to `operation kind value, operand`."""
        self.set(self.body.emit(f"{operation} {self.kind} {self.get()}, {operand}"))


@dataclass
class Instructions:
    """Instructions of one function, with structured loops and branches."""

    lines: list[str] = field(default_factory=list)
    count: int = 0
    variables: list[str] = field(default_factory=list)
    blocks: int = 0

    def emit(self, instruction: str) -> str:
        """Add an instruction and return its result, a number, which takes LLVM less time to read than a name."""
        self.count += 1
        name = f"%{self.count}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Add an instruction without a result."""
        self.lines.append(f"  {instruction}")

    def label(self, name: str) -> None:
        """Start a basic block."""
        self.lines.append(f"{name}:")

    # --- memory -------------------------------------------------------------------------------------------------
    def stack(self, kind: str, align: int = 64) -> str:
        """Stack memory of the call."""
        name = f"%v{len(self.variables)}"
        self.variables.append(f"  {name} = alloca {kind}, align {align}")
        return name

    def variable(self, kind: str, value: str) -> Variable:
        """Create a variable."""
        made = Variable(self, kind, self.stack(kind))
        made.set(value)
        return made

    def element(self, pointer: str, offset: str | int, kind: str = "double") -> str:
        """Address of element `offset` (an i64) of an array."""
        return pointer if offset == 0 else self.emit(f"getelementptr {kind}, ptr {pointer}, i64 {offset}")

    def load(self, kind: str, pointer: str, offset: str | int = 0) -> str:
        """Load from an array of doubles, aligned as a double."""
        return self.emit(f"load {kind}, ptr {self.element(pointer, offset)}, align 8")

    def constant(self, kind: Lanes, value: float) -> str:
        """Operand with the same number in each lane.

        For AVX2 it is a vector in memory, which instructions use as an operand; LLVM would add a broadcast instruction.
        """
        if kind.width * kind.bits != _AVX2_BITS or kind.bits != 64:
            return kind.number(value)
        place = f"@kept_{double(value)[2:]}"
        return self.emit(f"load {kind.real}, ptr {place}, align 32, !invariant.load !{{}}")

    def store(self, kind: str, value: str, pointer: str, offset: str | int = 0, streamed: bool = False) -> None:
        """Store to an array of doubles; `streamed`: past the caches, to a multiple of 16 bytes."""
        how = "align 16, !nontemporal !{i32 1}" if streamed else "align 8"
        self.do(f"store {kind} {value}, ptr {self.element(pointer, offset)}, {how}")

    def prefetch(self, pointer: str, offset: int) -> None:
        """Prefetch into the second-level cache; the address may be invalid."""
        self.do(f"call void @llvm.prefetch.p0(ptr {self.element(pointer, offset)}, i32 0, i32 2, i32 1)")

    def entry(self, kind: str, table: str, i: str | int) -> str:
        """Load element i of a table."""
        return self.emit(f"load {kind}, ptr {self.element(table, i, kind)}")

    # --- control ------------------------------------------------------------------------------------------------
    def new_label(self) -> str:
        """Create a label for a later block."""
        self.blocks += 1
        return f"b{self.blocks}"

    def go(self, label: str) -> None:
        """End the block with a branch."""
        self.do(f"br label %{label}")

    def fork(self, condition: str, then: str, otherwise: str) -> None:
        """End the block with a conditional branch."""
        self.do(f"br i1 {condition}, label %{then}, label %{otherwise}")

    @contextmanager
    def loop(self, condition: Callable[[], str]) -> Iterator[None]:
        """Loop while the i1, which is computed before each iteration, is true."""
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
        """Loop over an index from 0 in steps of `step` while it is less than `until`."""
        index = self.variable("i64", "0")
        with self.loop(lambda: self.emit(f"icmp slt i64 {index.get()}, {until}")):
            now = index.get()
            yield now
            index.set(self.emit(f"add i64 {now}, {step}"))

    @contextmanager
    def in_blocks(self, count: str, width: int) -> Iterator[str]:
        """Loop over the first state of each block of `width` states; the last block overlaps the one before.

        Therefore the result of a state does not depend on its position in a batch.
        """
        last = self.emit(f"sub i64 {count}, {width}")
        with self.repeat(count, width) as block:
            past = self.emit(f"icmp sgt i64 {block}, {last}")
            yield self.emit(f"select i1 {past}, i64 {last}, i64 {block}")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Execute the lines within only if the i1 is true."""
        then, after = self.new_label(), self.new_label()
        self.fork(condition, then, after)
        self.label(then)
        yield
        self.go(after)
        self.label(after)

    def leave_if(self, condition: str, result: str, kind: str = "i32") -> None:
        """Return `result` if the i1 is true."""
        leave, stay = self.new_label(), self.new_label()
        self.fork(condition, leave, stay)
        self.label(leave)
        self.do(f"ret {kind} {result}")
        self.label(stay)

    def cases(self, kind: str, value: str, numbers: Iterable[int]) -> Iterator[int]:
        """Switch over numbers, one of which the value must be: the lines of an iteration are the case of a number."""
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
        """i1: logical or of the flags of all lanes."""
        if lanes.width == 1:
            return flags
        bits = self.emit(f"bitcast {lanes.boolean} {flags} to i{lanes.width}")
        return self.emit(f"icmp ne i{lanes.width} {bits}, 0")

    def __str__(self) -> str:
        return "\n".join([*self.variables, *self.lines])


# --- lanes ------------------------------------------------------------------------------------------------------------
@cache
def padded(lanes: int) -> Lanes:
    """Vector type for a number of lanes."""
    return Lanes(1 << (lanes - 1).bit_length())


def lane_constant(value: PerLane) -> str:
    """Constant with different numbers in the lanes."""
    numbers = [value.values[lane] for lane in _padding(len(value))]
    return "<" + ", ".join(f"double {double(x)}" for x in numbers) + ">"


def _padding(lanes: int) -> list[int]:
    """Lanes of a padded vector: its last one, or last two, are repeated, which takes the fewest instructions."""
    repeated = 2 - lanes % 2
    last = list(range(lanes - repeated, lanes))
    return [*range(lanes), *last * (padded(lanes).width - lanes)][: padded(lanes).width]


def spread(body: Instructions, kind: Lanes, scalar: str) -> str:
    """Broadcast a scalar to all lanes."""
    first = body.emit(f"insertelement {kind.real} poison, double {scalar}, i64 0")
    return body.emit(f"shufflevector {kind.real} {first}, {kind.real} poison, <{kind.width} x i32> zeroinitializer")


def packed(body: Instructions, kind: Lanes, scalars: Sequence[str]) -> str:
    """Vector of scalars."""
    result = "poison"
    for lane, source in enumerate(_padding(len(scalars))):
        result = body.emit(f"insertelement {kind.real} {result}, double {scalars[source]}, i64 {lane}")
    return result


def extracted(body: Instructions, kind: Lanes, vector: str, lane: int) -> str:
    """Scalar of one lane."""
    return body.emit(f"extractelement {kind.real} {vector}, i64 {lane}")


def horizontal_sum(body: Instructions, kind: Lanes, vector: str, lanes: int) -> str:
    """Sum of the first `lanes` lanes by repeated halving."""
    if lanes < kind.width:
        blank = ", ".join(f"i32 {lane if lane < lanes else kind.width + lane}" for lane in range(kind.width))
        zero = f"{kind.real} zeroinitializer"
        vector = body.emit(f"shufflevector {kind.real} {vector}, {zero}, <{kind.width} x i32> <{blank}>")
    while kind.width > 1:
        half = Lanes(kind.width // 2)
        low, high = (lane_range(body, kind, vector, start, half.width) for start in (0, half.width))
        vector = body.emit(f"fadd {half.real} {low}, {high}")
        kind = half
    return vector


def lane_range(body: Instructions, kind: Lanes, vector: str, start: int, width: int) -> str:
    """Vector of `width` lanes from `start`."""
    if width == 1:
        return extracted(body, kind, vector, start)
    mask = ", ".join(f"i32 {start + lane}" for lane in range(width))
    return body.emit(f"shufflevector {kind.real} {vector}, {kind.real} poison, <{width} x i32> <{mask}>")


def joined(body: Instructions, pieces: Sequence[tuple[Lanes, str]]) -> tuple[Lanes, str]:
    """Concatenate scalars and vectors, the longest first, to one vector, padded with its first lane."""
    filled = sum(kind.width for kind, _ in pieces)
    whole = padded(filled)
    if len(pieces) == 1:
        return pieces[0]
    result, start = "poison", 0
    for kind, value in pieces:
        if kind.width == 1:
            result = body.emit(f"insertelement {whole.real} {result}, double {value}, i64 {start}")
        else:
            places = range(-start, whole.width - start)
            wide = _shuffled(body, kind, value, "poison", [p if 0 <= p < kind.width else -1 for p in places], whole)
            blend = [whole.width + lane if start <= lane < start + kind.width else lane for lane in range(whole.width)]
            result = wide if start == 0 else _shuffled(body, whole, result, wide, blend, whole)
        start += kind.width
    if filled < whole.width:
        spare = [lane if lane < filled else 0 for lane in range(whole.width)]
        result = _shuffled(body, whole, result, "poison", spare, whole)
    return whole, result


def _shuffled(body: Instructions, kind: Lanes, a: str, b: str, lanes: Sequence[int], result: Lanes) -> str:
    mask = ", ".join(f"i32 {lane}" if lane >= 0 else "i32 poison" for lane in lanes)
    return body.emit(f"shufflevector {kind.real} {a}, {kind.real} {b}, <{result.width} x i32> <{mask}>")
