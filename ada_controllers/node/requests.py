# SPDX-License-Identifier: Apache-2.0
"""Requests to the controller by topics and by the action follow_joint_trajectory; imports rclpy.

Each request is passed to the control thread and accepted or refused as a whole; refusals are counted and logged.

The action is offered if the package control_msgs is installed, with the semantics of ros2_control's
joint_trajectory_controller: path and goal tolerances and goal time; a cancelled goal brings the joints to rest, a new
goal aborts the previous one. It has the name of the node and, for motion planners, CONTROLLER/follow_joint_trajectory
for each controller that has run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import PoseStamped
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.task import Future
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ada_controllers.node.control_thread import ControlThread
from ada_controllers.node.controller_settings import ControllerSettings
from ada_controllers.node.following import Progress, Tolerance, first_beyond, tolerances_of
from ada_controllers.running.control_loop import REFERENCE
from ada_controllers.state import JointReference, ReferenceRefused
from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from ada_robot.messages.incoming import JOINT_REFERENCE, POSE_REFERENCE, offered_trajectory, read_pose
from ada_robot.ros import qos

JOINT_TRAJECTORY, ACTION = "joint_trajectory", "follow_joint_trajectory"
WATCH_RATE = 50.0  # rate of goal checks and feedback [Hz]; path tolerances are checked at each command
_WORLDS = ("world", "map", "odom")  # frames equal to that of a fixed base


class ReferenceInputs:
    """Subscriptions to ~/joint_reference, ~/joint_trajectory and ~/pose_reference."""

    def __init__(self, node: Node, thread: ControlThread, prefix: str = "") -> None:
        """Subscribe.

        Args:
            node: node of the subscriptions.
            thread: control thread.
            prefix: prefix of frame names.
        """
        self._node, self._thread, self._prefix = node, thread, prefix
        self._model = thread.control.controller.model
        self._subscriptions = [
            node.create_subscription(JointState, f"~/{JOINT_REFERENCE}", self._joints, qos.COMMANDS),
            node.create_subscription(JointTrajectory, f"~/{JOINT_TRAJECTORY}", self._trajectory, qos.COMMANDS),
            node.create_subscription(PoseStamped, f"~/{POSE_REFERENCE}", self._pose, qos.COMMANDS),
        ]

    def close(self) -> None:
        """Unsubscribe."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)

    def _joints(self, message: JointState) -> None:
        names, position, velocity = list(message.name), message.position.tolist(), message.velocity.tolist()
        self._offer(lambda: self._thread.following.joints(names, position, velocity))

    def _trajectory(self, message: JointTrajectory) -> None:
        offered = offered_trajectory(message, int(self._node.get_clock().now().nanoseconds))
        self._offer(lambda: self._thread.following.trajectory(offered))

    def _pose(self, message: PoseStamped) -> None:
        def offer() -> None:
            self._check_frame(message.header.frame_id)
            self._thread.following.pose(read_pose(message.pose.position, message.pose.orientation))

        self._offer(offer)

    def _check_frame(self, frame: str) -> None:
        root = self._model.root
        is_fixed = all(joint.child != root for joint in self._model.joints.values())
        known = [self._prefix + name for name in (root, *(_WORLDS if is_fixed else ()))]
        if frame not in ("", *known):
            raise ReferenceRefused(
                f"the pose is in frame {frame!r}; expected the base frame {known[0]!r} or an empty frame_id."
            )

    def _offer(self, offer: Callable[[], None]) -> None:
        accepted(self._thread, lambda: self._thread.ask(offer))


def accepted(thread: ControlThread, request: Callable[[], None]) -> bool:
    """Return True if a request was accepted; a refusal is counted once, and the node logs it."""
    control = thread.control
    before = control.refused[REFERENCE]
    try:
        request()
    except AdaError as problem:
        if control.refused[REFERENCE] == before:
            thread.loop.post(partial(control.refuse, REFERENCE, str(problem)))
        return False
    return True


def action_type() -> Any:
    """Return control_msgs/action/FollowJointTrajectory; None if that package is not installed."""
    try:
        return import_module("control_msgs.action").FollowJointTrajectory
    except ImportError:
        return None


class _Goal:
    """Goal in execution."""

    def __init__(self, handle: Any, end: Sequence[Tolerance], patience: float) -> None:
        self.handle, self.end, self.patience = handle, end, patience
        self.over_since: float | None = None
        self.outcome: Future = Future()


class TrajectoryAction:
    """Action server of the node."""

    def __init__(self, node: Node, thread: ControlThread, settings: ControllerSettings, kind: Any) -> None:
        """Create the servers.

        Args:
            node: node of the action.
            thread: control thread.
            settings: settings with the default tolerances.
            kind: action type.
        """
        self._node, self._thread, self._kind = node, thread, kind
        self.settings = settings
        self._goal: _Goal | None = None
        self._servers: dict[str, ActionServer] = {}
        self.serve()
        self.serve(thread.control.controller.NAME)
        self._timer = node.create_timer(1.0 / WATCH_RATE, self._watch, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def close(self) -> None:
        """Abort the goal and destroy the servers."""
        self._end(self._kind.Result.INVALID_GOAL, "the node is no longer configured")
        self._node.destroy_timer(self._timer)
        for server in self._servers.values():
            server.destroy()

    def serve(self, controller: str = "") -> None:
        """Offer the action below the name of the node, or of a controller."""
        name = f"{controller or '~'}/{ACTION}"
        if name in self._servers:
            return
        self._servers[name] = ActionServer(
            self._node,
            self._kind,
            name,
            lambda _: None,  # not called: each goal has its own function, see `_accept`
            goal_callback=lambda goal: self._judge(goal, controller),
            handle_accepted_callback=self._accept,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )

    # --- goals ------------------------------------------------------------------------------------------------------
    def _judge(self, goal: Any, controller: str) -> GoalResponse:
        """Accept a goal and start to follow it, or reject it; the node logs the reason."""

        def follow() -> None:
            running = self._thread.control.controller
            if controller not in ("", running.NAME):
                raise ReferenceRefused(f"{controller} is not running; {running.NAME} is.")
            for tolerances in (goal.path_tolerance, goal.goal_tolerance):
                tolerances_of(tolerances, running.joints, 0.0)
            if getattr(goal.multi_dof_trajectory, "points", ()):
                raise ReferenceRefused("multi_dof_trajectory is not supported; use joints only.")
            if not goal.trajectory.points:
                raise ReferenceRefused("the trajectory has no points; cancel a goal to stop it.")
            offered = offered_trajectory(goal.trajectory, int(self._node.get_clock().now().nanoseconds))
            self._thread.ask(lambda: self._thread.following.trajectory(offered))

        return GoalResponse.ACCEPT if accepted(self._thread, follow) else GoalResponse.REJECT

    def _accept(self, handle: Any) -> None:
        self._end(self._kind.Result.INVALID_GOAL, "replaced by a newer goal")
        goal, settings = handle.request, self.settings
        joints = self._thread.control.controller.joints
        asked = goal.goal_time_tolerance.sec + 1e-9 * goal.goal_time_tolerance.nanosec
        patience = math.inf if asked < 0.0 else asked or settings.goal_time or math.inf
        end = tolerances_of(goal.goal_tolerance, joints, settings.goal_tolerance)
        taken = self._goal = _Goal(handle, end, patience)

        async def outcome(_: Any) -> Any:
            """Wait for the end of this goal, detected by `_watch`; another goal may have replaced it already."""
            state, code, text = await taken.outcome
            getattr(handle, state)()
            return self._kind.Result(error_code=code, error_string=text)

        handle.execute(outcome)
        try:
            way = tolerances_of(goal.path_tolerance, joints, settings.path_tolerance)
            self._thread.ask(lambda: self._thread.following.keep_to(way))
        except AdaError as problem:
            self._end(self._kind.Result.INVALID_GOAL, str(problem))

    def _end(self, code: int, text: str, state: str = "abort") -> None:
        goal, self._goal = self._goal, None
        if goal is not None and not goal.outcome.done():
            goal.outcome.set_result((state, code, text))

    # --- during execution -------------------------------------------------------------------------------------------
    def _watch(self) -> None:
        goal = self._goal
        if goal is None:
            return
        try:
            progress = self._thread.ask(self._thread.following.progress)
            if progress is not None:
                self._look(goal, progress)
        except AdaError as problem:
            self._end(self._kind.Result.INVALID_GOAL, str(problem))

    def _look(self, goal: _Goal, progress: Progress) -> None:
        result, control = self._kind.Result, self._thread.control
        if progress.lost:
            self._end(result.INVALID_GOAL, f"the trajectory is no longer followed: {progress.lost}")
            return
        if goal.handle.is_cancel_requested:
            self._hold()
            self._end(result.SUCCESSFUL, "cancelled: the joints come to rest", "canceled")
            return
        self._send_feedback(goal, progress)
        if progress.left:
            self._hold()
            self._end(result.PATH_TOLERANCE_VIOLATED, f"{progress.left} on the way")
            return
        if not progress.is_over:
            return
        beyond = first_beyond(goal.end, control.controller.joints, progress.desired, progress.actual)
        if not beyond:
            self._end(result.SUCCESSFUL, "", "succeed")
            return
        goal.over_since = progress.time if goal.over_since is None else goal.over_since
        if progress.time - goal.over_since > goal.patience:
            self._end(result.GOAL_TOLERANCE_VIOLATED, f"{beyond} {goal.patience:g} s after the end")

    def _hold(self) -> None:
        self._thread.ask(self._thread.following.stop)

    def _send_feedback(self, goal: _Goal, progress: Progress) -> None:
        feedback = self._kind.Feedback(joint_names=list(self._thread.control.controller.joints))
        feedback.header.stamp = self._node.get_clock().now().to_msg()
        desired, actual = progress.desired, progress.actual
        error = JointReference(desired.position - actual.position, _of(desired.velocity) - _of(actual.velocity))
        feedback.desired, feedback.actual, feedback.error = (
            _point(values, progress.time) for values in (desired, actual, error)
        )
        goal.handle.publish_feedback(feedback)


def _of(values: Array | None) -> Array:
    return np.zeros(0) if values is None else values


def _point(values: JointReference, time: float) -> JointTrajectoryPoint:
    seconds = math.floor(time)
    return JointTrajectoryPoint(
        positions=values.position.tolist(),
        velocities=_of(values.velocity).tolist(),
        accelerations=_of(values.acceleration).tolist(),
        time_from_start=Duration(sec=seconds, nanosec=int(1e9 * (time - seconds))),
    )
