# SPDX-License-Identifier: Apache-2.0
"""Compiled code of kernels: objects are compiled or found in the cache at first use."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from ada_dynamics.arrays import Array
from ada_dynamics.execution import pause_garbage_collection
from ada_dynamics.expr.function import Function
from ada_dynamics.expr.operation_count import flops
from ada_dynamics.jit import batch, cache, compiler, scalar
from ada_dynamics.jit.signature import Signature
from ada_dynamics.jit.target import Target


@dataclass
class Report:
    """Compiled or loaded objects: time in seconds, whether each was in the cache; flops of the function."""

    seconds: dict[str, float] = field(default_factory=dict)
    cached: dict[str, bool] = field(default_factory=dict)
    flops: int | None = None


class KernelAddresses(ctypes.Structure):
    """Addresses of the code of a kernel, null until it is compiled; builtin functions of `python_call` read them.

    A builtin can be created before the kernel that it will call.
    """

    _fields_ = [("single", ctypes.c_void_p), ("repeat", ctypes.c_void_p), ("batch", ctypes.c_void_p)]
    _fields_ += [("lanes", ctypes.c_int64)]

    def __init__(self, lanes: int, takes_few: bool = False) -> None:
        """Args: smallest batch of the batch code; whether the code for one state computes smaller batches."""
        super().__init__(None, None, None, lanes)
        self.takes_few = takes_few
        self.owner: Any = None  # keeps the code loaded


class Module(NamedTuple):
    """LLVM text with metadata for the cache, and the effort of the code generator (see `compiler.compile_text`)."""

    text: str
    metadata: Mapping[str, Any] = MappingProxyType({})
    effort: int = 2


def obtain(key: str, kind: str, make: Callable[[], Module], target: Target, level: int = 2) -> tuple[bytes, Any]:
    """Object of a key with its metadata, from the cache, or compiled from the module that `make` returns."""
    store = cache.ObjectCache.default()
    name = ""
    if store.directory is not None:
        name = cache.digest(key, kind, target.identity, compiler.llvm_version(), cache.source_hash())
        entry = store.load(name)
        if entry is not None:
            code, found = entry
            return code, {**found, "cached": True}
    text, given, effort = make()
    metadata = dict(given)
    code = compiler.compile_text(text, target, level, effort)
    store.store(name, code, metadata)
    return code, {**metadata, "cached": False}


class NativeBackend:
    """Compiled code of a kernel: objects for one state and for batches, each compiled at first use."""

    name = "native"

    def __init__(
        self,
        signature: Signature,
        trace: Callable[[], Function],
        key: str,
        target: Target,
        checked: bool = True,
        quick: bool = False,
    ) -> None:
        self.signature = signature
        self.target, self.lanes = target, target.lanes  # the batch code computes at least so many states
        self.report = Report()
        self._trace = trace
        self._key = f"{key}|{signature}|{checked}|{quick}"
        self._checked, self._quick = checked, quick
        self._lock = threading.RLock()
        self._libraries: dict[str, compiler.Library] = {}
        self._functions: dict[str, Callable[..., int]] = {}
        self._entries: list[KernelAddresses] = []

    def library(self, kind: str) -> compiler.Library:
        """The loaded object: "single" or "batch"."""
        with self._lock:
            if kind not in self._libraries:
                start = time.perf_counter()
                code, metadata = obtain(self._key, kind, partial(self._module, kind), self.target, level=0)
                symbols = compiler.python_symbols(scalar.MEMORY)
                self._libraries[kind] = compiler.load(code, _EXPORTS[kind], symbols)
                for entry in self._entries:
                    self._fill(entry, kind)
                self.report.seconds[kind] = time.perf_counter() - start
                self.report.cached[kind] = metadata["cached"]
                self.report.flops = metadata["flops"]
            return self._libraries[kind]

    def connect(self, entry: KernelAddresses) -> None:
        """Set this kernel as that of an entry's builtins as soon as it is compiled."""
        with self._lock:
            if entry.owner is not None:
                return
            entry.owner = self
            self._entries.append(entry)
            for kind in self._libraries:
                self._fill(entry, kind)

    def _fill(self, entry: KernelAddresses, kind: str) -> None:
        library = self._libraries[kind]
        if kind == "batch":
            entry.batch = library.address(batch.ROWS)
        else:
            entry.repeat = library.address(scalar.REPEAT) if entry.takes_few else None
            entry.single = library.address(scalar.SINGLE)

    def address(self, symbol: str) -> int:
        """Address of a compiled function, valid while this object lives."""
        kind = next(kind for kind, exports in _EXPORTS.items() if symbol in exports)
        return self.library(kind).address(symbol)

    def single(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> int:
        """Compute one state; return the status."""
        return self._call(scalar.SINGLE, inputs, outputs)

    def batch(self, inputs: Sequence[Array], outputs: Sequence[Array], count: int, columns: bool) -> int:
        """Compute a batch of at least `lanes` states without the interpreter lock; return the status."""
        return self._call(batch.COLUMNS if columns else batch.ROWS, inputs, outputs, count)

    def repeat(self, inputs: Sequence[Array], outputs: Sequence[Array], count: int, repeats: int) -> int:
        """Run the code for one state `repeats` times over all rows; return the status."""
        return self._call(scalar.REPEAT, inputs, outputs, count, repeats)

    def _call(self, symbol: str, inputs: Sequence[Array], outputs: Sequence[Array], *numbers: int) -> int:
        function = self._functions.get(symbol)
        if function is None:
            pointers = (ctypes.c_void_p,) * (len(inputs) + len(outputs))
            kind = ctypes.CFUNCTYPE(ctypes.c_int, *pointers, *(ctypes.c_int64,) * len(numbers))
            function = self._functions[symbol] = kind(self.address(symbol))
        return function(*map(_address, inputs), *map(_address, outputs), *numbers)

    def _module(self, kind: str) -> Module:
        with pause_garbage_collection():
            function = self._trace()
            writer = scalar if kind == "single" else batch
            text = writer.module(function, self.target, self._checked)
        effort = 0 if self._quick else writer.effort(function, self.target)
        return Module(text, {"kernel": function.name, "flops": flops(function)}, effort)


def _address(array: Any) -> int:
    """Address of the data of an array; `from_buffer` is four times as fast as `ndarray.ctypes`."""
    if array.flags.carray:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    return int(array.ctypes.data)


_EXPORTS = {"single": (scalar.SINGLE, scalar.REPEAT), "batch": (batch.ROWS, batch.COLUMNS)}
