# SPDX-License-Identifier: Apache-2.0
"""A humanoid on two feet with a hand on a wall: loops from a floating base to the world, against other engines."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from loop_robots import mechanism
from mechanism_oracle import Case
from numpy.typing import NDArray

import ada_dynamics as ada
from ada_dynamics.analysis.motion import momentum_rate
from ada_dynamics.model.model import link_poses
from ada_dynamics.robots.load import with_loops
from ada_dynamics.spatial.orientation import to_rpy
from ada_experiments.mujoco_twin import MujocoModel
from ada_experiments.pinocchio_model import PinocchioModel

Array = NDArray[np.float64]
SAME = 1e-11  # two eliminations of one mechanism, with condition numbers of some 1e2


@cache
def on_the_wall(hand: str) -> Case:
    model, q = mechanism("two_feet")
    if not hand:
        return Case(model, q)
    R, p = link_poses(model, q)["right_wrist"]
    tip = np.array([0.0, 0.0, -0.1])
    wall = {"link": "world", "xyz": (p + R @ tip).tolist()}
    own = {"link": "right_wrist", "xyz": tip.tolist(), "rpy": list(to_rpy(R.T))}
    loop = {"name": "right_hand", "type": hand, "parent": wall, "child": own}
    return Case(with_loops(model, [loop if hand == "spherical" else loop | {"axis": [1.0, 0.0, 0.0]}]), q)


@pytest.mark.parametrize("hand", ["spherical", "planar"])
def test_a_humanoid_with_its_hand_on_a_wall_moves_as_the_references_say(hand: str) -> None:
    case = on_the_wall(hand)
    dynamics = ada.Dynamics(case.model)
    case.assert_same(dynamics.forward(*case.state), SAME)
    wrenches = dynamics.joint_wrenches(*case.state)
    size = max(float(np.max(np.abs(w))) for w in wrenches.values())
    for joint, wanted in case.answer.wrenches.items():
        np.testing.assert_allclose(wrenches[joint], wanted, rtol=0, atol=SAME * size)
        assert np.array_equal(wrenches.unique[joint], case.answer.unique[joint])
    assert ada.close_loops(case.model, case.q).mobility == 15
    poses = np.array([case.oracle.nearby(case.q, np.random.default_rng(i)) for i in range(3)])
    speeds = np.array([case.oracle.admissible(q, case.v) for q in poses], dtype=np.float64)
    each = [dynamics.forward(q, v, case.tau) for q, v in zip(poses, speeds, strict=True)]
    np.testing.assert_allclose(dynamics.forward(poses, speeds, case.tau), each, rtol=1e-12)


def test_pinocchio_and_mujoco_agree_on_the_hand_on_the_wall() -> None:
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    case = on_the_wall("spherical")
    wanted = ada.Dynamics(case.model).forward(*case.state)
    size = float(np.max(np.abs(wanted)))
    np.testing.assert_allclose(PinocchioModel(case.model).forward(*case.state), wanted, rtol=0, atol=1e-10 * size)
    soft, rest, gaps = MujocoModel(case.model), np.zeros(case.model.nv), []
    still = ada.Dynamics(case.model).forward(case.q, rest, case.tau)
    for impedance in (0.99, 0.999, 0.9999):
        soft.model.eq_solimp[:, :2] = impedance  # the share of the constraint force of a hard one
        soft.set_state(case.q, rest)
        soft.set_efforts(case.tau)
        soft.mujoco.mj_forward(soft.model, soft.data)
        a = soft.own_velocity(soft.data.qpos, soft.data.qacc)
        gaps.append(float(np.max(np.abs(a - still)) / np.max(np.abs(still))))
    assert gaps[2] < 0.15 * gaps[1] < 0.15**2 * gaps[0]
    assert gaps[2] < 1e-2


def test_momentum_changes_by_weight_and_by_what_ground_and_wall_exert() -> None:
    case = on_the_wall("spherical")
    dynamics = ada.Dynamics(case.model)
    wrenches, poses, com = (
        dynamics.joint_wrenches(*case.state),
        dynamics.forward_kinematics(case.q),
        dynamics.com(case.q),
    )
    total = np.concatenate([case.model.total_mass * np.array(case.model.gravity), np.zeros(3)])
    for name, loop in case.model.loops.items():
        place = poses[loop.child]
        turned = place[:3, :3] @ loop.child_rotation
        force, moment = turned @ wrenches[name][:3], turned @ wrenches[name][3:]
        arm = place[:3, :3] @ loop.child_xyz + place[:3, 3] - com
        total += np.concatenate([force, moment + np.cross(arm, force)])
    driven = case.tau[:6]  # efforts on the floating base are a wrench, too
    root = poses[case.model.root]
    force, moment = root[:3, :3] @ driven[:3], root[:3, :3] @ driven[3:]
    total += np.concatenate([force, moment + np.cross(root[:3, 3] - com, force)])
    rate = momentum_rate(dynamics, case.q, case.v, dynamics.forward(*case.state))
    np.testing.assert_allclose(rate, total, rtol=0, atol=1e-9 * np.max(np.abs(total)))


@pytest.mark.parametrize("hand", ["", "spherical"])
def test_motors_do_all_they_can_before_a_floating_base_is_given_any_effort(hand: str) -> None:
    case = on_the_wall(hand)
    dynamics, rest = ada.Dynamics(case.model), np.zeros(case.model.nv)
    efforts = dynamics.inverse(case.q, rest, rest)
    assert not efforts[:6].any()
    np.testing.assert_allclose(dynamics.forward(case.q, rest, efforts), 0.0, atol=1e-10)
    J = case.oracle.jacobian(case.q)
    free = np.linalg.svd(J)[2][case.answer.rank :][:, 6:]
    others = efforts[6:] - np.linalg.pinv(free) @ (free @ efforts[6:])
    np.testing.assert_allclose(others, 0.0, atol=1e-9)  # the least of all that do it: nothing that does nothing
