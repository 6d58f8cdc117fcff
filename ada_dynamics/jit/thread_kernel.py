# SPDX-License-Identifier: Apache-2.0
"""A traced function as a kernel of threads: compiled for a machine when it is first launched."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from ctypes import c_int32, c_void_p
from typing import Any

import numpy as np

from ada_dynamics.expr.count import cost
from ada_dynamics.expr.function import Function
from ada_dynamics.jit.compiler import compile_text
from ada_dynamics.jit.emit_threads import threads_module
from ada_dynamics.jit.native import Report, obtain
from ada_dynamics.jit.signature import Signature
from ada_dynamics.jit.target import Target
from ada_dynamics.jit.threads import Machine, Strided

Dtype = np.dtype[np.floating[Any]]


class ThreadKernel:
    """A function of vectors, one state in each thread.

    Args:
        signature: names and sizes.
        trace: makes the function; not called where the cache has its code.
        key: text that differs for any two different functions.
        machine: where it runs.
        bits: of the numbers, 64 or 32.
        over: bits of the arrays of another kernel, from which this one takes over.
        robust: the one that takes over the states that this one refuses.
    """

    def __init__(
        self,
        signature: Signature,
        trace: Callable[[], Function],
        key: str,
        machine: Machine,
        bits: int = 64,
        *,
        over: int | None = None,
        robust: ThreadKernel | None = None,
    ) -> None:
        self.signature, self.machine, self.bits, self.robust = signature, machine, bits, robust
        self.dtype: Dtype = np.dtype(f"f{(over or bits) // 8}")  # of the arrays
        self.report = Report()
        self.trace, self._over = trace, over
        self._key = f"{key}|{signature}" + ("" if over is None else f"|over {over}")
        self._lock = threading.Lock()
        self._loaded: Any = None

    def code(self) -> bytes:
        """PTX, or the object of the processor at hand."""
        start = time.perf_counter()
        kind = f"threads{self.bits}"
        code, metadata = obtain(self._key, kind, self._text, self.machine.target, level=0)
        self.report.seconds[kind] = time.perf_counter() - start
        self.report.cached[kind], self.report.flops = metadata["cached"], metadata["flops"]
        return code

    def ptx(self, capability: int) -> str:
        """PTX for devices of a compute capability, 90 for 9.0: to look at, and to assemble, where there is none."""
        target = Target.gpu(capability)
        return compile_text(self._module(self.trace(), target), target, level=0).decode()

    def _text(self) -> tuple[str, dict[str, Any]]:
        function = self.trace()
        self.signature.expect(function)
        text = self._module(function, self.machine.target)
        return text, {"kernel": function.name, "flops": cost(function).flops}

    def _module(self, function: Function, target: Target) -> str:
        return threads_module(function, target, self.bits, self._over)

    def loaded(self) -> Any:
        """The code on its machine."""
        with self._lock:
            if self._loaded is None:
                self._loaded = self.machine.load(self.code())
            return self._loaded

    def launch(
        self,
        inputs: Sequence[Strided],
        outputs: Sequence[Strided],
        status: int,
        found: int,
        states: int,
        stream: int = 0,
    ) -> None:
        """Run for a number of states, in a stream; what else is given, as in `launcher`."""
        self.launcher(inputs, outputs, status, found, states)(stream)

    def launcher(
        self, inputs: Sequence[Strided], outputs: Sequence[Strided], status: int, found: int, states: int
    ) -> Callable[[int], None]:
        """The launch of the same arrays, to be repeated: called with a stream.

        Args:
            inputs: arrays in the machine's memory, in the order of the signature.
            outputs: likewise; one may be an input.
            status: address of a byte for each state.
            found: address of a word, to which the bits of all states are or-ed.
            states: how many.
        """
        kernel = self.loaded()
        arguments: list[Any] = []
        for address, of_state, of_element in (*inputs, *outputs):
            arguments += [c_void_p(address), c_int32(of_state), c_int32(of_element)]
        arguments += [c_void_p(status), c_void_p(found), c_int32(states)]
        return lambda stream: self.machine.launch(kernel, arguments, states, stream)
