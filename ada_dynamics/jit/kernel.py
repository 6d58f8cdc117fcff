# SPDX-License-Identifier: Apache-2.0
"""Kernels: traced functions that are compiled at the first call, for one state or for a batch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError, CompileError, InputError
from ada_dynamics.expr.evaluation import expand
from ada_dynamics.expr.function import Function
from ada_dynamics.expr.operation_count import cost
from ada_dynamics.jit.builtin_code import LARGE_PAGES_FROM
from ada_dynamics.jit.elementary import LIMIT
from ada_dynamics.jit.fallback import PythonBackend, announce, reason_for_fallback
from ada_dynamics.jit.native import KernelAddresses, NativeBackend
from ada_dynamics.jit.python_call import make_builtin
from ada_dynamics.jit.scalar import NO_MEMORY, NOT_FINITE
from ada_dynamics.jit.signature import Signature
from ada_dynamics.jit.target import Target

Result = Any  # one array for a signature of one output, else a tuple of arrays


class GuardError(AdaError, ArithmeticError):
    """A guard of a kernel fails for the given state."""


@dataclass(frozen=True)
class KernelInfo:
    """State of a kernel.

    Attributes:
        backend: "native" or "python".
        flops: additions and multiplications per state.
        compile_seconds: time to compile or load each object.
        cached: whether each of these objects was in the cache.
        lanes: states that the batch code computes at once.
    """

    backend: str
    flops: int
    compile_seconds: dict[str, float]
    cached: dict[str, bool]
    lanes: int


class Kernel:
    """Compiled function of some vectors.

    Args:
        signature: names and sizes.
        trace: builds the function; not called if the cache has the object.
        key: text that differs for any two different functions (fingerprint of the model, algorithm, options).
        target: processor; the host by default.
        checked: whether inputs and results that are not finite are reported (see `scalar`).
        quick: compile without optimization, for functions that are called rarely.
    """

    def __init__(
        self,
        signature: Signature,
        trace: Callable[[], Function],
        key: str,
        target: Target | None = None,
        checked: bool = True,
        quick: bool = False,
    ) -> None:
        self.signature = signature
        self._make = trace
        self.key = key
        self._target = target
        self._checked, self._quick = checked, quick
        self._lock = threading.RLock()
        self._function: Function | None = None
        self._backend: NativeBackend | PythonBackend | None = None

    @property
    def function(self) -> Function:
        """The traced function."""
        with self._lock:
            if self._function is None:
                function = self._make()
                self.signature.expect(function)
                self._function = function
            return self._function

    @property
    def backend(self) -> NativeBackend | PythonBackend:
        """Compiled code, or Python without a compiler."""
        with self._lock:
            if self._backend is None:
                reason = reason_for_fallback()
                if reason is None:
                    target = self._target or Target.host()
                    options = self._checked, self._quick
                    self._backend = NativeBackend(self.signature, lambda: self.function, self.key, target, *options)
                else:
                    self._use_python(reason)
            assert self._backend is not None
            return self._backend

    def prepare(self, kind: str = "single") -> None:
        """Compile the code for one state ("single") or for batches ("batch") now instead of at the first call."""
        if kind not in ("single", "batch"):
            raise InputError(f"{self.signature.name}: kind is {kind!r}; it must be 'single' or 'batch'")
        self._loaded(kind)

    def single(self, *arrays: Array) -> Result:
        """Compute one state of float64 vectors."""
        result, status = self.single_status(*arrays)
        if status:
            self._raise(arrays, status)
        return result

    def single_status(self, *arrays: Array) -> tuple[Result, int]:
        """Compute one state; return results and status instead of raising an error."""
        inputs = self.signature.check_single(arrays)
        outputs = [np.empty(shape) for _, shape in self.signature.outputs]
        return self._result(outputs), self._loaded("single").single(inputs, outputs)

    def batch(self, *arrays: Array) -> Result:
        """Compute N states of arrays (N, size) with contiguous rows or columns; results have the same memory order."""
        result, status = self.batch_status(*arrays)
        if status:
            self._raise(arrays, status)
        return result

    def batch_status(self, *arrays: Array) -> tuple[Result, int]:
        """Compute N states; return results and the or-ed status of all states instead of raising an error."""
        inputs, count = self.signature.check_batch(arrays)
        columns = _are_columns(inputs)
        if not columns:
            inputs = tuple(array if array.flags.c_contiguous else np.ascontiguousarray(array) for array in inputs)
        outputs = self._batch_outputs(count, columns)
        if count == 0:
            return self._result(outputs), 0
        if count < self.backend.lanes:
            found, status = self._repeat(inputs, count)
            for out, values in zip(outputs, found, strict=True):
                out[...] = values
            return self._result(outputs), status
        return self._result(outputs), self._loaded("batch").batch(inputs, outputs, count, columns)

    def rows_status(self, *arrays: Array, repeats: int = 1) -> tuple[Result, int]:
        """Compute N states with the code for one state, which may be compiled already; results and or-ed status.

        Args:
            arrays: (N, size).
            repeats: number of repetitions, for benchmarks.
        """
        inputs, count = self.signature.check_batch(arrays)
        if count < 1 or repeats < 1:
            raise InputError(f"{self.signature.name}: at least one row and one repetition are required")
        outputs, status = self._repeat(inputs, count, repeats)
        return self._result(outputs), status

    def native_repeat(self, *arrays: Array, repeats: int = 1) -> Result:
        """Run the code for one state `repeats` times over all rows, for benchmarks."""
        result, status = self.rows_status(*arrays, repeats=repeats)
        if status:
            self._raise(arrays, status)
        return result

    def python_call(self, general: Callable[..., Any], parameters: Sequence[str] | None = None) -> Callable[..., Any]:
        """Create the fastest callable for one state, which passes other calls to `general`.

        Args:
            general: function that is called with the same arguments if they are not float64 vectors of the right
                length, or if the status is not 0; it converts or raises errors.
            parameters: names of the arguments, to accept keywords, lists and other arrays (see `make_builtin`).
        """
        backend = self.backend
        if isinstance(backend, PythonBackend):
            return general
        try:
            entry = KernelAddresses(backend.lanes, takes_few=parameters is not None)
            call = make_builtin(self.signature, entry, general, parameters)
            backend.connect(entry)
            return call
        except CompileError as error:
            self._use_python(str(error))
            return general

    def connect(self, entry: KernelAddresses) -> None:
        """Set this kernel as that of an entry's builtins, if it can be compiled."""
        backend = self.backend
        if not isinstance(backend, PythonBackend):
            backend.connect(entry)

    def info(self) -> KernelInfo:
        """Backend, flops, and compiled objects."""
        backend = self.backend
        if isinstance(backend, PythonBackend):
            return KernelInfo(backend.name, cost(self.function).flops, {}, {}, 1)
        lanes, report = backend.lanes, backend.report
        flops = report.flops if report.flops is not None else cost(self.function).flops
        return KernelInfo(backend.name, flops, dict(report.seconds), dict(report.cached), lanes)

    def native_address(self, symbol: str = "kernel") -> int:
        """Address of compiled code (see `scalar` and `batch`); CompileError if it cannot be compiled."""
        backend = self.backend
        if not isinstance(backend, NativeBackend):
            raise CompileError(f"kernel {self.signature.name} is not compiled: {reason_for_fallback()}")
        return backend.address(symbol)

    def _loaded(self, kind: str) -> NativeBackend | PythonBackend:
        """The backend with its code for one state or for batches; Python if that cannot be compiled."""
        backend = self.backend
        if not isinstance(backend, PythonBackend):
            try:
                backend.library(kind)
            except CompileError as error:
                self.signature.expect(self.function)  # raises if the function differs from the signature
                self._use_python(str(error))
                return self.backend
        return backend

    def _use_python(self, reason: str) -> None:
        with self._lock:
            announce(reason)
            self._backend = PythonBackend(self.signature, lambda: expand(self.function))

    def _result(self, outputs: Sequence[Array]) -> Result:
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _batch_outputs(self, count: int, columns: bool) -> list[Array]:
        shapes = [(*shape, count) if columns else (count, *shape) for _, shape in self.signature.outputs]
        ends = list(accumulate(map(prod, shapes)))
        if len(shapes) > 1 and ends[-1] >= LARGE_PAGES_FROM:
            parts = np.split(np.empty(ends[-1]), ends[:-1])
            found = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
        else:
            found = list(map(np.empty, shapes))
        return [np.moveaxis(one, -1, 0) for one in found] if columns else found

    def _repeat(self, inputs: Sequence[Array], count: int, repeats: int = 1) -> tuple[list[Array], int]:
        rows = list(map(np.ascontiguousarray, inputs))
        outputs = self._batch_outputs(count, False)
        return outputs, self._loaded("single").repeat(rows, outputs, count, repeats)

    def _raise(self, arrays: Sequence[Array], status: int) -> None:
        name = self.signature.name
        if status & NOT_FINITE:
            for (label, _), array in zip(self.signature.inputs, arrays, strict=True):
                bad = np.argwhere(~np.isfinite(array))
                if len(bad):
                    where = ", ".join(map(str, bad[0]))
                    raise InputError(
                        f"{name}: {label}[{where}] is {array[tuple(bad[0])]}; it must be finite",
                        field=label,
                        value=float(array[tuple(bad[0])]),
                        allowed="finite numbers",
                    )
            raise InputError(f"{name}: a result is not finite, or an angle exceeds {LIMIT:g} rad")
        if status & NO_MEMORY:
            raise MemoryError(f"{name}: no memory for the workspace of the kernel")
        raise GuardError(f"{name}: a guard of the algorithm fails for this state (status {status})")


def _are_columns(inputs: Sequence[Array]) -> bool:
    """Return True if the columns of every input are contiguous, but not the rows of every input."""
    if all(array.flags.c_contiguous for array in inputs):
        return False
    return all(array.flags.f_contiguous for array in inputs)
