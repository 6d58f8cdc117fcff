# SPDX-License-Identifier: Apache-2.0
"""Expressions to LLVM instructions, for one state or for several side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from ada_dynamics.errors import CompileError
from ada_dynamics.expr.graph import (
    ADD,
    ATAN2,
    CONST,
    COS,
    EXTRACT,
    FMA,
    LANE_SUM,
    MUL,
    NEG,
    PACK,
    REC,
    SELECT,
    SIN,
    SQRT,
    SUB,
    VAR,
    Expr,
    Scalar,
)
from ada_dynamics.jit import lanes as lane_text
from ada_dynamics.jit.angles import first_angles, groups
from ada_dynamics.jit.atan2 import atan2_definition, atan2_name
from ada_dynamics.jit.llvm_text import Body, Lanes
from ada_dynamics.jit.sincos import sincos_definition, sincos_name
from ada_dynamics.jit.target import Target

# A function that the code calls: what writes its definition (for lanes, with fused multiply-add or not), its lanes.
Call: TypeAlias = tuple[Callable[[Lanes, bool], str], Lanes]

_BINARY = {ADD: "fadd", SUB: "fsub", MUL: "fmul"}


class Emitter:
    """Puts expressions into a function body; `load(name, position)` puts the load of a variable there.

    Used for whole kernels and for the bodies of loop kernels, which differ in where variables come from. Code for one
    state may have values of several lanes in it, which are vectors; code for several states has a lane for each.
    """

    def __init__(self, body: Body, lanes: Lanes, target: Target, load: Callable[[str, int], str]) -> None:
        self.body = body
        self.lanes = lanes
        self.target = target
        self.load = load
        self.names: dict[int, str] = {}
        # Scalars that were spread over lanes, by index and width.
        self.spread: dict[tuple[int, int], str] = {}
        # Sine and cosine by the index of the angle.
        self.pairs: dict[int, tuple[str, str]] = {}
        # Every sine: one that is not a number tells that its angle is out of range.
        self.sines: list[tuple[Lanes, str]] = []
        self.called: set[Call] = set()
        # Variables that are loaded.
        self.variables: list[int] = []

    def kind(self, node: Expr) -> Lanes:
        """Type of a node's value."""
        return self.lanes if node.lanes == 1 else lane_text.padded(node.lanes)

    def value(self, scalar: Scalar, kind: Lanes | None = None) -> str:
        """Operand text of an expression that is emitted, or of a constant; of type `kind`, else of its own."""
        kind = kind or self.lanes
        if not isinstance(scalar, Expr):
            return self.body.constant(kind, scalar)
        if scalar.op is CONST:
            return lane_text.constant(scalar.value) if scalar.lanes > 1 else self.body.constant(kind, scalar.value)
        if self.kind(scalar).width == kind.width:
            return self.names[scalar.index]
        place = (scalar.index, kind.width)
        if place not in self.spread:
            self.spread[place] = lane_text.spread(self.body, kind, self.names[scalar.index])
        return self.spread[place]

    def emit(self, nodes: Sequence[Expr], then: Callable[[Expr], None] | None = None) -> None:
        """Emit nodes (operands first) in the given order; `then` is called after each of them."""
        if self.lanes.width == 1 and self.target.vector_bits > 64:
            self._gather_angles(nodes)
        elif any(node.lanes > 1 for node in nodes):
            raise CompileError(
                "code for several states cannot have lanes of one state in it: expand the function first"
            )
        for node in nodes:
            if node.op is not CONST and node.index not in self.names:
                self.names[node.index] = self._instruction(node)
            if then is not None:
                then(node)

    def read_again(self) -> None:
        """Forget which variables were loaded: those that are emitted from here on are loaded anew.

        A barrier: otherwise LLVM would keep the values that it has.
        """
        self.body.do('call void asm sideeffect "", "~{memory}"()')
        self.forget_variables()

    def forget_variables(self) -> None:
        """Load those that are emitted from here on anew."""
        for index in self.variables:
            del self.names[index]
        self.variables.clear()

    def _instruction(self, node: Expr) -> str:
        op = node.op
        if op is VAR:
            self.variables.append(node.index)
            return self.load(*node.variable)
        if op in (SIN, COS):
            angle = node.args[0]
            if angle.index not in self.pairs:
                self.pairs[angle.index] = self._sincos(self.kind(angle), self.value(angle, self.kind(angle)))
            return self.pairs[angle.index][0 if op is SIN else 1]
        if op in (PACK, EXTRACT, LANE_SUM):
            return self._between_lanes(node)
        kind = self.kind(node)
        return self._arithmetic(op, kind, [self.value(arg, kind) for arg in node.args])

    def _arithmetic(self, op: str, kind: Lanes, operands: Sequence[str]) -> str:
        real = kind.real
        if op in _BINARY:
            return self.body.emit(f"{_BINARY[op]} {real} {operands[0]}, {operands[1]}")
        if op is FMA:
            a, b, c = operands
            return multiply_add(self.body, kind, self.target, a, b, c)
        if op is NEG:
            return self.body.emit(f"fneg {real} {operands[0]}")
        if op is REC:
            return self.body.emit(f"fdiv {real} {kind.number(1.0)}, {operands[0]}")
        if op is SQRT:
            return self.body.emit(f"call {real} @llvm.sqrt.{kind.suffix}({real} {operands[0]})")
        if op is ATAN2:
            return self._atan2(kind, operands)
        assert op is SELECT
        a, b, x, y = operands
        below = self.body.emit(f"fcmp olt {real} {a}, {b}")
        return self.body.emit(f"select {kind.boolean} {below}, {real} {x}, {real} {y}")

    def _atan2(self, kind: Lanes, operands: Sequence[str]) -> str:
        """In double precision, whatever the numbers: it is too rare for a second set of coefficients."""
        wide = replace(kind, bits=64)
        self.called.add((atan2_definition, wide))
        if kind != wide:
            operands = [self.body.emit(f"fpext {kind.real} {x} to {wide.real}") for x in operands]
        y, x = operands
        angle = self.body.emit(f"call {wide.real} {atan2_name(wide)}({wide.real} {y}, {wide.real} {x})")
        return angle if kind == wide else self.body.emit(f"fptrunc {wide.real} {angle} to {kind.real}")

    def _between_lanes(self, node: Expr) -> str:
        if node.op is PACK:
            return lane_text.packed(self.body, self.kind(node), [self.value(arg) for arg in node.args])
        source = node.args[0]
        vector, kind = self.names[source.index], self.kind(source)
        if node.op is EXTRACT:
            return lane_text.extracted(self.body, kind, vector, node.value)
        return lane_text.horizontal_sum(self.body, kind, vector, source.lanes)

    def _sincos(self, kind: Lanes, angle: str) -> tuple[str, str]:
        self.called.add((sincos_definition, kind))
        both = self.body.emit(f"call {kind.pair} {sincos_name(kind)}({kind.real} {angle})")
        sine = self.body.emit(f"extractvalue {kind.pair} {both}, 0")
        cosine = self.body.emit(f"extractvalue {kind.pair} {both}, 1")
        self.sines.append((kind, sine))
        return sine, cosine

    def _gather_angles(self, nodes: Sequence[Expr]) -> None:
        """In the code for one state, take the sines of all angles that are known at the start at once, in vectors."""
        angles, needed = first_angles(nodes)
        for node in needed:
            if node.op is not CONST:
                self.names[node.index] = self._instruction(node)
        for group in groups(angles, max(self.target.vector_bits // 64, 2)):
            self._sincos_of_group(group)

    def _sincos_of_group(self, group: Sequence[Expr]) -> None:
        kinds = [self.kind(angle) for angle in group]
        pieces = [(kind, self.value(angle, kind)) for kind, angle in zip(kinds, group, strict=True)]
        whole, vector = lane_text.joined(self.body, pieces)
        results = self._sincos(whole, vector)
        start = 0
        for kind, angle in zip(kinds, group, strict=True):
            sine, cosine = (
                x if kind == whole else lane_text.part(self.body, whole, x, start, kind.width) for x in results
            )
            self.pairs[angle.index] = (sine, cosine)
            start += kind.width


def multiply_add(body: Body, kind: Lanes, target: Target, a: str, b: str, c: str) -> str:
    """a b + c, as one instruction where there is one."""
    real = kind.real
    if target.fma:
        return body.emit(f"call {real} @llvm.fma.{kind.suffix}({real} {a}, {real} {b}, {real} {c})")
    return body.emit(f"fadd {real} {body.emit(f'fmul {real} {a}, {b}')}, {c}")


class NotFinite:
    """Collects x*0 of many values x: the sum is 0 where all are finite, and NaN where one is not."""

    def __init__(self, body: Body, target: Target) -> None:
        self.body = body
        self.target = target
        self.sums: dict[Lanes, str] = {}

    def watch(self, lanes: Lanes, value: str) -> None:
        """Include a value."""
        zero = lanes.number(0.0)
        if lanes in self.sums:
            self.sums[lanes] = multiply_add(self.body, lanes, self.target, value, zero, self.sums[lanes])
        else:
            self.sums[lanes] = self.body.emit(f"fmul {lanes.real} {value}, {zero}")

    def watch_vector(self, pointer: str, size: int) -> None:
        """Include `size` doubles behind a pointer, in windows as wide as the vectors; the last may overlap."""
        widest = max(self.target.vector_bits // 64, 2)
        lanes = Lanes(min(widest, 1 << (size.bit_length() - 1)))
        for start in window_starts(size, lanes.width):
            self.watch(lanes, self.body.load(lanes.real, pointer, start))

    def flags(self) -> list[str]:
        """i1 of each width: whether something was not finite."""
        found = []
        for lanes, total in self.sums.items():
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


def preamble(called: Iterable[Call], target: Target, kinds: Iterable[Lanes]) -> str:
    """Definitions that kernels need: functions that they call, intrinsics of their types, the function attributes."""
    texts = []
    calls = sorted(called, key=lambda call: (call[0].__name__, call[1]))
    for lanes in sorted({*kinds, *(kind for _, kind in calls)}):
        real = lanes.real
        texts.append(f"declare {real} @llvm.fma.{lanes.suffix}({real}, {real}, {real})\n")
        texts.extend(f"declare {real} @llvm.{name}.{lanes.suffix}({real})\n" for name in ("sqrt", "fabs"))
    texts.extend(define(kind, target.fma) for define, kind in calls)
    texts.append(f"attributes #0 = {{ {target.function_attributes} }}\n")
    return "".join(texts)
