# SPDX-License-Identifier: Apache-2.0
"""Scenes where nobody says: feet on the ground, limits kept, an integrator that follows; and what is said about it."""

from dataclasses import replace

import numpy as np
import pytest
from refused import refused

import ada_dynamics as ada
from ada_dynamics.contact.shape_contacts import hull_contacts, lowest_height
from ada_dynamics.contact.stops import limit_violations
from ada_dynamics.model.elements import Limits, Mimic, Shape
from ada_dynamics.simulation import JointStops
from ada_dynamics.simulation.scene import Scene, scene_for, start_pose

G = 9.81


def body(*shapes: Shape, mass: float = 2.0, inertia=(0.02, 0.02, 0.02)) -> ada.Model:
    return ada.Builder("body").link("body", mass, inertia=inertia, collisions=shapes).build(base="floating")


def height(model: ada.Model, scene: Scene) -> float:
    return lowest_height(model, scene.q, [*scene.contact.points, *scene.contact.spheres])


TILTED = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # its z along x: a cylinder lies


@pytest.mark.parametrize(
    ("shape", "start"),
    [
        (Shape("box", (0.2, 0.4, 0.1), xyz=(0, 0, 0.3)), -0.25),
        (Shape("sphere", (0.15,), xyz=(0, 0, -0.2)), 0.35),
        (Shape("capsule", (0.05, 0.4)), 0.25),
        (Shape("cylinder", (0.1, 0.6)), 0.3),
        (Shape("cylinder", (0.1, 0.6), rotation=TILTED), 0.1 * np.cos(np.pi / 8)),  # on one of eight sides
    ],
)
def test_a_robot_starts_with_its_lowest_point_on_the_ground(shape, start):
    model = body(shape)
    scene = scene_for(model)
    assert scene.q[2] == pytest.approx(start, abs=1e-12)
    assert height(model, scene) == pytest.approx(0.0, abs=1e-12)
    sim = ada.Simulation(model, scene.q, contact=scene.contact, integrator=scene.integrator)
    log = sim.run(1.0)
    falling = 0.5 * 2.0 * (G * log.t) ** 2
    soon = log.t <= 0.01
    assert (log.energy.kinetic[soon] <= 1.01 * falling[soon] + 1e-12).all()  # it is not thrown
    assert abs(log.q[-1, 2] - start) < 5e-3  # it lies where it was put


def test_meshes_touch_with_their_vertices_and_without_them_as_the_box_of_their_inertia():
    rng = np.random.default_rng(1)
    size, mass = np.array([0.3, 0.2, 0.1]), 3.0
    inertia = mass / 12.0 * (np.sum(size**2) - size**2)
    model = body(Shape("mesh", (2.0, 2.0, 2.0), mesh="package://no/such.stl"), mass=mass, inertia=tuple(inertia))
    found = hull_contacts(model, model.neutral())
    assert (found.inertia_boxes, found.missing) == (["body"], [])
    corners = np.array(sorted(point.xyz for point in found.points))
    np.testing.assert_allclose(np.abs(corners), np.tile(0.5 * size, (8, 1)), atol=1e-12)  # an even box is its own
    assert "box of their inertia: body" in scene_for(model).notes[0]
    cloud = rng.normal(size=(5000, 3))
    scene = scene_for(model, vertices=lambda shape: cloud * shape.size)
    assert scene.q[2] == pytest.approx(-2.0 * cloud[:, 2].min(), abs=1e-4)
    assert scene.notes == ()
    assert len(scene.contact.points) <= 9


def test_what_hangs_on_loops_from_the_world_is_not_put_on_the_ground():
    builder = ada.Builder("hung").link("body", 2.0, inertia=(0.02, 0.02, 0.02), collisions=[Shape("box", (1, 1, 1))])
    builder.loop("hook", "spherical", "world", "body", (0, 0, 3.0), child_xyz=(0, 0, 0.5))
    model = builder.build(base="floating")
    scene = scene_for(model)
    assert scene.contact is None
    assert scene.q[2] == pytest.approx(2.5)
    assert scene_for(model, ground="on").q[2] == pytest.approx(2.5)


def gripper() -> ada.Model:
    """An elbow whose limits leave zero out, and a finger that mimics another."""
    b = ada.Builder("arm").link("base").link("upper", 1.0, (0, 0, 0.2), (0.01,) * 3)
    b.link("lower", 1.0, (0, 0, 0.2), (0.01,) * 3).link("left", 0.1, inertia=(1e-3,) * 3)
    b.link("right", 0.1, inertia=(1e-3,) * 3)
    b.joint("shoulder", "revolute", "base", "upper", axis=(0, 1, 0), limits=Limits(-0.5, 0.5))
    b.joint("elbow", "revolute", "upper", "lower", xyz=(0, 0, 0.4), axis=(0, 1, 0), limits=Limits(-2.0, -0.3))
    b.joint("left", "prismatic", "lower", "left", axis=(1, 0, 0), limits=Limits(-0.1, 0.1))
    b.joint(
        "right", "prismatic", "lower", "right", axis=(1, 0, 0), limits=Limits(0.01, 0.05), mimic=Mimic("left", -1.0)
    )
    return b.build()


def test_a_default_start_is_within_the_limits_of_joints_and_of_those_that_mimic_them():
    model = gripper()
    q = np.array(start_pose(model))
    assert limit_violations(model, q) == {}
    np.testing.assert_allclose(q, [0.0, -0.3, -0.01])  # the 45 deg of the second joint are cut to its limit


@pytest.mark.parametrize("integrator", ["auto", "rk4"])
def test_a_given_start_limit_violations_is_refused_and_a_document_s_is_pushed_back_gently(integrator):
    model = gripper()
    with refused(ada.InputError, joint="elbow", field="start", value=0.0):
        scene_for(model, [0.0, 0.0, -0.02])
    scene = scene_for(model, [0.0, 0.5, -0.02], is_given=False, integrator=integrator)
    assert "'elbow' by 0.8" in scene.notes[0]
    assert {stop.body for stop in scene.stops.resolve(model)} == {0, 1, 2, 3}
    log = ada.Simulation(model, scene.q, stops=scene.stops, integrator=scene.integrator).run(1.0)
    assert log.v[log.t < 0.2, 1].min() > -1.5  # a stop pushes with 1 rad/s = 1 / d, whatever the depth
    assert limit_violations(model, log.q[-1:]).get("elbow", 0.0) < 0.05
    assert scene_for(model, [0.0, 0.0, -0.02], stops=False).stops is None


@pytest.mark.parametrize("integrator", ["rkf45", "semi_implicit"])
def test_joints_that_fall_into_their_stops_keep_their_limits(integrator):
    model = gripper()
    scene = scene_for(model, integrator=integrator)
    log = ada.Simulation(model, scene.q, stops=scene.stops, integrator=integrator).run(3.0)
    fastest = np.max(np.abs(log.v), axis=0)
    for name, over in limit_violations(model, log.q).items():
        speed = fastest[{"shoulder": 0, "elbow": 1}.get(name, 2)]
        assert over < 2.0 * speed / 200.0 + 0.01, name  # it swings in its stop at 200/s with at least its own inertia
    free = ada.Simulation(model, scene.q, integrator=integrator).run(3.0)
    assert max(limit_violations(model, free.q).values()) > 0.5


def test_the_weight_of_a_floating_robot_presses_a_joint_little_into_its_stop():
    b = ada.Builder("sitting").link("trunk", 30.0, inertia=(2, 2, 2))
    for side, y in (("left", 0.15), ("right", -0.15)):
        for x, end, limits in ((0.2, "front", Limits(0.0, 1.0)), (-0.2, "back", Limits(-1.0, 0.0))):
            leg, foot = f"{side}_{end}", Shape("sphere", (0.03,), xyz=(0.5 * x, 0, -0.4))
            b.link(leg, 0.2, (0, 0, -0.2), (1e-3,) * 3, collisions=[foot])
            b.joint(leg, "revolute", "trunk", leg, xyz=(x, y, 0), axis=(0, 1, 0), limits=limits)
    model = b.build(base="floating")
    scene = scene_for(model)
    smooth = replace(scene.contact, material=replace(scene.contact.material, friction=0.0))  # or friction would hold it

    def sunk(stops: JointStops) -> float:
        log = ada.Simulation(model, scene.q, contact=smooth, stops=stops, integrator="semi_implicit").run(1.0)
        return max(limit_violations(model, log.q).values())

    assert scene.integrator == "semi_implicit"
    load = 7.5 * G * 0.1  # [N m], of each leg
    assert sunk(scene.stops) < 3.0 * load / scene.stops.joints["left_front"][0] < 0.01
    assert sunk(JointStops.for_model(model, q=scene.q)) > 0.02  # as soft as an explicit step has them


def wheel(damping: float) -> ada.Model:
    b = ada.Builder("wheel").link("base").link("rim", 1.0, inertia=(2.0, 2.0, 2.0))
    return b.joint("axle", "continuous", "base", "rim", axis=(0, 0, 1), damping=damping).build()


@pytest.mark.parametrize(
    ("damping", "step", "wanted"), [(100.0, 1e-3, "rkf45"), (4000.0, 1e-3, "semi_implicit"), (4000.0, 1e-4, "rkf45")]
)
def test_the_integrator_is_chosen_by_the_fastest_decay_times_the_step(damping, step, wanted):
    model = wheel(damping)
    scene = scene_for(model, step=step)
    sim = ada.Simulation(model, v=[1.0], integrator="auto", step=step)
    assert scene.integrator == sim.method.name == wanted  # damping / 2 kg m² decays per second
    assert f"{2.0 / damping:.2g} s" in sim.integrator_reason
    log = sim.run(0.01)
    assert abs(log.v[-1, 0]) <= 1.0
    assert np.isfinite(log.q).all()
