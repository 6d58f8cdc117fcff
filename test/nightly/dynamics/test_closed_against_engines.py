# SPDX-License-Identifier: Apache-2.0
"""Mechanisms with loops against MuJoCo with stiff constraints, and a published robot against the reference."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

import numpy as np
import pytest
from mechanism_oracle import Case, case_of
from numpy.typing import NDArray

import ada_dynamics as ada
from ada_dynamics.robots.writers import texts_for

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
