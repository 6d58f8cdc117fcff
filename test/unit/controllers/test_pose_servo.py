# SPDX-License-Identifier: Apache-2.0
"""The pose servo: twists between poses, velocities of wrist and hand, singular poses, self-motion, reach."""

from typing import Any

import numpy as np
import pytest
from refused import refused

import ada_dynamics as ada
from ada_controllers import JointReference, PoseReference, ReferenceRefused, State, make
from ada_controllers.pose_servo import PoseServo, Reach, SerialArm, last_link
from ada_dynamics.dynamics.poses import inverse, moved, twist_between
from ada_dynamics.spatial.orientation import pose_of

START = np.array([0.2, 0.6, 0.1, 1.5, 0.3, 0.7, -0.4])
NO_SPEED = np.zeros(7)


def servo(model: ada.Model, **values: Any) -> PoseServo:
    made = make("pose_servo", model, values)
    assert isinstance(made, PoseServo)
    return made


def follow(
    controller: Any, q: np.ndarray, reference: Any, steps: int, period: float = 2e-3
) -> tuple[np.ndarray, np.ndarray]:
    """The joints of a robot that does at once what it is told, at all times, and the commanded velocities."""
    q = q.copy()
    controller.reset(State(q, np.zeros(controller.model.nv)), 0.0)
    rows, told = [q.copy()], []
    for i in range(steps):
        wanted = reference(i * period) if callable(reference) else reference
        command = controller.update(State(q, np.zeros(controller.model.nv)), wanted, i * period)
        q[controller.q_index] += period * command.velocity
        rows.append(q.copy())
        told.append(command.velocity)
    return np.array(rows), np.array(told)


def test_errors_die_out_as_the_gain_says(pa10: ada.Model, dynamics: ada.Dynamics) -> None:
    controller = servo(pa10, gain=4.0)
    target = moved(dynamics.pose("flange", START), np.array([0.05, -0.04, -0.1, 0.2, -0.3, 0.1]))
    rows, _ = follow(controller, START, PoseReference(target), 400, 5e-4)
    first = twist_between(dynamics.pose("flange", rows[0]), target)
    for i in (100, 200, 400):
        # e' = -P e: what a step of 0.5 ms leaves of it is of the order P² dt t / 2
        assert twist_between(dynamics.pose("flange", rows[i]), target) == pytest.approx(
            first * np.exp(-4.0 * i * 5e-4), abs=1e-3
        )


def test_away_from_singular_poses_it_is_the_pseudoinverse(pa10: ada.Model, dynamics: ada.Dynamics) -> None:
    controller = servo(pa10)
    rng = np.random.default_rng(0)
    for _ in range(10):
        q = START + rng.uniform(-0.2, 0.2, 7)
        controller.reset(State(q, NO_SPEED), 0.0)
        twist = 0.05 * rng.normal(size=6)
        told = controller.update(State(q, NO_SPEED), PoseReference(dynamics.pose("flange", q), twist), 0.001)
        J = dynamics.jacobian("flange", q)
        # the least joint speeds, whatever an angle counts as
        assert told.velocity == pytest.approx(np.linalg.pinv(J) @ twist, abs=1e-12)


def test_singular_poses_are_passed_with_bounded_speeds(pa10: ada.Model, dynamics: ada.Dynamics) -> None:
    start = np.array([0.0, 0.5, 0.0, 0.8, 0.0, 0.5, 0.0])
    begin = dynamics.pose("flange", start)
    controller = servo(pa10, unreachable="approach", gain=2.0)

    def out_and_back(t: float) -> PoseReference:
        pose = begin.copy()
        pose[:3, 3] += 0.15 * (1.0 - np.cos(np.pi * min(t, 8.0) / 4.0)) * np.array([0.8, 0.0, 0.6])
        return PoseReference(pose)

    rows, told = follow(controller, start, out_and_back, 2500, 4e-3)
    stretched = min(abs(row[3]) for row in rows)
    assert stretched < 0.05  # E1: straight
    # |J*| <= 1 / (2 λ), λ = 0.05 m, and a wanted twist of at most 2 x .3 m
    assert np.abs(told).max() <= 2.0 * 0.3 / (2.0 * 0.05)
    assert dynamics.pose("flange", rows[-1])[:3, 3] == pytest.approx(begin[:3, 3], abs=1e-3)


def test_speed_limits_slow_all_joints_down_and_keep_the_direction(pa10: ada.Model, dynamics: ada.Dynamics) -> None:
    controller = servo(pa10, gain=50.0)
    target = moved(dynamics.pose("flange", START), np.array([0.1, 0.0, -0.1, 0.3, 0.0, 0.0]))
    controller.reset(State(START, NO_SPEED), 0.0)
    told = controller.update(State(START, NO_SPEED), PoseReference(target), 0.001)
    limits = np.array([limit.velocity for limit in controller.limits])
    assert np.max(np.abs(told.velocity) / limits) == pytest.approx(1.0, rel=1e-9)
    got = dynamics.jacobian("flange", START, "local") @ told.velocity
    error = controller.signals()["error"]
    assert got == pytest.approx(50.0 * float(controller.signals()["scale"][0]) * error, rel=1e-9)
    slow = servo(pa10, gain=50.0, linear_speed=0.02)
    slow.reset(State(START, NO_SPEED), 0.0)
    told = slow.update(State(START, NO_SPEED), PoseReference(target), 0.001)
    assert np.linalg.norm(dynamics.jacobian("flange", START)[:3] @ told.velocity) == pytest.approx(0.02)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_joint_at_its_end_is_held_and_the_others_go_on(pa10: ada.Model, dynamics: ada.Dynamics, side: float) -> None:
    margin = 0.1
    end = pa10.upper[1] - margin
    start = START.copy()
    start[1:3] = end - 0.01, 0.9  # S2 nearly at its end, and the hand shall go down
    start[[1, 3, 5]] *= side  # the same turned by 180 deg about the vertical
    target = dynamics.pose("flange", start).copy()
    target[:3, 3] += [0.0, 0.0, -0.1]
    controller = make("pose_servo", pa10, {"unreachable": "approach"}, {"position_margin": margin})
    rows, _ = follow(controller, start, PoseReference(target), 1000, 5e-3)
    assert (rows <= pa10.upper - margin + 1e-12).all() and (rows >= pa10.lower + margin - 1e-12).all()
    assert controller.saturations == 0
    assert (side * rows[:, 1]).max() > end - 1e-3
    assert dynamics.pose("flange", rows[-1]) == pytest.approx(target, abs=1e-4)


def test_the_elbow_moves_and_the_hand_does_not(pa10: ada.Model, dynamics: ada.Dynamics) -> None:
    controller = servo(pa10, null_space="posture", posture_joints=["s3"], null_gain=1.0, gain=20.0)
    hand, elbow = dynamics.pose("flange", START), dynamics.pose("link_4", START)[:3, 3]
    posture = START.copy()
    posture[2] = 0.9
    rows, _ = follow(controller, START, JointReference(posture), 1600, 5e-3)
    assert rows[-1, 2] == pytest.approx(0.9, abs=2e-3)
    assert np.linalg.norm(dynamics.pose("link_4", rows[-1])[:3, 3] - elbow) > 0.1
    away = [np.abs(dynamics.pose("flange", q) - hand).max() for q in rows[::50]]
    assert max(away) < 5e-4


@pytest.mark.parametrize(("name", "tool"), [("pa10", [0.0, 0.1, 0.2]), ("planar_7r", [0.0] * 3), ("khr1", [0.0] * 3)])
def test_no_pose_that_a_robot_can_have_is_out_of_its_reach(name: str, tool: list[float]) -> None:
    model = ada.load(name)
    arm = SerialArm(model, ada.Dynamics(model), last_link(model), pose_of(tool, [0.1, 0.2, 0.3]))
    reach, rng = Reach(arm, model), np.random.default_rng(1)
    for _ in range(200):
        assert reach.beyond(arm.pose(model.random_state(rng)[0])) < 1e-9


def test_targets_out_of_reach_are_refused_with_the_distance(pa10: ada.Model) -> None:
    controller = servo(pa10)
    controller.reset(State(START, NO_SPEED), 0.0)
    kept = controller.reference
    for away, beyond in ((1.25, 0.25), (0.01, 0.02)):
        target = np.eye(4)  # the wrist is 0.07 m below the flange
        target[:3, 3] = [away if away > 1.0 else 0.0, 0.0, 0.317 + 0.07 + (0.0 if away > 1.0 else away)]
        wanted = beyond if away < 1.0 else away - 0.93
        with refused(ReferenceRefused, link="flange", field="pose", value=pytest.approx(wanted)):
            controller.update(State(START, NO_SPEED), PoseReference(target), 0.001)
        assert controller.reference is kept


def test_a_posture_without_its_setting_is_refused(pa10: ada.Model) -> None:
    controller = servo(pa10)
    controller.reset(State(START, NO_SPEED), 0.0)
    with refused(ReferenceRefused, field="null_space", value="none"):
        controller.update(State(START, NO_SPEED), JointReference(START), 0.0)


@pytest.mark.fuzz
def test_hands_of_robots_that_float_go_to_places_in_the_frame_of_their_base() -> None:
    model = ada.load("hoap2")
    dynamics, q = ada.Dynamics(model), model.neutral()
    controller = servo(model, link="left_hand")
    q[:7] = [0.3, -0.2, 0.5, *np.array([0.1, 0.2, -0.3, 0.9]) / np.linalg.norm([0.1, 0.2, -0.3, 0.9])]
    q[controller.q_index] += 0.3 * np.where([limit.upper > 0.5 for limit in controller.limits], 1.0, -1.0)
    goal = q.copy()
    goal[controller.q_index] *= 1.4
    there = inverse(dynamics.pose(model.root, q)) @ dynamics.pose(controller.arm.link, goal)
    rows, _ = follow(controller, q, PoseReference(there), 3000)
    found = inverse(dynamics.pose(model.root, q)) @ dynamics.pose(controller.arm.link, rows[-1])
    assert found == pytest.approx(there, abs=1e-4)
    assert (rows[:, :7] == q[:7]).all()
