# SPDX-License-Identifier: Apache-2.0
"""Values in lanes and outputs that are columns of one function: the numbers are those of the same written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jit_examples import programs, run_program
from refused import refused

from ada_dynamics.errors import InputError
from ada_dynamics.expr import (
    Expr,
    Graph,
    PerLane,
    Traced,
    absolute,
    cos,
    cost,
    directional,
    evaluate,
    expand,
    extract,
    gradient,
    jvp,
    lane_sum,
    make_function,
    maximum,
    pack,
    select,
    sign,
    sin,
    sqrt,
    trace,
)
from ada_dynamics.expr.column_groups import in_groups
from ada_dynamics.expr.function import COLUMN, SHARED, Columns, Function
from ada_dynamics.jit import Kernel, Signature


@pytest.fixture
def xyz() -> tuple[Expr, Expr, Expr]:
    x, y, z = Graph().vector("q", 3)
    return x, y, z


def test_constants_per_lane_go_through_every_function():
    values = (0.5, 2.0)
    lanes = pack(values)
    for function in (sin, cos, sqrt, absolute, sign):
        assert function(lanes) == pack([function(x) for x in values])
    assert select(lanes, 1.0, 3.0, pack([4.0, 5.0])) == PerLane([3.0, 5.0])
    assert maximum(lanes, 1.0) == PerLane([1.0, 2.0])
    assert 1.0 / lanes == PerLane([2.0, 0.5])
    assert -lanes + 1.0 == PerLane([0.5, -1.0])
    assert 1.0 - lanes == PerLane([0.5, -1.0])
    assert lanes**2 == PerLane([0.25, 4.0])
    with pytest.raises(ZeroDivisionError):
        1.0 / pack([1.0, 0.0])


constants = st.lists(st.sampled_from([0.0, 1.0, -1.0, 0.5, -2.0]), min_size=4, max_size=4)


def _lane_program(program, lanes, numbers):
    """A function with lanes, and the same results from runs lane by lane."""

    def body(q, v):
        pool = [pack(q[:lanes]), v[0], pack(numbers[:lanes]), pack(q[-lanes:])]
        last = run_program(program, pool)[-1]
        return {"each": tuple(extract(last, lane) for lane in range(lanes)), "sum": lane_sum(last, lanes)}

    def by_lane(q, v):
        each = [run_program(program, [q[k], v[0], numbers[k], q[k - lanes]])[-1] for k in range(lanes)]
        return each, sum(each)

    return trace("f", {"q": 5, "v": 1}, body), by_lane


@given(program=programs(), lanes=st.integers(2, 4), numbers=constants, seed=st.integers(0, 100))
def test_lanes_compute_what_each_of_them_would_alone(program, lanes, numbers, seed):
    function, by_lane = _lane_program(program, lanes, numbers)
    rng = np.random.default_rng(seed)
    q, v = rng.normal(size=5), rng.normal(size=1)
    each, total = by_lane(q.tolist(), v.tolist())
    # Products of up to 20 factors: what counts is the size of the largest lane.
    size = max(1.0, *map(abs, each))
    for ways in (function, expand(function)):
        found = evaluate(ways, q=q.tolist(), v=v.tolist())
        assert found["each"] == pytest.approx(each, rel=1e-10, abs=1e-12 * size)
        assert found["sum"] == pytest.approx(total, rel=1e-10, abs=1e-12 * size)


def test_constants_whose_product_would_vanish_in_a_lane_are_not_multiplied_beforehand():
    def body(q):
        product = pack([1.0, 1e-200]) * (pack([2.0, -1e-200]) * pack(q))
        return {"y": tuple(extract(product, lane) for lane in range(2))}

    found = evaluate(trace("f", {"q": 2}, body), q=[1.0, 1e250])
    assert found["y"] == pytest.approx((2.0, -1e-150), rel=1e-14)


@given(program=programs(), lanes=st.integers(2, 4), numbers=constants, seed=st.integers(0, 100))
def test_derivatives_on_lanes_are_those_of_the_scalars_that_they_stand_for(program, lanes, numbers, seed):
    function, _ = _lane_program(program, lanes, numbers)
    rng = np.random.default_rng(seed)
    state, direction = rng.normal(size=6), rng.normal(size=6)
    found = []
    for way in (function, expand(function)):
        variables = (*way.variables("q"), *way.variables("v"))
        values = [*way.outputs["each"], *way.outputs["sum"]]
        outputs = {
            "gradients": [gradient(x, variables) for x in values],
            "changes": directional(values, dict(zip(variables, direction.tolist(), strict=True))),
        }
        derived = make_function("f", way.graph, way.inputs, outputs)
        found.append(evaluate(derived, q=state[:5].tolist(), v=state[5:].tolist()))
    on_lanes, on_scalars = found
    for name, wanted in on_scalars.items():
        assert on_lanes[name] == pytest.approx(wanted, rel=1e-9, abs=1e-9 * max(1.0, np.max(np.abs(wanted))))
    assert on_lanes["gradients"] @ direction == pytest.approx(
        on_lanes["changes"], rel=1e-9, abs=1e-9 * max(1.0, np.max(np.abs(on_lanes["gradients"])))
    )


def test_what_has_no_meaning_with_lanes_is_refused(xyz):
    x, y, z = xyz
    two, three = pack([x, y]), pack([x, y, z])
    for combine in (lambda: two + three, lambda: two * pack([1.0, 2.0, 3.0]), lambda: select(x, 0.0, two, three)):
        with refused(InputError, field="lanes", value=(2, 3)):
            combine()
    with refused(InputError, field="lanes", value=(2, 3)):
        pack([1.0, 2.0]) + pack([1.0, 2.0, 3.0])
    with refused(InputError, field="lanes", allowed=1):
        pack([two, x])
    with refused(InputError, field="lane", value=2):
        extract(two, 2)
    with refused(InputError, field="lanes", value=3):
        lane_sum(three, 2)
    with refused(InputError, field="y", value=2):
        make_function("f", x.graph, {"q": 3}, {"y": two})
    with refused(InputError, field="graph"):
        pack([x, Graph().variable("q", 0)])
    with pytest.raises(TypeError):
        bool(pack([1.0, 2.0]) < 3.0)


COUNTS = (1, 3, 8, 11)  # columns: fewer than lanes, as many, more


def example(count: int) -> Function:
    """X = cos(p0) times the columns [p0 + i p1; p1 i²; 2], beside a plain output and a constant matrix."""
    each = trace("each", {SHARED: 1, COLUMN: 3}, lambda shared, column: {"x": [shared[0] * c for c in column]})

    def body(p):
        rows = [[p[0] + i * p[1] for i in range(count)], [p[1] * i * i for i in range(count)], [2.0] * count]
        constant = [[float(i + j) for i in range(count)] for j in range(3)]
        columns = [
            Columns(name, each, (cos(p[0]),), tuple(map(tuple, m))) for name, m in (("X", rows), ("C", constant))
        ]
        return Traced({"y": [p[0] * p[1]]}, columns=columns)

    return trace("example", {"p": 2}, body, ("X", "y", "C"))


def expected(p, count):
    i = np.arange(count)
    X = np.cos(p[0]) * np.array([p[0] + i * p[1], p[1] * i * i, np.full(count, 2.0)])
    return X, np.array([p[0] * p[1]]), np.cos(p[0]) * (i + np.arange(3.0)[:, None])


@pytest.mark.parametrize("count", COUNTS)
def test_all_ways_to_run_it_agree(count):
    function = example(count)
    kernel = Kernel(Signature.of(function), lambda: function, f"columns {count}")
    states = np.random.default_rng(count).normal(size=(19, 2))
    batch, turned = kernel.batch(states), kernel.batch(np.asfortranarray(states))
    for k, p in enumerate(states):
        wanted = expected(p, count)
        found = evaluate(function, p=p.tolist())
        for name, whole, of_batch, of_turned, one in zip("XyC", wanted, batch, turned, kernel.single(p), strict=True):
            for value in (found[name], of_batch[k], of_turned[k], one):
                assert np.allclose(value, whole, rtol=0.0, atol=1e-14 * max(1.0, np.max(np.abs(whole))))


def test_written_out_and_differentiated_it_is_a_plain_function():
    function = example(3)
    assert not expand(function).columns
    p, d = [0.3, 0.7], [0.2, -0.4]
    along = evaluate(jvp(function), p=p, d_p=d)["d_X"]
    ahead, behind = (expected([x + h * y for x, y in zip(p, d, strict=True)], 3)[0] for h in (1e-6, -1e-6))
    assert np.allclose(along, (ahead - behind) / 2e-6, rtol=0.0, atol=1e-9)


def test_groups_of_columns_do_without_the_operations_on_their_zeros():
    def solution(shared, column):
        x = list(column)
        for i in (1, 2, 4, 5):  # two limbs of three joints
            x[i] = x[i] - shared[0] * x[i - 1]
        return {"x": x}

    each = trace("each", {SHARED: 1, COLUMN: 6}, solution)

    def body(p):
        rows = [tuple(p[1] if i // 3 == j // 3 else 0.0 for j in range(6)) for i in range(6)]
        return Traced({}, columns=[Columns("X", each, (p[0],), tuple(rows))])

    function = trace("limbs", {"p": 2}, body)
    found = in_groups(function)
    assert [(one.first, one.count, cost(one.each).work) for one in found.columns] == [(0, 3, 4), (3, 3, 4)]
    assert np.array_equal(evaluate(found, p=[0.3, 0.7])["X"], evaluate(function, p=[0.3, 0.7])["X"])
