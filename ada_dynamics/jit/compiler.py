# SPDX-License-Identifier: Apache-2.0
"""LLVM text to machine code, and its linking into this process, through llvmlite."""

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
from ada_dynamics.jit.lowering import with_constants
from ada_dynamics.jit.target import Target

# The parser and the pass manager of LLVM share one global context.
_lock = threading.RLock()
_counter = itertools.count()
_COPIES = ("memcpy", "memmove", "memset")
# Functions of the C library that LLVM inserts, and the library that exports them (None for this process), by platform.
CALLED: dict[str, tuple[tuple[str, ...], str | None]] = {
    "linux": (_COPIES, None),
    # memset to zero, on different processors
    "darwin": ((*_COPIES, "bzero", "__bzero"), None),
    # stack probes of functions with more than a page of local variables
    "win32": ((*_COPIES, "__chkstk"), "ntdll"),
}
# Symbol that objects with floating-point numbers refer to on Windows; its value is not used.
_MARK = ctypes.c_int()
MARKS = {"win32": {"_fltused": ctypes.addressof(_MARK)}}


class _Process:
    """State of LLVM in this process, created at first use."""

    _instance: _Process | None = None

    def __init__(self) -> None:
        import llvmlite.binding as llvm  # not at module level, because the import is slow

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
        """Target machine of LLVM, with position-independent code."""
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
            # The older linker of LLVM may place sections of an object over 2 GB apart in programs with hundreds of
            # threads, and then aborts the process. JITLink keeps them together.
            self.linker = self.llvm.create_lljit_compiler(
                self.machine(Target.host()), use_jit_link=sys.platform != "win32"
            )
        return self.linker


def llvm_version() -> str:
    """Version of LLVM in llvmlite."""
    return ".".join(map(str, _Process.get().llvm.llvm_version_info))


def _optimised(text: str, target: Target, level: int, effort: int = 2) -> tuple[Any, Any]:
    process = _Process.get()
    llvm = process.llvm
    machine = process.machine(target, effort)
    if not target.is_gpu:
        # Functions begin on cache lines: loops that call a kernel run up to a fifth slower at other addresses.
        text = text.replace(" #0 {", " #0 align 64 {")
    try:
        module = llvm.parse_assembly(with_constants(text))
    except RuntimeError as error:
        raise CompileError(f"LLVM cannot parse the generated text: {error}") from error
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    # The code has explicit lanes, so that vectorization would only take time.
    options.slp_vectorization = options.loop_vectorization = options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    passes = builder.getModulePassManager()
    if level == 0:
        passes.add_sroa_pass()  # indices of loops in registers
    passes.run(module, builder)
    return module, machine


def compile_text(text: str, target: Target, level: int = 2, effort: int = 2) -> bytes:
    """Compile a module to a relocatable object, or to PTX for a GPU.

    Args:
        text: LLVM assembly.
        target: compilation target.
        level: optimization level before code generation: 2, or 0 for inlining only. Kernels without loops need only 0,
            because the graph is folded and has no common subexpressions.
        effort: optimization level of the code generator: 2; 1 without the second scheduler, whose time is quadratic in
            the number of consecutive stores; or 0, which is fastest.
    """
    with _lock:
        module, machine = _optimised(text, target, level, effort)
        return str(machine.emit_assembly(module)).encode() if target.is_gpu else bytes(machine.emit_object(module))


def assembly(text: str, target: Target, level: int = 2) -> str:
    """Assembly of a module, for inspection and for other machines; arguments as in `compile_text`."""
    with _lock:
        module, machine = _optimised(text, target, level)
        return str(machine.emit_assembly(module))


class Library:
    """Code loaded into this process; it is unmapped with this object."""

    def __init__(self, tracker: Any) -> None:
        self._tracker = tracker

    def address(self, name: str) -> int:
        """Address of an exported function."""
        return int(self._tracker[name])


_alive: weakref.WeakValueDictionary[str, Library] = weakref.WeakValueDictionary()


def load(code: bytes, exports: Iterable[str], symbols: Mapping[str, int] | None = None) -> Library:
    """Load an object.

    Args:
        code: result of `compile_text`.
        exports: names of functions whose addresses are required.
        symbols: addresses of the functions that the object calls, except those of the C library in `CALLED`.
    """
    names, addresses = tuple(exports), {**c_library(), **(symbols or {})}
    # Code has no state, so that one copy is shared; LLVM leaks about 10 kB per loaded object.
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
        raise CompileError(f"cannot load compiled code: {error}") from error


def python_symbols(names: Iterable[str]) -> dict[str, int]:
    """Addresses of functions of the Python C API, for `load`."""
    return {name: address(getattr(ctypes.pythonapi, name)) for name in names}


@lru_cache(maxsize=1)
def c_library() -> dict[str, int]:
    """Addresses of the functions in `CALLED` and the symbols in `MARKS` for this platform."""
    names, library = CALLED.get(sys.platform, CALLED["linux"])
    loaded = ctypes.CDLL(library)
    found = {name: address(getattr(loaded, name)) for name in names if hasattr(loaded, name)}
    return found | MARKS.get(sys.platform, {})


def address(function: Any) -> int:
    """Address of a ctypes function."""
    found = ctypes.cast(function, ctypes.c_void_p).value
    if found is None:
        raise CompileError(f"C function {function} is not available in this process")
    return found
