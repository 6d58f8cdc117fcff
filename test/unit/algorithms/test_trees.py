# SPDX-License-Identifier: Apache-2.0
"""Every algorithm accelerates any tree as pinocchio does: on floats, through expressions, in any order of assembly."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pin_tree import PinTree, pin
from random_trees import RELATIVE, Array, assert_same, dense_mass, floats, random_tree, state_of, trees

import ada_dynamics as ada
from ada_dynamics.algorithms import aba, centroidal, crba, dca, lagrange, order_n, rnea
from ada_dynamics.algorithms import ada as assembly_disassembly
from ada_dynamics.algorithms.assembly_order import ORDERS
from ada_dynamics.expr import evaluate, trace
from ada_dynamics.hybrid import cut_selection, lane_dynamics
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.motion import Force
from ada_dynamics.spatial.vector import Vec3

Solve = Callable[..., list[Any]]
Wrenches = dict[int, Force]


def in_every_order(forward: Solve) -> Callable[..., list[list[Any]]]:
    def solve(tree: Tree, state: Any, external: Wrenches, seed: int) -> list[list[Any]]:
        return [forward(tree, *state, external, order=order) for order in ORDERS]

    return solve


def cut_at_random(tree: Tree, state: Any, external: Wrenches, seed: int) -> list[list[Any]]:
    rng = np.random.default_rng(seed)
    where = tuple(body.index for body in tree.bodies if rng.random() < 0.4)
    return [cut_selection.solve(tree, state, external, where, None, method) for method in cut_selection.METHODS]


def once(forward: Solve) -> Callable[..., list[list[Any]]]:
    return lambda tree, state, external, seed: [forward(tree, *state, external)]


# What runs on numbers: some ways to each acceleration.
SOLVERS: dict[str, Callable[..., list[list[Any]]]] = {
    "crba": once(crba.forward_dynamics),
    "aba": once(aba.forward_dynamics),
    "order_n": once(order_n.forward_dynamics),
    "ada": in_every_order(assembly_disassembly.forward_dynamics),
    "dca": in_every_order(dca.forward_dynamics),
    "hybrid": cut_at_random,
    "lanes": once(lane_dynamics.forward_dynamics),
}


def on_bodies(tree: Tree, wrenches: dict[str, Array]) -> Wrenches:
    """Wrenches [force, moment] on links as the algorithms take them: by body, in its frame."""
    found: Wrenches = {}
    for link, w in wrenches.items():
        frame = tree.frames[link]
        wrench = frame.pose.to_parent(Force(Vec3(*w[3:].tolist()), Vec3(*w[:3].tolist())))
        found[frame.body] = found[frame.body] + wrench if frame.body in found else wrench
    return found


def by_pinocchio(model: ada.Model, q: Array, v: Array, tau: Array, wrenches: Any = None) -> Array:
    peer = PinTree(model)
    return np.linalg.solve(peer.mass_matrix(q), tau - peer.bias(q, v) + peer.pull(q, wrenches))


@pytest.mark.parametrize("name", SOLVERS)
@settings(max_examples=10)
@example(model=random_tree(7, ["revolute"] * 24, "floating"), seed=1, is_pulled=False)
@given(model=trees(), seed=st.integers(0, 1000), is_pulled=st.booleans())
def test_random_trees_accelerate_as_in_pinocchio(name: str, model: ada.Model, seed: int, is_pulled: bool) -> None:
    q, v, tau = state_of(model, seed)
    rng = np.random.default_rng(seed)
    moved = [link for link, frame in model.tree.frames.items() if frame.body >= 0]
    wrenches = {link: rng.normal(size=6) for link in moved[::2]} if is_pulled else {}
    expected = by_pinocchio(model, q, v, tau, wrenches)
    for tree in (model.tree, model.uniform_tree)[: 2 if name == "aba" else 1]:  # that of the kernels for all robots
        for found in SOLVERS[name](tree, floats(q, v, tau), on_bodies(tree, wrenches), seed):
            assert_same(model, q, v, tau, found, expected)


@settings(max_examples=10)
@given(model=trees(3))
def test_lagranges_equations_accelerate_random_trees_as_in_pinocchio(model: ada.Model) -> None:
    q, v, tau = state_of(model)
    found = traced(lagrange.forward_dynamics, model.tree, floats(q, v, tau))
    assert_same(model, q, v, tau, found, by_pinocchio(model, q, v, tau))


@settings(max_examples=12)
@given(model=trees(10))
def test_efforts_and_mass_matrices_are_those_of_pinocchio(model: ada.Model) -> None:
    q, v, a = state_of(model)
    peer = PinTree(model)
    M, h = peer.mass_matrix(q), peer.bias(q, v)
    d = np.sqrt(np.diag(M))
    assert np.max(np.abs(dense_mass(model, q) - M) / np.outer(d, d)) < 1e-12
    wrenches = {link: np.arange(1.0, 7.0) for link, frame in model.tree.frames.items() if frame.body >= 0}
    for acting, pull in (({}, 0.0), (wrenches, peer.pull(q, wrenches))):
        found = rnea.inverse_dynamics(model.tree, *floats(q, v, a), on_bodies(model.tree, acting))
        size = np.max(np.abs(M) @ np.abs(a)) + np.max(np.abs(h)) + np.max(np.abs(pull))
        assert np.max(np.abs(found - (M @ a + h - pull))) < RELATIVE * size


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), kinds=st.lists(st.sampled_from(["revolute", "prismatic"]), min_size=3, max_size=7))
def test_joints_that_mimic_others_are_coupled_as_in_pinocchio(seed: int, kinds: list[str]) -> None:
    rng = np.random.default_rng(seed)
    follows = {i: int(rng.integers(1, i)) for i in range(2, len(kinds) + 1) if rng.random() < 0.5}
    model = random_tree(seed, kinds, mimics=follows)
    (q, v, tau), peer = state_of(model), PinTree(model)
    M, h = peer.mass_matrix(q), peer.bias(q, v)
    d = np.sqrt(np.diag(M))
    for mass_matrix in (crba.mass_matrix_by_unit_vectors, crba.mass_matrix_by_jacobians):
        assert np.max(np.abs(np.array(mass_matrix(model.tree, q.tolist())) - M) / np.outer(d, d)) < 1e-12
    assert np.max(np.abs(dense_mass(model, q) - M) / np.outer(d, d)) < 1e-12
    assert_same(model, q, v, tau, crba.forward_dynamics(model.tree, *floats(q, v, tau)), np.linalg.solve(M, tau - h))
    needed = np.array(rnea.inverse_dynamics(model.tree, *floats(q, v, tau)))
    assert np.max(np.abs(needed - M @ tau - h)) < RELATIVE * (np.max(np.abs(M) @ np.abs(tau)) + np.max(np.abs(h)))
    A = pin.computeCentroidalMap(peer.model, peer.data, peer.position(q)) @ peer.G
    ours = np.array([[*c.force, *c.moment] for c in centroidal.momentum_columns(model.tree, q.tolist())]).T
    assert np.max(np.abs(ours - A)) < 1e-11 * np.max(np.abs(A))


def traced(forward: Solve, tree: Tree, state: Any, **options: Any) -> Array:
    """Accelerations by the expressions that an algorithm writes."""
    sizes = {"q": tree.nq, "v": tree.nv, "tau": tree.nv}
    made = trace("forward", sizes, lambda q, v, tau: {"a": forward(tree, q, v, tau, **options)})
    return np.asarray(evaluate(made, **dict(zip(sizes, state, strict=True)))["a"])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("algorithm", [assembly_disassembly, dca], ids=["ada", "dca"])
def test_expressions_of_assemblies_give_what_pinocchio_gives(algorithm: Any, order: str) -> None:
    model = random_tree(3, ["revolute", "universal", "spherical", "prismatic"], "floating")
    q, v, tau = state_of(model)
    found = traced(algorithm.forward_dynamics, model.tree, floats(q, v, tau), order=order)
    assert_same(model, q, v, tau, found, by_pinocchio(model, q, v, tau))
