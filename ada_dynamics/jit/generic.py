# SPDX-License-Identifier: Apache-2.0
"""Generic kernels: passes over the joints of a tree, with one piece of code per joint type, shared by all robots.

The robot is data: type and parent of each joint, offsets of its variables, and a row of constants. Variables of the
functions refer to regions: "k" (constants), "own" and "parent" (workspace rows), and the arguments ("q", "v", ...) from
the offset of the joint. Arguments are arrays of columns, each with one number per state.

Time and memory are proportional to the number of joints. A chain of 100 bodies takes 12 us, and no code is compiled for
it; specialised code takes 13 us and 4 s to compile.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from ada_dynamics.arrays import Array
from ada_dynamics.expr.function import Function
from ada_dynamics.jit import compiler
from ada_dynamics.jit.expressions import Call, Emitter, preamble
from ada_dynamics.jit.fallback import reason_for_fallback
from ada_dynamics.jit.fused import fused
from ada_dynamics.jit.kernel import Kernel
from ada_dynamics.jit.lowering import Instructions, Lanes, spread
from ada_dynamics.jit.native import KernelAddresses, Module, Report, obtain
from ada_dynamics.jit.scalar import MEMORY, MEMORY_DECLARATIONS, NOT_FINITE, SINGLE, allocate
from ada_dynamics.jit.signature import Signature
from ada_dynamics.jit.target import Target

# --- lowering ---------------------------------------------------------------------------------------------------------
# Offset of a joint in an argument: its offset in q or v, or a fixed number of elements per joint.
Place = Literal["q", "v"] | int


@dataclass(frozen=True)
class JointCode:
    """Code for one joint type in one pass; each output is stored in a region at an offset."""

    function: Function
    stores: Mapping[str, tuple[str, int]]


@dataclass(frozen=True)
class JointPass:
    """Pass over all joints, from the base to the leaves (outward) or back, with the code of each joint type."""

    outward: bool
    bodies: tuple[JointCode, ...]


@dataclass(frozen=True)
class GenericProgram:
    """Sequence of passes."""

    name: str
    passes: tuple[JointPass, ...]
    constants: int  # doubles in a row of constants
    row: int  # numbers in a row of workspace
    arguments: Mapping[str, Place]
    result: Place = "v"

    def placed(self) -> dict[str, Place]:
        """Arguments and result, in the order of the entry point."""
        return {**self.arguments, "out": self.result}


# First arguments of the exported function; the arguments of the program follow.
_TABLES = "ptr %kinds, ptr %parents, ptr %places_q, ptr %places_v, ptr noalias %k, ptr noalias %base, ptr noalias %work"


def entry_point(width: int) -> str:
    """Name of the exported function for `width` states at a time."""
    return f"loop_{width}"


def generic_text(program: GenericProgram, target: Target, width: int) -> str:
    """LLVM text of the entry point for a width: `loop_W(tables..., arguments..., out, joints, states)`."""
    writer = _Writer(program, target, width)
    text = writer.text()
    return preamble(writer.called, target, [writer.lanes]) + text


class _Writer:
    """Writes the entry point of one width."""

    def __init__(self, program: GenericProgram, target: Target, width: int) -> None:
        self.program, self.target, self.lanes = program, target, Lanes(width)
        self.body = Instructions()
        self.called: set[Call] = set()

    def text(self) -> str:
        body = self.body
        with body.in_blocks("%states", self.lanes.width) as first:
            self.pointers = {name: body.element(f"%{name}", first) for name in self.program.placed()}
            self._base_row()
            for one_pass in self.program.passes:
                self._pass(one_pass)
        body.do("ret i32 0")
        names = ", ".join(f"ptr noalias %{name}" for name in self.program.placed())
        head = f"define i32 @{entry_point(self.lanes.width)}({_TABLES}, {names}, i64 %n, i64 %states) #0"
        return f"{head} {{\n{body}\n}}\n"

    def _base_row(self) -> None:
        """Initialize the workspace row of the world for each block, because inward passes add to it."""
        body = self.body
        for i in range(self.program.row):
            value = self._spread(body.load("double", "%base", i))
            body.store(self.lanes.real, value, "%work", i * self.lanes.width)

    def _spread(self, scalar: str) -> str:
        """Broadcast a number to all lanes."""
        return scalar if self.lanes.width == 1 else spread(self.body, self.lanes, scalar)

    def _pass(self, one_pass: JointPass) -> None:
        body = self.body
        last = body.emit("sub i64 %n, 1")
        with body.repeat("%n") as turn:
            i = turn if one_pass.outward else body.emit(f"sub i64 {last}, {turn}")
            kind = body.entry("i32", "%kinds", i)
            for number in body.cases("i32", kind, range(len(one_pass.bodies))):
                self._joint(i, one_pass.bodies[number])

    def _joint(self, i: str, code: JointCode) -> None:
        """Code of one joint: addresses of its regions, nodes of the function, stores."""
        body, lanes = self.body, self.lanes
        regions = self._regions(i)

        def load(region: str, position: int) -> str:
            if region == "k":
                return self._spread(body.load("double", regions["k"](0), position))
            return body.load(lanes.real, regions[region](position))

        emitter = Emitter(body, lanes, self.target, load)
        function = fused(code.function)
        emitter.emit(function.nodes())
        self.called |= emitter.called
        for name, (region, offset) in code.stores.items():
            for j, element in enumerate(function.outputs[name]):
                body.store(lanes.real, emitter.value(element), regions[region](offset + j))

    def _regions(self, i: str) -> dict[str, Callable[[int], str]]:
        """For each region, the function from a position to an address."""
        body, width, row = self.body, self.lanes.width, self.program.row
        parent = body.emit(f"sext i32 {body.entry('i32', '%parents', i)} to i64")
        constants = body.element("%k", body.emit(f"mul i64 {i}, {self.program.constants}"))
        own, above = (
            body.element("%work", body.emit(f"mul i64 {body.emit(f'add i64 {x}, 1')}, {row * width}"))
            for x in (i, parent)
        )
        places = {kind: body.entry("i64", f"%places_{kind}", i) for kind in ("q", "v")}

        def argument(pointer: str, where: Place) -> Callable[[int], str]:
            place = body.emit(f"mul i64 {i}, {where}") if isinstance(where, int) else places[where]

            def address(position: int) -> str:
                component = body.emit(f"add i64 {place}, {position}") if position else place
                offset = body.emit(f"mul i64 {component}, %states")
                return body.element(pointer, offset)

            return address

        regions: dict[str, Callable[[int], str]] = {
            "k": lambda position: constants,
            "own": lambda position: body.element(own, position * width),
            "parent": lambda position: body.element(above, position * width),
        }
        return regions | {name: argument(self.pointers[name], where) for name, where in self.program.placed().items()}


# --- entry ------------------------------------------------------------------------------------------------------------
_EXPONENT = 0x7FF << 52  # bits that are all set in infinities and NaN

# Writes the call into a body with the address of the workspace and of the tables; returns the i32 of its status.
Inside = Callable[[Instructions, str, Mapping[str, str]], str]


def load_entry(
    key: str,
    signature: Signature,
    workspace: int,
    inside: Inside,
    tables: Mapping[str, int],
    functions: Mapping[str, int],
) -> compiler.Library:
    """Compile or fetch `i32 @kernel(in..., out...)`, which calls a generic kernel with tables and a workspace; load it.

    The workspace is allocated for each call, so that threads do not share it. Tables are symbols that are resolved when
    the object is loaded, so that no address is part of the cached code. The linker for Windows resolves functions only,
    so that the addresses are written into the code, which is not cached.

    Args:
        key: text that differs for any two entries that differ in more than signature and workspace.
        signature: names and sizes of the kernel.
        workspace: numbers of workspace.
        inside: writer of the call.
        tables: addresses by name.
        functions: addresses of the called functions, by the text of their declarations.
    """
    target, is_windows = Target.host(), sys.platform == "win32"
    places = {name: f"inttoptr (i64 {at} to ptr)" if is_windows else f"@{name}" for name, at in tables.items()}

    def make() -> Module:
        body = Instructions()
        memory, aligned = allocate(body, workspace)
        status = inside(body, aligned, places)
        body.do(f"call void @PyMem_RawFree(ptr {memory})")
        body.do(f"ret i32 {status}")
        declared = [f"declare {one}" for one in functions]
        if not is_windows:
            declared += [f"@{name} = external global i8" for name in tables]
        arguments = ", ".join(f"ptr {pointer}" for pointer in _arrays_of(signature))
        head = f"define i32 @{SINGLE}({arguments}) #0"
        texts = [MEMORY_DECLARATIONS, *declared, f"{head} {{\n{body}\n}}\n{preamble((), target, ())}"]
        return Module("\n".join(texts))

    called = {declaration.split("@")[1].split("(")[0]: address for declaration, address in functions.items()}
    symbols = {**compiler.python_symbols(MEMORY), **called}
    if is_windows:
        return compiler.load(compiler.compile_text(make().text, target), [SINGLE], symbols)
    code, _ = obtain(f"entry|{key}|{signature}|{workspace}", "entry", make, target)
    return compiler.load(code, [SINGLE], {**symbols, **tables})


def _arrays_of(signature: Signature) -> list[str]:
    """Names of the arrays: inputs, then outputs."""
    return [f"%{name}" for name, _ in (*signature.inputs, *signature.outputs)]


def _status_of_numbers(body: Instructions, arrays: Iterable[tuple[str, int]]) -> str:
    """i32: status of arrays of given sizes, whether a number is not finite."""
    found = body.variable("i32", "0")
    for pointer, size in arrays:
        with body.repeat(str(size)) as i:
            bits = body.emit(f"and i64 {body.entry('i64', pointer, i)}, {_EXPONENT}")
            bad = body.emit(f"icmp eq i64 {bits}, {_EXPONENT}")
            found.update("or", body.emit(f"select i1 {bad}, i32 {NOT_FINITE}, i32 0"))
    return found.get()


# --- kernels ----------------------------------------------------------------------------------------------------------
# Numbers of workspace above which calls use Python, which reuses the workspace; its overhead is small then.
MAX_ENTRY_WORKSPACE = 2**17

_lock = threading.RLock()
_libraries: dict[str, compiler.Library] = {}


@dataclass(frozen=True, eq=False)
class RobotTables:
    """A robot as data."""

    kinds: npt.NDArray[np.int32]
    parents: npt.NDArray[np.int32]
    places_q: npt.NDArray[np.int64]
    places_v: npt.NDArray[np.int64]
    constants: Array
    base: Array

    @cached_property
    def pointers(self) -> list[int]:
        """Addresses, in the order of the entry point."""
        return [getattr(self, field.name).ctypes.data for field in fields(self)]


class GenericKernel:
    """Generic kernel with the tables of a robot; requires `available`."""

    def __init__(
        self, signature: Signature, program: Callable[[], GenericProgram], key: str, tables: RobotTables
    ) -> None:
        """Args: names and sizes, the program (built only if it is not cached), its key, tables of the robot."""
        self.signature = signature
        self.report = Report()
        self._program = program
        self._key = f"loop|{key}"
        self._tables = tables
        self._functions: dict[int, Callable[..., int]] = {}
        self._own = threading.local()

    @staticmethod
    def available() -> bool:
        """Return True if code can be compiled."""
        return reason_for_fallback() is None

    def single(self, *arrays: Array) -> Array:
        """Compute one state."""
        inputs = self.signature.check_single(arrays)
        result = np.empty(self.signature.outputs[0][1])
        self._run(1, inputs, result, 1)
        return result

    def batch(self, *arrays: Array) -> Array:
        """Compute N states of arrays (N, size); the result has contiguous columns."""
        inputs, count = self.signature.check_batch(arrays)
        columns = [np.ascontiguousarray(array.T) for array in inputs]
        result = np.empty((*self.signature.outputs[0][1], count))
        target = Target.host()
        lanes = target.lanes
        too_large = len(self._tables.kinds) * len(self._tables.base) * lanes * 8 > target.limits.lane_bytes
        if count:
            self._run(1 if count < lanes or too_large else lanes, columns, result, count)
        return result.T

    def native_repeat(self, *arrays: Array, repeats: int = 1) -> None:
        """Run the code for one state over all rows, for benchmarks."""
        inputs, count = self.signature.check_batch(arrays)
        columns = [np.ascontiguousarray(array.T) for array in inputs]
        result = np.empty((*self.signature.outputs[0][1], count))
        for _ in range(repeats):
            self._run(1, columns, result, count)

    def connect(self, entry: KernelAddresses, positions: Kernel | None) -> None:
        """Set this kernel as that of an entry's builtins for single states.

        Args:
            entry: addresses that the builtins read.
            positions: kernel that rejects invalid configurations; None if all are valid.
        """
        with _lock:
            if entry.owner is None and self._workspace_size(1) <= MAX_ENTRY_WORKSPACE:
                entry.owner = (self, self._entry(positions), positions)
                entry.single = entry.owner[1].address(SINGLE)

    def _entry(self, positions: Kernel | None) -> compiler.Library:
        """Code that calls the kernel with the tables, and checks the state."""
        tables = dict(zip((field.name for field in fields(RobotTables)), self._tables.pointers, strict=True))
        state, joints = _arrays_of(self.signature), len(self._tables.kinds)
        sizes = (*(size for _, size in self.signature.inputs), *self.signature.output_sizes)
        kinds = ", ".join(["ptr"] * (len(tables) + 1 + len(state)))
        functions = {f"i32 @{entry_point(1)}({kinds}, i64, i64)": self._library(1).address(entry_point(1))}
        if positions is not None:
            functions["i32 @positions(ptr)"] = positions.native_address()

        def inside(body: Instructions, workspace: str, places: Mapping[str, str]) -> str:
            given = ", ".join(f"ptr {place}" for place in (*places.values(), workspace, *state))
            status = body.emit(f"call i32 @{entry_point(1)}({given}, i64 {joints}, i64 1)")
            status = body.emit(f"or i32 {status}, {_status_of_numbers(body, zip(state, sizes, strict=True))}")
            if positions is not None:
                status = body.emit(f"or i32 {status}, {body.emit(f'call i32 @positions(ptr {state[0]})')}")
            return status

        key = f"{self._key}|{positions is not None}|{joints}"
        return load_entry(key, self.signature, self._workspace_size(1), inside, tables, functions)

    def _run(self, width: int, inputs: Sequence[Array], result: Array, states: int) -> None:
        function = self._functions.get(width) or self._load(width)
        work = self._workspace(width)
        pointers = (*self._tables.pointers, work.ctypes.data, *(a.ctypes.data for a in inputs), result.ctypes.data)
        function(*pointers, len(self._tables.kinds), states)

    def _workspace(self, width: int) -> Array:
        """Workspace of this thread, reused by later calls."""
        size = self._workspace_size(width)
        held: Array | None = getattr(self._own, "work", None)
        if held is None or held.size < size:
            held = self._own.work = np.empty(size)
        return held

    def _workspace_size(self, width: int) -> int:
        return (len(self._tables.kinds) + 1) * len(self._tables.base) * width

    def _load(self, width: int) -> Callable[..., int]:
        pointers = (ctypes.c_void_p,) * (8 + len(self.signature.inputs))
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, *pointers, ctypes.c_int64, ctypes.c_int64)
        return self._functions.setdefault(width, prototype(self._library(width).address(entry_point(width))))

    def _library(self, width: int) -> compiler.Library:
        with _lock:
            kind = f"width {width}"
            name = f"{self._key}|{kind}"
            start = time.perf_counter()
            if name not in _libraries:
                target = Target.host()
                make = lambda: Module(generic_text(self._program(), target, width))  # noqa: E731
                code, note = obtain(self._key, kind, make, target)
                _libraries[name] = compiler.load(code, [entry_point(width)])
                self.report.cached[kind] = note["cached"]
            self.report.seconds.setdefault(kind, time.perf_counter() - start)
            return _libraries[name]
