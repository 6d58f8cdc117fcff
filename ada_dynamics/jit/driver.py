# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's driver as C functions: found in the system, checked for its age, its results turned into errors.

The driver comes with every graphics processor that computes; neither a toolkit nor another package is needed.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p
from functools import lru_cache
from typing import Any, NoReturn

from ada_dynamics.errors import DeviceError, DeviceMemoryError, DriverTooOldError, NoDeviceError

OLDEST = 11020  # the first with memory that streams give and take: CUDA 11.2
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
# Each by its name in the driver's library, whose versions keep what they once had.
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
    "cuStreamCreate": (_OUT, c_uint),
    "cuStreamSynchronize": (_PTR,),
    "cuStreamWaitEvent": (_PTR, _PTR, c_uint),
    "cuEventCreate": (_OUT, c_uint),
    "cuEventRecord": (_PTR, _PTR),
    "cuEventDestroy_v2": (_PTR,),
    "cuMemGetInfo_v2": (POINTER(c_size_t), POINTER(c_size_t)),
    "cuMemAllocAsync": (POINTER(_ADDRESS), c_size_t, _PTR),
    "cuMemFreeAsync": (_ADDRESS, _PTR),
    "cuMemAllocHost_v2": (_OUT, c_size_t),
    "cuMemFreeHost": (_PTR,),
    "cuMemcpyHtoDAsync_v2": (_ADDRESS, _PTR, c_size_t, _PTR),
    "cuMemcpyDtoHAsync_v2": (_PTR, _ADDRESS, c_size_t, _PTR),
    "cuMemsetD8Async": (_ADDRESS, c_ubyte, c_size_t, _PTR),
    "cuPointerGetAttribute": (_PTR, c_int, _ADDRESS),
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuGetErrorString": (c_int, POINTER(c_char_p)),
}


class Driver:
    """The functions, each under its name without versions; they raise what is not a success."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._functions: dict[str, Any] = {}

    def __call__(self, name: str, *arguments: Any, doing: str = "") -> None:
        """Call a function; an error mentions `doing`."""
        result = self._function(name)(*arguments)
        if result:
            self.fail(result, name, doing)

    def _function(self, name: str) -> Any:
        if name not in self._functions:
            try:
                function = getattr(self._library, name)
            except AttributeError:
                raise DriverTooOldError(f"the driver has no {name}; {_UPDATE}.") from None
            function.argtypes, function.restype = _FUNCTIONS[name], c_int
            self._functions[name] = function
        return self._functions[name]

    def fail(self, result: int, name: str, doing: str) -> NoReturn:
        """Raise the error of a result."""
        word, text = c_char_p(), c_char_p()
        self._function("cuGetErrorName")(result, word)
        self._function("cuGetErrorString")(result, text)
        raise error_of(result, name, (word.value or b"").decode(), (text.value or b"").decode(), doing)


_NEEDED = f"CUDA {OLDEST // 1000}.{OLDEST % 1000 // 10} or newer is needed"
_UPDATE = f"{_NEEDED}: update the driver, `nvidia-smi` shows its version"


def error_of(result: int, function: str, word: str, text: str, doing: str) -> DeviceError:
    """The error of a result of the driver."""
    kind = _ERRORS.get(result, DeviceError)
    more = f" {_UPDATE}." if kind is DriverTooOldError else ""
    where = f"{doing}: " if doing else ""
    return kind(f"{where}the driver's {function} gave {word or result} ({text or 'no such result is known'}).{more}")


def require(version: int) -> None:
    """Raise where the driver's version, 12040 for 12.4, is too old."""
    if version < OLDEST:
        raise DriverTooOldError(f"the driver is for CUDA {version // 1000}.{version % 1000 // 10}; {_UPDATE}.")


@lru_cache(maxsize=1)
def driver() -> Driver:
    """The driver of this machine, ready.

    Raises:
        NoDeviceError: there is none.
        DriverTooOldError: it is too old.
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
        found("cuInit", 0, doing="starting the driver of the graphics processor")
        return found
    looked = " or ".join(names) or f"(there is none for {sys.platform})"
    raise NoDeviceError(
        f"no driver of a graphics processor is found: {looked}. device='cuda' needs a processor of NVIDIA's and its "
        "driver; without device the same is computed here."
    )
