# SPDX-License-Identifier: Apache-2.0
"""Soft stops and friction of joints: closed forms, stability, mimics, and what is refused."""

import dataclasses

import numpy as np
import pytest
from contact_motion import moved

import ada_dynamics as ada
from ada_dynamics.algorithms.joint_loads import joint_loads, without_friction
from ada_dynamics.contact.stops import JointStops, stop_rate
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.edit import with_parts
from ada_dynamics.model.elements import Limits, Mimic
from ada_dynamics.robots.mechanisms import four_bar

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


def test_a_joint_that_mimics_another_stops_the_joint_that_drives_it():
    builder = Builder("grip").link("base", 1.0)
    for name in ("left", "right"):
        builder.link(name, 0.5, inertia=(0.01,) * 3)
    builder.joint("drive", "prismatic", "base", "left", axis=(1, 0, 0), limits=Limits(-1.0, 1.0))
    mimic = Mimic("drive", -2.0, 0.1)
    builder.joint("follow", "prismatic", "base", "right", axis=(1, 0, 0), limits=Limits(-0.3, 0.3), mimic=mimic)
    model = builder.build()
    stops = JointStops(1000.0, 0.0).resolve(model)
    # at q = 0.25 the follower is at -0.4, 0.1 behind its limit: it pushes with +100 N there, -200 N on the drive
    efforts, armature = joint_loads(model.tree, stops, 0.01, [0.25], [0.0], 1e-3)
    assert efforts == [pytest.approx(-200.0)]
    assert armature == [pytest.approx(4 * 1e-6 * 1000.0)]


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


def test_friction_leaves_the_equations_of_motion_and_damping_stays():
    model = arm(friction=3.0, damping=2.0)
    body = without_friction(model.tree).bodies[0]
    assert (body.friction, body.damping) == (0.0, 2.0)
    efforts, armature = joint_loads(model.tree, (), 0.01, [0.0], [1e3])
    assert efforts == [pytest.approx(-3.0)] and armature == [0.0]
    _, armature = joint_loads(model.tree, (), 0.01, [0.0], [0.0], 1e-3)
    assert armature == [pytest.approx(1e-3 * (3.0 / 0.01 + 2.0))]
