# SPDX-License-Identifier: Apache-2.0
"""Small pieces of LLVM assembly text: numbers, vector types, and a body that names its instructions."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from functools import cached_property


def double(value: float) -> str:
    """An exact LLVM constant."""
    return f"0x{struct.pack('>d', value).hex().upper()}"


@dataclass(frozen=True)
class Lanes:
    """Types of `width` numbers side by side, of as many states or of lanes of one; a width of 1 is a scalar."""

    width: int

    @cached_property
    def real(self) -> str:
        """Type of one number in each lane."""
        return "double" if self.width == 1 else f"<{self.width} x double>"

    @cached_property
    def integer(self) -> str:
        """Type of one 64-bit integer in each lane."""
        return "i64" if self.width == 1 else f"<{self.width} x i64>"

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
        return "f64" if self.width == 1 else f"v{self.width}f64"

    def number(self, value: float) -> str:
        """The constant in each lane."""
        return double(value) if self.width == 1 else f"splat (double {double(value)})"

    def whole(self, value: int) -> str:
        """The integer constant in each lane."""
        return str(value) if self.width == 1 else f"splat (i64 {value})"


@dataclass
class Body:
    """Instructions of one function; `emit` returns the name of the result."""

    lines: list[str] = field(default_factory=list)
    count: int = 0

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

    def element(self, pointer: str, offset: str | int) -> str:
        """Address of the double at `offset` (an i64) behind `pointer`."""
        return pointer if offset == 0 else self.emit(f"getelementptr double, ptr {pointer}, i64 {offset}")

    def load(self, kind: str, pointer: str, offset: str | int = 0) -> str:
        """Load behind `pointer`; nothing is assumed about alignment beyond that of a double."""
        return self.emit(f"load {kind}, ptr {self.element(pointer, offset)}, align 8")

    def store(self, kind: str, value: str, pointer: str, offset: str | int = 0) -> None:
        """Store behind `pointer`."""
        self.do(f"store {kind} {value}, ptr {self.element(pointer, offset)}, align 8")

    def any_lane(self, flags: str, lanes: Lanes) -> str:
        """i1: whether the flag of some lane is set."""
        if lanes.width == 1:
            return flags
        bits = self.emit(f"bitcast {lanes.boolean} {flags} to i{lanes.width}")
        return self.emit(f"icmp ne i{lanes.width} {bits}, 0")

    def __str__(self) -> str:
        return "\n".join(self.lines)
