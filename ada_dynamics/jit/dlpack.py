# SPDX-License-Identifier: Apache-2.0
"""DLPack, by which libraries hand arrays to one another without copying: both ways, as its specification has it."""

from __future__ import annotations

import ctypes
from ctypes import c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.errors import InputError

CPU, CUDA = 1, 2  # kinds of devices
_FLOAT = 2  # kind of numbers
_NEW, _USED = b"dltensor", b"used_dltensor"


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
_pointer = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))
_pointer_of_dying = ctypes.PYFUNCTYPE(c_void_p, c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", _api))

# What others have of ours, by the address of its description.
_lent: dict[int, tuple[Any, ...]] = {}


def _give_back(address: int) -> None:
    _lent.pop(address, None)


def _forget(capsule: int) -> None:
    """A capsule goes away; nobody took what is in it where it still has its first name."""
    if _is_valid(capsule, _NEW):
        _give_back(_pointer_of_dying(capsule, _NEW) or 0)


_returned = _Deleter(_give_back)
_capsule_goes = ctypes.PYFUNCTYPE(None, c_void_p)(_forget)


def capsule(
    owner: Any, address: int, shape: tuple[int, ...], strides: tuple[int, ...], bits: int, device: tuple[int, int]
) -> Any:
    """An array for others; `owner` lives until they let go of it. Strides are in numbers."""
    extent, steps = (c_int64 * len(shape))(*shape), (c_int64 * len(shape))(*strides)
    tensor = _Tensor(address, *device, len(shape), _FLOAT, bits, 1, extent, steps, 0)
    managed = _Managed(tensor, None, ctypes.cast(_returned, c_void_p))
    place = ctypes.addressof(managed)
    _lent[place] = (managed, extent, steps, owner)
    return _new(place, _NEW, ctypes.cast(_capsule_goes, c_void_p))


class Taken(NamedTuple):
    """An array of somebody else."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in numbers
    dtype: np.dtype[Any]
    owner: Any


class _Held:
    """Somebody's array, which is given back when this object goes away."""

    def __init__(self, place: int, deleter: int | None) -> None:
        self._place, self._deleter = place, deleter

    def __del__(self) -> None:
        if self._deleter:
            _Deleter(self._deleter)(self._place)


def taken(name: str, value: Any, stream: int) -> Taken:
    """Memory of an array; it is ready for what is asked for in a stream (its number) after this."""
    try:
        found = value.__dlpack__(stream=stream or 1)  # 1 is the specification's word for the default stream
    except (RuntimeError, BufferError) as problem:  # torch, of a tensor that wants a gradient
        raise InputError(f"{name} cannot be read as it lies: {problem}.", field=name) from None
    place = _pointer(found, _NEW)
    managed = _Managed.from_address(place)
    _rename(found, _USED)
    held = _Held(place, managed.deleter)
    tensor = managed.tensor
    if (tensor.code, tensor.lanes) != (_FLOAT, 1) or tensor.bits not in (32, 64):
        raise InputError(f"{name} does not hold float64 or float32, which are needed.", field=name)
    shape = tuple(tensor.shape[: tensor.ndim])
    if tensor.strides:
        strides = tuple(tensor.strides[: tensor.ndim])
    else:
        strides = tuple(int(np.prod(shape[i + 1 :], dtype=np.int64)) for i in range(len(shape)))
    return Taken((tensor.data or 0) + tensor.offset, shape, strides, np.dtype(f"f{tensor.bits // 8}"), held)
