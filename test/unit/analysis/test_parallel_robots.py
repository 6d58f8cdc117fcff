# SPDX-License-Identifier: Apache-2.0
"""Kinds of singular poses, workspaces, their maps, and the stiffness of links, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from refused import refused

import ada_dynamics as ada
from ada_dynamics.analysis.singularity import singularity_distance
from ada_dynamics.analysis.stiffness import link_stiffness
from ada_dynamics.analysis.workspace import singularity_map, workspace
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
    model, q = mechanisms.slider_crank(crank, rod, angle=angle)
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


def test_the_stiffness_of_a_stewart_platform_is_the_sum_over_its_legs():
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
    found = link_stiffness(dynamics, "platform", q, k)
    np.testing.assert_allclose(found.stiffness, wanted, atol=1e-12 * np.max(wanted))
    np.testing.assert_allclose(found.compliance @ wanted, np.eye(6), atol=1e-10)
    assert found.rigid == 0


@pytest.mark.parametrize(("name", "link", "rigid"), [("five_bar", "left_rod", 4), ("delta", "platform", 3)])
def test_directions_that_the_loops_hold_are_rigid_and_the_others_feel_the_motors(name, link, rigid):
    model, q = getattr(mechanisms, name)()
    dynamics = ada.Dynamics(model, q0=q)
    v = dynamics.constraints.complete_velocity(q, np.full(len(model.actuated), 0.2))
    several = np.array([q, dynamics.project_to_constraints(model.integrate(q, v, 0.3), v)[0]])
    k = np.arange(1.0, 1.0 + len(model.actuated))
    found = link_stiffness(dynamics, link, several, dict(zip(model.actuated, k.tolist(), strict=True)))
    J = dynamics.jacobian(link, several, coordinates="actuated")
    np.testing.assert_allclose(J.swapaxes(1, 2) @ found.stiffness @ J, np.tile(np.diag(k), (2, 1, 1)), atol=1e-10)
    np.testing.assert_allclose(found.compliance, J @ np.diag(1.0 / k) @ J.swapaxes(1, 2), atol=1e-12)
    np.testing.assert_array_equal(found.rigid, rigid)
    alone = link_stiffness(dynamics, link, several[1], dict(zip(model.actuated, k.tolist(), strict=True)))
    np.testing.assert_allclose(alone.stiffness, found.stiffness[1], atol=1e-10)


def test_a_link_that_the_motors_do_not_hold_in_a_pose_has_no_stiffness():
    dynamics, q = five_bar((0.15, np.sqrt(LINK**2 - 0.2**2)))
    with refused(ada.SingularConfigurationError, field="q[1]"):
        link_stiffness(dynamics, "left_rod", np.array([five_bar()[1], q]), 10.0)


@pytest.mark.parametrize(
    ("joints", "facts"),
    [
        ({"left_crank": 1.0}, {"joint": "right_crank", "field": "stiffness"}),
        ({"left_crank": 1.0, "right_crank": -1.0}, {"joint": "right_crank", "field": "stiffness", "value": -1.0}),
        ({"left_crank": 1.0, "right_crank": 1.0, "elbow": 1.0}, {"joint": "elbow"}),
        (np.nan, {"joint": "left_crank", "field": "stiffness"}),
    ],
)
def test_stiffness_that_cannot_be_is_refused(two_arms, joints, facts):
    dynamics, q = two_arms
    with refused(ada.InputError, **facts):
        link_stiffness(dynamics, "left_rod", q, joints)
