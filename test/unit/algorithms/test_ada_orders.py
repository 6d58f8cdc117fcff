# SPDX-License-Identifier: Apache-2.0
"""Orders of assembly: their depth and width."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ada_dynamics as ada
from ada_dynamics.algorithms.assembly_order import ORDERS, AssemblyOrder, assembly_order
from ada_dynamics.model.tree import Tree
from ada_dynamics.robots import mechanisms

Z = (0, 0, 1)


def tree_of(parents: list[int], base: str = "fixed") -> Tree:
    """Links l1, l2, ... with the given parents; 0 is the base."""
    builder = ada.Builder("tree").link("l0", 1.0, (0, 0, 0), (1, 1, 1))
    for i, parent in enumerate(parents, start=1):
        builder.link(f"l{i}", 1.0, (0, 0, 0.1), (1, 1, 1))
        builder.joint(f"j{i}", "revolute", f"l{parent}", f"l{i}", (0, 0, 0.3), axis=Z)
    return builder.build(base).tree


def chain_of(n: int) -> Tree:
    return tree_of(list(range(n)))


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
    tree = chain_of(n)
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
