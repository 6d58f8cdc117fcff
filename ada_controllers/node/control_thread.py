# SPDX-License-Identifier: Apache-2.0
"""Thread of the control loop in a configured node: receives states, publishes commands; imports rclpy."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, TypeVar

from rclpy.duration import Duration
from rclpy.node import Node
from sensor_msgs.msg import JointState

from ada_controllers.controller import Controller
from ada_controllers.node.controller_settings import ControllerSettings
from ada_controllers.node.following import Following
from ada_controllers.node.outputs import Outputs
from ada_controllers.node.state_inputs import StateInputs
from ada_controllers.running.control_loop import ControlLoop, LoopSettings
from ada_controllers.running.robot_phase import RobotPhase
from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import AdaError
from ada_robot.contract import Command
from ada_robot.messages.outgoing import JointStateLayouts
from ada_robot.ros import qos
from ada_robot.timing.deadlines import DeadlineLoop

T = TypeVar("T")
PATIENCE = 5.0  # timeout of requests to the control thread [s]
_ARRIVAL = Duration(seconds=1)  # timeout for the acknowledgment of the last command


class ControlThread:
    """Control loop with its inputs and outputs.

    Attributes:
        control: control loop, which belongs to the thread: use `ask`.
        following: conversion of requests to references, which belongs to the thread.
        inputs: subscriptions of measured states.
        loop: periodic thread.
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
        self._steady = clock
        self.control = ControlLoop(controller, loop_settings)
        self.following = Following(self.control)
        self.inputs = StateInputs(
            node,
            controller.model,
            settings.state_source,
            loop_settings.state_timeout,
            self.control.refuse,
            settings.wrench_of,
            clock,
        )
        self._clock, self._layouts = node.get_clock(), JointStateLayouts()
        self._node, self._commands = node, node.create_publisher(JointState, "joint_commands", qos.COMMANDS)
        self._out = Outputs(node, controller, settings.state_rate, settings.frame_prefix)
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
        future = self.loop.post(action)
        try:
            return future.result(PATIENCE)
        except CancelledError:
            raise AdaError(f"the control thread has ended: {self.loop.failure}. Configure the node again.") from None
        except FutureTimeoutError:
            future.cancel()
            raise AdaError(
                f"the control thread did not execute the request within {PATIENCE:g} s: the controller is too "
                "slow. Lower rate."
            ) from None

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
            self._out.follow()

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
