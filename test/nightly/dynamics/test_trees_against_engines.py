# SPDX-License-Identifier: Apache-2.0
"""Trees move as in pinocchio and MuJoCo, by every algorithm, in code of their own and in kernels for all robots."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from pin_tree import PinTree
from random_trees import RELATIVE, Array, assert_same, random_tree, sprung_chain, states_of, two_free_bodies

import ada_dynamics as ada
from ada_dynamics.model.joints import JOINT_TYPES
from ada_dynamics.simulation.system import frictionless
from ada_tools.engines.mujoco_model import COVERED, MujocoModel

EVERY_KIND = [kind for kind in JOINT_TYPES if kind != "floating"]
IN_MUJOCO = [kind for kind in COVERED if kind != "floating"]
LOADS = {"armature": 0.1, "damping": 0.3}
IN_BOTH = ["pa10", "khr1", "thin planar rods", "humanoid", "every joint of MuJoCo", "two free bodies", "springs"]
STATES = 11  # no multiple of the lanes


def mimicking() -> ada.Model:
    """An arm that carries two joints which follow others."""
    builder = ada.Builder("gripper").link("base")
    for i, (kind, leader) in enumerate((("revolute", ""), ("prismatic", ""), ("revolute", "j0"), ("prismatic", "j1"))):
        builder.link(f"l{i}", 1.0 + i, (0.1, 0.2, 0.1), (0.2, 0.3, 0.25))
        mimic = ada.model.Mimic(leader, -1.5, 0.2) if leader else None
        above, axis = f"l{i - 1}" if i else "base", (0.3, 1.0, 0.2 * i)
        builder.joint(f"j{i}", kind, above, f"l{i}", (0.1, 0.2, 0.3), axis=axis, mimic=mimic, damping=0.2, friction=0.1)
    return builder.build()


MODELS: dict[str, Any] = {
    "pa10": lambda: ada.load("pa10"),
    "khr1": lambda: frictionless(ada.load("khr1", base="floating")),
    "thin planar rods": lambda: ada.planar_chain(6),
    "oblique": lambda: random_tree(4, ["revolute", "universal", "spherical"], "floating"),
    "humanoid": lambda: random_tree(7, ["revolute"] * 23 + ["prismatic"], "floating", **LOADS),
    "every joint": lambda: random_tree(0, EVERY_KIND, "floating"),
    "every joint, fixed": lambda: random_tree(1, EVERY_KIND[::-1]),
    "every joint, on Euler angles": lambda: random_tree(2, EVERY_KIND, "floating_euler"),
    "every joint of MuJoCo": lambda: random_tree(3, IN_MUJOCO, "floating", gravity=(1.0, -2.0, -9.0), **LOADS),
    "two free bodies": two_free_bodies,
    "springs": sprung_chain,
    "screws": lambda: random_tree(
        5, ["helical", "revolute"] * 3, is_serial=True, stiffness=3.0, rest=0.2, friction=0.05, **LOADS
    ),
    "a long chain of screws": lambda: random_tree(
        6, ["helical", "revolute"] * 20, is_serial=True, stiffness=1.0, damping=0.1
    ),
    "mimics": mimicking,
}
OWN = [{"algorithm": name} for name in ("aba", "ada", "dca", "crba", "lagrange", "order_n", "hybrid", "lanes")]
GENERIC = [{"algorithm": name, "kernel": "generic"} for name in ("aba", "ada")]
WAYS: dict[str, list[dict[str, str]]] = {
    "khr1": GENERIC[:1],
    "two free bodies": [{}],
    "oblique": [{}, *OWN, *GENERIC],
    "every joint, fixed": GENERIC[:1],
    "every joint, on Euler angles": GENERIC[:1],
    "springs": [{}, *GENERIC],
    "screws": [{}, *OWN, *GENERIC],
    "a long chain of screws": GENERIC,
    "mimics": [{}, {"algorithm": "crba"}],
}


@cache
def judged(name: str) -> tuple[ada.Model, tuple[Array, ...], Array, Array, list[Array]]:
    """A model, and in each of some states accelerations by its efforts, efforts by these numbers, and mass matrix."""
    model = MODELS[name]()
    peer, states = PinTree(model), states_of(model, STATES)
    accelerations, efforts, matrices = [], [], []
    for q, v, u in zip(*states, strict=True):
        M, h = peer.mass_matrix(q), peer.bias(q, v)
        accelerations.append(np.linalg.solve(M, u - h))
        efforts.append(M @ u + h)
        matrices.append(M)
    return model, states, np.array(accelerations), np.array(efforts), matrices


def assert_near(found: Array, expected: Array, size: Any = 0.0) -> None:
    assert np.max(np.abs(found - expected)) < RELATIVE * max(1.0, float(np.max(np.abs(expected))), float(np.max(size)))


CASES = [(name, way) for name in MODELS for way in WAYS.get(name, [{}, GENERIC[0]])]


@pytest.mark.parametrize(("name", "way"), CASES, ids=[" ".join((name, *way.values())) for name, way in CASES])
def test_trees_accelerate_and_need_efforts_as_in_pinocchio(name: str, way: dict[str, str]) -> None:
    model, (Q, V, U), accelerations, efforts, _ = judged(name)
    dynamics = ada.Dynamics(model, **way)
    batch = dynamics.forward(Q, V, U), dynamics.inverse(Q, V, U)
    one = dynamics.forward(Q[0], V[0], U[0]), dynamics.inverse(Q[0], V[0], U[0])
    for i, (a, tau) in [(0, one), *enumerate(zip(*batch, strict=True))]:
        assert_same(model, Q[i], V[i], U[i], a, accelerations[i])
        assert_near(tau, efforts[i])


@pytest.mark.parametrize("name", ["pa10", "oblique", "every joint", "springs", "screws", "mimics"])
def test_mass_matrix_bias_and_kinematics_of_trees_are_those_of_pinocchio(name: str) -> None:
    model, (Q, V, _), _, _, matrices = judged(name)
    dynamics, peer, link = ada.Dynamics(model), PinTree(model), model.link_names[-1]
    for q, v, M in zip(Q, V, matrices, strict=True):
        d = np.sqrt(np.diag(M))
        for method in ("crba", "unit_vector", "jacobian")[: 3 if name == "oblique" else 1]:
            assert np.max(np.abs(dynamics.mass_matrix(q, method) - M) / np.outer(d, d)) < 1e-12
        assert_near(dynamics.bias(q, v), peer.bias(q, v))
        peer.move(q, v)
        frame = peer.frame(link)
        assert_near(dynamics.pose(link, q)[:3], np.column_stack([frame.R, frame.p]))
        assert_near(dynamics.jacobian(link, q), np.vstack([frame.Jv, frame.Jw]))


@pytest.mark.parametrize("name", IN_BOTH)
def test_trees_move_as_in_mujoco(name: str) -> None:
    pytest.importorskip("mujoco")
    model, (Q, V, U), _, _, matrices = judged(name)
    other, dynamics = MujocoModel(model), ada.Dynamics(model)
    for q, v, u, M in zip(Q, V, U, matrices, strict=True):
        assert_same(model, q, v, u, other.forward(q, v, u), dynamics.forward(q, v, u))
        # it adds inertia up about the centre of the whole tree
        assert np.max(np.abs(other.mass_matrix(q) - M)) < 1e-13 * np.max(M)
