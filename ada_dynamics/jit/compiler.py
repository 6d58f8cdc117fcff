# SPDX-License-Identifier: Apache-2.0
"""LLVM text to machine code, and machine code into this process (through llvmlite)."""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import sys
import threading
import weakref
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from ada_dynamics.errors import CompileError
from ada_dynamics.jit.llvm_text import with_constants
from ada_dynamics.jit.target import Target

# LLVM's text parser and pass manager share one global context.
_lock = threading.RLock()
_counter = itertools.count()
# Functions of the C library that LLVM itself puts in, for copies and zeros, and what Windows adds.
_COPIES = ("memcpy", "memmove", "memset")
# By `sys.platform`: names as C has them, and the library that has them all, None for this process.
CALLED: dict[str, tuple[tuple[str, ...], str | None]] = {
    "linux": (_COPIES, None),
    # Zeros have functions of their own there, another one on each processor.
    "darwin": ((*_COPIES, "bzero", "__bzero"), None),
    # A function with more than a page of numbers of its own asks for its pages one by one.
    "win32": ((*_COPIES, "__chkstk"), "ntdll"),
}
# A mark that objects with floating-point numbers carry on Windows: nobody reads what is there.
_MARK = ctypes.c_int()
MARKS = {"win32": {"_fltused": ctypes.addressof(_MARK)}}


class _Process:
    """The parts of LLVM that live as long as the process, made at first use."""

    _instance: _Process | None = None

    def __init__(self) -> None:
        import llvmlite.binding as llvm  # here, not above: importing this package must stay cheap

        self.llvm: Any = llvm
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.linker: Any = None

    @classmethod
    def get(cls) -> _Process:
        with _lock:
            if cls._instance is None:
                cls._instance = cls()
            return cls._instance

    def machine(self, target: Target, effort: int = 2) -> Any:
        """LLVM's target machine; position-independent, so that an object can be loaded anywhere."""
        llvm = self.llvm
        if target.triple and target.triple.split("-")[0] != llvm.get_process_triple().split("-")[0]:
            llvm.initialize_all_targets()
            llvm.initialize_all_asmprinters()
        chosen = llvm.Target.from_triple(target.triple) if target.triple else llvm.Target.from_default_triple()
        return chosen.create_target_machine(
            cpu=target.cpu, features=target.features, opt=effort, reloc="pic", codemodel="small"
        )

    def jit(self) -> Any:
        if self.linker is None:
            # LLVM's older linker puts each section of an object wherever there is room, and aborts the process where
            # they end up over 2 GB apart, as in programs with hundreds of threads. JITLink keeps them together.
            self.linker = self.llvm.create_lljit_compiler(
                self.machine(Target.host()), use_jit_link=sys.platform != "win32"
            )
        return self.linker


def llvm_version() -> str:
    """Version of LLVM inside llvmlite."""
    return ".".join(map(str, _Process.get().llvm.llvm_version_info))


def _optimised(text: str, target: Target, level: int, effort: int = 2) -> tuple[Any, Any]:
    process = _Process.get()
    llvm = process.llvm
    machine = process.machine(target, effort)
    try:
        module = llvm.parse_assembly(with_constants(text))
    except RuntimeError as error:
        raise CompileError(f"LLVM cannot read the generated text: {error}") from error
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    # The lanes are written by hand; LLVM's own vectorisers only cost time here.
    options.slp_vectorization = options.loop_vectorization = options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module, machine


def compile_text(text: str, target: Target, level: int = 2, effort: int = 2) -> bytes:
    """Machine code of a module, as a relocatable object; for graphics processors PTX, which their driver compiles.

    Args:
        text: LLVM assembly.
        target: processor.
        level: of the optimisations before code is generated: 2, or 0 for inlining alone. Straight-line kernels come
            folded and without repetitions from the graph, so that level 2 only takes longer.
        effort: of the code generator: 2, or 1, which leaves out what takes most of the time where hundreds of stores
            follow one another, and gains nothing there: LLVM's second scheduler compares each with all.
    """
    with _lock:
        module, machine = _optimised(text, target, level, effort)
        return str(machine.emit_assembly(module)).encode() if target.is_gpu else bytes(machine.emit_object(module))


def assembly(text: str, target: Target, level: int = 2) -> str:
    """Assembler source of a module: to look at, and to compile for another machine; arguments as in `compile_text`."""
    with _lock:
        module, machine = _optimised(text, target, level)
        return str(machine.emit_assembly(module))


class Library:
    """Code loaded into this process; it is unmapped when the last user of this object goes away."""

    def __init__(self, tracker: Any) -> None:
        self._tracker = tracker

    def address(self, name: str) -> int:
        """Address of an exported function."""
        return int(self._tracker[name])


_alive: weakref.WeakValueDictionary[str, Library] = weakref.WeakValueDictionary()


def load(code: bytes, exports: Iterable[str], symbols: Mapping[str, int] | None = None) -> Library:
    """Load an object.

    Args:
        code: what `compile_text` gave.
        exports: names whose addresses are wanted.
        symbols: addresses of the functions that the object calls; nothing else is looked up, but for those
            of the C library that LLVM itself puts in for copies and zeros.
    """
    names, addresses = tuple(exports), {**c_library(), **(symbols or {})}
    # Code holds no state, so that one copy serves all; LLVM keeps some 10 kB of each copy for good.
    key = hashlib.sha256(code).hexdigest() + repr((names, sorted(addresses.items())))
    with _lock:
        library = _alive.get(key)
        if library is None:
            library = _alive[key] = _linked(code, names, addresses)
        return library


def _linked(code: bytes, exports: Iterable[str], symbols: Mapping[str, int]) -> Library:
    process = _Process.get()
    builder = process.llvm.JITLibraryBuilder().add_object_img(code)
    for name, place in symbols.items():
        builder.import_symbol(name, place)
    for name in exports:
        builder.export_symbol(name)
    try:
        return Library(builder.link(process.jit(), f"ada_{next(_counter)}"))
    except (RuntimeError, OSError) as error:
        raise CompileError(f"compiled code cannot be loaded: {error}") from error


def python_symbols(names: Iterable[str]) -> dict[str, int]:
    """Addresses of functions of the Python C API, to be given to `load`."""
    return {name: address(getattr(ctypes.pythonapi, name)) for name in names}


@lru_cache(maxsize=1)
def c_library() -> dict[str, int]:
    """Addresses, by name, on the system at hand."""
    names, library = CALLED.get(sys.platform, CALLED["linux"])
    loaded = ctypes.CDLL(library)
    found = {name: address(getattr(loaded, name)) for name in names if hasattr(loaded, name)}
    return found | MARKS.get(sys.platform, {})


def address(function: Any) -> int:
    """Where a function of ctypes begins."""
    found = ctypes.cast(function, ctypes.c_void_p).value
    if found is None:
        raise CompileError(f"this process has no C function {function}")
    return found
