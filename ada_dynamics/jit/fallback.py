# SPDX-License-Identifier: Apache-2.0
"""Kernels without a compiler: the graph as generated Python code, for floats and for numpy columns."""

from __future__ import annotations

import importlib.util
import logging
import math
import os
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.expr.function import Function
from ada_dynamics.expr.printing import python_source
from ada_dynamics.jit.scalar import GUARD_FAILED, NOT_FINITE
from ada_dynamics.jit.signature import Signature

_log = logging.getLogger("ada_dynamics")


def reason_for_fallback() -> str | None:
    """Reason why code cannot be compiled; None if it can."""
    if os.environ.get("ADA_JIT", "").lower() in ("off", "0", "no", "false"):
        return "ADA_JIT=off"
    if importlib.util.find_spec("llvmlite") is None:
        return "llvmlite is not installed"
    return None


@lru_cache(maxsize=8)
def announce(reason: str) -> None:
    """Log a reason once."""
    _log.warning("kernels run as Python code, which is slow: %s", reason)


class PythonBackend:
    """Kernel as generated Python code."""

    name = "python"
    lanes = 1

    def __init__(self, signature: Signature, trace: Callable[[], Function]) -> None:
        self.signature = signature
        self._trace = trace
        self._lock = threading.RLock()
        self._compiled: dict[str, Callable[..., Any]] = {}

    def single(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> int:
        """Compute one state; return the status."""
        try:
            *results, guards = self._function("math")(*(array.tolist() for array in inputs))
        except (ZeroDivisionError, ValueError, OverflowError):
            # Python floats raise where machine code and numpy continue with inf or NaN.
            columns = [array.reshape(1, -1) for array in inputs]
            return self.batch(columns, [out.reshape(1, *out.shape) for out in outputs], 1, False)
        for out, values in zip(outputs, results, strict=True):
            out[...] = np.reshape(values, out.shape)
        return _status([*inputs, *outputs], all(guard >= 0.0 for guard in guards))

    def batch(self, inputs: Sequence[Array], outputs: Sequence[Array], count: int, columns: bool) -> int:
        """Compute a batch by numpy operations on columns; return the status."""
        with np.errstate(all="ignore"):
            *results, guards = self._function("numpy")(*(list(array.T) for array in inputs))
        for (_, shape), out, values in zip(self.signature.outputs, outputs, results, strict=True):
            for position, value in zip(np.ndindex(*shape), values, strict=True):
                out[(slice(None), *position)] = value
        return _status([*inputs, *outputs], all(np.all(guard >= 0.0) for guard in guards))

    def repeat(self, inputs: Sequence[Array], outputs: Sequence[Array], count: int, repeats: int) -> int:
        """Run `single` `repeats` times over all rows; return the status."""
        status = 0
        for _ in range(repeats):
            for row in range(count):
                status |= self.single([array[row] for array in inputs], [array[row, ...] for array in outputs])
        return status

    def _function(self, namespace: str) -> Callable[..., Any]:
        with self._lock:
            if namespace not in self._compiled:
                function = self._trace()
                module: Any = math if namespace == "math" else np
                scope: dict[str, Any] = {name: getattr(module, name) for name in ("sin", "cos", "sqrt")}
                scope |= {"where": np.where, "atan2": math.atan2 if namespace == "math" else np.arctan2}
                source = python_source(function, namespace)
                exec(compile(source, f"<kernel {function.name}>", "exec"), scope)
                self._compiled[namespace] = scope[function.name]
            return self._compiled[namespace]


def _status(numbers: Sequence[Array], guards_hold: bool) -> int:
    """Status word as of compiled kernels."""
    finite = all(np.isfinite(array).all() for array in numbers)
    return (0 if finite else NOT_FINITE) | (0 if guards_hold else GUARD_FAILED)
