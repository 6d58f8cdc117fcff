# SPDX-License-Identifier: Apache-2.0
"""LLVM text of a builtin function that checks its arguments, runs a kernel, and returns new arrays.

`self` is a tuple (context, general, owner): context is a bytes object with the words listed in CONTEXT, so that no
address is part of the code and one compiled function serves every kernel of the same sizes. Vectors are one state;
matrices of rows are a batch, for which the interpreter lock is released.
"""

from __future__ import annotations

from dataclasses import dataclass

from ada_dynamics.jit.llvm_text import Body

ENTRY = "boundary"
# `single_at` and `batch_at` are addresses of words that hold the kernels, or zero while these are not compiled.
CONTEXT = ("single_at", "array_new", "array_type", "double_type", "call_name", "batch_at", "lanes")
SYMBOLS = (
    "PyBuffer_Release",
    "PyBytes_AsString",
    "PyErr_Clear",
    "PyEval_RestoreThread",
    "PyEval_SaveThread",
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
_VIEW_NDIM, _VIEW_FORMAT, _VIEW_SHAPE = 36, 40, 48
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
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyEval_SaveThread()
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
    body = Body()
    body.label("entry")
    if mode == "buffer":
        for i in range(len(sizes)):
            body.do(f"%view{i} = alloca {_VIEW}, align 8")
    for i, shape in enumerate(shapes):
        body.do(f"%dims{i} = alloca [{len(shape) + 1} x i64], align 8")
    body.do("%context = call ptr @context_of(ptr %self)")
    right_count = body.emit(f"icmp eq i64 %nargs, {len(sizes)}")
    no_names = body.emit("icmp eq ptr %kwnames, null")
    fits = body.emit(f"and i1 {right_count}, {no_names}")
    body.do(f"br i1 {fits}, label %one0, label %general")
    path = _BufferPath if mode == "buffer" else _StructPath
    path(body, sizes, shapes, layout, "one").write(otherwise="start_many")
    path(body, sizes, shapes, layout, "many").write(otherwise="general")
    body.label("general")
    body.do("%answer = call ptr @call_general(ptr %self, ptr %args, i64 %nargs, ptr %kwnames)")
    body.do("ret ptr %answer")
    head = f"define ptr @{ENTRY}(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) nounwind"
    return f"{_DECLARATIONS}{_GENERAL}{head} {{\n{body}\n}}\n"


class _Path:
    """The way of one kind of arguments, all vectors ("one") or all matrices ("many"), from check to result.

    Input i is looked at from label KINDi on; where the first is not of this kind, control goes to `otherwise`.
    """

    views = 0  # buffers to release once all inputs are taken

    def __init__(
        self, body: Body, sizes: tuple[int, ...], shapes: tuple[tuple[int, ...], ...], layout: Layout, kind: str
    ) -> None:
        self.body = body
        self.sizes = sizes
        self.shapes = shapes
        self.layout = layout
        self.kind = kind
        self.many = kind == "many"
        self.count = ""  # rows in the first matrix

    def write(self, otherwise: str) -> None:
        body = self.body
        if self.many:
            body.label("start_many")
            batch = self.at(self.context("batch_at"), 0, "ptr")
            lanes = self.context("lanes", "i64")
            missing = body.emit(f"icmp eq ptr {batch}, null")
            body.do(f"br i1 {missing}, label %general, label %many0")
        else:
            batch = lanes = ""
        data = []
        for i, size in enumerate(self.sizes):
            body.label(f"{self.kind}{i}")
            argument = self.at("%args", 8 * i, "ptr")
            data.append(self.take(i, argument, size, lanes, otherwise if i == 0 else "general"))
        body.label(f"{self.kind}{len(self.sizes)}")
        self.run(data, batch)

    def take(self, i: int, argument: str, size: int, lanes: str, otherwise: str) -> str:
        """Pointer to the data of input i; control is at the next label then."""
        raise NotImplementedError

    def at(self, pointer: str, offset: int, kind: str) -> str:
        place = self.body.emit(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        return self.body.emit(f"load {kind}, ptr {place}")

    def context(self, name: str, kind: str = "ptr") -> str:
        return self.at("%context", 8 * CONTEXT.index(name), kind)

    def all_of(self, *conditions: str) -> str:
        result = conditions[0]
        for condition in conditions[1:]:
            result = self.body.emit(f"and i1 {result}, {condition}")
        return result

    def right_shape(self, shape: str, size: int, lanes: str) -> str:
        """i1: whether a shape (of known rank) is (size) or (N, size), with N as in the first input."""
        if not self.many:
            return self.body.emit(f"icmp eq i64 {self.at(shape, 0, 'i64')}, {size}")
        rows, columns = self.at(shape, 0, "i64"), self.at(shape, 8, "i64")
        if self.count:
            enough = self.body.emit(f"icmp eq i64 {rows}, {self.count}")
        else:
            self.count = rows
            enough = self.body.emit(f"icmp sge i64 {rows}, {lanes}")
        return self.all_of(enough, self.body.emit(f"icmp eq i64 {columns}, {size}"))

    def release(self, count: int) -> None:
        for i in range(count):
            self.body.do(f"call void @PyBuffer_Release(ptr %view{i})")

    def run(self, data: list[str], batch: str) -> None:
        """Make the outputs, run the kernel, and return them where the status is 0."""
        body, kind = self.body, self.kind
        single = "" if self.many else self.single_kernel()
        outputs: list[str] = []
        for i, shape in enumerate(self.shapes):
            array = self.new_array(i, shape)
            missing = body.emit(f"icmp eq ptr {array}, null")
            body.do(f"br i1 {missing}, label %{kind}_full{i}, label %{kind}_made{i}")
            body.label(f"{kind}_full{i}")
            self.release(self.views)
            self.drop(outputs)
            body.do("ret ptr null")
            body.label(f"{kind}_made{i}")
            outputs.append(array)
        places = [self.at(array, self.layout.data, "ptr") for array in outputs]
        arguments = ", ".join(f"ptr {pointer}" for pointer in (*data, *places))
        if self.many:
            state = body.emit("call ptr @PyEval_SaveThread()")
            status = body.emit(f"call i32 {batch}({arguments}, i64 {self.count})")
            body.do(f"call void @PyEval_RestoreThread(ptr {state})")
        else:
            status = body.emit(f"call i32 {single}({arguments})")
        self.release(self.views)
        good = body.emit(f"icmp eq i32 {status}, 0")
        body.do(f"br i1 {good}, label %{kind}_good, label %{kind}_bad")
        body.label(f"{kind}_bad")
        self.drop(outputs)
        body.do("br label %general")
        body.label(f"{kind}_good")
        self.give(outputs)

    def single_kernel(self) -> str:
        """The kernel for one state; while it is not compiled, control goes to the general way."""
        body = self.body
        single = self.at(self.context("single_at"), 0, "ptr")
        missing = body.emit(f"icmp eq ptr {single}, null")
        body.do(f"br i1 {missing}, label %not_compiled, label %compiled")
        body.label("not_compiled")
        self.release(self.views)
        body.do("br label %general")
        body.label("compiled")
        return single

    def new_array(self, i: int, shape: tuple[int, ...]) -> str:
        dims = [*([self.count] if self.many else []), *map(str, shape)]
        for axis, size in enumerate(dims):
            place = self.body.emit(f"getelementptr i64, ptr %dims{i}, i64 {axis}")
            self.body.do(f"store i64 {size}, ptr {place}")
        return self.body.emit(
            f"call ptr {self.context('array_new')}(ptr {self.context('array_type')}, i32 {len(dims)}, ptr %dims{i}, "
            f"i32 {_NPY_DOUBLE}, ptr null, ptr null, i32 0, i32 0, ptr null)"
        )

    def drop(self, outputs: list[str]) -> None:
        for array in outputs:
            self.body.do(f"call void @Py_DecRef(ptr {array})")

    def give(self, outputs: list[str]) -> None:
        body, kind = self.body, self.kind
        if len(outputs) == 1:
            body.do(f"ret ptr {outputs[0]}")
            return
        pack = body.emit(f"call ptr @PyTuple_New(i64 {len(outputs)})")
        missing = body.emit(f"icmp eq ptr {pack}, null")
        body.do(f"br i1 {missing}, label %{kind}_unpacked, label %{kind}_packed")
        body.label(f"{kind}_unpacked")
        self.drop(outputs)
        body.do("ret ptr null")
        body.label(f"{kind}_packed")
        for i, array in enumerate(outputs):
            body.emit(f"call i32 @PyTuple_SetItem(ptr {pack}, i64 {i}, ptr {array})")
        body.do(f"ret ptr {pack}")


class _BufferPath(_Path):
    """Takes the inputs through the buffer protocol."""

    def take(self, i: int, argument: str, size: int, lanes: str, otherwise: str) -> str:
        body, kind = self.body, self.kind
        self.views = i + 1
        code = body.emit(f"call i32 @PyObject_GetBuffer(ptr {argument}, ptr %view{i}, i32 {_BUFFER_FLAGS})")
        got = body.emit(f"icmp eq i32 {code}, 0")
        body.do(f"br i1 {got}, label %{kind}_look{i}, label %{kind}_none{i}")
        body.label(f"{kind}_none{i}")
        body.do("call void @PyErr_Clear()")
        self.release(i)
        body.do("br label %general")
        body.label(f"{kind}_look{i}")
        data = self.at(f"%view{i}", 0, "ptr")
        rank = body.emit(f"icmp eq i32 {self.at(f'%view{i}', _VIEW_NDIM, 'i32')}, {1 + self.many}")
        text = self.at(f"%view{i}", _VIEW_FORMAT, "ptr")
        double = body.emit(f"icmp eq i16 {body.emit(f'load i16, ptr {text}, align 1')}, {_FORMAT_D}")
        body.do(f"br i1 {self.all_of(rank, double)}, label %{kind}_measure{i}, label %{kind}_wrong{i}")
        body.label(f"{kind}_measure{i}")
        fits = self.right_shape(self.at(f"%view{i}", _VIEW_SHAPE, "ptr"), size, lanes)
        body.do(f"br i1 {fits}, label %{kind}{i + 1}, label %{kind}_wrong{i}")
        body.label(f"{kind}_wrong{i}")
        self.release(i + 1)
        body.do(f"br label %{otherwise}")
        return data


class _StructPath(_Path):
    """Takes the inputs from numpy's structure; nothing but the type is read before the type is known."""

    def take(self, i: int, argument: str, size: int, lanes: str, otherwise: str) -> str:
        body, kind, layout = self.body, self.kind, self.layout
        exact = body.emit(f"icmp eq ptr {self.at(argument, 8, 'ptr')}, {self.context('array_type')}")
        body.do(f"br i1 {exact}, label %{kind}_look{i}, label %general")
        body.label(f"{kind}_look{i}")
        rank = body.emit(f"icmp eq i32 {self.at(argument, layout.ndim, 'i32')}, {1 + self.many}")
        double = body.emit(f"icmp eq ptr {self.at(argument, layout.dtype, 'ptr')}, {self.context('double_type')}")
        wanted = body.emit(f"and i32 {self.at(argument, layout.flags, 'i32')}, {_ARRAY_FLAGS}")
        flat = body.emit(f"icmp eq i32 {wanted}, {_ARRAY_FLAGS}")
        body.do(f"br i1 {self.all_of(rank, double, flat)}, label %{kind}_measure{i}, label %{otherwise}")
        body.label(f"{kind}_measure{i}")
        data = self.at(argument, layout.data, "ptr")
        fits = self.right_shape(self.at(argument, layout.dims, "ptr"), size, lanes)
        body.do(f"br i1 {fits}, label %{kind}{i + 1}, label %{otherwise}")
        return data
