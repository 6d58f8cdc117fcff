# SPDX-License-Identifier: Apache-2.0
"""A tape with the compiled interpreter of one width: what it reads is laid out once, what it writes once per thread."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.jit import compiler
from ada_dynamics.jit.llvm_text import Body
from ada_dynamics.jit.native import obtain
from ada_dynamics.jit.signature import Signature
from ada_dynamics.jit.table_entry import copy, load_entry, pointers_of
from ada_dynamics.jit.tape import Tape
from ada_dynamics.jit.tape_text import entry_point, interpreter_text
from ada_dynamics.jit.target import Target

_PARAMETERS = ", ".join([*["ptr"] * 6, *["i64"] * 4])  # of the interpreter

_lock = threading.RLock()
_libraries: dict[str, compiler.Library] = {}


class TapeMachine:
    """Runs a tape on `width` states at a time."""

    def __init__(self, tape: Tape, signature: Signature, width: int, target: Target) -> None:
        """Compile or load the interpreter; CompileError where that cannot be done."""
        self.width = width
        self._tape = tape
        self._signature = signature
        self._shapes = tuple(shape for _, shape in signature.outputs)
        self._library, self.cached = _interpreter(width, target)
        kind = ctypes.CFUNCTYPE(ctypes.c_int, *(ctypes.c_void_p,) * 6, *(ctypes.c_int64,) * 4)
        self._function = kind(self._library.address(entry_point(width)))
        self._pointers = tuple(table.ctypes.data for table in (tape.runs, tape.words, tape.ends))
        self._numbers = (tape.inputs, tape.outputs, tape.guards)
        self._own = threading.local()

    def one(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> int:
        """Status of one state."""
        room: _Room | None = getattr(self._own, "room", None)
        if room is None:
            room = self._own.room = _Room(self._tape, self._shapes)
        np.concatenate(inputs, out=room.inputs)
        status: int = self._function(*self._pointers, self._file(), *room.pointers, *self._numbers, 1)
        for out, result in zip(outputs, room.results, strict=True):
            out[...] = result
        return status

    def columns(self, inputs: Array, results: Array) -> int:
        """Status of columns (inputs, states), at least `width` of them, to (outputs, states)."""
        pointers = (*self._pointers, self._file(), inputs.ctypes.data, results.ctypes.data)
        status: int = self._function(*pointers, *self._numbers, inputs.shape[1])
        return status

    def entry(self, checked: bool) -> compiler.Library:
        """Code that is called with one state alone, for call boundaries."""
        tape, signature = self._tape, self._signature
        tables = {name: getattr(tape, name).ctypes.data for name in ("runs", "words", "ends", "constants")}
        functions = {f"i32 @{entry_point(1)}({_PARAMETERS})": self._library.address(entry_point(1))}
        inputs, outputs = tape.slots, tape.slots + tape.inputs  # where these begin in the room, behind the slots
        sizes_in, sizes_out = (size for _, size in signature.inputs), signature.output_sizes

        def inside(body: Body, room: str, places: Mapping[str, str]) -> str:
            given, wanted = body.element(room, inputs), body.element(room, outputs)
            state = iter(pointers_of(signature))
            copy(body, body.element(room, tape.inputs), places["constants"], len(tape.constants))
            for start, size in _starts(sizes_in):
                copy(body, body.element(given, start), next(state), size)
            numbers = ", ".join(f"i64 {number}" for number in (*self._numbers, 1))
            program = (places[name] for name in ("runs", "words", "ends"))
            pointers = ", ".join(f"ptr {place}" for place in (*program, room, given, wanted))
            status = body.emit(f"call i32 @{entry_point(1)}({pointers}, {numbers})")
            for start, size in _starts(sizes_out):
                copy(body, next(state), body.element(wanted, start), size)
            return status if checked else "0"

        key = f"tape|{self._numbers}|{tape.slots}|{len(tape.constants)}|{checked}"
        return load_entry(key, signature, outputs + tape.outputs, inside, tables, functions)

    def _file(self) -> int:
        """Address of this thread's slots, which keep their constants from call to call."""
        address: int | None = getattr(self._own, "address", None)
        if address is None:
            self._own.file = self._tape.file(self.width)
            address = self._own.address = self._own.file.ctypes.data
        return address


class _Room:
    """Inputs and outputs of one state, one behind the other."""

    def __init__(self, tape: Tape, shapes: Sequence[tuple[int, ...]]) -> None:
        self.inputs = np.empty(tape.inputs)
        self.outputs = np.empty(tape.outputs)
        self.pointers = (self.inputs.ctypes.data, self.outputs.ctypes.data)
        parts = np.split(self.outputs, np.cumsum([prod(shape) for shape in shapes])[:-1])
        self.results = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def _starts(sizes: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Where arrays of these sizes begin, one behind the other, and their sizes."""
    start = 0
    for size in sizes:
        yield start, size
        start += size


def _interpreter(width: int, target: Target) -> tuple[compiler.Library, bool]:
    """The interpreter, shared by all tapes, and whether nothing had to be compiled."""
    with _lock:
        name = f"{width}|{target.identity}"
        cached = True
        if name not in _libraries:
            code, note = obtain("tape", f"width {width}", lambda: (interpreter_text(width, target), {}), target)
            _libraries[name] = compiler.load(code, [entry_point(width)])
            cached = note["cached"]
        return _libraries[name], cached
