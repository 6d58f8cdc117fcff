# SPDX-License-Identifier: Apache-2.0
"""The compliant hand: a spring in the hand's frame, led targets, the sensor's place, and how stiff a wall may be."""

from typing import Any

import numpy as np
import pytest
from refused import refused

import ada_dynamics as ada
from ada_controllers import PoseReference, State, StateRefused, make
from ada_controllers.compliance import Compliance, stiffest_contact
from ada_dynamics.dynamics.poses import twist_between
from ada_dynamics.errors import InputError
from ada_dynamics.spatial.orientation import pose_of

START = np.array([0.0, 0.6, 0.0, 1.5, 0.0, np.pi - 2.1, 0.0])  # the flange looks down
NO_SPEED = np.zeros(7)


def compliant(model: ada.Model, **values: Any) -> Compliance:
    made = make("compliance", model, values)
    assert isinstance(made, Compliance)
    return made


def run(
    controller: Compliance, reference: Any, steps: int, sensor: Any, period: float = 1e-3, start: np.ndarray = START
) -> tuple[np.ndarray, np.ndarray]:
    """Joints and forces of a robot that does at once what it is told; `sensor` gives the wrench at q."""
    q, felt = start.copy(), sensor(start)
    controller.reset(State(q, NO_SPEED, felt), 0.0)
    rows, forces = [q.copy()], [felt]
    for i in range(steps):
        felt = sensor(q)
        command = controller.update(State(q, NO_SPEED, felt), reference, i * period)
        q = q + period * command.velocity
        rows.append(q)
        forces.append(felt)
    return np.array(rows), np.array(forces)


def test_the_hand_gives_way_by_its_compliance_from_a_target_that_stays(pa10: ada.Model, dynamics: ada.Dynamics) -> None:
    p, rpy, K = [0.02, -0.03, 0.1], [0.3, -0.2, 0.5], np.array([800.0, 900.0, 1200.0, 40.0, 50.0, 60.0])
    tool = {"tool_xyz": [0.01, 0.0, 0.2], "sensor_xyz": p, "sensor_rpy": rpy, "stiffness": K.tolist()}
    controller = compliant(pa10, **tool)
    felt = np.array([2.0, -3.0, 4.0, 0.2, -0.1, 0.3])
    hand = dynamics.pose("flange", START) @ pose_of([0.01, 0.0, 0.2], [0.0, 0.0, 0.0])
    target = PoseReference(hand)
    rows, _ = run(controller, target, 600, lambda q: felt, 1e-2)
    R = pose_of([0, 0, 0], rpy)[:3, :3]
    f, n = R @ felt[:3], R @ felt[3:] + np.cross(np.array(p) - [0.01, 0.0, 0.2], R @ felt[:3])
    assert controller.signals()["wrench"] == pytest.approx(np.concatenate([f, n]), abs=1e-12)
    reached = dynamics.pose("flange", rows[-1]) @ pose_of([0.01, 0.0, 0.2], [0.0, 0.0, 0.0])
    # small turns: that of the hand's axes on the way changes the displacement by its square
    assert twist_between(hand, reached) == pytest.approx(np.concatenate([f, n]) / K, abs=5e-5)


def test_a_led_target_goes_as_fast_as_the_spring_over_its_time(pa10: ada.Model, dynamics: ada.Dynamics) -> None:
    controller = compliant(pa10, mode="moved", moving_time=0.5, gain=20.0)
    R = dynamics.pose("flange", START)[:3, :3]
    felt = np.concatenate([R.T @ [5.0, 0.0, 0.0], np.zeros(3)])  # 5 N along x, C = 1 mm/N: 10 mm/s
    rows, _ = run(controller, None, 1000, lambda q: felt, 2e-3)
    moved = dynamics.pose("flange", rows[-1])[:3, 3] - dynamics.pose("flange", rows[500])[:3, 3]
    assert moved == pytest.approx([0.010, 0.0, 0.0], abs=2e-5)
    # without the force it stays where it was led to
    led = dynamics.pose("flange", rows[-1])
    q = rows[-1]
    for i in range(1000, 1500):
        q = q + 2e-3 * controller.update(State(q, NO_SPEED, np.zeros(6)), None, i * 2e-3).velocity
    assert dynamics.pose("flange", q)[0, 3] - led[0, 3] == pytest.approx(0.010 / 20.0, abs=1e-4)


def test_activation_under_force_moves_nothing(pa10: ada.Model) -> None:
    felt = np.array([3.0, -5.0, 10.0, 0.5, 0.2, -0.3])
    for values in ({}, {"mode": "moved"}, {"mode": "relaxed"}, {"bias_at_reset": True}, {"contact_stiffness": 1.9e5}):
        controller = compliant(pa10, **values)
        controller.reset(State(START, NO_SPEED, felt), 0.0)
        assert controller.update(State(START, NO_SPEED, felt), None, 0.0).velocity == pytest.approx(0.0, abs=1e-10)


def test_bias_dead_band_and_filter_act_on_what_is_measured(pa10: ada.Model) -> None:
    offset = np.array([1.0, 2.0, -1.0, 0.1, 0.0, 0.2])
    controller = compliant(pa10, bias_at_reset=True, dead_band=[2.0, 0.5], filter_time=0.1)
    controller.reset(State(START, NO_SPEED, offset), 0.0)
    step = np.array([0.0, 0.0, 6.0, 0.0, 0.3, 0.0])
    for i in range(300):
        controller.update(State(START, NO_SPEED, offset + step), None, i * 1e-3)
        risen = 6.0 * (1.0 - np.exp(-i * 1e-3 / 0.1))
        assert controller.signals()["wrench"] == pytest.approx([0, 0, max(risen - 2.0, 0.0), 0, 0, 0], abs=1e-9)


def wall(dynamics: ada.Dynamics, height: float, stiffness: float, late: int = 0) -> Any:
    """A floor that pushes up like a spring, measured in the flange's axes some calls late."""
    past: list[float] = []

    def sensor(q: np.ndarray) -> np.ndarray:
        pose = dynamics.pose("flange", q)
        past.append(stiffness * max(height - pose[2, 3], 0.0))
        push = past[max(len(past) - 1 - late, 0)]
        return np.concatenate([pose[:3, :3].T @ [0.0, 0.0, push], np.zeros(3)])

    return sensor


def lowered(dynamics: ada.Dynamics, depth: float) -> PoseReference:
    target = dynamics.pose("flange", START).copy()
    target[2, 3] -= depth
    return PoseReference(target)


@pytest.mark.parametrize(("late", "filter_time"), [(0, 0.0), (1, 0.0), (2, 0.0), (1, 0.02)])
def test_the_hand_hammers_from_the_stiffness_on_that_the_loop_says(
    pa10: ada.Model, dynamics: ada.Dynamics, late: int, filter_time: float
) -> None:
    loop = {"gain": 20.0, "stiffness": 1000.0, "period": 5e-3}
    limit = stiffest_contact(**loop, delay=late, filter_time=filter_time)
    height = float(dynamics.pose("flange", START)[2, 3])
    for part, is_stable in ((0.9, True), (1.1, False)):
        controller = compliant(pa10, gain=20.0, filter_time=filter_time)
        # deep enough not to leave the wall, with a small push to begin with
        sensor = wall(dynamics, height + 0.002, part * limit, late)
        _, forces = run(controller, lowered(dynamics, 0.0), 500, sensor, 5e-3)
        swing = np.ptp(forces[-40:, 2])
        assert (swing < 0.02 * abs(forces[-1, 2])) == is_stable


def test_closed_forms_of_the_limit() -> None:
    for P, K, T in ((5.0, 1e3, 1e-3), (20.0, 300.0, 4e-3)):
        loop = {"gain": P, "stiffness": K, "period": T}
        assert stiffest_contact(**loop) == pytest.approx(K * (2.0 / (P * T) - 1.0), rel=1e-8)
        assert stiffest_contact(**loop, delay=1) == pytest.approx(K / (P * T), rel=1e-8)
        slow = stiffest_contact(**loop, delay=1, filter_time=0.2)
        assert slow == pytest.approx(K / (P * T) * (1.0 + P * 0.2), rel=0.01)
    with refused(InputError, field="gain", value=500.0):
        stiffest_contact(gain=500.0, stiffness=1e3, period=0.01)


def test_states_without_a_wrench_are_refused(pa10: ada.Model) -> None:
    controller = compliant(pa10)
    with refused(StateRefused, link="flange", field="wrench"):
        controller.reset(State(START, NO_SPEED), 0.0)
    controller.reset(State(START, NO_SPEED, np.zeros(6)), 0.0)
    with refused(StateRefused, link="flange", field="wrench"):
        controller.update(State(START, NO_SPEED), None, 0.001)


def test_with_both_modes_the_force_of_a_contact_dies_out(pa10: ada.Model, dynamics: ada.Dynamics) -> None:
    k, K, time, P, depth = 5e3, 1000.0, 0.5, 40.0, 0.02
    height = float(dynamics.pose("flange", START)[2, 3])
    controller = compliant(pa10, mode="relaxed", moving_time=time, gain=P)
    _, forces = run(controller, lowered(dynamics, depth), 1000, wall(dynamics, height, k), 2e-3)
    size = np.linalg.norm(forces[:, :3], axis=1)
    rate = 1.0 / (time * (1.0 + K / k))
    assert np.log(size[300] / size[900]) / 1.2 == pytest.approx(rate, rel=0.01)
    assert (np.diff(size[300:]) < 0.0).all()  # no swing
    alone = compliant(pa10, mode="moved", moving_time=time, gain=P)
    _, forces = run(alone, lowered(dynamics, depth), 1000, wall(dynamics, height, 2.0 * K * P * time), 2e-3)
    assert (forces[100:, 2] == 0.0).any()  # it hops
