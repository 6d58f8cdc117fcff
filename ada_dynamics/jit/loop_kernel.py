# SPDX-License-Identifier: Apache-2.0
"""A loop kernel with the tables of one robot: the code is shared by all robots with the same joint types."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ada_dynamics.arrays import Array
from ada_dynamics.jit import compiler
from ada_dynamics.jit.fallback import reason_for_fallback
from ada_dynamics.jit.loops import LoopProgram, entry_point, loop_text
from ada_dynamics.jit.native import Report, obtain
from ada_dynamics.jit.signature import Signature
from ada_dynamics.jit.target import Target

# Above this size of workspace a batch runs state by state: lanes would multiply it, and the caches hold none of it.
MAX_LANE_WORKSPACE = 64 * 2**20

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
        tables = (self.kinds, self.parents, self.places_q, self.places_v, self.constants, self.base)
        return [table.ctypes.data for table in tables]


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
        lanes = Target.host().lanes
        too_large = len(self._tables.kinds) * len(self._tables.base) * lanes * 8 > MAX_LANE_WORKSPACE
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

    def _run(self, width: int, inputs: Sequence[Array], result: Array, states: int) -> None:
        function = self._functions.get(width) or self._load(width)
        work = self._workspace(width)
        pointers = (*self._tables.pointers, work.ctypes.data, *(a.ctypes.data for a in inputs), result.ctypes.data)
        function(*pointers, len(self._tables.kinds), states)

    def _workspace(self, width: int) -> Array:
        """Kept from call to call, by each thread for itself."""
        size = (len(self._tables.kinds) + 1) * len(self._tables.base) * width
        held: Array | None = getattr(self._own, "work", None)
        if held is None or held.size < size:
            held = self._own.work = np.empty(size)
        return held

    def _load(self, width: int) -> Callable[..., int]:
        with _lock:
            kind = f"width {width}"
            name = f"{self._key}|{kind}"
            start = time.perf_counter()
            if name not in _libraries:
                target = Target.host()
                code, note = obtain(self._key, kind, lambda: (loop_text(self._program(), target, (width,)), {}), target)
                _libraries[name] = compiler.load(code, [entry_point(width)])
                self.report.cached[kind] = note["cached"]
            self.report.seconds[kind] = time.perf_counter() - start
            pointers = (ctypes.c_void_p,) * (8 + len(self.signature.inputs))
            prototype = ctypes.CFUNCTYPE(ctypes.c_int, *pointers, ctypes.c_int64, ctypes.c_int64)
            self._functions[width] = prototype(_libraries[name].address(entry_point(width)))
            return self._functions[width]
