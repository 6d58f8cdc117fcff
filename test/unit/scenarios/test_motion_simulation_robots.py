# SPDX-License-Identifier: Apache-2.0
"""The two robots of the hybrid motion simulation, and of S1: momentum, energy, relative motion and frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import ada_dynamics as ada
from ada_dynamics.dynamics.poses import inverse, wrench_matrix
from ada_dynamics.robots.mechanisms import hexa
from ada_dynamics.simulation.forces import constant
from ada_dynamics.spatial.orientation import pose_of
from ada_experiments import space_robots
from ada_experiments.motion_simulation import frames, motion_table
from ada_experiments.motion_simulation.frames import FrameMotion, Mounting, seen_from
from ada_experiments.motion_simulation.robots import BASE, FIRST, FREE, SECOND, TOUCH, PairSettings, RobotPair
from ada_experiments.settings import read_settings
from ada_experiments.space_robots import ContactRun, ContactSettings
from ada_tools.scenario.scenario import load

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


PLACES = st.tuples(*[st.floats(-2.0, 2.0)] * 3)
TURNS = st.tuples(*[st.floats(-1.5, 1.5)] * 3)
SIX = st.tuples(*[st.floats(-3.0, 3.0)] * 6).map(np.array)
EXACT = 1e-12  # a dozen products of numbers of order one


def test_a_turned_sensor_measures_in_its_own_axes() -> None:
    turned = Mounting(sensor_in_lab=pose_of((0.0, 0.0, -0.61), (0.0, 0.0, 0.5 * np.pi)))
    on_tip = turned.on_tip(np.array([0.0, -3.0, 0.0, 0.3, 0.0, 0.0]))
    assert np.allclose(on_tip, (3.0, 0.0, 0.0, 0.0, 0.0, 0.0), atol=EXACT)


@given(SIX, SIX, PLACES, TURNS)
def test_a_wrench_does_the_same_work_wherever_it_is_given(
    wrench: Array, twist: Array, place: tuple[float, ...], turn: tuple[float, ...]
) -> None:
    pose = pose_of(place, turn)
    R, at_the_frame = pose[:3, :3], twist[:3] + np.cross(twist[3:], pose[:3, 3])
    local = np.concatenate([R.T @ at_the_frame, R.T @ twist[3:]])
    assert float((wrench_matrix(pose) @ wrench) @ twist) == pytest.approx(float(wrench @ local), abs=1e-10)


def moving(seed: int) -> tuple[FrameMotion, FrameMotion]:
    rng = np.random.default_rng(seed)
    one, two = (
        FrameMotion(pose_of(rng.normal(size=3), rng.normal(size=3)), rng.normal(size=6), rng.normal(size=6))
        for _ in range(2)
    )
    return one, two


def later(motion: FrameMotion, t: float) -> Array:
    """Its pose after a time: with its velocity and acceleration at the start, exact to t²."""
    return frames.displaced(motion.pose, t * motion.twist + 0.5 * t * t * motion.acceleration)


def rates(pose_at: Callable[[float], Array], h: float = 1e-4) -> FrameMotion:
    """Motion of a frame by its poses a little before and after, in the axes they are given in."""
    pose = pose_at(0.0)
    ahead, back = (frames.displacement(pose, pose_at(t)) for t in (h, -h))
    return FrameMotion(pose, (ahead - back) / (2.0 * h), (ahead + back) / h**2)


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_motions_are_those_of_the_poses(seed: int) -> None:
    one, two = moving(seed)
    found, wanted = seen_from(one, two), rates(lambda t: inverse(later(one, t)) @ later(two, t))
    assert np.allclose(found.pose, wanted.pose, atol=EXACT)
    # second differences: h² times third and fourth derivatives of some hundred, and rounding 1e-16/h² = 1e-8
    assert np.allclose(found.twist, wanted.twist, atol=1e-5)
    assert np.allclose(found.acceleration, wanted.acceleration, atol=1e-4)
    mounting = Mounting()
    wanted = rates(lambda t: mounting.plate_pose(later(one, t)), 1e-5)
    assert np.allclose(mounting.plate_twist(one.pose, one.twist), wanted.twist, atol=1e-6)


STIFFNESS = 9766.0  # [N/m]


def test_jacobian_of_the_table_is_that_of_its_pose() -> None:
    table = hexa(position=(0.0, 0.0, -0.5), rpy=(0.0, 0.0, 0.0))
    model = table.model
    J = motion_table.plate_mechanics(pose_of((0.0, 0.0, -0.5))).jacobian
    step = 1e-4
    for i, motor in enumerate(model.actuated):
        moved = []
        for side in (1.0, -1.0):
            guess = table.q.copy()
            guess[model.q_index(motor)] += side * step
            moved.append(np.array(ada.close_loops(model, guess, hold=model.actuated)))
        found = model.difference(moved[1], moved[0])[model.v_index("platform")] / (2.0 * step)
        assert np.allclose(found, J[:, i], atol=1e-6)  # second differences: 1e-8 times third derivatives of some ten


@pytest.fixture(scope="module")
def chosen() -> ContactSettings:
    return read_settings(load("S1"), ContactSettings)._replace(duration=0.5)


@pytest.fixture(scope="module")
def approaching(chosen: ContactSettings) -> RobotPair:
    return RobotPair(chosen.pair)


@pytest.fixture(scope="module")
def touched(chosen: ContactSettings, approaching: RobotPair) -> ContactRun:
    return space_robots.touch("case", 200.0, STIFFNESS, approaching, chosen.duration, "ada")


def test_both_robots_start_a_gap_apart(approaching: RobotPair, chosen: ContactSettings) -> None:
    tip, face = approaching.frame_poses()
    assert face[:3, 3] - tip[:3, 3] == pytest.approx([chosen.pair.gap, 0.0, 0.0], abs=1e-12)
    assert approaching.gap_jacobian() @ approaching.v == pytest.approx(-chosen.pair.approach)


def test_momentum_and_energy_are_kept_and_the_touch_is_that_of_the_effective_mass(touched: ContactRun) -> None:
    assert touched.force.max() > 1.0
    assert max(space_robots.momentum_change(touched.log)) < 1e-9
    assert space_robots.energy_error(touched) < 1e-4
    assert touched.peak == pytest.approx(touched.lumped_peak, rel=0.05)
    assert touched.duration == pytest.approx(touched.lumped_duration, rel=0.05)


def test_the_force_of_the_log_is_the_spring(touched: ContactRun, approaching: RobotPair) -> None:
    dynamics = ada.Dynamics(approaching.model)
    row = int(np.argmax(touched.force))
    q = touched.log.q[row]
    side = dynamics.pose(SECOND + "base", q)
    tip = dynamics.pose(FIRST + "link_4", q) @ np.array([1.0, 0.0, 0.0, 1.0])
    depth = 0.5 - float(-side[:3, 0] @ (tip[:3] - side[:3, 3]))
    assert touched.force[row] == pytest.approx(STIFFNESS * depth, rel=1e-9)
    assert TOUCH in touched.log.contact_wrenches
