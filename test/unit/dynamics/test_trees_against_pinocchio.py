# SPDX-License-Identifier: Apache-2.0
"""Small random trees move as in pinocchio, by every algorithm, in code of their own and in kernels for all robots."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from pin_tree import PinTree
from random_trees import KINDS, Array, assert_same, random_tree, sprung_chain, states_of, two_free_bodies

import ada_dynamics as ada
from ada_dynamics.algorithms import aba, dca, order_n
from ada_dynamics.algorithms import ada as assembly_disassembly
from ada_dynamics.algorithms.assembly_order import ORDERS
from ada_dynamics.dynamics.constraint_queries import tangent_map_quantity

MODELS = {
    "oblique": lambda: random_tree(4, ["revolute", "prismatic", "revolute"]),
    "floating": lambda: random_tree(4, ["revolute", "spherical"], "floating"),
    "screws": lambda: random_tree(5, ["helical", "revolute"], is_serial=True, stiffness=3.0, rest=0.2, friction=0.05),
    "springs": sprung_chain,
    "mimics": lambda: random_tree(2, ["revolute"] * 4, mimics={4: 2}),
    "eight in a row": lambda: random_tree(1, ["revolute"] * 8, is_serial=True),
    "khr1": lambda: ada.load("khr1", base="floating"),
    "humanoid": lambda: random_tree(7, ["revolute"] * 23 + ["prismatic"], "floating"),
    "every joint": lambda: random_tree(0, KINDS, "floating"),
    "every joint on Euler angles": lambda: random_tree(2, KINDS, "floating_euler"),
    "two free bodies": two_free_bodies,
    "a long chain of screws": lambda: random_tree(
        6, ["helical", "revolute"] * 20, is_serial=True, stiffness=1.0, damping=0.1
    ),
}
LARGE = list(MODELS)[6:]
ALGORITHMS = ("aba", "ada", "dca", "crba", "lagrange", "order_n", "hybrid", "lanes")
CASES: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in MODELS if name not in LARGE]
CASES += [("oblique", {"algorithm": name}) for name in ALGORITHMS]
CASES += [
    ("oblique", {"kernel": "generic"}),
    ("mimics", {"algorithm": "crba"}),
    ("oblique", {"algorithm": "ada", "order": "chain"}),
]


MORE = [(name, {}) for name in LARGE[:-1]] + [(name, {"kernel": "generic"}) for name in LARGE]
MARKED = [*CASES, *(pytest.param(*case, marks=pytest.mark.fuzz) for case in MORE)]
IDS = [" ".join((name, *map(str, options.values()))) for name, options in [*CASES, *MORE]]


@cache
def judged(name: str) -> tuple[ada.Model, tuple[Array, ...], PinTree]:
    model = MODELS[name]()
    return model, states_of(model, 3), PinTree(model)


@pytest.mark.parametrize(("name", "options"), MARKED, ids=IDS)
def test_trees_accelerate_and_need_efforts_as_in_pinocchio(name: str, options: dict[str, Any]) -> None:
    model, (Q, V, U), peer = judged(name)
    dynamics = ada.Dynamics(model, **options)
    wrench = {model.link_names[-1]: np.arange(1.0, 7.0)}
    batch = dynamics.forward(Q, V, U), dynamics.inverse(Q, V, U)
    for i, (q, v, u) in enumerate(zip(Q, V, U, strict=True)):
        M, h = peer.mass_matrix(q), peer.bias(q, v)
        for a in (batch[0][i], dynamics.forward(q, v, u)):
            assert_same(model, q, v, u, a, np.linalg.solve(M, u - h))
        wanted = M @ u + h
        np.testing.assert_allclose(batch[1][i], wanted, rtol=0.0, atol=1e-11 * max(1.0, np.abs(wanted).max()))
    if name == "oblique" and "order" not in options:
        pulled = np.linalg.solve(M, u - h + peer.pull(q, wrench))
        assert_same(model, q, v, u + peer.pull(q, wrench), dynamics.forward(q, v, u, wrench), pulled)
        push = dynamics.inverse(q, v, u, wrench)
        np.testing.assert_allclose(push, wanted - peer.pull(q, wrench), rtol=0.0, atol=1e-10 * np.abs(wanted).max())


def test_mass_matrix_bias_and_kinematics_are_those_of_pinocchio() -> None:
    model, (Q, V, _), peer = judged("floating")
    dynamics, link = ada.Dynamics(model), model.link_names[-1]
    for q, v in zip(Q, V, strict=True):
        M = peer.mass_matrix(q)
        for method in ("crba", "unit_vector", "jacobian"):
            np.testing.assert_allclose(dynamics.mass_matrix(q, method), M, rtol=0.0, atol=1e-12 * np.abs(M).max())
        np.testing.assert_allclose(dynamics.bias(q, v), peer.bias(q, v), atol=1e-11)
        peer.move(q, v)
        frame = peer.frame(link)
        np.testing.assert_allclose(dynamics.pose(link, q)[:3], np.column_stack([frame.R, frame.p]), atol=1e-12)
        np.testing.assert_allclose(dynamics.jacobian(link, q), np.vstack([frame.Jv, frame.Jw]), atol=1e-12)


def test_a_model_without_loops_has_nothing_to_report_of_them() -> None:
    model, (q, v, _), _ = judged("oblique")
    dynamics = ada.Dynamics(model)
    found = dynamics.constraints.state(q[0], v[0])
    assert (found.violation, found.rate, found.sigma, found.mobility, found.largest_violation) == ({}, {}, 1.0, 3, 0.0)
    assert dynamics.constraints.closure_error(q).tolist() == [0.0] * 3 and dynamics.constraints.violation(q).shape == (
        3,
        0,
    )
    assert dynamics.constraints.jacobian(q[0]).shape == (0, 3) and dynamics.constraints.branch_directions(q[0]) == []
    np.testing.assert_array_equal(dynamics.project_to_constraints(q, v)[1], v)
    assert tangent_map_quantity(ada.Dynamics(model).constraints) is None


def test_wrenches_of_tree_joints_have_the_efforts_along_their_axes() -> None:
    model, (Q, V, U), _ = judged("oblique")
    dynamics = ada.Dynamics(model)
    many, one = dynamics.joint_wrenches(Q, V, U), dynamics.joint_wrenches(Q[1], V[1], U[1])
    assert set(one) == set(model.joints) and one.tier == "fast"
    for name, joint in model.joints.items():
        np.testing.assert_allclose(many[name][1], one[name], rtol=1e-9, atol=1e-11)
        assert one.unique[name].all()
        if joint.armature == joint.damping == joint.friction == 0.0:
            along = one[name][:3] if joint.kind == "prismatic" else one[name][3:]
            assert along @ joint.axis == pytest.approx(U[1][model.v_index(name)][0], abs=1e-10)


# --- long chains against two recursions in 80-bit floats ------------------------------------------------------------
def chain_state(n: int, seed: int) -> tuple[ada.Model, Array, Array, Array]:
    rng = np.random.default_rng(seed)
    return ada.chain_3d(n), rng.uniform(-3.0, 3.0, n), rng.normal(size=n), rng.normal(size=n)


def exact(model: ada.Model, *given: Array) -> tuple[Array, float]:
    """Accelerations in extended precision, and the largest of them."""
    extended = [[np.longdouble(x) for x in values] for values in given]
    one, other = (np.array(by.forward_dynamics(model.tree, *extended)) for by in (aba, order_n))
    size = float(np.max(np.abs(one)))
    assert one.dtype == np.longdouble and float(np.max(np.abs(one - other))) < 1e-15 * size
    return one.astype(float), size


@pytest.mark.parametrize(
    ("n", "kernel"),
    [
        (7, "specialised"),
        (32, "specialised"),
        (32, "generic"),
        (128, "generic"),
        pytest.param(1024, "generic", marks=pytest.mark.fuzz),
    ],
)
def test_chains_are_right_to_the_last_digits(n: int, kernel: Any) -> None:
    model, q, v, tau = chain_state(n, 0)
    wanted, size = exact(model, q, v, tau)
    found = ada.Dynamics(model, kernel=kernel).forward(q, v, tau)
    assert float(np.max(np.abs(found - wanted))) < 1e-13 * size


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("solve", [assembly_disassembly, dca], ids=["ada", "dca"])
def test_assembling_a_chain_loses_no_digits_in_any_order(solve: Any, order: str) -> None:
    model, q, v, tau = chain_state(64, 2)
    wanted, size = exact(model, q, v, tau)
    found = solve.forward_dynamics(model.tree, q.tolist(), v.tolist(), tau.tolist(), order=order)
    assert float(np.max(np.abs(found - wanted))) < 1e-12 * size
