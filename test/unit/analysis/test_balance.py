# SPDX-License-Identifier: Apache-2.0
"""Momentum, zero-moment point and support against statics and Newton's law."""

from __future__ import annotations

import numpy as np
import pytest
from refused import refused

import ada_dynamics as ada
from ada_dynamics import Builder, Dynamics
from ada_dynamics.analysis.balance import (
    balance_of,
    convex_hull,
    fixed_feet_of,
    ground_wrench,
    margins,
    support_margins,
    zmp_of_motion,
    zmp_of_wrenches,
)
from ada_dynamics.analysis.motion import momentum_rate
from ada_dynamics.errors import InputError
from ada_dynamics.model import chain_3d
from ada_dynamics.simulation.forces import constant, half_sine
from ada_dynamics.simulation.log import ContactFrame, Log

G = 9.81
SQUARE = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]])


@pytest.fixture(scope="module")
def robot():
    return Dynamics(chain_3d(5, base="floating"))


@pytest.fixture(scope="module")
def box():
    return Dynamics(Builder("box").link("box", 2.0, (0.0, 0.0, 0.3), (0.1, 0.2, 0.3)).build("floating"))


def test_the_rate_of_momentum_is_its_difference_quotient(robot):
    rng = np.random.default_rng(1)
    q, v = robot.model.random_state(rng)
    a, h = rng.normal(size=robot.model.nv), 1e-5

    def at(s):
        return robot.momentum(robot.model.integrate(q, v + 0.5 * s * a, s), v + s * a)

    quotient = (at(h) - at(-h)) / (2.0 * h)
    found = momentum_rate(robot, q, v, a)
    np.testing.assert_allclose(found, quotient, rtol=0, atol=1e-7 * np.max(np.abs(found)))


def test_at_rest_the_zero_moment_point_is_below_the_centre_of_mass(robot):
    q, _ = robot.model.random_state(np.random.default_rng(3))
    rest = np.zeros(robot.model.nv)
    found, com = zmp_of_motion(robot, q, rest, rest, height=-0.4), robot.com(q)
    np.testing.assert_allclose(found, [com[0], com[1], -0.4], atol=1e-12)


def test_an_accelerated_box_has_its_zero_moment_point_behind(box):
    q, rest = box.model.neutral(), np.zeros(6)
    pushed = zmp_of_motion(box, q, rest, np.array([2.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    np.testing.assert_allclose(pushed, [-0.3 * 2.0 / G, 0.0, 0.0], atol=1e-12)
    # about its centre of mass: its origin, 0.3 m below it, goes the other way
    turned = zmp_of_motion(box, q, rest, np.array([-0.3 * 1.5, 0.0, 0.0, 0.0, 1.5, 0.0]))
    np.testing.assert_allclose(turned, [-0.2 * 1.5 / (2.0 * G), 0.0, 0.0], atol=1e-12)


def test_motion_and_contacts_agree_on_the_zero_moment_point(robot):
    rng = np.random.default_rng(4)
    q, v = robot.model.random_state(rng)
    a = rng.normal(size=robot.model.nv)
    com, wrench = ground_wrench(robot, q, v, a)
    points = {name: rng.normal(size=3) for name in "abc"}
    wrenches = {name: rng.normal(size=6) for name in "ab"}
    rest_force = wrench[:3] - sum(w[:3] for w in wrenches.values())
    moment = wrench[3:] - sum(w[3:] + np.cross(points[n] - com, w[:3]) for n, w in wrenches.items())
    wrenches["c"] = np.concatenate([rest_force, moment - np.cross(points["c"] - com, rest_force)])
    wanted = zmp_of_motion(robot, q, v, a, height=0.2)
    np.testing.assert_allclose(zmp_of_wrenches(points, wrenches, height=0.2), wanted, atol=1e-11)


def test_without_a_pressing_force_there_is_no_point():
    found = zmp_of_wrenches({"a": np.zeros((3, 3))}, {"a": [[0, 0, 1.0, 0, 0, 0], np.zeros(6), [0, 0, 1e-9, 0, 0, 0]]})
    np.testing.assert_array_equal(np.isnan(found[:, 0]), [False, True, True])
    assert np.isnan(zmp_of_wrenches({"a": np.zeros(3)}, {"a": np.zeros(6)})).all()


def test_random_hulls_are_convex_and_hold_every_point():
    rng = np.random.default_rng(7)
    for _ in range(20):
        cloud = rng.normal(size=(40, 2))
        hull = convex_hull(cloud)
        edges = np.roll(hull, -1, axis=0) - hull
        turns = edges[:, 0] * np.roll(edges, -1, axis=0)[:, 1] - edges[:, 1] * np.roll(edges, -1, axis=0)[:, 0]
        assert (turns > 0.0).all()
        assert margins(cloud, hull).min() > -1e-12


@pytest.mark.parametrize(
    ("point", "wanted"),
    [((1.0, 0.4), 0.4), ((0.1, 0.5), 0.1), ((1.0, 1.0), 0.0), ((3.0, 0.5), -1.0), ((-3.0, -4.0), -5.0)],
)
def test_margins_are_distances_to_the_border(point, wanted):
    assert margins([point], SQUARE) == pytest.approx([wanted], abs=1e-15)


def test_lines_points_and_nothing_have_margins_too():
    line, point, nothing = SQUARE[:2], SQUARE[:1], SQUARE[:0]
    assert margins([(1.0, 0.0), (1.0, 0.5), (3.0, 0.0)], line).tolist() == [0.0, -0.5, -1.0]
    assert margins([(3.0, 4.0)], point) == -5.0
    assert margins([(0.0, 0.0)], nothing) == -np.inf
    assert np.isnan(margins([(np.nan, 0.0)], SQUARE))


def test_margins_follow_the_contacts_that_are_loaded():
    points = {name: np.tile([*p, 0.0], (4, 1)) for name, p in zip("abcd", SQUARE, strict=True)}
    loaded = {"a": [1, 1, 1, 0], "b": [1, 1, 0, 0], "c": [1, 0, 0, 0], "d": [1, 0, 0, 0]}
    zmp = np.tile([1.0, 0.25, 0.0], (4, 1))
    found = support_margins(zmp, points, loaded)
    np.testing.assert_allclose(found, [0.25, -0.25, -np.hypot(1.0, 0.25), -np.inf])
    np.testing.assert_array_equal(support_margins(zmp, {}, {}), -np.inf)


def standing(weights):
    """A box on four corners, over as many rows as there are weights."""
    model = Builder("box").link("box", 2.0, (0.0, 0.0, 0.3), (0.1, 0.2, 0.3)).build("floating")
    n = len(weights)
    q = np.tile(model.neutral(), (n, 1))
    q[:, :3] = [3.0, 1.0, 0.1]
    corners = {name: (x - 1.0, y - 0.5, -0.1) for name, (x, y) in zip("abcd", SQUARE, strict=True)}
    wrenches = {name: np.zeros((n, 6)) for name in corners}
    for row, forces in enumerate(weights):
        for name, f in zip(corners, forces, strict=True):
            wrenches[name][row, 2] = f
    frames = {name: ContactFrame("box", xyz) for name, xyz in corners.items()}
    wrenches["pair"], frames["pair"] = np.ones((n, 6)), ContactFrame("box", (0.0, 0.0, 0.0), "other")
    v = np.zeros((n, 6))
    return Log(model, np.arange(float(n)), q, v, v, v, contact_wrenches=wrenches, contact_frames=frames)


def test_a_log_has_its_balance():
    found = balance_of(standing([(1, 1, 1, 1), (3, 0, 0, 1), (0, 0, 0, 0)]))
    np.testing.assert_allclose(found.zmp[:2], [[3.0, 1.0, 0.0], [2.0, 0.75, 0.0]], atol=1e-14)
    np.testing.assert_allclose(found.margin[:2], [0.5, 0.0], atol=1e-14)
    assert np.isnan(found.margin[2])
    assert found.polygon(0).shape == (4, 2) and np.ptp(found.polygon(0), axis=0).prod() == pytest.approx(2.0)
    assert [len(found.polygon(i)) for i in range(3)] == [4, 2, 0]
    assert set(found.points) == set("abcd")  # what acts between two links is not the ground's


def test_questions_without_ground_are_refused(box):
    rest = np.zeros(6)
    with refused(InputError, field="points", value="a"):
        zmp_of_wrenches({}, {"a": np.zeros(6)})
    with refused(InputError, field="points"):
        zmp_of_wrenches({}, {})
    with refused(InputError, field="contacts", value="box"):
        balance_of(Log(box.model, [0.0], [box.model.neutral()], [rest]))
    with refused(InputError, field="points", value=(1, 2)):
        convex_hull([[np.nan, 0.0]])


@pytest.mark.fuzz
def test_zero_moment_point_is_that_of_the_rates_of_momentum() -> None:
    model = ada.load("hoap2_standing")
    rng = np.random.default_rng(1)
    push = half_sine("body", [3.0, 1.0, 0.0, 0.0, 0.0, 0.0], 0.0, 0.2, frame="world")
    log = ada.Simulation(
        model,
        np.zeros(10),
        tau=rng.uniform(-0.2, 0.2, 10),
        step=1e-3,
        external=[push, constant("left_foot", np.zeros(6), frame="world")],
    ).run(0.15)
    found = fixed_feet_of(log)
    com, wrench = ground_wrench(log.dynamics, log.q, log.v, log.a, log.external)
    about_origin = wrench[:, 3:] + np.cross(com, wrench[:, :3])
    foot, at = model.links["right_foot"], log.dynamics.forward_kinematics(log.q[0])["right_foot"]
    weight = np.array([0.0, 0.0, foot.mass * 9.81])
    force = wrench[:, :3] + weight
    moment = about_origin + np.cross(at[:3, 3] + at[:3, :3] @ foot.com, weight)
    wanted = np.column_stack([-moment[:, 1], moment[:, 0]]) / force[:, 2:]
    assert found.zmp[:, :2] == pytest.approx(wanted, abs=1e-9)
    total = sum(found.wrenches.values())
    assert np.asarray(total)[:, :3] == pytest.approx(force, abs=1e-9 * 70.0)


def test_margins_are_those_within_the_hull_of_both_soles_and_none_where_the_feet_pull() -> None:
    model, rest = ada.load("hoap2_standing"), np.zeros(10)
    pushes = [np.array([0.0, 0.0, fz, 0.0, ny, 0.0]) for ny, fz in ((0.0, 0.0), (20.0, 0.0), (0.0, 200.0))]
    tau = ada.Dynamics(model).inverse(rest, rest, rest)
    still = half_sine("body", np.zeros(6), 0.0, 0.2, frame="world")  # the kernel of the test above
    acting = [[still, constant("left_foot", w, frame="world")] for w in pushes]
    logs = [ada.Simulation(model, rest, tau=tau, step=1e-3, external=one) for one in acting]
    level, tilted, lifted = (fixed_feet_of(sim.run(0.002)) for sim in logs)
    for found in (level, tilted):
        assert found.margin == pytest.approx(margins(found.zmp[:, :2], found.soles), abs=1e-14)
    assert np.ptp(level.soles, axis=0) == pytest.approx([0.094, 0.078 + 0.062])
    com = ada.Dynamics(model).com(rest)
    assert np.abs(level.zmp[0, :2] - com[:2]).max() < 1e-3  # at rest it is under the centre of all mass
    assert level.margin[0] > 0.0 > tilted.margin[0]
    assert (lifted.margin == -np.inf).all()


def test_a_robot_without_fixed_feet_is_refused() -> None:
    model = ada.load("pa10")
    with refused(InputError, field="model", value="pa10"):
        fixed_feet_of(ada.Simulation(model, np.zeros(7)).run(0.002))
