# SPDX-License-Identifier: Apache-2.0
"""ADA and DCA on trees: rotors of any size, wrenches of all joints, refusals; accelerations are in `test_trees`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from pin_tree import PinTree
from random_trees import RELATIVE, Array, floats, random_tree, state_of, trees
from refused import refused

import ada_dynamics as ada
from ada_dynamics.algorithms import ada as assembly_disassembly
from ada_dynamics.algorithms import dca, rnea
from ada_dynamics.algorithms.assembly_order import ORDERS
from ada_dynamics.model.elements import Mimic
from ada_dynamics.spatial.motion import Force

ALGORITHMS = {"ada": assembly_disassembly, "dca": dca}


def six(force: Force) -> Array:
    return np.array([*force.moment, *force.force], dtype=float)


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
