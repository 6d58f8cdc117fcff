# SPDX-License-Identifier: Apache-2.0
"""LLVM text of a builtin function that checks its arguments, runs a kernel, and returns new arrays.

Vectors are one state; matrices of rows are a batch, for which the interpreter lock is released. Fewer rows than the
batch code takes run through the code for one state, if the entry has it. What does not depend on sizes
is in `boundary_arguments`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ada_dynamics.jit.boundary_arguments import CONTEXT, DECLARATIONS, Layout
from ada_dynamics.jit.boundary_results import NPY_DOUBLE
from ada_dynamics.jit.llvm_text import Body
from ada_dynamics.jit.native import Entry

ENTRY = "boundary"

# Py_buffer: buf 0, obj 8, len 16, itemsize 24, readonly 32, ndim 36, format 40 ... 80 bytes in all.
_VIEW = "[80 x i8]"
_VIEW_NDIM, _VIEW_FORMAT, _VIEW_SHAPE = 36, 40, 48
# PyBUF_C_CONTIGUOUS | PyBUF_FORMAT
_BUFFER_FLAGS = 0x38 | 0x04
_FORMAT_D = 100  # "d" and the terminating zero, little-endian
# NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED
_ARRAY_FLAGS = 0x101
_REUSED = 512  # numbers of the largest results that are used again

_ELSEWHERE = """\
declare i1 @arranged(ptr, ptr, i64, ptr, ptr, i64)
declare ptr @call_general(ptr, ptr, i64, ptr)
declare ptr @numbers(ptr, ptr, i64, ptr)
declare ptr @result(ptr, i64, i32, ptr)
"""
_PARAMETERS = "ptr %self, ptr %args, i64 %nargs, ptr %kwnames"


def boundary_module(sizes: tuple[int, ...], shapes: tuple[tuple[int, ...], ...], mode: str, layout: Layout) -> str:
    """Text of `ptr @boundary(self, args, nargs, kwnames)` for input sizes and output shapes."""
    plain = _plain(sizes, shapes, mode, layout)
    return f"{DECLARATIONS}{_ELSEWHERE}{plain}{_adapted(sizes, shapes, mode, layout)}"


def _plain(sizes: tuple[int, ...], shapes: tuple[tuple[int, ...], ...], mode: str, layout: Layout) -> str:
    """The boundary itself: arrays that can be used where they are."""
    body = Body()
    body.label("entry")
    if mode == "buffer":
        for i in range(len(sizes)):
            body.do(f"%view{i} = alloca {_VIEW}, align 8")
    _prepare(body, shapes)
    fits = _is_positional(body, len(sizes))
    body.do(f"br i1 {fits}, label %one0, label %other")
    path = _BufferPath if mode == "buffer" else _StructPath
    path(body, sizes, shapes, mode, layout, "one").write(otherwise="start_many")
    path(body, sizes, shapes, mode, layout, "many").write(otherwise="other")
    body.label("other")
    body.do(f"%adapted = call ptr @adapted({_PARAMETERS})")
    body.do("ret ptr %adapted")
    return _closed(body, f"define ptr @{ENTRY}")


def _adapted(sizes: tuple[int, ...], shapes: tuple[tuple[int, ...], ...], mode: str, layout: Layout) -> str:
    """Everything else: keywords are put in order; then numbers are read from what holds them."""
    body = Body()
    body.label("entry")
    body.do(f"%given = alloca [{len(sizes) + 1} x ptr], align 8")
    for i, size in enumerate(sizes):
        body.do(f"%room{i} = alloca [{max(size, 1)} x double], align 64")
    _prepare(body, shapes)
    path = _NumbersPath(body, sizes, shapes, mode, layout, "one")
    strict = body.emit(f"icmp eq ptr {path.context('names')}, null")
    body.do(f"br i1 {strict}, label %general, label %look")
    body.label("look")
    body.do(f"br i1 {_is_positional(body, len(sizes))}, label %one0, label %arrange")
    body.label("arrange")
    arranged = body.emit(
        f"call i1 @arranged(ptr %context, ptr %args, i64 %nargs, ptr %kwnames, ptr %given, i64 {len(sizes)})"
    )
    body.do(f"br i1 {arranged}, label %again, label %general")
    body.label("again")
    body.do(f"%found = call ptr @{ENTRY}(ptr %self, ptr %given, i64 {len(sizes)}, ptr null)")
    body.do("ret ptr %found")
    path.write(otherwise="general")
    return _closed(body, "define internal ptr @adapted", "noinline ")


def _prepare(body: Body, shapes: Sequence[tuple[int, ...]]) -> None:
    for i, shape in enumerate(shapes):
        body.do(f"%dims{i} = alloca [{len(shape) + 1} x i64], align 8")
    body.do("%context = call ptr @context_of(ptr %self)")


def _is_positional(body: Body, count: int) -> str:
    right_count = body.emit(f"icmp eq i64 %nargs, {count}")
    no_names = body.emit("icmp eq ptr %kwnames, null")
    return body.emit(f"and i1 {right_count}, {no_names}")


def _closed(body: Body, head: str, attributes: str = "") -> str:
    body.label("general")
    body.do(f"%answer = call ptr @call_general({_PARAMETERS})")
    body.do("ret ptr %answer")
    return f"{head}({_PARAMETERS}) {attributes}nounwind {{\n{body}\n}}\n"


class _Path:
    """The way of one kind of arguments, all vectors ("one") or all matrices ("many"), from check to result.

    Input i is looked at from label KINDi on; where the first is not of this kind, control goes to `otherwise`.
    """

    views = 0  # buffers to release once all inputs are taken
    unlike = "other"  # where control goes if an input is not of the first one's kind

    def __init__(
        self,
        body: Body,
        sizes: tuple[int, ...],
        shapes: tuple[tuple[int, ...], ...],
        mode: str,
        layout: Layout,
        kind: str,
    ) -> None:
        self.body = body
        self.mode = mode
        self.sizes = sizes
        self.shapes = shapes
        self.layout = layout
        self.kind = kind
        self.many = kind == "many"
        self.count = ""  # rows in the first matrix

    def write(self, otherwise: str) -> None:
        body = self.body
        lanes = ""
        if self.many:
            body.label("start_many")
            lanes = self.entry("lanes", "i64")
            body.do("br label %many0")
        data = []
        for i, size in enumerate(self.sizes):
            body.label(f"{self.kind}{i}")
            argument = self.at("%args", 8 * i, "ptr")
            data.append(self.take(i, argument, size, otherwise if i == 0 else self.unlike))
        body.label(f"{self.kind}{len(self.sizes)}")
        self.run(data, lanes)

    def take(self, i: int, argument: str, size: int, otherwise: str) -> str:
        """Pointer to the data of input i; control is at the next label then."""
        raise NotImplementedError

    def at(self, pointer: str, offset: int, kind: str) -> str:
        place = self.body.emit(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        return self.body.emit(f"load {kind}, ptr {place}")

    def context(self, name: str, kind: str = "ptr") -> str:
        return self.at("%context", 8 * CONTEXT.index(name), kind)

    def entry(self, name: str, kind: str = "ptr") -> str:
        return self.at(self.context("entry"), getattr(Entry, name).offset, kind)

    def all_of(self, *conditions: str) -> str:
        result = conditions[0]
        for condition in conditions[1:]:
            result = self.body.emit(f"and i1 {result}, {condition}")
        return result

    def right_shape(self, shape: str, size: int) -> str:
        """i1: whether a shape (of known rank) is (size) or (N, size), with N as in the first input."""
        if not self.many:
            return self.body.emit(f"icmp eq i64 {self.at(shape, 0, 'i64')}, {size}")
        rows, columns = self.at(shape, 0, "i64"), self.at(shape, 8, "i64")
        if self.count:
            enough = self.body.emit(f"icmp eq i64 {rows}, {self.count}")
        else:
            self.count = rows
            enough = self.body.emit(f"icmp sge i64 {rows}, 1")
        return self.all_of(enough, self.body.emit(f"icmp eq i64 {columns}, {size}"))

    def release(self, count: int) -> None:
        for i in range(count):
            self.body.do(f"call void @PyBuffer_Release(ptr %view{i})")

    def run(self, data: list[str], lanes: str) -> None:
        """Make the outputs, run the kernel, and return them where the status is 0."""
        body, kind = self.body, self.kind
        few = body.emit(f"icmp slt i64 {self.count}, {lanes}") if self.many else ""
        code = self.entry("single")
        if self.many:
            code = body.emit(f"select i1 {few}, ptr {self.entry('repeat')}, ptr {self.entry('batch')}")
        self.stop_where(body.emit(f"icmp eq ptr {code}, null"), "not_compiled", self.views)
        outputs: list[str] = []
        for i, shape in enumerate(self.shapes):
            array = self.result(i, shape)
            missing = body.emit(f"icmp eq ptr {array}, null")
            body.do(f"br i1 {missing}, label %{kind}_full{i}, label %{kind}_made{i}")
            body.label(f"{kind}_full{i}")
            self.release(self.views)
            self.drop(outputs)
            body.do("ret ptr null")
            body.label(f"{kind}_made{i}")
            outputs.append(array)
        places = [self.at(array, self.layout.data, "ptr") for array in outputs]
        status = self.called(code, ", ".join(f"ptr {pointer}" for pointer in (*data, *places)), few)
        self.release(self.views)
        self.stop_where(body.emit(f"icmp ne i32 {status}, 0"), "bad", 0, outputs)
        self.give(outputs)

    def called(self, code: str, arguments: str, few: str) -> str:
        """The status of the kernel, which has been called."""
        body = self.body
        if not self.many:
            return body.emit(f"call i32 {code}({arguments})")
        body.do(f"br i1 {few}, label %few, label %lots")
        body.label("few")  # one state after the other
        status = body.emit(f"call i32 {code}({arguments}, i64 {self.count}, i64 1)")
        body.do("br label %ran")
        body.label("lots")
        state = body.emit("call ptr @PyEval_SaveThread()")
        of_batch = body.emit(f"call i32 {code}({arguments}, i64 {self.count})")
        body.do(f"call void @PyEval_RestoreThread(ptr {state})")
        body.do("br label %ran")
        body.label("ran")
        return body.emit(f"phi i32 [{status}, %few], [{of_batch}, %lots]")

    def stop_where(self, condition: str, name: str, views: int, outputs: Sequence[str] = ()) -> None:
        """Go the general way where a condition holds, and give back what is held."""
        body, label = self.body, f"{self.kind}_{name}"
        body.do(f"br i1 {condition}, label %{label}, label %{label}_not")
        body.label(label)
        self.release(views)
        self.drop(outputs)
        body.do("br label %general")
        body.label(f"{label}_not")

    def new_array(self, i: int, shape: tuple[int, ...]) -> str:
        dims = self.dims(i, shape)
        return self.body.emit(
            f"call ptr {self.context('array_new')}(ptr {self.context('array_type')}, i32 {len(dims)}, ptr %dims{i}, "
            f"i32 {NPY_DOUBLE}, ptr null, ptr null, i32 0, i32 0, ptr null)"
        )

    def dims(self, i: int, shape: tuple[int, ...]) -> list[str]:
        """Sizes of the axes of result i, which are written down."""
        dims = [*([self.count] if self.many else []), *map(str, shape)]
        for axis, size in enumerate(dims):
            place = self.body.emit(f"getelementptr i64, ptr %dims{i}, i64 {axis}")
            self.body.do(f"store i64 {size}, ptr {place}")
        return dims

    def result(self, i: int, shape: tuple[int, ...]) -> str:
        """An array for result i, of one state as a rule one of the last two: see `boundary_results`."""
        if self.mode != "struct" or self.many or prod(shape) > _REUSED:
            return self.new_array(i, shape)
        dims = self.dims(i, shape)
        return self.body.emit(f"call ptr @result(ptr %context, i64 {2 * i}, i32 {len(dims)}, ptr %dims{i})")

    def drop(self, outputs: Sequence[str]) -> None:
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
        record = self.context("record_type")
        body.do(f"br i1 {body.emit(f'icmp eq ptr {record}, null')}, label %{kind}_plain, label %{kind}_named")
        body.label(f"{kind}_plain")
        body.do(f"ret ptr {pack}")
        body.label(f"{kind}_named")  # tuple.__new__(record, pack)
        new = self.context("tuple_new")
        named = body.emit(
            f"call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr {new}, ptr {record}, ptr {pack}, ptr null)"
        )
        body.do(f"call void @Py_DecRef(ptr {pack})")
        body.do(f"ret ptr {named}")


class _BufferPath(_Path):
    """Takes the inputs through the buffer protocol."""

    def take(self, i: int, argument: str, size: int, otherwise: str) -> str:
        body, kind = self.body, self.kind
        self.views = i + 1
        code = body.emit(f"call i32 @PyObject_GetBuffer(ptr {argument}, ptr %view{i}, i32 {_BUFFER_FLAGS})")
        got = body.emit(f"icmp eq i32 {code}, 0")
        body.do(f"br i1 {got}, label %{kind}_look{i}, label %{kind}_none{i}")
        body.label(f"{kind}_none{i}")
        body.do("call void @PyErr_Clear()")
        self.release(i)
        body.do("br label %other")
        body.label(f"{kind}_look{i}")
        data = self.at(f"%view{i}", 0, "ptr")
        rank = body.emit(f"icmp eq i32 {self.at(f'%view{i}', _VIEW_NDIM, 'i32')}, {1 + self.many}")
        text = self.at(f"%view{i}", _VIEW_FORMAT, "ptr")
        double = body.emit(f"icmp eq i16 {body.emit(f'load i16, ptr {text}, align 1')}, {_FORMAT_D}")
        body.do(f"br i1 {self.all_of(rank, double)}, label %{kind}_measure{i}, label %{kind}_wrong{i}")
        body.label(f"{kind}_measure{i}")
        fits = self.right_shape(self.at(f"%view{i}", _VIEW_SHAPE, "ptr"), size)
        body.do(f"br i1 {fits}, label %{kind}{i + 1}, label %{kind}_wrong{i}")
        body.label(f"{kind}_wrong{i}")
        self.release(i + 1)
        body.do(f"br label %{otherwise}")
        return data


class _StructPath(_Path):
    """Takes the inputs from numpy's structure; nothing but the type is read before the type is known."""

    def take(self, i: int, argument: str, size: int, otherwise: str) -> str:
        body, kind, layout = self.body, self.kind, self.layout
        exact = body.emit(f"icmp eq ptr {self.at(argument, 8, 'ptr')}, {self.context('array_type')}")
        body.do(f"br i1 {exact}, label %{kind}_look{i}, label %other")
        body.label(f"{kind}_look{i}")
        rank = body.emit(f"icmp eq i32 {self.at(argument, layout.ndim, 'i32')}, {1 + self.many}")
        double = body.emit(f"icmp eq ptr {self.at(argument, layout.dtype, 'ptr')}, {self.context('double_type')}")
        wanted = body.emit(f"and i32 {self.at(argument, layout.flags, 'i32')}, {_ARRAY_FLAGS}")
        flat = body.emit(f"icmp eq i32 {wanted}, {_ARRAY_FLAGS}")
        body.do(f"br i1 {self.all_of(rank, double, flat)}, label %{kind}_measure{i}, label %{otherwise}")
        body.label(f"{kind}_measure{i}")
        data = self.at(argument, layout.data, "ptr")
        fits = self.right_shape(self.at(argument, layout.dims, "ptr"), size)
        body.do(f"br i1 {fits}, label %{kind}{i + 1}, label %{otherwise}")
        return data


class _NumbersPath(_Path):
    """Takes the inputs as numbers read from lists, or from arrays of another type, stride or class."""

    unlike = "general"

    def take(self, i: int, argument: str, size: int, otherwise: str) -> str:
        body = self.body
        data = body.emit(f"call ptr @numbers(ptr %context, ptr {argument}, i64 {size}, ptr %room{i})")
        body.do(f"br i1 {body.emit(f'icmp eq ptr {data}, null')}, label %{otherwise}, label %{self.kind}{i + 1}")
        return data
