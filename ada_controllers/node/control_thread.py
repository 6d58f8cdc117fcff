# SPDX-License-Identifier: Apache-2.0
"""Thread of the control loop in a configured node, its published topics and diagnostics; imports rclpy."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.duration import Duration
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ada_controllers.controller import Controller
from ada_controllers.node.controller_settings import ControllerSettings
from ada_controllers.node.following import Following
from ada_controllers.node.inputs import StateInputs
from ada_controllers.running.control_loop import ControlLoop, LoopSettings, RobotPhase
from ada_controllers.state import JointPath, JointReference, PoseReference, Reference, end_of
from ada_dynamics.arrays import Array
from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.simulation.record import messages
from ada_dynamics.simulation.record.messages import Message
from ada_dynamics.spatial.orientation import to_quaternion
from ada_robot.contract import Command
from ada_robot.messages.incoming import JOINT_TARGET, TARGET, write_pose
from ada_robot.messages.outgoing import JointStateLayouts
from ada_robot.ros import qos
from ada_robot.ros.status import MOST_MISSED, Level, Status, period_values, since
from ada_robot.timing.deadlines import DeadlineLoop, outcome

T = TypeVar("T")
PATIENCE = 5.0  # timeout of requests to the control thread [s]
_ARRIVAL = Duration(seconds=1)  # timeout for the acknowledgment of the last command


class Outputs:
    """Publishers of ~/state, ~/target and ~/joint_target.

    Attributes:
        state_rate: maximum rate of each topic [Hz]; 0 for unlimited.
    """

    def __init__(self, node: Node, controller: Controller[Any], settings: ControllerSettings) -> None:
        """Create the publishers for a first controller."""
        self._node, self._clock = node, node.get_clock()
        self.state_rate = settings.state_rate
        self._states = node.create_publisher(Float64MultiArray, "~/state", qos.STATES)
        self._poses = node.create_publisher(PoseStamped, f"~/{TARGET}", qos.STATES)
        self._joints = node.create_publisher(JointState, f"~/{JOINT_TARGET}", qos.STATES)
        self._frame = settings.frame_prefix + controller.model.root
        self._state_sizes: dict[str, int] = {}
        self._state_layout: Message | None = None
        self._published_at = -np.inf

    def close(self) -> None:
        """Destroy the publishers; to be called by the thread that spins the node."""
        for publisher in (self._states, self._poses, self._joints):
            self._node.destroy_publisher(publisher)

    # --- in the control thread --------------------------------------------------------------------------------------
    def state(self, time: float, controller: Controller[Any], target: Reference | None, command: Command) -> None:
        """Publish the quantities of a command, within the maximum rate.

        Args:
            time: time of the controller [s].
            controller: running controller.
            target: its reference.
            command: its command.
        """
        if self.state_rate and 0.0 <= time - self._published_at < (1.0 - 1e-6) / self.state_rate:
            return
        self._published_at = time
        vectors = state_vectors(time, controller, target, command)
        sizes = {name: len(values) for name, values in vectors.items()}
        if self._state_layout is None or sizes != self._state_sizes:
            self._state_layout, self._state_sizes = messages.vectors(sizes), sizes
        self._states.publish(self._state_layout.fill_one(0, np.concatenate(list(vectors.values()))))
        if isinstance(target, PoseReference):
            message = PoseStamped()
            message.header.stamp, message.header.frame_id = self._clock.now().to_msg(), self._frame
            write_pose(target.pose, message.pose.position, message.pose.orientation)
            self._poses.publish(message)
        elif isinstance(target, (JointReference, JointPath)) and self._joints.get_subscription_count():
            joints = JointState(name=list(controller.joints), position=end_of(target).tolist())
            joints.header.stamp = self._clock.now().to_msg()
            self._joints.publish(joints)


def state_vectors(
    time: float, controller: Controller[Any], target: Reference | None, command: Command
) -> dict[str, Array]:
    """Return the quantities of a command by name: t, reference, command, and the signals of the controller."""
    commanded = [values for values in (command.effort, command.position, command.velocity) if values is not None]
    reference = np.zeros(0)
    if isinstance(target, PoseReference):
        w, x, y, z = to_quaternion(target.pose[:3, :3])
        reference = np.array([*target.pose[:3, 3], x, y, z, w])
    elif target is not None:
        reference = end_of(target)
    signals = {name: np.ravel(values) for name, values in controller.signals().items()}
    return {"t": np.array([time]), "reference": reference, "command": np.concatenate(commanded), **signals}


class ControlThread:
    """Control loop with its inputs and outputs.

    Attributes:
        control: control loop, which belongs to the thread: use `ask`.
        following: conversion of requests to references, which belongs to the thread.
        inputs: subscriptions of measured states.
        loop: periodic thread.
        reported: number of refused inputs in the last report.
    """

    def __init__(
        self,
        node: Node,
        controller: Controller[Any],
        settings: ControllerSettings,
        loop_settings: LoopSettings,
        on_failure: Callable[[BaseException], object],
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Subscribe; `start` starts the thread.

        Args:
            node: node of the topics.
            controller: first controller.
            settings: settings of the node.
            loop_settings: settings of the control loop.
            on_failure: called in the thread with the exception that ended it.
            clock: clock of the ages of states and phases.
        """
        self._steady, self.reported = clock, 0
        self.control = ControlLoop(controller, loop_settings)
        self.following = Following(self.control)
        timeout = loop_settings.state_timeout
        self.inputs = StateInputs(node, controller.model, settings, timeout, clock)
        self._clock, self._layouts = node.get_clock(), JointStateLayouts()
        self._node, self._commands = node, node.create_publisher(JointState, "joint_commands", qos.COMMANDS)
        self._out = Outputs(node, controller, settings)
        self.loop = DeadlineLoop(
            1.0 / settings.rate,
            self._tick,
            name="control",
            priority=settings.realtime_priority,
            on_failure=on_failure,
        )

    # --- from other threads -----------------------------------------------------------------------------------------
    def start(self) -> None:
        """Start the thread."""
        self.loop.start()

    def ask(self, action: Callable[[], T]) -> T:
        """Execute an action in the thread between two steps, and wait for its result.

        Raises:
            AdaError: if the thread has ended or is too slow; or the error of the action.
        """
        ended = "the control thread has ended; its error is in the log. Configure the node again."
        slow = f"the control thread did not execute the request within {PATIENCE:g} s: it is too slow. Lower rate."
        return outcome(self.loop.post(action), PATIENCE, ended, slow)

    def activate(self) -> None:
        """Activate the controller; see `ControlLoop.activate`."""
        self.ask(lambda: self.control.activate(self._steady.now()))

    def deactivate(self) -> None:
        """Deactivate the controller and publish its last command."""

        def act() -> None:
            self._publish(self.control.deactivate())

        self.ask(act)

    def robot_is(self, phase: RobotPhase) -> None:
        """Pass on the reported phase of the robot without waiting; see `ControlLoop.robot_is`."""
        self.loop.post(lambda: self.control.robot_is(phase, self._steady.now()))

    def switch(self, controller: Controller[Any], *, keep: bool) -> None:
        """Switch to another controller; see `ControlLoop.switch`."""

        def act() -> None:
            keeps = keep and self.following.is_followed
            self.control.switch(controller, self._steady.now(), keep=keep)
            self.following.renew(keep=keeps)

        self.ask(act)

    def change(self, loop_settings: LoopSettings, state_rate: float) -> None:
        """Apply changed parameters."""

        def act() -> None:
            self.control.settings = loop_settings
            self.inputs.wrench_timeout = loop_settings.state_timeout
            self._out.state_rate = state_rate

        self.ask(act)

    def close(self) -> None:
        """End the controller, the thread and the topics; to be called by the thread that spins the node."""
        if self.loop.is_running:
            self.deactivate()
            self.loop.stop()
        self.inputs.close()
        self._commands.wait_for_all_acked(_ARRIVAL)
        self._node.destroy_publisher(self._commands)
        self._out.close()

    # --- the thread -------------------------------------------------------------------------------------------------
    def _tick(self, _due: int) -> None:
        control = self.control
        command = control.step(self.inputs.fetch(), self._steady.now())
        if command is None:
            return
        self._publish(command)
        self.following.look()
        latest = control.latest
        if latest is not None and control.is_active:
            self._out.state(latest.stamp, control.controller, control.target, command)

    def _publish(self, command: Command | None) -> None:
        if command is not None:
            parts = command.position, command.velocity, command.effort
            stamp = int(self._clock.now().nanoseconds)
            self._commands.publish(self._layouts.filled(tuple(self.control.controller.joints), parts, stamp))


# --- diagnostics ------------------------------------------------------------------------------------------------------
def control_status(thread: ControlThread) -> Status:
    """Return the status of the running controller and its inputs, with refusals since the last report."""
    control, inputs = thread.control, thread.inputs
    count = sum(dict(control.refused).values())
    is_new, thread.reported = count > thread.reported, count
    controller, latest, now = control.controller, control.latest, time.monotonic()
    values: dict[str, object] = {
        "controller": controller.NAME,
        "commands": controller.KIND,
        "joints": ", ".join(controller.joints),
        "active": control.is_active,
        "state topic": inputs.topic,
        "references": " or ".join(kind.__name__ for kind in controller.REFERENCES) or "none",
        "target": type(control.target).__name__ if control.target is not None else "",
        "limited commands": controller.saturations,
        "joints limited in the last command": ", ".join(controller.saturated),
        "restarts from the measured state": control.restarts,
        "reason of the last start": control.start_reason,
    }
    if latest is not None:
        values["time since the last state [s]"] = control.age(now)
        values["state age by its stamp [ms]"] = 1e3 * latest.age
        values["measured wrench"] = latest.state.wrench is not None
    values.update({f"refused: {reason}": count for reason, count in sorted(dict(control.refused).items())})
    if control.last_refusal:
        values["last refusal"] = control.last_refusal
    if control.reason:
        values["inactive"] = control.reason
    if thread.loop.failure is not None:
        return Status(Level.ERROR, f"the control thread has ended: {thread.loop.failure}", values)
    if latest is None:
        why = f": {control.last_refusal}" if control.last_refusal else ""
        return Status(Level.WARN, f"not active: no valid state on {inputs.topic} yet{why}", values)
    if not control.is_active:
        asked = control.reason in ("asked for", "not activated yet")
        return Status(Level.OK if asked else Level.ERROR, f"not active: {control.reason}", values)
    if control.age(now) > control.settings.state_timeout:
        return Status(Level.WARN, f"{controller.NAME} waits for a state, {control.age(now):.3g} s so far", values)
    if control.waits:
        level = Level.WARN if control.is_silent else Level.OK
        said = "no commands" if control.is_silent else "holding the position"
        return Status(level, f"{controller.NAME} waits: {control.waits} ({said})", values)
    if controller.saturated:
        return Status(Level.WARN, f"{controller.NAME} is limited at {', '.join(controller.saturated)}", values)
    if is_new:
        return Status(Level.WARN, f"{controller.NAME} is active and refused: {control.last_refusal}", values)
    return Status(Level.OK, f"{controller.NAME} is active", values)


def control_periods(thread: ControlThread) -> Callable[[], Status]:
    """Return a function for the timing status of the control thread, from now on."""
    before = thread.loop.statistics.summary()

    def report() -> Status:
        nonlocal before
        summary = thread.loop.statistics.summary()
        new, before = since(before, summary), summary
        values = period_values(summary)
        if new.slipped_s > 0.0:
            return Status(Level.WARN, f"too slow: {new.slipped_s:.3g} s dropped since the last report", values)
        if new.missed > MOST_MISSED * max(new.count, 1):
            return Status(Level.WARN, f"{new.missed} periods missed since the last report", values)
        return Status(Level.OK, "in time", values)

    return report
