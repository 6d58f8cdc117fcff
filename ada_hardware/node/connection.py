# SPDX-License-Identifier: Apache-2.0
"""Topics and diagnostics of all devices while the hardware node is connected to them; imports rclpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node

from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.robots.catalogue import start_of
from ada_dynamics.robots.load import load
from ada_dynamics.simulation.record import messages
from ada_hardware.force_torque.sensor import ForceSensor
from ada_hardware.force_torque.tool import SensorGravity
from ada_hardware.node.device_status import RobotReport, newest_refusal, robot_state, sensor_report, sensor_state
from ada_hardware.node.devices import Devices
from ada_hardware.node.hardware_settings import DevicePlan, HardwareSettings
from ada_robot.contract import Reason
from ada_robot.messages.outgoing import StateMessages
from ada_robot.node.joint_commands import JointCommands
from ada_robot.node.loop_states import StateEstimator
from ada_robot.node.robot_topics import RobotTopics
from ada_robot.node.state_publishers import Frames, can_send_frames, publish_fixed
from ada_robot.robot import Robot
from ada_robot.ros import qos
from ada_robot.ros.diagnostics import Diagnostics
from ada_robot.ros.robot_settings import RobotSettings
from ada_robot.safety.phases import Phase
from ada_robot.timing.deadlines import Stamps

NO_MODEL = "none"


class SensorTopics:
    """Publishes the wrenches of a sensor.

    Attributes:
        sensor: the sensor.
        withheld: number of invalid readings, which were not sent.
        topic: full name of the topic.
    """

    def __init__(self, node: Node, sensor: ForceSensor, topic: str, frame: str) -> None:
        """Create the publisher.

        Args:
            node: node of the publisher.
            sensor: open sensor.
            topic: name of the topic.
            frame: frame of the wrenches.
        """
        self.sensor = sensor
        self.withheld = 0
        self._node, self._stamps = node, Stamps.of(node.get_clock())
        self._publisher = node.create_publisher(WrenchStamped, topic, qos.STATES)
        self.topic: str = self._publisher.topic_name
        self._message = messages.wrench(frame)
        self._number = 0

    def look(self) -> None:
        """Publish a new reading; called in the node's thread."""
        reading = self.sensor.newest
        if reading is None or reading.number == self._number:
            return
        self._number = reading.number
        if not reading.is_valid:
            self.withheld += 1
            return
        self._publisher.publish(self._message.fill_one(self._stamps.at(reading.time), reading.wrench))

    def close(self) -> None:
        """Remove the publisher; call it on the thread that spins the node."""
        self._node.destroy_publisher(self._publisher)


class Connection:
    """Topics and diagnostics of the devices of a node.

    Attributes:
        robots: topics of the robots, by name.
        sensors: topics of the sensors, by name.
    """

    def __init__(
        self,
        node: Node,
        devices: Devices,
        plans: Sequence[DevicePlan],
        settings: HardwareSettings,
        health: Diagnostics,
    ) -> None:
        """Create the topics of open devices.

        Args:
            node: node of the topics.
            devices: open devices.
            plans: descriptions of the devices.
            settings: settings of the node.
            health: receiver of the diagnostics.

        Raises:
            AdaError: a model cannot be loaded, or does not match the robot.
        """
        self._node, self._health, self._settings = node, health, settings
        self._stamps = Stamps.of(node.get_clock())
        self.robots: dict[str, RobotTopics] = {}
        self.sensors: dict[str, SensorTopics] = {}
        self._tools: list[tuple[str, ForceSensor, DevicePlan, Dynamics]] = []  # carried by the named robot
        self._frames: dict[str, Frames] = {}
        self._fixed: Any = None  # publisher of /tf_static
        self._links: dict[str, str] = {}  # robot that each frame belongs to
        try:
            for plan in plans:
                if plan.name in devices.robots:
                    self._add_robot(plan, devices.robots[plan.name])
            for plan in plans:
                if plan.name in devices.sensors:
                    self._add_sensor(plan, devices.sensors[plan.name])
            rows = [row for frames in self._frames.values() for row in frames.fixed]
            if rows:  # two robots of one world publish the same frame
                self._fixed = publish_fixed(node, list(dict.fromkeys(rows)))
        except BaseException:
            self.close()
            raise

    def _add_robot(self, plan: DevicePlan, robot: Robot) -> None:
        whole = _whole(plan, robot)
        if whole is not None:
            if whole.missing:
                self._node.get_logger().warning(
                    f"{plan.name}: the model {whole.model.name!r} has motors that the device lacks; they are assumed "
                    f"to be at zero: {', '.join(whole.missing)}."
                )
            self._add_frames(plan, whole)
        topics = RobotTopics(
            self._node, robot, plan.rules, whole,
            look_rate=self._settings.rate, state_rate=self._settings.publish_rate, prefix=plan.settings.prefix,
        )  # fmt: skip
        self._limit(topics.commands)
        self.robots[plan.name] = topics
        self._health.add(plan.name, RobotReport(robot, topics.commands, topics.lease, whole))

    def _add_frames(self, plan: DevicePlan, whole: StateEstimator) -> None:
        """Publish the frames of a robot on /tf if possible."""
        use = self._settings
        if not use.tf_rate or not can_send_frames(self._node):
            return
        shared = [link for link in whole.model.link_names if self._links.setdefault(link, plan.name) != plan.name]
        if shared:
            self._node.get_logger().warning(
                f"{plan.name}: no /tf, since {self._links[shared[0]]} also has a link {shared[0]!r} and frame names "
                "must be unique. Use a model with other names, or a separate node and namespace."
            )
            return
        encoder = StateMessages(
            Dynamics(whole.model), use.world_frame, prefix=use.frame_prefix, base_pose=use.base_pose
        )
        self._frames[plan.name] = Frames(self._node, encoder, use.tf_rate)

    def _add_sensor(self, plan: DevicePlan, sensor: ForceSensor) -> None:
        topics = SensorTopics(self._node, sensor, plan.settings.topic, self._settings.frame_prefix + plan.frame)
        self.sensors[plan.name] = topics
        if plan.rules.tool_mass:
            self._add_tool(plan, sensor)
        self._health.add(plan.name, lambda: sensor_report(sensor, topics.withheld))

    def _add_tool(self, plan: DevicePlan, sensor: ForceSensor) -> None:
        """Connect the tool compensation of a sensor with the robot that carries it."""
        for name, robot in self.robots.items():
            whole = robot.whole
            if whole is not None and plan.frame in whole.model.link_names and not whole.model.loops:
                dynamics = Dynamics(whole.model)
                SensorGravity.on_link(dynamics, plan.frame, whole.model.neutral())  # compiles it
                self._tools.append((name, sensor, plan, dynamics))
                return
        raise InputError(
            f"parameter {plan.name}.sensor.tool_mass is {plan.rules.tool_mass:g} kg, but the orientation of the tool "
            f"is unknown: {plan.name}.frame is {plan.frame!r}, which is not a link of a robot without loops of this "
            "node. Set it to the link with the sensor, of a robot among the devices, or set tool_mass to 0."
        )

    # --- in the node's thread ---------------------------------------------------------------------------------------
    def look(self, *, follows: bool) -> None:
        """Process commands and publish new states; an error of one device does not affect other devices.

        Args:
            follows: active robots may be commanded.
        """
        looks: list[Callable[[], object]] = [topics.look for topics in self.sensors.values()]
        looks += [partial(self._look_at, name, robot, follows) for name, robot in self.robots.items()]
        problems = []
        for look in looks:
            try:
                look()
            except Exception as problem:
                problems.append(problem)
        for other in problems[1:]:  # the node logs the one that is raised
            self._node.get_logger().error(f"{type(other).__name__}: {other}", throttle_duration_sec=1.0)
        if problems:
            raise problems[0]

    def _look_at(self, name: str, robot: RobotTopics, follows: bool) -> None:
        is_active = follows and robot.robot.phase is Phase.ACTIVE
        feedback, whole, frames = robot.look(is_active=is_active), robot.whole, self._frames.get(name)
        if feedback is None or whole is None:
            return
        stamp = self._stamps.at(feedback.time)
        if frames is not None and frames.is_due(stamp):
            frames.publish(whole.of(feedback), stamp)
        for carrier, sensor, plan, dynamics in self._tools:
            if carrier == name:
                q = whole.of(feedback).q
                sensor.set_gravity(SensorGravity.on_link(dynamics, plan.frame, q, plan.rules.rpy, feedback.time))

    # --- executor ---------------------------------------------------------------------------------------------------
    def begin(self) -> None:
        """Discard earlier commands before the robots are activated."""
        for topics in self.robots.values():
            topics.begin()

    def is_commanded(self) -> bool:
        """Return True if every robot received commands while it was inactive."""
        return all(topics.commands.refused[Reason.NOT_ACTIVE] for topics in self.robots.values())

    def change(self, settings: HardwareSettings) -> None:
        """Apply changed parameters."""
        self._settings = settings
        for topics in self.robots.values():
            self._limit(topics.commands)

    def _limit(self, commands: JointCommands) -> None:
        use = self._settings
        commands.max_age, commands.max_jump = use.max_command_age, use.max_position_jump
        commands.requires_stamps = use.require_stamps

    def state(self) -> dict[str, object]:
        """Part of ~/state about the devices."""
        robots = {
            name: {**robot_state(one.robot, one.commands, one.topics), "commander": one.lease.holder_name}
            for name, one in self.robots.items()
        }
        return {**robots, **{name: sensor_state(one.sensor, one.topic) for name, one in self.sensors.items()}}

    def refusals(self) -> dict[str, tuple[int, str]]:
        """Number of commands refused while active, and text of the last refusal, by robot."""
        found = {}
        for name, topics in self.robots.items():
            status, commands = topics.robot.status(), topics.commands
            count = sum(status.refused.values()) + commands.refused_active
            found[name] = (count, newest_refusal(status, commands))
        return found

    def close(self) -> None:
        """Remove all topics; call it on the thread that spins the node, when no other thread uses them."""
        for name in (*self.robots, *self.sensors):
            self._health.remove(name)
        parts: list[RobotTopics | SensorTopics | Frames] = [*self.robots.values(), *self.sensors.values()]
        for part in [*parts, *self._frames.values()]:
            part.close()
        if self._fixed is not None:
            self._node.destroy_publisher(self._fixed)
        self.robots, self.sensors, self._frames, self._fixed = {}, {}, {}, None


def _whole(plan: DevicePlan, robot: Robot) -> StateEstimator | None:
    """Create the full state of the robot from its model; None without a model."""
    # the settings of a driver may specify the robot more precisely than its kind
    source, driver = plan.settings.model or getattr(plan.driver, "robot", "") or plan.kind.robot, plan.driver
    if not source or source == NO_MODEL:
        return None
    try:
        # motors do not determine the base pose of a legged robot
        is_own = isinstance(driver, RobotSettings) and not plan.settings.model
        model = replace(driver, base="fixed").load() if is_own else load(source, base="fixed")
        whole = StateEstimator(model, robot.joints, start_of(source, model))
        whole.close_loops()
        return whole
    except AdaError as problem:
        raise InputError(f"parameter {plan.name}.model: {problem}") from problem
