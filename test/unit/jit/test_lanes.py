# SPDX-License-Identifier: Apache-2.0
"""Lanes of one state as vector instructions: results, status, and what becomes of them elsewhere."""

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
from ada_dynamics.jit.expressions import Emitter
from ada_dynamics.jit.lowering import Instructions, Lanes


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


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 8])
def test_lanes_are_right_on_every_target(target, count):
    function = limbs(count)
    batch = states(function, 3)
    kernel = kernel_of(function, target)
    for row, *expected in zip(zip(*batch, strict=True), *reference(function, batch), strict=True):
        close(kernel.single(*row), expected)


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
    emitter = Emitter(Instructions(), Lanes(8), Target.named("avx512"), lambda name, position: "%x")
    with pytest.raises(CompileError):
        emitter.emit(limbs(8).nodes())
