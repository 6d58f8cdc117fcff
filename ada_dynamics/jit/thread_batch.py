# SPDX-License-Identifier: Apache-2.0
"""Batches on a machine of threads: arrays that lie there stay there, arrays of this process go there piece by piece."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ada_dynamics.errors import InputError
from ada_dynamics.jit.device_array import DeviceArray, Given
from ada_dynamics.jit.thread_kernel import ThreadKernel
from ada_dynamics.jit.threads import LARGEST, Machine, Strided

Numbers = np.ndarray[Any, np.dtype[np.floating[Any]]]
Rows = Sequence[int] | np.ndarray[Any, np.dtype[np.intp]]  # numbers of states
PIECE = 64 * 2**20  # bytes of the arrays of a piece: long enough for copies at full speed, short enough for any device
ONE_BY_ONE = 2000  # numbers of refused states that are fetched one by one, at some 10 us each
SLOTS = 2  # pieces under way: one is copied while the other one is computed
# Bytes of the word that tells whether a state is refused, and with those that keep what follows aligned.
_USED, _WORD = 4, 16


class Refused:
    """Which states a kernel refused: known when its stream is done."""

    def __init__(self, machine: Machine, states: int, stream: int) -> None:
        self.machine, self.stream, self.count = machine, stream, states
        self._take_over: Callable[[], None] | None = None
        self._block = machine.allocate(_WORD + states, stream)
        self.word, self.status = self._block.address, self._block.address + _WORD
        machine.clear(self.word, _WORD, stream)

    def then(self, take_over: Callable[[], None]) -> None:
        """Args: starts a kernel that takes them over, and leaves here which ones it refuses."""
        self._take_over = take_over

    def redo(self) -> None:
        """Let that kernel, if there is one, take them over; nothing is waited for."""
        if self._take_over is not None:
            self.machine.clear(self.word, _WORD, self.stream)
            self._take_over()
            self._take_over = None

    def rows(self) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Numbers of the states that nothing on the machine can compute; waits for the stream.

        The bytes are fetched only where there is something in them.
        """
        if not self._is_any():
            return np.empty(0, np.intp)
        if self._take_over is not None:
            self.redo()
            return self.rows()
        status = np.empty(self.count, np.uint8)
        self.machine.to_host(status, self.status, self.stream)
        self.machine.wait(self.stream)
        return np.flatnonzero(status)

    def _is_any(self) -> bool:
        word = np.empty(1, np.int32)
        self.machine.to_host(word, self.word, self.stream)
        self.machine.wait(self.stream)
        return bool(word[0])


# --- arrays of the device -------------------------------------------------------------------------------------------
def launch(
    kernel: ThreadKernel, arrays: Mapping[str, Given | Numbers], out: Sequence[Given] | None, stream: int
) -> tuple[list[DeviceArray], Refused]:
    """Start a kernel on arrays of the device; those of this process are copied there. Nothing waits.

    Args:
        kernel: what to run.
        arrays: by the names of its inputs: batches (N, size), or single states (size,) that count for all.
        out: where the results go, in place of new arrays.
        stream: in which.
    """
    machine, states = kernel.machine, _states(arrays)
    for array in (*arrays.values(), *(out or ())):
        if isinstance(array, Given) and array.stream not in (None, stream):
            machine.follow(stream, array.stream or 0)
    blocks = []  # alive until all kernels are started; the stream gives them back after them
    inputs = []
    for name, size in kernel.signature.inputs:
        array = arrays[name]
        if not isinstance(array, Given):
            here = np.ascontiguousarray(array, dtype=kernel.dtype)
            blocks.append(machine.allocate(here.nbytes, stream))
            machine.to_device(blocks[-1].address, here, stream)
            machine.wait(stream)  # `here` may go away
            inputs.append(Strided(blocks[-1].address, 0 if here.ndim == 1 else size, 1))
        else:
            inputs.append(array.strided)
    columns = all(not isinstance(x, Given) or x.states is None or x.is_columns for x in arrays.values())
    results: list[DeviceArray] = []
    if out is None:
        shapes = [(states, *shape) for _, shape in kernel.signature.outputs]
        results = [DeviceArray.empty(machine, shape, kernel.dtype, columns, stream) for shape in shapes]
    refused = Refused(machine, states, stream)
    places = [x.strided for x in (results if out is None else out)]
    if states:
        kernel.launch(inputs, places, refused.status, refused.word, states, stream)
        robust = kernel.robust
        if robust is not None:

            def take_over() -> None:
                robust.launch(inputs, places, refused.status, refused.word, states, stream)
                blocks.clear()

            refused.then(take_over)
    return results, refused


def _states(arrays: Mapping[str, Given | Numbers]) -> int:
    lengths = {name: x.shape[0] for name, x in arrays.items() if len(x.shape) > 1}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name}: {n}" for name, n in lengths.items())
        raise InputError(f"the batches have different numbers of states ({shown}).")
    count = next(iter(lengths.values()), 1)
    if count > LARGEST:
        raise InputError(f"{count} states are more than go at once; pass at most {LARGEST}.", value=count)
    return count


def rows_of(machine: Machine, array: Given, rows: Rows, stream: int) -> Numbers:
    """Some states of an array, here."""
    size = prod(array.shape[1:]) if array.states is not None else array.shape[0]
    found = np.empty((len(rows), size), array.dtype)
    if _is_much(array, found):
        return _as_states(_whole(machine, array, stream), array)[rows]
    for line, address in _numbers(array.strided, array.dtype, found, rows):
        machine.to_host(line, address, stream)
    machine.wait(stream)
    return found


def put_rows(machine: Machine, array: Given | DeviceArray, rows: Rows, values: Numbers, stream: int) -> None:
    """Put states into an array of the device."""
    lines = np.ascontiguousarray(values.reshape(len(rows), -1), dtype=array.dtype)
    if _is_much(array, lines):
        memory = _whole(machine, array, stream)
        _as_states(memory, array)[rows] = lines
        machine.to_device(array.strided.address, memory, stream)
        machine.wait(stream)
        return
    for line, address in _numbers(array.strided, array.dtype, lines, rows):
        machine.to_device(address, line, stream)
    machine.wait(stream)


def _is_much(array: Given | DeviceArray, lines: Numbers) -> bool:
    """True if an array that has no gaps is copied as a whole in less time than numbers one by one."""
    states, numbers = array.shape[0], prod(array.shape)
    dense = sorted((array.strided.of_state, array.strided.of_element)) in ([1, states], [1, numbers // states])
    return len(array.shape) > 1 and dense and lines.size > ONE_BY_ONE


def _whole(machine: Machine, array: Given | DeviceArray, stream: int) -> Numbers:
    memory = np.empty(prod(array.shape), array.dtype)
    machine.to_host(memory, array.strided.address, stream)
    machine.wait(stream)
    return memory


def _as_states(memory: Numbers, array: Given | DeviceArray) -> Numbers:
    """A row for each state."""
    states = array.shape[0]
    return memory.reshape(states, -1) if array.strided.of_element == 1 else memory.reshape(-1, states).T


def _numbers(place: Strided, dtype: np.dtype[Any], lines: Numbers, rows: Rows) -> Any:
    """Pieces of each line that lie together on the device, and where."""
    for line, row in zip(lines, rows, strict=True):
        first = place.address + int(row) * place.of_state * dtype.itemsize
        if place.of_element == 1:
            yield line, first
            continue
        for i in range(len(line)):
            yield line[i : i + 1], first + i * place.of_element * dtype.itemsize


# --- arrays of this process -----------------------------------------------------------------------------------------
@dataclass
class _Slot:
    """A piece that is under way: one block, of the inputs, the results and the status, column after column."""

    stream: int
    here: np.ndarray[Any, np.dtype[np.uint8]]
    block: Any
    rows: slice | None = None


class Pieces:
    """Batches of this process on a machine, through two blocks of pinned memory that are kept."""

    def __init__(self, machine: Machine, piece: int = PIECE) -> None:
        self.machine, self.piece = machine, piece
        self._slots: list[_Slot] = []
        self._lock = threading.Lock()

    def run(
        self, kernel: ThreadKernel, inputs: Sequence[Numbers], robust: bool = True
    ) -> tuple[list[Numbers], np.ndarray[Any, np.dtype[np.intp]]]:
        """Results, and the numbers of the states that were refused.

        Args:
            kernel: what to run.
            inputs: batches (N, size), or single states (size,) that count for all; one at least is a batch.
            robust: whether the kernel that takes over from it, if there is one, runs as well.
        """
        signature, dtype = kernel.signature, kernel.dtype
        states = next(len(x) for x in inputs if x.ndim == 2)
        columns = all(x.flags.f_contiguous for x in inputs if x.ndim == 2) and states > 1
        results = [_empty(states, shape, dtype, columns) for _, shape in signature.outputs]
        status = np.zeros(states, np.uint8)
        sizes = [*(size for _, size in signature.inputs), *signature.output_sizes]
        room = sum(sizes) * dtype.itemsize + 1
        most = max(1, min(states, (min(self.piece, self.machine.free_memory() // (2 * SLOTS)) - _WORD) // room))
        layout = _Layout(kernel, most, kernel.robust if robust else None)
        with self._lock:
            slots = self._ready(_WORD + most * room)
            for k, begin in enumerate(range(0, states, most)):
                slot = slots[k % SLOTS]
                self._finish(slot, layout, results, status)
                slot.rows = slice(begin, min(begin + most, states))
                self._start(slot, layout, inputs)
            for slot in slots:
                self._finish(slot, layout, results, status)
        return results, np.flatnonzero(status)

    def _ready(self, size: int) -> list[_Slot]:
        if not self._slots:
            self._slots = [_Slot(self.machine.new_stream(), np.empty(0, np.uint8), None) for _ in range(SLOTS)]
        for slot in self._slots:
            if len(slot.here) < size:
                slot.here, slot.block = self.machine.staging(size), None
                slot.block = self.machine.allocate(size, slot.stream)
        return self._slots

    def _start(self, slot: _Slot, layout: _Layout, inputs: Sequence[Numbers]) -> None:
        assert slot.rows is not None
        count, machine = slot.rows.stop - slot.rows.start, self.machine
        for place, x in zip(layout.inputs, inputs, strict=True):
            layout.view(slot.here, place)[:, :count] = x[slot.rows].T if x.ndim == 2 else x[:, None]
        machine.to_device(slot.block.address + _WORD, slot.here[_WORD : layout.end_of_inputs], slot.stream)
        self._launch(layout.kernel, slot, layout, count)

    def _launch(self, kernel: ThreadKernel, slot: _Slot, layout: _Layout, count: int) -> None:
        """Run, and copy results, status and word back."""
        machine, first = self.machine, slot.block.address
        machine.clear(first, _WORD, slot.stream)
        strided = [Strided(first + place.start, 1, layout.most) for place in (*layout.inputs, *layout.outputs)]
        split = len(layout.inputs)
        kernel.launch(strided[:split], strided[split:], first + layout.status, first, count, slot.stream)
        machine.to_host(slot.here[layout.end_of_inputs : layout.end], first + layout.end_of_inputs, slot.stream)
        machine.to_host(slot.here[:_WORD], first, slot.stream)

    def _finish(self, slot: _Slot, layout: _Layout, results: Sequence[Numbers], status: Any) -> None:
        if slot.rows is None:
            return
        self.machine.wait(slot.stream)
        rows, slot.rows = slot.rows, None
        count = rows.stop - rows.start
        robust = layout.robust
        if robust is not None and slot.here[:_USED].any():
            self._launch(robust, slot, layout, count)
            self.machine.wait(slot.stream)
        for place, result in zip(layout.outputs, results, strict=True):
            values = layout.view(slot.here, place)[:, :count]
            result[rows] = values.T.reshape(count, *result.shape[1:])
        if slot.here[:_USED].any():
            status[rows] = slot.here[layout.status : layout.status + count]


@dataclass(frozen=True)
class _Place:
    start: int
    size: int


class _Layout:
    """Where what is in a block: the word, inputs, results, status."""

    def __init__(self, kernel: ThreadKernel, most: int, robust: ThreadKernel | None) -> None:
        self.kernel, self.most, self.robust = kernel, most, robust
        column = most * kernel.dtype.itemsize
        at = _WORD
        places: list[_Place] = []
        for size in (*(size for _, size in kernel.signature.inputs), *kernel.signature.output_sizes):
            places.append(_Place(at, size))
            at += size * column
        split = len(kernel.signature.inputs)
        self.inputs, self.outputs = places[:split], places[split:]
        self.end_of_inputs = self.outputs[0].start
        self.status, self.end = at, at + most

    def view(self, here: np.ndarray[Any, np.dtype[np.uint8]], place: _Place) -> Numbers:
        """Columns of an array."""
        end = place.start + place.size * self.most * self.kernel.dtype.itemsize
        return here[place.start : end].view(self.kernel.dtype).reshape(place.size, self.most)


def _empty(states: int, shape: tuple[int, ...], dtype: np.dtype[Any], columns: bool) -> Numbers:
    if columns:
        return np.moveaxis(np.empty((*shape, states), dtype), -1, 0)
    return np.empty((states, *shape), dtype)
