# SPDX-License-Identifier: Apache-2.0
"""What joints pass on, in parts: along what they forbid and along what their motors give, of every type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from random_trees import KINDS, random_tree

import ada_dynamics as ada
from ada_dynamics.model import edit
from ada_dynamics.robots import mechanisms

Array = Any


@pytest.fixture(scope="module")
def tree() -> tuple[ada.Model, Any, tuple[Array, Array, Array]]:
    model = random_tree(4, KINDS, damping=0.0)
    rng = np.random.default_rng(6)
    q = np.array([model.random_state(rng)[0] for _ in range(3)])
    states = q, rng.normal(size=(3, model.nv)), rng.normal(size=(3, model.nv))
    return model, ada.Dynamics(model).joint_wrenches(*states), states


def test_multipliers_and_efforts_make_the_wrench(tree: Any) -> None:
    """F = T λ + T_a τ (Takahashi 2012, eq. 2.15), with both bases from the joint's type and the link's frame."""
    model, found, (q, _, tau) = tree
    for body in model.tree.bodies:
        pose = model.tree.frames[model.joints[body.name].child].pose
        lines = zip(q, tau, found[body.name], found.multipliers[body.name], strict=True)
        for state, efforts, wrench, multipliers in lines:
            own = body.positions(state.tolist())
            T, Ta = (
                np.array([[*c.force, *c.moment] for c in map(pose.to_child, basis(own))], dtype=float).reshape(-1, 6)
                for basis in (body.joint.constraint, body.joint.active)
            )
            assert multipliers.shape == (6 - body.joint.nv,)
            scale = np.abs(wrench).max()
            moved = efforts[body.v] if body.armature == 0.0 else np.linalg.lstsq(Ta.T, wrench - multipliers @ T)[0]
            np.testing.assert_allclose(multipliers @ T + moved @ Ta, wrench, atol=1e-10 * scale)


def test_one_state_is_a_row_of_many_and_names_are_those_of_the_joints(tree: Any) -> None:
    model, many, states = tree
    one = ada.Dynamics(model).joint_wrenches(*(x[1] for x in states))
    assert set(one) == set(model.joints) and len(one) == len(model.joints), "fixed ones as well"
    assert model.joint_names[0] in one and "nothing" not in one
    for name in one:
        np.testing.assert_allclose(one[name], many[name][1], rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(one.multipliers[name], many.multipliers[name][1], rtol=1e-8, atol=1e-10)
        assert one.unique[name].all()
    n = len(one)
    assert repr(one) == f"<JointWrenches of {n} joints: {n} of them unique, tier 'fast'>"
    assert repr(many) == f"<JointWrenches of {n} joints in 3 states: {n} of them unique, tier 'fast'>"


@pytest.mark.parametrize("make", [mechanisms.four_bar, mechanisms.stewart])
def test_the_order_chosen_is_the_cheapest_with_the_axes_of_either_side_of_the_loop_joints(make: Any) -> None:
    model, q = make()
    closed = ada.Dynamics(model, pose=q)._kernels.closed
    costs = {(turned, name): cost for turned in (False, True) for name, cost in closed._costs(turned).items()}
    assert {turned for turned, _ in costs} == {False, True}
    assert costs[closed.study.numbers.is_turned, closed._chosen[2]] == min(costs.values())


def test_an_open_chain_of_a_mechanism_carries_nothing_across_the_cut() -> None:
    model, q = mechanisms.four_bar()
    opened = edit.open_loops(model)
    found = ada.Dynamics(opened).joint_wrenches(q, np.zeros(3), np.zeros(3))
    assert set(found) == set(model.joint_names)
