# SPDX-License-Identifier: Apache-2.0
"""A kernel: a traced function that is compiled when it is first called, for one state or for a batch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError, CompileError, InputError
from ada_dynamics.expr.evaluation import expand
from ada_dynamics.expr.function import Function
from ada_dynamics.expr.operation_count import cost
from ada_dynamics.jit.emit_kernel import GUARD_FAILED, NOT_FINITE
from ada_dynamics.jit.fallback import PythonBackend, announce, reason_for_fallback
from ada_dynamics.jit.native import Entry, NativeBackend
from ada_dynamics.jit.python_call import make_builtin
from ada_dynamics.jit.signature import Signature
from ada_dynamics.jit.sincos import LIMIT
from ada_dynamics.jit.target import Target

if TYPE_CHECKING:
    from ada_dynamics.jit.tape_backend import TapeBackend

Result = Any  # one array for a signature of one output, else a tuple of arrays


class GuardError(AdaError, ArithmeticError):
    """A condition that the kernel needs does not hold for the given state."""


@dataclass(frozen=True)
class KernelInfo:
    """Present state of a kernel.

    Attributes:
        backend: "native", "tape" or "python".
        flops: additions and multiplications of one state.
        compile_seconds: time to compile or load each object that was needed so far.
        cached: whether each of these objects came from the cache.
        lanes: states that the batch code works on at once.
    """

    backend: str
    flops: int
    compile_seconds: dict[str, float]
    cached: dict[str, bool]
    lanes: int


class Kernel:
    """A function of some input vectors, fast.

    Args:
        signature: names and sizes, known before anything is traced.
        trace: makes the function; not called where the cache has the object.
        key: text that differs for any two different functions (the model's fingerprint, the algorithm, options).
        target: processor; the machine at hand where not given.
        checked: whether inputs that are not finite are reported (see `emit_kernel`).
    """

    def __init__(
        self,
        signature: Signature,
        trace: Callable[[], Function],
        key: str,
        target: Target | None = None,
        checked: bool = True,
    ) -> None:
        self.signature = signature
        self._make = trace
        self._key = key
        self._target = target
        self._checked = checked
        self._lock = threading.RLock()
        self._function: Function | None = None
        self._backend: NativeBackend | TapeBackend | PythonBackend | None = None

    @property
    def key(self) -> str:
        """Text that differs for any two different functions."""
        return self._key

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
    def backend(self) -> NativeBackend | TapeBackend | PythonBackend:
        """The code behind the kernel: compiled, or plain Python where nothing can be compiled."""
        with self._lock:
            if self._backend is None:
                reason = reason_for_fallback()
                if reason is None:
                    self._backend = self._compiled(self._target or Target.host())
                else:
                    self._use_python(reason)
            assert self._backend is not None
            return self._backend

    def _compiled(self, target: Target) -> NativeBackend | TapeBackend:
        return NativeBackend(self.signature, lambda: self.function, self._key, target, self._checked)

    def prepare(self, kind: str = "single") -> None:
        """Compile now, "single" or "batch", rather than at the first call."""
        if kind not in ("single", "batch"):
            raise InputError(f"{self.signature.name}: there is no code {kind!r}; prepare 'single' or 'batch'")
        self._run(kind, lambda backend: 0)

    def single(self, *arrays: Array, out: Any = None) -> Result:
        """One state: float64 vectors in, new arrays (or `out`) back."""
        result, status = self.single_status(*arrays, out=out)
        if status:
            self._raise(arrays, status)
        return result

    def single_status(self, *arrays: Array, out: Any = None) -> tuple[Result, int]:
        """Like `single`, with the status instead of an error where a value is not finite or a guard fails."""
        inputs = self.signature.check_single(arrays)
        if out is None:
            outputs = [np.empty(shape) for _, shape in self.signature.outputs]
        else:
            outputs = self.signature.check_out(out, ())
            if not all(array.flags.c_contiguous for array in outputs):
                raise InputError(f"{self.signature.name}: out must be contiguous", field="out")
        status = self._run("single", lambda backend: backend.single(inputs, outputs))
        return self._result(outputs), status

    def batch(self, *arrays: Array, out: Any = None) -> Result:
        """N states: arrays (N, size), rows or columns contiguous; results (N, ...) in the same order of memory."""
        result, status = self.batch_status(*arrays, out=out)
        if status:
            self._raise(arrays, status)
        return result

    def batch_status(self, *arrays: Array, out: Any = None) -> tuple[Result, int]:
        """Like `batch`, with the status of all states or-ed together instead of an error."""
        inputs, count = self.signature.check_batch(arrays)
        columns = _are_columns(inputs)
        if not columns:
            inputs = tuple(array if array.flags.c_contiguous else np.ascontiguousarray(array) for array in inputs)
        outputs = self._batch_outputs(count, columns) if out is None else self._batch_out(out, inputs, count, columns)
        if count == 0:
            return self._result(outputs), 0
        if count < self.backend.lanes:
            return self._one_by_one(inputs, outputs, count)
        return self._result(outputs), self._run("batch", lambda backend: backend.batch(inputs, outputs, count, columns))

    def rows_status(self, *arrays: Array, repeats: int = 1) -> tuple[Result, int]:
        """Like `batch_status`, by the code for one state: it is there already where batch code may have to be compiled.

        Args:
            arrays: (N, size).
            repeats: over all rows, for benchmarks.
        """
        inputs, count = self.signature.check_batch(arrays)
        inputs = tuple(map(np.ascontiguousarray, inputs))
        if count < 1 or repeats < 1:
            raise InputError(f"{self.signature.name}: the rows and the repeats must be at least one")
        outputs = self._batch_outputs(count, False)
        status = self._run("single", lambda backend: backend.repeat(inputs, outputs, count, repeats))
        return self._result(outputs), status

    def native_repeat(self, *arrays: Array, repeats: int = 1) -> Result:
        """Run the single-state code `repeats` times over all rows without returning to Python (for benchmarks)."""
        result, status = self.rows_status(*arrays, repeats=repeats)
        if status:
            self._raise(arrays, status)
        return result

    def python_call(self, general: Callable[..., Any], parameters: Sequence[str] | None = None) -> Callable[..., Any]:
        """The fastest callable for one state: anything that it cannot take at once goes to `general` unchanged.

        Args:
            general: called with the same arguments where they are not exactly float64 vectors of the right
                length, or where the status is not 0; it checks, converts, and raises errors that explain.
            parameters: names of the arguments, to accept keywords, lists and other arrays (see `make_builtin`).
        """
        backend = self.backend
        if isinstance(backend, PythonBackend):
            return general
        try:
            entry = Entry(backend.lanes, takes_few=parameters is not None)
            call = make_builtin(self.signature, entry, general, parameters)
            backend.connect(entry)
            return call
        except CompileError as error:
            self._use_python(str(error))
            return general

    def connect(self, entry: Entry) -> None:
        """Let a call boundary that was made before this kernel run it, where it is compiled."""
        backend = self.backend
        if not isinstance(backend, PythonBackend):
            backend.connect(entry)

    def info(self) -> KernelInfo:
        """Backend, flops, and what was compiled so far."""
        backend = self.backend
        if isinstance(backend, PythonBackend):
            return KernelInfo(backend.name, cost(self.function).flops, {}, {}, 1)
        lanes, report = backend.lanes, backend.report
        flops = report.flops if report.flops is not None else cost(self.function).flops
        return KernelInfo(backend.name, flops, dict(report.seconds), dict(report.cached), lanes)

    def native_address(self, symbol: str = "kernel") -> int:
        """Address of compiled code for other compiled code (see `emit_kernel`); CompileError where there is none."""
        backend = self.backend
        if not isinstance(backend, NativeBackend):
            raise CompileError(f"kernel {self.signature.name} is not compiled: {reason_for_fallback()}")
        return backend.address(symbol)

    def _run(self, kind: str, call: Callable[[NativeBackend | TapeBackend | PythonBackend], int]) -> int:
        backend = self.backend
        if not isinstance(backend, PythonBackend):
            try:
                backend.library(kind)
            except CompileError as error:
                self.signature.expect(self.function)  # a trace that is not what was declared is refused
                self._use_python(str(error))
                backend = self.backend
        return call(backend)

    def _use_python(self, reason: str) -> None:
        with self._lock:
            announce(reason)
            self._backend = PythonBackend(self.signature, lambda: expand(self.function))

    def _result(self, outputs: Sequence[Array]) -> Result:
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _batch_outputs(self, count: int, columns: bool) -> list[Array]:
        if not columns:
            return [np.empty((count, *shape)) for _, shape in self.signature.outputs]
        return [np.moveaxis(np.empty((*shape, count)), -1, 0) for _, shape in self.signature.outputs]

    def _batch_out(self, out: Any, inputs: Sequence[Array], count: int, columns: bool) -> list[Array]:
        outputs = self.signature.check_out(out, (count,))
        for (name, _), array in zip(self.signature.outputs, outputs, strict=True):
            laid_out = np.moveaxis(array, 0, -1) if columns else array
            if not laid_out.flags.c_contiguous:
                order = "columns" if columns else "rows"
                raise InputError(
                    f"{self.signature.name}: out ({name}) must have contiguous {order}, like inputs", field="out"
                )
            if any(np.may_share_memory(array, other) for other in inputs):
                raise InputError(f"{self.signature.name}: out ({name}) overlaps an input", field="out")
        return outputs

    def _one_by_one(self, inputs: Sequence[Array], outputs: Sequence[Array], count: int) -> tuple[Result, int]:
        """A batch shorter than the lanes, by the code for one state."""
        rows = [np.ascontiguousarray(array) for array in inputs]
        found = [out if out.flags.c_contiguous else np.empty(out.shape) for out in outputs]
        status = self._run("single", lambda backend: backend.repeat(rows, found, count, 1))
        for out, values in zip(outputs, found, strict=True):
            if values is not out:
                out[...] = values
        return self._result(outputs), status

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
            raise InputError(f"{name}: a result is not finite, or an angle is beyond {LIMIT:g} rad")
        assert status & GUARD_FAILED
        raise GuardError(f"{name}: a condition of the algorithm does not hold for this state (status {status})")


def _are_columns(inputs: Sequence[Array]) -> bool:
    """True if every input holds its columns in one piece (and not every one its rows)."""
    if all(array.flags.c_contiguous for array in inputs):
        return False
    return all(array.flags.f_contiguous for array in inputs)
