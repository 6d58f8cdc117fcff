# SPDX-License-Identifier: Apache-2.0
"""The compiled form of a kernel: objects made or found in the cache when they are first needed."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ada_dynamics.arrays import Array
from ada_dynamics.expr.function import Function
from ada_dynamics.expr.operation_count import cost
from ada_dynamics.jit import cache, compiler, emit_batch, emit_kernel
from ada_dynamics.jit.signature import Signature
from ada_dynamics.jit.target import Target


@dataclass
class Report:
    """Objects compiled or loaded so far: seconds, whether each came from the cache, flops."""

    seconds: dict[str, float] = field(default_factory=dict)
    cached: dict[str, bool] = field(default_factory=dict)
    flops: int | None = None


class Entry(ctypes.Structure):
    """Addresses of a kernel's code, for the call boundaries that begin there: zero while it is not compiled.

    A boundary can be made before it is known which kernel it will call.
    """

    _fields_ = [("single", ctypes.c_void_p), ("repeat", ctypes.c_void_p), ("batch", ctypes.c_void_p)]
    _fields_ += [("lanes", ctypes.c_int64)]

    def __init__(self, lanes: int, takes_few: bool = False) -> None:
        """Args: states of the smallest batch of the batch code; whether fewer rows go to the code for one state."""
        super().__init__(None, None, None, lanes)
        self.takes_few = takes_few
        self.owner: Any = None  # of the code, which lives as long


def obtain(
    key: str,
    kind: str,
    make: Callable[[], tuple[str, dict[str, Any]]],
    target: Target,
    level: int = 2,
    effort: int = 2,
) -> tuple[bytes, Any]:
    """The object of a key, from the cache or compiled (see `compiler`) from what `make` returns (text, metadata)."""
    store = cache.ObjectCache.default()
    name = ""
    if store.directory is not None:
        name = cache.digest(key, kind, target.identity, compiler.llvm_version(), cache.source_hash())
        entry = store.load(name)
        if entry is not None:
            return entry.code, {**entry.metadata, "cached": True}
    text, metadata = make()
    code = compiler.compile_text(text, target, level, effort)
    store.store(name, code, metadata)
    return code, {**metadata, "cached": False}


class NativeBackend:
    """Runs compiled code; single-state and batch code are separate objects, so each is paid for only when used."""

    name = "native"

    def __init__(
        self, signature: Signature, trace: Callable[[], Function], key: str, target: Target, checked: bool = True
    ) -> None:
        self.signature = signature
        self.target = target
        self.report = Report()
        self._trace = trace
        self._key = f"{key}|{signature}|{checked}"
        self._checked = checked
        self._lock = threading.RLock()
        self._libraries: dict[str, compiler.Library] = {}
        self._functions: dict[str, Callable[..., int]] = {}
        self._entries: list[Entry] = []

    @property
    def lanes(self) -> int:
        """The smallest batch that the batch code takes."""
        return self.target.lanes

    def library(self, kind: str) -> compiler.Library:
        """The loaded object "single" or "batch"."""
        with self._lock:
            if kind not in self._libraries:
                start = time.perf_counter()
                # code for W states stores as it goes; that for one state is in it where results are many
                many = emit_kernel.WIDE if kind == "single" else emit_batch.WIDE
                effort = 1 if sum(self.signature.output_sizes) > many else 2
                make = partial(self._text, kind)
                code, metadata = obtain(self._key, kind, make, self.target, level=0, effort=effort)
                self._libraries[kind] = compiler.load(code, _EXPORTS[kind])
                for entry in self._entries:
                    self._fill(entry, kind)
                self.report.seconds[kind] = time.perf_counter() - start
                self.report.cached[kind] = metadata["cached"]
                self.report.flops = metadata["flops"]
            return self._libraries[kind]

    def connect(self, entry: Entry) -> None:
        """From now on boundaries at this entry run this kernel, as soon as it is compiled."""
        with self._lock:
            if entry.owner is not None:
                return
            entry.owner = self
            self._entries.append(entry)
            for kind in self._libraries:
                self._fill(entry, kind)

    def _fill(self, entry: Entry, kind: str) -> None:
        library = self._libraries[kind]
        if kind == "batch":
            entry.batch = library.address(emit_batch.ROWS)
        else:
            entry.repeat = library.address(emit_kernel.REPEAT) if entry.takes_few else None
            entry.single = library.address(emit_kernel.SINGLE)

    def address(self, symbol: str) -> int:
        """Address of a compiled function, for other compiled code; valid while this object lives."""
        kind = next(kind for kind, exports in _EXPORTS.items() if symbol in exports)
        return self.library(kind).address(symbol)

    def single(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> int:
        """Status of one state."""
        return self._call(emit_kernel.SINGLE, inputs, outputs)

    def batch(self, inputs: Sequence[Array], outputs: Sequence[Array], count: int, columns: bool) -> int:
        """Status of a batch of at least `lanes` states; the GIL is released meanwhile."""
        return self._call(emit_batch.COLUMNS if columns else emit_batch.ROWS, inputs, outputs, count)

    def repeat(self, inputs: Sequence[Array], outputs: Sequence[Array], count: int, repeats: int) -> int:
        """Run the single-state code over all rows, again and again."""
        return self._call(emit_kernel.REPEAT, inputs, outputs, count, repeats)

    def _call(self, symbol: str, inputs: Sequence[Array], outputs: Sequence[Array], *numbers: int) -> int:
        function = self._functions.get(symbol)
        if function is None:
            pointers = (ctypes.c_void_p,) * (len(inputs) + len(outputs))
            kind = ctypes.CFUNCTYPE(ctypes.c_int, *pointers, *(ctypes.c_int64,) * len(numbers))
            function = self._functions[symbol] = kind(self.address(symbol))
        return function(*map(_address, inputs), *map(_address, outputs), *numbers)

    def _text(self, kind: str) -> tuple[str, dict[str, Any]]:
        function = self._trace()
        module = emit_kernel.single_module if kind == "single" else emit_batch.batch_module
        return module(function, self.target, self._checked), {"kernel": function.name, "flops": cost(function).flops}


def _address(array: Any) -> int:
    """Where the data of an array is; the first way is four times faster than `ndarray.ctypes`."""
    if array.flags.carray:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    return int(array.ctypes.data)


_EXPORTS = {
    "single": (emit_kernel.SINGLE, emit_kernel.REPEAT),
    "batch": (emit_batch.ROWS, emit_batch.COLUMNS),
}
