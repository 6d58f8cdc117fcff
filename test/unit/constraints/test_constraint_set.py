# SPDX-License-Identifier: Apache-2.0
"""Violation, Jacobian and bias of loop constraints agree with one another, on arrays and on graph nodes."""

import numpy as np
import pytest
from loop_robots import random_robot

import ada_dynamics as ada
from ada_dynamics.constraints.constraint_set import ConstraintSet
from ada_dynamics.expr import trace
from ada_dynamics.expr.evaluation import evaluate
from ada_dynamics.model.joints import LOOP_KINDS

STEP = 1e-6


def bias(constraints, q, v):
    return [row.rate for row in constraints.equations(q, v)]


@pytest.fixture(params=[*LOOP_KINDS, "stewart", "cassie_leg"])
def closed(request):
    """Constraints of a model, a configuration that closes its loops, and a velocity that keeps them closed."""
    if request.param in LOOP_KINDS:
        model = random_robot(5, (request.param,), closed=True, extras=False)  # closed at zero
        constraints, q = ConstraintSet(model), model.neutral()
    else:
        model = ada.load(request.param)
        constraints, q = ConstraintSet(model), np.asarray(ada.close_loops(model))
    _, s, Vt = np.linalg.svd(constraints.jacobian(q))
    N = Vt[int(np.sum(s > 1e-9 * s[0])) :]
    return constraints, q, N.T @ np.random.default_rng(1).normal(size=len(N))


def test_the_jacobian_is_the_derivative_of_the_violation(closed):
    constraints, q, _ = closed
    unit = np.eye(constraints.model.nv)
    ahead, back = (
        np.array([constraints.violation(constraints.model.integrate(q, s * STEP * e)) for e in unit]) for s in (1, -1)
    )
    # central differences: rounding 1e-16/1e-6, and the third derivative times 1e-12
    np.testing.assert_allclose(constraints.jacobian(q), ((ahead - back) / (2.0 * STEP)).T, atol=1e-8)


def test_the_bias_is_the_rate_of_the_jacobian_times_the_velocity(closed):
    constraints, q, v = closed
    ahead, back = (constraints.jacobian(constraints.model.integrate(q, s * STEP * v)) @ v for s in (1, -1))
    np.testing.assert_allclose(bias(constraints, q, v), (ahead - back) / (2.0 * STEP), atol=1e-7)


def test_graph_nodes_and_arrays_give_the_same_numbers(closed):
    constraints, q, v = closed

    def body(q, v):
        J = [x for row in constraints.jacobian(q) for x in row]
        return {"violation": constraints.violation(q), "J": J, "bias": bias(constraints, q, v)}

    found = evaluate(trace("constraints", {"q": len(q), "v": len(v)}, body), q=q.tolist(), v=v.tolist())
    np.testing.assert_allclose(found["violation"], constraints.violation(q), atol=1e-15)
    np.testing.assert_allclose(np.reshape(found["J"], (-1, len(v))), constraints.jacobian(q), atol=1e-15)
    np.testing.assert_allclose(found["bias"], bias(constraints, q, v), atol=1e-13)
