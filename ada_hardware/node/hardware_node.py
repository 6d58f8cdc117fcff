# SPDX-License-Identifier: Apache-2.0
"""Hardware node: real robots and sensors, or their emulators, on ROS 2 topics; a lifecycle node, imports rclpy.

    unconfigured --configure--> inactive --activate--> active
    no connection               connected, reading,     robots follow joint_commands
                                no motion

If a robot leaves its phase (alarm, fault, stop, command timeout), the node becomes inactive and logs the reason. Safety
rules are in `ada_robot.safety`.
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
from ada_hardware.node.devices import Devices
from ada_hardware.node.hardware_settings import ACTIVE, COMMANDED, INACTIVE, UNCONFIGURED, DevicePlan, HardwareSettings
from ada_hardware.registry import ROBOT
from ada_hardware.robot import Robot
from ada_robot.processes import STDERR, NonBlockingOutput
from ada_robot.ros import qos
from ada_robot.ros.diagnostics import Diagnostics
from ada_robot.ros.inbox import PolledService
from ada_robot.ros.managed_node import SUCCESS, ManagedNode
from ada_robot.ros.parameters import Parameters
from ada_robot.ros.run_node import run_node
from ada_robot.ros.status import Level, Status, answered, period_values
from ada_robot.safety.phases import Phase
from ada_robot.timing.deadlines import DeadlineLoop, reduce_interpreter_jitter

NAME = "hardware_node"
_LOOK = 0.05  # [s] period of checks of the robots' phases
_IDLE_RATE = 50.0  # [Hz] of the loop while unconfigured, when only a stop can be received
_LOG_INTERVAL = 5.0  # [s] after which the same problem is logged again
_FIRST_READING = 5.0  # [s] to wait for a first reading; then activation is tried, which raises an error with the reason
_PATIENCE = 5.0  # [s] timeout of waiting for the node's thread


class HardwareNode(ManagedNode):
    """Drives robots and reads sensors.

    Attributes:
        devices: devices of the node; empty before the first configuration.
        plans: descriptions of the devices when they were last opened.
        connection: topics of the devices; None while the node is unconfigured.
    """

    def __init__(self, make_robot: Callable[..., Robot] = Robot, **arguments: object) -> None:
        """Declare the parameters and wait for requests.

        Args:
            make_robot: called with the arguments of `Robot`.
            arguments: arguments of rclpy's Node, such as `context` and `parameter_overrides`.

        Raises:
            AdaError: invalid parameter; the message names it.
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
        self._logged_refusals: dict[str, int] = {}
        self._failures = self._reported_failures = 0  # failed iterations of the node's thread
        self._failure_text = ""
        self._published = ""
        self._states = self.create_publisher(String, "~/state", qos.LATCHED)
        self._stop_service = PolledService(self, Trigger, "~/stop", self._stop)
        self.create_service(Trigger, "~/arm", lambda _, answer: answered(answer, self.devices.arm))
        self.create_service(Trigger, "~/reset", lambda _, answer: answered(answer, self.devices.reset))
        # a zero takes seconds, during which the executor must be able to deactivate robots
        self._bias_service = PolledService(
            self, Trigger, "~/bias", lambda _, answer: answered(answer, self.devices.bias)
        )
        self._bias_loop = DeadlineLoop(_LOOK, self._serve_bias, name="requests")
        self._health = Diagnostics(self, ", ".join(plan.name for plan in self.plans))
        self._health.add("node", self._status)
        self.loop = DeadlineLoop(
            1.0 / _IDLE_RATE, self._tick, name="hardware", priority=settings.realtime_priority, on_failure=self._ended
        )
        self._publish_state()
        self.create_timer(_LOOK, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.loop.start()
        self._bias_loop.start()

    # --- transitions ------------------------------------------------------------------------------------------------
    def _has_changed(self) -> None:
        self._publish_state()

    def _configure(self) -> None:
        self.plans = self._device_parameters.plans()
        self.devices.take(*self._made(self.plans))
        self.devices.open()
        settings = self._settings.value
        try:
            self.connection = Connection(self, self.devices, self.plans, settings, self._health)
        except BaseException:
            self.devices.close()
            raise
        reduce_interpreter_jitter()
        self.loop.period = 1.0 / settings.rate
        self._configured_at = time.monotonic()
        for plan in self.plans:
            dry = " (dry run: no port is opened)" if settings.dry_run else ""
            self.get_logger().info(f"{plan.name}: {plan.kind.summary}, at {plan.driver.url}{dry}")

    def _made(self, plans: Sequence[DevicePlan]) -> tuple[dict[str, Robot], dict[str, ForceSensor]]:
        robots, sensors = dict[str, Robot](), dict[str, ForceSensor]()
        for plan in plans:
            name, kind = plan.name, plan.kind.name
            if plan.kind.kind == ROBOT:
                robots[name] = self._make_robot(kind, plan.driver, plan.rules, place=plan.settings.place)
            else:
                sensors[name] = ForceSensor(kind, plan.driver, plan.rules, on_limit=partial(self._stop_on_limit, name))
        return robots, sensors

    def _activate(self) -> None:
        if self.connection is not None:
            self.connection.begin()
        self._follows = True  # robots already active must receive commands while others are being activated
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
        except AdaError as problem:  # the devices are closed in any case
            self.get_logger().error(str(problem))
        connection, self.connection = self.connection, None
        self.loop.period = 1.0 / _IDLE_RATE
        if connection is not None:
            self._finish_iteration()
            connection.close()
        self._logged_refusals.clear()

    def _finish_iteration(self) -> None:
        """Wait until the node's thread has finished its present iteration."""
        try:
            self.loop.post(lambda: None).result(_PATIENCE)
        except CancelledError:
            pass  # the thread has ended
        except FutureTimeoutError:
            raise AdaError(f"the node's thread did not finish an iteration within {_PATIENCE:g} s.") from None

    # --- the node's thread ------------------------------------------------------------------------------------------
    def _tick(self, _due: int) -> None:
        try:
            self._stop_service.serve()
            connection = self.connection
            if connection is not None:
                connection.look(follows=self._follows)
        except Exception:  # the thread must go on to answer ~/stop; robots without commands stop by themselves
            self._failures += 1
            self._failure_text = traceback.format_exc()

    def _stop(self, _: Any, answer: Any) -> Any:
        return answered(answer, lambda: self._stop_all("the service ~/stop was called"))

    def _stop_all(self, why: str) -> str:
        self._follows = False
        self.devices.stop(why)
        names = ", ".join(name for name, robot in self.devices.robots.items() if robot.phase is not Phase.CLOSED)
        return f"{f'{names}: stopping' if names else 'nothing was active'}; nothing moves until ~/reset."

    def _stop_on_limit(self, sensor: str, why: str) -> None:
        """Stop all robots after a limit violation of a sensor; called in the sensor's thread."""
        try:
            self._stop_all(f"{sensor}: {why}")
        except AdaError as problem:
            self.get_logger().error(f"{sensor}: {why}; not all robots could be stopped: {problem}")

    def _ended(self, problem: BaseException) -> None:
        self.failure = problem if isinstance(problem, Exception) else RuntimeError(str(problem))

    # --- requests -----------------------------------------------------------------------------------------------------
    def _serve_bias(self, _due: int) -> None:
        try:
            self._bias_service.serve()
        except Exception:  # unexpected; later requests must be answered
            self.get_logger().error(f"~/bias failed:\n{traceback.format_exc()}")

    # --- periodic checks --------------------------------------------------------------------------------------------
    def _look(self) -> None:
        """Start automatically, log problems, and follow robots that left their phase."""
        if self._failures > self._reported_failures:
            self._reported_failures = self._failures
            self.get_logger().error(
                f"{self._failures} iterations for commands and readings have failed; the node "
                f"continues:\n{self._failure_text}",
                throttle_duration_sec=_LOG_INTERVAL,
            )
        if self.connection is not None:
            self._log_refusals(self.connection)
            self._follow_robot_phases()
        self._start()
        self._publish_state()

    def _follow_robot_phases(self) -> None:
        why = self.devices.fallen()
        if self.phase == ACTIVE and why:
            is_fault = any(robot.phase in (Phase.STOPPED, Phase.CLOSED) for robot in self.devices.robots.values())
            # rclpy allows one severity per line of code
            if is_fault:
                self.get_logger().error(f"inactive: {why}")
            else:
                self.get_logger().warning(f"inactive: {why}")
            self.trigger_deactivate()
        if self.phase == INACTIVE:
            lost = [name for name, robot in self.devices.robots.items() if robot.phase is Phase.CLOSED]
            if lost:
                reasons = "; ".join(f"{name}: {self.devices.robots[name].reason}" for name in lost)
                self.get_logger().error(f"unconfigured, connection lost: {reasons}")
                self.trigger_cleanup()

    def _start(self) -> None:
        wanted = self._settings.value.autostart
        if wanted == UNCONFIGURED:
            return
        if self.phase == UNCONFIGURED and not self._was_configured:
            self._was_configured = True
            if self.trigger_configure() != SUCCESS and self.failure is None:
                self.failure = self.problem  # there is no retry
        elif self.phase == INACTIVE and not self._was_activated and self._is_to_be_active(wanted):
            self._was_activated = True  # once: a failed start needs a person
            self.trigger_activate()

    def _is_to_be_active(self, wanted: str) -> bool:
        """Return True if the robots are to be activated now; without commands they would soon stop again."""
        is_read = all(robot.feedback.is_fresh for robot in self.devices.robots.values())
        if not is_read and time.monotonic() < self._configured_at + _FIRST_READING:
            return False
        return wanted == ACTIVE or (
            wanted == COMMANDED and self.connection is not None and self.connection.is_commanded()
        )

    def _log_refusals(self, connection: Connection) -> None:
        for name, (count, words) in connection.refusals().items():
            new = count - self._logged_refusals.get(name, 0)
            is_logged = new > 0 and self.get_logger().warning(
                f"{name}: refused {new} commands, last: {words}", throttle_duration_sec=_LOG_INTERVAL
            )
            if is_logged or new < 0:
                self._logged_refusals[name] = count

    def _publish_state(self) -> None:
        """Publish ~/state if it has changed."""
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
        """Diagnostics of the node."""
        latched = self.devices.latched
        values: dict[str, object] = {
            "phase": self.phase,
            "devices": ", ".join(f"{plan.name} ({plan.kind.name})" for plan in self.plans),
            "addresses": ", ".join(f"{plan.name}: {plan.driver.url}" for plan in self.plans),
            "dry run": self._settings.value.dry_run,
            "reason of the stop": latched,
            "last problem": "" if self.problem is None else str(self.problem),
            "failed iterations": self._failures,
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
        """Present parameters of the node."""
        return self._settings.value

    def _change(self, _: HardwareSettings, new: HardwareSettings) -> None:
        if self.connection is not None:
            self.connection.change(new)

    def halt(self) -> None:
        """Decelerate all robots; the executor may be busy with an activation or a sensor's zero."""
        self._follows = False
        try:
            self.devices.halt("the node ends")
        except AdaError as problem:
            self.get_logger().error(str(problem))

    def close(self) -> None:
        """Decelerate and close all devices."""
        self._clean_up()
        self._bias_loop.stop()
        self.loop.stop()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until shutdown; stderr is decoupled so that an unread log cannot block it."""
    if os.isatty(STDERR):
        os.environ.setdefault("RCUTILS_COLORIZED_OUTPUT", "1")  # rclpy would see a pipe
    with NonBlockingOutput():
        return run_node(HardwareNode, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
