# SPDX-License-Identifier: Apache-2.0
"""Functions of the system's C library that LLVM itself puts in, for copies and zeros, and what Windows adds."""

from __future__ import annotations

import ctypes
import sys
from functools import lru_cache
from typing import Any

from ada_dynamics.errors import CompileError

_COPIES = ("memcpy", "memmove", "memset")
# By `sys.platform`: names as C has them, and the library that has them all, None for this process.
CALLED: dict[str, tuple[tuple[str, ...], str | None]] = {
    "linux": (_COPIES, None),
    # Zeros have functions of their own there, another one on each processor.
    "darwin": ((*_COPIES, "bzero", "__bzero"), None),
    # A function with more than a page of numbers of its own asks for its pages one by one.
    "win32": ((*_COPIES, "__chkstk"), "ntdll"),
}
# A mark that objects with floating-point numbers carry on Windows: nobody reads what is there.
_MARK = ctypes.c_int()
MARKS = {"win32": {"_fltused": ctypes.addressof(_MARK)}}


@lru_cache(maxsize=1)
def c_library() -> dict[str, int]:
    """Addresses, by name, on the system at hand."""
    names, library = CALLED.get(sys.platform, CALLED["linux"])
    loaded = ctypes.CDLL(library)
    found = {name: address(getattr(loaded, name)) for name in names if hasattr(loaded, name)}
    return found | MARKS.get(sys.platform, {})


def address(function: Any) -> int:
    """Where a function of ctypes begins."""
    found = ctypes.cast(function, ctypes.c_void_p).value
    if found is None:
        raise CompileError(f"this process has no C function {function}")
    return found
