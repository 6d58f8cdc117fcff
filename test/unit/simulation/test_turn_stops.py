# SPDX-License-Identifier: Apache-2.0
"""Stops at the limits of spherical joints: as those of three revolute joints, and as MuJoCo's balls have theirs."""

import numpy as np
import pytest
from turning_robots import HIP, hip, merged_hip

import ada_dynamics as ada
from ada_dynamics.algorithms.joint_loads import joint_loads
from ada_dynamics.analysis.power import power_balance
from ada_dynamics.contact.stops import JointStops, limit_violations
from ada_dynamics.model.elements import Limits
from ada_dynamics.robots.writers import render

START = (np.array([0.3, 0.1, 3.0, 0.4]), np.array([6.0, -5.0, 7.0, -3.0]))  # runs into a stop of each joint


def merged_state(model, angles, rates):
    """The state of the leg on a spherical joint; w from θ̇ = W w."""
    turns, q, v = model.joints["hip"].turns, model.neutral(), np.zeros(model.nv)
    own = turns.position(angles[:3])
    W = np.array([turns.rates(own, w) for w in np.eye(3)]).T
    q[model.q_index("hip")], v[model.v_index("hip")] = own, np.linalg.solve(W, rates[:3])
    q[model.q_index("knee")], v[model.v_index("knee")] = angles[3:], rates[3:]
    return q, v


def runs(integrator, step, duration=1.5):
    stops = JointStops(400.0, 0.3)
    one = merged_hip()
    q, v = merged_state(one, *START)
    setting = {"stops": stops, "integrator": integrator, "step": step}
    separate = ada.Simulation(hip(), *START, **setting).run(duration)
    merged = ada.Simulation(one, q, v, **setting).run(duration)
    turns, own = one.joints["hip"].turns, one.q_index("hip")
    apart = np.abs(np.array([turns.read(x) for x in merged.q[:, own]]) - separate.q[:, :3]).max()
    return separate, merged, float(apart)


def test_a_merged_joint_bounces_in_its_stops_as_the_three_joints_do():
    separate, merged, apart = runs("rkf45", 5e-4)
    for i, (low, high) in enumerate(HIP):
        assert (separate.q[:, i] < low - 0.01).any() or (separate.q[:, i] > high + 0.01).any()
    # two descriptions, each with its own errors of the step at the corners of the stops (order 2 there)
    assert apart < 1e-6
    assert np.abs(merged.total_energy - separate.total_energy).max() < 1e-6 * np.ptp(power_balance(separate).kinetic)


def test_implicit_steps_with_the_bound_of_the_armature_come_to_the_same_motion():
    coarse, fine = (runs("semi_implicit", step, 1.0)[2] for step in (1e-3, 2.5e-4))
    assert fine < 0.4 * coarse < 0.1  # of first order, over three hits


def test_implicit_steps_are_stable_whatever_the_stiffness():
    one = merged_hip()
    q, v = merged_state(one, *START)
    log = ada.Simulation(one, q, v, stops=JointStops(1e8, 1.0), integrator="semi_implicit", step=1e-3).run(2.0)
    # a step at its speed behind the limit
    assert max(limit_violations(one, log.q).values()) < 1e-3 * np.abs(log.v).max()
    assert log.total_energy[-1] < log.total_energy[0]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_stops_push_by_their_depth_and_not_between_limits_that_lie_across_half_a_turn(sign):
    model = merged_hip()
    stops = [stop for stop in JointStops(100.0, 0.0).resolve(model) if stop.bound.angle is not None]
    turns, own = model.joints["hip"].turns, model.v_index("hip")
    for pitch in np.linspace(1.5, 4.5, 61):
        angles = np.array([0.2, 0.3, pitch])
        q = model.neutral()
        q[model.q_index("hip")] = sign * turns.position(angles)
        efforts = np.array(joint_loads(model.tree, stops, 0.01, q.tolist(), [0.0] * 4)[0])[own]
        depth = max(HIP[2][0] - pitch, 0.0) - max(pitch - HIP[2][1], 0.0)
        # by the power that each angle takes: W⁻ᵀ(0, 0, k δ), W the rates of the angles by w
        W = np.array([turns.rates(turns.position(angles), w) for w in np.eye(3)]).T
        assert np.abs(efforts - W.T @ [0.0, 0.0, 100.0 * depth]).max() < 1e-11


def test_the_limit_of_a_ball_is_mujoco_s():
    mujoco = pytest.importorskip("mujoco")
    builder = ada.Builder("ball").link("base").link("ball", 1.0, (0, 0, -0.3), (0.1, 0.2, 0.3))
    model = builder.joint("socket", "spherical", "base", "ball", limits=Limits(upper=0.7)).build()
    twin = mujoco.MjModel.from_xml_string(render(model, "mjcf").texts[".xml"])
    data = mujoco.MjData(twin)
    (stop,) = JointStops(100.0, 0.0).resolve(model)
    rng = np.random.default_rng(4)
    for _ in range(20):
        x, y, z, w = q = model.integrate(model.neutral(), rng.normal(size=3))
        data.qpos[:] = (w, x, y, z)
        mujoco.mj_forward(twin, data)
        depth = stop.bound.excess(q.tolist())
        assert (data.nefc == 1) == (depth > 0.0)
        if data.nefc:
            assert -data.efc_pos[0] == pytest.approx(depth, abs=1e-12)
            # MuJoCo's row is the slope of the room that is left, in the same axes: the child's
            assert np.abs(data.efc_J[:3] + np.array(stop.bound.directions(q.tolist()))).max() < 1e-12
            efforts = joint_loads(model.tree, [stop], 0.01, q.tolist(), [0.0] * 3)[0]
            assert np.abs(np.array(efforts) - 100.0 * depth * data.efc_J[:3]).max() < 1e-9


def test_a_pendulum_on_a_ball_rests_in_its_cone_where_its_weight_is_borne():
    builder = ada.Builder("ball").link("base").link("ball", 2.0, (0, 0, 0.3), (0.1, 0.1, 0.1))
    builder.joint("socket", "spherical", "base", "ball", limits=Limits(upper=0.5), damping=2.0)
    model = builder.build(gravity=(0, 0, -9.81))
    q = model.integrate(model.neutral(), np.array([0.1, 0.2, 0.0]))
    log = ada.Simulation(model, q, stops=JointStops(50.0, 0.0)).run(20.0)
    angle = 2.0 * np.arccos(abs(log.q[-1, 3]))
    assert 50.0 * (angle - 0.5) == pytest.approx(2.0 * 9.81 * 0.3 * np.sin(angle), rel=1e-6)  # k δ = m g l sin θ


def test_inverse_kinematics_keeps_the_limits_of_merged_joints_as_those_of_three():
    three, one = hip(), merged_hip()
    turns = one.joints["hip"].turns
    rng = np.random.default_rng(2)
    home = np.array([0.0, 0.1, 3.0, 0.5])
    held = 0
    for _ in range(8):
        goal = ada.Dynamics(three).pose("leg", home + np.array([*rng.uniform(-1.0, 1.0, 3), 0.0]))
        task = ada.OrientationTask("leg", goal[:3, :3])
        found = ada.solve_ik(one, task, merged_state(one, home, np.zeros(4))[0])
        other = ada.solve_ik(three, task, home)
        angles = turns.read(found.q[one.q_index("hip")])
        assert found.limit_violation < 1e-9 and np.abs(angles - other.q[:3]).max() < 1e-4
        assert (found.at_limit == ("hip",)) == bool(other.at_limit)
        held += bool(found.at_limit)
    assert 0 < held < 8, "no limit is met, or each time: the test shows half"
