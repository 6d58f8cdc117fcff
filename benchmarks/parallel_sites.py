# SPDX-License-Identifier: Apache-2.0
"""Where the steps of a log-depth evaluation run, and where their arrays lie: here, or on a machine of threads."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.expr import Function
from ada_dynamics.gpu.arrays import Block, Device, Strided
from ada_dynamics.gpu.kernels import ThreadKernel
from ada_dynamics.jit import Kernel, Signature

Run = Callable[[], object]


class Step(Protocol):
    """A function on many rows at a call."""

    def on(self, **rows: Array) -> Run:
        """The call on arrays, or on parts of them, by the names of the function's arguments and results."""


class Site(Protocol):
    """Memory, and what computes there. Arrays are numpy's; those of another memory are its mirror images here."""

    def step(self, function: Function) -> Step:
        """Compile."""

    def zeros(self, count: int, size: int) -> Array:
        """A new array of `count` rows."""

    def placed(self, rows: Array) -> Array:
        """A copy that lies there."""

    def put(self, rows: Array) -> None:
        """Bring there what was written into an array here."""

    def get(self, rows: Array) -> None:
        """Bring back here what was computed there, when it is ready."""


def _check(function: Function, rows: Mapping[str, Array]) -> int:
    """How many rows each array has; InputError where they do not fit."""
    count = len(next(iter(rows.values())))
    for name, size in _sizes(function).items():
        if rows[name].shape != (count, size):
            raise InputError(f"{name} has the shape {rows[name].shape}, not {(count, size)}.")
    return count


def _sizes(function: Function) -> dict[str, int]:
    return {**function.inputs, **{name: shape[0] for name, shape in function.shapes.items()}}


# --- here -------------------------------------------------------------------------------------------------------------
class Here:
    """This process: rows lie one after the other, and are computed in lanes."""

    def step(self, function: Function) -> Step:
        """Compile."""
        return _InLanes(function)

    def zeros(self, count: int, size: int) -> Array:
        """In rows."""
        return np.zeros((count, size))

    def placed(self, rows: Array) -> Array:
        """It is here."""
        return rows

    def put(self, rows: Array) -> None:
        """It is here."""

    def get(self, rows: Array) -> None:
        """It is here."""


class _InLanes:
    """It lets other threads run meanwhile."""

    def __init__(self, function: Function) -> None:
        self._kernel = Kernel(Signature.of(function), lambda: function, f"benchmark {function.name}")
        self._function, self._names = function, list(_sizes(function))
        self._lanes = self._kernel.info().lanes
        pointers = (ctypes.c_void_p,) * len(self._names)
        count = ctypes.c_int64
        self._wide = ctypes.CFUNCTYPE(ctypes.c_int, *pointers, count)(self._kernel.native_address("kernel_rows"))
        single = self._kernel.native_address("kernel_repeat")
        self._few = ctypes.CFUNCTYPE(ctypes.c_int, *pointers, count, count)(single)

    def on(self, **rows: Array) -> Run:
        """The call; rows must lie one after the other."""
        count = _check(self._function, rows)
        if not all(x.flags.c_contiguous for x in rows.values()):
            raise InputError("rows must lie one after the other.")
        given: list[object] = [ctypes.c_void_p(rows[name].ctypes.data) for name in self._names]
        how, *more = (self._few, count, 1) if count < self._lanes else (self._wide, count)
        given += [ctypes.c_int64(number) for number in more]

        def run(_keep: Mapping[str, Array] = rows) -> object:
            return how(*given)

        return run


# --- machines of threads ----------------------------------------------------------------------------------------------
class OnThreads:
    """A machine of threads: columns lie one after the other, and each row has a thread."""

    def __init__(self, machine: Device) -> None:
        self.device = machine
        self._there: dict[int, tuple[Array, Block]] = {}  # images here and their memory, by the images' addresses

    def step(self, function: Function) -> Step:
        """Compile."""
        return _InThreads(function, self)

    def zeros(self, count: int, size: int) -> Array:
        """In columns."""
        image: Array = np.zeros((size, count)).T
        self._there[image.ctypes.data] = image, self.device.allocate(image.nbytes, 0)
        self.put(image)
        return image

    def placed(self, rows: Array) -> Array:
        """A copy in columns."""
        image = self.zeros(*rows.shape)
        image[:] = rows
        self.put(image)
        return image

    def put(self, rows: Array) -> None:
        """Copy the whole array there."""
        image, block = self._there[rows.ctypes.data]
        self.device.to_device(block.address, image.T, 0)
        self.device.wait(0)

    def get(self, rows: Array) -> None:
        """Wait, and copy the whole array here."""
        image, block = self._there[rows.ctypes.data]
        self.device.to_host(image.T, block.address, 0)
        self.device.wait(0)

    def strided(self, rows: Array) -> Strided:
        """Where (a part of) an array lies there."""
        begin = rows.ctypes.data
        start = max(address for address in self._there if address <= begin)
        image, block = self._there[start]
        if begin - start >= image.nbytes:
            raise InputError("an array has no memory on the machine.")
        of_row, of_element = (step // rows.itemsize for step in rows.strides)
        return Strided(block.address + begin - start, of_row, of_element)


class _InThreads:
    def __init__(self, function: Function, site: OnThreads) -> None:
        self._function, self._site = function, site
        signature, key = Signature.of(function), f"benchmark {function.name}"
        self._kernel = ThreadKernel(signature, lambda: function, key, site.device)

    def on(self, **rows: Array) -> Run:
        """The launch."""
        count = _check(self._function, rows)
        inputs, outputs = (
            [self._site.strided(rows[name]) for name in names]
            for names in (self._function.inputs, self._function.outputs)
        )
        machine = self._site.device
        told = machine.allocate(8 + count, 0)  # which rows were refused: the results tell
        machine.clear(told.address, told.size, 0)
        start = self._kernel.launcher(inputs, outputs, told.address + 8, told.address, count)

        def run(_keep: object = (rows, told)) -> None:
            start(0)

        return run
