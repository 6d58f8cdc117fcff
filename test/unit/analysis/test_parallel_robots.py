# SPDX-License-Identifier: Apache-2.0
"""Singular configurations, workspaces and coupler curves of parallel robots and linkages, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from loop_robots import mechanism, slider_crank
from refused import refused

import ada_dynamics as ada
from ada_dynamics.analysis.linkages import coupler_curve, dead_points, point_path, transmission_angle
from ada_dynamics.analysis.singularity import singularity_distance
from ada_dynamics.analysis.workspace import singularity_map, workspace
from ada_dynamics.errors import InputError
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.robots import mechanisms

LINK, WIDTH = 0.35, 0.3  # of the five-bar with four equal links
TIP = {"link": "left_rod", "rows": "linear", "point": (0.0, 0.0, LINK)}


def five_bar(tip=(0.15, 0.45), lengths=(LINK,) * 4):
    model, q = mechanisms.five_bar(lengths, width=WIDTH, tip=tip)
    return ada.Dynamics(model, q0=q), q


def driven(made, names):
    """The mechanism with motors at these joints alone."""
    parts = Parts.of(made[0])
    parts.actuated = list(names)
    return ada.Dynamics(parts.build(), q0=made[1]), made[1]


def rhombus(crank):
    return np.array([crank, 0.5 * np.pi - crank, crank + 0.5 * np.pi])


@pytest.fixture(scope="module")
def two_arms():
    return five_bar()


def kinds_of(dynamics, link, q, **options):
    return singularity_distance(dynamics, link, q, **options).kinds(1e-6)


def test_a_five_bar_is_singular_in_parallel_where_its_rods_lie_on_one_line():
    dynamics, q = five_bar((0.15, np.sqrt(LINK**2 - 0.2**2)))
    assert kinds_of(dynamics, q=q, **TIP) == ["parallel"]
    assert np.isinf(singularity_distance(dynamics, q=q, **TIP).condition)


def test_a_five_bar_is_singular_in_series_where_an_arm_is_stretched():
    reach = 2.0 * LINK
    dynamics, q = five_bar((reach * np.sin(0.4), reach * np.cos(0.4)))
    assert kinds_of(dynamics, q=q, **TIP) == ["serial"]


def test_a_rhombus_on_one_line_loses_a_condition_of_its_loop():
    flat = rhombus(0.5 * np.pi)
    alone, _ = driven(mechanisms.four_bar(), ["joint_1"])
    assert kinds_of(alone, "link_2", flat) == ["parallel", "constraint"]
    # motors on all joints know both of its motions there: redundant ones remove the parallel kind
    everywhere = ada.Dynamics(mechanisms.four_bar()[0], q0=rhombus(0.7))
    assert kinds_of(everywhere, "link_2", flat) == ["constraint"]
    assert kinds_of(everywhere, "link_2", rhombus(0.7)) == []


@pytest.mark.parametrize("angle", [0.3, 1.1, 2.4])
def test_the_motor_s_share_of_a_slider_crank_is_its_closed_form(angle):
    crank, rod = 0.3, 0.7
    model, q = slider_crank(crank, rod, angle=angle)
    dynamics = ada.Dynamics(model, q0=q)
    t = q[0] + q[1]
    of_rod = -crank * np.sin(angle) / (rod * np.sin(t))  # dt/dθ
    motion = np.array([1.0, of_rod - 1.0, -of_rod])
    slide = crank * np.cos(angle) + rod * np.cos(t) * of_rod
    found = singularity_distance(dynamics, "slider", q, rows="linear")
    assert found.parallel == pytest.approx(1.0 / np.linalg.norm(motion), rel=1e-12)
    assert found.serial == pytest.approx(
        abs(slide) / dynamics.constraints.coordinates.length / np.linalg.norm(motion), rel=1e-12
    )
    assert found.condition == pytest.approx(1.0)


def test_a_link_that_nothing_moves_is_refused(two_arms):
    dynamics, q = two_arms
    with refused(ada.InputError, link="base"):
        singularity_distance(dynamics, "base", q)


X, Z = np.linspace(-0.65, 0.95, 28), np.linspace(-0.74, 0.76, 31)


@pytest.fixture(scope="module")
def whole(two_arms):
    dynamics, q = two_arms
    return singularity_map(dynamics, q=q, axes={"x": X, "z": Z}, **TIP)


def test_the_workspace_of_a_five_bar_is_where_both_arms_reach(whole):
    x, z = np.meshgrid(X, Z, indexing="ij")
    room = 2.0 * LINK - np.maximum(np.hypot(x, z), np.hypot(x - WIDTH, z))
    np.testing.assert_array_equal(whole.workspace.is_reached, room > 0.0)
    assert np.min(np.abs(room)) > 1e-3  # no place is on the border
    for part in whole.distance:
        np.testing.assert_array_equal(np.isfinite(part), room > 0.0)


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ({"axes": {"u": [0.0, 1.0]}}, {"field": "axis", "value": "u"}),
        ({"axes": {"x": [0.1, 0.0]}}, {"field": "x", "allowed": "finite numbers in ascending order"}),
        ({"axes": {}}, {"field": "axes"}),
        ({"axes": {"ry": [0.0]}}, {"field": "rows", "allowed": 4}),
        ({"axes": {"x": [0.1]}, "rows": [0]}, {"link": "left_rod", "field": "rows", "value": 1}),
        ({"axes": {"x": [0.1]}, "rows": "all"}, {"link": "left_rod", "field": "rows", "value": 2}),
        ({"axes": {"x": [3.0, 3.1]}}, {"link": "left_rod", "field": "axes"}),
    ],
)
def test_grids_that_cannot_be_are_refused(two_arms, options, facts):
    dynamics, q = two_arms
    with refused(ada.InputError, **facts):
        workspace(dynamics, q=q, **{**TIP, **options})


def test_a_stewart_platform_is_as_stiff_against_its_motors_as_the_sum_over_its_legs():
    model, q = mechanisms.stewart()
    dynamics = ada.Dynamics(model, q0=q)
    k = {name: 1e5 * (i + 1) for i, name in enumerate(model.actuated)}
    poses, wanted = dynamics.forward_kinematics(q), np.zeros((6, 6))
    for i, stiffness in enumerate(k.values(), start=1):
        ball = (poses["platform"] @ [*model.loops[f"leg_{i}_ball"].child_xyz, 1.0])[:3]
        u = ball - poses[f"leg_{i}_sleeve"][:3, 3]
        u /= np.linalg.norm(u)
        w = np.concatenate([u, np.cross(ball - poses["platform"][:3, 3], u)])
        wanted += stiffness * np.outer(w, w)
    J = dynamics.jacobian("platform", q, coordinates="actuated")
    np.testing.assert_allclose(J / list(k.values()) @ J.T @ wanted, np.eye(6), atol=1e-10)


# Lengths of the inner four-bar of `stephenson_six_bar` [m], and the point of the coupler with the outer rods.
CRANK, COUPLER, ROCKER, GROUND = 0.3, 0.8, 0.7, 0.9
POINT = (-0.3, 0.0, 0.5)
ANGLES = 0.6 + np.linspace(0.0, 2.0 * np.pi, 361)


@pytest.fixture(scope="module")
def dynamics() -> ada.Dynamics:
    model, q = mechanism("stephenson_six_bar")
    return ada.Dynamics(model, q0=q)


def knee(angles: np.ndarray) -> np.ndarray:
    """Pin of coupler and rocker, as x + iz, by the triangle over the line from the crank's pin to the pivot."""
    pin = CRANK * (np.sin(angles) + 1j * np.cos(angles))
    line = GROUND - pin
    cosine = (COUPLER**2 + np.abs(line) ** 2 - ROCKER**2) / (2.0 * COUPLER * np.abs(line))
    return pin + COUPLER * line / np.abs(line) * np.exp(1j * np.arccos(cosine))


def test_the_coupler_curve_is_the_circles_one(dynamics: ada.Dynamics) -> None:
    q, points = coupler_curve(dynamics, "coupler", "crank", ANGLES, POINT)
    pin = CRANK * (np.sin(ANGLES) + 1j * np.cos(ANGLES))
    up = (knee(ANGLES) - pin) / COUPLER  # z of the coupler; its x is -i times that
    expected = pin + up * (-1j * POINT[0] + POINT[2])
    assert np.max(np.abs(points[:, 0] + 1j * points[:, 2] - expected)) < 1e-10
    assert not points[:, 1].any()
    assert np.max(dynamics.constraints.closure_error(q)) < 1e-10


def test_transmission_angle_and_dead_points_are_those_of_triangles(dynamics: ada.Dynamics) -> None:
    q = coupler_curve(dynamics, "coupler", "crank", ANGLES)[0]
    pin = (0.0, 0.0, ROCKER)
    found = transmission_angle(dynamics, q, ("coupler", (0, 0, 0)), ("rocker", pin), ("rocker", (0, 0, 0)))
    diagonal = np.abs(GROUND - CRANK * (np.sin(ANGLES) + 1j * np.cos(ANGLES)))
    angle = np.arccos((COUPLER**2 + ROCKER**2 - diagonal**2) / (2.0 * COUPLER * ROCKER))
    assert found == pytest.approx(np.minimum(angle, np.pi - angle), abs=1e-10)
    assert not len(dead_points(dynamics, ANGLES, q))  # by its crank
    # By its rocker it is dead where crank and coupler are on one line: a triangle of sides 0.9, 0.7 and 0.8 ± 0.3.
    dead = []
    for reach, behind in ((COUPLER + CRANK, 0.0), (COUPLER - CRANK, np.pi)):
        above = np.arccos((reach**2 + GROUND**2 - ROCKER**2) / (2.0 * reach * GROUND))
        dead.append((0.5 * np.pi - above + behind - 0.6) % (2.0 * np.pi) + 0.6)
    assert dead_points(dynamics, ANGLES, q, ["rocker"]) == pytest.approx(sorted(dead), abs=1e-4)  # of a parabola


def test_the_path_of_a_point_over_a_log_is_that_of_its_poses(dynamics: ada.Dynamics) -> None:
    log = ada.Simulation(dynamics.model, q=mechanism("stephenson_six_bar").q).run(0.05)
    poses = dynamics.pose("coupler", log.q)
    expected = poses[:, :3, 3] + poses[:, :3, 0] * POINT[0] + poses[:, :3, 2] * POINT[2]
    assert np.max(np.abs(log.path("coupler", POINT) - expected)) < 1e-14
    with refused(InputError, value="nowhere"):
        point_path(dynamics, "nowhere", log.q)
