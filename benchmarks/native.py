# SPDX-License-Identifier: Apache-2.0
"""Compiled kernels over many rows at a call, so that next to nothing of the library's Python is in the time."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.jit import Kernel
from ada_dynamics.jit.generic import GenericKernel
from benchmarks.timing import Contender


def batch_by_address(label: str, kernel: Kernel, inputs: Sequence[Array], order: str = "columns") -> Contender:
    """The batch code on arrays (N, size); `order` says whether their columns or their rows are in one piece."""
    turned = np.asfortranarray if order == "columns" else np.ascontiguousarray
    arrays = [turned(x) for x in inputs]
    count = len(arrays[0])
    outputs = [turned(np.empty((count, *shape))) for _, shape in kernel.signature.outputs]
    pointers = [x.ctypes.data for x in (*arrays, *outputs)]
    kind = ctypes.CFUNCTYPE(ctypes.c_int, *(ctypes.c_void_p,) * len(pointers), ctypes.c_int64)
    function = kind(kernel.native_address(f"kernel_{order}"))
    given = [ctypes.c_void_p(pointer) for pointer in pointers] + [ctypes.c_int64(count)]
    names: Mapping[str, object] = {"f": function, "keep": (arrays, outputs, kernel)} | {
        f"p{i}": value for i, value in enumerate(given)
    }
    return Contender(label, f"f({', '.join(f'p{i}' for i in range(len(given)))})", names, count)


def rows_in_turn(label: str, kernel: Kernel | GenericKernel, inputs: Sequence[Array], repeats: int = 1) -> Contender:
    """The code of one state, over all rows one after the other, some times."""
    names = {"f": kernel.native_repeat, "rows": [np.ascontiguousarray(x) for x in inputs]}
    return Contender(label, f"f(*rows, repeats={repeats})", names, repeats * len(inputs[0]))


def evaluate(contender: Contender) -> None:
    """Run it once."""
    exec(contender.statement, dict(contender.names))
