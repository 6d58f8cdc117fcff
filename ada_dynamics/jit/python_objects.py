# SPDX-License-Identifier: Apache-2.0
"""Machine code that reads and creates objects of Python: arguments of calls, numbers of arrays and lists, results.

The functions in EXPORTS do not depend on the sizes of a kernel: they are compiled once, and the builtins of all kernels
call them (see `builtin_code`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ada_dynamics.jit.lowering import Instructions

_NPY_DOUBLE = 12
CONTIGUOUS, ALIGNED = 0x1, 0x100  # NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_ALIGNED
_NEW_FLAGS = 0x505  # these, NPY_ARRAY_OWNDATA and NPY_ARRAY_WRITEABLE

# Words of a context. "names" is a tuple of parameter names, or null if only positional arrays are accepted;
# "record_type" is a class derived from tuple, or null for plain tuples; "spares" is a list of two arrays per output.
CONTEXT = (
    *("entry", "array_new", "array_type", "double_type", "single_type", "int64_type", "call_name", "names", "none"),
    *("list_type", "tuple_type", "float_type", "int_type", "record_type", "tuple_new", "spares"),
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
DECLARATIONS = f"""\
{_API}declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""
# Functions of this module for all builtins: their return types and parameters.
SHARED = {
    "call_general": ("ptr", "ptr %self, ptr %args, i64 %nargs, ptr %kwnames"),
    "arranged": ("i1", "ptr %context, ptr %args, i64 %nargs, ptr %kwnames, ptr %given, i64 %wanted"),
    "numbers": ("ptr", "ptr %context, ptr %object, i64 %size, ptr %buffer"),
    "result": ("ptr", "ptr %context, i64 %first, i32 %rank, ptr %dims"),
}
EXPORTS = tuple(SHARED)


def array_fields() -> dict[str, int]:
    """Offsets of the fields of an array object, for any size of the object header."""
    return {name: object.__basicsize__ + offset for name, offset in _FIELDS.items()}


class PythonCode(Instructions):
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

    def load_context(self) -> None:
        """Set %context from %self."""
        self.do("%bytes = call ptr @PyTuple_GetItem(ptr %self, i64 0)")
        self.do("%context = call ptr @PyBytes_AsString(ptr %bytes)")

    def context(self, name: str) -> str:
        """Load a word of the context."""
        return self.at("%context", 8 * CONTEXT.index(name))

    def is_equal(self, kind: str, a: str, b: str | int) -> str:
        """i1: whether two values are equal."""
        return self.emit(f"icmp eq {kind} {a}, {b}")

    def all_of(self, first: str, *conditions: str) -> str:
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


def shared_text() -> str:
    """Module with the functions in EXPORTS, which do not depend on the sizes of a kernel."""
    writers = {"call_general": _call_general, "arranged": _arrange, "numbers": _numbers, "result": _result}
    texts = [_array_numbers(), _list_numbers()]
    for name, (kind, parameters) in SHARED.items():
        code = PythonCode()
        writers[name](code)
        texts.append(code.function(name, kind, parameters))
    return DECLARATIONS + "".join(texts)


def _call_general(code: PythonCode) -> None:
    """general(*args, **kwargs).

    The arguments are moved by one, because PyObject_VectorcallMethod(name="__call__") is the documented vectorcall of
    every supported Python, and expects the callable before them.
    """
    code.load_context()
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


def _arrange(code: PythonCode) -> None:
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
                return code.all_of(inside, code.emit(f"icmp ne i32 {order}, 0"))

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


def _numbers(code: PythonCode) -> None:
    """Doubles of an argument, in place if they are contiguous, else in `buffer`; null if it is no such vector."""
    arguments = SHARED["numbers"][1]
    array = code.emit(f"call ptr @array_numbers({arguments})")
    code.leave_if(code.emit(f"icmp ne ptr {array}, null"), array, "ptr")
    code.do(f"ret ptr {code.emit(f'call ptr @list_numbers({arguments})')}")


def _array_numbers() -> str:
    """Doubles of an array of doubles, floats or 64-bit integers, or of a class derived from arrays."""
    code, (_, parameters) = PythonCode(), SHARED["numbers"]
    kind = code.at("%object", 8)
    derived = code.emit(f"call i32 @PyType_IsSubtype(ptr {kind}, ptr {code.context('array_type')})")
    code.leave_if(code.is_equal("i32", derived, 0), "null", "ptr")
    is_vector = code.is_equal("i32", code.field("%object", "ndim", "i32"), 1)
    usable = code.all_of(is_vector, code.has_flags("%object", ALIGNED))
    code.leave_if(code.emit(f"xor i1 {usable}, true"), "null", "ptr")
    size = code.entry("i64", code.field("%object", "dims"), 0)
    code.leave_if(code.emit(f"icmp ne i64 {size}, %size"), "null", "ptr")
    data, dtype = code.field("%object", "data"), code.field("%object", "dtype")
    is_double = code.is_equal("ptr", dtype, code.context("double_type"))
    code.leave_if(code.all_of(is_double, code.has_flags("%object", CONTIGUOUS)), data, "ptr")
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
    code, (_, parameters) = PythonCode(), SHARED["numbers"]
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


def _result(code: PythonCode) -> None:
    """Array for a result: one of the last two if it is unchanged and not referenced by other objects, else a new one.

    Creating an array takes longer than the rest of a call. Two are reused because one may be in use: a = f(a).
    """
    spares = code.context("spares")
    axes = code.emit("zext i32 %rank to i64")
    with code.repeat("2") as k:
        spare = code.emit(f"call ptr @PyList_GetItem(ptr {spares}, i64 {code.emit(f'add i64 %first, {k}')})")
        with code.when(code.is_equal("ptr", code.at(spare, 8), code.context("array_type"))):
            usable = code.all_of(
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
