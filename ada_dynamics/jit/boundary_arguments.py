# SPDX-License-Identifier: Apache-2.0
"""LLVM text that all call boundaries share: keywords put in order, numbers read from lists and other arrays.

None of it depends on the sizes of a kernel, so that it is compiled once. `self` of a boundary is a tuple (context,
general, owner); context is a bytes object with the words listed in CONTEXT, so that no address is part of the code.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import Template

from ada_dynamics.jit.boundary_results import NEW_FLAGS, NPY_DOUBLE, RESULT

# "entry" is the address of a `native.Entry`; "names" is a tuple of parameter names, or zero where only plain positional
# arrays are taken; "record_type" is a class derived from tuple, or zero for plain tuples; "spares" is a list of two
# results for each output.
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
EXPORTS = ("arranged", "call_general", "numbers", "result")
# NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_ALIGNED
_CONTIGUOUS, _ALIGNED = 0x1, 0x100
# PyBUF_STRIDES | PyBUF_FORMAT
_STRIDED_BUFFER = 0x18 | 0x04

_SIGNATURES = """\
declare i32 @PyObject_GetBuffer(ptr, ptr, i32)
declare void @PyBuffer_Release(ptr)
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
SYMBOLS = tuple(line.split("@")[1].split("(")[0] for line in _SIGNATURES.splitlines())
DECLARATIONS = f"""\
{_SIGNATURES}declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define internal ptr @context_of(ptr %self) alwaysinline {{
  %bytes = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %context = call ptr @PyBytes_AsString(ptr %bytes)
  ret ptr %context
}}
"""

# Calls general(*args, **kwargs): the arguments move up by one to make room for the callable itself, because
# PyObject_VectorcallMethod(name="__call__") is the one documented vectorcall of every supported Python.
_GENERAL = """\
define ptr @call_general(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) noinline {
entry:
  %context = call ptr @context_of(ptr %self)
  $load_call_name
  %general = call ptr @PyTuple_GetItem(ptr %self, i64 1)
  %plain = icmp eq ptr %kwnames, null
  br i1 %plain, label %copy, label %named
named:
  %names = call i64 @PyTuple_Size(ptr %kwnames)
  br label %copy
copy:
  %extra = phi i64 [0, %entry], [%names, %named]
  %total = add i64 %nargs, %extra
  %room = add i64 %total, 1
  %moved = alloca ptr, i64 %room
  store ptr %general, ptr %moved
  %rest = getelementptr ptr, ptr %moved, i64 1
  %bytes = mul i64 %total, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %args, i64 %bytes, i1 false)
  %count = add i64 %nargs, 1
  %result = call ptr @PyObject_VectorcallMethod(ptr %call_name, ptr %moved, i64 %count, ptr %kwnames)
  ret ptr %result
}
"""

# Puts `wanted` arguments into `given`, which has one place more: for a last parameter that may be left out or None.
_ARRANGED = """\
define i1 @arranged(ptr %context, ptr %args, i64 %nargs, ptr %kwnames, ptr %given, i64 %wanted) {
entry:
  $load_names
  $load_none
  %total = call i64 @PyTuple_Size(ptr %names)
  %few = icmp sle i64 %nargs, %total
  br i1 %few, label %clear, label %no
clear:
  %places = add i64 %wanted, 1
  %room = mul i64 %places, 8
  %positional = mul i64 %nargs, 8
  call void @llvm.memset.p0.i64(ptr %given, i8 0, i64 %room, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %given, ptr %args, i64 %positional, i1 false)
  %plain = icmp eq ptr %kwnames, null
  br i1 %plain, label %check, label %named
named:
  %keywords = call i64 @PyTuple_Size(ptr %kwnames)
  br label %next
next:
  %j = phi i64 [0, %named], [%j_next, %found]
  %all = icmp sge i64 %j, %keywords
  br i1 %all, label %check, label %look
look:
  %keyword = call ptr @PyTuple_GetItem(ptr %kwnames, i64 %j)
  br label %compare
compare:
  %i = phi i64 [%nargs, %look], [%i_next, %other]
  %over = icmp sge i64 %i, %total
  br i1 %over, label %no, label %match
match:
  %own = call ptr @PyTuple_GetItem(ptr %names, i64 %i)
  %order = call i32 @PyUnicode_Compare(ptr %own, ptr %keyword)
  %same = icmp eq i32 %order, 0
  br i1 %same, label %found, label %other
other:
  %i_next = add i64 %i, 1
  br label %compare
found:
  %from = add i64 %nargs, %j
  %value_at = getelementptr ptr, ptr %args, i64 %from
  %value = load ptr, ptr %value_at
  %place = getelementptr ptr, ptr %given, i64 %i
  store ptr %value, ptr %place
  %j_next = add i64 %j, 1
  br label %next
check:
  %c = phi i64 [0, %clear], [0, %next], [%c_next, %there]
  %complete = icmp sge i64 %c, %wanted
  br i1 %complete, label %last, label %required
required:
  %slot = getelementptr ptr, ptr %given, i64 %c
  %held = load ptr, ptr %slot
  %missing = icmp eq ptr %held, null
  br i1 %missing, label %no, label %there
there:
  %c_next = add i64 %c, 1
  br label %check
last:
  %extra_at = getelementptr ptr, ptr %given, i64 %wanted
  %extra = load ptr, ptr %extra_at
  %absent = icmp eq ptr %extra, null
  %is_none = icmp eq ptr %extra, %none
  %fine = or i1 %absent, %is_none
  ret i1 %fine
no:
  ret i1 false
}
"""

# Numbers of an argument as doubles in one run: in place where they are that already, else copied to `room`; null where
# it is no vector of `size` real numbers. Anything doubtful is left to the general way, which converts or explains.
_NUMBERS = """\
define ptr @numbers(ptr %context, ptr %object, i64 %size, ptr %room) {
  %array = call ptr @array_numbers(ptr %context, ptr %object, i64 %size, ptr %room)
  %no_array = icmp eq ptr %array, null
  br i1 %no_array, label %try_list, label %is_array
is_array:
  ret ptr %array
try_list:
  %list = call ptr @list_numbers(ptr %context, ptr %object, i64 %size, ptr %room)
  ret ptr %list
}
"""

# Items are held while they are read: another thread may change the list meanwhile.
# Only floats and ints (and what is derived from them: bool, numpy.float64): text, None, complex numbers are refused.
_LIST = """\
define internal ptr @list_numbers(ptr %context, ptr %object, i64 %size, ptr %room) {
entry:
  $load_list_type
  $load_tuple_type
  $load_float_type
  $load_int_type
  %as_list = call i32 @PyObject_IsInstance(ptr %object, ptr %list_type)
  %is_list = icmp eq i32 %as_list, 1
  br i1 %is_list, label %known, label %try_tuple
try_tuple:
  %as_tuple = call i32 @PyObject_IsInstance(ptr %object, ptr %tuple_type)
  %is_tuple = icmp eq i32 %as_tuple, 1
  br i1 %is_tuple, label %known, label %no
known:
  %length = call i64 @PyObject_Size(ptr %object)
  %fits = icmp eq i64 %length, %size
  br i1 %fits, label %next, label %no
next:
  %i = phi i64 [0, %known], [%i_next, %stored]
  %all = icmp sge i64 %i, %size
  br i1 %all, label %done, label %look
look:
  %item = call ptr @PySequence_GetItem(ptr %object, i64 %i)
  %gone = icmp eq ptr %item, null
  br i1 %gone, label %no, label %hold
hold:
  %as_float = call i32 @PyObject_IsInstance(ptr %item, ptr %float_type)
  %is_float = icmp eq i32 %as_float, 1
  br i1 %is_float, label %read, label %try_int
try_int:
  %as_int = call i32 @PyObject_IsInstance(ptr %item, ptr %int_type)
  %is_int = icmp eq i32 %as_int, 1
  br i1 %is_int, label %read, label %drop
read:
  %value = call double @PyFloat_AsDouble(ptr %item)
  %place = getelementptr double, ptr %room, i64 %i
  store double %value, ptr %place, align 8
  %suspect = fcmp oeq double %value, -1.0
  br i1 %suspect, label %ask, label %stored
ask:
  %error = call ptr @PyErr_Occurred()
  %bad = icmp ne ptr %error, null
  br i1 %bad, label %drop, label %stored
stored:
  call void @Py_DecRef(ptr %item)
  %i_next = add i64 %i, 1
  br label %next
drop:
  call void @Py_DecRef(ptr %item)
  br label %no
no:
  call void @PyErr_Clear()
  ret ptr null
done:
  ret ptr %room
}
"""

_COPY = """\
define internal void @copy_$kind(ptr %data, i64 %stride, i64 %size, ptr %room) {
entry:
  br label %next
next:
  %i = phi i64 [0, %entry], [%i_next, %next]
  %offset = mul i64 %i, %stride
  %from = getelementptr i8, ptr %data, i64 %offset
  %value = load $type, ptr %from
  %number = $convert
  %place = getelementptr double, ptr %room, i64 %i
  store double %number, ptr %place, align 8
  %i_next = add i64 %i, 1
  %more = icmp slt i64 %i_next, %size
  br i1 %more, label %next, label %done
done:
  ret void
}
"""
_KINDS = {  # name: type in memory, and what makes a double of it
    "double": ("double", "fadd double %value, -0.0"),
    "single": ("float", "fpext float %value to double"),
    "int64": ("i64", "sitofp i64 %value to double"),
}

# By numpy's structure. An array of doubles in one run is used where it is: its owner holds it during the call.
_ARRAY_STRUCT = """\
define internal ptr @array_numbers(ptr %context, ptr %object, i64 %size, ptr %room) {
entry:
  $load_array_type
  $load_double_type
  $load_single_type
  $load_int64_type
  %type_at = getelementptr i8, ptr %object, i64 8
  %type = load ptr, ptr %type_at
  %derived = call i32 @PyType_IsSubtype(ptr %type, ptr %array_type)
  %is_array = icmp ne i32 %derived, 0
  br i1 %is_array, label %array, label %no
array:
  %ndim_at = getelementptr i8, ptr %object, i64 $ndim
  %ndim = load i32, ptr %ndim_at
  %flags_at = getelementptr i8, ptr %object, i64 $flags
  %flags = load i32, ptr %flags_at
  %aligned = and i32 %flags, $aligned
  %is_aligned = icmp ne i32 %aligned, 0
  %is_vector = icmp eq i32 %ndim, 1
  %usable = and i1 %is_vector, %is_aligned
  br i1 %usable, label %vector, label %no
vector:
  %dims_at = getelementptr i8, ptr %object, i64 $dims
  %dims = load ptr, ptr %dims_at
  %length = load i64, ptr %dims
  %fits = icmp eq i64 %length, %size
  br i1 %fits, label %measured, label %no
measured:
  %data_at = getelementptr i8, ptr %object, i64 $data
  %data = load ptr, ptr %data_at
  %strides_at = getelementptr i8, ptr %object, i64 $strides
  %strides = load ptr, ptr %strides_at
  %stride = load i64, ptr %strides
  %dtype_at = getelementptr i8, ptr %object, i64 $dtype
  %dtype = load ptr, ptr %dtype_at
  %is_double = icmp eq ptr %dtype, %double_type
  br i1 %is_double, label %doubles, label %other
doubles:
  %contiguous = and i32 %flags, $contiguous
  %in_place = icmp ne i32 %contiguous, 0
  br i1 %in_place, label %as_it_is, label %copy_doubles
as_it_is:
  ret ptr %data
copy_doubles:
  call void @copy_double(ptr %data, i64 %stride, i64 %size, ptr %room)
  ret ptr %room
other:
  %is_single = icmp eq ptr %dtype, %single_type
  br i1 %is_single, label %copy_singles, label %another
copy_singles:
  call void @copy_single(ptr %data, i64 %stride, i64 %size, ptr %room)
  ret ptr %room
another:
  %is_int64 = icmp eq ptr %dtype, %int64_type
  br i1 %is_int64, label %copy_int64s, label %no
copy_int64s:
  call void @copy_int64(ptr %data, i64 %stride, i64 %size, ptr %room)
  ret ptr %room
no:
  ret ptr null
}
"""

# By the buffer protocol; always copied, so that the buffer is given back at once. Formats: "d", "f", and "l" (or "q").
_ARRAY_BUFFER = """\
define internal ptr @array_numbers(ptr %context, ptr %object, i64 %size, ptr %room) {
entry:
  %view = alloca [80 x i8], align 8
  %code = call i32 @PyObject_GetBuffer(ptr %object, ptr %view, i32 $strided_buffer)
  %got = icmp eq i32 %code, 0
  br i1 %got, label %buffer, label %none
none:
  call void @PyErr_Clear()
  ret ptr null
buffer:
  %data = load ptr, ptr %view
  %ndim_at = getelementptr i8, ptr %view, i64 36
  %ndim = load i32, ptr %ndim_at
  %is_vector = icmp eq i32 %ndim, 1
  br i1 %is_vector, label %vector, label %no
vector:
  %shape_at = getelementptr i8, ptr %view, i64 48
  %shape = load ptr, ptr %shape_at
  %length = load i64, ptr %shape
  %fits = icmp eq i64 %length, %size
  br i1 %fits, label %measured, label %no
measured:
  %strides_at = getelementptr i8, ptr %view, i64 56
  %strides = load ptr, ptr %strides_at
  %stride = load i64, ptr %strides
  %format_at = getelementptr i8, ptr %view, i64 40
  %format = load ptr, ptr %format_at
  %letters = load i16, ptr %format, align 1
  switch i16 %letters, label %no [
    i16 100, label %doubles
    i16 102, label %singles
    i16 $int64, label %int64s
  ]
doubles:
  call void @copy_double(ptr %data, i64 %stride, i64 %size, ptr %room)
  br label %yes
singles:
  call void @copy_single(ptr %data, i64 %stride, i64 %size, ptr %room)
  br label %yes
int64s:
  call void @copy_int64(ptr %data, i64 %stride, i64 %size, ptr %room)
  br label %yes
yes:
  call void @PyBuffer_Release(ptr %view)
  ret ptr %room
no:
  call void @PyBuffer_Release(ptr %view)
  ret ptr null
}
"""


@dataclass(frozen=True)
class Layout:
    """Offsets in numpy's PyArrayObject, for the "struct" mode, and of `data` for both modes."""

    data: int = 16
    ndim: int = 24
    dims: int = 32
    strides: int = 40
    dtype: int = 56
    flags: int = 64
    weak: int = 72  # references


def arguments_module(mode: str, layout: Layout, int64_format: str) -> str:
    """Text of the functions in EXPORTS.

    Args:
        mode: "struct" or "buffer".
        layout: of numpy's arrays.
        int64_format: letter of int64 in the buffer protocol.
    """
    values: dict[str, object] = {**vars(layout), "aligned": _ALIGNED, "contiguous": _CONTIGUOUS}
    values |= {"new": NEW_FLAGS, "npy_double": NPY_DOUBLE}
    values |= {"strided_buffer": _STRIDED_BUFFER, "int64": ord(int64_format)}
    for position, name in enumerate(CONTEXT):
        at = f"%{name}_at = getelementptr ptr, ptr %context, i64 {position}"
        values[f"load_{name}"] = f"{at}\n  %{name} = load ptr, ptr %{name}_at"
    copies = [Template(_COPY).substitute(kind=kind, type=t, convert=c) for kind, (t, c) in _KINDS.items()]
    array = _ARRAY_BUFFER if mode == "buffer" else _ARRAY_STRUCT
    texts = (_GENERAL, _ARRANGED, _LIST, array, _NUMBERS, RESULT)
    return DECLARATIONS + "".join(copies) + "".join(Template(text).substitute(values) for text in texts)
