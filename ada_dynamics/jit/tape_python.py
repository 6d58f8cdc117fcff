# SPDX-License-Identifier: Apache-2.0
"""The interpreter of tapes in Python, where nothing can be compiled: for one state and for columns of states."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.expr.functions import atan2, cos, select, sin, sqrt
from ada_dynamics.jit.emit_kernel import GUARD_FAILED, NOT_FINITE
from ada_dynamics.jit.tape import FORMATS, NARROW_MULTIPLY_ADD, Tape, unpack
from ada_dynamics.jit.tape_program import ARCTANGENT, END, MULTIPLY_ADD, RECIPROCAL, SINCOS, SQUARE_ROOT

# Instructions that are unpacked at a time.
_UNPACKED = 1 << 14


def interpret(tape: Tape, inputs: Array, outputs: Array) -> int:
    """Status of a tape that is run on columns (inputs, states); outputs are (outputs, states)."""
    if inputs.shape[1] == 1:
        try:
            slots = [*inputs[:, 0].tolist(), *tape.constants.tolist()]
            return _finish(tape, _run(tape, slots), inputs, outputs)
        except (ZeroDivisionError, ValueError, OverflowError):
            pass  # Python floats raise where the machine goes on with inf or NaN; numpy does as the machine.
    with np.errstate(all="ignore"):
        return _finish(tape, _run(tape, [*inputs, *map(np.float64, tape.constants)]), inputs, outputs)


def _run(tape: Tape, slots: list[Any]) -> list[Any]:
    """All slots after all instructions; each holds a number or a column of numbers."""
    slots += [0.0] * (tape.slots - len(slots))
    for kind, fields in _instructions(tape):
        if kind in (MULTIPLY_ADD, NARROW_MULTIPLY_ADD):
            for result, a, b, c in zip(*fields, strict=True):
                slots[result] = slots[a] * slots[b] + slots[c]
        elif kind == RECIPROCAL:
            for result, a in zip(*fields, strict=True):
                slots[result] = 1.0 / slots[a]
        elif kind == SQUARE_ROOT:
            for result, a in zip(*fields, strict=True):
                slots[result] = sqrt(slots[a])
        elif kind == ARCTANGENT:
            for result, a, b, _ in zip(*fields, strict=True):
                slots[result] = atan2(slots[a], slots[b])
        elif kind == SINCOS:
            for sine, cosine, a, _ in zip(*fields, strict=True):
                angle = slots[a]
                slots[sine], slots[cosine] = sin(angle), cos(angle)
        else:
            for result, a, b, x, y, _ in zip(*fields, strict=True):
                slots[result] = select(slots[a], slots[b], slots[x], slots[y])
    return slots


def _instructions(tape: Tape) -> Iterator[tuple[int, list[list[int]]]]:
    """Kind and columns of slots of the instructions of each run, in pieces."""
    place = 0
    for kind, count in tape.runs.tolist():
        if kind == END:
            return
        end = place + count * FORMATS[kind].words
        step = _UNPACKED * FORMATS[kind].words
        for begin in range(place, end, step):
            yield kind, unpack(tape.words[begin : min(begin + step, end)], kind).T.tolist()
        place = end


def _finish(tape: Tape, slots: list[Any], inputs: Array, outputs: Array) -> int:
    """Fill the outputs; the status word of compiled kernels."""
    ends = [slots[i] for i in tape.ends.tolist()]
    for row, value in zip(outputs, ends[: tape.outputs], strict=True):
        row[...] = value
    status = 0 if np.isfinite(inputs).all() and np.isfinite(outputs).all() else NOT_FINITE
    return status if all(np.all(guard >= 0.0) for guard in ends[tape.outputs :]) else status | GUARD_FAILED
