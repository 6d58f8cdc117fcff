# SPDX-License-Identifier: Apache-2.0
"""Services of the hardware node: arm, reset, release, play_motion in its executor, and bias; imports rclpy.

~/bias runs in a separate thread, since a zero takes seconds during which the executor must be able to deactivate
robots. ~/stop is not here: it must be answered while the executor is busy.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.node import Node
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool, Trigger

from ada_hardware.node.connection import Connection
from ada_hardware.node.devices import Devices
from ada_hardware.node.hardware_settings import DevicePlan, HardwareSettings
from ada_hardware.node.humanoid_requests import KINDS, can_release, play, release
from ada_robot.errors import Refused
from ada_robot.robot import Robot
from ada_robot.ros.inbox import PolledService
from ada_robot.ros.status import answered
from ada_robot.timing.deadlines import DeadlineLoop

_LOOK = 0.05  # [s] period of checks for ~/bias requests


class Requests:
    """Service requests."""

    def __init__(
        self,
        node: Node,
        devices: Devices,
        plans: Callable[[], Sequence[DevicePlan]],
        connection: Callable[[], Connection | None],
        settings: Callable[[], HardwareSettings],
    ) -> None:
        """Create the services.

        Args:
            node: node of the services.
            devices: devices of the node.
            plans: returns the descriptions of the devices.
            connection: returns the topics; None while the node is unconfigured.
            settings: returns the present parameters of the node.
        """
        self._node, self._devices = node, devices
        self._plans, self._connection, self._settings = plans, connection, settings
        node.create_service(Trigger, "~/arm", lambda _, answer: answered(answer, devices.arm))
        node.create_service(Trigger, "~/reset", lambda _, answer: answered(answer, devices.reset))
        node.create_service(SetBool, "~/release", self._release)
        node.create_service(Trigger, "~/play_motion", lambda _, answer: answered(answer, self.play))
        self._bias = PolledService(node, Trigger, "~/bias", lambda _, answer: answered(answer, self.bias))
        self._slow = DeadlineLoop(_LOOK, self._serve, name="requests")
        self._slow.start()

    def close(self) -> None:
        """Stop answering ~/bias."""
        self._slow.stop()

    def _serve(self, _due: int) -> None:
        try:
            self._bias.serve()
        except Exception:  # unexpected; later requests must be answered
            self._node.get_logger().error(f"~/bias failed:\n{traceback.format_exc()}")

    def bias(self) -> str:
        """Determine the zero of all sensors; return a description.

        Raises:
            AdaError: there is no sensor, or one is not steady.
        """
        sensors = self._devices.sensors
        if not sensors:
            raise Refused("no sensor, or the node is not configured.")
        zeros = []
        for name, sensor in sensors.items():
            zero = ", ".join(f"{one:.4g}" for one in sensor.bias())
            zeros.append(f"{name}: zero set to [{zero}] N, N m")
        return "; ".join(zeros)

    def _release(self, request: Any, answer: Any) -> Any:
        return answered(answer, lambda: self.release(free=request.data))

    def release(self, *, free: bool) -> str:
        """Release the servos of humanoids; return a description.

        Raises:
            AdaError: not confirmed, or not possible.
        """
        if not free:
            raise Refused("released servos hold again, at their present angles, when the node is activated.")
        plans = [plan for plan in self._plans() if plan.name in self._devices.robots]
        able = [plan for plan in plans if can_release(plan)] or self._plans()[:1]
        is_confirmed = self._settings().release_confirmed
        # a confirmation is valid for one request: it refers to the present configuration of the robot
        self._node.set_parameters([Parameter("release_confirmed", value=False)])
        for plan in able:
            release(plan, self._robot(plan), confirmed=is_confirmed)
        return f"released the servos of {', '.join(plan.name for plan in able)}."

    def play(self) -> str:
        """Start the motion of the parameter `motion`; return a description.

        Raises:
            AdaError: it cannot be played.
        """
        plans = self._plans()
        plan = next((one for one in plans if one.kind.name in KINDS), plans[0])
        robot, connection = self._robot(plan), self._connection()
        if connection is None:
            raise Refused("the node is not configured.")
        playing = play(plan, robot, self._settings().motion, time.monotonic())
        connection.playing = playing
        return f"playing {playing.path}: {playing.duration:.3g} s"

    def _robot(self, plan: DevicePlan) -> Robot:
        robots = self._devices.robots
        if plan.name not in robots:
            raise Refused(f"{plan.name} is not a robot, or the node is not configured.")
        return robots[plan.name]
