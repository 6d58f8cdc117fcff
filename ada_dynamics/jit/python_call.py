# SPDX-License-Identifier: Apache-2.0
"""Calls from Python into kernels: builtin functions, generated at run time, that add some 35 ns to a kernel.

A builtin runs the kernel on float64 arrays. Float32, int64 and strided arrays and lists are first copied to float64
vectors. Every other call is passed to a Python function, which converts the arguments or raises an error. Vectors are
one state; matrices are a batch, for which the interpreter lock is released.

Arrays are read by the fields of numpy's documented PyArrayObject, as the macros of its C interface do. A self-test
compares these fields with numpy's attributes; if it fails, all calls use Python, which takes some microseconds. (Calls
through the buffer protocol take three times as long for a PA-10.)

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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from math import prod
from typing import Any

import numpy as np

from ada_dynamics.jit import compiler
from ada_dynamics.jit.lowering import Instructions
from ada_dynamics.jit.native import KernelAddresses, Module, obtain
from ada_dynamics.jit.signature import Signature
from ada_dynamics.jit.target import Target

_log = logging.getLogger("ada_dynamics")

BUILTIN = "builtin"  # name of the generated function
REUSABLE_SIZE = 512  # results with at most so many numbers are reused
_METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002
_PYARRAY_NEW = 93  # index of PyArray_New in numpy's documented table of C functions
_CALL_NAME = sys.intern("__call__")
_NPY_DOUBLE = 12
_CONTIGUOUS, _ALIGNED = 0x1, 0x100  # NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_ALIGNED
_NEW_FLAGS = 0x505  # these, NPY_ARRAY_OWNDATA and NPY_ARRAY_WRITEABLE

# Words of a context. "names" is a tuple of parameter names, or null if only positional arrays are accepted;
# "record_type" is a class derived from tuple, or null for plain tuples; "spares" is a list of two arrays per output.
CONTEXT = (
    "entry",
    "array_new",
    "array_type",
    "double_type",
    "single_type",
    "int64_type",
    "call_name",
    "names",
    "none",
    "list_type",
    "tuple_type",
    "float_type",
    "int_type",
    "record_type",
    "tuple_new",
    "spares",
)
# Offsets of the fields of PyArrayObject behind the object header.
_FIELDS = {"data": 0, "ndim": 8, "dims": 16, "strides": 24, "dtype": 40, "flags": 48, "weak": 56}

_API = """\
declare ptr @PyBytes_AsString(ptr)
declare void @PyErr_Clear()
declare ptr @PyErr_Occurred()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyEval_SaveThread()
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyList_GetItem(ptr, i64)
declare i32 @PyList_SetItem(ptr, i64, ptr)
declare ptr @PyObject_CallFunctionObjArgs(ptr, ...)
declare i32 @PyObject_IsInstance(ptr, ptr)
declare i64 @PyObject_Size(ptr)
declare ptr @PyObject_VectorcallMethod(ptr, ptr, i64, ptr)
declare ptr @PySequence_GetItem(ptr, i64)
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare i64 @PyTuple_Size(ptr)
declare i32 @PyType_IsSubtype(ptr, ptr)
declare i32 @PyUnicode_Compare(ptr, ptr)
declare void @Py_DecRef(ptr)
declare void @Py_IncRef(ptr)
"""
SYMBOLS = tuple(line.split("@")[1].split("(")[0] for line in _API.splitlines())
_INTRINSICS = """\
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""
# Functions that all builtins share: their return types and parameters.
_SHARED = {
    "call_general": ("ptr", "ptr %self, ptr %args, i64 %nargs, ptr %kwnames"),
    "arranged": ("i1", "ptr %context, ptr %args, i64 %nargs, ptr %kwnames, ptr %given, i64 %wanted"),
    "numbers": ("ptr", "ptr %context, ptr %object, i64 %size, ptr %buffer"),
    "result": ("ptr", "ptr %context, i64 %first, i32 %rank, ptr %dims"),
}
EXPORTS = tuple(_SHARED)
_PARAMETERS = "ptr %self, ptr %args, i64 %nargs, ptr %kwnames"

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


def array_fields() -> dict[str, int]:
    """Offsets of the fields of an array object, for any size of the object header."""
    return {name: object.__basicsize__ + offset for name, offset in _FIELDS.items()}


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


# --- code -------------------------------------------------------------------------------------------------------------
class _Code(Instructions):
    """Instructions that read objects of Python; %context is the context of the builtin."""

    def __init__(self) -> None:
        super().__init__()
        self.fields = array_fields()

    def at(self, pointer: str, offset: int | str, kind: str = "ptr") -> str:
        """Load the value at a byte offset."""
        return self.emit(f"load {kind}, ptr {self.element(pointer, offset, 'i8')}")

    def field(self, array: str, name: str, kind: str = "ptr") -> str:
        """Load a field of an array."""
        return self.at(array, self.fields[name], kind)

    def context(self, name: str) -> str:
        """Load a word of the context."""
        return self.at("%context", 8 * CONTEXT.index(name))

    def is_equal(self, kind: str, a: str, b: str | int) -> str:
        """i1: whether two values are equal."""
        return self.emit(f"icmp eq {kind} {a}, {b}")

    def both(self, first: str, *conditions: str) -> str:
        """i1: logical and of all conditions."""
        for condition in conditions:
            first = self.emit(f"and i1 {first}, {condition}")
        return first

    def go_unless(self, condition: str, label: str) -> None:
        """Branch to a block if the i1 is false."""
        after = self.new_label()
        self.fork(condition, after, label)
        self.label(after)

    @contextmanager
    def leaving_if(self, condition: str) -> Iterator[None]:
        """Execute the lines within, which end in a return or a jump, if the i1 is true."""
        leave, after = self.new_label(), self.new_label()
        self.fork(condition, leave, after)
        self.label(leave)
        yield
        self.label(after)

    def has_flags(self, array: str, flags: int) -> str:
        """i1: whether an array has all flags."""
        found = self.emit(f"and i32 {self.field(array, 'flags', 'i32')}, {flags}")
        return self.is_equal("i32", found, flags)

    def is_instance(self, value: str, of: str) -> str:
        """i1: whether an object is an instance of a type of the context."""
        found = self.emit(f"call i32 @PyObject_IsInstance(ptr {value}, ptr {self.context(of)})")
        return self.is_equal("i32", found, 1)

    def new_array(self, rank: int | str, dims: str) -> str:
        """Create a float64 array."""
        return self.emit(
            f"call ptr {self.context('array_new')}(ptr {self.context('array_type')}, i32 {rank}, ptr {dims}, "
            f"i32 {_NPY_DOUBLE}, ptr null, ptr null, i32 0, i32 0, ptr null)"
        )

    def function(self, name: str, kind: str, parameters: str, attributes: str = "", internal: bool = False) -> str:
        """Definition of a function with these instructions."""
        linkage = "internal " if internal else ""
        return f"define {linkage}{kind} @{name}({parameters}) {attributes} nounwind {{\n{self}\n}}\n"


def _context_of(code: _Code) -> None:
    code.do("%bytes = call ptr @PyTuple_GetItem(ptr %self, i64 0)")
    code.do("%context = call ptr @PyBytes_AsString(ptr %bytes)")


def shared_text() -> str:
    """Module with the functions in EXPORTS, which do not depend on the sizes of a kernel."""
    writers = {"call_general": _call_general, "arranged": _arrange, "numbers": _numbers, "result": _result}
    texts = [_array_numbers(), _list_numbers()]
    for name, (kind, parameters) in _SHARED.items():
        code = _Code()
        writers[name](code)
        texts.append(code.function(name, kind, parameters))
    return _API + _INTRINSICS + "".join(texts)


def _call_general(code: _Code) -> None:
    """general(*args, **kwargs).

    The arguments are moved by one, because PyObject_VectorcallMethod(name="__call__") is the documented vectorcall of
    every supported Python, and expects the callable before them.
    """
    _context_of(code)
    general = code.emit("call ptr @PyTuple_GetItem(ptr %self, i64 1)")
    total = code.variable("i64", "%nargs")
    with code.when(code.emit("icmp ne ptr %kwnames, null")):
        total.update("add", code.emit("call i64 @PyTuple_Size(ptr %kwnames)"))
    size = total.get()
    moved = code.emit(f"alloca ptr, i64 {code.emit(f'add i64 {size}, 1')}")
    code.do(f"store ptr {general}, ptr {moved}")
    rest, count = code.element(moved, 1, "ptr"), code.emit(f"mul i64 {size}, 8")
    code.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {rest}, ptr %args, i64 {count}, i1 false)")
    arguments = f"ptr {code.context('call_name')}, ptr {moved}, i64 {code.emit('add i64 %nargs, 1')}, ptr %kwnames"
    code.do(f"ret ptr {code.emit(f'call ptr @PyObject_VectorcallMethod({arguments})')}")


def _arrange(code: _Code) -> None:
    """Write the arguments in order to `given`; return true if only the optional last one is absent or None."""
    names = code.context("names")
    total = code.emit(f"call i64 @PyTuple_Size(ptr {names})")
    code.leave_if(code.emit(f"icmp sgt i64 %nargs, {total}"), "false", "i1")
    buffer = code.emit(f"mul i64 {code.emit('add i64 %wanted, 1')}, 8")
    code.do(f"call void @llvm.memset.p0.i64(ptr %given, i8 0, i64 {buffer}, i1 false)")
    positional = code.emit("mul i64 %nargs, 8")
    code.do(f"call void @llvm.memcpy.p0.p0.i64(ptr %given, ptr %args, i64 {positional}, i1 false)")
    with code.when(code.emit("icmp ne ptr %kwnames, null")):
        keywords = code.emit("call i64 @PyTuple_Size(ptr %kwnames)")
        with code.repeat(keywords) as j:
            keyword = code.emit(f"call ptr @PyTuple_GetItem(ptr %kwnames, i64 {j})")
            place = code.variable("i64", "%nargs")

            def is_another(place: Any = place, keyword: str = keyword) -> str:
                inside = code.emit(f"icmp slt i64 {place.get()}, {total}")
                name = code.emit(f"select i1 {inside}, i64 {place.get()}, i64 0")
                own = code.emit(f"call ptr @PyTuple_GetItem(ptr {names}, i64 {name})")
                order = code.emit(f"call i32 @PyUnicode_Compare(ptr {own}, ptr {keyword})")
                return code.both(inside, code.emit(f"icmp ne i32 {order}, 0"))

            with code.loop(is_another):
                place.update("add", "1")
            code.leave_if(code.is_equal("i64", place.get(), total), "false", "i1")
            value = code.entry("ptr", "%args", code.emit(f"add i64 %nargs, {j}"))
            code.do(f"store ptr {value}, ptr {code.element('%given', place.get(), 'ptr')}")
    with code.repeat("%wanted") as i:
        code.leave_if(code.is_equal("ptr", code.entry("ptr", "%given", i), "null"), "false", "i1")
    extra = code.entry("ptr", "%given", "%wanted")
    absent, none = code.is_equal("ptr", extra, "null"), code.is_equal("ptr", extra, code.context("none"))
    code.do(f"ret i1 {code.emit(f'or i1 {absent}, {none}')}")


def _numbers(code: _Code) -> None:
    """Doubles of an argument, in place if they are contiguous, else in `buffer`; null if it is no such vector."""
    arguments = _SHARED["numbers"][1]
    array = code.emit(f"call ptr @array_numbers({arguments})")
    code.leave_if(code.emit(f"icmp ne ptr {array}, null"), array, "ptr")
    code.do(f"ret ptr {code.emit(f'call ptr @list_numbers({arguments})')}")


def _array_numbers() -> str:
    """Doubles of an array of doubles, floats or 64-bit integers, or of a class derived from arrays."""
    code, (_, parameters) = _Code(), _SHARED["numbers"]
    kind = code.at("%object", 8)
    derived = code.emit(f"call i32 @PyType_IsSubtype(ptr {kind}, ptr {code.context('array_type')})")
    code.leave_if(code.is_equal("i32", derived, 0), "null", "ptr")
    is_vector = code.is_equal("i32", code.field("%object", "ndim", "i32"), 1)
    usable = code.both(is_vector, code.has_flags("%object", _ALIGNED))
    code.leave_if(code.emit(f"xor i1 {usable}, true"), "null", "ptr")
    size = code.entry("i64", code.field("%object", "dims"), 0)
    code.leave_if(code.emit(f"icmp ne i64 {size}, %size"), "null", "ptr")
    data, dtype = code.field("%object", "data"), code.field("%object", "dtype")
    is_double = code.is_equal("ptr", dtype, code.context("double_type"))
    code.leave_if(code.both(is_double, code.has_flags("%object", _CONTIGUOUS)), data, "ptr")
    stride, found = code.entry("i64", code.field("%object", "strides"), 0), code.variable("ptr", "null")
    for name, element, convert in (
        ("double", "double", ""),
        ("single", "float", "fpext float {} to double"),
        ("int64", "i64", "sitofp i64 {} to double"),
    ):
        with code.when(code.is_equal("ptr", dtype, code.context(f"{name}_type"))):
            with code.repeat("%size") as i:
                value = code.at(data, code.emit(f"mul i64 {i}, {stride}"), element)
                code.store("double", code.emit(convert.format(value)) if convert else value, "%buffer", i)
            found.set("%buffer")
    code.do(f"ret ptr {found.get()}")
    return code.function("array_numbers", "ptr", parameters, internal=True)


def _list_numbers() -> str:
    """Doubles of a list or tuple of floats and ints (and derived classes: bool, numpy.float64); no text, no None.

    The code owns a reference to each item while it is read, because another thread may change the list.
    """
    code, (_, parameters) = _Code(), _SHARED["numbers"]
    fail = code.new_label()
    is_list = code.variable("i1", code.is_instance("%object", "list_type"))
    with code.when(code.emit(f"xor i1 {is_list.get()}, true")):
        is_list.set(code.is_instance("%object", "tuple_type"))
    code.go_unless(is_list.get(), fail)
    code.go_unless(code.is_equal("i64", code.emit("call i64 @PyObject_Size(ptr %object)"), "%size"), fail)
    with code.repeat("%size") as i:
        item = code.emit(f"call ptr @PySequence_GetItem(ptr %object, i64 {i})")
        code.go_unless(code.emit(f"icmp ne ptr {item}, null"), fail)
        is_number = code.variable("i1", code.is_equal("ptr", code.at(item, 8), code.context("float_type")))
        for kind in ("float_type", "int_type"):
            with code.when(code.emit(f"xor i1 {is_number.get()}, true")):
                is_number.set(code.is_instance(item, kind))
        with code.when(is_number.get()):
            value = code.emit(f"call double @PyFloat_AsDouble(ptr {item})")
            code.store("double", value, "%buffer", i)
            with code.when(code.emit(f"fcmp oeq double {value}, -1.0")):
                is_number.set(code.is_equal("ptr", code.emit("call ptr @PyErr_Occurred()"), "null"))
        code.do(f"call void @Py_DecRef(ptr {item})")
        code.go_unless(is_number.get(), fail)
    code.do("ret ptr %buffer")
    code.label(fail)
    code.do("call void @PyErr_Clear()")
    code.do("ret ptr null")
    return code.function("list_numbers", "ptr", parameters, internal=True)


def _result(code: _Code) -> None:
    """Array for a result: one of the last two if it is unchanged and not referenced by other objects, else a new one.

    Creating an array takes longer than the rest of a call. Two are reused because one may be in use: a = f(a).
    """
    spares = code.context("spares")
    axes = code.emit("zext i32 %rank to i64")
    with code.repeat("2") as k:
        spare = code.emit(f"call ptr @PyList_GetItem(ptr {spares}, i64 {code.emit(f'add i64 %first, {k}')})")
        with code.when(code.is_equal("ptr", code.at(spare, 8), code.context("array_type"))):
            usable = code.both(
                code.is_equal("i32", code.at(spare, 0, "i32"), 1),  # the only reference
                code.is_equal("ptr", code.field(spare, "weak"), "null"),
                code.is_equal("i32", code.field(spare, "ndim", "i32"), "%rank"),
                code.is_equal("ptr", code.field(spare, "dtype"), code.context("double_type")),
                code.has_flags(spare, _NEW_FLAGS),
            )
            with code.when(usable):
                dims, same = code.field(spare, "dims"), code.variable("i1", "true")
                with code.repeat(axes) as i:
                    equal = code.is_equal("i64", code.entry("i64", dims, i), code.entry("i64", "%dims", i))
                    same.update("and", equal)
                with code.leaving_if(same.get()):
                    code.do(f"call void @Py_IncRef(ptr {spare})")
                    code.do(f"ret ptr {spare}")
    made = code.new_array("%rank", "%dims")
    code.leave_if(code.is_equal("ptr", made, "null"), "null", "ptr")
    last = code.emit(f"call ptr @PyList_GetItem(ptr {spares}, i64 %first)")
    second = code.emit("add i64 %first, 1")
    for place, array in ((second, last), ("%first", made)):
        code.do(f"call void @Py_IncRef(ptr {array})")
        code.emit(f"call i32 @PyList_SetItem(ptr {spares}, i64 {place}, ptr {array})")
    code.do(f"ret ptr {made}")


def builtin_text(sizes: tuple[int, ...], shapes: tuple[tuple[int, ...], ...]) -> str:
    """Module with `ptr @builtin(self, args, nargs, kwnames)` for input sizes and output shapes."""
    declared = "".join(f"declare {kind} @{name}({_types(text)})\n" for name, (kind, text) in _SHARED.items())
    return f"{_API}{_INTRINSICS}{declared}{_plain(sizes, shapes)}{_adapted(sizes, shapes)}"


def _types(parameters: str) -> str:
    return ", ".join(parameter.split()[0] for parameter in parameters.split(", "))


def _plain(sizes: tuple[int, ...], shapes: tuple[tuple[int, ...], ...]) -> str:
    """The builtin for positional float64 arrays; other calls continue in `adapted`."""
    code = _Code()
    _context_of(code)
    dims = [code.stack(f"[{len(shape) + 1} x i64]", 8) for shape in shapes]
    code.fork(_is_positional(code, len(sizes)), "one0", "other")
    _Path(code, sizes, shapes, dims, "one").write(otherwise="many")
    _Path(code, sizes, shapes, dims, "many").write(otherwise="other")
    code.label("other")
    code.do(f"ret ptr {code.emit(f'call ptr @adapted({_PARAMETERS})')}")
    return _with_general(code).function(BUILTIN, "ptr", _PARAMETERS)


def _adapted(sizes: tuple[int, ...], shapes: tuple[tuple[int, ...], ...]) -> str:
    """Other calls: arguments by keyword are put in order, numbers are copied from lists and other arrays."""
    code = _Code()
    _context_of(code)
    dims = [code.stack(f"[{len(shape) + 1} x i64]", 8) for shape in shapes]
    given = code.stack(f"[{len(sizes) + 1} x ptr]", 8)
    buffers = [code.stack(f"[{max(size, 1)} x double]") for size in sizes]
    code.fork(code.is_equal("ptr", code.context("names"), "null"), "general", "look")
    code.label("look")
    code.fork(_is_positional(code, len(sizes)), "one0", "arrange")
    code.label("arrange")
    arguments = f"ptr %context, {_PARAMETERS.partition(', ')[2]}, ptr {given}, i64 {len(sizes)}"
    code.fork(code.emit(f"call i1 @arranged({arguments})"), "again", "general")
    code.label("again")
    code.do(f"ret ptr {code.emit(f'call ptr @{BUILTIN}(ptr %self, ptr {given}, i64 {len(sizes)}, ptr null)')}")
    _Path(code, sizes, shapes, dims, "one", buffers).write(otherwise="general")
    return _with_general(code).function("adapted", "ptr", _PARAMETERS, "noinline", internal=True)


def _is_positional(code: _Code, count: int) -> str:
    return code.both(code.is_equal("i64", "%nargs", count), code.is_equal("ptr", "%kwnames", "null"))


def _with_general(code: _Code) -> _Code:
    code.label("general")
    code.do(f"ret ptr {code.emit(f'call ptr @call_general({_PARAMETERS})')}")
    return code


class _Path:
    """Code for arguments of one kind, vectors ("one") or matrices ("many"), from their checks to the result.

    The check of input i starts at label KINDi. If the first input is of another kind, the code branches to `otherwise`.
    """

    def __init__(
        self,
        code: _Code,
        sizes: tuple[int, ...],
        shapes: tuple[tuple[int, ...], ...],
        dims: Sequence[str],
        kind: str,
        buffers: Sequence[str] = (),
    ) -> None:
        """Args: function body, sizes, memory for axes of results, the kind, and memory for converted inputs if any."""
        self.code, self.sizes, self.shapes, self.dims, self.kind, self.buffers = (
            code,
            sizes,
            shapes,
            dims,
            kind,
            buffers,
        )
        self.many = kind == "many"
        self.count = ""  # rows of the first matrix

    def write(self, otherwise: str) -> None:
        code, lanes = self.code, ""
        if self.many:
            code.label("many")
            lanes = self.entry("lanes", "i64")
            code.go("many0")
        data = []
        for i, size in enumerate(self.sizes):
            code.label(f"{self.kind}{i}")
            argument = code.entry("ptr", "%args", i)
            take = self.converted if self.buffers else self.array
            data.append(take(i, argument, size, otherwise if i == 0 or self.buffers else "other"))
        code.label(f"{self.kind}{len(self.sizes)}")
        self.run(data, lanes)

    def array(self, i: int, argument: str, size: int, otherwise: str) -> str:
        """Pointer to the data of an array; only the type is read before the type is known."""
        code, kind = self.code, self.kind
        exact = code.is_equal("ptr", code.at(argument, 8), code.context("array_type"))
        code.fork(exact, f"{kind}_look{i}", "other")
        code.label(f"{kind}_look{i}")
        rank = code.is_equal("i32", code.field(argument, "ndim", "i32"), 1 + self.many)
        double = code.is_equal("ptr", code.field(argument, "dtype"), code.context("double_type"))
        flat = code.has_flags(argument, _CONTIGUOUS | _ALIGNED)
        code.fork(code.both(rank, double, flat), f"{kind}_measure{i}", otherwise)
        code.label(f"{kind}_measure{i}")
        data = code.field(argument, "data")
        code.fork(self.has_shape(code.field(argument, "dims"), size), f"{kind}{i + 1}", otherwise)
        return data

    def converted(self, i: int, argument: str, size: int, otherwise: str) -> str:
        """Pointer to numbers that are copied from a list or from an array of another type, stride or class."""
        code = self.code
        arguments = f"ptr %context, ptr {argument}, i64 {size}, ptr {self.buffers[i]}"
        data = code.emit(f"call ptr @numbers({arguments})")
        code.fork(code.is_equal("ptr", data, "null"), otherwise, f"{self.kind}{i + 1}")
        return data

    def has_shape(self, shape: str, size: int) -> str:
        """i1: whether a shape is (size,), or (N, size) with N as in the first input."""
        code = self.code
        if not self.many:
            return code.is_equal("i64", code.entry("i64", shape, 0), size)
        rows, columns = code.entry("i64", shape, 0), code.entry("i64", shape, 1)
        if self.count:
            enough = code.is_equal("i64", rows, self.count)
        else:
            self.count = rows
            enough = code.emit(f"icmp sge i64 {rows}, 1")
        return code.both(enough, code.is_equal("i64", columns, size))

    def entry(self, name: str, kind: str = "ptr") -> str:
        """Load a field of the kernel's `KernelAddresses`."""
        return self.code.at(self.code.context("entry"), getattr(KernelAddresses, name).offset, kind)

    def run(self, data: list[str], lanes: str) -> None:
        """Create the results, call the kernel, and return the results if the status is 0."""
        code = self.code
        few = code.emit(f"icmp slt i64 {self.count}, {lanes}") if self.many else ""
        kernel = self.entry("single")
        if self.many:
            kernel = code.emit(f"select i1 {few}, ptr {self.entry('repeat')}, ptr {self.entry('batch')}")
        code.go_unless(code.emit(f"icmp ne ptr {kernel}, null"), "general")
        outputs: list[str] = []
        for i, shape in enumerate(self.shapes):
            array = self.result(i, shape)
            with code.leaving_if(code.is_equal("ptr", array, "null")):
                self.drop(outputs)
                code.do("ret ptr null")
            outputs.append(array)
        places = [code.field(array, "data") for array in outputs]
        status = self.called(kernel, ", ".join(f"ptr {pointer}" for pointer in (*data, *places)), few)
        with code.leaving_if(code.emit(f"icmp ne i32 {status}, 0")):
            self.drop(outputs)
            code.go("general")
        self.give(outputs)

    def called(self, kernel: str, arguments: str, few: str) -> str:
        """Call the kernel; batches of fewer states than lanes use the code for one state. Return the status."""
        code = self.code
        if not self.many:
            return code.emit(f"call i32 {kernel}({arguments})")
        code.fork(few, "few", "lots")
        code.label("few")
        status = code.emit(f"call i32 {kernel}({arguments}, i64 {self.count}, i64 1)")
        code.go("ran")
        code.label("lots")
        thread = code.emit("call ptr @PyEval_SaveThread()")
        of_batch = code.emit(f"call i32 {kernel}({arguments}, i64 {self.count})")
        code.do(f"call void @PyEval_RestoreThread(ptr {thread})")
        code.go("ran")
        code.label("ran")
        return code.emit(f"phi i32 [{status}, %few], [{of_batch}, %lots]")

    def result(self, i: int, shape: tuple[int, ...]) -> str:
        """Array for result i."""
        code, dims = self.code, [*([self.count] if self.many else []), *map(str, shape)]
        for axis, size in enumerate(dims):
            code.do(f"store i64 {size}, ptr {code.element(self.dims[i], axis, 'i64')}")
        if self.many or prod(shape) > REUSABLE_SIZE:
            return code.new_array(len(dims), self.dims[i])
        return code.emit(f"call ptr @result(ptr %context, i64 {2 * i}, i32 {len(dims)}, ptr {self.dims[i]})")

    def drop(self, outputs: Sequence[str]) -> None:
        """Release arrays."""
        for array in outputs:
            self.code.do(f"call void @Py_DecRef(ptr {array})")

    def give(self, outputs: list[str]) -> None:
        """Return one array, or a tuple of several."""
        code = self.code
        if len(outputs) == 1:
            code.do(f"ret ptr {outputs[0]}")
            return
        pack = code.emit(f"call ptr @PyTuple_New(i64 {len(outputs)})")
        with code.leaving_if(code.is_equal("ptr", pack, "null")):
            self.drop(outputs)
            code.do("ret ptr null")
        for i, array in enumerate(outputs):
            code.emit(f"call i32 @PyTuple_SetItem(ptr {pack}, i64 {i}, ptr {array})")
        record = code.context("record_type")
        code.leave_if(code.is_equal("ptr", record, "null"), pack, "ptr")
        arguments = f"ptr {code.context('tuple_new')}, ptr {record}, ptr {pack}, ptr null"
        named = code.emit(f"call ptr (ptr, ...) @PyObject_CallFunctionObjArgs({arguments})")  # tuple.__new__
        code.do(f"call void @Py_DecRef(ptr {pack})")
        code.do(f"ret ptr {named}")
