# SPDX-License-Identifier: Apache-2.0
"""The call from Python into a kernel: a builtin function made at run time, so that no wrapper costs time.

Mode "struct", the default, reads the fields of numpy's documented PyArrayObject, as the macros of its C interface do in
every extension module; a self-test compares them with what numpy says, and without its consent mode "buffer" is used,
which goes through the buffer protocol of Python and is slower. Where even that cannot be, calls stay plain Python.
"""

from __future__ import annotations

import ctypes
import inspect
import logging
import os
import struct
import sys
import sysconfig
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ada_dynamics.errors import InputError
from ada_dynamics.jit import compiler
from ada_dynamics.jit.boundary_arguments import CONTEXT, EXPORTS, SYMBOLS, Layout, arguments_module
from ada_dynamics.jit.boundary_text import ENTRY, boundary_module
from ada_dynamics.jit.native import Entry, obtain
from ada_dynamics.jit.signature import Signature
from ada_dynamics.jit.target import Target

_log = logging.getLogger("ada_dynamics")

MODES = ("buffer", "struct")
_METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002
# Position of PyArray_New in numpy's documented table of C functions.
_PYARRAY_NEW = 93
_CALL_NAME = sys.intern("__call__")

_lock = threading.Lock()
_loaded: dict[object, compiler.Library] = {}


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class Bound(tuple[Any, ...]):
    """Context of a builtin's code: (context, general, owner). The function holds it, and nothing else has to."""

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process goes the object whose method it is: there it gives the builtin anew."""
        return _itself, (self[1].__self__,)


def _itself(owner: Any) -> Any:
    return owner


def make_builtin(
    signature: Signature,
    entry: Entry,
    general: Callable[..., Any],
    mode: str | None = None,
    parameters: Sequence[str] | None = None,
    record: type[tuple[Any, ...]] | None = None,
) -> Callable[..., Any]:
    """A builtin that runs a kernel on float64 vectors, or rows of them, and hands every other call to `general`.

    Where no builtin can be made (`is_possible`), this is `general` itself. No kernel is compiled here: states and
    batches go to `general` until it has run the kernel on one of their kind.

    Args:
        signature: of the kernel.
        entry: where its code begins, once there is some.
        general: the way of all other calls.
        mode: see `choose_mode`.
        parameters: names of the arguments, to take keywords, lists, float32, int64, strided arrays and classes derived
            from arrays, too; one more than there are inputs, if there is a last one that may be None. Without them
            these are for `general` to judge.
        record: named tuple of the results, where there are several; a plain one where not given.
    """
    if not is_possible():
        return general
    sizes = tuple(size for _, size in signature.inputs)
    shapes = tuple(shape for _, shape in signature.outputs)
    library = _library(sizes, shapes, choose_mode(mode))
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
        "spares": [None] * (2 * len(shapes)),
    }
    addresses = {name: id(value) for name, value in objects.items()}
    addresses |= {"entry": ctypes.addressof(entry), "array_new": _numpy_function(_PYARRAY_NEW)}
    if names is None:
        addresses["names"] = 0
    if record is None:
        addresses["record_type"] = 0
    context = struct.pack(f"{len(CONTEXT)}P", *(addresses[name] for name in CONTEXT))
    name, text = _described(signature, general if parameters is not None else None)
    method = _MethodDef(name.encode(), library.address(ENTRY), _METH_FASTCALL_KEYWORDS, text.encode())
    own = Bound((context, general, (method, library, entry, objects)))
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.POINTER(_MethodDef), ctypes.py_object, ctypes.py_object]
    home = __name__ if parameters is None else getattr(general, "__module__", __name__)
    builtin: Callable[..., Any] = new(ctypes.byref(method), own, home)
    return builtin


def _described(signature: Signature, general: Callable[..., Any] | None) -> tuple[str, str]:
    """Name and text of a builtin: those of the function that it stands for, as `help` shows them."""
    if general is None:
        arguments = ", ".join(name for name, _ in signature.inputs)
        return signature.name, f"{signature.name}({arguments})\n--\n\nCompiled kernel."
    plain = [p.replace(annotation=p.empty) for p in inspect.signature(general).parameters.values()]
    name = general.__name__
    return name, f"{name}{inspect.Signature(plain)}\n--\n\n{inspect.getdoc(general) or 'Compiled kernel.'}"


def choose_mode(mode: str | None = None) -> str:
    """The wanted mode, or "buffer" where "struct" is wanted and this interpreter is not as expected."""
    wanted = mode or os.environ.get("ADA_BOUNDARY") or "struct"
    if wanted not in MODES:
        raise InputError(f"there is no boundary mode {wanted!r}; choose one of {list(MODES)}", field="mode")
    if wanted == "struct" and not struct_is_as_expected():
        return "buffer"
    return wanted


def layout() -> Layout:
    """Offsets in an array object: its fields follow the object header, whatever the size of that is."""
    header = object.__basicsize__
    return Layout(header, header + 8, header + 16, header + 24, header + 40, header + 48, header + 56)


@lru_cache(maxsize=1)
def is_possible() -> bool:
    """True if this interpreter has what builtins made at run time need; the log says what it lacks."""
    problem = problem_of_builtins(layout())
    if problem:
        _log.warning("every call goes through Python, which takes some microseconds: %s", problem)
    return problem is None


def problem_of_builtins(where: Layout, symbols: Sequence[str] = SYMBOLS) -> str | None:
    """Why no builtin can be made, for arrays whose fields are there."""
    if sys.implementation.name != "cpython":
        return f"the interpreter is {sys.implementation.name}"
    if struct.calcsize("P") != 8:
        return "this is not a 64-bit process"
    missing = [name for name in symbols if not hasattr(ctypes.pythonapi, name)]
    if missing:
        return f"this Python has no {', '.join(missing)}"
    array = np.zeros(7)
    found = ctypes.c_uint64.from_address(id(array) + where.data).value
    return None if found == array.ctypes.data else "arrays of this numpy have their data elsewhere"


@lru_cache(maxsize=1)
def struct_is_as_expected() -> bool:
    """Read sample arrays the way the "struct" mode does and compare with what numpy says."""
    problem = problem_of_struct(layout())
    if problem:
        _log.warning("the struct call boundary is not used: %s", problem)
    return problem is None


def problem_of_struct(where: Layout) -> str | None:
    """Why arrays cannot be read as if their fields were there."""
    if not is_possible():
        return "no builtin can be made"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "this Python has no global interpreter lock"
    for array in (np.zeros(7), np.zeros((3, 5)), np.zeros(8)[::2], np.zeros(4, dtype=np.float32), np.zeros(0)):
        base = id(array)
        watch, count = weakref.ref(array), ctypes.c_uint32.from_address(base).value
        more = [array] * 5
        dims = ctypes.c_uint64.from_address(base + where.dims).value
        shape = tuple((ctypes.c_int64 * array.ndim).from_address(dims)) if dims else ()
        steps = ctypes.c_uint64.from_address(base + where.strides).value
        strides = tuple((ctypes.c_int64 * array.ndim).from_address(steps)) if steps else ()
        found = (
            ctypes.c_uint64.from_address(base + 8).value,
            ctypes.c_uint64.from_address(base + where.data).value,
            ctypes.c_int.from_address(base + where.ndim).value,
            shape,
            strides,
            ctypes.c_uint64.from_address(base + where.dtype).value,
            ctypes.c_int.from_address(base + where.flags).value,
            ctypes.c_uint32.from_address(base).value - count,
            ctypes.c_uint64.from_address(base + where.weak).value,
        )
        expected = (
            id(np.ndarray),
            array.ctypes.data,
            array.ndim,
            array.shape,
            array.strides,
            id(array.dtype),
            array.flags.num,
            len(more),
            id(watch),
        )
        if found != expected:
            return f"numpy's array structure reads {found} where {expected} was expected"
    return None


def _library(sizes: tuple[int, ...], shapes: tuple[tuple[int, ...], ...], mode: str) -> compiler.Library:
    """Code for some sizes, shared by every kernel that has them."""
    with _lock:
        key = (sizes, shapes, mode)
        if key not in _loaded:
            shared = _loaded.get(mode)
            if shared is None:
                letter = np.zeros(0, dtype=np.int64).data.format
                make = partial(arguments_module, mode, layout(), letter)
                shared = _loaded[mode] = _compiled(mode, make, EXPORTS, {}, level=0)
            symbols = {name: shared.address(name) for name in EXPORTS}
            _loaded[key] = _compiled(key, partial(boundary_module, *key, layout()), [ENTRY], symbols)
        return _loaded[key]


def _compiled(
    key: object, make: Callable[[], str], exports: Sequence[str], symbols: dict[str, int], level: int = 2
) -> compiler.Library:
    text = f"boundary|{key}|{sys.implementation.cache_tag}|numpy {np.lib.NumpyVersion(np.__version__).major}"
    code, _ = obtain(text, "boundary", lambda: (make(), {}), Target.host(), level)
    return compiler.load(code, exports, {**compiler.python_symbols(SYMBOLS), **symbols})


@lru_cache(maxsize=4)
def _numpy_function(index: int) -> int:
    """Address of a function in numpy's C table (the one that `import_array` hands to extensions)."""
    core: Any = np._core if hasattr(np, "_core") else np.core
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = ctypes.c_void_p
    pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    table = pointer(core.multiarray._ARRAY_API, None)
    assert table is not None
    address = ctypes.c_void_p.from_address(table + index * ctypes.sizeof(ctypes.c_void_p)).value
    assert address is not None
    return address
