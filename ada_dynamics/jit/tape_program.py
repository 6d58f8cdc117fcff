# SPDX-License-Identifier: Apache-2.0
"""A traced function as a list of few kinds of instructions, in columns of numpy: the first half of making a tape.

Almost everything becomes one instruction, r = a b + c, whatever its operation was:

    a b      a b + (-0)          a + b    b 1 + a           a + b c    b c + a
    -a       a (-1) + (-0)       a - b    b (-1) + a        a - b c    (-b) c + a

Each is as exact as the operation it stands for. An interpreter then has nothing to decide in most of its steps, which
saves more than the operands that this adds cost. A product disappears where every sum that uses it takes it in.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ada_dynamics.expr.function import Function
from ada_dynamics.expr.graph import ADD, ATAN2, CONST, COS, MUL, NEG, REC, SELECT, SIN, SQRT, SUB, VAR, Expr

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# Kinds of instructions. Results and operands, in order:
END = 0
MULTIPLY_ADD = 1  # r = a b + c
RECIPROCAL = 2  # r = 1 / a
SQUARE_ROOT = 3  # r = sqrt(a)
SINCOS = 4  # r, s = sin(a), cos(a)
SELECTION = 5  # r = x where a < b else y
ARCTANGENT = 7  # r = atan2(a, b); 6 is a narrow multiply-add, see `tape`
NONE = -1

_OPERATIONS = (VAR, CONST, ADD, SUB, MUL, NEG, REC, SQRT, SIN, COS, ATAN2, SELECT)
_CODES = {op: code for code, op in enumerate(_OPERATIONS)}
_RE_PICKS = 3


class Program(NamedTuple):
    """Instructions in order; values are numbered: inputs first, then constants, then results.

    Attributes:
        kinds: of each instruction.
        results: two columns of values, NONE where there is none.
        operands: four columns of values, likewise.
        constants: numbers of the values behind the inputs.
        inputs: number of inputs, one behind the other.
        ends: values of the outputs, then of the guards.
        flops: additions and multiplications of the function.
    """

    kinds: Ints
    results: Ints
    operands: Ints
    constants: Floats
    inputs: int
    ends: Ints
    flops: int


def make_program(function: Function) -> Program:
    """The instructions of a function without lanes; time and memory grow with its operations."""
    return _Lowering(function).program()


class _Nodes(NamedTuple):
    """The live nodes of a graph by position: code of the operation, positions of up to four operands."""

    codes: Ints
    args: Ints
    ends: Ints  # position of each output element and guard, NONE for plain numbers
    variables: list[tuple[str, int]]  # of the VAR nodes, in order
    values: Floats  # of the CONST nodes, in order

    def are(self, *operations: str) -> Flags:
        """Which nodes are of these operations."""
        return np.isin(self.codes, [_CODES[op] for op in operations])


def _read(function: Function) -> _Nodes:
    nodes = function.nodes()
    count = len(nodes)
    index = np.fromiter(map(attrgetter("index"), nodes), np.int64, count)
    position = np.full(index[-1] + 1 if count else 0, NONE, dtype=np.int64)
    position[index] = np.arange(count)
    codes = np.fromiter(map(_CODES.__getitem__, map(attrgetter("op"), nodes)), np.int64, count)
    args = np.full((count, 4), NONE, dtype=np.int64)
    operands = list(map(attrgetter("args"), nodes))
    for column, wanted in enumerate((1, 2, 4, 4)):
        rows = np.flatnonzero(np.fromiter(map(len, operands), np.int64, count) >= wanted)
        found = (operands[row][column].index for row in rows.tolist())
        args[rows, column] = position[np.fromiter(found, np.int64, len(rows))]
    ends = [position[value.index] if isinstance(value, Expr) else NONE for value in function.values]
    return _Nodes(
        codes,
        args,
        np.array(ends, dtype=np.int64),
        [node.variable for node in nodes if node.op is VAR],
        np.array([node.value for node in nodes if node.op is CONST]),
    )


class _Lowering:
    """Blocks of instructions, one for each kind, that are sorted into one list at the end."""

    def __init__(self, function: Function) -> None:
        self.nodes = _read(function)
        count = len(self.nodes.codes)
        # The value of each node; the last one stands for no node.
        self.value = np.full(count + 1, NONE, dtype=np.int64)
        self.inputs = sum(function.inputs.values())
        self.blocks: list[tuple[Ints, int, Ints, Ints]] = []  # sort keys, kind, results, operands
        self.stages = _stages(self.nodes)
        self._number_inputs(function)
        self._number_constants(function)

    def program(self) -> Program:
        """All instructions, sorted."""
        nodes = self.nodes
        product, addend = _fused_products(nodes)
        dropped = np.zeros(len(nodes.codes), dtype=bool)
        dropped[product[product != NONE]] = True
        linear = np.flatnonzero(nodes.are(ADD, SUB, MUL, NEG) & ~dropped)
        angles, at, sines, cosines = self._angles()
        kinds = {SQRT: SQUARE_ROOT, REC: RECIPROCAL, ATAN2: ARCTANGENT, SELECT: SELECTION}
        others = [(kind, nodes.are(op)) for op, kind in kinds.items()]

        # Every result has its number before operands are looked up.
        for which in (linear, *(np.flatnonzero(mask) for _, mask in others)):
            self.value[which] = self._new_values(len(which))
        both = self._new_values(2 * len(angles)).reshape(-1, 2)
        self.value[sines], self.value[cosines] = both[at[0], 0], both[at[1], 1]

        self._multiply_adds(linear, product, addend)
        for kind, mask in others:
            which = np.flatnonzero(mask)
            self._block(self._keys(which), kind, self.value[which], self.value[nodes.args[which]])
        when = np.full(len(angles), np.iinfo(np.int64).max)
        np.minimum.at(when, at[0], self._keys(sines))
        np.minimum.at(when, at[1], self._keys(cosines))
        self._block(when, SINCOS, both, self.value[angles])
        return self._sorted()

    # --- values -------------------------------------------------------------------------------------------------
    def _number_inputs(self, function: Function) -> None:
        sizes = list(function.inputs.values())
        starts = dict(zip(function.inputs, np.cumsum(sizes) - sizes, strict=True))
        places = [starts[name] + position for name, position in self.nodes.variables]
        self.value[np.flatnonzero(self.nodes.are(VAR))] = places

    def _number_constants(self, function: Function) -> None:
        """One value for each different number, with the negatives of all, told apart by their bits."""
        plain = np.array([0.0 if isinstance(value, Expr) else value for value in function.values])
        own = self.nodes.values
        numbers = np.concatenate([own, plain, [1.0, 0.0]])
        signed = np.concatenate([numbers, -numbers])
        bits, which = np.unique(signed.view(np.int64), return_inverse=True)
        which = which.reshape(-1) + self.inputs
        self.constants = bits.view(np.float64)
        self.next_value = self.inputs + len(bits)
        self.negative_of = np.full(self.next_value, NONE, dtype=np.int64)
        self.negative_of[which] = np.roll(which, len(numbers))
        self.one, self.minus_one = which[len(numbers) - 2], which[-2]
        self.minus_zero = which[-1]
        self.value[np.flatnonzero(self.nodes.are(CONST))] = which[: len(own)]
        ends = self.nodes.ends
        self.plain_ends = np.where(ends == NONE, which[len(own) : len(own) + len(plain)], NONE)

    def _new_values(self, count: int) -> Ints:
        self.next_value += count
        return np.arange(self.next_value - count, self.next_value)

    # --- instructions -------------------------------------------------------------------------------------------
    def _keys(self, positions: Ints) -> Ints:
        """Where instructions go: by stage, then by position. All are odd: even ones are for what is put in between."""
        return 2 * (positions + self.stages[positions] * len(self.nodes.codes)) + 1

    def _block(self, keys: Ints, kind: int, results: Ints, operands: Ints) -> None:
        count = len(keys)
        wide = [np.full((count, width), NONE, dtype=np.int64) for width in (2, 4)]
        for table, given in zip(wide, (results, operands), strict=True):
            columns = given if given.ndim == 2 else given[:, np.newaxis]
            table[:, : columns.shape[1]] = columns
        self.blocks.append((keys, kind, wide[0], wide[1]))

    def _multiply_adds(self, which: Ints, product: Ints, addend: Ints) -> None:
        """The table of the module's docstring, row by row."""
        codes, args = self.nodes.codes[which], self.nodes.args[which]
        a, b = self.value[args[:, 0]], self.value[args[:, 1]]
        fused = product[which] != NONE
        factors = self.value[self.nodes.args[product[which], :2]]
        kinds = [codes == _CODES[MUL], codes == _CODES[NEG], fused, codes == _CODES[ADD]]
        operands = np.stack(
            [
                np.select(kinds, [a, a, factors[:, 0], b], b),
                np.select(kinds, [b, self.minus_one, factors[:, 1], self.one], self.minus_one),
                np.select(kinds, [self.minus_zero, self.minus_zero, self.value[addend[which]], a], a),
            ],
            axis=1,
        )
        keys = self._keys(which)
        self._negate_factors(keys, operands, np.flatnonzero(fused & (codes == _CODES[SUB])))
        self._block(keys, MULTIPLY_ADD, self.value[which], operands)

    def _negate_factors(self, keys: Ints, operands: Ints, rows: Ints) -> None:
        """Put the negative of one factor in place of it, where the product is to be subtracted.

        Numbers have their negatives. Otherwise the factor is taken that others need negated, too, and its negative is
        made where it is first used.
        """
        left, right = operands[rows, 0], operands[rows, 1]
        votes = np.bincount(left, minlength=self.next_value) + np.bincount(right, minlength=self.next_value)
        votes[self.inputs : len(self.negative_of)] = len(keys) + 1
        for _ in range(_RE_PICKS):
            picked = np.where(votes[left] >= votes[right], left, right)
            votes = np.bincount(picked, minlength=self.next_value)
            votes[self.inputs : len(self.negative_of)] = len(keys) + 1
        made, which = np.unique(picked, return_inverse=True)
        which = which.reshape(-1)  # not so in every numpy
        is_number = (made >= self.inputs) & (made < len(self.negative_of))
        negative = np.empty(len(made), dtype=np.int64)
        negative[is_number] = self.negative_of[made[is_number]]
        twins = made[~is_number]
        negative[~is_number] = self._new_values(len(twins))
        column = np.where(picked == left, 0, 1)
        operands[rows, column] = negative[which]

        first = np.full(len(made), np.iinfo(np.int64).max)
        np.minimum.at(first, which, keys[rows])
        made_of = np.stack(np.broadcast_arrays(twins, self.minus_one, self.minus_zero), axis=1)
        self._block(first[~is_number] - 1, MULTIPLY_ADD, negative[~is_number], made_of)

    def _angles(self) -> tuple[Ints, tuple[Ints, Ints], Ints, Ints]:
        """Positions of all angles; for the sines and for the cosines which angle is theirs; positions of both."""
        sines, cosines = (np.flatnonzero(self.nodes.are(op)) for op in (SIN, COS))
        of = np.concatenate([self.nodes.args[sines, 0], self.nodes.args[cosines, 0]])
        angles, at = np.unique(of, return_inverse=True)
        at = at.reshape(-1)
        return angles, (at[: len(sines)], at[len(sines) :]), sines, cosines

    def _sorted(self) -> Program:
        keys = np.concatenate([block[0] for block in self.blocks])
        order = np.argsort(keys, kind="stable")
        kinds = np.concatenate([np.full(len(block[0]), block[1]) for block in self.blocks])
        results, operands = (np.concatenate([block[i] for block in self.blocks]) for i in (2, 3))
        ends = np.where(self.nodes.ends == NONE, self.plain_ends, self.value[self.nodes.ends])
        flops = int(np.count_nonzero(self.nodes.are(ADD, SUB, MUL)))
        return Program(kinds[order], results[order], operands[order], self.constants, self.inputs, ends, flops)


def _fused_products(nodes: _Nodes) -> tuple[Ints, Ints]:
    """For each sum the product that it takes in, and its other operand; NONE where it takes in none.

    A product is taken in by all its users or by none. Of a difference only the subtrahend can be.
    """
    count = len(nodes.codes)
    product = np.full(count, NONE, dtype=np.int64)
    addend = product.copy()
    sums = np.flatnonzero(nodes.are(ADD, SUB))
    a, b = nodes.args[sums, 0], nodes.args[sums, 1]
    used = np.concatenate([nodes.args.reshape(-1), nodes.ends])
    uses = np.bincount(used[used != NONE], minlength=count)
    in_sums = np.bincount(np.concatenate([a, b]), minlength=count)
    can_go = nodes.are(MUL) & (uses == in_sums)
    right = can_go[b]
    left = can_go[a] & (nodes.codes[sums] == _CODES[ADD])
    take_right = right & ~(left & (uses[a] < uses[b]))
    taken = np.where(take_right, b, np.where(left, a, NONE))
    goes = np.bincount(taken[taken != NONE], minlength=count) == uses
    fused = (taken != NONE) & goes[taken]
    product[sums[fused]] = taken[fused]
    addend[sums[fused]] = np.where(take_right, a, b)[fused]
    return product, addend


def _stages(nodes: _Nodes) -> Ints:
    """Stage of each node: 0 what the first angles need, 1 their sines and cosines, 2 the rest.

    First angles depend on no sine or cosine. Taken all at once, their sines and cosines fill vectors.
    """
    count = len(nodes.codes)
    stages = np.full(count, 2, dtype=np.int64)
    trig = np.flatnonzero(nodes.are(SIN, COS))
    if not len(trig):
        return stages
    last = int(nodes.args[trig, 0].max()) + 1  # no angle comes later
    rows = nodes.args[:last].tolist()
    late = _reached(rows, nodes.are(SIN, COS)[:last])
    first = trig[~late[nodes.args[trig, 0]]]
    stages[:last][_needed(rows, nodes.args[first, 0].tolist())] = 0
    stages[first] = 1
    return stages


def _reached(rows: Sequence[Sequence[int]], starts: Flags) -> Flags:
    """Nodes that are among `starts` or depend on one of them."""
    reached = starts.tolist()
    if any(reached):
        for i, row in enumerate(rows):
            if not reached[i] and any(arg != NONE and reached[arg] for arg in row):
                reached[i] = True
    return np.array(reached, dtype=bool)


def _needed(rows: Sequence[Sequence[int]], ends: Sequence[int]) -> Ints:
    """Positions of some nodes and of all that they depend on."""
    found: set[int] = set()
    stack = list(ends)
    while stack:
        position = stack.pop()
        if position not in found:
            found.add(position)
            stack.extend(arg for arg in rows[position] if arg != NONE)
    return np.array(sorted(found), dtype=np.int64)
