# SPDX-License-Identifier: Apache-2.0
"""Expressions to LLVM instructions, for one state or for several side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ada_dynamics.expr.graph import ADD, CONST, COS, MUL, NEG, REC, SELECT, SIN, SQRT, SUB, VAR, Expr, Scalar
from ada_dynamics.jit.llvm_text import Body, Lanes
from ada_dynamics.jit.sincos import sincos_definition, sincos_name
from ada_dynamics.jit.target import Target

_BINARY = {ADD: "fadd", SUB: "fsub", MUL: "fmul"}


class Emitter:
    """Puts expressions into a function body; `load(name, position)` puts the load of a variable there.

    Used for whole kernels and for the bodies of loop kernels, which differ in where variables come from.
    """

    def __init__(self, body: Body, lanes: Lanes, target: Target, load: Callable[[str, int], str]) -> None:
        self.body = body
        self.lanes = lanes
        self.target = target
        self.load = load
        self.names: dict[int, str] = {}
        # Sine and cosine by the index of the angle.
        self.pairs: dict[int, tuple[str, str]] = {}
        # Every sine: one that is not a number tells that its angle is out of range.
        self.sines: list[tuple[Lanes, str]] = []
        self.sincos_widths: set[int] = set()

    def value(self, scalar: Scalar) -> str:
        """Operand text of an expression that is emitted, or of a constant."""
        if not isinstance(scalar, Expr):
            return self.lanes.number(scalar)
        return self.lanes.number(scalar.value) if scalar.op is CONST else self.names[scalar.index]

    def emit(self, nodes: Sequence[Expr]) -> None:
        """Emit nodes (operands first) in the given order, which is the order in which they were made."""
        if self.lanes.width == 1:
            self._gather_angles(nodes)
        for node in nodes:
            if node.op is not CONST and node.index not in self.names:
                self.names[node.index] = self._instruction(node)

    def _instruction(self, node: Expr) -> str:
        op, args = node.op, node.args
        real, flag = self.lanes.real, self.target.contract
        if op is VAR:
            return self.load(*node.variable)
        if op in _BINARY:
            return self.body.emit(f"{_BINARY[op]} {flag}{real} {self.value(args[0])}, {self.value(args[1])}")
        if op is NEG:
            return self.body.emit(f"fneg {real} {self.value(args[0])}")
        if op is REC:
            return self.body.emit(f"fdiv {real} {self.lanes.number(1.0)}, {self.value(args[0])}")
        if op is SQRT:
            return self.body.emit(f"call {real} @llvm.sqrt.{self.lanes.suffix}({real} {self.value(args[0])})")
        if op is SELECT:
            a, b, x, y = map(self.value, args)
            below = self.body.emit(f"fcmp olt {real} {a}, {b}")
            return self.body.emit(f"select {self.lanes.boolean} {below}, {real} {x}, {real} {y}")
        angle = args[0]
        if angle.index not in self.pairs:
            self.pairs[angle.index] = self._sincos(self.lanes, self.value(angle))
        return self.pairs[angle.index][0 if op is SIN else 1]

    def _sincos(self, lanes: Lanes, angle: str) -> tuple[str, str]:
        self.sincos_widths.add(lanes.width)
        both = self.body.emit(f"call {lanes.pair} {sincos_name(lanes.width)}({lanes.real} {angle})")
        sine = self.body.emit(f"extractvalue {lanes.pair} {both}, 0")
        cosine = self.body.emit(f"extractvalue {lanes.pair} {both}, 1")
        self.sines.append((lanes, sine))
        return sine, cosine

    def _gather_angles(self, nodes: Sequence[Expr]) -> None:
        """In a scalar kernel, take the sines of all angles that are known at the start at once, in vectors."""
        angles, needed = _first_angles(nodes)
        for node in needed:
            if node.op is not CONST:
                self.names[node.index] = self._instruction(node)
        widest = max(self.target.vector_bits // 64, 2)
        for start in range(0, len(angles), widest):
            self._sincos_of_group(angles[start : start + widest])

    def _sincos_of_group(self, group: Sequence[Expr]) -> None:
        if len(group) == 1:
            self.pairs[group[0].index] = self._sincos(self.lanes, self.value(group[0]))
            return
        lanes = Lanes(1 << (len(group) - 1).bit_length())
        packed = "undef"
        for lane in range(lanes.width):
            # Spare lanes repeat the first angle, so that they can neither trap nor look out of range.
            angle = self.value(group[lane] if lane < len(group) else group[0])
            packed = self.body.emit(f"insertelement {lanes.real} {packed}, double {angle}, i64 {lane}")
        results = self._sincos(lanes, packed)
        for lane, angle_node in enumerate(group):
            sine, cosine = (self.body.emit(f"extractelement {lanes.real} {x}, i64 {lane}") for x in results)
            self.pairs[angle_node.index] = (sine, cosine)


def _first_angles(nodes: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
    """Angles that depend on no sine or cosine, and the nodes they need, both in creation order."""
    late: set[int] = set()
    angles: dict[int, Expr] = {}
    for node in nodes:
        if node.op in (SIN, COS):
            late.add(node.index)
            if node.args[0].index not in late:
                angles[node.args[0].index] = node.args[0]
        elif any(arg.index in late for arg in node.args):
            late.add(node.index)
    needed: set[int] = set(angles)
    for node in reversed(nodes):
        if node.index in needed:
            needed.update(arg.index for arg in node.args)
    return list(angles.values()), [node for node in nodes if node.index in needed]


class NotFinite:
    """Collects x*0 of many values x: the sum is 0 where all are finite, and NaN where one is not."""

    def __init__(self, body: Body, target: Target) -> None:
        self.body = body
        self.target = target
        self.sums: dict[int, str] = {}

    def watch(self, lanes: Lanes, value: str) -> None:
        """Include a value."""
        real, flag = lanes.real, self.target.contract
        product = self.body.emit(f"fmul {flag}{real} {value}, {lanes.number(0.0)}")
        if lanes.width in self.sums:
            product = self.body.emit(f"fadd {flag}{real} {self.sums[lanes.width]}, {product}")
        self.sums[lanes.width] = product

    def watch_vector(self, pointer: str, size: int) -> None:
        """Include `size` doubles behind a pointer, in windows as wide as the vectors; the last may overlap."""
        widest = max(self.target.vector_bits // 64, 2)
        lanes = Lanes(min(widest, 1 << (size.bit_length() - 1)))
        for start in window_starts(size, lanes.width):
            self.watch(lanes, self.body.load(lanes.real, pointer, start))

    def flags(self) -> list[str]:
        """i1 of each width: whether something was not finite."""
        found = []
        for width, total in self.sums.items():
            lanes = Lanes(width)
            unordered = self.body.emit(f"fcmp uno {lanes.real} {total}, {lanes.number(0.0)}")
            found.append(self.body.any_lane(unordered, lanes))
        return found


def window_starts(size: int, width: int) -> list[int]:
    """Starts of windows of `width` that cover `size` elements; the last overlaps where they do not fit."""
    starts = list(range(0, size - width + 1, width))
    if starts[-1] + width < size:
        starts.append(size - width)
    return starts


def either(body: Body, flags: Iterable[str]) -> str:
    """i1: whether one of the flags is set."""
    result = ""
    for flag in flags:
        result = body.emit(f"or i1 {result}, {flag}") if result else flag
    return result or "false"


def preamble(widths: Iterable[int], target: Target) -> str:
    """Definitions that kernels need: sincos of each width, intrinsics, and the function attributes."""
    texts = []
    declared = {1, *widths}
    for width in sorted(declared):
        lanes = Lanes(width)
        real = lanes.real
        texts.append(f"declare {real} @llvm.fma.{lanes.suffix}({real}, {real}, {real})\n")
        texts.extend(f"declare {real} @llvm.{name}.{lanes.suffix}({real})\n" for name in ("sqrt", "fabs"))
    texts.extend(sincos_definition(width, target.fma) for width in sorted(set(widths)))
    texts.append(f"attributes #0 = {{ {target.function_attributes} }}\n")
    return "".join(texts)
