# SPDX-License-Identifier: Apache-2.0
"""A tape: a function as data for one interpreter, with places in a small file of numbers for all its values.

The file of slots begins with the inputs, then the constants; results follow. A slot is given to a new value as soon as
its old one has been used for the last time, the latest freed first, so that the file stays small and its busy part in
the cache.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ada_dynamics.expr.evaluation import expand
from ada_dynamics.expr.function import Function
from ada_dynamics.jit.fused import fused
from ada_dynamics.jit.tape_program import (
    ARCTANGENT,
    END,
    MULTIPLY_ADD,
    NEVER,
    RECIPROCAL,
    SELECTION,
    SINCOS,
    SIZES,
    SQUARE_ROOT,
    Program,
)

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

# r = a b + c with all slots in one word: half as much to read, for files that are not too large.
NARROW_MULTIPLY_ADD = 6
NARROW_SLOTS = 2**16


class Format(NamedTuple):
    """How an instruction is written: the number of its slots, results first, and how many of them fill a word."""

    slots: int
    per_word: int = 2

    @property
    def bits(self) -> int:
        """Bits for one slot; the first is in the lowest ones."""
        return 64 // self.per_word

    @property
    def words(self) -> int:
        """Words of an instruction."""
        return -(-self.slots // self.per_word)


FORMATS = {
    MULTIPLY_ADD: Format(4),
    RECIPROCAL: Format(2),
    SQUARE_ROOT: Format(2),
    SINCOS: Format(3),
    SELECTION: Format(5),
    NARROW_MULTIPLY_ADD: Format(4, per_word=4),
    ARCTANGENT: Format(3),
}
# Words and slots of an instruction, by kind.
_SIZES = np.array([[FORMATS[k].words, FORMATS[k].slots] if k in FORMATS else [0, 0] for k in range(max(FORMATS) + 1)]).T


@dataclass(frozen=True, eq=False)
class Tape:
    """A function as data.

    Attributes:
        runs: rows (kind, count) of instructions of one kind that follow one another; the last row is END.
        words: slots of all instructions (see FORMATS).
        ends: slots of the outputs, one behind the other, then of the guards.
        constants: numbers of the slots behind the inputs.
        sizes: numbers of inputs, outputs, guards and slots; additions and multiplications of the function.
    """

    runs: Ints
    words: Words
    ends: Ints
    constants: npt.NDArray[np.float64]
    sizes: Ints

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return int(self.sizes[0])

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return int(self.sizes[1])

    @property
    def guards(self) -> int:
        """Number of guards."""
        return int(self.sizes[2])

    @property
    def slots(self) -> int:
        """Numbers in the file for one state."""
        return int(self.sizes[3])

    @property
    def flops(self) -> int:
        """Additions and multiplications of the function."""
        return int(self.sizes[4])

    @property
    def instructions(self) -> int:
        """Number of instructions."""
        return int(self.runs[:, 1].sum())

    def file(self, width: int) -> npt.NDArray[np.float64]:
        """Slots for `width` states side by side, with the constants in place, on a line of the cache."""
        size = self.slots * width
        room = np.zeros(size + 8)
        start = -(room.ctypes.data // 8) % 8
        file = room[start : start + size]
        first = self.inputs * width
        file[first : first + len(self.constants) * width] = np.repeat(self.constants, width)
        return file

    def to_bytes(self) -> bytes:
        """All of it, for the cache."""
        stream = io.BytesIO()
        for item in fields(self):
            np.save(stream, getattr(self, item.name), allow_pickle=False)
        return stream.getvalue()

    @staticmethod
    def from_bytes(data: bytes) -> Tape:
        """A tape from the bytes of `to_bytes`."""
        stream = io.BytesIO(data)
        arrays: list[Any] = [np.load(stream, allow_pickle=False) for _ in fields(Tape)]
        return Tape(*arrays)


def make_tape(function: Function) -> Tape:
    """The tape of a function; time and memory grow with its operations."""
    function = expand(fused(function))  # lanes of one state are values of their own here
    program = Program(function)
    places, slots = _slots(program)
    slot = np.array(places, dtype=np.int64)
    kinds = np.array(program.kinds, dtype=np.int64)
    runs = np.array([*_runs(program), (END, 0)], dtype=np.int64)
    if slots <= NARROW_SLOTS:
        for table in (kinds, runs[:, 0]):
            table[table == MULTIPLY_ADD] = NARROW_MULTIPLY_ADD
    outputs = len(program.ends) - len(function.guards)
    sizes = np.array([program.inputs, outputs, len(function.guards), slots, program.flops], dtype=np.int64)
    constants = np.array(program.constants, dtype=np.float64)
    return Tape(runs, _words(program, kinds, slot), slot[program.ends], constants, sizes)


def _slots(program: Program) -> tuple[list[int], int]:
    """The slot of each value, and the number of slots; constants are at the end, where negative numbers find them."""
    last, top = program.last.copy(), program.inputs + len(program.constants)
    slot = [*range(program.inputs), *[0] * (len(last) - program.inputs)]
    free: list[int] = []
    begin = 0
    for number, kind in enumerate(program.kinds):
        results, end = 2 if kind == SINCOS else 1, begin + SIZES[kind]
        values = program.values[begin:end]
        begin = end
        # a value's last use frees its slot before that instruction's results take theirs
        for value in values[results:]:
            if value >= 0 and last[value] == number:
                free.append(slot[value])
                last[value] = NEVER
        for value in values[:results]:
            slot[value] = free.pop() if free else top
            top = max(top, slot[value] + 1)
        free += [slot[value] for value in values[:results] if last[value] == NEVER]
    return slot + [program.inputs + k for k in reversed(range(len(program.constants)))], top


def _runs(program: Program) -> Iterator[tuple[int, int]]:
    """Kind and number of instructions that follow one another; no sine is of what the same run makes."""
    kind, count, first, begin = END, 0, 0, 0
    for now in program.kinds:
        if now != kind or (kind == SINCOS and program.values[begin + 2] >= first):
            if count:
                yield kind, count
            kind, count, first = now, 0, program.values[begin]
        count += 1
        begin += SIZES[now]
    if count:
        yield kind, count


def _words(program: Program, kinds: Ints, slot: Ints) -> Words:
    """Slots of all instructions, packed."""
    places, begins = (np.cumsum(sizes[kinds]) - sizes[kinds] for sizes in _SIZES)
    words = np.zeros(int(_SIZES[0][kinds].sum()), dtype=np.uint64)
    slots = slot[program.values].astype(np.uint64)
    for kind, form in FORMATS.items():
        rows = np.flatnonzero(kinds == kind)
        for i in range(form.slots):
            word, part = divmod(i, form.per_word)
            words[places[rows] + word] |= slots[begins[rows] + i] << np.uint64(part * form.bits)
    return words
