# SPDX-License-Identifier: Apache-2.0
"""Constraint rows and their rates, and what is left of a motion once some of it is chosen: minors and rates."""

import numpy as np
import pytest
from loop_robots import random_robot

import ada_dynamics as ada
from ada_dynamics.constraints.analysis import independent_columns
from ada_dynamics.constraints.constraint_set import ConstraintSet, dense_rows
from ada_dynamics.constraints.coordinates import (
    least_share,
    null_space,
    tangent_map,
    tangent_map_rate,
    undetermined_motion,
)
from ada_dynamics.constraints.singular import LoopSystem, branch_directions
from ada_dynamics.expr import trace
from ada_dynamics.expr.evaluation import evaluate
from ada_dynamics.model.joints import LOOP_KINDS


@pytest.mark.parametrize("several", [(), (3,), (2, 3)])
@pytest.mark.parametrize("repeated", [0, 2])
def test_all_velocities_follow_from_chosen_ones(several: tuple[int, ...], repeated: int) -> None:
    rng = np.random.default_rng(1)
    J = rng.normal(size=(*several, 4, 7))
    J_rate = rng.normal(size=J.shape)
    J, J_rate = (np.concatenate([x, x[..., :repeated, :]], axis=-2) for x in (J, J_rate))
    chosen = (5, 0, 3)
    T = tangent_map(null_space(J, 3), chosen)
    assert T.shape == (*several, 7, 3)
    np.testing.assert_allclose(J @ T, 0.0, atol=1e-13)
    np.testing.assert_array_equal(T[..., chosen, :], np.broadcast_to(np.eye(3), (*several, 3, 3)))
    h = 1e-6
    later, earlier = (tangent_map(null_space(J + way * J_rate, 3), chosen) for way in (h, -h))
    slope = (later - earlier) / (2.0 * h)
    np.testing.assert_allclose(tangent_map_rate(J, J_rate, T, chosen), slope, atol=1e-8 * np.abs(slope).max())


@pytest.mark.parametrize("rows", [2, 3])
def test_velocities_that_do_not_determine_the_motion_are_found(rows: int) -> None:
    J = np.random.default_rng(2).normal(size=(rows, 4))
    J[:, 3] = 2.0 * J[:, 2]  # with 0 and 1 chosen, 2 and 3 still move
    J[2:] = J[:1]
    share = least_share(null_space(J, 2).basis(), (0, 1))
    assert share < 1e-15
    still = undetermined_motion(null_space(J, 2).basis(), (0, 1))
    np.testing.assert_allclose(J @ still, 0.0, atol=1e-14)
    np.testing.assert_allclose(still / still[3], [0.0, 0.0, -2.0, 1.0], atol=1e-14)


def test_motions_are_what_conditions_leave_and_tell_which_is_lost() -> None:
    rng = np.random.default_rng(3)
    U, V = (np.linalg.qr(rng.normal(size=(n, n)))[0] for n in (4, 6))
    J = np.array([U @ np.diag(s) @ V[:4] for s in ([3.0, 2.0, 1.0, 0.5], [3.0, 2.0, 1.0, 2e-4])])
    found = null_space(J, 2)
    np.testing.assert_allclose(found.sigma, [0.5 / 3.0, 2e-4 / 3.0], rtol=1e-9)
    assert (found.rank, found.lost.tolist()) == (4, [0, 1])
    assert found.basis().shape == (2, 6, 2) and found.basis(1).shape == (2, 6, 3)
    np.testing.assert_allclose(J @ found.basis(), 0.0, atol=1e-14)
    np.testing.assert_allclose(np.abs(np.einsum("kc,c->k", found.weakest, U[:, 3])), 1.0)
    np.testing.assert_allclose(np.abs(found.basis(1)[1].T @ V[3]), [1.0, 0.0, 0.0], atol=1e-12)
    free = null_space(np.zeros((5, 2, 3)), 3)
    assert (free.rank, free.sigma.tolist(), free.lost.tolist()) == (0, [1.0] * 5, [0] * 5)
    np.testing.assert_array_equal(free.basis(), np.broadcast_to(np.eye(3), (5, 3, 3)))
    assert free.weakest.shape == (5, 2)


def test_independent_velocities_tell_the_motions_apart() -> None:
    # two motions: a turns with b, and c with d at half the speed
    N = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0], [0.0, 1.0]])
    N /= np.linalg.norm(N, axis=0)
    for order in ([0, 1, 2, 3], [3, 0, 2, 1]):
        chosen = independent_columns([N[order].T], 2)
        assert chosen == sorted(chosen) and len(chosen) == 2
        assert abs(np.linalg.det(N[order][chosen])) == pytest.approx(2.0 / np.sqrt(10.0))
    assert independent_columns([np.array([[1.0, 1.0, 1.0], [0.0, 1e-17, 1e-4]])], 2) == [0, 2]  # rounding is no motion


@pytest.mark.parametrize(
    ("form", "ways"),
    [([1, 0, -1], [(1, 1), (1, -1)]), ([1, 0, 0], [(0, 1)]), ([0, 0, 1], [(1, 0)]), ([1, 0, 1], []), ([0, 0, 0], [])],
)
def test_tangents_are_the_zeros_of_the_quadratic_form(form: list[float], ways: list[tuple[float, float]]) -> None:
    a, b, c = form
    system = LoopSystem(np.eye(3), np.zeros(3), np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]), np.zeros(2))
    found = branch_directions(
        system, np.array([[0.0, 1.0]]), lambda v: np.array([0.0, a * v[0] ** 2 + b * v[0] * v[1] + c * v[1] ** 2])
    )
    lines = [np.outer(w, w) for w in found]
    wanted = [np.outer(w, w) / np.dot(w, w) for w in ((*way, 0.0) for way in ways)]
    assert len(lines) == len(wanted)
    for line in wanted:
        assert min(np.abs(line - other).max() for other in lines) < 1e-12


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
        J = [x for row in dense_rows(constraints.equations(q), len(v)) for x in row]
        return {"violation": constraints.errors(q), "J": J, "bias": bias(constraints, q, v)}

    found = evaluate(trace("constraints", {"q": len(q), "v": len(v)}, body), q=q.tolist(), v=v.tolist())
    np.testing.assert_allclose(found["violation"], constraints.violation(q), atol=1e-15)
    np.testing.assert_allclose(np.reshape(found["J"], (-1, len(v))), constraints.jacobian(q), atol=1e-15)
    np.testing.assert_allclose(found["bias"], bias(constraints, q, v), atol=1e-13)
