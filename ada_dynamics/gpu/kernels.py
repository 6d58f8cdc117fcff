# SPDX-License-Identifier: Apache-2.0
"""GPU kernels of traced functions, their launches on device arrays, and batches of host arrays in chunks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from ctypes import c_int32, c_void_p
from typing import Any

import numpy as np

from ada_dynamics.errors import InputError
from ada_dynamics.expr.function import Function
from ada_dynamics.expr.operation_count import cost
from ada_dynamics.gpu.arrays import LARGEST, ArrayView, Device, DeviceArray, Strided
from ada_dynamics.gpu.ptx import threads_module
from ada_dynamics.jit.compiler import compile_text
from ada_dynamics.jit.native import Module, Report, obtain
from ada_dynamics.jit.signature import Signature
from ada_dynamics.jit.target import Target

Dtype = np.dtype[np.floating[Any]]


class ThreadKernel:
    """Compiled function of vectors with one thread per state.

    Args:
        signature: names and sizes of inputs and outputs.
        trace: builds the function; not called if the cache has its code.
        key: text that differs for any two different functions.
        device: device that runs the kernel.
        bits: precision, 64 or 32.
        over: precision of the arrays of the kernel for which this is the fallback; None if this is not a fallback.
        robust: fallback kernel for the states that this one rejects.
    """

    def __init__(
        self,
        signature: Signature,
        trace: Callable[[], Function],
        key: str,
        device: Device,
        bits: int = 64,
        *,
        over: int | None = None,
        robust: ThreadKernel | None = None,
    ) -> None:
        self.signature, self.device, self.bits, self.robust = signature, device, bits, robust
        self.dtype: Dtype = np.dtype(f"f{(over or bits) // 8}")  # of the arrays
        self.report = Report()
        self.trace, self._over = trace, over
        self._key = f"{key}|{signature}" + ("" if over is None else f"|over {over}")
        self._lock = threading.Lock()
        self._loaded: Any = None

    def code(self) -> bytes:
        """PTX, or the object code of the CPU."""
        start = time.perf_counter()
        kind = f"threads{self.bits}"
        code, metadata = obtain(self._key, kind, self._compiled_module, self.device.target, level=0)
        self.report.seconds[kind] = time.perf_counter() - start
        self.report.cached[kind], self.report.flops = metadata["cached"], metadata["flops"]
        return code

    def ptx(self, capability: int) -> str:
        """PTX for a compute capability (90 for 9.0), for inspection without a device."""
        target = Target.gpu(capability)
        return compile_text(threads_module(self.trace(), target, self.bits, self._over), target, level=0).decode()

    def _compiled_module(self) -> Module:
        function = self.trace()
        self.signature.expect(function)
        text = threads_module(function, self.device.target, self.bits, self._over)
        return Module(text, {"kernel": function.name, "flops": cost(function).flops})

    def loaded(self) -> Any:
        """The kernel, loaded on its device."""
        with self._lock:
            if self._loaded is None:
                self._loaded = self.device.load(self.code())
            return self._loaded

    def launch(
        self, inputs: Sequence[Strided], outputs: Sequence[Strided], status: int, found: int, states: int
    ) -> None:
        """Launch the kernel in the default stream.

        Args:
            inputs: arrays in device memory, in the order of the signature.
            outputs: arrays in device memory; an output may alias an input.
            status: address of the status bytes, one per state.
            found: address of a word to which the status bits of all states are or-ed.
            states: number of states.
        """
        kernel = self.loaded()
        arguments: list[Any] = []
        for address, of_state, of_element in (*inputs, *outputs):
            arguments += [c_void_p(address), c_int32(of_state), c_int32(of_element)]
        arguments += [c_void_p(status), c_void_p(found), c_int32(states)]
        self.device.launch(kernel, arguments, states)


Numbers = np.ndarray[Any, np.dtype[np.floating[Any]]]
Rows = Sequence[int] | np.ndarray[Any, np.dtype[np.intp]]  # state numbers
CHUNK = 256 * 2**20  # bytes per chunk of a host batch, which every device has
_WORD = 16  # bytes of the word that holds the status bits of all states, with padding


class RejectedStates:
    """States that a kernel rejected; known when the default stream is idle."""

    def __init__(self, device: Device, states: int) -> None:
        self.device, self.count = device, states
        self._fallback: Callable[[], None] | None = None
        self._block = device.allocate(_WORD + states)
        self.word, self.status = self._block.address, self._block.address + _WORD
        device.clear(self.word, _WORD)

    def then(self, fallback: Callable[[], None]) -> None:
        """Set the launch of the fallback kernel, which updates the status of the rejected states."""
        self._fallback = fallback

    def rows(self) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Numbers of the states that all kernels rejected; blocks until the stream is idle.

        The fallback kernel is launched, and the status bytes are copied, only if the status word is nonzero.
        """
        word = np.empty(1, np.int32)
        self.device.to_host(word, self.word)
        self.device.wait()
        if not word[0]:
            return np.empty(0, np.intp)
        if self._fallback is not None:
            self.device.clear(self.word, _WORD)
            self._fallback()
            self._fallback = None
            return self.rows()
        status = np.empty(self.count, np.uint8)
        self.device.to_host(status, self.status)
        self.device.wait()
        return np.flatnonzero(status)


# --- device arrays ----------------------------------------------------------------------------------------------------
def launch(
    kernel: ThreadKernel, arrays: Mapping[str, ArrayView | Numbers], out: Sequence[DeviceArray] = ()
) -> tuple[Sequence[DeviceArray], RejectedStates]:
    """Launch a kernel on device arrays in the default stream; host arrays are copied to the device.

    Args:
        kernel: kernel to launch.
        arrays: arguments by input name: batches (N, size), or single states (size,) that apply to all.
        out: arrays for the results; new ones by default.
    """
    device, states = kernel.device, _states(arrays)
    for array in arrays.values():
        if isinstance(array, ArrayView) and array.stream:
            device.follow(0, array.stream)
    copies = []  # referenced until all kernels are launched, because they are freed in stream order
    inputs = []
    for name, size in kernel.signature.inputs:
        array = arrays[name]
        if isinstance(array, ArrayView):
            inputs.append(array.strided)
        else:
            copies.append(DeviceArray.of(device, np.asarray(array, dtype=kernel.dtype)))
            inputs.append(Strided(copies[-1].block.address, 0 if array.ndim == 1 else size, 1))
    if not out:
        columns = all(not isinstance(x, ArrayView) or x.states is None or x.is_columns for x in arrays.values())
        shapes = [(states, *shape) for _, shape in kernel.signature.outputs]
        out = [DeviceArray(device, shape, kernel.dtype, columns) for shape in shapes]
    rejected = RejectedStates(device, states)
    places = [x.strided for x in out]
    if states:
        kernel.launch(inputs, places, rejected.status, rejected.word, states)
        robust = kernel.robust
        if robust is not None:

            def fallback() -> None:
                robust.launch(inputs, places, rejected.status, rejected.word, states)
                copies.clear()

            rejected.then(fallback)
    return out, rejected


def _states(arrays: Mapping[str, ArrayView | Numbers]) -> int:
    lengths = {name: x.shape[0] for name, x in arrays.items() if len(x.shape) > 1}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name}: {n}" for name, n in lengths.items())
        raise InputError(f"the batches have different numbers of states ({shown})")
    count = next(iter(lengths.values()), 1)
    if count > LARGEST:
        raise InputError(f"{count} states are too many; pass at most {LARGEST}", value=count)
    return count


def put_rows(device: Device, array: DeviceArray, rows: Rows, values: Numbers) -> None:
    """Copy states from the host into a device array."""
    whole = array.numpy()
    whole[rows] = values
    device.to_device(array.block.address, np.moveaxis(whole, 0, -1) if array.is_columns else whole)
    device.wait()


# --- host arrays ------------------------------------------------------------------------------------------------------
def compute(
    kernel: ThreadKernel, inputs: Sequence[Numbers], chunk: int = CHUNK
) -> tuple[list[Numbers], np.ndarray[Any, np.dtype[np.intp]]]:
    """Compute the results of host arrays in chunks, and the numbers of the rejected states.

    Args:
        kernel: kernel to launch.
        inputs: batches (N, size), or single states (size,) that apply to all; at least one batch.
        chunk: bytes on the device.
    """
    device, dtype, signature = kernel.device, kernel.dtype, kernel.signature
    states = next(len(x) for x in inputs if x.ndim == 2)
    columns = all(x.flags.f_contiguous for x in inputs if x.ndim == 2) and states > 1
    results = [_empty(states, shape, dtype, columns) for _, shape in signature.outputs]
    sizes = [*(size for _, size in signature.inputs), *signature.output_sizes]
    most = max(1, chunk // (sum(sizes) * dtype.itemsize + 1))
    rejected = []
    for begin in range(0, states, most):
        rows = slice(begin, begin + most)
        arrays: dict[str, ArrayView | Numbers] = {}
        for (name, _), x in zip(signature.inputs, inputs, strict=True):
            own = np.asarray(x[rows] if x.ndim == 2 else x, dtype=dtype)
            arrays[name] = DeviceArray.of(device, own, columns=True).view(name) if x.ndim == 2 else own
        found, refused = launch(kernel, arrays)
        rejected.append(begin + refused.rows())
        for result, part in zip(results, found, strict=True):
            result[rows] = part.numpy()
    return results, np.concatenate(rejected)


def _empty(states: int, shape: tuple[int, ...], dtype: np.dtype[Any], columns: bool) -> Numbers:
    if columns:
        return np.moveaxis(np.empty((*shape, states), dtype), -1, 0)
    return np.empty((states, *shape), dtype)
