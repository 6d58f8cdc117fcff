# SPDX-License-Identifier: Apache-2.0
"""Calls from Python into kernels: builtin functions, generated at run time, that add some 35 ns to a kernel.

A builtin runs the kernel on float64 arrays. Float32, int64 and strided arrays and lists are first copied to float64
vectors. Every other call is passed to a Python function, which converts the arguments or raises an error. Vectors are
one state; matrices are a batch, for which the interpreter lock is released.

`builtin_code` writes their code. Arrays are read by the fields of numpy's documented PyArrayObject, as the macros of
its C interface do. A self-test compares these fields with numpy's attributes; if it fails, all calls use Python, which
takes some microseconds. (Calls through the buffer protocol take three times as long for a PA-10.)

`self` of a builtin is a tuple (context, general, owner), where context is a bytes object with the addresses listed in
CONTEXT, so that no address is part of the code, which is cached on disk.
"""

from __future__ import annotations

import ctypes
import inspect
import logging
import struct
import sys
import sysconfig
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ada_dynamics.jit import compiler
from ada_dynamics.jit.builtin_code import BUILTIN, builtin_text
from ada_dynamics.jit.native import KernelAddresses, Module, obtain
from ada_dynamics.jit.python_objects import CONTEXT, EXPORTS, SYMBOLS, array_fields, shared_text
from ada_dynamics.jit.signature import Signature
from ada_dynamics.jit.target import Target

_log = logging.getLogger("ada_dynamics")

_METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002
_PYARRAY_NEW = 93  # index of PyArray_New in numpy's documented table of C functions
_CALL_NAME = sys.intern("__call__")

_lock = threading.Lock()
_loaded: dict[object, compiler.Library] = {}


# --- builtin functions ------------------------------------------------------------------------------------------------
class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class _Self(tuple[Any, ...]):
    """`self` of a builtin: (context, general, owner of all referenced objects)."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the object whose method `general` is: its attribute of the same name creates the builtin again."""
        return _identity, (self[1].__self__,)


def _identity(owner: Any) -> Any:
    return owner


def make_builtin(
    signature: Signature,
    entry: KernelAddresses,
    general: Callable[..., Any],
    parameters: Sequence[str] | None = None,
    record: type[tuple[Any, ...]] | None = None,
) -> Callable[..., Any]:
    """Create a builtin that runs a kernel on float64 vectors or matrices of rows; `general` if it cannot be created.

    The kernel is not compiled here: calls are passed to `general` until the entry has an address.

    Args:
        signature: names and sizes of the kernel.
        entry: addresses of the compiled code.
        general: function for all other calls.
        parameters: names of the arguments, to accept keywords, lists, and float32, int64, strided and derived arrays;
            there may be one name more than inputs, for an argument that is absent or None. Without names such calls are
            passed to `general`.
        record: named tuple of the results if there are several; a plain tuple by default.
    """
    if not is_available():
        return general
    library = _library(tuple(size for _, size in signature.inputs), tuple(shape for _, shape in signature.outputs))
    names = None if parameters is None else tuple(map(sys.intern, parameters))
    objects = {
        "array_type": np.ndarray,
        "double_type": np.dtype(np.float64),
        "single_type": np.dtype(np.float32),
        "int64_type": np.dtype(np.int64),
        "call_name": _CALL_NAME,
        "names": names,
        "none": None,
        "list_type": list,
        "tuple_type": tuple,
        "float_type": float,
        "int_type": int,
        "record_type": record,
        "tuple_new": tuple.__new__,
        "spares": [None] * (2 * len(signature.outputs)),
    }
    addresses = {name: id(value) for name, value in objects.items()}
    addresses |= {name: 0 for name in ("names", "record_type") if objects[name] is None}
    addresses |= {"entry": ctypes.addressof(entry), "array_new": _numpy_function(_PYARRAY_NEW)}
    context = struct.pack(f"{len(CONTEXT)}P", *(addresses[name] for name in CONTEXT))
    name, text = _described(signature, general if parameters is not None else None)
    method = _MethodDef(name.encode(), library.address(BUILTIN), _METH_FASTCALL_KEYWORDS, text.encode())
    own = _Self((context, general, (method, library, entry, objects)))
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.POINTER(_MethodDef), ctypes.py_object, ctypes.py_object]
    module = __name__ if parameters is None else getattr(general, "__module__", __name__)
    builtin: Callable[..., Any] = new(ctypes.byref(method), own, module)
    return builtin


def _described(signature: Signature, general: Callable[..., Any] | None) -> tuple[str, str]:
    """Name and docstring of a builtin, taken from `general` if it is given."""
    if general is None:
        arguments = ", ".join(name for name, _ in signature.inputs)
        return signature.name, f"{signature.name}({arguments})\n--\n\nCompiled kernel."
    plain = [p.replace(annotation=p.empty) for p in inspect.signature(general).parameters.values()]
    name = general.__name__
    return name, f"{name}{inspect.Signature(plain)}\n--\n\n{inspect.getdoc(general) or 'Compiled kernel.'}"


def _library(sizes: tuple[int, ...], shapes: tuple[tuple[int, ...], ...]) -> compiler.Library:
    """Code of a builtin, shared by all kernels with the same sizes."""
    with _lock:
        key = (sizes, shapes)
        if key not in _loaded:
            if "shared" not in _loaded:
                _loaded["shared"] = _compiled("shared", shared_text, EXPORTS, {})
            symbols = {name: _loaded["shared"].address(name) for name in EXPORTS}
            _loaded[key] = _compiled(key, partial(builtin_text, *key), [BUILTIN], symbols)
        return _loaded[key]


def _compiled(
    key: object, make: Callable[[], str], exports: Sequence[str], symbols: dict[str, int]
) -> compiler.Library:
    text = f"builtin|{key}|{sys.implementation.cache_tag}|numpy {np.lib.NumpyVersion(np.__version__).major}"
    code, _ = obtain(text, "builtin", lambda: Module(make()), Target.host(), level=0)
    return compiler.load(code, exports, {**compiler.python_symbols(SYMBOLS), **symbols})


@lru_cache(maxsize=4)
def _numpy_function(index: int) -> int:
    """Address of a function in numpy's C table (the one that `import_array` reads)."""
    core: Any = np._core if hasattr(np, "_core") else np.core
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = ctypes.c_void_p
    pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    table = pointer(core.multiarray._ARRAY_API, None)
    assert table is not None
    address = ctypes.c_void_p.from_address(table + index * ctypes.sizeof(ctypes.c_void_p)).value
    assert address is not None
    return address


# --- self-test --------------------------------------------------------------------------------------------------------
@lru_cache(maxsize=1)
def is_available() -> bool:
    """Return True if this interpreter allows builtins; otherwise log the reason."""
    problem = reason_unavailable()
    if problem:
        _log.warning("calls use Python, which takes some microseconds: %s", problem)
    return problem is None


def reason_unavailable(fields: dict[str, int] | None = None, symbols: Sequence[str] = SYMBOLS) -> str | None:
    """Reason why builtins cannot be used with these fields of arrays and functions of Python; None if they can."""
    if sys.implementation.name != "cpython":
        return f"the interpreter is {sys.implementation.name}"
    if struct.calcsize("P") != 8:
        return "this is not a 64-bit process"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "this Python has no global interpreter lock"
    missing = [name for name in symbols if not hasattr(ctypes.pythonapi, name)]
    if missing:
        return f"this Python lacks {', '.join(missing)}"
    return _difference_of_fields(fields or array_fields())


def _difference_of_fields(fields: dict[str, int]) -> str | None:
    """First difference between the fields of sample arrays and their attributes."""
    for array in (np.zeros(7), np.zeros((3, 5)), np.zeros(8)[::2], np.zeros(4, dtype=np.float32), np.zeros(0)):
        base = id(array)
        watch, count = weakref.ref(array), ctypes.c_uint32.from_address(base).value
        references = [array] * 5

        def read(name: str, base: int = base) -> int:
            return ctypes.c_uint64.from_address(base + fields[name]).value

        if read("data") != array.ctypes.data:  # before other fields are used as pointers
            return "the data pointer of numpy arrays is at another offset"
        numbers = ctypes.c_int64 * array.ndim
        found = (
            ctypes.c_uint64.from_address(base + 8).value,
            ctypes.c_int.from_address(base + fields["ndim"]).value,
            tuple(numbers.from_address(read("dims"))) if read("dims") else (),
            tuple(numbers.from_address(read("strides"))) if read("strides") else (),
            read("dtype"),
            ctypes.c_int.from_address(base + fields["flags"]).value,
            ctypes.c_uint32.from_address(base).value - count,
            read("weak"),
        )
        expected = (id(np.ndarray), array.ndim, array.shape, array.strides, id(array.dtype), array.flags.num)
        if found != (*expected, len(references), id(watch)):
            return f"fields of numpy arrays are {found}, expected {(*expected, len(references), id(watch))}"
    return None
