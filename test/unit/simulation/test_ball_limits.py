# SPDX-License-Identifier: Apache-2.0
"""Limits of the total rotation of spherical joints: stops as in MuJoCo, files, events and inverse kinematics."""

import math

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.algorithms.joint_loads import joint_loads
from ada_dynamics.contact.stops import JointStops
from ada_dynamics.model.elements import Limits
from ada_dynamics.robots.writers import render
from ada_dynamics.simulation import at_limits


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


def test_inverse_kinematics_keeps_the_cone_of_a_ball_and_comes_as_near_to_the_goal_as_it_allows():
    builder = ada.Builder("ball").link("base").link("ball", 2.0, (0, 0, 0.3), (0.1, 0.1, 0.1))
    model = builder.joint("socket", "spherical", "base", "ball", limits=Limits(upper=0.5)).build()
    axis = np.array([0.6, 0.0, 0.8])
    for angle in (0.4, 0.9):
        goal = model.integrate(model.neutral(), angle * axis)
        task = ada.OrientationTask("ball", ada.Dynamics(model).pose("ball", goal)[:3, :3])
        found = ada.solve_ik(model, task, model.neutral())
        nearest = model.integrate(model.neutral(), min(angle, 0.5) * axis)
        assert np.abs(model.difference(nearest, found.q)).max() < 1e-4 and found.limit_violation < 1e-6
        assert found.at_limit == (("socket",) if angle > 0.5 else ())


def test_the_limit_of_a_ball_goes_through_urdf_and_mjcf():
    ball = ada.Builder("ball").link("base").link("ball", 1.0, inertia=(1, 1, 1))
    model = ball.joint("socket", "spherical", "base", "ball", limits=Limits(upper=1.2)).build()
    for spelling, ending in (("sidecar", ".urdf"), ("mjcf", ".xml")):
        assert ada.load(render(model, spelling).texts[ending]).joints["socket"].limits.upper == 1.2
    assert [event.name for event in at_limits(model)] == ["socket upper"]


def test_an_mjcf_ball_has_its_range_and_only_one_that_starts_at_zero():
    text = """<mujoco><compiler angle="degree"/><worldbody><body><joint type="ball" name="socket" range="{} 60"/>
        <geom size="1"/></body></worldbody></mujoco>"""
    assert ada.load(text.format(0)).joints["socket"].limits == Limits(0.0, math.pi / 3.0)
    with pytest.raises(ada.ModelError):
        ada.load(text.format(10))
