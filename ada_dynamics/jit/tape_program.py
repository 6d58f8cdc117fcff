# SPDX-License-Identifier: Apache-2.0
"""A traced function as a list of few kinds of instructions: the first half of making a tape.

Almost everything becomes one instruction, r = a b + c, whatever its operation was:

    a b      a b + (-0)          a + b    b 1 + a           a + b c    b c + a
    -a       a (-1) + (-0)       a - b    b (-1) + a        a - b c    (-b) c + a

Each is as exact as the operation it stands for. An interpreter then has nothing to decide in most of its steps, which
saves more than the operands that this adds cost. A product disappears where every sum that uses it takes it in.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from operator import attrgetter

from ada_dynamics.expr.function import Function
from ada_dynamics.expr.graph import ADD, ATAN2, CONST, COS, MUL, NEG, REC, SELECT, SIN, SQRT, SUB, VAR, Expr, Scalar
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
        self._negatives: dict[int, int] = {}
        starts, start = {}, 0
        for name, size in function.inputs.items():
            starts[name], start = start, start + size
        self._starts = starts
        nodes = function.nodes()
        self.flops = sum(node.op in (ADD, SUB, MUL) for node in nodes)
        self._fused = _fused_products(nodes, function.values)
        self._taken_in = set(self._fused.values())
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
        of, fused, put = self._of, self._fused, self._put
        for node in nodes:
            index, op = node.index, node.op
            if index in of:
                continue
            if op is ADD or op is SUB:
                a, b = node.args
                if index not in fused:
                    one = self._one if op is ADD else self._minus_one
                    of[index] = put(MULTIPLY_ADD, (of[b.index], one, of[a.index]))
                else:
                    product, addend = (a, b) if fused[index] == a.index else (b, a)
                    x, y = (of[factor.index] for factor in product.args)
                    if op is SUB:
                        x, y = self._with_one_negative(x, y)
                    of[index] = put(MULTIPLY_ADD, (x, y, of[addend.index]))
            elif op is MUL:
                if index in self._taken_in:
                    continue
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

    def _with_one_negative(self, x: int, y: int) -> tuple[int, int]:
        """Factors of the negative of x y; a number has its negative, others get one that is kept."""
        if y < 0 or (x >= 0 and y in self._negatives):
            x, y = y, x
        if x < 0:
            return self._constant(-self.constants[~x]), y
        if x not in self._negatives:
            self._negatives[x] = self._put(MULTIPLY_ADD, (x, self._minus_one, self._minus_zero))
        return self._negatives[x], y


def _fused_products(nodes: Sequence[Expr], ends: Iterable[Scalar]) -> dict[int, int]:
    """By sum, the product that it takes in.

    A product is taken in by all its users or by none. Of a difference only the subtrahend can be.
    """
    index, args = attrgetter("index"), attrgetter("args")
    sums = [node for node in nodes if node.op is ADD or node.op is SUB]
    in_sums = Counter(map(index, chain.from_iterable(map(args, sums))))
    used = chain(chain.from_iterable(map(args, nodes)), (end for end in ends if isinstance(end, Expr)))
    uses = Counter(map(index, used))
    candidates = {node.index for node in nodes if node.op is MUL and uses[node.index] == in_sums[node.index]}
    taken: dict[int, int] = {}
    for node in sums:
        a, b = node.args
        left = a.index in candidates and node.op is ADD
        if b.index in candidates and not (left and uses[a.index] < uses[b.index]):
            taken[node.index] = b.index
        elif left:
            taken[node.index] = a.index
    takers = Counter(taken.values())
    return {place: product for place, product in taken.items() if takers[product] == uses[product]}
