# SPDX-License-Identifier: Apache-2.0
"""Connections of a browser page to a robot node and to a controller over ROS 2 topics and services; imports rclpy.

Messages wait in inboxes until the page thread reads them, once per frame. The spinning thread queries the graph four
times per second and updates the subscriptions.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from ada_dynamics.arrays import Array
from ada_dynamics.drawing.marks import Mark
from ada_dynamics.errors import InputError
from ada_robot.messages.incoming import JOINT_REFERENCE, JOINT_TARGET, POSE_REFERENCE, TARGET, read_pose, write_pose
from ada_robot.node_state import HardwareState, read_hardware_state
from ada_robot.ros.inbox import Inbox
from ada_robot.ros.qos import COMMANDS, LATCHED, STATES, streams
from ada_robot.simulated.settings import FIXED_WORLD, FLOATING_WORLD
from ada_tools.browser.robot_node import (
    Answer,
    Observation,
    Positions,
    ReceivedPositions,
    Request,
    RobotNode,
    TargetPose,
    Wrench,
)
from ada_tools.nodes.view.inboxes import MarkerInbox, MotionInbox
from ada_tools.nodes.view.node_requests import NodeRequests, Post, reason_of

T = TypeVar("T")

_ROUND = 0.25  # [s] period of graph queries
_LOOKED = 0.5  # [s] period of queries whether a controller is available
_FRESH = 1.0  # [s] maximum age of a target
_KEPT = 2.0  # [s] lifetime of a publisher of commands after the last one
_LEARNED = 2.0  # [s] period of parameter queries
_PARAMETERS = ("model.gravity", "real_time_factor", "world_frame")
_STREAMS = streams(100)
_SLOW = 30.0  # [s] timeout of a transition: a robot may be switched on or searched for
_AT_ONCE = 1.5  # [s] timeout of a stop
_SIMULATION_SERVICES = {"pause": SetBool, "step": Trigger, "reset": Trigger}
_DRIVER_SERVICES = {"change_state": ChangeState, **dict.fromkeys(("arm", "stop", "reset", "bias"), Trigger)}
_TRANSITIONS = {
    "configure": Transition.TRANSITION_CONFIGURE,
    "activate": Transition.TRANSITION_ACTIVATE,
    "deactivate": Transition.TRANSITION_DEACTIVATE,
}
_OF_DEVICE = {"states": JointState, "commanded": JointState, "wrench": WrenchStamped}  # topics of each device


class RobotLink(RobotNode):
    """Subscriptions, publishers and clients between a page and a robot node.

    Attributes:
        name: node that moves the robot.
        driver: node that drives devices; may be the same.
        is_there: whether the driver is available.
        waiting_text: text of a page without a robot.
        description: latest robot description.
        parameters: known parameters of the node.
        state: latest state of the driver.
        others: other nodes that command a device, by device.
    """

    def __init__(self, node: Node, names: tuple[str, str], state_topic: str, post: Post, prefix: str = "") -> None:
        """Subscribe.

        Args:
            node: view node.
            names: node that moves the robot, and node that drives devices.
            state_topic: topic of the complete state.
            post: posts results to the page thread, as `Page.note`.
            prefix: frame prefix of the robot.
        """
        self.name, self.driver = names
        self._prefix = prefix
        self._node = node
        self._simulation = NodeRequests(node, self.name, _SIMULATION_SERVICES, post)
        self._driver = NodeRequests(node, self.driver, _DRIVER_SERVICES, post)
        self.description: str | None = None
        topic = node.resolve_topic_name("robot_description")
        self.waiting_text = f"Waiting for the robot description on topic **{topic}** from node `{self.name}`."
        self._known: dict[str, Any] = {}  # parameters of the node
        self.parameters: Mapping[str, object] = {}
        self._learned_at = -math.inf
        self._markers = MarkerInbox(node, f"{self.name}/markers", self._warn)
        self._complained: set[str] = set()
        self._commands = CommandPublishers(node)
        node.create_subscription(String, "robot_description", self._take_description, LATCHED)
        self._motion = MotionInbox(node, state_topic, self._warn)
        self._pushes = node.create_publisher(WrenchStamped, f"{self.name}/external_wrench", STATES)
        self._poses = node.create_publisher(JointState, f"{self.name}/set_state", STATES)
        # devices
        self.is_there = False
        self.state: HardwareState | None = None
        self._inboxes: dict[tuple[str, str], Inbox] = {}  # by device and quantity
        self._topics: dict[tuple[str, str], str] = {}
        self._heard: dict[tuple[str, str], ReceivedPositions] = {}
        self._wrenches: dict[str, Wrench] = {}
        self.others: Mapping[str, tuple[str, ...]] = {}
        self._phases = node.create_subscription(String, f"{self.driver}/state", self._take_phases, LATCHED)
        steady = Clock(clock_type=ClockType.STEADY_TIME)  # simulated time may be paused
        node.create_timer(_ROUND, self._discover, clock=steady)

    # --- on the thread that spins the node ----------------------------------------------------------------------
    def _take_description(self, message: String) -> None:
        self.description = message.data

    def _discover(self) -> None:
        """Query the graph and update the subscriptions."""
        for requests in (self._simulation, self._driver):
            requests.forget_old()
        self._commands.forget_old()
        now = time.monotonic()
        if now - self._learned_at > _LEARNED:
            self._learned_at = now
            for name in _PARAMETERS:
                self._simulation.get_parameter(name, partial(self._store, name))
        self._motion.discover()
        self._markers.discover()
        self.is_there = bool(self._node.count_publishers(self._phases.topic_name))
        if self.state is not None:
            self.others = {
                device.name: self._publishers(device.topics["commands"])
                for device in self.state.devices.values()
                if "commands" in device.topics
            }

    def _publishers(self, topic: str) -> tuple[str, ...]:
        own = self._node.get_name(), self._node.get_namespace()
        found = self._node.get_publishers_info_by_topic(topic)
        return tuple(sorted({one.node_name for one in found if (one.node_name, one.node_namespace) != own}))

    def _take_phases(self, message: String) -> None:
        """Subscribe to the topics of the reported devices only."""
        try:
            self.state = state = read_hardware_state(message.data)
        except InputError as problem:
            self._warn(f"{self._phases.topic_name}: {problem}")
            return
        self.is_there = True
        devices = state.devices.values()
        wanted = {
            (one.name, what): topic for one in devices for what, topic in one.topics.items() if what in _OF_DEVICE
        }
        for key in [key for key, topic in self._topics.items() if wanted.get(key) != topic]:
            del self._topics[key]
            self._inboxes.pop(key).close()
        for key, topic in wanted.items():
            if key not in self._topics:
                self._inboxes[key] = Inbox(self._node, _OF_DEVICE[key[1]], topic, _STREAMS)
                self._topics[key] = topic

    def _store(self, name: str, value: Any) -> None:
        self._known[name] = value
        known = {"real_time_factor": self._known.get("real_time_factor")}
        gravity = np.asarray(self._known.get("model.gravity", ()), dtype=np.float64).tolist()
        self.parameters = {**known, "gravity": gravity} if gravity else known

    def _warn(self, problem: str) -> None:
        if problem not in self._complained and len(self._complained) < 100:
            self._complained.add(problem)
            self._node.get_logger().warning(f"message ignored: {problem}")

    # --- on the page's thread: state ----------------------------------------------------------------------------
    def newest(self) -> Observation | None:
        """Latest motion."""
        return self._motion.newest()

    def marks(self, wanted: Collection[str]) -> Sequence[Mark]:
        """Markers to draw."""
        known = self._known.get("world_frame")
        names = (str(known),) if known else (FLOATING_WORLD, FIXED_WORLD)
        return self._markers.present([self._prefix + name for name in names], is_sure="world_frame" in self._known)

    def watch_marks(self, is_on: bool) -> None:
        """Start or stop receiving markers."""
        self._markers.want(is_on)

    # --- on the page's thread: state of devices -----------------------------------------------------------------
    def measured(self, device: str) -> ReceivedPositions | None:
        """Measured joint positions of a device."""
        return self._positions(device, "states")

    def commanded(self, device: str) -> ReceivedPositions | None:
        """Commanded joint positions of a device."""
        return self._positions(device, "commanded")

    def _newest(self, key: tuple[str, str]) -> Any:
        """Latest message since the last call."""
        inbox = self._inboxes.get(key)
        messages = inbox.fetch() if inbox is not None else ()
        return messages[-1] if messages else None

    def _positions(self, device: str, what: str) -> ReceivedPositions | None:
        if newest := self._newest((device, what)):
            values = zip(newest.name, newest.position, strict=False)
            self._heard[device, what] = ReceivedPositions(
                time.monotonic(), {name: x for name, x in values if math.isfinite(x)}
            )
        return self._heard.get((device, what))

    def wrench(self, device: str) -> Wrench | None:
        """Latest reading of a sensor."""
        if newest := self._newest((device, "wrench")):
            f, n = newest.wrench.force, newest.wrench.torque
            values = np.array([f.x, f.y, f.z, n.x, n.y, n.z])
            if np.isfinite(values).all():
                frame = newest.header.frame_id.removeprefix(self._prefix)
                self._wrenches[device] = Wrench(time.monotonic(), frame, values)
        return self._wrenches.get(device)

    # --- on the page's thread: requests -------------------------------------------------------------------------
    def command(self, positions: Positions | None, device: str = "") -> None:
        """Send position commands; without further commands the watchdogs take over.

        Commands for a device are stamped, since it refuses commands of unknown age.
        """
        if positions is None:
            return
        message = joint_message(positions)
        if not device:
            self._commands.send("joint_commands", message)
            return
        known = self.state.devices.get(device) if self.state is not None else None
        if known is not None and "commands" in known.topics:
            message.header.stamp = self._node.get_clock().now().to_msg()
            self._commands.send(known.topics["commands"], message)

    def set_state(self, positions: Positions) -> None:
        """Send a configuration."""
        send_to_listener(self._poses, joint_message(positions), self.name)

    def push(self, link: str, wrench: Array) -> None:
        """Send a wrench with an empty stamp: valid from arrival, independent of the clock of the node.

        Raises:
            InputError: the wrench is not finite, or there is no subscriber.
        """
        if not np.isfinite(wrench).all():
            raise InputError(
                f"wrench on link {link!r} is {np.asarray(wrench).tolist()}; [fx, fy, fz, nx, ny, nz] must be finite."
            )
        message = WrenchStamped()
        message.header.frame_id = self._prefix + link
        f, n = message.wrench.force, message.wrench.torque
        f.x, f.y, f.z, n.x, n.y, n.z = (float(x) for x in wrench)
        send_to_listener(self._pushes, message, self.name)

    def ask(self, request: Request, then: Answer) -> None:
        """Make a request; the hardware node resets, if one was detected."""
        if request in _TRANSITIONS:  # the reason of a refusal is in ~/state
            change = ChangeState.Request(transition=Transition(id=_TRANSITIONS[request]))
            refused = f"{self.driver} refused; see its state or log."
            self._driver.ask("change_state", change, lambda answer: None if answer.success else refused, then, _SLOW)
        elif request in ("pause", "resume"):
            self._simulation.ask("pause", SetBool.Request(data=request == "pause"), reason_of, then)
        elif request == "step" or (request == "reset" and self.state is None):
            self._simulation.trigger(request, then)
        elif request == "stop":
            fix = " Press the emergency stop of the robot."
            self._driver.trigger("stop", lambda problem: then(None if problem is None else problem + fix), _AT_ONCE)
        else:
            self._driver.trigger(request, then, _AT_ONCE if request == "arm" else _SLOW)

    def set_speed(self, factor: float, then: Answer) -> None:
        """Set the ratio of simulated to real time."""
        self._simulation.set_parameter("real_time_factor", float(factor), then)


class ControllerLink:
    """Topics between a page and a controller; implements `Follower`.

    Attributes:
        name: name of the controller node.
    """

    def __init__(self, node: Node, controller: str, prefix: str = "") -> None:
        """Subscribe."""
        self.name, self._prefix = controller, prefix
        self._poses = Inbox(node, PoseStamped, f"{controller}/{TARGET}", _STREAMS)
        self._joints = Inbox(node, JointState, f"{controller}/{JOINT_TARGET}", _STREAMS)
        self._pose: tuple[float, TargetPose] | None = None
        self._positions: tuple[float, dict[str, float]] | None = None
        self._pose_references = node.create_publisher(PoseStamped, f"{controller}/{POSE_REFERENCE}", COMMANDS)
        self._joint_references = node.create_publisher(JointState, f"{controller}/{JOINT_REFERENCE}", COMMANDS)
        self._is_there, self._looked = False, -math.inf

    # --- on the page's thread ---------------------------------------------------------------------------------------
    @property
    def is_there(self) -> bool:
        """Return True if references have a subscriber."""
        now = time.monotonic()
        if now - self._looked > _LOOKED:
            self._looked = now
            publishers = self._pose_references, self._joint_references
            self._is_there = any(one.get_subscription_count() for one in publishers)
        return self._is_there

    def target_pose(self) -> TargetPose | None:
        """Target pose of the controller."""
        if messages := self._poses.fetch():
            newest = messages[-1]
            try:
                pose = read_pose(newest.pose.position, newest.pose.orientation)
            except InputError:
                self._pose = None
            else:
                self._pose = time.monotonic(), TargetPose(newest.header.frame_id.removeprefix(self._prefix), pose)
        return _fresh(self._pose)

    def target_joints(self) -> Mapping[str, float] | None:
        """Target joint positions of the controller."""
        if messages := self._joints.fetch():
            newest = messages[-1]
            values = zip(newest.name, newest.position, strict=False)
            self._positions = time.monotonic(), {name: value for name, value in values if math.isfinite(value)}
        return _fresh(self._positions)

    def follow_pose(self, target: TargetPose) -> None:
        """Send a target pose with an empty stamp: valid from arrival, independent of the clock of the controller."""
        message = PoseStamped()
        message.header.frame_id = self._prefix + target.frame
        write_pose(target.pose, message.pose.position, message.pose.orientation)
        send_to_listener(self._pose_references, message, self.name)

    def follow_joints(self, positions: Mapping[str, float]) -> None:
        """Send target positions."""
        send_to_listener(self._joint_references, joint_message(positions), self.name)


def _fresh(newest: tuple[float, T] | None) -> T | None:
    """Value if its time is recent, else None."""
    return newest[1] if newest is not None and time.monotonic() - newest[0] < _FRESH else None


def joint_message(positions: Mapping[str, float]) -> JointState:
    """Joint positions as a message."""
    return JointState(name=list(positions), position=[float(x) for x in positions.values()])


def send_to_listener(publisher: Any, message: Any, name: str) -> None:
    """Publish a message; raise InputError without a subscriber.

    Raises:
        InputError: no subscriber.
    """
    if not publisher.get_subscription_count():
        raise InputError(f"no subscriber on {publisher.topic_name}: is {name} running?")
    publisher.publish(message)


class CommandPublishers:
    """Command publishers by topic."""

    def __init__(self, node: Node) -> None:
        """Create no publisher yet."""
        self._node = node
        self._lock = threading.Lock()
        self._each: dict[str, tuple[Any, float]] = {}  # publisher and time of the last command

    def send(self, topic: str, message: JointState) -> None:
        """Send a command (page thread)."""
        with self._lock:
            known = self._each.get(topic)
            publisher = self._node.create_publisher(JointState, topic, COMMANDS) if known is None else known[0]
            self._each[topic] = publisher, time.monotonic()
            publisher.publish(message)

    def forget_old(self) -> None:
        """Remove unused publishers (spinning thread, which must not use them otherwise)."""
        now = time.monotonic()
        with self._lock:
            for topic in [name for name, (_, last) in self._each.items() if now - last > _KEPT]:
                self._node.destroy_publisher(self._each.pop(topic)[0])
