# SPDX-License-Identifier: Apache-2.0
"""FollowJointTrajectory, as planners of motions use it; test/nightly builds control_msgs where it is not installed."""

import importlib.util

import numpy as np
import pytest

pytest.importorskip("rclpy")

from controller_world import BENT, controller, plant, referenced, set_parameter, transition
from sensor_msgs.msg import JointState

pytestmark = pytest.mark.ros
IS_THERE = importlib.util.find_spec("control_msgs") is not None
with_action = pytest.mark.skipif(not IS_THERE, reason="control_msgs is not installed here")


SUCCEEDED, CANCELED, ABORTED = 4, 5, 6  # action_msgs/GoalStatus


class Client:
    """Sends goals to a node that controls a simulated arm."""

    def __init__(self, ros, **parameters):
        from control_msgs.action import FollowJointTrajectory

        self.ros, self.kind = ros, FollowJointTrajectory
        self.plant = plant(ros)
        self.node = controller(ros, wait=True, **parameters)
        self.feedback = []
        self.client = self.named("controller_node")

    def named(self, name):
        from rclpy.action import ActionClient

        client = ActionClient(self.ros.tester, self.kind, f"{name}/follow_joint_trajectory")
        self.ros.wait(client.server_is_ready, what="the action")
        return client

    def goal(self, *points, names=("s1",), **fields):
        from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

        rows = []
        for position, seconds in points:
            row = JointTrajectoryPoint(positions=[position] * len(names), velocities=[0.0] * len(names))
            row.time_from_start.sec, row.time_from_start.nanosec = int(seconds), round(1e9 * (seconds % 1))
            rows.append(row)
        return self.kind.Goal(trajectory=JointTrajectory(joint_names=list(names), points=rows), **fields)

    def send(self, *arguments, **fields):
        hear = lambda message: self.feedback.append(message.feedback)  # noqa: E731
        goal = self.goal(*arguments, **fields)

        def ask():
            with self.ros.paused():  # rclpy stumbles over an answer that comes while it still notes the question
                return self.client.send_goal_async(goal, hear)

        return self.ros.answer(ask, what="an answer to the goal")

    def outcome(self, handle):
        future = handle.get_result_async()
        self.ros.wait(future.done, what="the result")
        return future.result().status, future.result().result

    def tolerance(self, **fields):
        from control_msgs.msg import JointTolerance

        return JointTolerance(**fields)

    def cancel(self, handle):
        cancelled = handle.cancel_goal_async()
        self.ros.wait(cancelled.done, what="the answer")
        return self.outcome(handle)

    @property
    def s1(self):
        return self.plant.loop.latest.q[0]


@with_action
def test_a_goal_is_followed_to_its_end_with_feedback_and_one_that_cannot_be_is_rejected(ros):
    client = Client(ros)
    for fields in (
        {"names": ("elbow",)},
        {"points": [(99.0, 1.0)]},
        {"points": [(1.0, 0.01)]},
        {"points": []},
        {"path_tolerance": [client.tolerance(name="elbow")]},
        {"goal_tolerance": [client.tolerance(name="s1", position=np.nan)]},
    ):
        points = fields.pop("points", [(0.2, 1.0)])
        assert not client.send(*points, **fields).accepted
    assert client.s1 == pytest.approx(BENT[0], abs=0.02)
    handle = client.send((0.3, 0.5), (0.5, 1.0))
    assert handle.accepted
    status, result = client.outcome(handle)
    assert (status, result.error_code, result.error_string) == (SUCCEEDED, client.kind.Result.SUCCESSFUL, "")
    assert client.s1 == pytest.approx(0.5, abs=0.02)
    told = client.feedback[0]
    assert told.joint_names[0] == "s1" and len(told.desired.positions) == 7
    error = np.array(told.desired.positions) - np.array(told.actual.positions)
    assert list(told.error.positions) == pytest.approx(error)
    # a new goal takes over
    first = client.send((2.0, 10.0))
    ros.wait(lambda: client.s1 > 0.6, what="some way")
    second = client.send((0.3, 1.5))
    status, result = client.outcome(first)
    assert status == ABORTED and "newer goal" in result.error_string
    assert client.outcome(second)[0] == SUCCEEDED
    assert client.s1 == pytest.approx(0.3, abs=0.02)
    # a cancelled goal stops the joints
    handle = client.send((2.0, 10.0))
    ros.wait(lambda: client.s1 > 0.4, what="some way")
    status, _ = client.cancel(handle)
    assert status == CANCELED
    there = client.node.thread.control.controller.reference.position[0]
    ros.wait(lambda: abs(client.plant.loop.latest.v[0]) < 1e-3, what="rest")
    assert client.s1 == pytest.approx(there, abs=0.01)
    assert there < 1.9


@with_action
def test_goals_that_end_at_once_or_early_report_how_and_the_action_has_the_name_of_the_controller(ros):
    client = Client(ros)
    for k in range(10):
        handle = client.send((BENT[0], 1e-3), goal_tolerance=[client.tolerance(name="s1", position=0.1)])
        status, result = client.outcome(handle)
        assert (status, result.error_code) == (SUCCEEDED, client.kind.Result.SUCCESSFUL), (k, result.error_string)
    assert set_parameter(ros, "goal_time", 1e-3).successful
    for k in range(4):
        handle = client.send((0.11 + 0.01 * k, 0.03), goal_tolerance=[client.tolerance(name="s1", position=1e-9)])
        status, result = client.outcome(handle)
        assert (status, result.error_code) == (ABORTED, client.kind.Result.GOAL_TOLERANCE_VIOLATED)
        assert "after the end" in result.error_string
    assert set_parameter(ros, "goal_time", 0.0).successful
    client.client = client.named("computed_torque")
    assert client.outcome(client.send((0.15, 0.3)))[0] == SUCCEEDED
    assert set_parameter(ros, "controller", "joint_trajectory").successful
    assert not client.send((0.2, 1.0)).accepted, "that controller does not run"
    for name in ("joint_trajectory", "controller_node"):
        client.client = client.named(name)
        assert client.outcome(client.send((0.2, 1.0)))[0] == SUCCEEDED
    # what ends a goal early
    handle = client.send((1.0, 5.0), path_tolerance=[client.tolerance(name="s1", position=1e-9)])
    status, result = client.outcome(handle)
    assert (status, result.error_code) == (ABORTED, client.kind.Result.PATH_TOLERANCE_VIOLATED)
    handle = client.send((1.0, 5.0))
    referenced(ros).publish(JointState(name=["s1"], position=[0.2]))
    status, result = client.outcome(handle)
    assert status == ABORTED and "no longer followed" in result.error_string
    handle = client.send((1.0, 5.0))
    assert transition(ros, "deactivate")
    assert client.outcome(handle)[0] == ABORTED
    assert not client.send((1.0, 5.0)).accepted
