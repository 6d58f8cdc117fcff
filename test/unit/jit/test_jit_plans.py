# SPDX-License-Identifier: Apache-2.0
"""What is decided before code is written, by hand on small functions: multiply-adds, orders, estimates, processors."""

from __future__ import annotations

import pytest

from ada_dynamics.expr import extract, lane_sum, pack, sin, trace
from ada_dynamics.jit import Target
from ada_dynamics.jit.fused import fused


def of(body, size=3):
    return trace("f", {"q": size}, lambda q: {"y": body(*q)})


def ops(nodes):
    return [node.op for node in nodes if node.op not in ("var", "const")]


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (lambda a, b, c: (a * b + c,), "fma(a,b,c)"),
        (lambda a, b, c: (c + a * b,), "fma(a,b,c)"),
        (lambda a, b, c: (a * b - c,), "fma(a,b,-c)"),
        (lambda a, b, c: (c - a * b,), "fma(-a,b,c)"),
        (lambda a, b, c: (c - 2.0 * a,), "fma(a,-2.0,c)"),
        (lambda a, b, c: (a * b - 3.0,), "fma(a,b,-3.0)"),
        (lambda a, b, c: (a * b + b * c,), "fma(a,b,mul(b,c))"),
        (lambda a, b, c: (a * b - b * c,), "fma(a,b,-mul(b,c))"),
        (lambda a, b, c: (sin(a * b) + c,), "add(c,sin(mul(a,b)))"),
        (lambda a, b, c: (a * b + c, a * b), "add(c,mul(a,b)) mul(a,b)"),
        (lambda a, b, c: (a * b + c, a * b - c), "add(c,mul(a,b)) sub(mul(a,b),c)"),
        (lambda a, b, c: (a * b * c,), "mul(c,mul(a,b))"),
    ],
)
def test_a_product_that_one_sum_alone_uses_goes_into_it(body, shown):
    def text(node):
        if node.op == "var":
            return "abc"[node.variable[1]]
        if node.op == "const":
            return repr(node.value)
        inside = [text(arg) for arg in node.args]
        if node.op == "neg":
            return f"-{inside[0]}"
        if node.op == "fma" and node.args[0].op == "const":
            inside[:2] = inside[1::-1]
        return f"{node.op}({','.join(sorted(inside) if node.op in ('add', 'mul') else inside)})"

    assert [text(x) for x in fused(of(body)).outputs["y"]] == shown.split()


def test_a_product_in_lanes_goes_into_a_sum_of_as_many_lanes_alone():
    def body(a, b, c):
        both = pack([a, b])
        return (*(extract(both * c + pack([c, a]), lane) for lane in (0, 1)), lane_sum(both, 2) + a * b)

    new = fused(of(body))
    lanes = {node.op: node.lanes for node in new.nodes()}
    assert ops(new.nodes()).count("fma") == 2 and "mul" not in lanes
    assert [x.value for x in new.outputs["y"][:2]] == [0, 1]
    spread = fused(of(lambda a, b, c: (lane_sum(pack([b, c]) + a * b, 2),)))
    assert "fma" not in ops(spread.nodes()), "one product for two sums"


# The version of PTX that brought the target (NVIDIA, PTX ISA, release history), by compute capability.
_GPUS = {70: 60, 75: 63, 80: 70, 86: 71, 89: 78, 90: 78, 100: 86, 120: 87}


@pytest.mark.parametrize(("capability", "version"), _GPUS.items())
def test_graphics_processors_have_the_text_of_their_generation(capability, version):
    target = Target.gpu(capability)
    assert (target.cpu, target.features) == (f"sm_{capability}", f"+ptx{version}")
    assert target.is_gpu and (target.lanes, target.vector_bits, target.fma) == (1, 64, True)
    assert target.function_attributes == "nounwind"
