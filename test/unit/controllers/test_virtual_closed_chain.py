# SPDX-License-Identifier: Apache-2.0
"""Virtual closed chains of the planar robot of Takahashi 2012, chapter 7: against closed forms and pinocchio."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from refused import refused

import ada_dynamics as ada
from ada_controllers import JointReference, PoseReference, State, StateRefused, make
from ada_controllers.in_simulation import InSimulation
from ada_controllers.state import ReferenceRefused
from ada_controllers.virtual_closed_chain import VirtualClosedChain
from ada_experiments.pinocchio_model import PinocchioModel

Array = NDArray[np.float64]


def angle(degrees: float) -> JointReference:
    return JointReference(np.array([np.radians(degrees), 0.0, 0.0, 0.0]))


def moved(controller: Any, q: Array, reference: Any, duration: float, **more: Any) -> tuple[Any, InSimulation]:
    """The log of a simulation, and the loop that ran in it."""
    loop = InSimulation(controller, reference, period=1e-3, **more)
    return loop.simulation(controller.model, q, step=1e-3).run(duration), loop


def off_parallel(q: Array) -> float:
    """How far joints are, at most, from where a parallel four-bar has them [rad]."""
    turned = (q - q[0]) * [1.0, -1.0, 1.0, -1.0]
    return float(np.abs(turned - turned[:, :1]).max())


FOUR_BAR, SLIDER = "loops/parallel_four_bar.yaml", "loops/slider_crank.yaml"
START = np.radians([60.0, 30.0, 150.0, -60.0])  # sec. 7.2.2
GAINS = {"joint_stiffness": [5.0, 0, 0, 0], "joint_damping": [5.0, 0, 0, 0]}  # eqs. 7.11, 7.12
PULL = {  # eqs. 7.18, 7.19
    "loops": SLIDER,
    "link": "tip",
    "joint_stiffness": [0.0],
    "joint_damping": [0.0],
    "pose_stiffness": [10.0, 0, 0, 0, 0, 0],
    "pose_damping": [10.0, 0, 0, 0, 0, 0],
    "hold": 1e-3,
}
INERTIA = 5.0 / 3.0  # of the parallel four-bar about joint 1: rods 1 and 3 turn, ml²/3 each, rod 2 goes along, ml²


@pytest.fixture(scope="module")
def slider_start() -> Array:
    """Sec. 7.2.3, closed: the rod of two links from (sin 30, cos 30 deg) to the height of joint 1."""
    rod = np.arccos(-0.5 * np.cos(np.radians(30.0)))
    return np.array([np.radians(30.0), rod - np.radians(30.0), 0.0, np.pi - rod])


def four_bar(planar_4r: ada.Model, more: Mapping[str, Any] | None = None) -> VirtualClosedChain:
    made = make("virtual_closed_chain", planar_4r, {"loops": FOUR_BAR, **GAINS, **(more or {})})
    assert isinstance(made, VirtualClosedChain)
    return made


def tip_at(x: float, z: float = -0.5) -> PoseReference:
    pose = np.diag([-1.0, 1.0, -1.0, 1.0])
    pose[0, 3], pose[2, 3] = x, z
    return PoseReference(pose)


def test_the_four_bar_turns_as_one_body_with_a_spring_and_a_damper(planar_4r: ada.Model) -> None:
    log, _ = moved(four_bar(planar_4r, {"hold": 1e-3}), START, angle(0.0), 3.0)
    a, w = 1.5, np.sqrt(3.0) / 2.0  # roots of s² + 3 s + 3
    expected = START[0] * np.exp(-a * log.t) * (np.cos(w * log.t) + a / w * np.sin(w * log.t))
    # held torques are right to second order in the period: 1e-6 of it is left
    np.testing.assert_allclose(log.q[:, 0], expected, atol=3e-6)
    assert off_parallel(log.q) < 1e-6
    tip = ada.Dynamics(planar_4r).pose("tip", log.q)[:, :3, 3]
    assert np.abs(tip - tip[0]).max() < 1e-6


def test_efforts_are_those_of_pinocchio_for_these_accelerations(planar_4r: ada.Model) -> None:
    pytest.importorskip("pinocchio")
    controller = four_bar(planar_4r)
    rate = 0.7 * np.array([1.0, -1.0, 1.0, -1.0])
    state = State(START, rate)
    controller.reset(state, 0.0)
    command = controller.update(state, angle(20.0), 0.0)
    other = PinocchioModel(planar_4r)
    expected = other.pin.rnea(other.model, other.data, START, rate, controller.signals()["acceleration"])
    np.testing.assert_allclose(command.effort, expected, rtol=1e-12, atol=1e-12)


def test_a_mechanism_with_weight_falls(planar_4r: ada.Model) -> None:
    controller = four_bar(planar_4r, {"weight": True, "joint_stiffness": [0.0], "joint_damping": [0.0]})
    state = State(START, np.zeros(4))
    controller.reset(state, 0.0)
    controller.update(state, None, 0.0)
    assert controller.signals()["acceleration"][0] == pytest.approx(2.0 * 9.81 * np.sin(START[0]) / INERTIA)


def test_a_large_gap_is_refused_with_its_size(planar_4r: ada.Model) -> None:
    controller = four_bar(planar_4r)
    with refused(StateRefused, loop="held_tip", field="largest_gap"):
        controller.reset(State(np.radians([60.0, 40.0, 150.0, -60.0]), np.zeros(4)), 0.0)


def test_references_that_nothing_follows_are_refused(planar_4r: ada.Model, slider_start: Array) -> None:
    controller = four_bar(planar_4r)
    controller.reset(State(START, np.zeros(4)), 0.0)
    with refused(ReferenceRefused, field="pose_stiffness"):
        controller.update(State(START, np.zeros(4)), tip_at(1.0), 0.0)
    slider = make("virtual_closed_chain", planar_4r, PULL)
    slider.reset(State(slider_start, np.zeros(4)), 0.0)
    with refused(ReferenceRefused, field="joint_stiffness", value=0.0):
        slider.update(State(slider_start, np.zeros(4)), angle(0.0), 0.0)


def test_a_place_beyond_the_dead_point_is_refused_with_the_distance(planar_4r: ada.Model, slider_start: Array) -> None:
    controller = make("virtual_closed_chain", planar_4r, {**PULL, "feedback": "path"})
    state = State(slider_start, np.zeros(4))
    controller.reset(state, 0.0)
    kept = controller.update(state, None, 0.0)
    with refused(ReferenceRefused, field="reach", allowed=0.001):
        controller.update(state, tip_at(3.25), 0.0)
    np.testing.assert_array_equal(controller.update(state, None, 0.0).effort, kept.effort)


def test_a_moving_pose_is_approached_at_its_own_velocity_along_the_loops(
    planar_4r: ada.Model, slider_start: Array
) -> None:
    controller = make("virtual_closed_chain", planar_4r, {**PULL, "feedback": "path", "path_damping": 8.0, "hold": 0.0})
    state, dynamics = State(slider_start, np.zeros(4)), ada.Dynamics(planar_4r)
    controller.reset(state, 0.0)
    reference = PoseReference(dynamics.pose("tip", slider_start), np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0]))
    controller.update(state, reference, 0.0)
    of_tip = dynamics.jacobian("tip", slider_start) @ controller.signals()["acceleration"]
    np.testing.assert_allclose(of_tip[[0, 2]], [8.0 * 0.1, 0.0], atol=1e-9)


PARALLEL = {"loops": FOUR_BAR, **GAINS, "hold": 1e-3}
NEAR = np.radians([85.0, 5.0, 175.0, -85.0])  # sec. 7.3.1
DEAD_POINT = PoseReference(np.array([[-1.0, 0, 0, 3.0], [0, 1, 0, 0], [0, 0, -1, -0.5], [0, 0, 0, 1]]))


def test_the_flat_pose_is_passed_without_a_jump_as_the_closed_form_says(planar_4r: ada.Model) -> None:
    log, loop = moved(make("virtual_closed_chain", planar_4r, PARALLEL), NEAR, angle(95.0), 3.0)
    assert loop.signals["singular"].sum() > 50
    assert off_parallel(log.q) < 1e-6
    a, w = 1.5, np.sqrt(3.0) / 2.0
    left = np.radians(10.0) * np.exp(-a * log.t) * (np.cos(w * log.t) + a / w * np.sin(w * log.t))
    np.testing.assert_allclose(log.q[:, 0], np.radians(95.0) - left, atol=1e-6)
    # 2 m of arm at the shoulder: what carries the weight is all there is
    weight = np.abs(ada.Dynamics(planar_4r).gravity(log.q)).max()
    assert np.abs(loop.signals["effort"]).max() < 1.02 * weight
    assert np.abs(np.diff(loop.signals["acceleration"], axis=0)).max() < 5e-3


@pytest.mark.fuzz
def test_along_the_loops_the_crank_comes_to_rest_in_its_dead_point(planar_4r: ada.Model) -> None:
    gains = {"feedback": "path", "path_stiffness": 16.0, "path_damping": 8.0}
    start = np.radians([80.0, 15.0, 0.0, 85.0])
    log, loop = moved(make("virtual_closed_chain", planar_4r, {**PULL, **gains}), start, DEAD_POINT, 6.0)
    np.testing.assert_allclose(np.degrees(log.q[-1]), [90.0, 0.0, 0.0, 90.0], atol=1e-5)
    assert np.abs(log.v[-1]).max() < 1e-8
    assert np.degrees(log.q[:, 1].min()) > -1e-5
    assert np.abs(loop.signals["effort"]).max() < 1.05 * np.abs(ada.Dynamics(planar_4r).gravity(log.q)).max()
