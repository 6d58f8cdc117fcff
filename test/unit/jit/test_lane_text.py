# SPDX-License-Identifier: Apache-2.0
"""Vector instructions that are written as text, done with numpy: where each number of a state ends up."""

from __future__ import annotations

import re
import struct
from typing import Any

import numpy as np
import pytest

from ada_dynamics.expr.per_lane import PerLane
from ada_dynamics.jit import lanes, loop_kernel, transpose
from ada_dynamics.jit.llvm_text import Body, Lanes
from ada_dynamics.jit.loop_kernel import LoopKernel, LoopTables
from ada_dynamics.jit.march_text import _preamble
from ada_dynamics.jit.signature import Signature
from ada_dynamics.jit.target import VARIANTS

Array = Any
POISON = np.nan  # which no result may show
_VECTOR = r"(?:<(\d+) x double>|double)"


class Machine:
    """Runs what a `Body` has, on numbers by name and on memory by name."""

    def __init__(self, **memory: Array) -> None:
        self.memory = {f"%{name}": values for name, values in memory.items()}
        self.of: dict[str, Any] = {}

    def run(self, text: str, **values: Any) -> None:
        self.of = {f"%{name}": value for name, value in values.items()}
        for line in text.splitlines():
            if line.startswith("  "):
                self._do(line.strip())

    def value(self, name: str, width: int = 1) -> Any:
        if name in ("poison", "undef"):
            return np.full(width, POISON)
        if name == "zeroinitializer":
            return np.zeros(width)
        if name.startswith("0x"):
            return struct.unpack(">d", bytes.fromhex(name[2:]))[0]
        return self.of[name]

    def address(self, name: str) -> tuple[str, int]:
        return (name, 0) if name in self.memory else self.of[name]

    def _do(self, line: str) -> None:
        stored = re.fullmatch(rf"store {_VECTOR} (\S+), ptr (\S+), align 8", line)
        if stored:
            (name, at), width = self.address(stored[3]), int(stored[1] or 1)
            assert 0 <= at <= len(self.memory[name]) - width, line
            self.memory[name][at : at + width] = self.value(stored[2])
        elif line != "ret void":
            name, what = line.split(" = ", 1)
            self.of[name] = self._found(what)

    def _found(self, what: str) -> Any:
        numbers = [int(x) for x in re.findall(r"i(?:32|64) (-?\d+)", what)]
        names = [x.strip(",") for x in re.findall(r"\b(?:double>?|ptr) ([^<>\s]+)", what)]
        width = int(next(iter(re.findall(r"<(\d+) x", what)), "1"))
        match what.split()[0]:
            case "insertelement":
                result = self.value(names[0], width).copy()
                result[numbers[-1]] = self.value(names[1])
                return result
            case "extractelement":
                return self.value(names[0], width)[numbers[-1]]
            case "shufflevector":
                both = np.concatenate([self.value(name, width) for name in names[:2]])
                if what.endswith("zeroinitializer"):
                    return np.full(int(re.findall(r"<(\d+) x i32>", what)[0]), both[0])
                order = re.findall(r"i32 (\d+|poison)", what)
                assert len(order) == int(re.findall(r"<(\d+) x i32>", what)[0])
                return np.array([POISON if x == "poison" else both[int(x)] for x in order])
            case "fadd":
                first, second = what.rsplit(" ", 2)[-2:]
                return self.value(first.strip(",")) + self.value(second)
            case "getelementptr":
                name, at = self.address(names[0])
                step = what.rsplit(" ", 1)[1]
                return name, at + (self.of[step] if step.startswith("%") else int(step))
            case "load":
                (name, at) = self.address(names[0])
                assert 0 <= at <= len(self.memory[name]) - width, what
                loaded = self.memory[name][at : at + width].copy()
                return loaded if "<" in what else loaded[0]
        raise AssertionError(what)


# --- lanes of one state -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("count", range(2, 9))
def test_spare_lanes_hold_what_the_first_one_holds(count: int) -> None:
    x = np.arange(1.0, count + 1.0)
    width = 2 if count == 2 else 4 if count <= 4 else 8
    kind = lanes.padded(count)
    assert kind == Lanes(width)
    whole = [*x, *[1.0] * (width - count)]
    body, machine = Body(), Machine()
    packed, spread = lanes.packed(body, kind, [f"%x{i}" for i in range(count)]), lanes.spread(body, kind, "%x1")
    machine.run(str(body), **{f"x{i}": value for i, value in enumerate(x)})
    assert machine.of[packed].tolist() == whole
    assert machine.of[spread].tolist() == [2.0] * width
    numbers = re.findall(r"double (0x\w+)", lanes.constant(PerLane(tuple(x))))
    assert [machine.value(one) for one in numbers] == whole


@pytest.mark.parametrize(
    "widths", [[4], [4, 2], [2, 1], [4, 1], [4, 2, 1], [4, 2, 2], [2, 2], [1, 1], [1, 1, 1], [2, 2, 2], [4, 4]]
)
def test_pieces_are_joined_one_after_the_other(widths: list[int]) -> None:
    body, values, start = Body(), {}, 1.0
    for i, width in enumerate(widths):
        values[f"p{i}"] = start if width == 1 else np.arange(start, start + width)
        start += width
    kind, joined = lanes.joined(body, [(Lanes(width), f"%p{i}") for i, width in enumerate(widths)])
    machine, filled = Machine(), sum(widths)
    machine.run(str(body), **values)
    assert machine.of[joined].tolist() == [*range(1, filled + 1), *[1.0] * (kind.width - filled)]
    # each piece is put there at once, and spare lanes by one shuffle more
    vectors = sum(width > 1 for width in widths)
    least = 0 if len(widths) == 1 else len(widths) + max(vectors - 1, 0) + (filled < kind.width)
    assert len(body.lines) == least


@pytest.mark.parametrize(("width", "count"), [(2, 2), (4, 3), (4, 4), (8, 5), (8, 7), (8, 8)])
def test_a_sum_is_of_the_lanes_that_count(width: int, count: int) -> None:
    body, machine = Body(), Machine()
    x = np.array([*2.0 ** np.arange(count), *[1e9] * (width - count)])
    total = lanes.horizontal_sum(body, Lanes(width), "%x", count)
    part = lanes.part(body, Lanes(width), "%x", 1, width // 2)
    machine.run(str(body), x=x)
    assert machine.of[total] == 2.0**count - 1.0
    assert np.array_equal(machine.of[part], x[1] if width == 2 else x[1 : 1 + width // 2])


# --- rows and columns of a batch --------------------------------------------------------------------------------------
@pytest.mark.parametrize("width", [2, 4, 8])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 8, 11])
def test_rows_become_lanes_and_rows_again_and_nothing_else_is_touched(width: int, size: int) -> None:
    x = np.arange(1.0, width * size + 1.0)
    machine = Machine(rows=x.copy(), block=np.full(width * size, POISON))
    text = transpose.rows_in(size, width)
    assert text.startswith(f"define internal void @rows_in_{size}(ptr %rows, ptr %block)")
    machine.run(text)
    assert np.array_equal(machine.memory["%block"].reshape(size, width), x.reshape(width, size).T)
    machine.memory["%rows"][:] = POISON
    text = transpose.rows_out(size, width)
    assert text.startswith(f"define internal void @rows_out_{size}(ptr %block, ptr %rows)")
    machine.run(text)
    assert np.array_equal(machine.memory["%rows"], x)
    # a window of half the width is read by half as many loads as there are rows
    if size >= width // 2 > 1 or (size > 1 and width == 2):
        windows = -(-size // (width // 2))
        assert transpose.rows_in(size, width).count(" load ") == windows * width


def test_marches_declare_what_their_vectors_call() -> None:
    for width in (1, 2, 4, 8):
        text = _preamble(Lanes(width), VARIANTS["avx512"])
        reduced = f"declare double @llvm.vector.reduce.fadd.v{width}f64(double, <{width} x double>)"
        assert (reduced in text) == (width > 1) and ("reduce" in text) == (width > 1)
        assert f"declare {Lanes(width).real} @llvm.maxnum." in text and "@llvm.sqrt.f64(double)" in text


# --- kernels of loops -------------------------------------------------------------------------------------------------
def test_a_batch_runs_in_lanes_where_it_fills_them_and_their_workspace_is_small(monkeypatch: Any) -> None:
    tables = LoopTables(*(np.zeros(3) for _ in range(4)), np.zeros(3), np.zeros(5))
    signature = Signature("k", (("q", 2), ("v", 1)), (("a", (2,)),))
    kernel = LoopKernel(signature, pytest.fail, "key", tables)
    monkeypatch.setattr(loop_kernel.Target, "host", lambda: VARIANTS["avx2"])
    asked: list[tuple[int, int]] = []

    def run(width: int, inputs: Any, result: Array, states: int) -> None:
        asked.append((width, states))
        assert all(x.flags.c_contiguous and x.shape[1] == states for x in inputs)
        result[:] = inputs[0] + inputs[1]

    monkeypatch.setattr(kernel, "_run", run)
    for count, width in ((3, 1), (4, 4), (9, 4)):
        q, v = np.arange(2.0 * count).reshape(count, 2), np.ones((count, 1))
        assert np.array_equal(kernel.batch(q, v), q + v)
        assert asked.pop() == (width, count)
    assert kernel.batch(np.zeros((0, 2)), np.zeros((0, 1))).shape == (0, 2) and not asked
    kernel.native_repeat(q, v, repeats=3)
    assert asked == [(1, 9)] * 3
    # 3 bodies of 5 numbers of 8 bytes, in each of four lanes
    for limit, width in ((3 * 5 * 4 * 8, 4), (3 * 5 * 4 * 8 - 1, 1)):
        monkeypatch.setattr(loop_kernel, "MAX_LANE_WORKSPACE", limit)
        kernel.batch(q, v)
        assert asked.pop() == (width, 9)
    first = kernel._workspace(4)
    assert first.size == 4 * 5 * 4 and kernel._workspace(1) is first and kernel._workspace(8).size == 4 * 5 * 8
