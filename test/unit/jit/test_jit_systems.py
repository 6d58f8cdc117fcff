# SPDX-License-Identifier: Apache-2.0
"""Code for other systems and processors, read as assembler source: it calls nothing that is not handed to it there."""

import re
from collections.abc import Callable

import pytest
from jit_examples import mixed
from tiers import nightly

import ada_dynamics as ada
from ada_dynamics.dynamics.export import quantity_of
from ada_dynamics.jit import Target, batch, compiler, scalar
from ada_dynamics.jit.builtin_code import builtin_text
from ada_dynamics.jit.compiler import assembly
from ada_dynamics.jit.integrator import integrator_text
from ada_dynamics.jit.python_objects import EXPORTS, SYMBOLS, shared_text

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
    """Every kind of text that is compiled: the largest call has more than a page of numbers."""
    return {
        "one state": lambda: scalar.module(quantity("pa10", "forward")(), target),
        "batch": lambda: batch.module(quantity("stewart", "forward")(), target),
        "inverse": lambda: batch.module(quantity("khr1", "inverse")(), target),
        "integrators": lambda: integrator_text(target),
        "call": lambda: builtin_text((700, 70), ((70,), (70, 70))),
        "functions of all calls": shared_text,
    }


@pytest.mark.parametrize("system", [name if "x86" in name else nightly(name) for name in SYSTEMS])
def test_code_calls_only_what_it_is_given(system):
    platform, target = SYSTEMS[system]
    given = {*compiler.CALLED[platform][0], *compiler.MARKS.get(platform, {}), *SYMBOLS, *EXPORTS, *scalar.MEMORY}
    if platform == "darwin":
        given = {f"_{name}" for name in given}
    for kind, text in modules(target).items():
        made = assembly(text(), target, level=0)
        wanted = {*_CALL.findall(made), *_GLOBAL.findall(made)} - set(_LABEL.findall(made))
        assert wanted <= given, (kind, wanted - given)


def test_the_widest_registers_are_used():
    for name, register in (("avx512", "zmm"), ("avx2", "ymm"), ("sse2", "xmm")):
        target = Target.named(name)
        text = assembly(batch.module(mixed(), target), target)
        assert re.search(rf"mulpd\s.*{register}", text) or re.search(rf"fn?m\w+213pd\s.*{register}", text)
    target = Target.named("aarch64")
    assert re.search(r"fml[as]\s+v\d+\.2d", assembly(batch.module(mixed(), target), target))


def test_multiply_add_is_used_only_where_the_processor_has_it():
    assert "vfmadd" in assembly(scalar.module(mixed(), Target.named("avx2")), Target.named("avx2"))
    text = assembly(scalar.module(mixed(), Target.named("sse2")), Target.named("sse2"))
    assert "fmadd" not in text
    assert not re.search(r"call\w*\s+fma", text)
