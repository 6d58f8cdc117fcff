# SPDX-License-Identifier: Apache-2.0
"""Kernels of graphics processors take no more registers and memory than docs/gpu_kernels.csv says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.gpu_code import ROBOTS, VERSION, assembled, assembler, read, wanted

# From LLVM 20 to 22, which are let in, registers differ by 8, spills by 300 bytes, and there are a tenth more moves.
MORE_REGISTERS, MORE_BYTES, MORE_MOVES = 8, 320, 1.1


LARGE = 70_000  # instructions: the assembler takes 20 s


def _kernels() -> Iterator[object]:
    """Rows of each robot, and large kernels by themselves."""
    for robot in ROBOTS:
        keys = [key for key in wanted() if key[0] == robot]
        large = [key for key in keys if read()[key].instructions > LARGE]
        yield pytest.param([key for key in keys if key not in large], id=robot)
        yield from (pytest.param([key], id="-".join(map(str, key)), marks=pytest.mark.fuzz) for key in large)


@pytest.mark.skipif(assembler() is None, reason=f"ptxas {VERSION} is not there (pip install nvidia-cuda-nvcc-cu12)")
@pytest.mark.parametrize("keys", _kernels())
def test_every_kernel_assembles_with_the_registers_of_the_table(keys):
    for key in keys:
        recorded, found = read()[key], assembled(key)
        assert found.registers <= recorded.registers + MORE_REGISTERS, found
        for kind in ("shared", "local", "spilled"):
            assert getattr(found, kind) <= 1.1 * getattr(recorded, kind) + MORE_BYTES, found
        assert found.instructions <= MORE_MOVES * recorded.instructions, found
        assert found.arithmetic <= recorded.arithmetic + 1, found
        assert (found.bytes, found.cut) == (recorded.bytes, recorded.cut)


def test_the_bound_of_a_kernel_is_that_of_its_slowest_part():
    rows = read()
    arm = rows["pa10", "forward", 64, 90]
    assert arm.bound == pytest.approx(3.35e12 / arm.bytes / 1e9, rel=1e-3)
    assert arm.limit == "memory"
    legs = rows["stewart", "forward", 64, 90]
    assert legs.bound == pytest.approx(5.5e12 / (legs.local + legs.spilled) / 1e9, rel=1e-3)
    assert legs.limit == "local memory"
    chain = rows["khr1", "forward", 32, 90]
    assert chain.bound == pytest.approx(132 * 1.755e9 * 128 / chain.instructions / 1e9, rel=1e-3)
    assert chain.limit == "instructions"
