# SPDX-License-Identifier: Apache-2.0
"""The two simulated robots of the hybrid motion simulation: momentum, relative motion, and the robots of S1."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from refused import refused

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_dynamics.simulation.profiles import constant
from ada_experiments.motion_simulation.free_robot import FreeRobot, JointHold, WrenchPoint, with_masses
from ada_experiments.motion_simulation.robot_pair import BASE, LAST, PairSettings, RobotPair
from ada_robot.settings import checked

Array = NDArray[np.float64]

WRENCH = np.array([0.5, -0.3, -4.0, 0.05, 0.1, -0.02])


@pytest.fixture(scope="module")
def pair() -> RobotPair:
    return RobotPair(PairSettings())


@pytest.fixture(autouse=True)
def anew(pair: RobotPair) -> None:
    pair.reset()


def test_opposite_wrenches_at_one_point_keep_the_momentum_of_both(pair: RobotPair) -> None:
    before = pair.momentum()
    for _ in range(100):
        pair.step(WRENCH)
    change = np.abs(pair.momentum() - before)
    pushed = float(np.linalg.norm(WRENCH[:3])) * 100 * pair.settings.step
    # linear: the integrator's own, of order 5; angular: the place of the force slides with 0.02 m/s for 2 ms, 4e-5 m
    assert change[:3].max() < 1e-9 * pushed
    assert change[3:].max() < 4e-5 * pushed


def test_the_work_of_the_wrench_is_the_energy_of_the_robots(pair: RobotPair) -> None:
    before, work = pair.energy(), 0.0
    wrench = np.array([0.0, 0.0, -2.0, 0.0, 0.0, 0.0])
    rate = pair.relative(wrench).twist[:3]
    for _ in range(100):
        pair.step(wrench)
        now = pair.relative(wrench).twist[:3]
        work -= 0.5 * pair.settings.step * float(wrench[:3] @ (rate + now))
        rate = now
    # trapezoids of 2 ms, against robot 1's hold that rings with 100 rad/s: (ωh)²/12 of a per cent of the work
    assert pair.energy() - before == pytest.approx(work, rel=2e-3)


def test_relative_acceleration_is_the_rate_of_the_velocity_where_no_hold_rings() -> None:
    soft = RobotPair(PairSettings(hold_stiffness=100.0, hold_damping=10.0))
    h = soft.settings.step
    before = soft.relative(WRENCH).twist
    soft.step(WRENCH)
    middle = soft.relative(WRENCH).acceleration
    soft.step(WRENCH)
    after = soft.relative(WRENCH).twist
    assert np.allclose((after - before) / (2.0 * h), middle, atol=1e-5)


def test_effective_mass_is_force_by_acceleration_with_an_arm_held_hard() -> None:
    hard = RobotPair(PairSettings(link_mass_1=1e4, base_mass_1=1e4))
    free = RobotPair(PairSettings(link_mass_1=1e4, base_mass_1=1e4))
    force = np.array([0.0, 0.0, -1.0, 0.0, 0.0, 0.0])
    robot = free.two
    given = free.in_world(force)[1]
    alone = float(robot.motion(robot.accelerations(given)).acceleration[0])  # of the face, along the world's x
    assert hard.effective_mass() == pytest.approx(1.0 / abs(alone), rel=5e-3)  # robot 1 is 10^3 times heavier


@pytest.mark.parametrize("algorithm", ["ada", "aba"])
def test_all_algorithms_give_the_same_motion(pair: RobotPair, algorithm: str) -> None:
    other = RobotPair(replace(pair.settings, algorithm=algorithm))
    for _ in range(50):
        pair.step(WRENCH)
        other.step(WRENCH)
    assert np.allclose(other.one.q, pair.one.q, atol=1e-13)
    assert np.allclose(other.two.v, pair.two.v, atol=1e-13)


def test_a_pushed_robot_moves_as_in_a_simulation_with_that_wrench(pair: RobotPair) -> None:
    robot = pair.two
    wrench = np.array([-3.0, 0.4, 0.1, 0.02, -0.03, 0.2])
    push = constant(BASE, wrench, frame="world", at=robot.place.frame[:3, 3].tolist())
    sim = ada.Simulation(robot.model, q=robot.q, v=robot.v, step=2e-3, external=[push], algorithm="aba")
    for _ in range(50):
        robot.step(wrench)
    sim.step(50)
    assert np.allclose(robot.q, sim.q, atol=1e-13)
    assert np.allclose(robot.v, sim.v, atol=1e-13)


@pytest.mark.parametrize(
    "values",
    [{"arm_1": [0.0, 1.0]}, {"algorithm": "newton"}, {"step": 0.0}, {"approach": -0.01}, {"link_mass_1": np.nan}],
)
def test_wrong_settings_are_refused_by_name(values: dict[str, object]) -> None:
    with refused(InputError, field=next(iter(values))):
        checked(PairSettings, values)


def test_what_a_robot_cannot_be_is_refused() -> None:
    model = ada.load("space_robot_b")
    q, v = model.neutral(), np.zeros(model.nv)
    with refused(InputError, link="link_9"):
        FreeRobot(model, q, v, WrenchPoint("link_9", np.eye(4)))
    with refused(InputError, field="algorithm"):
        FreeRobot(model, q, v, WrenchPoint(LAST, np.eye(4)), algorithm="dca")
    with refused(InputError, field="state"):
        FreeRobot(model, q, v[:-1], WrenchPoint(LAST, np.eye(4)))
    with refused(InputError, field="stiffness"):
        JointHold(stiffness=-1.0)
    with refused(InputError, link="arm"):
        with_masses(model, {"arm": 1.0})
