# SPDX-License-Identifier: Apache-2.0
"""Soft stops and friction of joints: closed forms, stability, mimics, and what is refused."""

import dataclasses
import math

import numpy as np
import pytest
from contact_motion import moved

import ada_dynamics as ada
from ada_dynamics.algorithms.joint_loads import joint_loads
from ada_dynamics.contact.stops import JointStops, stop_rate
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.edit import with_parts
from ada_dynamics.model.elements import Limits
from ada_dynamics.robots.mechanisms import four_bar
from ada_dynamics.robots.writers import render

G = 9.81


def arm(kind="prismatic", gravity=(0, 0, 0), *, limits=None, **joint):
    """One joint: 2 kg on a slide along x, or 2 kg m² about x."""
    limits = limits or (Limits() if kind == "continuous" else Limits(-0.1, 0.2))
    builder = Builder("arm").link("base", 1.0).link("tip", 2.0, inertia=(2.0, 2.0, 2.0))
    return builder.joint("joint", kind, "base", "tip", axis=(1, 0, 0), limits=limits, **joint).build(gravity=gravity)


@pytest.mark.parametrize("kind", ["prismatic", "revolute"])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_joint_bounces_from_its_stop_with_the_loss_of_the_law(kind, side):
    damping, speed = 0.5, 0.8
    motion = moved(arm(kind), [0.0], [side * speed], 1e-4, 6000, stops=JointStops(2000.0, damping))
    # first integral of m u du/dδ = -k δ (1 + d u)
    first = lambda u: u / damping - np.log(1 + damping * u) / damping**2  # noqa: E731
    assert first(-abs(motion.v[-1, 0])) == pytest.approx(first(speed), rel=1e-5)
    assert np.sign(motion.v[-1, 0]) == -side and abs(motion.v[-1, 0]) < 0.8 * speed
    limit = 0.2 if side > 0 else 0.1
    assert 0.01 < np.max(side * motion.q[:, 0]) - limit < speed * np.sqrt(2.0 / 2000.0)


def test_a_stop_holds_a_weight_at_the_depth_of_its_spring_and_never_pulls():
    model = arm(gravity=(G, 0, 0))
    motion = moved(model, [0.0], [0.0], 1e-3, 10_000, stops=JointStops(2000.0, 20.0))
    assert motion.q[-1, 0] == pytest.approx(0.2 + 2 * G / 2000.0, abs=1e-9)
    stops = JointStops(2000.0, 20.0).resolve(model)
    rng = np.random.default_rng(1)
    for q, v in zip(rng.uniform(-0.2, 0.3, 300), rng.normal(size=300), strict=True):
        (effort,), armature = joint_loads(model.tree, stops, 0.01, [q], [v])
        assert (effort > 0.0) <= (q < -0.1) and (effort < 0.0) <= (q > 0.2)
        assert armature == [0.0]


@pytest.mark.parametrize("harder", [1.0, 10.0, 1e4])
def test_the_linearly_implicit_step_is_stable_whatever_the_stiffness(harder):
    model = arm(gravity=(G, 0, 0))
    stops = JointStops(2e5 * harder, 5.0)  # 2e5 N/m under 2 kg: 316 1/s
    motion = moved(model, [0.0], [0.0], 1e-3, 6000, "semi_implicit", stops=stops)
    speed = np.sqrt(2 * G * 0.2)  # at the stop, which it passes by a swing or by a step
    assert motion.q.max() < 0.2 + speed * max(1e-3, np.sqrt(2 / (2e5 * harder)))
    # at 1e4 a step of free fall is a hundred times the sink: it hops within that step
    assert np.abs(motion.v[-500:]).max() < (1e-6 if harder < 100 else G * 1e-3)


@pytest.mark.parametrize("is_implicit", [False, True])
def test_stops_of_joints_whose_links_weigh_nothing_are_made_for_what_the_loops_hang_on_them(is_implicit):
    model, q = four_bar()
    limited = [dataclasses.replace(joint, limits=Limits(-6.0, 6.0)) for joint in model.joints.values()]
    last = model.links[model.joints[model.joint_names[-1]].child]
    light = with_parts(model, dataclasses.replace(last, mass=0.0, inertia=np.zeros((3, 3))), *limited)
    assert np.linalg.matrix_rank(ada.Dynamics(light).mass_matrix(q)) < light.nv
    stops = JointStops.for_model(light, 1e-3, q=q, is_implicit=is_implicit)
    response = ada.Dynamics(light).forward_derivatives(q, np.zeros(3), np.zeros(3)).du
    swing = [float(np.sqrt(stops.joints[name][0] * response[i, i])) for i, name in enumerate(light.joint_names)]
    if is_implicit:
        assert swing[-1] == pytest.approx(200.0, rel=1e-6)
    else:
        assert swing == pytest.approx([200.0] * 3, rel=1e-6)
    assert stop_rate(light, stops, q=q) == pytest.approx(max(swing), rel=1e-6)


def test_friction_holds_a_load_under_its_limit_but_for_the_predicted_creep():
    model = arm(gravity=(G, 0, 0), friction=40.0, limits=Limits())
    motion = moved(model, [0.0], [0.0], 1e-4, 5000, friction_speed=0.01)
    load = 2 * G
    assert motion.v[-1, 0] == pytest.approx(0.01 * load / np.sqrt(40.0**2 - load**2), rel=1e-9)


def test_the_linearly_implicit_step_stops_a_joint_with_stiff_friction_and_damping():
    model = arm(friction=50.0, damping=1e4, limits=Limits())  # rates of 5e6 and 5e3 1/s
    motion = moved(model, [0.0], [1.0], 1e-3, 200, "semi_implicit", friction_speed=1e-5)
    assert (np.diff(motion.v[:, 0]) <= 0.0).all() and 0.0 <= motion.v[-1, 0] < 1e-12
    assert stop_rate(model, None, 1e-5) == pytest.approx(50.0 / 1e-5 / 2.0 + 1e4 / 2.0)


# --- the total rotation of a spherical joint ----------------------------------------------------------------------
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


def test_an_mjcf_ball_has_its_range_and_only_one_that_starts_at_zero():
    text = """<mujoco><compiler angle="degree"/><worldbody><body><joint type="ball" name="socket" range="{} 60"/>
        <geom size="1"/></body></worldbody></mujoco>"""
    assert ada.load(text.format(0)).joints["socket"].limits == Limits(0.0, math.pi / 3.0)
    with pytest.raises(ada.ModelError):
        ada.load(text.format(10))
