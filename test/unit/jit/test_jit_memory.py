# SPDX-License-Identifier: Apache-2.0
"""Memory of threads as text: where numbers lie, how they are aligned, and what becomes of them on their way."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ada_dynamics.jit import driver
from ada_dynamics.jit.keeping import Place
from ada_dynamics.jit.llvm_text import Body, Lanes
from ada_dynamics.jit.target import VARIANTS, Target
from ada_dynamics.jit.thread_memory import GROUP, Strided, ThreadMemory


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("target", [Target.gpu(90), VARIANTS["avx2"]], ids=["gpu", "avx2"])
def test_numbers_wait_where_their_place_says(target: Target, bits: int) -> None:
    number = Lanes(1, bits)
    memory = ThreadMemory(target, number, number)
    real, size = {32: ("float", 4), 64: ("double", 8)}[bits]
    for is_fast, name, kind in ((True, "%fast", "ptr addrspace(3)"), (False, "%slow", "ptr addrspace(5)")):
        body, kind = Body(), kind if target.is_gpu else "ptr"
        memory.put(body, Place(is_fast, 3), "%x")
        memory.fetch(body, Place(is_fast, 3), 2)
        step = GROUP if is_fast and target.is_gpu else 1
        assert [line.strip() for line in body.lines] == [
            f"%t1 = getelementptr {real}, {kind} {name}, i64 {3 * step}",
            f"store volatile {real} %x, {kind} %t1, align {size}",
            f"%t2 = getelementptr {real}, {kind} {name}, i64 {5 * step}",
            f"%t3 = load volatile {real}, {kind} %t2, align {size}",
        ]
    assert memory.parameters == f"{memory.kind(True)} %fast, {memory.kind(False)} %slow"
    assert (memory.table, memory.constant) == (("ptr addrspace(4)", "addrspace(4) ") if target.is_gpu else ("ptr", ""))


@pytest.mark.parametrize(("own", "stored"), [(64, 64), (64, 32), (32, 64), (32, 32)])
def test_elements_of_arrays_are_a_step_apart_and_as_wide_as_they_are_stored(own: int, stored: int) -> None:
    kinds = {32: "float", 64: "double"}
    body = Body()
    at = Strided(body, "y", Lanes(1, own), Lanes(1, stored))
    at.load(0)
    at.load(3)
    at.store("%i", "%x")
    at.store_steps("%i", 7, ["%a", "%b"])
    text = "\n".join(body.lines)
    size, kind = stored // 8, kinds[stored]
    assert len(re.findall(rf"load {kind}, ptr %t\d+, align {size}$", text, re.MULTILINE)) == 2
    assert len(re.findall(rf"store {kind} %\w+, ptr %t\d+, align {size}$", text, re.MULTILINE)) == 3
    assert text.count("sext i32 %y_of_state to i64") == text.count("sext i32 %y_of_element to i64") == 1
    changes = [how for how in ("fpext", "fptrunc") if how in text]
    assert len(changes) == (0 if own == stored else 2)
    steps: list[Any] = re.findall(r"mul i64 (%\w+), (%?\w+)", text)
    assert [what for _, what in steps] == [steps[0][1], "3", "%i", "7", "%i"] and steps[0][0] == "%k"
    assert text.count(f"getelementptr {kind}, ptr") == len(re.findall("getelementptr", text))


def test_the_oldest_driver_is_told_as_people_write_versions() -> None:
    whole, part = divmod(driver.OLDEST, 1000)
    assert f"CUDA {whole}.{part // 10} or newer is needed" == driver._NEEDED
    assert re.fullmatch(r"CUDA 1\d\.\d or newer is needed", driver._NEEDED)
