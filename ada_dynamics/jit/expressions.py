# SPDX-License-Identifier: Apache-2.0
"""Lowering of expressions: LLVM instructions for one state, or for several states in SIMD lanes.

`Emitter` writes the nodes of a graph into a function body; `NotFinite` collects the check for non-finite values. Sines
and cosines whose angles depend on no other sine are computed together in vectors. Results that are all lanes of one
value are stored together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from ada_dynamics.errors import CompileError
from ada_dynamics.expr import graph as ops
from ada_dynamics.expr.function import Function
from ada_dynamics.expr.graph import Expr, Scalar, live_nodes
from ada_dynamics.expr.lanes import is_unpacked
from ada_dynamics.jit.elementary import atan2_definition, atan2_name, sincos_definition, sincos_name
from ada_dynamics.jit.lowering import (
    Instructions,
    Lanes,
    extracted,
    horizontal_sum,
    joined,
    lane_constant,
    lane_range,
    packed,
    padded,
    spread,
)
from ada_dynamics.jit.target import Target

_PROPAGATING = {ops.ADD, ops.SUB, ops.MUL, ops.NEG, ops.FMA, ops.SQRT, ops.SIN, ops.COS, ops.PACK, ops.LANE_SUM}


def unobserved_inputs(function: Function) -> dict[str, list[int]]:
    """Positions in each input whose NaN or Inf does not propagate to a result or a sine, and must be checked."""
    nodes = function.nodes()
    checked = {x.index for elements in function.outputs.values() for x in elements if isinstance(x, Expr)}
    checked.update(node.index for node in nodes if node.op in (ops.SIN, ops.COS))
    observed = checked | _observed(nodes, checked)
    found = {node.variable for node in nodes if node.op is ops.VAR and node.index in observed}
    return {name: [i for i in range(size) if (name, i) not in found] for name, size in function.inputs.items()}


def last_values(values: Iterable[Scalar]) -> list[Expr]:
    """Values, each once, without those whose NaN or Inf propagates to another one."""
    every = list(dict.fromkeys(x for x in values if isinstance(x, Expr)))
    observed = _observed(live_nodes(every), {x.index for x in every})
    return [x for x in every if x.index not in observed]


def _observed(nodes: Sequence[Expr], checked: set[int]) -> set[int]:
    """Operands (by index) whose NaN or Inf propagates to one of the checked nodes.

    NaN and Inf propagate through sums, products, roots and sines. A reciprocal maps Inf to zero, and a selection may
    return the other value.
    """
    observed: set[int] = set()
    for node in reversed(nodes):
        if node.op in _PROPAGATING and (node.index in checked or node.index in observed):
            observed.update(arg.index for arg in node.args)
    return observed


# --- angles -----------------------------------------------------------------------------------------------------------
def first_angles(nodes: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
    """Angles that depend on no sine or cosine, and the nodes that they depend on, both in the order of all nodes."""
    late: set[int] = set()
    angles: dict[int, Expr] = {}
    end = 0
    for place, node in enumerate(nodes):
        if node.op is ops.SIN or node.op is ops.COS:
            late.add(node.index)
            if node.args[0].index not in late:
                angles[node.args[0].index], end = node.args[0], place
            continue
        for arg in node.args:
            if arg.index in late:
                late.add(node.index)
                break
    needed: set[int] = set(angles)
    before = nodes[:end]  # operands come first
    for node in reversed(before):
        if node.index in needed:
            needed.update(arg.index for arg in node.args)
    return list(angles.values()), [node for node in before if node.index in needed]


def groups(angles: Sequence[Expr], widest: int) -> list[list[Expr]]:
    """Groups of angles that fill vectors of `widest` numbers; angles with more lanes come first."""
    result: list[list[Expr]] = []
    buffer = 0
    for angle in sorted(angles, key=lambda node: -node.lanes):
        width = padded(angle.lanes).width
        if width > buffer:
            result.append([])
            buffer = max(widest, width)
        result[-1].append(angle)
        buffer -= width
    return result


# --- instructions -----------------------------------------------------------------------------------------------------
# Elementary function that the code calls: the writer of its definition (lanes, fused multiply-add), and its lanes.
Call: TypeAlias = tuple[Callable[[Lanes, bool], str], Lanes]

_BINARY = {ops.ADD: "fadd", ops.SUB: "fsub", ops.MUL: "fmul"}


class Emitter:
    """Writes expressions into a function body; `load(name, position)` writes the load of a variable.

    Code for one state may have values with several lanes, which are vectors; code for several states has one lane per
    state.
    """

    def __init__(self, body: Instructions, lanes: Lanes, target: Target, load: Callable[[str, int], str]) -> None:
        self.body = body
        self.lanes = lanes
        self.target = target
        self.load = load
        self.names: dict[int, str] = {}
        # Broadcast scalars, by index and width.
        self.spread: dict[tuple[int, int], str] = {}
        # Sine and cosine, by the index of the angle.
        self.pairs: dict[int, tuple[str, str]] = {}
        # All sines: NaN indicates an angle out of range.
        self.sines: list[tuple[Lanes, str]] = []
        self.called: set[Call] = set()
        # Loaded variables.
        self.variables: list[int] = []

    def kind(self, node: Expr) -> Lanes:
        """Type of the value of a node."""
        return self.lanes if node.lanes == 1 else padded(node.lanes)

    def value(self, scalar: Scalar, kind: Lanes | None = None) -> str:
        """Operand of an emitted expression or of a constant, broadcast to type `kind` if it is wider."""
        kind = kind or self.lanes
        if not isinstance(scalar, Expr):
            return self.body.constant(kind, scalar)
        if scalar.op is ops.CONST:
            return lane_constant(scalar.value) if scalar.lanes > 1 else self.body.constant(kind, scalar.value)
        if self.kind(scalar).width == kind.width:
            return self.names[scalar.index]
        place = (scalar.index, kind.width)
        if place not in self.spread:
            self.spread[place] = spread(self.body, kind, self.names[scalar.index])
        return self.spread[place]

    def emit(self, nodes: Sequence[Expr], then: Callable[[Expr], None] | None = None) -> None:
        """Emit nodes (operands first) in the given order; call `then` after each node."""
        if self.lanes.width == 1 and self.target.vector_bits > 64:
            self._gather_angles(nodes)
        elif any(node.lanes > 1 for node in nodes):
            raise CompileError(
                "code for several states cannot have values with lanes of one state; expand the function first"
            )
        for node in nodes:
            self.add(node)
            if then is not None:
                then(node)

    def add(self, node: Expr) -> None:
        """Emit a node whose operands are emitted, unless it is emitted already."""
        if node.op is not ops.CONST and node.index not in self.names:
            self.names[node.index] = self._instruction(node)

    def forget(self) -> None:
        """Discard the names of all values except sines and cosines, at the start of another basic block."""
        self.names.clear()
        self.spread.clear()
        self.variables.clear()

    def forget_variables(self) -> None:
        """Discard the loaded variables; later nodes load them again."""
        for index in self.variables:
            del self.names[index]
        self.variables.clear()

    def _instruction(self, node: Expr) -> str:
        op = node.op
        if op is ops.VAR:
            self.variables.append(node.index)
            return self.load(*node.variable)
        if op in (ops.SIN, ops.COS):
            angle = node.args[0]
            if angle.index not in self.pairs:
                self.pairs[angle.index] = self._sincos(self.kind(angle), self.value(angle, self.kind(angle)))
            return self.pairs[angle.index][0 if op is ops.SIN else 1]
        if op in (ops.PACK, ops.EXTRACT, ops.LANE_SUM):
            return self._between_lanes(node)
        kind = self.kind(node)
        return self._arithmetic(op, kind, [self.value(arg, kind) for arg in node.args])

    def _arithmetic(self, op: str, kind: Lanes, operands: Sequence[str]) -> str:
        real = kind.real
        if op in _BINARY:
            return self.body.emit(f"{_BINARY[op]} {real} {operands[0]}, {operands[1]}")
        if op is ops.FMA:
            a, b, c = operands
            return multiply_add(self.body, kind, self.target, a, b, c)
        if op is ops.NEG:
            return self.body.emit(f"fneg {real} {operands[0]}")
        if op is ops.REC:
            return self.body.emit(f"fdiv {real} {kind.number(1.0)}, {operands[0]}")
        if op is ops.SQRT:
            return self.body.emit(f"call {real} @llvm.sqrt.{kind.suffix}({real} {operands[0]})")
        if op is ops.ATAN2:
            return self._atan2(kind, operands)
        assert op is ops.SELECT
        a, b, x, y = operands
        below = self.body.emit(f"fcmp olt {real} {a}, {b}")
        return self.body.emit(f"select {kind.boolean} {below}, {real} {x}, {real} {y}")

    def _atan2(self, kind: Lanes, operands: Sequence[str]) -> str:
        """Arctangent, in double precision for floats as well."""
        wide = replace(kind, bits=64)
        self.called.add((atan2_definition, wide))
        if kind != wide:
            operands = [self.body.emit(f"fpext {kind.real} {x} to {wide.real}") for x in operands]
        y, x = operands
        angle = self.body.emit(f"call {wide.real} {atan2_name(wide)}({wide.real} {y}, {wide.real} {x})")
        return angle if kind == wide else self.body.emit(f"fptrunc {wide.real} {angle} to {kind.real}")

    def _between_lanes(self, node: Expr) -> str:
        if node.op is ops.PACK:
            return packed(self.body, self.kind(node), [self.value(arg) for arg in node.args])
        source = node.args[0]
        vector, kind = self.names[source.index], self.kind(source)
        if node.op is ops.EXTRACT:
            return extracted(self.body, kind, vector, node.value)
        return horizontal_sum(self.body, kind, vector, source.lanes)

    def _sincos(self, kind: Lanes, angle: str) -> tuple[str, str]:
        self.called.add((sincos_definition, kind))
        both = self.body.emit(f"call {kind.pair} {sincos_name(kind)}({kind.real} {angle})")
        sine = self.body.emit(f"extractvalue {kind.pair} {both}, 0")
        cosine = self.body.emit(f"extractvalue {kind.pair} {both}, 1")
        self.sines.append((kind, sine))
        return sine, cosine

    def _gather_angles(self, nodes: Sequence[Expr]) -> None:
        """Compute sines and cosines in vectors, for all angles that depend on no other sine (code for one state)."""
        angles, needed = first_angles(nodes)
        for node in needed:
            self.add(node)
        self.sincos_of(angles)

    def sincos_of(self, angles: Sequence[Expr]) -> None:
        """Compute sines and cosines of emitted angles in vectors."""
        for group in groups(angles, max(self.target.vector_bits // 64, 2)):
            self._sincos_of_group(group)

    def _sincos_of_group(self, group: Sequence[Expr]) -> None:
        kinds = [self.kind(angle) for angle in group]
        pieces = [(kind, self.value(angle, kind)) for kind, angle in zip(kinds, group, strict=True)]
        whole, vector = joined(self.body, pieces)
        results = self._sincos(whole, vector)
        start = 0
        for kind, angle in zip(kinds, group, strict=True):
            sine, cosine = (x if kind == whole else lane_range(self.body, whole, x, start, kind.width) for x in results)
            self.pairs[angle.index] = (sine, cosine)
            start += kind.width


def multiply_add(body: Instructions, kind: Lanes, target: Target, a: str, b: str, c: str) -> str:
    """a b + c, as one instruction if the target has one."""
    real = kind.real
    if target.fma:
        return body.emit(f"call {real} @llvm.fma.{kind.suffix}({real} {a}, {real} {b}, {real} {c})")
    return body.emit(f"fadd {real} {body.emit(f'fmul {real} {a}, {b}')}, {c}")


class NotFinite:
    """Accumulates 0 x over values x: the sum is 0 if all are finite, else NaN."""

    def __init__(self, body: Instructions, target: Target) -> None:
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
        """Include an array of doubles, in windows of the vector width; the last one may overlap."""
        widest = max(self.target.vector_bits // 64, 2)
        lanes = Lanes(min(widest, 1 << (size.bit_length() - 1)))
        for start in window_starts(size, lanes.width):
            self.watch(lanes, self.body.load(lanes.real, pointer, start))

    def flags(self) -> list[str]:
        """i1 for each vector type: whether a value is not finite."""
        found = []
        for lanes, total in self.sums.items():
            unordered = self.body.emit(f"fcmp uno {lanes.real} {total}, {lanes.number(0.0)}")
            found.append(self.body.any_lane(unordered, lanes))
        return found


def window_starts(size: int, width: int) -> list[int]:
    """Starts of windows of `width` that cover `size` elements; the last one may overlap."""
    starts = list(range(0, size - width + 1, width))
    if starts[-1] + width < size:
        starts.append(size - width)
    return starts


def either(body: Instructions, flags: Iterable[str]) -> str:
    """i1: logical or of flags."""
    result = ""
    for flag in flags:
        result = body.emit(f"or i1 {result}, {flag}") if result else flag
    return result or "false"


def preamble(called: Iterable[Call], target: Target, kinds: Iterable[Lanes]) -> str:
    """Definitions of elementary functions, declarations of intrinsics, and the function attributes of a module."""
    texts = []
    calls = sorted(called, key=lambda call: (call[0].__name__, call[1]))
    for lanes in sorted({*kinds, *(kind for _, kind in calls)}):
        real = lanes.real
        texts.append(f"declare {real} @llvm.fma.{lanes.suffix}({real}, {real}, {real})\n")
        texts.extend(f"declare {real} @llvm.{name}.{lanes.suffix}({real})\n" for name in ("sqrt", "fabs"))
    texts.extend(define(kind, target.fma) for define, kind in calls)
    texts.append(f"attributes #0 = {{ {target.function_attributes} }}\n")
    return "".join(texts)


# --- results ----------------------------------------------------------------------------------------------------------
class LaneStore(NamedTuple):
    """Elements of a result from a position that are the lanes of one value, or one element."""

    position: int
    value: Scalar
    lanes: int = 1


def lane_stores(elements: Sequence[Scalar]) -> list[LaneStore]:
    """Group the elements of a result: all lanes of a value, in order, as one store; any other element by itself."""
    found, position = [], 0
    while position < len(elements):
        run = LaneStore(position, elements[position])
        if isinstance(run.value, Expr) and run.value.op is ops.EXTRACT:
            (source,) = run.value.args
            if is_unpacked(elements[position : position + source.lanes], source):
                run = LaneStore(position, source, source.lanes)
        found.append(run)
        position += run.lanes
    return found


def store_lanes(emitter: Emitter, of_result: Sequence[LaneStore], pointer: str) -> None:
    """Store a result in an array; in the code for W states, element i is at i W."""
    body = emitter.body
    for position, value, lanes in of_result:
        if lanes == 1:
            body.store(emitter.lanes.real, emitter.value(value), pointer, position * emitter.lanes.width)
        else:
            assert isinstance(value, Expr)
            kind = emitter.kind(value)
            whole = emitter.value(value, kind)
            exact = whole if lanes == kind.width else lane_range(body, kind, whole, 0, lanes)
            body.store(f"<{lanes} x double>", exact, pointer, position)
