# SPDX-License-Identifier: Apache-2.0
"""Zero-moment point of fixed feet: that of Newton and Euler, whatever way the feet share the load."""

from __future__ import annotations

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.analysis.balance import ground_wrench
from ada_dynamics.analysis.fixed_feet import _margins, fixed_feet_of
from ada_dynamics.analysis.polygon import margin
from ada_dynamics.errors import InputError
from ada_dynamics.simulation.profiles import half_sine


def test_zero_moment_point_is_that_of_the_rates_of_momentum() -> None:
    """The robot's bodies but the right foot, which does not move and whose weight is added by hand."""
    model = ada.load("hoap2_standing")
    rng = np.random.default_rng(1)
    push = half_sine("body", [3.0, 1.0, 0.0, 0.0, 0.0, 0.0], 0.0, 0.2, frame="world")
    log = ada.Simulation(model, np.zeros(10), tau=rng.uniform(-0.2, 0.2, 10), step=1e-3, external=[push]).run(0.15)
    found = fixed_feet_of(log)
    com, wrench = ground_wrench(log.dynamics, log.q, log.v, log.a, log.external)
    about_origin = wrench[:, 3:] + np.cross(com, wrench[:, :3])
    foot, at = model.links["right_foot"], log.dynamics.poses(log.q[0])["right_foot"]
    weight = np.array([0.0, 0.0, foot.mass * 9.81])
    force = wrench[:, :3] + weight
    moment = about_origin + np.cross(at[:3, 3] + at[:3, :3] @ foot.com, weight)
    wanted = np.column_stack([-moment[:, 1], moment[:, 0]]) / force[:, 2:]
    assert found.zmp[:, :2] == pytest.approx(wanted, abs=1e-9)
    total = sum(found.wrenches.values())
    assert np.asarray(total)[:, :3] == pytest.approx(force, abs=1e-9 * 70.0)


def test_soles_are_the_hull_of_both_plates() -> None:
    model = ada.load("hoap2_standing")
    tau = ada.Dynamics(model).inverse(np.zeros(10), np.zeros(10), np.zeros(10))
    found = fixed_feet_of(ada.Simulation(model, np.zeros(10), tau=tau).run(0.01))
    assert np.ptp(found.soles, axis=0) == pytest.approx([0.094, 0.078 + 0.062])
    com = ada.Dynamics(model).com(np.zeros(10))
    assert np.abs(found.zmp[0, :2] - com[:2]).max() < 1e-3  # at rest it is under the centre of all mass
    assert found.margin == pytest.approx([margin(p[:2], found.soles) for p in found.zmp])


def test_margins_of_many_points_are_those_of_each() -> None:
    rng = np.random.default_rng(2)
    hull = np.array([[0.0, 0.0], [2.0, 0.2], [2.5, 1.5], [0.3, 1.8]])
    points = rng.uniform(-1.0, 3.0, (50, 2))
    assert _margins(points, hull) == pytest.approx([margin(p, hull) for p in points], abs=1e-14)
    assert _margins(np.array([[np.nan, 0.0]]), hull) == [-np.inf]


def test_a_robot_without_fixed_feet_is_refused() -> None:
    model = ada.load("pa10")
    with pytest.raises(InputError, match="no fixed joint or loop joins a foot of 'pa10'"):
        fixed_feet_of(ada.Simulation(model, np.zeros(7)).run(0.002))
