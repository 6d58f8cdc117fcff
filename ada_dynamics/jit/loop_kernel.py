# SPDX-License-Identifier: Apache-2.0
"""A loop kernel with the tables of one robot: the code is shared by all robots with the same joint types."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ada_dynamics.arrays import Array
from ada_dynamics.jit import compiler
from ada_dynamics.jit.emit_kernel import SINGLE
from ada_dynamics.jit.fallback import reason_for_fallback
from ada_dynamics.jit.kernel import Kernel
from ada_dynamics.jit.llvm_text import Body
from ada_dynamics.jit.loops import LoopProgram, entry_point, loop_text
from ada_dynamics.jit.native import Entry, Report, obtain
from ada_dynamics.jit.signature import Signature
from ada_dynamics.jit.table_entry import load_entry, pointers_of, status_of_numbers
from ada_dynamics.jit.target import Target

# Numbers of workspace above which calls go through Python: that costs little beside them, and keeps the workspace.
MAX_ENTRY_WORKSPACE = 2**17

_lock = threading.RLock()
_libraries: dict[str, compiler.Library] = {}


@dataclass(frozen=True, eq=False)
class LoopTables:
    """A robot as data (see `jit.loops`)."""

    kinds: npt.NDArray[np.int32]
    parents: npt.NDArray[np.int32]
    places_q: npt.NDArray[np.int64]
    places_v: npt.NDArray[np.int64]
    constants: Array
    base: Array

    @cached_property
    def pointers(self) -> list[int]:
        """Addresses, in the order of the entry point."""
        return [getattr(self, field.name).ctypes.data for field in fields(self)]


class LoopKernel:
    """Runs a loop program on states; check `available` first."""

    def __init__(self, signature: Signature, program: Callable[[], LoopProgram], key: str, tables: LoopTables) -> None:
        """Args: names and sizes, the program (made only when nothing is cached), its key, the robot's tables."""
        self.signature = signature
        self.report = Report()
        self._program = program
        self._key = f"loop|{key}"
        self._tables = tables
        self._functions: dict[int, Callable[..., int]] = {}
        self._own = threading.local()

    @staticmethod
    def available() -> bool:
        """True if code can be compiled here."""
        return reason_for_fallback() is None

    def single(self, *arrays: Array, out: Any = None) -> Array:
        """One state."""
        inputs = self.signature.check_single(arrays)
        result = np.empty(self.signature.outputs[0][1]) if out is None else self.signature.check_out(out, ())[0]
        self._run(1, inputs, result, 1)
        return result

    def batch(self, *arrays: Array) -> Array:
        """N states: arrays (N, size); the result has the order of memory that suits the loops (columns)."""
        inputs, count = self.signature.check_batch(arrays)
        columns = [np.ascontiguousarray(array.T) for array in inputs]
        result = np.empty((*self.signature.outputs[0][1], count))
        target = Target.host()
        lanes = target.lanes
        too_large = len(self._tables.kinds) * len(self._tables.base) * lanes * 8 > target.limits.lane_bytes
        if count:
            self._run(1 if count < lanes or too_large else lanes, columns, result, count)
        return result.T

    def native_repeat(self, *arrays: Array, repeats: int = 1) -> None:
        """Run the single-state code over all rows without returning to Python (for benchmarks)."""
        inputs, count = self.signature.check_batch(arrays)
        columns = [np.ascontiguousarray(array.T) for array in inputs]
        result = np.empty((*self.signature.outputs[0][1], count))
        for _ in range(repeats):
            self._run(1, columns, result, count)

    def connect(self, entry: Entry, checked: bool, positions: Kernel | None) -> None:
        """From now on a call boundary at this entry runs single states by this kernel.

        Args:
            entry: of the boundary.
            checked: whether numbers that are not finite are refused.
            positions: refuses positions that cannot be used; None where all can.
        """
        with _lock:
            if entry.owner is None and self._room(1) <= MAX_ENTRY_WORKSPACE:
                entry.owner = (self, self._entry(checked, positions), positions)
                entry.single = entry.owner[1].address(SINGLE)

    def _entry(self, checked: bool, positions: Kernel | None) -> compiler.Library:
        """Code that is called with a state alone, and checks it."""
        tables = dict(zip((field.name for field in fields(LoopTables)), self._tables.pointers, strict=True))
        state, joints = pointers_of(self.signature), len(self._tables.kinds)
        sizes = (*(size for _, size in self.signature.inputs), *self.signature.output_sizes)
        kinds = ", ".join(["ptr"] * (len(tables) + 1 + len(state)))
        functions = {f"i32 @{entry_point(1)}({kinds}, i64, i64)": self._library(1).address(entry_point(1))}
        if positions is not None:
            functions["i32 @positions(ptr)"] = positions.native_address()

        def inside(body: Body, room: str, places: Mapping[str, str]) -> str:
            given = ", ".join(f"ptr {place}" for place in (*places.values(), room, *state))
            status = body.emit(f"call i32 @{entry_point(1)}({given}, i64 {joints}, i64 1)")
            if checked:
                status = body.emit(f"or i32 {status}, {status_of_numbers(body, zip(state, sizes, strict=True))}")
            if positions is not None:
                status = body.emit(f"or i32 {status}, {body.emit(f'call i32 @positions(ptr {state[0]})')}")
            return status

        key = f"{self._key}|{checked}|{positions is not None}|{joints}"
        return load_entry(key, self.signature, self._room(1), inside, tables, functions)

    def _run(self, width: int, inputs: Sequence[Array], result: Array, states: int) -> None:
        function = self._functions.get(width) or self._load(width)
        work = self._workspace(width)
        pointers = (*self._tables.pointers, work.ctypes.data, *(a.ctypes.data for a in inputs), result.ctypes.data)
        function(*pointers, len(self._tables.kinds), states)

    def _workspace(self, width: int) -> Array:
        """Kept from call to call, by each thread for itself."""
        size = self._room(width)
        held: Array | None = getattr(self._own, "work", None)
        if held is None or held.size < size:
            held = self._own.work = np.empty(size)
        return held

    def _room(self, width: int) -> int:
        return (len(self._tables.kinds) + 1) * len(self._tables.base) * width

    def _load(self, width: int) -> Callable[..., int]:
        pointers = (ctypes.c_void_p,) * (8 + len(self.signature.inputs))
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, *pointers, ctypes.c_int64, ctypes.c_int64)
        return self._functions.setdefault(width, prototype(self._library(width).address(entry_point(width))))

    def _library(self, width: int) -> compiler.Library:
        with _lock:
            kind = f"width {width}"
            name = f"{self._key}|{kind}"
            start = time.perf_counter()
            if name not in _libraries:
                target = Target.host()
                code, note = obtain(self._key, kind, lambda: (loop_text(self._program(), target, (width,)), {}), target)
                _libraries[name] = compiler.load(code, [entry_point(width)])
                self.report.cached[kind] = note["cached"]
            self.report.seconds.setdefault(kind, time.perf_counter() - start)
            return _libraries[name]
