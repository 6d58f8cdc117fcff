# SPDX-License-Identifier: Apache-2.0
"""Code for one state in front of a loop kernel or a tape, so that a call boundary can run them without Python.

    i32 @kernel(in..., out...)

as of every kernel (see `emit_kernel`). Room is taken for each call, so that threads do not meet in it. Tables are
symbols that are resolved when the object is loaded: no address is part of the code, which is kept in the cache. The
linker for Windows resolves functions alone, so that there addresses are written into the code, which is not kept.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping

from ada_dynamics.jit import compiler
from ada_dynamics.jit.emit import preamble
from ada_dynamics.jit.emit_kernel import NOT_FINITE, SINGLE
from ada_dynamics.jit.llvm_text import Body
from ada_dynamics.jit.native import obtain
from ada_dynamics.jit.signature import Signature
from ada_dynamics.jit.target import Target

NO_ROOM = 4  # a bit of the status
_ALIGNMENT = 64
_MEMORY = ("PyMem_RawMalloc", "PyMem_RawFree")
_DECLARATIONS = """\
declare ptr @PyMem_RawMalloc(i64)
declare void @PyMem_RawFree(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""
_EXPONENT = 0x7FF << 52  # all of its bits are set in infinities and in what is no number

# Puts the call into a body, for the room and the tables, all of them operands; gives the i32 of its status.
Inside = Callable[[Body, str, Mapping[str, str]], str]


def load_entry(
    key: str, signature: Signature, room: int, inside: Inside, tables: Mapping[str, int], functions: Mapping[str, int]
) -> compiler.Library:
    """Compile or fetch `@kernel`, and load it.

    Args:
        key: differs for any two that differ in more than signature and room.
        signature: of the kernel.
        room: numbers of workspace.
        inside: what it does there.
        tables: addresses by name.
        functions: addresses of what it calls, by the text of the declaration.
    """
    target = Target.host()
    called = {declaration.split("@")[1].split("(")[0]: place for declaration, place in functions.items()}
    symbols = {**compiler.python_symbols(_MEMORY), **called}
    if sys.platform == "win32":
        written = {name: f"inttoptr (i64 {address} to ptr)" for name, address in tables.items()}
        code = compiler.compile_text(_text(signature, room, inside, written, functions, target), target)
    else:
        named = {name: f"@{name}" for name in tables}
        symbols |= tables
        code, _ = obtain(
            f"entry|{key}|{signature}|{room}",
            "entry",
            lambda: (_text(signature, room, inside, named, functions, target), {}),
            target,
        )
    return compiler.load(code, [SINGLE], symbols)


def _text(
    signature: Signature,
    room: int,
    inside: Inside,
    tables: Mapping[str, str],
    functions: Iterable[str],
    target: Target,
) -> str:
    body = Body()
    memory = body.emit(f"call ptr @PyMem_RawMalloc(i64 {8 * room + _ALIGNMENT})")
    body.leave_if(body.emit(f"icmp eq ptr {memory}, null"), str(NO_ROOM))
    past = body.emit(f"add i64 {body.emit(f'ptrtoint ptr {memory} to i64')}, {_ALIGNMENT - 1}")
    aligned = body.emit(f"inttoptr i64 {body.emit(f'and i64 {past}, {-_ALIGNMENT}')} to ptr")
    status = inside(body, aligned, tables)
    body.do(f"call void @PyMem_RawFree(ptr {memory})")
    body.do(f"ret i32 {status}")
    declared = [f"{place} = external global i8" for place in tables.values() if place.startswith("@")]
    declared += [f"declare {one}" for one in functions]
    arguments = ", ".join(f"ptr {pointer}" for pointer in pointers_of(signature))
    head = f"define i32 @{SINGLE}({arguments}) #0"
    return "\n".join([_DECLARATIONS, *declared, f"{head} {{\n{body}\n}}\n{preamble((), target, ())}"])


def pointers_of(signature: Signature) -> list[str]:
    """Names of the arrays: inputs, then outputs."""
    return [f"%{name}" for name, _ in (*signature.inputs, *signature.outputs)]


def status_of_numbers(body: Body, arrays: Iterable[tuple[str, int]]) -> str:
    """i32: whether something in arrays, of so many numbers each, is not finite; by loops, for arrays may be long."""
    found = body.variable("i32", "0")
    for pointer, size in arrays:
        with body.repeat(str(size)) as i:
            bits = body.emit(f"and i64 {body.entry('i64', pointer, i)}, {_EXPONENT}")
            bad = body.emit(f"icmp eq i64 {bits}, {_EXPONENT}")
            found.update("or", body.emit(f"select i1 {bad}, i32 {NOT_FINITE}, i32 0"))
    return found.get()


def copy(body: Body, to: str, source: str, numbers: int) -> None:
    """Copy so many numbers."""
    body.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {8 * numbers}, i1 false)")
