# SPDX-License-Identifier: Apache-2.0
"""Backend that runs a tape by the compiled interpreter. The tape is made, or found in the cache, at need."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.execution import pause_garbage_collection
from ada_dynamics.expr.function import Function
from ada_dynamics.jit import cache
from ada_dynamics.jit.compiler import Library
from ada_dynamics.jit.emit_kernel import SINGLE
from ada_dynamics.jit.native import Entry, Report
from ada_dynamics.jit.signature import Signature
from ada_dynamics.jit.tape import Tape, make_tape
from ada_dynamics.jit.tape_machine import TapeMachine
from ada_dynamics.jit.target import Target

# States side by side in a batch. Where vectors are shorter, several of them share the work of reading an instruction.
BATCH_WIDTH = 8


class TapeBackend:
    """Runs a function as a tape."""

    name = "tape"

    def __init__(
        self, signature: Signature, trace: Callable[[], Function], key: str, target: Target, checked: bool = True
    ) -> None:
        """Arguments as those of `NativeBackend`."""
        self.signature = signature
        self.report = Report()
        self._trace = trace
        self._entry = cache.digest("tape", key, str(signature), cache.source_hash())
        self._target = target
        self._checked = checked
        self._lock = threading.RLock()
        self._tape: Tape | None = None
        self._entries: list[Entry] = []
        self._code: Library | None = None
        self._machines: dict[int, TapeMachine] = {}

    @property
    def tape(self) -> Tape:
        """The tape; the graph that it is made from is not kept."""
        with self._lock:
            if self._tape is None:
                start = time.perf_counter()
                store = cache.ObjectCache.default()
                entry = store.load(self._entry)
                if entry is None:
                    with pause_garbage_collection():
                        self._tape = make_tape(self._trace())
                    store.store(self._entry, self._tape.to_bytes(), {"kernel": self.signature.name})
                else:
                    self._tape = Tape.from_bytes(entry.code)
                self.report.seconds["tape"] = time.perf_counter() - start
                self.report.cached["tape"] = entry is not None
                self.report.flops = self._tape.flops
            return self._tape

    @property
    def lanes(self) -> int:
        """The smallest batch that is run in lanes; 1 where there are none."""
        too_large = self.tape.slots * BATCH_WIDTH * 8 > self._target.limits.lane_bytes
        return 1 if too_large else BATCH_WIDTH

    def library(self, kind: str) -> TapeMachine:
        """The tape with the interpreter for "single" or "batch"."""
        return self.machine(1 if kind == "single" else self.lanes)

    def machine(self, width: int) -> TapeMachine:
        """The tape with the interpreter of a width, made at first need; CompileError where it cannot be."""
        return self._machines.get(width) or self._load(width)

    def connect(self, entry: Entry) -> None:
        """From now on boundaries at this entry run single states on the tape, as soon as it is there."""
        with self._lock:
            if entry.owner is None:
                entry.owner = self
                self._entries.append(entry)
                if 1 in self._machines:
                    self._fill()

    def single(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> int:
        """Status of one state."""
        return self._watched(self.machine(1).one(inputs, outputs))

    def batch(self, inputs: Sequence[Array], outputs: Sequence[Array], count: int, columns: bool) -> int:
        """Status of a batch of at least `lanes` states."""
        width = self.lanes
        size = max(4 * width, self._target.limits.column_numbers // (self.tape.inputs + self.tape.outputs))
        status = 0
        for begin in range(0, count, size):
            stop = min(begin + size, count)
            part = slice(max(0, min(begin, stop - width)), stop)
            status |= self._columns(width, [array[part] for array in inputs], [out[part] for out in outputs])
        return status

    def repeat(self, inputs: Sequence[Array], outputs: Sequence[Array], count: int, repeats: int) -> int:
        """Run the code for one state over all rows, again and again."""
        status = 0
        for _ in range(repeats):
            status |= self._columns(1, inputs, outputs)
        return status

    def _columns(self, width: int, inputs: Sequence[Array], outputs: Sequence[Array]) -> int:
        """Run `width` states at a time on arrays (states, ...), laid out as columns for it."""
        states = len(inputs[0])
        columns = np.empty((self.tape.inputs, states))
        np.concatenate([array.T for array in inputs], out=columns)
        results = np.empty((self.tape.outputs, states))
        status = self.machine(width).columns(columns, results)
        begin = 0
        for out, size in zip(outputs, self.signature.output_sizes, strict=True):
            out[...] = results[begin : begin + size].T.reshape(out.shape)
            begin += size
        return self._watched(status)

    def address(self) -> int:
        """Address of code for one state; valid while this object lives."""
        with self._lock:
            if self._code is None:
                self._code = self.machine(1).entry(self._checked)
            return self._code.address(SINGLE)

    def _fill(self) -> None:
        for entry in self._entries:
            entry.single = self.address()

    def _watched(self, status: int) -> int:
        return status if self._checked else 0

    def _load(self, width: int) -> TapeMachine:
        with self._lock:
            if width not in self._machines:
                tape = self.tape
                start = time.perf_counter()
                machine = self._machines[width] = TapeMachine(tape, self.signature, width, self._target)
                self.report.seconds[f"width {width}"] = time.perf_counter() - start
                self.report.cached[f"width {width}"] = machine.cached
                if width == 1 and self._entries:
                    self._fill()
            return self._machines[width]
