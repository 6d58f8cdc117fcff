# SPDX-License-Identifier: Apache-2.0
"""Arrays in device memory: results, and arguments of other libraries by `__cuda_array_interface__`."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np

from ada_dynamics.errors import InputError, invalid
from ada_dynamics.jit.target import Target

LARGEST = 2**31 - 1  # strides and state counts are 32-bit


# --- devices ----------------------------------------------------------------------------------------------------------
class Strided(NamedTuple):
    """Array argument of a kernel: address of the first number and strides in numbers."""

    address: int
    of_state: int
    of_element: int


class Block(Protocol):
    """Memory of a device, freed with this object."""

    address: int
    size: int


class Device(Protocol):
    """Device that runs kernels; all its operations are executed in order, in the default stream."""

    name: str
    target: Target
    dlpack_device: tuple[int, int]  # DLPack device type and number

    def load(self, code: bytes) -> Any:
        """Load a compiled kernel."""

    def launch(self, kernel: Any, arguments: Sequence[Any], states: int) -> None:
        """Launch a kernel with one thread per state."""

    def allocate(self, size: int) -> Block:
        """Allocate device memory; `size` in bytes."""

    def to_device(self, address: int, array: np.ndarray[Any, Any]) -> None:
        """Copy a contiguous array to the device."""

    def to_host(self, array: np.ndarray[Any, Any], address: int) -> None:
        """Copy from the device to a contiguous array."""

    def clear(self, address: int, size: int) -> None:
        """Set bytes to zero."""

    def wait(self) -> None:
        """Block until all operations are done."""

    def follow(self, stream: int, other: int) -> None:
        """Make a stream, given by its handle or 0, wait for the present work of another stream."""

    def refuse_foreign(self, address: int, name: str) -> None:
        """Raise InputError if an address is not in the memory of this device."""


# --- DLPack -----------------------------------------------------------------------------------------------------------
CPU, CUDA = 1, 2  # device types
_FLOAT = 2  # data type code
_NEW = b"dltensor"  # name of a capsule that was not consumed


class _Tensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device", c_int32), ("number", c_int32), ("ndim", c_int32)]
    _fields_ += [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]
    _fields_ += [("shape", ctypes.POINTER(c_int64)), ("strides", ctypes.POINTER(c_int64)), ("offset", c_uint64)]


_Deleter = ctypes.CFUNCTYPE(None, c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", c_void_p), ("deleter", c_void_p)]


_api = ctypes.pythonapi
_new = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, ctypes.c_char_p, c_void_p)(("PyCapsule_New", _api))
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_pointer_of_dying = ctypes.PYFUNCTYPE(c_void_p, c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))

# Exported arrays that consumers still use, by the address of the DLManagedTensor.
_exported: dict[int, tuple[Any, ...]] = {}


def _release(address: int) -> None:
    _exported.pop(address, None)


def _destroy_capsule(capsule: int) -> None:
    """Release the array of a capsule that was not consumed; a consumer changes its name."""
    if _is_valid(capsule, _NEW):
        _release(_pointer_of_dying(capsule, _NEW) or 0)


_deleter = _Deleter(_release)
_capsule_destructor = ctypes.PYFUNCTYPE(None, c_void_p)(_destroy_capsule)


def dlpack_capsule(
    owner: Any, address: int, shape: tuple[int, ...], strides: tuple[int, ...], bits: int, device: tuple[int, int]
) -> Any:
    """DLPack capsule of an array; `owner` lives until the consumer releases it. Strides are in numbers."""
    extent, steps = (c_int64 * len(shape))(*shape), (c_int64 * len(shape))(*strides)
    tensor = _Tensor(address, *device, len(shape), _FLOAT, bits, 1, extent, steps, 0)
    managed = _Managed(tensor, None, ctypes.cast(_deleter, c_void_p))
    place = ctypes.addressof(managed)
    _exported[place] = (managed, extent, steps, owner)
    return _new(place, _NEW, ctypes.cast(_capsule_destructor, c_void_p))


# --- arrays -----------------------------------------------------------------------------------------------------------
INTERFACE = "__cuda_array_interface__"


class DeviceArray:
    """Result in the memory of a device, in rows or columns.

    torch.from_dlpack(x), jax.dlpack.from_dlpack(x), cupy.asarray(x) and numba use the array without a copy;
    numpy.asarray(x) copies it to the host. The array is ready when the work in the default stream is done.
    """

    def __init__(self, device: Device, shape: tuple[int, ...], dtype: np.dtype[Any], columns: bool) -> None:
        """Allocate an array whose first axis counts the states."""
        self.device, self.shape, self.dtype, self.is_columns = device, shape, dtype, columns
        self.block = device.allocate(prod(shape) * dtype.itemsize)

    @classmethod
    def of(cls, device: Device, values: np.ndarray[Any, Any], columns: bool = False) -> DeviceArray:
        """Copy an array to a device."""
        found = cls(device, values.shape, values.dtype, columns)
        laid_out = np.ascontiguousarray(np.moveaxis(values, 0, -1) if columns else values)
        device.to_device(found.block.address, laid_out)
        device.wait()  # `laid_out` may be freed afterwards
        return found

    def __repr__(self) -> str:
        return f"<DeviceArray {self.shape} {self.dtype} on {self.device.name}>"

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def strided(self) -> Strided:
        """Argument for kernels."""
        size = prod(self.shape[1:])
        return Strided(self.block.address, *((1, len(self)) if self.is_columns else (size, 1)))

    def view(self, name: str) -> ArrayView:
        """View for use as an argument, without checks."""
        strides = tuple(step // self.dtype.itemsize for step in self.strides)
        return ArrayView(name, self.shape, self.dtype, strides, self.block.address, None, self)

    def _laid_out(self) -> tuple[int, ...]:
        """Shape in the order of memory."""
        return (*self.shape[1:], len(self)) if self.is_columns else self.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Stride of each axis in bytes."""
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
            "stream": 1,  # the default stream
            "version": 3,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device.dlpack_device

    def __dlpack__(self, *, stream: int | None = None, **options: Any) -> Any:
        if stream is not None and stream >= 0:  # -1: the consumer does not want synchronization
            self.device.follow(0 if stream == 1 else stream, 0)
        strides = tuple(step // self.dtype.itemsize for step in self.strides)
        bits = 8 * self.dtype.itemsize
        return dlpack_capsule(self, self.block.address, self.shape, strides, bits, self.device.dlpack_device)

    def numpy(self) -> np.ndarray[Any, Any]:
        """Copy to the host; blocks until the array is ready."""
        host = np.empty(self._laid_out(), self.dtype)
        self.device.to_host(host, self.block.address)
        self.device.wait()
        return np.moveaxis(host, -1, 0) if self.is_columns else host

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("a DeviceArray is in device memory; numpy needs a copy")
        return np.asarray(self.numpy(), dtype)


@dataclass(frozen=True)
class ArrayView:
    """Array argument in device memory, of this or another library."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]  # in numbers
    address: int
    stream: int | None  # in which it is computed; None if it is ready
    owner: Any

    @property
    def states(self) -> int | None:
        """Number of states; None for a single state."""
        return self.shape[0] if len(self.shape) > 1 else None

    @property
    def strided(self) -> Strided:
        """Argument for kernels; the elements of each matrix must be contiguous."""
        if len(self.shape) == 1:
            return Strided(self.address, 0, self.strides[0])
        of_state, *steps = self.strides
        for i in range(len(steps) - 1):
            if steps[i] != steps[i + 1] * self.shape[i + 2]:
                text = f"{self.name} has gaps between the rows of each matrix; pass a contiguous array"
                raise InputError(text, field=self.name)
        return Strided(self.address, of_state, steps[-1])

    def numpy(self, device: Device) -> np.ndarray[Any, Any]:
        """Copy to the host with the same strides; blocks until the copy is done."""
        steps = [step * self.dtype.itemsize for step in self.strides]
        ends = [step * (n - 1) for step, n in zip(steps, self.shape, strict=True)]
        before = -sum(min(end, 0) for end in ends)
        memory = np.empty(before + sum(max(end, 0) for end in ends) + self.dtype.itemsize, np.uint8)
        device.to_host(memory, self.address - before)
        device.wait()
        return np.ndarray(self.shape, self.dtype, memory.data, before, steps)

    @property
    def is_columns(self) -> bool:
        """True if the same element of consecutive states is contiguous."""
        return len(self.shape) > 1 and abs(self.strides[0]) < abs(self.strides[-1])


def on_device(value: Any) -> bool:
    """Return True if a value is an array in GPU memory."""
    try:
        return hasattr(value, INTERFACE)
    except RuntimeError:  # torch raises for a tensor that requires a gradient
        return True


def array_view(name: str, value: Any, device: Device) -> ArrayView:
    """View of an array of another library; raises InputError if it cannot be used."""
    try:
        described = getattr(value, INTERFACE)
    except RuntimeError as problem:
        raise InputError(f"{name} cannot be read: {problem}. Pass {name}.detach()", field=name) from None
    dtype = np.dtype(described["typestr"])
    if dtype not in (np.float64, np.float32):
        raise invalid(name, str(dtype), "float64 or float32", "dtype of ")
    shape = tuple(int(n) for n in described["shape"])
    address = int(described["data"][0])
    steps = described.get("strides")
    if steps is None:
        steps = [prod(shape[i + 1 :]) * dtype.itemsize for i in range(len(shape))]
    if any(step % dtype.itemsize for step in steps) or address % dtype.itemsize:
        raise InputError(f"{name} is not aligned in memory; pass a copy", field=name)
    strides = tuple(int(step) // dtype.itemsize for step in steps)
    if any(abs(x) > LARGEST for x in (*strides, *shape)):
        raise invalid(name, (shape, strides), f"at most {LARGEST} each", "shape and strides of ")
    stream = described.get("stream")
    if stream == 0:
        raise InputError("stream 0 is not allowed in __cuda_array_interface__; use 1 for the default stream")
    handle = 0 if stream == 1 else stream  # of the driver, where 0 is the default stream
    if prod(shape):
        device.refuse_foreign(address, name)
    return ArrayView(name, shape, dtype, strides, address, handle, value)
