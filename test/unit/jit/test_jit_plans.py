# SPDX-License-Identifier: Apache-2.0
"""What is decided before code is written, by hand on small functions: multiply-adds, orders, estimates, processors."""

from __future__ import annotations

import pytest

from ada_dynamics.expr import atan2, cos, extract, lane_sum, pack, select, sin, sqrt, trace
from ada_dynamics.expr.graph import Graph, live_nodes
from ada_dynamics.jit import Target
from ada_dynamics.jit.angles import first_angles, groups
from ada_dynamics.jit.estimate import instructions
from ada_dynamics.jit.fused import fused
from ada_dynamics.jit.schedule import critical_first, results_first
from ada_dynamics.jit.target import PTX


def of(body, size=3):
    return trace("f", {"q": size}, lambda q: {"y": body(*q)})


def ops(nodes):
    return [node.op for node in nodes if node.op not in ("var", "const")]


# --- multiply-adds ------------------------------------------------------------------------------------------------
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


# --- orders -------------------------------------------------------------------------------------------------------
def test_two_start_in_a_cycle_and_the_longest_wait_goes_first():
    a, b, c = Graph().vector("q", 3)
    quick, slow, middle = a + b, sqrt(c), a * c
    late = slow + middle
    order = critical_first(live_nodes([quick, late]))
    assert [x for x in order if x.op != "var"] == [slow, middle, quick, late]


def test_results_are_made_one_after_the_other():
    a, b, c = Graph().vector("q", 3)
    first, second = a + b, b * c
    results = [second * second, first * b, second + first]
    wanted = [b, c, second, results[0], a, first, results[1], results[2]]
    assert results_first(results) == wanted


def test_angles_that_need_no_sine_come_first_with_what_they_need():
    a, b, c = Graph().vector("q", 3)
    angle = a * b
    early, late = sin(angle) + cos(c), sin(sin(angle) + b)
    angles, needed = first_angles(live_nodes([early, late]))
    assert angles == [angle, c]
    assert needed == [a, b, c, angle]


def test_angles_fill_vectors_those_of_most_lanes_first():
    a, b, c = Graph().vector("q", 3)
    two, three = pack([a, b]), pack([a, b, c])
    assert groups([a, two, b, three, c], 4) == [[three], [two, a, b], [c]]
    assert groups([a, three], 2) == [[three], [a]]
    assert groups([], 4) == []


# --- estimates: additions, products and signs 1, inputs 1/2, a choice 2, 1/x 8, a root 12, an arctangent 50, angles 60
@pytest.mark.parametrize(
    ("body", "count"),
    [
        (lambda a, b, c: (a + b, b - c, a * c, -b), 1.5 + 4.0),
        (lambda a, b, c: (a / b,), 1.0 + 8.0 + 1.0),
        (lambda a, b, c: (sqrt(a), atan2(a, b), select(a, b, c, 0.0)), 1.5 + 12.0 + 50.0 + 2.0),
        (lambda a, b, c: (sin(a), cos(a)), 0.5 + 60.0),
        (lambda a, b, c: (sin(a), cos(b), sin(c)), 1.5 + 60.0),
        (lambda a, b, c: (sin(a), cos(b), sin(c), sin(a + b), cos(b + c)), 1.5 + 2.0 + 2 * 60.0),
        (lambda a, b, c: (lane_sum(pack([a, b]), 2),), 1.0 + 2.0 + 2.0),
        (lambda a, b, c: (lane_sum(pack([a, b, c]), 3),), 1.5 + 4.0 + 4.0 + 1.0),
        (lambda a, b, c: (lane_sum(pack([a, b]) * c, 2),), 1.5 + 2.0 + 1.0 + 1.0 + 2.0),
        (lambda a, b, c: (extract(pack([a, b]) * pack([2.0, 3.0]), 1),), 1.0 + 2.0 + 1.0 + 1.0),
        (lambda a, b, c: (extract(sin(pack([a, b, c])), 1),), 1.5 + 4.0 + 60.0 + 1.0),
    ],
)
def test_instructions_are_counted_by_what_they_take_the_place_of(body, count):
    assert instructions(of(body)) == count


# --- processors ---------------------------------------------------------------------------------------------------
# NVIDIA: shared memory of a multiprocessor [KiB] (CUDA C++ Programming Guide, technical specifications by compute
# capability), and the version of PTX that brought the target (PTX ISA, release history).
_GPUS = {
    70: (96, 60),
    75: (64, 63),
    80: (164, 70),
    86: (100, 71),
    89: (100, 78),
    90: (228, 78),
    100: (228, 86),
    120: (100, 87),
}


@pytest.mark.parametrize("capability", _GPUS)
def test_graphics_processors_have_the_text_and_the_memory_of_their_generation(capability):
    target = Target.gpu(capability)
    shared, version = _GPUS[capability]
    assert (target.cpu, target.features) == (f"sm_{capability}", f"+ptx{version}")
    assert target.is_gpu and (target.lanes, target.vector_bits, target.fma) == (1, 64, True)
    assert target.function_attributes == "nounwind"
    # four groups of 64 threads, with 1 KiB each for the system, and 48 KiB at most for each
    assert target.fast_bytes == min(shared - 4, 4 * 48) * 1024 // 256


def test_a_processor_between_two_generations_gets_the_code_of_the_older_one():
    assert set(PTX) == set(_GPUS)
    assert Target.gpu(87).cpu == "sm_86" and Target.gpu(110).cpu == "sm_100"
    assert Target.host().fast_bytes == 768
