# SPDX-License-Identifier: Apache-2.0
"""Arrays in the memory of a machine: our results, and what others hand in, by `__cuda_array_interface__` or DLPack."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ada_dynamics.errors import InputError
from ada_dynamics.jit import dlpack
from ada_dynamics.jit.threads import LARGEST, Block, Machine, Strided

INTERFACE = "__cuda_array_interface__"


class DeviceArray:
    """A result that lies on a device, state after state or in columns.

    torch.from_dlpack(x), jax.dlpack.from_dlpack(x), cupy.asarray(x) and numba take it as it lies; numpy.asarray(x)
    copies it here. It is ready when what was asked for in its stream is done.
    """

    def __init__(
        self, machine: Machine, block: Block, shape: tuple[int, ...], dtype: np.dtype[Any], columns: bool, stream: int
    ) -> None:
        self.machine, self.block, self.shape, self.dtype, self.stream = machine, block, shape, dtype, stream
        self.is_columns = columns

    @classmethod
    def empty(
        cls, machine: Machine, shape: tuple[int, ...], dtype: np.dtype[Any], columns: bool, stream: int
    ) -> DeviceArray:
        """New memory; the first axis counts the states."""
        return cls(machine, machine.allocate(prod(shape) * dtype.itemsize, stream), shape, dtype, columns, stream)

    def __repr__(self) -> str:
        return f"<DeviceArray {self.shape} {self.dtype} on {self.machine.name}>"

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def strided(self) -> Strided:
        """As kernels take it."""
        size = prod(self.shape[1:])
        return Strided(self.block.address, *((1, len(self)) if self.is_columns else (size, 1)))

    def given(self, name: str) -> Given:
        """As an argument, where it is known to be right."""
        strides = tuple(step // self.dtype.itemsize for step in self.strides)
        return Given(name, self.shape, self.dtype, strides, self.block.address, None, self)

    def _laid_out(self) -> tuple[int, ...]:
        """Shape in the order of memory."""
        return (*self.shape[1:], len(self)) if self.is_columns else self.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one to the next along each axis."""
        laid_out = self._laid_out()
        steps = tuple(prod(laid_out[i + 1 :]) * self.dtype.itemsize for i in range(len(laid_out)))
        return (steps[-1], *steps[:-1]) if self.is_columns else steps

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.block.address, False),
            "strides": self.strides,
            "stream": self.stream or 1,  # 1 is the interface's word for the default stream
            "version": 3,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.machine.device

    def __dlpack__(self, *, stream: int | None = None, **options: Any) -> Any:
        if stream is not None and stream >= 0:  # -1: the other side looks after the order itself
            self.machine.follow(0 if stream == 1 else stream, self.stream)
        strides = tuple(step // self.dtype.itemsize for step in self.strides)
        bits = 8 * self.dtype.itemsize
        return dlpack.capsule(self, self.block.address, self.shape, strides, bits, self.machine.device)

    def numpy(self) -> np.ndarray[Any, Any]:
        """A copy here, when it is ready."""
        here = np.empty(self._laid_out(), self.dtype)
        self.machine.to_host(here, self.block.address, self.stream)
        self.machine.wait(self.stream)
        return np.moveaxis(here, -1, 0) if self.is_columns else here

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("a DeviceArray lies on a device; numpy needs a copy")
        return np.asarray(self.numpy(), dtype)


@dataclass(frozen=True)
class Given:
    """An array that somebody handed in."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]  # in numbers
    address: int
    stream: int | None  # in which it is made; None where it is there already
    owner: Any

    @property
    def states(self) -> int | None:
        """None of a single state."""
        return self.shape[0] if len(self.shape) > 1 else None

    @property
    def strided(self) -> Strided:
        """As kernels take it; elements of matrices must lie one after the other."""
        if len(self.shape) == 1:
            return Strided(self.address, 0, self.strides[0])
        of_state, *steps = self.strides
        for i in range(len(steps) - 1):
            if steps[i] != steps[i + 1] * self.shape[i + 2]:
                raise InputError(
                    f"{self.name} has strides that leave gaps between its rows; pass a contiguous array.",
                    field=self.name,
                )
        return Strided(self.address, of_state, steps[-1])

    @property
    def span(self) -> tuple[int, int]:
        """Addresses of its first byte, and behind its last."""
        steps = [step * (n - 1) * self.dtype.itemsize for step, n in zip(self.strides, self.shape, strict=True)]
        first = self.address + sum(min(step, 0) for step in steps)
        return first, self.address + sum(max(step, 0) for step in steps) + self.dtype.itemsize

    @property
    def is_columns(self) -> bool:
        """True if the same element of neighbouring states lies side by side."""
        return len(self.shape) > 1 and abs(self.strides[0]) < abs(self.strides[-1])


def on_device(value: Any) -> bool:
    """True if a value lies on a device."""
    try:
        if hasattr(value, INTERFACE):
            return True
    except RuntimeError:  # torch, of a tensor that wants a gradient
        return True
    return hasattr(value, "__dlpack_device__") and value.__dlpack_device__()[0] == dlpack.CUDA


def given(name: str, value: Any, machine: Machine, stream: int = 0) -> Given:
    """An array of another library, or an InputError; it is to be used in a stream."""
    try:
        described = getattr(value, INTERFACE, None)
    except RuntimeError as problem:
        raise InputError(f"{name} cannot be read as it lies: {problem}. Pass {name}.detach().", field=name) from None
    found = _by_dlpack(name, value, stream) if described is None else _by_interface(name, value, described)
    if any(abs(x) > LARGEST for x in (*found.strides, *found.shape)):
        raise InputError(
            f"{name} has shape {found.shape}; no number in it may be more than {LARGEST} apart.", field=name
        )
    if prod(found.shape):
        machine.refuse_foreign(found.address, name)
    return found


def _by_dlpack(name: str, value: Any, stream: int) -> Given:
    taken = dlpack.taken(name, value, stream)
    return Given(name, taken.shape, taken.dtype, taken.strides, taken.address, None, taken.owner)


def _by_interface(name: str, value: Any, described: dict[str, Any]) -> Given:
    dtype = np.dtype(described["typestr"])
    if dtype not in (np.float64, np.float32):
        raise InputError(f"{name} holds values of type {dtype}; float64 or float32 are needed.", field=name)
    shape = tuple(int(n) for n in described["shape"])
    address = int(described["data"][0])
    steps = described.get("strides")
    if steps is None:
        steps = [prod(shape[i + 1 :]) * dtype.itemsize for i in range(len(shape))]
    if any(step % dtype.itemsize for step in steps) or address % dtype.itemsize:
        raise InputError(f"{name} is not aligned in memory; pass a copy.", field=name)
    strides = tuple(int(step) // dtype.itemsize for step in steps)
    made_in = described.get("stream")
    return Given(name, shape, dtype, strides, address, None if made_in is None else _stream(made_in), value)


def _stream(number: int) -> int:
    """1 is the interface's word for the default stream; the others are the driver's."""
    if number == 0:
        raise InputError("stream 0 is ambiguous in __cuda_array_interface__; 1 is the default stream.")
    return 0 if number == 1 else int(number)


def stream_number(stream: Any) -> int:
    """The number of a stream: one of torch, CuPy, numba or cuda.core, a number, or None for the default one."""
    if stream is None:
        return 0
    if hasattr(stream, "__cuda_stream__"):
        described = stream.__cuda_stream__() if callable(stream.__cuda_stream__) else stream.__cuda_stream__
        return int(described[1])
    for word in ("cuda_stream", "ptr", "handle"):
        if hasattr(stream, word):
            stream = getattr(stream, word)
            break
    value = getattr(stream, "value", stream)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(
            f"stream is {stream!r:.100}; it must be a stream of torch, CuPy or numba, or its number.",
            field="stream",
        )
    return int(value)
