# SPDX-License-Identifier: Apache-2.0
"""Hybrid modelling: wherever a mechanism is cut, its pieces accelerate as pinocchio or a closed form says.

Accelerations of random trees are compared as efforts, M (a - a'), which takes the condition of the mass matrix out.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanism_oracle import Oracle
from pin_tree import PinTree, pin
from random_trees import Array, floats, random_tree, state_of
from random_trees import assert_same as same
from refused import refused

import ada_dynamics as ada
from ada_dynamics.algorithms.regular import regular
from ada_dynamics.expr import evaluate, trace
from ada_dynamics.hybrid import cuts as where
from ada_dynamics.hybrid.forward import forward_dynamics
from ada_dynamics.hybrid.pieces import order_of_pieces, pieces
from ada_dynamics.robots import mechanisms
from ada_dynamics.spatial.motion import Force
from ada_dynamics.spatial.vec3 import Vec3

IN_PLANE = (0, 2)  # forces along x and z, out of `closure.row_kinds` of a joint about y
g = 9.81


def assert_same(model: ada.Model, q: Array, v: Array, tau: Array, found: Any, pull: Any = 0.0) -> None:
    """As pinocchio's mass matrix and bias have it; `pull` holds the efforts of forces on links."""
    tree = PinTree(model)
    same(model, q, v, tau, found, np.linalg.solve(tree.mass_matrix(q), tau - tree.bias(q, v) + pull))


def names(model: ada.Model) -> list[str]:
    return [body.name for body in model.tree.bodies]


# --- open mechanisms ------------------------------------------------------------------------------------------------
def test_the_pa10_cut_anywhere_accelerates_as_by_pinocchios_aba() -> None:
    model = ada.load("pa10")
    peer = PinTree(model)
    q, v, tau = state_of(model)
    expected = pin.aba(peer.model, peer.data, q, v, tau - peer.damping * v - peer.friction * np.sign(v))
    every_pair = [list(pair) for count in (0, 1) for pair in combinations(names(model), count)]
    for cuts in [*every_pair, names(model)[1::3], names(model), "auto"]:
        found = forward_dynamics(model.tree, *floats(q, v, tau), cuts=cuts)
        assert np.max(np.abs(found - expected)) < 1e-10 * np.max(np.abs(expected)), cuts


@pytest.mark.parametrize("straight", [True, False])
def test_thin_rods_cut_anywhere_fall_as_in_pinocchio_also_when_they_are_in_line(straight: bool) -> None:
    """In line, a floating piece of thin rods resists no turning about that line (Takahashi 2012, sec. 4.4.1)."""
    model = ada.planar_chain(5)
    q, v, tau = state_of(model)
    if straight:
        q = np.array([np.pi / 2, 0.0, 0.0, 0.0, 0.0])
    for cuts in [*([name] for name in names(model)), names(model), "auto"]:
        assert_same(model, q, v, tau, forward_dynamics(model.tree, *floats(q, v, tau), cuts=cuts))


def test_a_traced_program_with_forces_on_links_computes_what_pinocchio_does() -> None:
    model = random_tree(3, ["revolute", "spherical", "universal"] * 2, "floating")
    tree = model.tree
    q, v, tau = state_of(model)
    rng = np.random.default_rng(5)
    pulled = {link: rng.normal(size=6) for link in model.link_names[::2]}  # [force, moment] in the link's axes
    wrenches = {
        tree.frames[link].body: tree.frames[link].pose.to_parent(Force(Vec3(*x[3:]), Vec3(*x[:3])))
        for link, x in pulled.items()
    }
    cuts = [names(model)[2], names(model)[4]]

    def program(q: Any, v: Any, tau: Any) -> dict[str, Any]:
        return {"a": forward_dynamics(tree, q, v, tau, wrenches, cuts=cuts)}

    traced = trace("hybrid", {"q": model.nq, "v": model.nv, "tau": model.nv}, program)
    assert_same(model, q, v, tau, evaluate(traced, q=q, v=v, tau=tau)["a"], PinTree(model).pull(q, pulled))


# --- loops ----------------------------------------------------------------------------------------------------------
@settings(max_examples=15)
@given(crank=st.floats(0.1, 1.4), speed=st.floats(-5.0, 5.0), cuts=st.sets(st.sampled_from([1, 2, 3])))
def test_a_rhombus_cut_anywhere_swings_as_its_closed_form_says(crank: float, speed: float, cuts: set[int]) -> None:
    """φ̈ = -(6/5) g cos φ for unit rods, with φ = 90 deg - crank."""
    model, q = mechanisms.four_bar(crank=crank)
    signs = np.array([1.0, -1.0, 1.0])
    found = forward_dynamics(
        model.tree,
        *floats(q, speed * signs, np.zeros(3)),
        cuts=[f"joint_{i}" for i in sorted(cuts)],
        rows={"closing": IN_PLANE},
    )
    expected = 1.2 * g * np.sin(crank) * signs
    # at 90 deg the rhombus is flat, and its conditions are dependent: J M⁻¹ Jᵀ has cos²(crank) in it
    assert np.max(np.abs(found - expected)) < 1e-12 * (g + speed**2) / np.cos(crank) ** 2


@pytest.mark.parametrize("seed", range(3))
def test_a_hexa_cut_anywhere_accelerates_as_a_dense_solution_says(seed: int) -> None:
    model, q = mechanisms.hexa()
    oracle = Oracle(model)
    rng = np.random.default_rng(seed)
    v = oracle.admissible(q, rng.normal(size=model.nv))
    tau = rng.normal(size=model.nv)
    expected = oracle.forward(q, v, tau).acceleration
    cuts = [name for name in names(model) if rng.random() < 0.3]
    found = forward_dynamics(model.tree, *floats(q, v, tau), cuts=cuts)
    # the loops' conditions have a condition number of some hundred
    assert np.max(np.abs(found - expected)) < 1e-9 * np.max(np.abs(expected))


# --- cuts -----------------------------------------------------------------------------------------------------------
def test_the_thesis_seven_links_are_joined_in_three_steps() -> None:
    """Fig. 4.4: four links by the base, three by the hand, and joint 5 between them."""
    tree = ada.planar_chain(7).tree
    assert pieces(tree, (4,)) == [(0, 1, 2, 3), (5, 6)]
    steps = order_of_pieces(tree, (4,)).steps
    assert [(step.joints, step.handles, step.in_joint_space) for step in steps] == [
        ((0, 1, 2, 3), (3,), True),
        ((5, 6), (4,), True),
        ((4,), (), False),
    ]


@pytest.mark.fuzz
def test_the_automatic_cuts_cost_no_more_than_any_single_or_double_cut() -> None:
    tree = ada.planar_chain(5).tree
    chosen = where.cheapest_cuts(tree)
    others = [cuts for count in (0, 1, 2) for cuts in combinations(range(5), count)]
    known = where.costs(tree, [chosen, *others])
    assert known[chosen] == min(known.values())


def test_pieces_of_equal_size_are_counted_from_the_base() -> None:
    tree = ada.planar_chain(7).tree
    assert where.uniform_cuts(tree, 3) == (3, 6)
    assert where.uniform_cuts(tree, 1) == (1, 2, 3, 4, 5, 6)
    assert where.uniform_cuts(tree, 7) == ()


def test_cuts_that_cannot_be_are_refused_by_name() -> None:
    state = floats(np.zeros(3), np.zeros(3), np.zeros(3))
    tree = mechanisms.four_bar(crank=1.0)[0].tree
    with refused(ada.AdaError, joint="elbow"):
        forward_dynamics(tree, *state, cuts=["elbow"])
    with refused(ada.AdaError, loop="closing", field="cuts"):
        forward_dynamics(tree, *state, cuts=["closing"])
    with refused(ada.AdaError, field="cuts", value="joint_2"):
        forward_dynamics(tree, *state, cuts="joint_2")


@pytest.mark.parametrize("cuts", [["joint_2"], ["joint_2", "joint_3"]])
def test_floating_rods_that_only_together_have_inertia_are_not_cut_apart(cuts: list[str]) -> None:
    """Two rods on a free base resist all motions only as a pair; a cut between pairs is as good as any."""
    rod = (1.0, (0.0, 0.0, 0.5), (1 / 12, 1 / 12, 0.0))
    builder = ada.Builder("rods")
    for i, axis in enumerate([(0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0)]):
        builder.link(f"link_{i}", *rod)
        if i:
            builder.joint(f"joint_{i}", "revolute", f"link_{i - 1}", f"link_{i}", (0.0, 0.0, 1.0), axis=axis)
    model = builder.build("floating")
    q, v, tau = state_of(model)
    assert regular(model.tree).groups == ((1,), (3,))
    if len(cuts) == 1:
        assert_same(model, q, v, tau, forward_dynamics(model.tree, *floats(q, v, tau), cuts=cuts))
        assert_same(model, q, v, tau, forward_dynamics(model.tree, *floats(q, v, tau), cuts="auto"))
        return
    with refused(ada.AdaError, joint="joint_3", field="cuts"):
        forward_dynamics(model.tree, *floats(q, v, tau), cuts=cuts)
