# SPDX-License-Identifier: Apache-2.0
"""Y1 and Y4 through the bytes of the PA-10: controllers, driver, packets, emulated arm; Yamada's formulas."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from pa10_in_lock_step import LockStep

import ada_dynamics as ada
from ada_controllers import JointReference, PoseReference, make
from ada_hardware.pa10.cyclic import ANGLE_COUNT, SPEED_COUNT

PERIOD = 0.002  # [s]
LAG = 0.005  # [s] of the emulated drives
LATE = 0.002 + 0.0003  # [s] between what is measured and the command that is made of it, and the way there
LOOKS_DOWN = np.radians([0.0, 34.4, 0.0, 86.0, 0.0, 59.6, 0.0])


@pytest.fixture(scope="module")
def model():
    return ada.load("pa10")


@pytest.fixture(scope="module")
def dynamics(model):
    return ada.Dynamics(model)


def arm(start, variant: str = "ce") -> LockStep:
    step = LockStep(variant=variant, device={"start": tuple(start), "speed_time_constant": LAG})
    step.start()
    return step


def nothing_wrong(step: LockStep, run: SimpleNamespace) -> None:
    assert step.violations == []
    assert run.missed == 0
    assert step.driver.counts.refused == 0
    assert step.device.timeouts == 0


def document(t: np.ndarray, start: np.ndarray, end: np.ndarray, t1: float, tf: float) -> np.ndarray:
    """Yamada, sec. 4.1: acceleration, constant speed, deceleration, the last one with θ_f as its first figure."""
    t = t[:, None]
    k = (end - start) / (2.0 * t1**3 * (tf - t1))
    parts = [
        start + k * t**3 * (2.0 * t1 - t),
        end + k * t1**3 * (2.0 * (t - tf) + t1),
        end + k * (t - tf) ** 3 * (2.0 * t1 + t - tf),
    ]
    return np.where(t <= t1, parts[0], np.where(t <= tf - t1, parts[1], np.where(t <= tf, parts[2], end)))


@pytest.mark.parametrize("variant", ["ce", "7c"])
def test_y1_from_pose_to_pose_along_the_documents_profile(variant):
    start = np.radians([0.0, 10.0, 0.0, 30.0, 0.0, 20.0, 0.0])
    goal = np.radians([90.0, 45.0, -30.0, 60.0, 90.0, -45.0, 120.0])
    step = arm(start, variant)
    robot = ada.load("pa10" if variant == "ce" else "pa10_7c")
    controller = make("joint_trajectory", robot, {"acceleration_time": 0.5, "acceleration": [5.0]})
    run = step.follow(controller, JointReference(goal), 3.0)
    nothing_wrong(step, run)
    tf = math.radians(90.0) / 1.0 + 0.5  # the slowest joint, at its limit of 1 rad/s
    told = run.signals["position"]
    planned = float(run.signals["remaining"][0, 0])
    assert planned == pytest.approx(tf, abs=2e-6)  # the controller keeps a millionth from the limit
    # it begins where the arm said it was, to a count, and is the document's curve from there
    assert np.abs(told[0] - start).max() <= 0.51 * ANGLE_COUNT
    assert np.abs(told - document(run.t, told[0], goal, 0.5, planned)).max() < 1e-12
    # the arm is late by what the speed of the commands, fed forward one command later, and the drive are
    speeds = np.gradient(told, PERIOD, axis=0)
    late = PERIOD + LAG + LATE
    assert np.abs(run.true_q - told).max() < 1.2 * late * np.abs(speeds).max()
    assert np.abs(run.true_q[-1] - goal).max() <= 0.5 * SPEED_COUNT / 20.0 + 2 * ANGLE_COUNT
    # the scenario's own claim for simulated servos is 0.03 rad
    assert np.abs(run.true_q - told).max() < 0.03
    moves = np.abs(np.diff(run.q, axis=0)) > 0
    last = [int(np.flatnonzero(column)[-1]) for column in moves.T]
    assert max(last) - min(last) <= 60  # the last counts, each at its own pace
    speed_by_limit = np.abs(run.v) / [limit.velocity for limit in step.driver.limits]
    assert 0.99 < speed_by_limit.max() < 1.0 + 0.01


def press(model, dynamics, depth: float, wall: float):
    """The hand goes `depth` into a wall; the force over time [N], and where the hand is at the end [m]."""
    stiffness, gain = 1000.0, 10.0
    step = arm(LOOKS_DOWN)
    surface = float(dynamics.pose("flange", LOOKS_DOWN)[0, 3])
    controller = make(
        "compliance",
        model,
        {
            "link": "flange",
            "gain": gain,
            "stiffness": [stiffness] * 3 + [50.0] * 3,
            "mode": "displaced",
            "contact_stiffness": min(wall, 2e4),
            "period": PERIOD,
        },
    )
    forces: list[float] = []

    def sensor(step: LockStep) -> np.ndarray:
        pose = dynamics.pose("flange", step.device.arm.q)
        force = wall * max(float(pose[0, 3]) - surface, 0.0)
        forces.append(force)
        return np.concatenate([pose[:3, :3].T @ [-force, 0.0, 0.0], np.zeros(3)])

    def reference(t: float) -> PoseReference:
        target = dynamics.pose("flange", LOOKS_DOWN).copy()
        target[0, 3] += depth * (0.5 - 0.5 * math.cos(math.pi * min(t / 0.5, 1.0)))  # gently
        return PoseReference(target)

    run = step.follow(controller, reference, 2.0, sensor)
    nothing_wrong(step, run)
    return np.array(forces), float(dynamics.pose("flange", step.device.arm.q)[0, 3]) - surface


@pytest.mark.parametrize("depth", [0.005, 0.02])
def test_y4_the_steady_force_is_that_of_hand_and_wall_as_two_springs_in_a_row(model, dynamics, depth):
    wall, stiffness = 2e4, 1000.0
    forces, hand = press(model, dynamics, depth, wall)
    steady = float(np.mean(forces[-100:]))
    assert steady == pytest.approx(stiffness * (depth - hand), rel=0.01)
    assert steady == pytest.approx(depth * stiffness * wall / (stiffness + wall), rel=0.02)


def test_computed_torque_moves_the_arm_by_torques(model, dynamics):
    step = arm(LOOKS_DOWN)
    controller = make("computed_torque", model, {"stiffness": [100.0], "damping": [20.0]})
    goal = LOOKS_DOWN + 0.1
    run = step.follow(controller, JointReference(goal), 1.5)
    assert step.violations == []
    # a count of torque, by the stiffness, which is one of accelerations
    count = np.array([limit.effort for limit in step.driver.limits]) / 4096.0
    assert np.all(np.abs(step.feedback.position - goal) < count / (100.0 * np.diag(dynamics.mass_matrix(goal))) + 1e-4)
    assert run.missed == 0
    assert step.device.state()["ways"] == ["torque"] * 7
