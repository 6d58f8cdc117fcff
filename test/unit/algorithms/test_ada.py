# SPDX-License-Identifier: Apache-2.0
"""ADA and DCA: rotors, wrenches of all joints, loops against a dense reference, orders of assembly."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanism_oracle import Case, case_of
from pin_tree import PinTree
from random_trees import RELATIVE, Array, floats, random_tree, state_of, trees
from refused import refused

import ada_dynamics as ada
from ada_dynamics.algorithms import ada as assembly_disassembly
from ada_dynamics.algorithms import dca, rnea
from ada_dynamics.algorithms.assembly_order import ORDERS, AssemblyOrder, assembly_order
from ada_dynamics.constraints.analysis import analyse
from ada_dynamics.model.elements import Mimic
from ada_dynamics.model.joints import LOOP_KINDS
from ada_dynamics.model.tree import Tree
from ada_dynamics.robots import mechanisms
from ada_dynamics.spatial.motion import Force
from trials.random_mechanism import random_mechanism

ALGORITHMS = {"ada": assembly_disassembly, "dca": dca}


def six(force: Force) -> Array:
    """[force, moment]."""
    return np.array([*force.force, *force.moment], dtype=float)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("armature", [1e-12, 1e-6, 1.0, 1e6])
def test_rotors_of_any_size_are_exact(algorithm: str, armature: float) -> None:
    builder = ada.Builder("geared").link("base").link("arm", 1.0, (0, 0, 0.3), (0.1, 0.1, 0.01))
    builder.link("hand", 0.5, (0.1, 0, 0.2), (0.02, 0.03, 0.01))
    builder.joint("shoulder", "revolute", "base", "arm", axis=(0, 1, 0), armature=armature)
    builder.joint("wrist", "universal", "arm", "hand", (0, 0, 0.6), axis=(1, 0, 0), axis2=(0, 1, 0), armature=armature)
    model = builder.build()
    q, v, tau = np.array([0.3, -0.4, 0.5]), np.array([1.0, 2.0, -1.0]), np.array([1.0, -2.0, 3.0])
    peer = PinTree(model)
    expected = np.linalg.solve(peer.mass_matrix(q), tau - peer.bias(q, v))
    for order in ORDERS:
        found = ALGORITHMS[algorithm].forward_dynamics(model.tree, *floats(q, v, tau), order=order)
        assert np.allclose(found, expected, rtol=1e-11, atol=0.0)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=15)
@given(model=trees())
def test_the_wrench_of_each_joint_is_what_all_that_it_carries_needs(algorithm: str, model: ada.Model) -> None:
    q, v, tau = state_of(model)
    for order in ORDERS:
        solution = ALGORITHMS[algorithm].solve(model.tree, *floats(q, v, tau), order=order)
        expected = rnea.joint_wrenches(model.tree, *floats(q, v, np.array(solution.accelerations)))
        size = max(np.max(np.abs(six(w))) for w in expected)
        for ours, theirs in zip(solution.wrenches, expected, strict=True):
            assert np.max(np.abs(six(ours) - six(theirs))) < RELATIVE * size


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_mimic_joints_are_refused_by_name(algorithm: str) -> None:
    builder = ada.Builder("gripper").link("palm").link("left", 0.1, (0, 0.02, 0), (1e-4,) * 3)
    builder.link("right", 0.1, (0, -0.02, 0), (1e-4,) * 3)
    builder.joint("left_finger", "prismatic", "palm", "left", axis=(0, 1, 0))
    builder.joint("right_finger", "prismatic", "palm", "right", axis=(0, 1, 0), mimic=Mimic("left_finger", -1.0))
    with refused(ada.InputError, field="algorithm", value=algorithm):
        ada.Dynamics(builder.build(), algorithm)


def test_an_unknown_order_is_refused_with_the_known_ones() -> None:
    model = random_tree(0, ["revolute"] * 2)
    with refused(ada.InputError, field="assembly order", value="balance"):
        assembly_disassembly.forward_dynamics(model.tree, [0.0] * 2, [0.0] * 2, [0.0] * 2, order="balance")


def solved(case: Case, algorithm: str, **options: Any) -> Any:
    return ALGORITHMS[algorithm].solve(case.model.tree, *floats(*case.state), **options)


def assert_same(case: Case, solution: Any) -> None:
    # the system solved has the square of the conditions' condition number
    case.assert_same(solution.accelerations, 1e-13 / case.smallest**2)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**5), kinds=st.lists(st.sampled_from(LOOP_KINDS), min_size=1, max_size=2))
def test_random_loops_of_every_type_close_and_carry_the_reference_wrenches(
    algorithm: str, seed: int, kinds: list[str]
) -> None:
    rng = np.random.default_rng(seed)
    model, q = random_mechanism(rng, len(kinds), floating=seed % 3 == 0, loop_kinds=kinds, losses=seed % 2 == 0)
    case = Case(model, q, seed)
    if case.answer.rank < len(case.answer.multipliers) or case.smallest < 1e-3:
        return  # redundant: below; nearly singular: what is left of the digits says nothing
    for order in ORDERS:
        solution = solved(case, algorithm, order=order)
        assert_same(case, solution)
        size = max(float(np.max(np.abs(w))) for w in case.answer.wrenches.values())
        for k, name in enumerate(model.loop_names):
            found = six(model.tree.loops[k].turn.to_parent(solution.loop_wrenches[k]))  # in the child-side frame
            error = np.max(np.abs(found - case.answer.wrenches[name]))
            assert error < 1e-12 * size / case.smallest**2
        for body, carried in zip(model.tree.bodies, solution.wrenches, strict=True):
            link = model.joints[body.name].child
            ours = six(model.tree.frames[link].pose.to_child(carried))
            theirs = case.answer.tree_wrenches[body.name]
            if not any(j.kind == "fixed" for j in model.joints.values()):
                assert np.max(np.abs(ours - theirs)) < 1e-12 * max(size, np.max(np.abs(theirs))) / case.smallest**2


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("order", ORDERS)
def test_an_independent_set_of_redundant_conditions_gives_the_accelerations_of_the_mechanism(
    algorithm: str, order: str
) -> None:
    case = case_of("bennett")
    found = analyse(case.model, case.q)
    assert found.is_redundant
    case.assert_same(solved(case, algorithm, order=order, rows=found.by_loop(found.independent)).accelerations, 1e-12)


Z = (0, 0, 1)


def tree_of(parents: list[int], base: str = "fixed") -> Tree:
    """Links l1, l2, ... with the given parents; 0 is the base."""
    builder = ada.Builder("tree").link("l0", 1.0, (0, 0, 0), (1, 1, 1))
    for i, parent in enumerate(parents, start=1):
        builder.link(f"l{i}", 1.0, (0, 0, 0.1), (1, 1, 1))
        builder.joint(f"j{i}", "revolute", f"l{parent}", f"l{i}", (0, 0, 0.3), axis=Z)
    return builder.build(base).tree


def assert_complete(tree: Tree, order: AssemblyOrder) -> None:
    """Each joint is closed once, each body and each articulated body is used once, and before it is needed."""
    joints = [j for step in order.steps for j in step.joints]
    assert sorted(joints) == list(range(len(tree.bodies) + len(tree.loops)))
    parts = [p for step in order.steps for p in step.parts]
    assert len(parts) == len(set(parts))
    for k, step in enumerate(order.steps):
        assert all(part < len(tree.bodies) + k for part in step.parts)
    made = set(range(len(tree.bodies), len(tree.bodies) + len(order.steps)))
    left = made - set(parts)
    assert all(not order.steps[k - len(tree.bodies)].handles for k in left)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 15, 16, 31, 64, 100, 255, 1000])
def test_a_serial_chain_of_n_links_is_log2_n_steps_deep_in_the_balanced_order(n: int) -> None:
    tree = tree_of(list(range(n)))
    order = assembly_order(tree, "balanced")
    assert_complete(tree, order)
    # n joints, and the joint to the ground; one step more where n + 1 is not a power of two
    assert order.depth <= np.ceil(np.log2(n + 1)) + 1
    assert order.handles <= 2
    assert order.depth >= np.log2(n + 1)


@settings(max_examples=40)
@given(
    shape=st.lists(st.floats(0, 0.999), min_size=1, max_size=30),
    base=st.sampled_from(["fixed", "floating"]),
    name=st.sampled_from([*ORDERS]),
)
def test_every_order_closes_each_joint_of_a_tree_once(shape: list[float], base: str, name: str) -> None:
    tree = tree_of([int(x * (i + 1)) for i, x in enumerate(shape)], base)
    assert_complete(tree, assembly_order(tree, name))


def test_few_handles_keeps_a_ladder_narrow() -> None:
    model, _ = mechanisms.ladder()
    for name in ORDERS:
        order = assembly_order(model.tree, name)
        assert_complete(model.tree, order)
        assert order.handles <= 2
    assert assembly_order(model.tree, "balanced").depth < 0.5 * assembly_order(model.tree, "few_handles").depth
