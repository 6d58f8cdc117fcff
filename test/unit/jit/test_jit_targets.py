# SPDX-License-Identifier: Apache-2.0
"""Code for processors other than the one at hand, read as assembler source."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from jit_examples import mixed

from ada_dynamics.errors import InputError
from ada_dynamics.jit import Target, compiler
from ada_dynamics.jit.compiler import assembly
from ada_dynamics.jit.emit_batch import batch_module
from ada_dynamics.jit.emit_kernel import single_module
from ada_dynamics.jit.target import VARIANTS


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("module", [single_module, batch_module])
def test_every_variant_assembles_without_calling_a_mathematical_library(name, module):
    target = Target.named(name)
    text = assembly(module(mixed(), target), target)
    called = set(re.findall(r"^\s+(?:callq?|jmp|bl?)\s+([A-Za-z_]\w*)", text, re.MULTILINE))
    moves = {name for name in called if re.fullmatch(r"columns_(in|out)_\d+", name)}
    assert called - moves <= {"kernel", "kernel_lanes", "inputs_bad", "memcpy", "memset"}


def test_the_widest_registers_are_used():
    for name, register in (("avx512", "zmm"), ("avx2", "ymm"), ("sse2", "xmm")):
        target = Target.named(name)
        text = assembly(batch_module(mixed(), target), target)
        assert re.search(rf"mulpd\s.*{register}", text) or re.search(rf"fn?m\w+213pd\s.*{register}", text)
    target = Target.named("aarch64")
    assert re.search(r"fml[as]\s+v\d+\.2d", assembly(batch_module(mixed(), target), target))


def test_multiply_add_is_used_only_where_the_processor_has_it():
    assert "vfmadd" in assembly(single_module(mixed(), Target.named("avx2")), Target.named("avx2"))
    text = assembly(single_module(mixed(), Target.named("sse2")), Target.named("sse2"))
    assert "fmadd" not in text
    assert not re.search(r"call\w*\s+fma", text)


def test_code_for_avx2_takes_constants_from_memory_and_spills_to_aligned_memory():
    target = Target.named("avx2")
    text = assembly(batch_module(mixed(), target), target, level=0)
    assert re.search(r"vfmadd\w+pd\s+\.?L?\w*kept_\w+\(%rip\)", text)
    assert re.search(r"^kernel_lanes:(?:\n.*){1,12}andq\s+\$-32, %rsp", text, re.MULTILINE)


def test_the_host_is_one_of_the_known_shapes():
    host = Target.host()
    assert host.lanes in (2, 4, 8)
    assert host.vector_bits == 64 * host.lanes
    assert Target.named("host") is host


def test_an_unknown_target_is_refused_with_the_choices():
    with pytest.raises(InputError, match="avx512"):
        Target.named("z80")


def test_code_for_another_kind_of_processor_needs_all_of_llvms_and_no_other_does():
    asked = []

    def target(triple):
        return SimpleNamespace(create_target_machine=lambda **options: (triple, options["cpu"]))

    process = object.__new__(compiler._Process)
    process.llvm = SimpleNamespace(
        get_process_triple=lambda: "aarch64-apple-darwin",
        initialize_all_targets=lambda: asked.append("targets"),
        initialize_all_asmprinters=lambda: asked.append("printers"),
        Target=SimpleNamespace(from_triple=target, from_default_triple=lambda: target("here")),
    )
    for triple, needed in (
        ("", []),
        ("aarch64-unknown-linux-gnu", []),
        ("x86_64-apple-darwin", ["targets", "printers"]),
    ):
        asked.clear()
        chosen = replace(Target.named("sse2"), triple=triple)
        assert process.machine(chosen) == (triple or "here", chosen.cpu)
        assert asked == needed
