# SPDX-License-Identifier: Apache-2.0
"""The hardware node: real robots and sensors, or their emulators, on ROS 2 topics; a lifecycle node, imports rclpy.

    unconfigured --configure--> inactive --activate--> active
    nothing is open             connected, reading,     robots follow joint_commands
                                nothing moves

A robot that leaves its phase by itself - an alarm, a fault, a stop, no commands - takes the node to inactive, and the
reason is logged. Safety is decided in `ada_robot.safety`; this module translates.
"""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeoutError
from functools import partial
from typing import Any

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from std_msgs.msg import String
from std_srvs.srv import Trigger

from ada_dynamics.errors import AdaError
from ada_hardware.force_torque.sensor import ForceSensor
from ada_hardware.node.connection import Connection
from ada_hardware.node.device_parameters import DeviceParameters
from ada_hardware.node.device_plan import DevicePlan
from ada_hardware.node.devices import Devices
from ada_hardware.node.hardware_settings import (
    ACTIVE,
    COMMANDED,
    INACTIVE,
    UNCONFIGURED,
    HardwareSettings,
)
from ada_hardware.node.requests import Requests
from ada_hardware.registry import ROBOT
from ada_hardware.robot import Robot
from ada_robot.outlet import STDERR, Outlet
from ada_robot.ros import qos
from ada_robot.ros.answers import answered
from ada_robot.ros.diagnostics import Diagnostics
from ada_robot.ros.managed_node import SUCCESS, ManagedNode
from ada_robot.ros.parameters import Parameters
from ada_robot.ros.period_status import period_values
from ada_robot.ros.polled_service import PolledService
from ada_robot.ros.run_node import run_node
from ada_robot.ros.status import Level, Status
from ada_robot.safety.phases import Phase
from ada_robot.timing.deadlines import DeadlineLoop, reduce_interpreter_jitter

NAME = "hardware_node"
_LOOK = 0.05  # [s] between checks of the robots' phases
_IDLE_RATE = 50.0  # [Hz] of looks while nothing is connected: only a stop can come
_LOG_INTERVAL = 5.0  # [s] after which the same problem is logged again
_FIRST_READING = 5.0  # [s] to wait for it; then robots are activated anyway, and refuse with their own reason
_PATIENCE = 5.0  # [s] limit for the node's thread to end a look


class HardwareNode(ManagedNode):
    """Drives robots and reads sensors.

    Attributes:
        devices: all that the node has; empty while it was never configured.
        plans: what they are, as the parameters had it when they were opened last.
        connection: topics of the devices; None while the node is unconfigured.
    """

    def __init__(self, make_robot: Callable[..., Robot] = Robot, **arguments: object) -> None:
        """Declare the parameters, and wait for requests.

        Args:
            make_robot: called with the arguments of `Robot`.
            arguments: of rclpy's Node, such as `context` and `parameter_overrides`.

        Raises:
            AdaError: a parameter is unusable; the message names it.
        """
        super().__init__(NAME, **arguments)
        self.devices = Devices()
        self._make_robot = make_robot
        self.connection: Connection | None = None
        self._settings = Parameters(self, HardwareSettings, on_change=self._change)
        settings = self._settings.value
        self._device_parameters = DeviceParameters(
            self,
            settings,
            lambda: self.phase != UNCONFIGURED,
            lambda name, speed: self.devices.robots[name].lower_tool_speed(speed),
        )
        self.plans: list[DevicePlan] = self._device_parameters.plans()
        self._follows = False
        self._configured_at = 0.0
        self._was_configured = self._was_activated = False
        self._said: dict[str, int] = {}
        self._troubles = self._reported_troubles = 0  # looks of the node's thread that failed
        self._trouble = ""
        self._published = ""
        self._states = self.create_publisher(String, "~/state", qos.LATCHED)
        self._stop_service = PolledService(self, Trigger, "~/stop", self._stop)
        self._requests = Requests(
            self, self.devices, lambda: self.plans, lambda: self.connection, lambda: self.settings
        )
        self._health = Diagnostics(self, ", ".join(plan.name for plan in self.plans))
        self._health.add("node", self._status)
        self.loop = DeadlineLoop(
            1.0 / _IDLE_RATE, self._tick, name="hardware", priority=settings.realtime_priority, on_failure=self._ended
        )
        self._publish_state()
        self.create_timer(_LOOK, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.loop.start()

    # --- transitions ------------------------------------------------------------------------------------------------
    def _has_changed(self) -> None:
        self._publish_state()

    def _configure(self) -> None:
        self.plans = self._device_parameters.plans()
        self.devices.take(*self._made(self.plans))
        self.devices.open()
        settings = self._settings.value
        try:
            self.connection = Connection(self, self.devices, self.plans, settings, self._health, self._lost_poses)
        except BaseException:
            self.devices.close()
            raise
        reduce_interpreter_jitter()
        self.loop.period = 1.0 / settings.rate
        self._configured_at = time.monotonic()
        for plan in self.plans:
            dry = " (a dry run: no port is open)" if settings.dry_run else ""
            self.get_logger().info(f"{plan.name}: {plan.kind.summary}, at {plan.driver.url}{dry}")

    def _made(self, plans: Sequence[DevicePlan]) -> tuple[dict[str, Robot], dict[str, ForceSensor]]:
        robots, sensors = dict[str, Robot](), dict[str, ForceSensor]()
        for plan in plans:
            name, kind = plan.name, plan.kind.name
            if plan.kind.kind == ROBOT:
                robots[name] = self._make_robot(kind, plan.driver, plan.rules, place=plan.settings.place)
            else:
                sensors[name] = ForceSensor(kind, plan.driver, plan.rules, on_limit=partial(self._hit, name))
        return robots, sensors

    def _activate(self) -> None:
        if self.connection is not None:
            self.connection.begin()
        self._follows = True  # commands may come as soon as one robot is active: it does not wait long for them
        try:
            self.devices.activate()
        except BaseException:
            self._follows = False
            raise

    def _deactivate(self) -> None:
        self._follows = False
        self.devices.deactivate()

    def _clean_up(self) -> None:
        self._follows = False
        try:
            self.devices.close()
        except AdaError as problem:  # they are closed nevertheless
            self.get_logger().error(str(problem))
        connection, self.connection = self.connection, None
        self.loop.period = 1.0 / _IDLE_RATE
        if connection is not None:
            self._pass()
            connection.close()
        self._said.clear()

    def _pass(self) -> None:
        """Wait until the node's thread has ended the look that it is at."""
        try:
            self.loop.post(lambda: None).result(_PATIENCE)
        except CancelledError:
            pass  # the thread has ended
        except FutureTimeoutError:
            raise AdaError(f"the node's thread did not come to the end of a look within {_PATIENCE:g} s.") from None

    # --- the node's thread ------------------------------------------------------------------------------------------
    def _tick(self, _due: int) -> None:
        try:
            self._stop_service.serve()
            connection = self.connection
            if connection is not None:
                connection.look(follows=self._follows)
        except Exception:  # a node that ends answers no stop: robots that get no commands come to rest by themselves
            self._troubles += 1
            self._trouble = traceback.format_exc()

    def _stop(self, _: Any, answer: Any) -> Any:
        return answered(answer, lambda: self._stop_all("the service ~/stop was called"))

    def _stop_all(self, why: str) -> str:
        self._follows = False
        self.devices.stop(why)
        names = ", ".join(name for name, robot in self.devices.robots.items() if robot.phase is not Phase.CLOSED)
        return f"{f'{names}: coming to rest' if names else 'nothing was driven'}; nothing moves until ~/reset."

    def _hit(self, sensor: str, why: str) -> None:
        """A limit of a sensor was passed; in the sensor's thread."""
        try:
            self._stop_all(f"{sensor}: {why}")
        except AdaError as problem:
            self.get_logger().error(f"{sensor}: {why}; not all robots could be stopped: {problem}")

    def _lost_poses(self, problem: BaseException) -> None:
        """Poses failed, in their thread: no reason to stop a robot."""
        self.get_logger().error(f"no /tf any more, until the node is configured anew: {problem!r}")

    def _ended(self, problem: BaseException) -> None:
        self.failure = problem if isinstance(problem, Exception) else RuntimeError(str(problem))

    # --- periodic checks --------------------------------------------------------------------------------------------
    def _look(self) -> None:
        """Autostart, and follow robots that left their phase."""
        if self._troubles > self._reported_troubles:
            self._reported_troubles = self._troubles
            self.get_logger().error(
                f"{self._troubles} looks for commands and readings have failed; the node goes on:\n{self._trouble}",
                throttle_duration_sec=_LOG_INTERVAL,
            )
        if self.connection is not None:
            self._log_refusals(self.connection)
            self._mirror()
        self._start()
        self._publish_state()

    def _mirror(self) -> None:
        why = self.devices.fallen()
        if self.phase == ACTIVE and why:
            is_fault = any(robot.phase in (Phase.STOPPED, Phase.CLOSED) for robot in self.devices.robots.values())
            # rclpy lets a line of code log at one severity only
            if is_fault:
                self.get_logger().error(f"inactive: {why}")
            else:
                self.get_logger().warning(f"inactive: {why}")
            self.trigger_deactivate()
        if self.phase == INACTIVE:
            lost = [name for name, robot in self.devices.robots.items() if robot.phase is Phase.CLOSED]
            if lost:
                reasons = "; ".join(f"{name}: {self.devices.robots[name].reason}" for name in lost)
                self.get_logger().error(f"unconfigured, for the connection is lost: {reasons}")
                self.trigger_cleanup()

    def _start(self) -> None:
        wanted = self._settings.value.autostart
        if wanted == UNCONFIGURED:
            return
        if self.phase == UNCONFIGURED and not self._was_configured:
            self._was_configured = True
            if self.trigger_configure() != SUCCESS and self.failure is None:
                self.failure = self.problem  # nobody would retry
        elif self.phase == INACTIVE and not self._was_activated and self._is_to_be_active(wanted):
            self._was_activated = True  # once: a failed start is for people to look at
            self.trigger_activate()

    def _is_to_be_active(self, wanted: str) -> bool:
        """True if the robots are to follow commands now: without commands they would soon stop again."""
        is_read = all(robot.feedback.is_fresh for robot in self.devices.robots.values())
        if not is_read and time.monotonic() < self._configured_at + _FIRST_READING:
            return False
        return wanted == ACTIVE or (
            wanted == COMMANDED and self.connection is not None and self.connection.is_commanded()
        )

    def _log_refusals(self, connection: Connection) -> None:
        for name, (count, words) in connection.refusals().items():
            new = count - self._said.get(name, 0)
            is_said = new > 0 and self.get_logger().warning(
                f"{name}: refused {new} commands, the last one: {words}", throttle_duration_sec=_LOG_INTERVAL
            )
            if is_said or new < 0:
                self._said[name] = count

    def _publish_state(self) -> None:
        """~/state, when it has changed."""
        connection = self.connection
        text = json.dumps(
            {
                "phase": self.phase,
                "stopped": self.devices.latched,
                "problem": "" if self.problem is None else str(self.problem),
                "dry_run": self._settings.value.dry_run,
                "devices": {} if connection is None else connection.state(),
            }
        )
        if text != self._published:
            self._published = text
            self._states.publish(String(data=text))

    def _status(self) -> Status:
        """The report on the node itself."""
        latched = self.devices.latched
        values: dict[str, object] = {
            "phase": self.phase,
            "devices": ", ".join(f"{plan.name} ({plan.kind.name})" for plan in self.plans),
            "addresses": ", ".join(f"{plan.name}: {plan.driver.url}" for plan in self.plans),
            "dry run": self._settings.value.dry_run,
            "stopped because": latched,
            "last problem": "" if self.problem is None else str(self.problem),
            "looks that failed": self._troubles,
            **period_values(self.loop.statistics.summary()),
        }
        if self.loop.failure is not None:
            return Status(Level.ERROR, f"the node's thread has ended: {self.loop.failure}", values)
        if latched:
            return Status(Level.ERROR, f"stopped: {latched}. Reset it (service ~/reset).", values)
        if self.problem is not None:
            return Status(Level.ERROR, f"{self.phase}: {self.problem}", values)
        return Status(Level.OK, self.phase, values)

    # --- parameters -------------------------------------------------------------------------------------------------
    @property
    def settings(self) -> HardwareSettings:
        """Present parameters of the node itself."""
        return self._settings.value

    def _change(self, _: HardwareSettings, new: HardwareSettings) -> None:
        if self.connection is not None:
            self.connection.change(new)

    def halt(self) -> None:
        """Bring all robots to rest; the executor may still be busy, with an activation or a sensor's zero."""
        self._follows = False
        try:
            self.devices.halt("the node ends")
        except AdaError as problem:
            self.get_logger().error(str(problem))

    def close(self) -> None:
        """Bring all robots to rest, and let go of them."""
        self._clean_up()
        self._requests.close()
        self.loop.stop()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until it is asked to end; an unread log blocks nothing."""
    if os.isatty(STDERR):
        os.environ.setdefault("RCUTILS_COLORIZED_OUTPUT", "1")  # rclpy would see a pipe
    with Outlet():
        return run_node(HardwareNode, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
