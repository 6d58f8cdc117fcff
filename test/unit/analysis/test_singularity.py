# SPDX-License-Identifier: Apache-2.0
"""det(J Jᵀ) against closed forms, and the times at which singular poses are passed."""

from __future__ import annotations

import numpy as np
import pytest
from loop_robots import mechanism
from refused import refused
from tiers import nightly

import ada_dynamics as ada
from ada_dynamics import Builder, Dynamics, Simulation, close_loops
from ada_dynamics.analysis.motion import LoopJointMotion, revolute_loops
from ada_dynamics.analysis.power import power_balance
from ada_dynamics.analysis.singularity import (
    gram_determinant,
    loop_jacobian,
    loop_singularity_measure,
    singularity_measure,
    singularity_times,
)
from ada_dynamics.errors import InputError
from ada_dynamics.model import planar_chain
from ada_dynamics.robots.mechanisms import four_bar


@pytest.fixture(scope="module")
def arm():
    return Dynamics(planar_chain(2))


@pytest.fixture(scope="module")
def rhombus():
    model, q = four_bar()
    return Dynamics(model, q0=q)


def test_the_measure_of_a_two_link_arm_is_its_closed_form(arm):
    q = np.random.default_rng(1).uniform(-3.0, 3.0, size=(50, 2))
    found = singularity_measure(arm, "link_2", q, rows="linear", point=(0.0, 0.0, 0.7))
    np.testing.assert_allclose(found, (1.0 * 0.7 * np.sin(q[:, 1])) ** 2, atol=1e-14)
    assert singularity_measure(arm, "link_2", q[0], rows="linear", point=(0, 0, 0.7)) == pytest.approx(found[0])


def test_the_rhombus_has_the_sum_of_its_four_triangles(rhombus):
    crank = np.linspace(-3.0, 3.0, 61)
    q = np.column_stack([crank, 0.5 * np.pi - crank, crank + 0.5 * np.pi])  # the coupler stays level
    np.testing.assert_allclose(loop_singularity_measure(rhombus, "closing", q), 4.0 * np.cos(crank) ** 2, atol=1e-13)


LOOPS = ("revolute", "prismatic", "spherical", *map(nightly, ("cylindrical", "universal", "planar")))


@pytest.mark.parametrize("kind", LOOPS)
def test_what_a_loop_joint_lets_a_body_do_is_within_its_own_columns(kind):
    builder = Builder("held").link("base").link("body", 1.0, inertia=(0.1, 0.2, 0.3))
    builder.joint("free", "floating", "base", "body")
    axes = {"axis": (0.6, 0.0, 0.8)} | ({"axis2": (0.0, 1.0, 0.0)} if kind == "universal" else {})
    ends = {"child_xyz": (0.1, 0.0, 0.2), "child_rpy": (0.3, -0.2, 0.5)}
    model = builder.loop(
        "holds", kind, "body", "base", (0.2, 0.1, 0.0), **ends, **(axes if kind != "spherical" else {})
    ).build()
    q = np.array(close_loops(model, model.neutral()))
    dynamics = Dynamics(model, q0=q)
    _, v = dynamics.project_to_constraints(q, np.random.default_rng(3).normal(size=6))
    assert np.max(np.abs(v)) > 0.1
    J = loop_jacobian(dynamics, "holds", q)
    moved, own = J[:, :6] @ v, J[:, 6:]
    assert own.shape[1] == dynamics.constraints.state(q).mobility
    left = moved - own @ np.linalg.lstsq(own, moved, rcond=None)[0]
    np.testing.assert_allclose(left, 0.0, atol=1e-12)


def test_the_paper_s_fall_passes_five_singular_poses_and_loses_no_energy():
    model, _ = four_bar()
    log = Simulation(model, q=np.radians([60.0, 30.0, 150.0])).run(3.0)
    found = singularity_times(log.t, loop_singularity_measure(log.dynamics, "closing", log.q))
    assert len(found) == 5
    cranks = [log.at(t)[0][0] for t in found]
    np.testing.assert_allclose(np.degrees(cranks), [90.0, 270.0, 270.0, 90.0, 90.0], atol=1e-3)
    assert power_balance(log).worst < 1e-9


def test_minima_away_from_zero_and_ends_are_no_passings():
    t = np.linspace(0.0, 1.0, 1001)
    assert len(singularity_times(t, 1.01 + np.cos(20.0 * t))) == 0
    assert len(singularity_times(t, t**2)) == 0
    assert len(singularity_times([0.0, 1.0], [0.0, 1.0])) == 0


@pytest.mark.parametrize(
    ("call", "facts"),
    [
        (lambda arm: singularity_measure(arm, "hand", np.zeros(2)), {"link": "hand"}),
        (
            lambda arm: singularity_measure(arm, "link_2", np.zeros(2), rows="liner"),
            {"field": "set of rows", "value": "liner"},
        ),
        (lambda arm: singularity_measure(arm, "link_2", np.zeros(2), rows=[7]), {"field": "rows", "value": (7,)}),
        (lambda arm: singularity_measure(arm, "base", np.zeros(2)), {"field": "J", "value": 0.0}),
        (lambda arm: loop_singularity_measure(arm, "closing", np.zeros(2)), {"loop": "closing"}),
        (lambda arm: gram_determinant(np.zeros(3)), {"field": "J", "value": (3,)}),
        (lambda arm: singularity_times([0.0, 1.0], [0.0]), {"field": "times", "value": (2,)}),
    ],
)
def test_questions_without_an_answer_are_refused(arm, call, facts):
    with refused(InputError, **facts):
        call(arm)


STEP = 1e-5  # [s]; central differences: 1e-10 of truncation, 1e-11 of rounding


@pytest.mark.parametrize("degrees", [(135.0, -45.0, 225.0, 135.0), (60.0, 30.0, 150.0, 60.0)])
def test_the_fourth_angle_is_the_one_that_the_thesis_prints(degrees: tuple[float, ...]) -> None:
    model = ada.load("closed_4r")
    angle = LoopJointMotion(Dynamics(model), "joint_4").angle(np.radians([degrees[:3]]))
    assert np.degrees(angle[0]) == pytest.approx(degrees[3])


def test_in_space_velocity_and_acceleration_are_the_angles_rates() -> None:
    model, q = mechanism("bennett")
    dynamics = Dynamics(model, q0=q)
    (name,) = revolute_loops(model)
    joint = LoopJointMotion(dynamics, name)
    _, v = dynamics.project_to_constraints(q, np.ones(model.nv))
    a = dynamics.forward(q, v, np.zeros(model.nv))
    times = np.array([-STEP, 0.0, STEP])[:, None]
    positions, speeds = q + times * v + 0.5 * times**2 * a, v + times * a
    angles = joint.angle(positions)
    rates = joint.rate(positions, speeds)
    assert rates[1] == pytest.approx((angles[2] - angles[0]) / (2 * STEP), abs=1e-8)
    found = joint.acceleration(positions, speeds, np.tile(a, (3, 1)))[1]
    assert found == pytest.approx((rates[2] - rates[0]) / (2 * STEP), abs=1e-6)
    assert abs(found) > 0.01


def test_other_joints_are_refused_by_name() -> None:
    with refused(InputError, field="revolute joint that closes a loop", value="joint_1"):
        LoopJointMotion(Dynamics(ada.load("closed_4r")), "joint_1")
