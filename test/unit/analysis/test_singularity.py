# SPDX-License-Identifier: Apache-2.0
"""det(J Jᵀ) against closed forms, and the times at which singular poses are passed."""

import numpy as np
import pytest
from refused import refused
from tiers import nightly

from ada_dynamics import Builder, Dynamics, Simulation, assemble
from ada_dynamics.analysis.power import power_balance
from ada_dynamics.analysis.singularity import (
    closing_condition,
    gram_determinant,
    loop_jacobian,
    loop_measure,
    passings,
    point_jacobian,
    singularity_measure,
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
    return Dynamics(model, pose=q)


def rhombus_poses(crank):
    """The parallelogram's poses by its crank's angle: the coupler stays level."""
    return np.column_stack([crank, 0.5 * np.pi - crank, crank + 0.5 * np.pi])


def test_the_measure_of_a_two_link_arm_is_its_closed_form(arm):
    q = np.random.default_rng(1).uniform(-3.0, 3.0, size=(50, 2))
    found = singularity_measure(arm, "link_2", q, rows="linear", point=(0.0, 0.0, 0.7))
    np.testing.assert_allclose(found, (1.0 * 0.7 * np.sin(q[:, 1])) ** 2, atol=1e-14)
    assert singularity_measure(arm, "link_2", q[0], rows="linear", point=(0, 0, 0.7)) == pytest.approx(found[0])


def test_the_jacobian_of_a_point_is_the_rate_of_its_place(arm):
    q, v, h, point = np.array([0.3, -0.8]), np.array([1.0, 0.4]), 1e-6, np.array([0.1, 0.2, 0.7])

    def place(x):
        pose = arm.pose("link_2", x)
        return pose[:3, 3] + pose[:3, :3] @ point

    moved = (place(q + h * v) - place(q - h * v)) / (2.0 * h)
    # central differences: h² of the third derivative, and 1e-16/h of rounding
    np.testing.assert_allclose(point_jacobian(arm, "link_2", q, point)[:3] @ v, moved, atol=1e-9)


def test_the_rhombus_has_the_sum_of_its_four_triangles(rhombus):
    """By Cauchy and Binet det(J Jᵀ) of the planar 4R is Σ (2 area)² over the triangles of its pivots: 4 cos² here."""
    crank = np.linspace(-3.0, 3.0, 61)
    np.testing.assert_allclose(
        loop_measure(rhombus, "closing", rhombus_poses(crank)), 4.0 * np.cos(crank) ** 2, atol=1e-13
    )


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
    q = np.array(assemble(model, model.neutral()))
    dynamics = Dynamics(model, pose=q)
    _, v = dynamics.project(q, np.random.default_rng(3).normal(size=6))
    assert np.max(np.abs(v)) > 0.1
    J = loop_jacobian(dynamics, "holds", q)
    moved, own = J[:, :6] @ v, J[:, 6:]
    assert own.shape[1] == dynamics.loop_state(q).mobility
    left = moved - own @ np.linalg.lstsq(own, moved, rcond=None)[0]
    np.testing.assert_allclose(left, 0.0, atol=1e-12)


def test_the_paper_s_fall_passes_five_singular_poses_and_loses_no_energy():
    """Takahashi 2012, sec. 3.3: from (60, 30, 150) deg, 3 s at 1 ms; fig. 3.17 (f) shows five, and an energy jump."""
    model, _ = four_bar()
    log = Simulation(model, q=np.radians([60.0, 30.0, 150.0])).run(3.0)
    found = passings(log.t, loop_measure(log.dynamics, "closing", log.q))
    assert len(found) == 5
    cranks = [log.at(t)[0][0] for t in found]
    np.testing.assert_allclose(np.degrees(cranks), [90.0, 270.0, 270.0, 90.0, 90.0], atol=1e-3)
    assert power_balance(log).worst < 1e-9


def test_minima_away_from_zero_and_ends_are_no_passings():
    t = np.linspace(0.0, 1.0, 1001)
    assert len(passings(t, 1.01 + np.cos(20.0 * t))) == 0
    assert len(passings(t, t**2)) == 0
    assert len(passings([0.0, 1.0], [0.0, 1.0])) == 0


def test_the_closing_solve_loses_its_rank_where_the_measure_vanishes(rhombus):
    crank = np.array([0.3, 0.5 * np.pi - 1e-3, 0.5 * np.pi])
    sigma = closing_condition(rhombus, rhombus_poses(crank))
    assert sigma[0] > 0.05 and 1e-5 < sigma[1] < 1e-2 and sigma[2] < 1e-12
    assert len(closing_condition(rhombus, rhombus_poses(crank), every=2)) == 2


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
        (lambda arm: loop_measure(arm, "closing", np.zeros(2)), {"loop": "closing"}),
        (lambda arm: closing_condition(arm, np.zeros(2), every=0), {"field": "every", "value": 0}),
        (lambda arm: gram_determinant(np.zeros(3)), {"field": "J", "value": (3,)}),
        (lambda arm: passings([0.0, 1.0], [0.0]), {"field": "times", "value": (2,)}),
    ],
)
def test_questions_without_an_answer_are_refused(arm, call, facts):
    with refused(InputError, **facts):
        call(arm)
