# SPDX-License-Identifier: Apache-2.0
"""Signature of a kernel: names and sizes of inputs and outputs, available before tracing, and checks of arguments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NoReturn

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import CompileError, InputError
from ada_dynamics.expr.function import Function

_FLOAT64 = np.dtype(np.float64)


@dataclass(frozen=True)
class Signature:
    """Names and sizes of the inputs and outputs of a kernel.

    Attributes:
        name: name of the kernel (an identifier).
        inputs: (name, size) of each input vector, in calling order.
        outputs: (name, shape) of each output, in order of return.
    """

    name: str
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, tuple[int, ...]], ...]

    @staticmethod
    def of(function: Function) -> Signature:
        """Signature of a traced function."""
        return Signature(function.name, tuple(function.inputs.items()), tuple(function.shapes.items()))

    @cached_property
    def output_sizes(self) -> tuple[int, ...]:
        """Number of elements of each output."""
        return tuple(prod(shape) for _, shape in self.outputs)

    def expect(self, function: Function) -> None:
        """Raise CompileError if a function has another signature."""
        found = Signature.of(function)
        if (found.inputs, found.outputs) != (self.inputs, self.outputs):
            raise CompileError(f"kernel {self.name} has signature {self}, but its function has {found}")

    @cached_property
    def input_shapes(self) -> tuple[tuple[int], ...]:
        """Shape of each input."""
        return tuple((size,) for _, size in self.inputs)

    def check_single(self, arrays: tuple[Any, ...]) -> tuple[Array, ...]:
        """Inputs of one state; raises InputError for the first invalid one."""
        if len(arrays) != len(self.inputs):
            self._refuse_count(len(arrays))
        for position, (array, shape) in enumerate(zip(arrays, self.input_shapes, strict=True)):
            if type(array) is not np.ndarray or array.dtype is not _FLOAT64 or array.shape != shape:
                self._check_array(self.inputs[position][0], array, shape)
            if not array.flags.c_contiguous:
                name = self.inputs[position][0]
                raise InputError(
                    f"{self.name}: {name} must be contiguous; pass numpy.ascontiguousarray({name})", field=name
                )
        return arrays

    def check_batch(self, arrays: tuple[Any, ...]) -> tuple[tuple[Array, ...], int]:
        """Inputs of a batch, and the number of states; raises InputError for the first invalid one."""
        if len(arrays) != len(self.inputs):
            self._refuse_count(len(arrays))
        first = arrays[0]
        count = first.shape[0] if isinstance(first, np.ndarray) and first.ndim == 2 else None
        for (name, size), array in zip(self.inputs, arrays, strict=True):
            if type(array) is not np.ndarray or array.dtype is not _FLOAT64 or array.shape != (count, size):
                self._check_array(name, array, (count, size))
        assert count is not None  # _check_array refused it
        return arrays, count

    def _refuse_count(self, count: int) -> NoReturn:
        wanted = ", ".join(f"{name}[{size}]" for name, size in self.inputs)
        raise InputError(f"{self.name} requires {len(self.inputs)} arrays ({wanted}), not {count}", value=count)

    def _check_array(self, name: str, array: Any, shape: tuple[int | None, ...]) -> None:
        wanted = "(" + ", ".join("N" if size is None else str(size) for size in shape) + ")"

        def refuse(problem: str) -> NoReturn:
            raise InputError(f"{self.name}: {name} {problem}", field=name, allowed=shape)

        if not isinstance(array, np.ndarray):
            refuse(f"must be a float64 array of shape {wanted}, not {type(array).__name__}")
        fits = len(array.shape) == len(shape) and all(
            size in (None, own) for own, size in zip(array.shape, shape, strict=True)
        )
        if not fits:
            refuse(f"has shape {array.shape}; it must be {wanted}")
        if array.dtype != np.float64 or not array.dtype.isnative:
            refuse(f"has dtype {array.dtype}; it must be float64")
        if not array.flags.aligned:
            refuse("is not aligned in memory; pass a copy")
