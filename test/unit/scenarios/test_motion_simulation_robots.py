# SPDX-License-Identifier: Apache-2.0
"""The two simulated robots of the hybrid motion simulation: momentum, relative motion, and the robots of S1."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

import ada_dynamics as ada
from ada_dynamics.simulation.forces import constant
from ada_experiments.motion_simulation.robots import BASE, FREE, SECOND, PairSettings, RobotPair

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


def test_effective_mass_is_force_by_acceleration_with_an_arm_held_hard() -> None:
    hard = RobotPair(PairSettings(link_mass_1=1e4))
    alone = hard.relative(np.array([0.0, 0.0, -1.0, 0.0, 0.0, 0.0])).acceleration[2]  # along the axis of the tip
    assert hard.effective_mass() == pytest.approx(1.0 / abs(alone), rel=5e-3)  # robot 1 is 10^3 times heavier


@pytest.mark.parametrize("algorithm", ["ada", "aba"])
def test_all_algorithms_give_the_same_motion(pair: RobotPair, algorithm: str) -> None:
    other = RobotPair(replace(pair.settings, algorithm=algorithm))
    for _ in range(50):
        pair.step(WRENCH)
        other.step(WRENCH)
    assert np.allclose(other.q, pair.q, atol=1e-13)
    assert np.allclose(other.v, pair.v, atol=1e-13)


def test_a_pushed_pair_moves_as_in_a_simulation_with_that_wrench() -> None:
    free = RobotPair(PairSettings(hold_stiffness=0.0, hold_damping=0.0))
    model, (q, v) = free.model, free.start
    _, wrench = free.in_world(WRENCH)
    at = free.mounting.face_on_robot[:3, 3].tolist()
    push = constant(SECOND + BASE, wrench, frame="world", at=at)
    sim = ada.Simulation(model, q=q, v=v, step=free.settings.step, external=[push], algorithm="aba")
    free.step(WRENCH)
    sim.step(1)
    second = slice(model.q_index(SECOND + FREE).start, None)
    assert np.allclose(free.q[second], sim.q[second], atol=1e-15)
