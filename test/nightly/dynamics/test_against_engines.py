# SPDX-License-Identifier: Apache-2.0
"""Trees and mechanisms with loops against MuJoCo, and a published robot against the reference."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mechanism_oracle import Case, case_of
from numpy.typing import NDArray
from pin_tree import PinTree
from random_trees import assert_same, random_tree, sprung_chain, states_of, two_free_bodies

import ada_dynamics as ada
from ada_dynamics.robots.writers import texts_for
from ada_dynamics.simulation.system import frictionless
from ada_experiments.mujoco_twin import COVERED, MujocoModel

Array = NDArray[np.float64]


@pytest.mark.parametrize("name", ["four_bar", "five_bar", "watt_six_bar"])
def test_mujocos_soft_constraints_tend_to_our_accelerations_as_they_stiffen(name: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    case = case_of(name)
    model, q, tau, rest = case.model, case.q, case.tau, np.zeros(case.model.nv)
    wanted = ada.Dynamics(model).forward(q, rest, tau)
    text = texts_for(model, Path("robot.xml"), "mjcf").texts["robot.xml"]
    # MuJoCo refuses thin rods; what they have about their own axis, across the plane of motion, is not felt
    text = re.sub(r'diaginertia="(\S+) (\S+) 0"', r'diaginertia="\1 \2 \1"', text)
    engine = mujoco.MjModel.from_xml_string(text)
    engine.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT)
    engine.opt.tolerance, engine.opt.iterations = 0.0, 200
    data = mujoco.MjData(engine)
    again = ada.load(text)
    gaps = []
    for stiffness in (0.99, 0.999, 0.9999):
        engine.eq_solimp[:, :2] = stiffness  # impedance: the share of the constraint force of a hard one
        data.qpos[:] = _mujoco_position(again, model, q)
        data.qvel[:] = 0.0
        order = [again.v_index(n) for n in model.joint_names]
        data.qfrc_applied[np.concatenate([np.arange(s.start, s.stop) for s in order])] = tau
        mujoco.mj_forward(engine, data)
        found = np.concatenate([data.qacc[s] for s in order])
        gaps.append(float(np.max(np.abs(found - wanted)) / np.max(np.abs(wanted))))
    # the error goes with 1 - impedance, of which MuJoCo allows 1e-4 at the least
    assert gaps[2] < 0.15 * gaps[1] < 0.15**2 * gaps[0]
    assert gaps[2] < 1e-3


def _mujoco_position(again: ada.Model, model: ada.Model, q: Array) -> Array:
    found = np.zeros(again.nq)
    for name in model.joint_names:
        found[again.q_index(name)] = q[model.q_index(name)]
    return found


def _cassie() -> Path:
    try:
        files = importlib.metadata.distribution("example-robot-data").files or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("example-robot-data is not installed")
    found = [f for f in files if str(f).endswith("cassie_v2.sdf")]
    if not found:
        pytest.skip("this example-robot-data has no Cassie")
    return Path(str(found[0].locate()))


@pytest.mark.parametrize("base", ["fixed", pytest.param("floating", marks=pytest.mark.fuzz)])
def test_the_published_cassie_with_its_four_loops_moves_as_the_reference_says(base: str) -> None:
    text = re.sub(r"<spring_stiffness>[^<]*<", "<spring_stiffness>0<", _cassie().read_text())
    model = ada.load(text, base=base)
    assert len(model.loop_names) == 4
    pose = ada.close_loops(model)
    assert pose.residual < 1e-12
    assert pose.mobility == model.nv - 10
    case = Case(model, pose)
    case.assert_same(ada.Dynamics(model).forward(*case.state), 1e-10)


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
