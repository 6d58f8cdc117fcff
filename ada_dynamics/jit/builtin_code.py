# SPDX-License-Identifier: Apache-2.0
"""Machine code of the builtin functions that call kernels (see `python_call`).

For two inputs of seven numbers and a result of seven, the code does the following:

    PyObject *builtin(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
        if (nargs == 2 && !kwnames) {
            if (is_vector(args[0], 7) && is_vector(args[1], 7)) {           /* a state */
                PyObject *a = result(context, ...);
                if (entry->single && !entry->single(data(args[0]), data(args[1]), data(a))) return a;
                return call_general(self, args, nargs, kwnames);
            }
            if (is_matrix(args[0], 7) && is_matrix(args[1], 7)) { ... }     /* a batch, likewise */
        }
        return adapted(self, args, nargs, kwnames);
    }

`adapted` sorts keywords, copies lists and other arrays to vectors, and continues in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ada_dynamics.jit.native import KernelAddresses
from ada_dynamics.jit.python_objects import ALIGNED, CONTIGUOUS, DECLARATIONS, SHARED, PythonCode

BUILTIN = "builtin"  # name of the generated function
REUSABLE_SIZE = 512  # results with at most so many numbers are reused
# Numbers of an array from which numpy asks for large pages: writing to new memory is then up to 20 times as
# fast. Results of a batch that have as many together are parts of one array, which the general call makes.
LARGE_PAGES_FROM = 2**19
STATE, BATCH = "state", "batch"  # labels of the code for vectors and for matrices
_PARAMETERS = "ptr %self, ptr %args, i64 %nargs, ptr %kwnames"


def builtin_text(sizes: tuple[int, ...], shapes: tuple[tuple[int, ...], ...]) -> str:
    """Module with `ptr @builtin(self, args, nargs, kwnames)` for input sizes and output shapes."""
    declared = "".join(f"declare {kind} @{name}({parameters})\n" for name, (kind, parameters) in SHARED.items())
    return f"{DECLARATIONS}{declared}{_plain(sizes, shapes)}{_adapted(sizes, shapes)}"


def _plain(sizes: tuple[int, ...], shapes: tuple[tuple[int, ...], ...]) -> str:
    """The builtin for positional float64 arrays; other calls continue in `adapted`."""
    code = PythonCode()
    code.load_context()
    dims = [code.stack(f"[{len(shape) + 1} x i64]", 8) for shape in shapes]
    code.fork(_is_positional(code, len(sizes)), f"{STATE}0", "other")
    _CallPath(code, sizes, shapes, dims, STATE).write(otherwise=BATCH)
    _CallPath(code, sizes, shapes, dims, BATCH).write(otherwise="other")
    code.label("other")
    code.do(f"ret ptr {code.emit(f'call ptr @adapted({_PARAMETERS})')}")
    return _with_general(code).function(BUILTIN, "ptr", _PARAMETERS)


def _adapted(sizes: tuple[int, ...], shapes: tuple[tuple[int, ...], ...]) -> str:
    """Other calls: arguments by keyword are put in order, numbers are copied from lists and other arrays."""
    code = PythonCode()
    code.load_context()
    dims = [code.stack(f"[{len(shape) + 1} x i64]", 8) for shape in shapes]
    given = code.stack(f"[{len(sizes) + 1} x ptr]", 8)
    buffers = [code.stack(f"[{max(size, 1)} x double]") for size in sizes]
    code.fork(code.is_equal("ptr", code.context("names"), "null"), "general", "look")
    code.label("look")
    code.fork(_is_positional(code, len(sizes)), f"{STATE}0", "arrange")
    code.label("arrange")
    arguments = f"ptr %context, {_PARAMETERS.partition(', ')[2]}, ptr {given}, i64 {len(sizes)}"
    code.fork(code.emit(f"call i1 @arranged({arguments})"), "again", "general")
    code.label("again")
    code.do(f"ret ptr {code.emit(f'call ptr @{BUILTIN}(ptr %self, ptr {given}, i64 {len(sizes)}, ptr null)')}")
    _CallPath(code, sizes, shapes, dims, STATE, buffers).write(otherwise="general")
    return _with_general(code).function("adapted", "ptr", _PARAMETERS, "noinline", internal=True)


def _is_positional(code: PythonCode, count: int) -> str:
    return code.all_of(code.is_equal("i64", "%nargs", count), code.is_equal("ptr", "%kwnames", "null"))


def _with_general(code: PythonCode) -> PythonCode:
    code.label("general")
    code.do(f"ret ptr {code.emit(f'call ptr @call_general({_PARAMETERS})')}")
    return code


@dataclass
class _CallPath:
    """Code for arguments of one kind, vectors (a state) or matrices (a batch), from their checks to the result.

    The check of input i starts at label KINDi. If the first input is of another kind, the code branches to `otherwise`.
    """

    code: PythonCode
    sizes: tuple[int, ...]  # of the inputs
    shapes: tuple[tuple[int, ...], ...]  # of the results
    dims: Sequence[str]  # memory for the axes of each result
    kind: str  # STATE or BATCH
    buffers: Sequence[str] = ()  # memory for converted inputs, if inputs are converted
    count: str = ""  # rows of the first matrix

    @property
    def is_batch(self) -> bool:
        return self.kind == BATCH

    def write(self, otherwise: str) -> None:
        code, lanes = self.code, ""
        if self.is_batch:
            code.label(BATCH)
            lanes = self.entry("lanes", "i64")
            code.go(f"{BATCH}0")
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
        rank = code.is_equal("i32", code.field(argument, "ndim", "i32"), 1 + self.is_batch)
        double = code.is_equal("ptr", code.field(argument, "dtype"), code.context("double_type"))
        flat = code.has_flags(argument, CONTIGUOUS | ALIGNED)
        code.fork(code.all_of(rank, double, flat), f"{kind}_measure{i}", otherwise)
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
        if not self.is_batch:
            return code.is_equal("i64", code.entry("i64", shape, 0), size)
        rows, columns = code.entry("i64", shape, 0), code.entry("i64", shape, 1)
        if self.count:
            enough = code.is_equal("i64", rows, self.count)
        else:
            self.count = rows
            enough = code.emit(f"icmp sge i64 {rows}, 1")
        return code.all_of(enough, code.is_equal("i64", columns, size))

    def entry(self, name: str, kind: str = "ptr") -> str:
        """Load a field of the kernel's `KernelAddresses`."""
        return self.code.at(self.code.context("entry"), getattr(KernelAddresses, name).offset, kind)

    def run(self, data: list[str], lanes: str) -> None:
        """Create the results, call the kernel, and return the results if the status is 0."""
        code = self.code
        few = code.emit(f"icmp slt i64 {self.count}, {lanes}") if self.is_batch else ""
        kernel = self.entry("single")
        if self.is_batch:
            kernel = code.emit(f"select i1 {few}, ptr {self.entry('repeat')}, ptr {self.entry('batch')}")
        code.go_unless(code.emit(f"icmp ne ptr {kernel}, null"), "general")
        if self.is_batch and len(self.shapes) > 1:
            most = LARGE_PAGES_FROM // sum(map(prod, self.shapes))
            code.go_unless(code.emit(f"icmp sle i64 {self.count}, {most}"), "general")
        outputs: list[str] = []
        for i, shape in enumerate(self.shapes):
            array = self.result(i, shape)
            with code.leaving_if(code.is_equal("ptr", array, "null")):
                self.release(outputs)
                code.do("ret ptr null")
            outputs.append(array)
        places = [code.field(array, "data") for array in outputs]
        status = self.call_kernel(kernel, ", ".join(f"ptr {pointer}" for pointer in (*data, *places)), few)
        with code.leaving_if(code.emit(f"icmp ne i32 {status}, 0")):
            self.release(outputs)
            code.go("general")
        self.return_results(outputs)

    def call_kernel(self, kernel: str, arguments: str, few: str) -> str:
        """Call the kernel; batches of fewer states than lanes use the code for one state. Return the status."""
        code = self.code
        if not self.is_batch:
            return code.emit(f"call i32 {kernel}({arguments})")
        code.fork(few, "few", "enough")
        code.label("few")
        status = code.emit(f"call i32 {kernel}({arguments}, i64 {self.count}, i64 1)")
        code.go("ran")
        code.label("enough")
        thread = code.emit("call ptr @PyEval_SaveThread()")
        of_batch = code.emit(f"call i32 {kernel}({arguments}, i64 {self.count})")
        code.do(f"call void @PyEval_RestoreThread(ptr {thread})")
        code.go("ran")
        code.label("ran")
        return code.emit(f"phi i32 [{status}, %few], [{of_batch}, %enough]")

    def result(self, i: int, shape: tuple[int, ...]) -> str:
        """Array for result i."""
        code, dims = self.code, [*([self.count] if self.is_batch else []), *map(str, shape)]
        for axis, size in enumerate(dims):
            code.do(f"store i64 {size}, ptr {code.element(self.dims[i], axis, 'i64')}")
        if self.is_batch or prod(shape) > REUSABLE_SIZE:
            return code.new_array(len(dims), self.dims[i])
        return code.emit(f"call ptr @result(ptr %context, i64 {2 * i}, i32 {len(dims)}, ptr {self.dims[i]})")

    def release(self, outputs: Sequence[str]) -> None:
        """Release arrays."""
        for array in outputs:
            self.code.do(f"call void @Py_DecRef(ptr {array})")

    def return_results(self, outputs: list[str]) -> None:
        """Return one array, or a tuple of several."""
        code = self.code
        if len(outputs) == 1:
            code.do(f"ret ptr {outputs[0]}")
            return
        pack = code.emit(f"call ptr @PyTuple_New(i64 {len(outputs)})")
        with code.leaving_if(code.is_equal("ptr", pack, "null")):
            self.release(outputs)
            code.do("ret ptr null")
        for i, array in enumerate(outputs):
            code.emit(f"call i32 @PyTuple_SetItem(ptr {pack}, i64 {i}, ptr {array})")
        record = code.context("record_type")
        code.leave_if(code.is_equal("ptr", record, "null"), pack, "ptr")
        arguments = f"ptr {code.context('tuple_new')}, ptr {record}, ptr {pack}, ptr null"
        named = code.emit(f"call ptr (ptr, ...) @PyObject_CallFunctionObjArgs({arguments})")  # tuple.__new__
        code.do(f"call void @Py_DecRef(ptr {pack})")
        code.do(f"ret ptr {named}")
