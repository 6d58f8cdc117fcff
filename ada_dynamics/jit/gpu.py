# SPDX-License-Identifier: Apache-2.0
"""A graphics processor of NVIDIA's as a machine that runs kernels of threads, through its driver alone.

It works in the device's primary context, in which torch, CuPy, JAX and numba work: their arrays and streams are ours.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from ada_dynamics.errors import DeviceError, DeviceMemoryError, InputError, NoDeviceError
from ada_dynamics.jit.dlpack import CUDA
from ada_dynamics.jit.driver import Driver, driver
from ada_dynamics.jit.emit_threads import THREADS
from ada_dynamics.jit.target import Target
from ada_dynamics.jit.thread_memory import GROUP

_MAJOR, _MINOR = 75, 76  # attributes of a device
_REGISTERS, _LOCAL = 4, 3  # attributes of a function
_ORDINAL = 9  # attribute of an address
_LOG, _LOG_SIZE = 5, 6  # options of the driver's own compiler
_NON_BLOCKING, _NO_TIMING = 1, 2


def count() -> int:
    """Devices of this machine.

    Raises:
        NoDeviceError: there is none, or no driver.
    """
    found = ctypes.c_int()
    driver()("cuDeviceGetCount", found)
    if not found.value:
        raise NoDeviceError("this machine has no device.")
    return found.value


class _GpuBlock:
    """Memory; it goes back in the stream from which it came, after what was asked for there."""

    def __init__(self, gpu: Gpu, size: int, stream: int) -> None:
        address = ctypes.c_uint64()
        with gpu.current() as call:
            try:
                call("cuMemAllocAsync", address, max(size, 1), stream)
            except DeviceMemoryError:
                raise DeviceMemoryError(
                    f"{size / 2**20:.1f} MiB are wanted on device {gpu.name}, which has "
                    f"{gpu.free_memory() / 2**20:.1f} MiB left. Take fewer states at a time; numpy arrays are cut into "
                    "pieces that fit."
                ) from None
        self.address, self.size = int(address.value), size
        weakref.finalize(self, gpu.give_back, self.address, stream).atexit = False


class Gpu:
    """A device by its number; see `threads.Machine`."""

    def __init__(self, number: int) -> None:
        self._driver: Driver = driver()
        device, devices = ctypes.c_int(), count()
        if not 0 <= number < devices:
            raise NoDeviceError(f"there is no device cuda:{number}; this machine has {devices}, counted from 0.")
        self._driver("cuDeviceGet", device, number)
        self._number, self._device, self.device = number, device.value, (CUDA, number)
        self.target = Target.gpu(10 * self._attribute(_MAJOR) + self._attribute(_MINOR))
        title = ctypes.create_string_buffer(128)
        self._driver("cuDeviceGetName", title, len(title), device)
        self.name = f"cuda:{number} ({title.value.decode()})"
        self._context = ctypes.c_void_p()
        self._driver("cuDevicePrimaryCtxRetain", self._context, device, doing=f"opening device {self.name}")

    def _attribute(self, which: int) -> int:
        value = ctypes.c_int()
        self._driver("cuDeviceGetAttribute", value, which, self._device)
        return int(value.value)

    @contextmanager
    def current(self) -> Iterator[Driver]:
        """The driver, with this device as the one that this thread of the program works with."""
        self._driver("cuCtxPushCurrent_v2", self._context)
        try:
            yield self._driver
        finally:
            self._driver("cuCtxPopCurrent_v2", ctypes.c_void_p())

    # --- kernels ------------------------------------------------------------------------------------------------
    def load(self, code: bytes) -> Any:
        """Compile PTX for the device; the driver keeps what it made on disk."""
        module, function, log = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.create_string_buffer(4096)
        options = (ctypes.c_int * 2)(_LOG, _LOG_SIZE)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        with self.current() as call:
            try:
                call("cuModuleLoadDataEx", module, code + b"\0", 2, options, values, doing="loading a kernel")
            except DeviceError as error:
                raise type(error)(f"{error} {log.value.decode(errors='replace').strip()}") from None
            call("cuModuleGetFunction", function, module, THREADS.encode())
        return function

    def resources(self, kernel: Any) -> tuple[int, int]:
        """Registers of a thread, and bytes that it keeps in memory instead."""
        found = []
        with self.current() as call:
            for which in (_REGISTERS, _LOCAL):
                value = ctypes.c_int()
                call("cuFuncGetAttribute", value, which, kernel)
                found.append(int(value.value))
        return found[0], found[1]

    def launch(self, kernel: Any, arguments: Sequence[Any], states: int, stream: int) -> None:
        """Run a kernel."""
        places = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        groups = -(-states // GROUP)
        with self.current() as call:
            call(
                "cuLaunchKernel", kernel, groups, 1, 1, GROUP, 1, 1, 0, stream, places, None, doing="starting a kernel"
            )

    # --- memory -------------------------------------------------------------------------------------------------
    def allocate(self, size: int, stream: int) -> _GpuBlock:
        """Memory of the device."""
        return _GpuBlock(self, size, stream)

    def give_back(self, address: int, stream: int) -> None:
        """Memory that is no longer used."""
        with suppress(DeviceError), self.current() as call:  # the stream may be gone, and the memory with it
            call("cuMemFreeAsync", address, stream)

    def staging(self, size: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Pinned memory of this process."""
        place = ctypes.c_void_p()
        with self.current() as call:
            call("cuMemAllocHost_v2", place, max(size, 1), doing="pinning memory for copies")
        assert place.value is not None
        memory = (ctypes.c_ubyte * size).from_address(place.value)
        weakref.finalize(memory, self._unpin, place.value).atexit = False
        return np.ctypeslib.as_array(memory)

    def _unpin(self, address: int) -> None:
        with suppress(DeviceError), self.current() as call:
            call("cuMemFreeHost", address)

    def free_memory(self) -> int:
        """Bytes that are free."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        with self.current() as call:
            call("cuMemGetInfo_v2", free, total)
        return int(free.value)

    def to_device(self, address: int, array: np.ndarray[Any, Any], stream: int) -> None:
        """Copy to the device."""
        with self.current() as call:
            call("cuMemcpyHtoDAsync_v2", address, array.ctypes.data, array.nbytes, stream)

    def to_host(self, array: np.ndarray[Any, Any], address: int, stream: int) -> None:
        """Copy from the device."""
        with self.current() as call:
            call("cuMemcpyDtoHAsync_v2", array.ctypes.data, address, array.nbytes, stream)

    def clear(self, address: int, size: int, stream: int) -> None:
        """Zero."""
        with self.current() as call:
            call("cuMemsetD8Async", address, 0, size, stream)

    def refuse_foreign(self, address: int, name: str) -> None:
        """Raise where an address is not in this device's memory."""
        value = ctypes.c_int(-1)
        try:
            with self.current() as call:
                call("cuPointerGetAttribute", ctypes.byref(value), _ORDINAL, address)
        except DeviceError as error:
            raise InputError(f"{name} is not in the memory of device {self.name}: {error}", field=name) from None
        if value.value != self._number:
            raise InputError(
                f"{name} lies on device cuda:{value.value}, but this Dynamics works on {self.name}.", field=name
            )

    # --- streams ------------------------------------------------------------------------------------------------
    def new_stream(self) -> int:
        """A stream that waits for no other."""
        stream = ctypes.c_void_p()
        with self.current() as call:
            call("cuStreamCreate", stream, _NON_BLOCKING)
        assert stream.value is not None
        return stream.value

    def wait(self, stream: int) -> None:
        """Until a stream is done."""
        with self.current() as call:
            call("cuStreamSynchronize", stream, doing="waiting for a kernel")

    def follow(self, stream: int, other: int) -> None:
        """Order a stream after what another one has to do by now."""
        event = ctypes.c_void_p()
        with self.current() as call:
            call("cuEventCreate", event, _NO_TIMING)
            try:
                call("cuEventRecord", event, other, doing="waiting for the stream of an array")
                call("cuStreamWaitEvent", stream, event, 0)
            finally:
                call("cuEventDestroy_v2", event)
