# SPDX-License-Identifier: Apache-2.0
"""Accelerations and mass matrices of trees equal those of MuJoCo."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pin_tree import PinTree
from random_trees import assert_same, random_tree, sprung_chain, states_of, two_free_bodies

import ada_dynamics as ada
from ada_dynamics.simulation.system import frictionless
from ada_experiments.mujoco_twin import COVERED, MujocoModel

IN_MUJOCO = [kind for kind in COVERED if kind != "floating"]
LOADS = {"armature": 0.1, "damping": 0.3}
MODELS: dict[str, Any] = {
    "pa10": lambda: ada.load("pa10"),
    "khr1": lambda: frictionless(ada.load("khr1", base="floating")),
    "thin planar rods": lambda: ada.planar_chain(6),
    "humanoid": lambda: random_tree(7, ["revolute"] * 23 + ["prismatic"], "floating", **LOADS),
    "every joint": lambda: random_tree(3, IN_MUJOCO, "floating", gravity=(1.0, -2.0, -9.0), **LOADS),
    "two free bodies": two_free_bodies,
    "springs": sprung_chain,
}


@pytest.mark.parametrize("name", MODELS)
def test_trees_accelerate_as_in_mujoco(name: str) -> None:
    pytest.importorskip("mujoco")
    model = MODELS[name]()
    other, dynamics, peer = MujocoModel(model), ada.Dynamics(model), PinTree(model)
    for q, v, u in zip(*states_of(model, 11), strict=True):
        assert_same(model, q, v, u, other.forward(q, v, u), dynamics.forward(q, v, u))
        M = peer.mass_matrix(q)
        # MuJoCo adds inertia up about the centre of mass of the whole tree
        assert np.max(np.abs(other.mass_matrix(q) - M)) < 1e-13 * np.max(M)
