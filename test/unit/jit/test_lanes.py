# SPDX-License-Identifier: Apache-2.0
"""Lanes of one state as vector instructions: results, status, and what becomes of them elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from jit_examples import TARGETS, close, kernel_of, programs, reference, run_program, states

from ada_dynamics.errors import CompileError, InputError
from ada_dynamics.expr import (
    Function,
    Traced,
    absolute,
    cos,
    extract,
    lane_sum,
    maximum,
    pack,
    select,
    sin,
    sqrt,
    trace,
)
from ada_dynamics.jit import GuardError, Target
from ada_dynamics.jit.expressions import Emitter, lane_stores
from ada_dynamics.jit.lowering import Body, Lanes


def limbs(count: int, steps: int = 3) -> Function:
    """A chain of `steps` angles in each of `count` lanes, every operation, constants that differ, and a late angle."""

    def body(q, v):
        sizes = pack([1.0 + 0.25 * lane for lane in range(count)])
        reach = v[0] * sizes
        for step in range(steps):
            angle = pack([q[lane * steps + step] for lane in range(count)])
            speed = pack([v[1 + lane] for lane in range(count)])
            reach = reach * cos(angle) + sin(angle) / sqrt(2.0 + speed * speed) - v[0]
        late = sin(reach)
        kept = select(reach, 0.0, late, -absolute(reach))
        total = lane_sum(kept * sizes, count)
        each = tuple(extract(maximum(kept, total), lane) for lane in range(count))
        return Traced({"each": each, "sum": total, "w": (q[0], 1.5)}, (reach + 100.0, v[0] + 50.0))

    return trace(f"limbs{count}", {"q": count * steps, "v": 1 + count}, body)


def test_only_all_lanes_in_their_order_are_one_run():
    kept = {}

    def body(x):
        several, other = (sin(pack([x[i] * k for i in range(4)])) for k in (1.0, 2.0))
        a, b, c, d = (extract(several, lane) for lane in range(4))
        kept["cases"] = [
            ([x[0], a, b, c, d, 2.0], [(0, 1), (1, 4), (5, 1)]),
            ([a, b, c, d, a, b], [(0, 4), (4, 1), (5, 1)]),
            ([a, b, c], [(0, 1), (1, 1), (2, 1)]),
            ([a, b, d, c], [(0, 1), (1, 1), (2, 1), (3, 1)]),
            ([b, c, d, a], [(0, 1), (1, 1), (2, 1), (3, 1)]),
            ([a, b, c, extract(other, 3)], [(0, 1), (1, 1), (2, 1), (3, 1)]),
            ([a, b, c, 3.0], [(0, 1), (1, 1), (2, 1), (3, 1)]),
            ([], []),
        ]
        return {"y": [a, b, c, d]}

    trace("runs", {"x": 4}, body)
    for elements, expected in kept["cases"]:
        found = lane_stores(elements)
        assert [(run.position, run.lanes) for run in found] == expected
        for run in found:
            whole = [extract(run.value, lane) for lane in range(4)] if run.lanes == 4 else [run.value]
            assert all(x is y for x, y in zip(whole, elements[run.position :], strict=False))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 8])
def test_lanes_are_right_on_every_target(target, count):
    function = limbs(count)
    batch = states(function, 3)
    kernel = kernel_of(function, target)
    for row, *expected in zip(zip(*batch, strict=True), *reference(function, batch), strict=True):
        close(kernel.single(*row), expected)


@pytest.mark.parametrize("target", ["host", "sse2"])
def test_groups_of_different_widths_and_single_angles_share_vectors(target):
    def body(q):
        legs, arms = sin(pack(q[:4])), cos(pack(q[4:6]))
        fingers, head = sin(pack(q[6:9])), cos(q[9])
        return {"y": (lane_sum(legs, 4) * head, lane_sum(arms, 2), lane_sum(fingers, 3) + sin(q[10]) * cos(q[11]))}

    function = trace("groups", {"q": 12}, body)
    batch = states(function, 4)
    kernel = kernel_of(function, target)
    close([np.array([kernel.single(row) for row in batch[0]])], reference(function, batch))


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(program=programs("atan2", "min", "cos", "sin", "fused"))
def test_compiled_lanes_agree_with_the_expressions(program):
    def body(q, v):
        constants = pack([1.0, 2.0, -1.0]), pack([0.75, -0.5, 0.0])
        pool = run_program(program, [pack(q), pack([v[0], 0.5, v[1]]), v[0], *constants])
        return {"y": tuple(extract(pool[-1], lane) for lane in range(3)), "s": lane_sum(pool[-1], 3)}

    function = trace("f", {"q": 3, "v": 2}, body)
    batch = states(function, 3)
    kernel = kernel_of(function)
    for row, *expected in zip(zip(*batch, strict=True), *reference(function, batch), strict=True):
        close(kernel.single(*row), expected, 1e-12)


@pytest.mark.parametrize("lane", range(3))
def test_a_bad_value_in_any_lane_is_reported(lane):
    function = limbs(3)
    kernel = kernel_of(function)
    q, v = (array[0] for array in states(function, 1))
    for array, position, value in ((q, lane * 3, np.nan), (v, 1 + lane, np.inf), (q, lane * 3 + 1, 1e12)):
        bad = array.copy()
        bad[position] = value
        arguments = [bad if given is array else given for given in (q, v)]
        with pytest.raises(InputError):
            kernel.single(*arguments)


@pytest.mark.parametrize("lane", range(3))
def test_a_result_that_is_not_finite_and_a_failing_guard_in_any_lane_are_reported(lane):
    def body(q):
        inverse = 1.0 / pack(q)
        return Traced({"y": tuple(extract(inverse, k) for k in range(3))}, (pack(q) + 1.0,))

    kernel = kernel_of(trace("inverse", {"q": 3}, body))
    q = np.array([1.0, 2.0, 4.0])
    assert kernel.single(q).tolist() == [1.0, 0.5, 0.25]
    for value, error in ((0.0, InputError), (-1.5, GuardError)):
        q[lane] = value
        with pytest.raises(error):
            kernel.single(q)


def test_lanes_of_a_state_are_refused_in_code_for_several_states():
    emitter = Emitter(Body(), Lanes(8), Target.named("avx512"), lambda name, position: "%x")
    with pytest.raises(CompileError):
        emitter.emit(limbs(8).nodes())
