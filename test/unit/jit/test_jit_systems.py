# SPDX-License-Identifier: Apache-2.0
"""Code for other systems calls nothing that is not handed to it there: it could not be loaded."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

import pytest

import ada_dynamics as ada
from ada_dynamics.dynamics.export import quantity_of
from ada_dynamics.jit import Target, c_library, compiler
from ada_dynamics.jit.boundary import layout
from ada_dynamics.jit.boundary_arguments import EXPORTS, SYMBOLS, arguments_module
from ada_dynamics.jit.boundary_text import boundary_module
from ada_dynamics.jit.emit_batch import batch_module
from ada_dynamics.jit.emit_kernel import single_module
from ada_dynamics.jit.march_text import march_text
from ada_dynamics.jit.tape_text import interpreter_text

SYSTEMS = {
    "linux x86-64": ("linux", Target("x86-64-v3", "", "x86_64-unknown-linux-gnu", 4, True, 256)),
    "linux aarch64": ("linux", Target("generic", "", "aarch64-unknown-linux-gnu", 2, True, 128)),
    "macOS x86-64": ("darwin", Target("x86-64-v3", "", "x86_64-apple-macosx11.0.0", 4, True, 256)),
    "macOS arm64": ("darwin", Target("apple-m1", "", "arm64-apple-macosx11.0.0", 2, True, 128)),
    "Windows x86-64": ("win32", Target("x86-64-v3", "", "x86_64-pc-windows-msvc", 4, True, 256)),
    "Windows x86-64, oldest": ("win32", Target("x86-64", "", "x86_64-pc-windows-msvc", 2, False, 128)),
}
_CALL = re.compile(r"^\s+(?:callq?|jmp|bl?)\s+([A-Za-z_]\w*)", re.MULTILINE)
_GLOBAL = re.compile(r"^\s+\.globl\s+([\w@.]+)", re.MULTILINE)
_LABEL = re.compile(r"^(?:\s*\.set\s+)?([\w@.]+)(?::|,|\s*=)", re.MULTILINE)


def quantity(name: str, of: str) -> Callable[[], object]:
    return quantity_of(ada.Dynamics(ada.load(name)), of, None).trace


def modules(target: Target) -> dict[str, Callable[[], str]]:
    """Every kind of text that is compiled: the largest calls of each boundary have more than a page of numbers."""
    return {
        "one state": lambda: single_module(quantity("pa10", "forward")(), target),
        "batch": lambda: batch_module(quantity("stewart", "forward")(), target),
        "inverse": lambda: batch_module(quantity("khr1", "inverse")(), target),
        "march": lambda: march_text(target),
        "tape": lambda: interpreter_text(8, target),
        "struct": lambda: boundary_module((700, 70), ((70,), (70, 70)), "struct", layout()),
        "buffer": lambda: boundary_module((700, 70), ((70,), (70, 70)), "buffer", layout()),
        "struct arguments": lambda: arguments_module("struct", layout(), "q"),
        "buffer arguments": lambda: arguments_module("buffer", layout(), "q"),
    }


@pytest.mark.parametrize("system", SYSTEMS)
def test_code_calls_only_what_it_is_given(system):
    platform, target = SYSTEMS[system]
    given = {*c_library.CALLED[platform][0], *c_library.MARKS.get(platform, {}), *SYMBOLS, *EXPORTS}
    if platform == "darwin":
        given = {f"_{name}" for name in given}
    for kind, text in modules(target).items():
        made = compiler.assembly(text(), target, level=0)
        wanted = {*_CALL.findall(made), *_GLOBAL.findall(made)} - set(_LABEL.findall(made))
        assert wanted <= given, (kind, wanted - given)


def test_windows_asks_for_its_pages_and_macos_has_zeros_of_its_own():
    """What the test above would not see if the texts no longer needed it."""
    windows, mac = SYSTEMS["Windows x86-64"][1], SYSTEMS["macOS arm64"][1]
    assert "__chkstk" in compiler.assembly(modules(windows)["struct"](), windows, level=0)
    assert "_bzero" in compiler.assembly(modules(mac)["struct arguments"](), mac, level=0)


@pytest.mark.skipif(sys.platform == "win32", reason="there it is what the next test pretends")
def test_what_is_given_here_are_functions():
    found = c_library.c_library()
    assert set(found) >= {"memcpy", "memmove", "memset"}
    assert all(found.values())


def test_on_windows_one_library_has_them_all(monkeypatch):
    """That of this process stands for ntdll, and what it lacks is left out."""
    opened = []
    monkeypatch.setattr(c_library.sys, "platform", "win32")
    real = c_library.ctypes.CDLL
    monkeypatch.setattr(c_library.ctypes, "CDLL", lambda name: opened.append(name) or real(None))
    found = c_library.c_library.__wrapped__()
    assert opened == ["ntdll"]
    assert set(found) == {"memcpy", "memmove", "memset", "_fltused"}
