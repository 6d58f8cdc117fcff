# SPDX-License-Identifier: Apache-2.0
"""Devices that run GPU kernels: NVIDIA GPUs through the CUDA driver API, and the CPU for tests.

Only the display driver is needed, neither the CUDA toolkit nor a Python package. `Gpu` uses the primary context of the
device, which torch, CuPy, JAX and numba use as well, so that arrays and streams can be shared. `HostDevice` runs the
same kernels on the CPU, one state after the other.
"""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p
from dataclasses import replace
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np

from ada_dynamics.errors import DeviceError, DeviceMemoryError, DriverTooOldError, InputError, NoDeviceError
from ada_dynamics.gpu.arrays import CPU, CUDA, Block
from ada_dynamics.gpu.ptx import GROUP, THREADS
from ada_dynamics.jit import compiler
from ada_dynamics.jit.target import Target


# --- CPU --------------------------------------------------------------------------------------------------------------
class _HostBlock:
    def __init__(self, size: int) -> None:
        self._memory = np.empty(max(size, 1), np.uint8)
        self.address, self.size = self._memory.ctypes.data, size


class HostDevice:
    """The CPU as a device; see `arrays.Device`."""

    name, dlpack_device = "host", (CPU, 0)

    def __init__(self, target: Target | None = None) -> None:
        """Args: compilation target; by default the host CPU without SIMD."""
        self.target = target or replace(Target.host(), lanes=1, vector_bits=64)

    def load(self, code: bytes) -> tuple[compiler.Library, Any]:
        """The library, which must outlive its function, and the function."""
        library = compiler.load(code, (THREADS,))
        return library, ctypes.CFUNCTYPE(None)(library.address(THREADS))

    def launch(self, kernel: Any, arguments: Sequence[Any], states: int) -> None:
        """Run a kernel for all states."""
        kernel[1](*arguments)

    def allocate(self, size: int) -> Block:
        """Allocate memory of this process."""
        return _HostBlock(size)

    def to_device(self, address: int, array: np.ndarray[Any, Any]) -> None:
        """Copy an array to an address."""
        ctypes.memmove(address, array.ctypes.data, array.nbytes)

    def to_host(self, array: np.ndarray[Any, Any], address: int) -> None:
        """Copy from an address to an array."""
        ctypes.memmove(array.ctypes.data, address, array.nbytes)

    def clear(self, address: int, size: int) -> None:
        """Set bytes to zero."""
        ctypes.memset(address, 0, size)

    def wait(self) -> None:
        """All operations are synchronous."""

    def follow(self, stream: int, other: int) -> None:
        """All operations are synchronous."""

    def refuse_foreign(self, address: int, name: str) -> None:
        """Raise InputError for a null address."""
        if not address:
            raise InputError(f"{name} has no memory: its address is 0", field=name)


# --- CUDA driver ------------------------------------------------------------------------------------------------------
OLDEST = 11020  # CUDA 11.2, the first version with stream-ordered memory allocation
LIBRARIES = {"win32": ("nvcuda.dll",), "linux": ("libcuda.so.1", "libcuda.so")}

OUT_OF_MEMORY, NO_DEVICE, INVALID_DEVICE, NO_BINARY, INVALID_PTX, UNSUPPORTED_PTX = 2, 100, 101, 209, 218, 222
_ERRORS: dict[int, type[DeviceError]] = {
    OUT_OF_MEMORY: DeviceMemoryError,
    NO_DEVICE: NoDeviceError,
    INVALID_DEVICE: NoDeviceError,
    NO_BINARY: DriverTooOldError,
    UNSUPPORTED_PTX: DriverTooOldError,
}

_PTR, _OUT, _ADDRESS = c_void_p, POINTER(c_void_p), c_uint64
# Argument types by exported name. Exported names and their meanings do not change between driver versions.
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (POINTER(c_int),),
    "cuDeviceGetCount": (POINTER(c_int),),
    "cuDeviceGet": (POINTER(c_int), c_int),
    "cuDeviceGetName": (c_char_p, c_int, c_int),
    "cuDeviceGetAttribute": (POINTER(c_int), c_int, c_int),
    "cuDevicePrimaryCtxRetain": (_OUT, c_int),
    "cuCtxPushCurrent_v2": (_PTR,),
    "cuCtxPopCurrent_v2": (_OUT,),
    "cuModuleLoadDataEx": (_OUT, _PTR, c_uint, POINTER(c_int), _OUT),
    "cuModuleGetFunction": (_OUT, _PTR, c_char_p),
    "cuFuncGetAttribute": (POINTER(c_int), c_int, _PTR),
    "cuLaunchKernel": (_PTR, *(c_uint,) * 7, _PTR, _OUT, _OUT),
    "cuStreamSynchronize": (_PTR,),
    "cuStreamWaitEvent": (_PTR, _PTR, c_uint),
    "cuEventCreate": (_OUT, c_uint),
    "cuEventRecord": (_PTR, _PTR),
    "cuEventDestroy_v2": (_PTR,),
    "cuMemGetInfo_v2": (POINTER(c_size_t), POINTER(c_size_t)),
    "cuMemAllocAsync": (POINTER(_ADDRESS), c_size_t, _PTR),
    "cuMemFreeAsync": (_ADDRESS, _PTR),
    "cuMemcpyHtoDAsync_v2": (_ADDRESS, _PTR, c_size_t, _PTR),
    "cuMemcpyDtoHAsync_v2": (_PTR, _ADDRESS, c_size_t, _PTR),
    "cuMemsetD8Async": (_ADDRESS, c_ubyte, c_size_t, _PTR),
    "cuPointerGetAttribute": (_PTR, c_int, _ADDRESS),
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuGetErrorString": (c_int, POINTER(c_char_p)),
}


class Driver:
    """Callable functions of the driver; a result other than CUDA_SUCCESS raises a DeviceError."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._functions: dict[str, Any] = {}

    def __call__(self, name: str, *arguments: Any, doing: str = "") -> None:
        """Call a function; `doing` describes the operation in the error message."""
        result = self._function(name)(*arguments)
        if result:
            self.fail(result, name, doing)

    def _function(self, name: str) -> Any:
        if name not in self._functions:
            try:
                function = getattr(self._library, name)
            except AttributeError:
                raise DriverTooOldError(f"the driver lacks {name}; {_UPDATE}") from None
            function.argtypes, function.restype = _FUNCTIONS[name], c_int
            self._functions[name] = function
        return self._functions[name]

    def fail(self, result: int, name: str, doing: str) -> NoReturn:
        """Raise the error for a result code."""
        word, text = c_char_p(), c_char_p()
        self._function("cuGetErrorName")(result, word)
        self._function("cuGetErrorString")(result, text)
        raise error_of(result, name, (word.value or b"").decode(), (text.value or b"").decode(), doing)


_NEEDED = f"CUDA {OLDEST // 1000}.{OLDEST % 1000 // 10} or later is required"
_UPDATE = f"{_NEEDED}; update the driver (`nvidia-smi` shows its version)"


def error_of(result: int, function: str, word: str, text: str, doing: str) -> DeviceError:
    """Exception for a result code of the driver."""
    kind = _ERRORS.get(result, DeviceError)
    more = f"; {_UPDATE}" if kind is DriverTooOldError else ""
    where = f"{doing}: " if doing else ""
    return kind(f"{where}{function} returned {word or result} ({text or 'unknown result code'}){more}")


def require(version: int) -> None:
    """Raise DriverTooOldError if the version (12040 for 12.4) is below OLDEST."""
    if version < OLDEST:
        raise DriverTooOldError(f"the driver supports CUDA {version // 1000}.{version % 1000 // 10}; {_UPDATE}")


@lru_cache(maxsize=1)
def driver() -> Driver:
    """Load and initialize the driver.

    Raises:
        NoDeviceError: no driver is installed.
        DriverTooOldError: the driver is older than CUDA 11.2.
    """
    names = LIBRARIES.get(sys.platform, ())
    for name in names:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        found = Driver(library)
        version = c_int()
        found("cuDriverGetVersion", version)
        require(version.value)
        found("cuInit", 0, doing="initializing the CUDA driver")
        return found
    searched = " or ".join(names) or f"(none for platform {sys.platform})"
    raise NoDeviceError(
        f"no CUDA driver found: {searched}. device='cuda' requires an NVIDIA GPU and its driver; omit device to use "
        "the CPU"
    )


# --- GPU --------------------------------------------------------------------------------------------------------------
_MAJOR, _MINOR = 75, 76  # device attributes: compute capability
_REGISTERS, _LOCAL = 4, 3  # function attributes: registers, local memory
_ORDINAL = 9  # pointer attribute: device number
_LOG, _LOG_SIZE = 5, 6  # options of the PTX compiler
_NO_TIMING = 2


def count() -> int:
    """Number of CUDA devices.

    Raises:
        NoDeviceError: the machine has no device or no driver.
    """
    found = ctypes.c_int()
    driver()("cuDeviceGetCount", found)
    if not found.value:
        raise NoDeviceError("the CUDA driver reports no device")
    return found.value


class _GpuBlock:
    """Device memory, freed in the order of the default stream."""

    def __init__(self, gpu: Gpu, size: int) -> None:
        address = ctypes.c_uint64()
        with gpu.current() as call:
            try:
                call("cuMemAllocAsync", address, max(size, 1), None)
            except DeviceMemoryError:
                raise DeviceMemoryError(
                    f"cannot allocate {size / 2**20:.1f} MiB on {gpu.name}: {gpu.free_memory() / 2**20:.1f} MiB are "
                    "free. Pass fewer states, or numpy arrays, which are split into batches that fit"
                ) from None
        self.address, self.size = int(address.value), size
        weakref.finalize(self, gpu.give_back, self.address).atexit = False


class Gpu:
    """A CUDA device, by its number; see `arrays.Device`."""

    def __init__(self, number: int) -> None:
        self._driver: Driver = driver()
        device, devices = ctypes.c_int(), count()
        if not 0 <= number < devices:
            raise NoDeviceError(f"no device cuda:{number}; this machine has {devices}, numbered from 0")
        self._driver("cuDeviceGet", device, number)
        self._number, self._device, self.dlpack_device = number, device.value, (CUDA, number)
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
        """The driver, with the context of this device current in this thread."""
        self._driver("cuCtxPushCurrent_v2", self._context)
        try:
            yield self._driver
        finally:
            self._driver("cuCtxPopCurrent_v2", ctypes.c_void_p())

    # --- kernels ------------------------------------------------------------------------------------------------
    def load(self, code: bytes) -> Any:
        """Compile PTX for the device; the driver caches the result on disk."""
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
        """Registers and bytes of local memory per thread."""
        found = []
        with self.current() as call:
            for which in (_REGISTERS, _LOCAL):
                value = ctypes.c_int()
                call("cuFuncGetAttribute", value, which, kernel)
                found.append(int(value.value))
        return found[0], found[1]

    def launch(self, kernel: Any, arguments: Sequence[Any], states: int) -> None:
        """Launch a kernel with one thread per state."""
        places = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        groups = -(-states // GROUP)
        with self.current() as call:
            call("cuLaunchKernel", kernel, groups, 1, 1, GROUP, 1, 1, 0, None, places, None, doing="starting a kernel")

    # --- memory -------------------------------------------------------------------------------------------------
    def allocate(self, size: int) -> _GpuBlock:
        """Allocate device memory."""
        return _GpuBlock(self, size)

    def give_back(self, address: int) -> None:
        """Free device memory."""
        with suppress(DeviceError), self.current() as call:  # the driver may have been shut down
            call("cuMemFreeAsync", address, None)

    def free_memory(self) -> int:
        """Free device memory in bytes."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        with self.current() as call:
            call("cuMemGetInfo_v2", free, total)
        return int(free.value)

    def to_device(self, address: int, array: np.ndarray[Any, Any]) -> None:
        """Copy to the device."""
        with self.current() as call:
            call("cuMemcpyHtoDAsync_v2", address, array.ctypes.data, array.nbytes, None)

    def to_host(self, array: np.ndarray[Any, Any], address: int) -> None:
        """Copy from the device."""
        with self.current() as call:
            call("cuMemcpyDtoHAsync_v2", array.ctypes.data, address, array.nbytes, None)

    def clear(self, address: int, size: int) -> None:
        """Set bytes to zero."""
        with self.current() as call:
            call("cuMemsetD8Async", address, 0, size, None)

    def refuse_foreign(self, address: int, name: str) -> None:
        """Raise InputError if an address is not in the memory of this device."""
        value = ctypes.c_int(-1)
        try:
            with self.current() as call:
                call("cuPointerGetAttribute", ctypes.byref(value), _ORDINAL, address)
        except DeviceError as error:
            raise InputError(f"{name} is not in the memory of {self.name}: {error}", field=name) from None
        if value.value != self._number:
            raise InputError(f"{name} is on device cuda:{value.value}; this Dynamics uses {self.name}", field=name)

    # --- streams ------------------------------------------------------------------------------------------------
    def wait(self) -> None:
        """Block until the default stream is idle."""
        with self.current() as call:
            call("cuStreamSynchronize", None, doing="waiting for a kernel")

    def follow(self, stream: int, other: int) -> None:
        """Make a stream wait for the present work of another stream."""
        event = ctypes.c_void_p()
        with self.current() as call:
            call("cuEventCreate", event, _NO_TIMING)
            try:
                call("cuEventRecord", event, other, doing="waiting for the stream of an array")
                call("cuStreamWaitEvent", stream, event, 0)
            finally:
                call("cuEventDestroy_v2", event)
