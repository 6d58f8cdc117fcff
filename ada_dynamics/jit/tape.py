# SPDX-License-Identifier: Apache-2.0
"""A tape: a function as data for one interpreter, with places in a small file of numbers for all its values.

The file of slots begins with the inputs, then the constants; results follow. A slot is given to a new value as soon as
its old one has been used for the last time, the latest freed first, so that the file stays small and its busy part in
the cache.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ada_dynamics.expr.expand import expand
from ada_dynamics.expr.function import Function
from ada_dynamics.jit.tape_program import (
    ARCTANGENT,
    END,
    MULTIPLY_ADD,
    NONE,
    RECIPROCAL,
    SELECTION,
    SINCOS,
    SQUARE_ROOT,
    Ints,
    Program,
    make_program,
)

Words = npt.NDArray[np.uint64]

# r = a b + c with all slots in one word: half as much to read, for files that are not too large.
NARROW_MULTIPLY_ADD = 6
NARROW_SLOTS = 2**16


class Format(NamedTuple):
    """How an instruction is written: its slots in order (0, 1 results, 2 to 5 operands), and how many fill a word."""

    slots: tuple[int, ...]
    per_word: int

    @property
    def bits(self) -> int:
        """Bits for one slot; the first is in the lowest ones."""
        return 64 // self.per_word

    @property
    def words(self) -> int:
        """Words of an instruction."""
        return len(self.slots) // self.per_word


FORMATS = {
    MULTIPLY_ADD: Format((0, 2, 3, 4), 2),
    RECIPROCAL: Format((0, 2), 2),
    SQUARE_ROOT: Format((0, 2), 2),
    SINCOS: Format((0, 1, 2, 2), 2),
    SELECTION: Format((0, 2, 3, 4, 5, 5), 2),
    NARROW_MULTIPLY_ADD: Format((0, 2, 3, 4), 4),
    ARCTANGENT: Format((0, 2, 3, 3), 2),
}


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
        """What `to_bytes` gave."""
        stream = io.BytesIO(data)
        arrays: list[Any] = [np.load(stream, allow_pickle=False) for _ in fields(Tape)]
        return Tape(*arrays)


def make_tape(function: Function) -> Tape:
    """The tape of a function; time and memory grow with its operations."""
    function = expand(function)  # lanes of one state are values of their own here
    program = make_program(function)
    made, last = _lifetimes(program)
    slot, constants, slots = _place(program, made, last)
    kinds = program.kinds
    if slots <= NARROW_SLOTS:
        kinds = np.where(kinds == MULTIPLY_ADD, NARROW_MULTIPLY_ADD, kinds)
    outputs = len(program.ends) - len(function.guards)
    sizes = np.array([program.inputs, outputs, len(function.guards), slots, program.flops], dtype=np.int64)
    return Tape(_runs(program, kinds, made), _words(program, kinds, slot), slot[program.ends], constants, sizes)


def unpack(words: Words, kind: int) -> Ints:
    """A row of slots for each instruction of one kind."""
    form = FORMATS[kind]
    mask = np.uint64(2**form.bits - 1)
    parts = [words >> np.uint64(i * form.bits) & mask for i in range(form.per_word)]
    return np.stack(parts, axis=1).astype(np.int64).reshape(-1, len(form.slots))


def _place(program: Program, made: Ints, last: Ints) -> tuple[Ints, npt.NDArray[np.float64], int]:
    """The slot of each value, the constants that are used, and the number of slots."""
    count, inputs = len(program.kinds), program.inputs
    fixed = inputs + len(program.constants)
    slot = np.full(len(made), NONE, dtype=np.int64)
    slot[:inputs] = np.arange(inputs)
    used = np.flatnonzero(last[inputs:fixed] != NONE) + inputs
    slot[used] = inputs + np.arange(len(used))
    top = inputs + len(used)

    # What happens to slots, in order: a value's last use frees its slot before that instruction's results take theirs.
    results = np.arange(fixed, len(made))
    freed = np.concatenate([np.arange(inputs), results])
    freed = freed[(last[freed] != NONE) & (last[freed] < count)]
    unused = results[last[results] == NONE]
    when = np.concatenate([3 * made[results] + 1, 3 * last[freed], 3 * made[unused] + 2])
    what = np.concatenate([results, ~freed, ~unused])
    places, top = _allocate(what[np.argsort(when, kind="stable")].tolist(), slot.tolist(), top)
    return np.array(places, dtype=np.int64), program.constants[used - inputs], top


def _lifetimes(program: Program) -> tuple[Ints, Ints]:
    """For each value the instruction that makes it and the last one that uses it (their number for the ends)."""
    count = len(program.kinds)
    values = program.inputs + len(program.constants) + int(np.count_nonzero(program.results != NONE))
    made, last = (np.full(values, NONE, dtype=np.int64) for _ in range(2))
    for column in program.results.T:
        rows = np.flatnonzero(column != NONE)
        made[column[rows]] = rows
    for column in program.operands.T:
        rows = np.flatnonzero(column != NONE)
        np.maximum.at(last, column[rows], rows)
    last[program.ends] = count
    return made, last


def _allocate(events: list[int], slot: list[int], top: int) -> tuple[list[int], int]:
    """Give slots from `top` on, and freed ones, to values v; an event ~v frees that of v."""
    free: list[int] = []
    for value in events:
        if value < 0:
            free.append(slot[~value])
        elif free:
            slot[value] = free.pop()
        else:
            slot[value] = top
            top += 1
    return slot, top


def _runs(program: Program, kinds: Ints, made: Ints) -> Ints:
    """Where the kind changes a new run begins, and at a sine of what the same run would make."""
    count = len(kinds)
    starts = np.ones(count, dtype=bool)
    starts[1:] = kinds[1:] != kinds[:-1]
    first = np.maximum.accumulate(np.where(starts, np.arange(count), 0))
    starts |= (kinds == SINCOS) & (made[program.operands[:, 0]] >= first)
    begin = np.flatnonzero(starts)
    runs = np.stack([kinds[begin], np.diff(begin, append=count)], axis=1)
    return np.ascontiguousarray(np.concatenate([runs, [[END, 0]]]), dtype=np.int64)


def _words(program: Program, kinds: Ints, slot: Ints) -> Words:
    """Slots of all instructions, packed."""
    sizes = np.zeros(max(FORMATS) + 1, dtype=np.int64)
    for kind, form in FORMATS.items():
        sizes[kind] = form.words
    places = np.cumsum(sizes[kinds]) - sizes[kinds]
    words = np.zeros(int(sizes[kinds].sum()), dtype=np.uint64)
    table = np.concatenate([program.results, program.operands], axis=1)
    for kind, form in FORMATS.items():
        rows = np.flatnonzero(kinds == kind)
        for i, column in enumerate(form.slots):
            word, part = divmod(i, form.per_word)
            words[places[rows] + word] |= slot[table[rows, column]].astype(np.uint64) << np.uint64(part * form.bits)
    return words
