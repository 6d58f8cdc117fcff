# SPDX-License-Identifier: Apache-2.0
"""Compliant contact, contacts as a user gives them, a grasp: closed forms, invariants, differences and MuJoCo."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from contact_motion import body, moved

import ada_dynamics as ada
from ada_dynamics.algorithms import aba, closed_aba, crba, kkt
from ada_dynamics.algorithms import contact as shapes
from ada_dynamics.algorithms.contact import GroundContact, Law, PairContact, contact_loads, gather
from ada_dynamics.algorithms.jacobians import columns_at
from ada_dynamics.algorithms.kinematics import poses, transforms
from ada_dynamics.contact.contact import (
    Ball,
    Box,
    Capsule,
    Contact,
    ContactPair,
    ContactPoint,
    ContactSphere,
    Ground,
    Material,
    Plane,
    contact_rate,
)
from ada_dynamics.contact.stops import JointStops
from ada_dynamics.dynamics.computation import kernels_of
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.elements import Shape
from ada_dynamics.robots.writers import render
from ada_dynamics.spatial.rotation import from_rpy
from ada_dynamics.spatial.vector import Mat3, Vec3

G = 9.81
LEVEL = [0.0, 0.0, 0.0, 1.0]
TURNED = np.array([0.1, 0.15, 0.05, 0.98]) / np.linalg.norm([0.1, 0.15, 0.05, 0.98])


def corners(size, levels=(-1,)):
    x, y, z = np.array(size) / 2
    signs = [(1, 1), (-1, 1), (-1, -1), (1, -1)]
    return [
        ContactPoint(f"corner_{i}_{s}", "body", (a * x, b * y, s * z)) for s in levels for i, (a, b) in enumerate(signs)
    ]


def slope(angle):
    return Ground(normal=(np.sin(angle), 0.0, np.cos(angle)))


def state(z, quaternion=LEVEL, xy=(0.0, 0.0)):
    return np.array([*xy, z, *quaternion])


@pytest.mark.parametrize("exponent", [1.0, 1.5])
@pytest.mark.parametrize("loss", [0.02, 0.5, 4.0])
def test_restitution_is_that_of_the_first_integral_of_the_law_whatever_the_stiffness(exponent, loss):
    # m u du/dδ = -k δ^p (1 + λ u), λ = 3/2 e: v/λ - ln(1 + λ v)/λ² is the same for the speeds v in and -u out
    speed, lam = 0.5, 1.5 * loss
    first = lambda v: v / lam - np.log(1.0 + lam * v) / lam**2  # noqa: E731
    low, high = 0.0, min(speed, 1.0 / lam * (1.0 - 1e-12))
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if first(-middle) < first(speed) else (low, middle)
    material = Material(stiffness=1e4 if exponent == 1.0 else 1e5, dissipation=loss, exponent=exponent)
    ball = body(size=(0.1,) * 3, shape="ball", gravity=(0, 0, 0))
    contact = Contact(spheres=[ContactSphere("ball", "body", (0, 0, 0), 0.05)], material=material)
    motion = moved(ball, state(0.05), [0, 0, -speed, 0, 0, 0], 5e-5, 2500, contact=contact)
    assert motion.world[-1, 0, 2] == 0.0  # it has left the ground
    # RK4 meets a kink at both ends of the contact: second order there
    assert motion.v[-1, 2] == pytest.approx(low, abs=2e-5)
    if loss * speed < 0.02:
        assert motion.v[-1, 2] / speed == pytest.approx(1.0 - loss * speed, abs=(loss * speed) ** 2)


@pytest.mark.parametrize("exponent", [1.0, 1.5])
def test_a_box_sinks_by_the_closed_form_and_its_contacts_carry_its_weight(exponent):
    size, material = (0.2, 0.2, 0.1), Material(0.25 * G / 4e-4**exponent, exponent=exponent)
    contact = Contact(corners(size), material=material)
    motion = moved(body(1.0, size), state(0.05), np.zeros(6), 1e-3, 3000, contact=contact)
    assert motion.q[-1, 2] == pytest.approx(0.05 - 4e-4, abs=1e-10)
    np.testing.assert_allclose(motion.world[-1, :, 2], G / 4, rtol=1e-7)


def test_a_box_on_a_slope_under_the_angle_of_friction_creeps_as_predicted():
    angle, size, material = 0.3, (0.2, 0.2, 0.02), Material(friction=0.8, slip_speed=0.01)
    contact = Contact(corners(size), ground=slope(angle), material=material)
    start = np.array([0.0095 * np.sin(angle), 0, 0.0095 * np.cos(angle), 0, np.sin(angle / 2), 0, np.cos(angle / 2)])
    motion = moved(body(1.0, size), start, np.zeros(6), 5e-4, 4000, contact=contact)
    expected = 0.01 * np.tan(angle) / np.sqrt(0.8**2 - np.tan(angle) ** 2)
    # down the slope is +x in the body, and x has turned about y towards -z
    assert motion.v[-1, 0] == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(motion.world[-1].sum(axis=0)[:3], [0, 0, G], atol=1e-6)  # the law holds the weight


def test_a_ball_rolls_down_a_slope_at_five_sevenths():
    angle = 0.2
    ball = body(1.0, (0.1,) * 3, shape="ball", gravity=(G * np.sin(angle), 0.0, -G * np.cos(angle)))
    contact = Contact(spheres=[ContactSphere("ball", "body", (0, 0, 0), 0.05)], material=Material(stiffness=2e4))
    motion = moved(ball, state(0.0495), np.zeros(6), 2.5e-4, 6000, contact=contact)
    # velocities are in the axes of the body, which turn: work with speeds
    speed, turn = np.linalg.norm(motion.v[:, :3], axis=1), np.linalg.norm(motion.v[:, 3:], axis=1)
    rate = (speed[-1] - speed[4000]) / 0.5
    assert rate == pytest.approx(5 / 7 * G * np.sin(angle), rel=1e-4)
    # friction carries 2/7 of the weight's share, at a slip s with μ cos(a) s/√(s² + v_s²) = 2/7 sin(a)
    share = 2 / 7 * np.tan(angle) / 0.8
    assert speed[-1] - 0.05 * turn[-1] == pytest.approx(0.02 * share / np.sqrt(1 - share**2), rel=1e-3)


def energy(model, contact, motion):
    dynamics = ada.Dynamics(model)
    total, T = sum(dynamics.energy(motion.q, motion.v)), dynamics.pose("body", motion.q)
    for point in contact.points:
        z = (T[:, :3, :3] @ np.array(point.xyz) + T[:, :3, 3])[:, 2]
        total += 0.5 * contact.material.stiffness * np.maximum(-z, 0.0) ** 2
    return total


def test_a_tumbling_box_never_gains_energy_never_is_pulled_and_keeps_to_the_cone_of_friction():
    size = (0.2, 0.15, 0.1)
    model, contact = body(1.0, size), Contact(corners(size, (-1, 1)))
    motion = moved(model, state(0.3, TURNED), [0.8, 0.3, 0.0, 4.0, -3.0, 1.0], 2.5e-4, 6000, contact=contact)
    total = energy(model, contact, motion)
    # kinks at the ends of each contact cost RK4 its order; the box starts with 3.5 J
    assert np.max(total - np.minimum.accumulate(total)) < 1e-5 * total[0]
    assert total[-1] < 0.6 * total[0]
    forces = motion.world[:, :, :3]
    assert forces[:, :, 2].min() == 0.0 and forces[:, :, 2].max() > 5.0
    slip = np.linalg.norm(forces[:, :, :2], axis=2)
    assert (slip <= contact.material.friction * forces[:, :, 2] + 1e-12).all()


def test_the_linearly_implicit_step_is_stable_far_beyond_explicit_limits():
    size = (0.2, 0.2, 0.1)
    for harder, start, speed in ((100.0, TURNED, 1e-9), (1e4, LEVEL, G * 1e-3), (1e4, TURNED, G * 1e-3)):
        material = Material(stiffness=5000.0 * harder, slip_speed=0.02 / harder)
        model, contact = body(1.0, size), Contact(corners(size, (-1, 1)), material=material)
        assert contact_rate(model, contact, state(0.05)) * 1e-3 > 100.0
        motion = moved(model, state(0.1, start), np.zeros(6), 1e-3, 4000, "semi_implicit", contact=contact)
        # what sinks less than it falls in one step, g h², hops by half of that
        linear, spin = np.split(motion.v[-1000:], 2, axis=1)
        for point in corners(size):
            assert np.linalg.norm(linear + np.cross(spin, point.xyz), axis=1).max() < speed
        assert np.abs(spin).max() < (1e-9 if harder == 100.0 or start is LEVEL else np.inf)  # else edges hop in turn
        assert motion.q[-1, 2] == pytest.approx(0.05, abs=G * 1e-6)


def _added_matrix(inertia):
    B = np.array(inertia.B, dtype=float)
    return np.block([[np.array(inertia.H, dtype=float), B.T], [B, np.array(inertia.A, dtype=float)]])


def test_the_implicit_part_is_symmetric_not_negative_and_the_slope_of_the_force():
    h, law = 1e-3, Law(5000.0, 1.0, 4.0, 0.8, 0.02)
    tree = body().tree
    n = Vec3(*np.array([0.2, -0.1, 0.9]) / np.linalg.norm([0.2, -0.1, 0.9]))
    contact = [GroundContact(0, Vec3(0.1, 0.05, -0.05), 0.02, law, n, 0.0)]
    q = [0.0, 0.0, 0.06, *TURNED]
    # slipping not at all, where the secant of friction is its slope
    pose = poses(tree, transforms(tree, q))[0]
    for sink_rate in (0.0, 0.05, -0.05):
        v = [*np.array(pose.rotation.to_child(n)) * -sink_rate, 0.0, 0.0, 0.0]
        (load,) = contact_loads(tree, contact, q, v, h)
        found = _added_matrix(load.added)
        np.testing.assert_allclose(found, found.T, atol=1e-15)
        assert np.linalg.eigvalsh(found).min() > -1e-12 * np.abs(found).max()
        (explicit,) = contact_loads(tree, contact, q, v)
        assert explicit.added is None and explicit.world == load.world
        by_rate = np.zeros((6, 6))
        for k in range(6):
            sides = []
            for e in (1e-6, -1e-6):
                w = list(v)
                w[(k + 3) % 6] += e  # v is [linear, angular], the load [moment, force]
                (moved,) = contact_loads(tree, contact, q, w)
                sides.append(np.array([*moved.force.moment, *moved.force.force]))
            by_rate[:, k] = (sides[0] - sides[1]) / 2e-6
        lower = contact_loads(tree, contact, [x - 1e-7 * y for x, y in zip(q[:3], n, strict=True)] + q[3:], v)
        stiffness = (np.dot(lower[0].world[:3], n) - np.dot(explicit.world[:3], n)) / 1e-7
        line = np.array([*np.cross(_touching(pose, contact[0]), pose.rotation.to_child(n)), *pose.rotation.to_child(n)])
        expected = -h * by_rate + h * h * stiffness * np.outer(line, line)
        np.testing.assert_allclose(found, expected, atol=2e-6 * np.abs(expected).max())
        # the force holds h K δ̇ along the normal
        more = np.dot(load.force.force, pose.rotation.to_child(n)) - np.dot(
            explicit.force.force, pose.rotation.to_child(n)
        )
        assert more == pytest.approx(h * stiffness * sink_rate, rel=1e-5, abs=1e-8)


def _touching(pose, contact):
    return np.array(contact.point) - contact.radius * np.array(pose.rotation.to_child(contact.normal))


def _random_chain():
    builder = Builder("chain").link("base", 3.0, inertia=(0.1, 0.2, 0.15))
    parent = "base"
    for i, axis in enumerate(((0, 1, 0), (1, 0, 0), (0, 0.6, 0.8))):
        builder.link(f"link{i}", 1.0, com=(0, 0.02, 0.1), inertia=(0.02, 0.03, 0.01))
        builder.joint(f"joint{i}", "revolute", parent, f"link{i}", xyz=(0.1, 0, 0.2), axis=axis, armature=0.01)
        parent = f"link{i}"
    return builder.build(base="floating")


def test_what_is_added_gives_the_accelerations_of_the_dense_system_by_both_algorithms():
    model, h = _random_chain(), 1e-3
    tree, rng = model.tree, np.random.default_rng(3)
    q, v = model.random_state(rng)
    contacts = Contact([ContactPoint("a", "link2", (0, 0, 0.2)), ContactPoint("b", "base", (0.1, 0, 0))]).resolve(model)
    contacts = [c._replace(height=float(q[2] + 5.0)) for c in contacts]  # deep in the ground
    loads = contact_loads(tree, contacts, q.tolist(), (0.1 * v).tolist(), h)
    external, added = gather(loads)
    armature = rng.uniform(0.0, 0.1, model.nv).tolist()
    args = (tree, q.tolist(), v.tolist(), rng.normal(size=model.nv).tolist(), external, added, armature)
    found = np.array(aba.forward_dynamics(*args))
    # M + Σ JᵀAJ + R, with the Jacobian of each body from columns
    world = poses(tree, transforms(tree, q.tolist()))
    M = np.array(crba.mass_matrix(tree, q.tolist()).dense(), dtype=float) + np.diag(armature)
    explicit = np.array(aba.forward_dynamics(*args[:5]))
    M0 = np.array(crba.mass_matrix(tree, q.tolist()).dense(), dtype=float)
    for i, A in added.items():
        columns = columns_at(tree, q.tolist(), world, i, world[i].position)
        R = np.array(world[i].rotation.matrix(), dtype=float)
        J = np.array([[*(R.T @ np.array(c.angular)), *(R.T @ np.array(c.linear))] for c in columns]).T
        M += J.T @ _added_matrix(A) @ J
    np.testing.assert_allclose(found, np.linalg.solve(M, M0 @ explicit), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found, crba.forward_dynamics(*args), rtol=1e-9, atol=1e-9)


def test_what_is_added_to_a_mechanism_with_loops_gives_one_answer_by_both_ways_to_close_them():
    model = ada.load("four_bar")
    dynamics = ada.Dynamics(model)
    plans = kernels_of(dynamics).closed.plans
    q = ada.close_loops(model, np.array([1.0, *np.zeros(model.nq - 1)])).tolist()
    contacts = Contact([ContactPoint("a", model.link_names[-1], (0, 0, 0.5))], ground=Ground(height=9.0)).resolve(model)
    v = np.zeros(model.nv).tolist()
    external, added = gather(contact_loads(model.tree, contacts, q, v, 1e-2))
    armature, tau = [0.3] * model.nv, [0.1] * model.nv
    plain = kkt.forward_dynamics(model.tree, q, v, tau, plans.late, external).accelerations
    found = {}
    for name, solve in (("kkt", kkt.forward_dynamics), ("aba", closed_aba.forward_dynamics)):
        for plan in (p for k, p in plans.candidates.items() if k.startswith(name)):
            found[name] = solve(
                model.tree, q, v, tau, plan, external, added=added, added_armature=armature
            ).accelerations
    assert set(found) == {"kkt", "aba"}
    np.testing.assert_allclose(found["kkt"], found["aba"], rtol=1e-9)
    assert np.abs(np.array(plain) - found["kkt"]).max() > 0.1 * np.abs(plain).max()


def two_bodies(masses=(1.0, 2.0)):
    builder = Builder("pair").link("ground", 0.0)
    for name, mass in zip(("one", "two"), masses, strict=True):
        builder.link(name, mass, inertia=np.array([0.4, 0.5, 0.6]) * mass * 0.01)
        builder.joint(f"{name}_joint", "floating", "ground", name)
    return builder.build(gravity=(0, 0, 0))


@pytest.mark.parametrize(
    "other",
    [
        Ball("two", (0, 0, 0), 0.1),
        Capsule("two", (0, -0.1, -0.02), (0.02, 0.1, 0), 0.1),
        Plane("two", (-0.1, 0, 0), (-1, 0.1, 0.2)),
        Box("two", (0.2, 0.4, 0.4), (0, 0.01, 0.02)),
    ],
    ids=lambda shape: type(shape).__name__,
)
def test_a_collision_of_two_bodies_keeps_momentum_and_loses_energy(other):
    model = two_bodies()
    pair = ContactPair("hit", ContactSphere("tip", "one", (0.05, 0.01, 0), 0.05), other)
    contact = Contact(pairs=[pair], material=Material(stiffness=2e4, dissipation=0.5, friction=0.4))
    q = np.array([-0.25, 0.02, 0.01, *TURNED, 0, 0, 0, *LEVEL])
    v = np.array([1.0, 0, 0, 0, 0, 0, -0.2, 0, 0, 0.1, 0.3, 0])
    motion = moved(model, q, v, 1e-4, 4000, contact=contact)
    force = np.linalg.norm(motion.world[:, 0, :3], axis=1)
    assert force.max() > 5.0 and force[0] == force[-1] == 0.0  # they did meet, and have parted
    ends = [(motion.q[i], motion.v[i]) for i in (0, -1)]
    dynamics = ada.Dynamics(model)
    momentum = [_momentum(model, dynamics, x, y) for x, y in ends]
    np.testing.assert_allclose(momentum[1], momentum[0], atol=1e-9)
    kinetic = [dynamics.energy(x, y).kinetic for x, y in ends]
    assert 0.3 * kinetic[0] < kinetic[1] < 0.99 * kinetic[0]


def _momentum(model, dynamics, q, v):
    """Linear momentum, and angular momentum about the world's origin."""
    h, c = dynamics.momentum(q, v), dynamics.com(q)
    return np.concatenate([h[:3], h[3:] + np.cross(c, h[:3])])


def test_nearest_points_of_shapes_are_those_of_brute_force():
    rng = np.random.default_rng(5)
    R = np.array(from_rpy(0.3, -0.4, 0.5))
    half, centre = np.array([0.1, 0.2, 0.3]), np.array([0.05, 0, 0.1])
    box = shapes.BodyBox(0, Vec3(*centre), Mat3.of(R), Vec3(*half))
    start, end = np.array([0.1, 0, 0]), np.array([0.0, 0.3, 0.2])
    capsule = shapes.BodyCapsule(0, Vec3(*start), Vec3(*end), 0.05)
    for x in rng.uniform(-0.5, 0.5, (300, 3)):
        own = R.T @ (x - centre)
        outside = np.linalg.norm(np.maximum(np.abs(own) - half, 0.0))
        expected = outside if outside > 0 else np.max(np.abs(own) - half)
        line = start + np.linspace(0, 1, 2001)[:, None] * (end - start)
        by_hand = np.min(np.linalg.norm(line - x, axis=1)) - 0.05
        for shape, distance, tolerance in ((box, expected, 1e-12), (capsule, by_hand, 1e-4)):
            near = shape.nearest(Vec3(*x))
            assert near.distance == pytest.approx(distance, abs=tolerance)
            assert np.linalg.norm(near.outward) == pytest.approx(1.0)
            # the way out changes the distance at rate one
            further = shape.nearest(Vec3(*(x + 1e-6 * np.array(near.outward))))
            assert (further.distance - near.distance) / 1e-6 == pytest.approx(1.0, abs=1e-4)


def test_a_tripod_loads_its_feet_as_in_mujoco():
    mujoco = pytest.importorskip("mujoco")
    feet = {"a": (0.2, 0.0, -0.1), "b": (-0.1, 0.15, -0.1), "c": (-0.15, -0.1, -0.1)}
    model = (
        Builder("tripod").link("body", 2.0, com=(0.03, 0.02, 0.05), inertia=(0.02, 0.02, 0.02)).build(base="floating")
    )
    spheres = [ContactSphere(name, "body", xyz, 0.02) for name, xyz in feet.items()]
    contact = Contact(spheres=spheres, material=Material(2.0 * G / (3 * 1e-4)))
    motion = moved(model, state(0.12), np.zeros(6), 1e-3, 4000, "semi_implicit", contact=contact)
    geoms = "".join(f'<geom type="sphere" size="0.02" pos="{x} {y} {z}"/>' for x, y, z in feet.values())
    twin = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="0.001"/><default><geom friction="0.8 0 0" solref="0.004 1"/></default><worldbody>
        <geom type="plane" size="1 1 1"/><body pos="0 0 0.12"><freejoint/>
        <inertial mass="2" pos="0.03 0.02 0.05" diaginertia="0.02 0.02 0.02"/>{geoms}</body></worldbody></mujoco>"""
    )
    data = mujoco.MjData(twin)
    for _ in range(4000):
        mujoco.mj_step(twin, data)
    theirs, force = {}, np.zeros(6)
    for i in range(data.ncon):
        mujoco.mj_contactForce(twin, data, i, force)
        theirs[int(max(data.contact[i].geom)) - 1] = force[0]
    ours = motion.world[-1, :, 2]
    # both sink by less than 1e-3 of the tripod's width, which tilts it as much
    np.testing.assert_allclose(ours, [theirs[i] for i in range(3)], rtol=2e-3)
    assert ours.sum() == pytest.approx(2 * G, rel=1e-6)


def walker():
    """A hip with two feet that have soles, and a ball for a head."""
    sole = Shape("box", (0.2, 0.1, 0.02), xyz=(0.02, 0.0, -0.01))
    builder = Builder("walker").link(
        "hip",
        2.0,
        inertia=(0.1,) * 3,
        collisions=[Shape("box", (0.1, 0.3, 0.1)), Shape("sphere", (0.08,), xyz=(0, 0, 0.2))],
    )
    for side, y in (("left", 0.1), ("right", -0.1)):
        builder.link(
            f"{side}_leg", 0.5, inertia=(0.01,) * 3, visuals=[Shape("capsule", (0.03, 0.2), xyz=(0, 0, -0.15))]
        )
        builder.link(f"{side}_foot", 0.3, inertia=(0.001,) * 3, visuals=[sole])
        builder.joint(f"{side}_hip", "revolute", "hip", f"{side}_leg", xyz=(0, y, 0), axis=(0, 1, 0))
        builder.joint(f"{side}_ankle", "fixed", f"{side}_leg", f"{side}_foot", xyz=(0, 0, -0.3))
    return builder.build(base="floating")


def test_soles_are_the_lower_corners_of_the_lowest_boxes():
    contact = Contact.of_soles(walker())
    assert [p.link for p in contact.points] == ["left_foot"] * 4 + ["right_foot"] * 4
    assert contact.names[:4] == [f"left_foot_{i}" for i in (1, 2, 3, 4)]
    found = {tuple(np.round(p.xyz, 12)) for p in contact.points[:4]}
    assert found == {(x, y, -0.02) for x in (-0.08, 0.12) for y in (-0.05, 0.05)}
    assert contact.material == Material.for_weight(walker().total_mass)


def test_contacts_of_links_that_are_fixed_to_others_are_resolved_in_the_frame_of_their_body():
    model = walker()
    contact = Contact([ContactPoint("heel", "left_foot", (0.1, 0, 0))], ground=Ground(0.5, (0, 0, 2.0)))
    (found,) = contact.resolve(model)
    assert isinstance(found, GroundContact)
    assert model.tree.bodies[found.body].name == "left_hip"
    frame = model.tree.frames["left_foot"]
    assert found.point == pytest.approx(frame.pose.point(Vec3(0.1, 0.0, 0.0)))
    assert (found.height, found.normal) == (0.5, (0.0, 0.0, 1.0))


def test_a_contact_keeps_its_own_material_and_pairs_theirs():
    rubber, steel = Material(friction=1.2), Material(stiffness=1e5)
    sphere = ContactSphere("ball", "hip", (0, 0, 0), 0.1, rubber)
    pair = ContactPair("knock", ContactPoint("tip", "left_leg", (0, 0, 0)), Plane("world"), steel)
    found = Contact(spheres=[sphere], pairs=[pair]).resolve(walker())
    assert found[0].law == rubber.law() and found[1].law == steel.law()
    assert isinstance(found[1], PairContact) and found[1].other.body == -1


def test_a_material_for_a_weight_is_as_stiff_as_the_step_allows():
    slow, fast = Material.for_weight(1.0, step=5e-3), Material.for_weight(1.0, step=1e-4)
    assert slow.stiffness < fast.stiffness == pytest.approx(9.81 / 4 / 5e-4)
    assert Material.for_weight(20.0, 8).stiffness == pytest.approx(20.0 * 9.81 / 8 / 5e-4)
    assert slow.slip_speed > fast.slip_speed
    default = Material()
    assert Material.for_weight(1.0).stiffness == pytest.approx(default.stiffness, rel=0.02)


def test_links_that_are_unknown_or_cannot_move_and_shapes_that_do_not_fit_are_refused():
    model = walker()
    toe, pair = ContactPoint("a", "left_leg", (0, 0, 0)), Plane("left_foot")
    bare = Builder("bare").link("body", 1.0, inertia=(1, 1, 1)).build(base="floating")
    for refused in (
        lambda: Contact([ContactPoint("a", "left_fot", (0, 0, 0))]).resolve(model),
        lambda: Contact.of_soles(model, ["fot"]),
        lambda: Contact.of_soles(model, ["left_leg"]),
        lambda: Contact([ContactPoint("a", "world", (0, 0, 0))]).resolve(model),
        lambda: Contact(pairs=[ContactPair("p", toe, pair)]).resolve(model),
        lambda: Contact.of_soles(bare),
    ):
        with pytest.raises(ada.InputError):
            refused()


mujoco = pytest.importorskip("mujoco")

DRIVE, OUTER_TIP = (0.031, 0.055), (0.0685, 0.098)  # pins of the right finger, opened [m]
SIDES = (("left", -1.0), ("right", 1.0))
STEP, SECONDS = 1e-4, 1.0
HARD = {
    "condim": "1",
    "solref": "0.001 1",
    "solimp": "0.99 0.999 0.0001",
}  # contacts of MuJoCo that yield by some 0.01 mm


class Grasp(NamedTuple):
    """Spheres on a link of each finger that touch a box on the palm without friction."""

    part: str
    xyz: tuple[float, float, float]  # centre of the right one in its link [m]
    radius: float
    size: tuple[float, float, float]
    at: tuple[float, float, float]
    torque: float  # of the motor [N m]


PADS = Grasp("inner_finger", (-0.005, 0.0, 0.037), 0.003, (0.04, 0.03, 0.06), (0.0, 0.0, 0.155), 1.0)
KNUCKLES = Grasp("inner_knuckle", (0.03, 0.0, 0.0344), 0.004, (0.05, 0.03, 0.05), (0.0, 0.0, 0.1), 0.3)


@pytest.fixture(scope="module")
def model() -> ada.Model:
    """The gripper with dampers, which bring it to rest, and without gravity."""
    parts = Parts.of(ada.load("robotiq_gripper"))
    for name, joint in parts.joints.items():
        parts.joints[name] = replace(joint, damping=0.02 if "outer_knuckle" in name else 0.002)
    parts.gravity = (0.0, 0.0, 0.0)
    return parts.build()


def ours(model: ada.Model, grasp: Grasp) -> tuple[dict[str, float], float]:
    """Positions of the joints and mean force on the box, at rest."""
    pairs, box = [], Box("palm", grasp.size, grasp.at)
    for side, sign in SIDES:
        at = (sign * grasp.xyz[0], *grasp.xyz[1:])
        pairs.append(ContactPair(f"{side}_touch", ContactSphere(side, f"{side}_{grasp.part}", at, grasp.radius), box))
    contact = ada.Contact(pairs=pairs, material=Material(stiffness=2e5, dissipation=1.0, friction=0.0))
    tau = np.zeros(model.nv)
    tau[model.v_index("left_outer_knuckle")] = grasp.torque
    options = {"contact": contact, "stops": JointStops(100.0, 1.0), "step": STEP, "integrator": "semi_implicit"}
    log = ada.Simulation(model, model.neutral(), tau=tau, **options).run(SECONDS)
    assert np.max(np.abs(log.v[-1])) < 1e-3
    positions = {n: float(log.q[-1][model.q_index(n)][0]) for n in model.joint_names if model.joints[n].mimic is None}
    return positions, float(np.mean([abs(wrench[-1][0]) for wrench in log.contact_wrenches.values()]))


def theirs(model: ada.Model, grasp: Grasp) -> tuple[dict[str, float], float]:
    (text,) = render(model, "mjcf").texts.values()
    root = ET.fromstring(text)
    option = root.find("option")
    assert option is not None
    option.attrib |= {"timestep": str(STEP), "integrator": "implicitfast"}
    for equality in root.iterfind("equality/*"):
        equality.set("solref", "0.0005 1")
    for joint in root.iter("joint"):
        if "range" in joint.attrib:
            joint.set("solreflimit", "0.001 1")
    sphere, half = [grasp.radius], [0.5 * x for x in grasp.size]
    geoms = [("palm", "box", grasp.at, half, "4")]
    geoms += [
        (f"{side}_{grasp.part}", "sphere", (sign * grasp.xyz[0], *grasp.xyz[1:]), sphere, "2") for side, sign in SIDES
    ]
    for link, kind, at, size, others in geoms:
        (body,) = [body for body in root.iter("body") if body.get("name") == link]
        values = {"type": kind, "pos": " ".join(map(str, at)), "size": " ".join(map(str, size)), "mass": "0"}
        ET.SubElement(body, "geom", {**values, "contype": str(6 - int(others)), "conaffinity": others, **HARD})
    other = mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))
    data = mujoco.MjData(other)
    data.ctrl[0] = grasp.torque
    mujoco.mj_step(other, data, round(SECONDS / STEP))
    forces = np.zeros((data.ncon, 6))
    for i, row in enumerate(forces):
        mujoco.mj_contactForce(other, data, i, row)
    assert data.ncon == 2
    return {other.joint(i).name: float(data.qpos[i]) for i in range(other.njnt)}, float(np.mean(forces[:, 0]))


@pytest.mark.parametrize("grasp", [PADS, KNUCKLES], ids=["pads", "knuckles"])
def test_the_gripper_rests_on_a_box_as_in_mujoco(model: ada.Model, grasp: Grasp) -> None:
    (positions, force), (other, other_force) = ours(model, grasp), theirs(model, grasp)
    # Stops, mimic joint and contacts yield by different laws: by 2 mrad and 0.1 mm at 10 N.
    assert max(abs(positions[name] - other[name]) for name in positions) < 4e-3
    assert force == pytest.approx(other_force, rel=5e-3)
    bent = abs(positions["right_outer_finger"])
    if grasp is PADS:
        assert bent < 3e-3  # on its stop: the fingertips are parallel
        arm = np.subtract(OUTER_TIP, DRIVE)  # turns with the outer knuckle; virtual work of torque and both forces
        angle = positions["left_outer_knuckle"]
        assert force == pytest.approx(0.5 * grasp.torque / (arm @ [np.sin(angle), np.cos(angle)]), rel=5e-3)
    else:
        assert bent > 0.5 and abs(positions["right_inner_finger"]) > 0.3  # the fingertips enclose the box
