# SPDX-License-Identifier: Apache-2.0
"""LLVM text of a builtin function that checks its arguments, runs a kernel, and returns new arrays.

`self` is a tuple (context, general, owner): context is a bytes object with the addresses listed in CONTEXT, so
that no address is part of the code and one compiled function serves every kernel of the same sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ada_dynamics.jit.llvm_text import Body

ENTRY = "boundary"
CONTEXT = ("kernel", "array_new", "array_type", "double_type", "call_name")
SYMBOLS = (
    "PyBuffer_Release",
    "PyBytes_AsString",
    "PyErr_Clear",
    "PyObject_GetBuffer",
    "PyObject_VectorcallMethod",
    "PyTuple_GetItem",
    "PyTuple_New",
    "PyTuple_SetItem",
    "PyTuple_Size",
    "Py_DecRef",
)

_NPY_DOUBLE = 12
# Py_buffer: buf 0, obj 8, len 16, itemsize 24, readonly 32, ndim 36, format 40 ... 80 bytes in all.
_VIEW = "[80 x i8]"
_VIEW_LEN, _VIEW_NDIM, _VIEW_FORMAT = 16, 36, 40
# PyBUF_C_CONTIGUOUS | PyBUF_FORMAT
_BUFFER_FLAGS = 0x38 | 0x04
_FORMAT_D = 100  # "d" and the terminating zero, little-endian
# NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED
_ARRAY_FLAGS = 0x101

_DECLARATIONS = """\
declare i32 @PyObject_GetBuffer(ptr, ptr, i32)
declare void @PyBuffer_Release(ptr)
declare ptr @PyBytes_AsString(ptr)
declare void @PyErr_Clear()
declare ptr @PyObject_VectorcallMethod(ptr, ptr, i64, ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare i64 @PyTuple_Size(ptr)
declare void @Py_DecRef(ptr)
"""

# Calls general(*args, **kwargs): the arguments move up by one to make room for the callable itself, because
# PyObject_VectorcallMethod(name="__call__") is the one documented vectorcall of every supported Python.
_GENERAL = """\
define internal ptr @call_general(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) noinline {
entry:
  %context = call ptr @context_of(ptr %self)
  %name_at = getelementptr ptr, ptr %context, i64 4
  %name = load ptr, ptr %name_at
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
  %result = call ptr @PyObject_VectorcallMethod(ptr %name, ptr %moved, i64 %count, ptr %kwnames)
  ret ptr %result
}
define internal ptr @context_of(ptr %self) alwaysinline {
  %bytes = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %context = call ptr @PyBytes_AsString(ptr %bytes)
  ret ptr %context
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""


@dataclass(frozen=True)
class Layout:
    """Offsets in numpy's PyArrayObject, for the "struct" mode, and of `data` for both modes."""

    data: int = 16
    ndim: int = 24
    dims: int = 32
    dtype: int = 56
    flags: int = 64


def boundary_module(sizes: tuple[int, ...], shapes: tuple[tuple[int, ...], ...], mode: str, layout: Layout) -> str:
    """Text of `ptr @boundary(self, args, nargs, kwnames)` for input sizes and output shapes."""
    writer = _Writer(sizes, shapes, layout)
    body = writer.write(mode)
    dims = [
        f"@dims{i} = private constant [{max(len(shape), 1)} x i64] [{', '.join(f'i64 {n}' for n in shape or (1,))}]\n"
        for i, shape in enumerate(shapes)
    ]
    head = f"define ptr @{ENTRY}(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) nounwind"
    return f"{_DECLARATIONS}{_GENERAL}{''.join(dims)}{head} {{\n{body}\n}}\n"


class _Writer:
    """Writes the function from top to bottom; `views` buffers are held at any point."""

    def __init__(self, sizes: tuple[int, ...], shapes: tuple[tuple[int, ...], ...], layout: Layout) -> None:
        self.sizes = sizes
        self.shapes = shapes
        self.layout = layout
        self.body = Body()

    def write(self, mode: str) -> Body:
        body = self.body
        body.label("entry")
        views = [f"%view{i}" for i in range(len(self.sizes))] if mode == "buffer" else []
        for view in views:
            body.do(f"{view} = alloca {_VIEW}, align 8")
        body.do("%context = call ptr @context_of(ptr %self)")
        right_count = body.emit(f"icmp eq i64 %nargs, {len(self.sizes)}")
        no_names = body.emit("icmp eq ptr %kwnames, null")
        fits = body.emit(f"and i1 {right_count}, {no_names}")
        body.do(f"br i1 {fits}, label %input0, label %general")
        read = self.read_buffer if mode == "buffer" else self.read_struct
        data = [read(i, size) for i, size in enumerate(self.sizes)]
        body.label(f"input{len(self.sizes)}")
        self.run(data, views)
        body.label("general")
        body.do("%answer = call ptr @call_general(ptr %self, ptr %args, i64 %nargs, ptr %kwnames)")
        body.do("ret ptr %answer")
        return body

    def at(self, pointer: str, offset: int, kind: str) -> str:
        place = self.body.emit(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        return self.body.emit(f"load {kind}, ptr {place}")

    def context(self, name: str) -> str:
        return self.at("%context", 8 * CONTEXT.index(name), "ptr")

    def all_of(self, conditions: list[str]) -> str:
        result = conditions[0]
        for condition in conditions[1:]:
            result = self.body.emit(f"and i1 {result}, {condition}")
        return result

    def release(self, count: int) -> None:
        for i in range(count):
            self.body.do(f"call void @PyBuffer_Release(ptr %view{i})")

    def read_buffer(self, i: int, size: int) -> str:
        """Input i through the buffer protocol; on success control goes on at label input{i+1}."""
        body = self.body
        body.label(f"input{i}")
        argument = self.at("%args", 8 * i, "ptr")
        code = body.emit(f"call i32 @PyObject_GetBuffer(ptr {argument}, ptr %view{i}, i32 {_BUFFER_FLAGS})")
        got = body.emit(f"icmp eq i32 {code}, 0")
        body.do(f"br i1 {got}, label %look{i}, label %none{i}")
        body.label(f"none{i}")
        body.do("call void @PyErr_Clear()")
        self.release(i)
        body.do("br label %general")
        body.label(f"look{i}")
        data = self.at(f"%view{i}", 0, "ptr")
        length = body.emit(f"icmp eq i64 {self.at(f'%view{i}', _VIEW_LEN, 'i64')}, {8 * size}")
        vector = body.emit(f"icmp eq i32 {self.at(f'%view{i}', _VIEW_NDIM, 'i32')}, 1")
        text = self.at(f"%view{i}", _VIEW_FORMAT, "ptr")
        double = body.emit(f"icmp eq i16 {body.emit(f'load i16, ptr {text}, align 1')}, {_FORMAT_D}")
        body.do(f"br i1 {self.all_of([length, vector, double])}, label %input{i + 1}, label %wrong{i}")
        body.label(f"wrong{i}")
        self.release(i + 1)
        body.do("br label %general")
        return data

    def read_struct(self, i: int, size: int) -> str:
        """Input i from numpy's structure; nothing but the type is read before the type is known."""
        body, layout = self.body, self.layout
        body.label(f"input{i}")
        argument = self.at("%args", 8 * i, "ptr")
        exact = body.emit(f"icmp eq ptr {self.at(argument, 8, 'ptr')}, {self.context('array_type')}")
        body.do(f"br i1 {exact}, label %look{i}, label %general")
        body.label(f"look{i}")
        vector = body.emit(f"icmp eq i32 {self.at(argument, layout.ndim, 'i32')}, 1")
        double = body.emit(f"icmp eq ptr {self.at(argument, layout.dtype, 'ptr')}, {self.context('double_type')}")
        wanted = body.emit(f"and i32 {self.at(argument, layout.flags, 'i32')}, {_ARRAY_FLAGS}")
        flat = body.emit(f"icmp eq i32 {wanted}, {_ARRAY_FLAGS}")
        body.do(f"br i1 {self.all_of([vector, double, flat])}, label %measure{i}, label %general")
        body.label(f"measure{i}")
        length = self.at(self.at(argument, layout.dims, "ptr"), 0, "i64")
        data = self.at(argument, layout.data, "ptr")
        right = body.emit(f"icmp eq i64 {length}, {size}")
        body.do(f"br i1 {right}, label %input{i + 1}, label %general")
        return data

    def run(self, data: list[str], views: list[str]) -> None:
        """Make the outputs, run the kernel, and return them where the status is 0."""
        body = self.body
        make, kind = self.context("array_new"), self.context("array_type")
        outputs: list[str] = []
        for i, shape in enumerate(self.shapes):
            array = body.emit(
                f"call ptr {make}(ptr {kind}, i32 {len(shape)}, ptr @dims{i}, i32 {_NPY_DOUBLE}, "
                "ptr null, ptr null, i32 0, i32 0, ptr null)"
            )
            missing = body.emit(f"icmp eq ptr {array}, null")
            body.do(f"br i1 {missing}, label %full{i}, label %made{i}")
            body.label(f"full{i}")
            self.release(len(views))
            self.drop(outputs)
            body.do("ret ptr null")
            body.label(f"made{i}")
            outputs.append(array)
        places = [self.at(array, self.layout.data, "ptr") for array in outputs]
        arguments = ", ".join(f"ptr {pointer}" for pointer in (*data, *places))
        status = body.emit(f"call i32 {self.context('kernel')}({arguments})")
        self.release(len(views))
        good = body.emit(f"icmp eq i32 {status}, 0")
        body.do(f"br i1 {good}, label %good, label %bad")
        body.label("bad")
        self.drop(outputs)
        body.do("br label %general")
        body.label("good")
        self.give(outputs)

    def drop(self, outputs: list[str]) -> None:
        for array in outputs:
            self.body.do(f"call void @Py_DecRef(ptr {array})")

    def give(self, outputs: list[str]) -> None:
        body = self.body
        if len(outputs) == 1:
            body.do(f"ret ptr {outputs[0]}")
            return
        pack = body.emit(f"call ptr @PyTuple_New(i64 {len(outputs)})")
        missing = body.emit(f"icmp eq ptr {pack}, null")
        body.do(f"br i1 {missing}, label %unpacked, label %packed")
        body.label("unpacked")
        self.drop(outputs)
        body.do("ret ptr null")
        body.label("packed")
        for i, array in enumerate(outputs):
            body.emit(f"call i32 @PyTuple_SetItem(ptr {pack}, i64 {i}, ptr {array})")
        body.do(f"ret ptr {pack}")


def total_size(shapes: tuple[tuple[int, ...], ...]) -> int:
    """Doubles in all outputs."""
    return sum(prod(shape) for shape in shapes)
