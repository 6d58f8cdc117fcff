# SPDX-License-Identifier: Apache-2.0
"""A traced function as a list of few kinds of instructions: the first half of making a tape.

Almost everything becomes one instruction, r = a b + c, whatever its operation was:

    a b      a b + (-0)          a + b    b 1 + a
    -a       a (-1) + (-0)       a - b    b (-1) + a

Each is as exact as the operation it stands for. An interpreter then has nothing to decide in most of its steps, which
saves more than the operands that this adds cost.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from ada_dynamics.expr.function import Function
from ada_dynamics.expr.graph import ADD, ATAN2, CONST, COS, FMA, MUL, NEG, REC, SELECT, SIN, SQRT, SUB, VAR, Expr
from ada_dynamics.jit.angles import first_angles

# Kinds of instructions. Results and operands, in order:
END = 0
MULTIPLY_ADD = 1  # r = a b + c
RECIPROCAL = 2  # r = 1 / a
SQUARE_ROOT = 3  # r = sqrt(a)
SINCOS = 4  # r, s = sin(a), cos(a)
SELECTION = 5  # r = x where a < b else y
ARCTANGENT = 7  # r = atan2(a, b); 6 is a narrow multiply-add, see `tape`

_ALONE = {SQRT: SQUARE_ROOT, REC: RECIPROCAL, ATAN2: ARCTANGENT, SELECT: SELECTION}
# Results and operands of an instruction.
SIZES = {MULTIPLY_ADD: 4, RECIPROCAL: 2, SQUARE_ROOT: 2, SINCOS: 3, SELECTION: 5, ARCTANGENT: 3}
NEVER = -1
_FLOPS = {ADD: 1, SUB: 1, MUL: 1, FMA: 2}


class Program:
    """Instructions of a function without lanes; time and memory grow with its operations.

    Values have numbers: inputs from 0 on, then results; ~k is constant k.

    Attributes:
        kinds: of each instruction.
        values: of one after the other, those of its results, then those of its operands (SIZES in all).
        last: for each value, the last instruction that reads it (their number for the ends), or NEVER.
        constants: numbers.
        inputs: number of inputs, one behind the other.
        ends: values of the outputs, then of the guards.
        flops: additions and multiplications of the function.
    """

    def __init__(self, function: Function) -> None:
        self.kinds: list[int] = []
        self.values: list[int] = []  # flat, for the collector of garbage would look at tuples again and again
        self.inputs = sum(function.inputs.values())
        self.last = [NEVER] * self.inputs
        self._of: dict[int, int] = {}  # value of each node
        self._both: dict[int, tuple[int, int]] = {}  # sine and cosine of each angle's value
        self.constants: list[float] = []
        self._constants: dict[bytes, int] = {}  # their numbers, by their bits
        starts, start = {}, 0
        for name, size in function.inputs.items():
            starts[name], start = start, start + size
        self._starts = starts
        nodes = function.nodes()
        self.flops = sum(_FLOPS.get(node.op, 0) for node in nodes)
        self._minus_zero, self._one, self._minus_one = map(self._constant, (-0.0, 1.0, -1.0))
        # First angles depend on no sine or cosine. Taken all at once, their sines and cosines fill vectors.
        angles, needed = first_angles(nodes)
        self._add(needed)
        for angle in angles:
            self._sincos(self._of[angle.index])
        self._add(nodes)
        self.ends = [self._of[x.index] if isinstance(x, Expr) else self._constant(x) for x in function.values]
        for end in self.ends:
            if end >= 0:
                self.last[end] = len(self.kinds)

    def _constant(self, number: float) -> int:
        bits = struct.pack("d", number)
        if bits not in self._constants:
            self._constants[bits] = len(self.constants)
            self.constants.append(number)
        return ~self._constants[bits]

    def _put(self, kind: int, operands: tuple[int, ...], results: int = 1) -> int:
        """Add an instruction; the value of its first result."""
        last, number, first = self.last, len(self.kinds), len(self.last)
        for operand in operands:
            if operand >= 0:
                last[operand] = number
        self.kinds.append(kind)
        made = range(first, first + results)
        self.values += made
        self.values += operands
        last += [NEVER] * results
        return first

    def _sincos(self, angle: int) -> tuple[int, int]:
        if angle not in self._both:
            sine = self._put(SINCOS, (angle,), 2)
            self._both[angle] = sine, sine + 1
        return self._both[angle]

    def _add(self, nodes: Iterable[Expr]) -> None:
        """The table of the module's docstring, row by row."""
        of, put = self._of, self._put
        for node in nodes:
            index, op = node.index, node.op
            if index in of:
                continue
            if op is FMA:
                of[index] = put(MULTIPLY_ADD, tuple([of[arg.index] for arg in node.args]))
            elif op is ADD or op is SUB:
                a, b = node.args
                one = self._one if op is ADD else self._minus_one
                of[index] = put(MULTIPLY_ADD, (of[b.index], one, of[a.index]))
            elif op is MUL:
                of[index] = put(MULTIPLY_ADD, (of[node.args[0].index], of[node.args[1].index], self._minus_zero))
            elif op is VAR:
                of[index] = self._starts[node.variable[0]] + node.variable[1]
            elif op is CONST:
                of[index] = self._constant(node.value)
            elif op is NEG:
                of[index] = put(MULTIPLY_ADD, (of[node.args[0].index], self._minus_one, self._minus_zero))
            elif op is SIN or op is COS:
                of[index] = self._sincos(of[node.args[0].index])[op is COS]
            else:
                of[index] = put(_ALONE[op], tuple([of[arg.index] for arg in node.args]))
