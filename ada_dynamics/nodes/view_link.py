# SPDX-License-Identifier: Apache-2.0
"""A robot behind ROS 2 topics and services, as a page in the browser needs it; imports rclpy.

Callbacks run on the thread that spins the node, and leave the newest messages. The page's thread fetches them at its
own pace, and decodes only those that it shows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from ada_dynamics.errors import InputError
from ada_dynamics.nodes.kit.qos import COMMANDS, LATCHED, SENSOR, STATES
from ada_dynamics.nodes.state_message import read_state
from ada_dynamics.nodes.view_requests import PlantRequests, Post
from ada_dynamics.spatial.rotation import from_quaternion
from ada_dynamics.view.browser.plant import Answer, JointWrench
from ada_dynamics.view.browser.seen import Seen, SeenJoints, SeenState

try:
    from tf2_msgs.msg import TFMessage
except ImportError:  # no wheel has it, and without a compiler nobody could make it: free bases stay where they are then
    TFMessage = None

Array = NDArray[np.float64]

_ROUND = 0.25  # [s] between looks at who is there
_LEARNED = 2.0  # [s] between looks at the plant's parameters
_FRESH = 1.0  # [s] that an exact state counts more than joint states
_RATED = 1.0  # [s] over which messages are counted
_PARAMETERS = ("model.gravity", "real_time_factor")
_WRENCH = "geometry_msgs/msg/WrenchStamped"
_NS = 1e-9  # [s]


class _Arrival(NamedTuple):
    at: float  # [s], steady clock
    data: bytes


class _Joints(NamedTuple):
    """What joint states said so far; replaced as a whole."""

    at: float
    t: float
    positions: dict[str, float]
    velocities: dict[str, float]


class ViewLink:
    """Subscriptions, publishers and clients that join a page to a plant and its robot; it is a `Plant`.

    Attributes:
        name: of the plant's node.
        has_transforms: whether /tf can be read here.
    """

    has_transforms = TFMessage is not None

    def __init__(self, node: Node, plant: str, state_topic: str, post: Post) -> None:
        """Subscribe.

        Args:
            node: that the view is.
            plant: name of the node that moves the robot.
            state_topic: of its exact state.
            post: takes answers over to the page's thread, as `Page.note` does.
        """
        self.name = plant
        self._node = node
        self._requests = PlantRequests(node, plant, post)
        self._text: str | None = None
        self._raw: _Arrival | None = None
        self._decoded: tuple[_Arrival, SeenState | None] | None = None
        self._joints: _Joints | None = None
        self._seen_joints: tuple[_Joints, SeenJoints] | None = None
        self._frames: dict[str, Any] = {}
        self._count = 0
        self._rate = 0.0
        self._rated = (time.monotonic(), 0)
        self._known: dict[str, Any] = {}  # parameters of the plant
        self._parameters: Mapping[str, object] = {}
        self._learned_at = -math.inf
        self._wrenches: dict[str, JointWrench] = {}
        self._watches_wrenches = False
        self._wrench_subscriptions: dict[str, Any] = {}
        self._fallback: list[Any] = []
        self._commands: Any = None
        self._complained: set[str] = set()
        node.create_subscription(String, "robot_description", self._take_description, LATCHED)
        self._state = node.create_subscription(Float64MultiArray, state_topic, self._take_state, SENSOR, raw=True)
        self._pushes = node.create_publisher(WrenchStamped, f"{plant}/external_wrench", STATES)
        self._poses = node.create_publisher(JointState, f"{plant}/set_state", STATES)
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)  # simulated time may stand still
        node.create_timer(_ROUND, self._look_around, clock=self._steady)

    # --- on the thread that spins the node ----------------------------------------------------------------------
    def _take_description(self, message: String) -> None:
        self._text = message.data

    def _take_state(self, data: bytes) -> None:
        self._raw = _Arrival(time.monotonic(), data)
        self._count += 1

    def _take_joints(self, message: JointState) -> None:
        """Several nodes may each tell some of the joints."""
        names = message.name
        if len(message.position) not in (0, len(names)) or len(message.velocity) not in (0, len(names)):
            self._complain(f"joint_states: {len(names)} names, but another number of positions or velocities.")
            return
        before = self._joints
        positions = dict(before.positions) if before else {}
        velocities = dict(before.velocities) if before else {}
        positions.update((n, x) for n, x in zip(names, message.position, strict=False) if math.isfinite(x))
        velocities.update((n, x) for n, x in zip(names, message.velocity, strict=False) if math.isfinite(x))
        stamp = message.header.stamp
        self._joints = _Joints(time.monotonic(), stamp.sec + _NS * stamp.nanosec, positions, velocities)
        if self._raw is None or time.monotonic() - self._raw.at > _FRESH:
            self._count += 1

    def _take_transforms(self, message: Any) -> None:
        for transform in message.transforms:
            self._frames[transform.child_frame_id] = transform.transform

    def _take_wrench(self, joint: str, message: WrenchStamped) -> None:
        f, n = message.wrench.force, message.wrench.torque
        force, moment = np.array([f.x, f.y, f.z]), np.array([n.x, n.y, n.z])
        if np.isfinite(force).all() and np.isfinite(moment).all():
            self._wrenches[joint] = JointWrench(message.header.frame_id, force, moment)

    def _look_around(self) -> None:
        """See who is there, and listen to them."""
        self._requests.forget_old()
        now = time.monotonic()
        self._count_messages(now)
        if now - self._learned_at > _LEARNED:
            self._learned_at = now
            for name in _PARAMETERS:
                self._requests.get_parameter(name, partial(self._learn, name))
        has_state = self._raw is not None and now - self._raw.at < _FRESH
        if has_state and self._fallback:
            for subscription in self._fallback:
                self._node.destroy_subscription(subscription)
            self._fallback = []
        elif not has_state and not self._fallback and not self._node.count_publishers(self._state.topic_name):
            self._fallback = [self._node.create_subscription(JointState, "joint_states", self._take_joints, SENSOR)]
            if TFMessage is not None:
                self._fallback.append(self._node.create_subscription(TFMessage, "/tf", self._take_transforms, SENSOR))
        self._look_for_wrenches()

    def _count_messages(self, now: float) -> None:
        begin, count = self._rated
        if now - begin >= _RATED:
            self._rate = (self._count - count) / (now - begin)
            self._rated = now, self._count

    def _learn(self, name: str, value: Any) -> None:
        self._known[name] = value
        known = {"real_time_factor": self._known.get("real_time_factor")}
        gravity = np.asarray(self._known.get("model.gravity", ()), dtype=np.float64).tolist()
        self._parameters = {**known, "gravity": gravity} if gravity else known

    def _look_for_wrenches(self) -> None:
        if not self._watches_wrenches:
            for subscription in self._wrench_subscriptions.values():
                self._node.destroy_subscription(subscription)
            self._wrench_subscriptions = {}
            return
        prefix = self._node.resolve_topic_name(f"{self.name}/wrench") + "/"
        for topic, kinds in self._node.get_topic_names_and_types():
            if topic.startswith(prefix) and topic not in self._wrench_subscriptions and _WRENCH in kinds:
                take = partial(self._take_wrench, topic.removeprefix(prefix))
                self._wrench_subscriptions[topic] = self._node.create_subscription(WrenchStamped, topic, take, SENSOR)

    def _complain(self, problem: str) -> None:
        if problem not in self._complained and len(self._complained) < 100:
            self._complained.add(problem)
            self._node.get_logger().warning(f"a message is left out: {problem}")

    # --- on the page's thread: what is known --------------------------------------------------------------------
    @property
    def waits_for(self) -> str:
        """What a person should know who looks at a page without a robot."""
        topic = self._node.resolve_topic_name("robot_description")
        return f"Waiting for the robot's description on topic **{topic}**. Node `{self.name}` sends it: is it running?"

    def description(self) -> str | None:
        """The newest description."""
        return self._text

    def newest(self) -> Seen | None:
        """The newest exact state, or what was seen of the joints where nobody sends that."""
        raw, joints = self._raw, self._joints
        if raw is not None and (joints is None or joints.at < raw.at + _FRESH):
            if self._decoded is None or self._decoded[0] is not raw:
                self._decoded = raw, self._state_of(raw)
            if self._decoded[1] is not None:
                return self._decoded[1]
        if joints is None:
            return None
        if self._seen_joints is None or self._seen_joints[0] is not joints:
            frames = {link: _pose(transform) for link, transform in self._frames.copy().items()}
            self._seen_joints = joints, SeenJoints(*joints, frames)
        return self._seen_joints[1]

    def _state_of(self, raw: _Arrival) -> SeenState | None:
        try:
            message = deserialize_message(raw.data, Float64MultiArray)
            dimensions = message.layout.dim
            numbers = read_state([d.label for d in dimensions], [d.size for d in dimensions], message.data)
        except InputError as problem:
            self._complain(f"{self._state.topic_name}: {problem}")
            return None
        return SeenState(raw.at, numbers.t, numbers.q, numbers.v)

    def rate(self) -> float:
        """Messages of its state in the last second or so [Hz]."""
        return self._rate

    def parameters(self) -> Mapping[str, object]:
        """Parameters of the plant, as far as they are known."""
        return self._parameters

    def wrenches(self) -> Mapping[str, JointWrench]:
        """Newest wrenches of joints."""
        return self._wrenches.copy()

    # --- on the page's thread: what is asked for ----------------------------------------------------------------
    def watch_wrenches(self, is_on: bool) -> None:
        """Begin or end to receive wrenches of joints, at the next look around."""
        self._watches_wrenches = is_on
        self._wrenches = {}

    def pause(self, is_paused: bool, then: Answer) -> None:
        """Pause, or go on."""
        self._requests.pause(is_paused, then)

    def step(self, then: Answer) -> None:
        """One step while paused."""
        self._requests.step(then)

    def reset(self, then: Answer) -> None:
        """Back to the start."""
        self._requests.reset(then)

    def set_speed(self, factor: float, then: Answer) -> None:
        """Time of the motion by time that passes."""
        self._requests.set_parameter("real_time_factor", float(factor), then)

    def push(self, link: str, wrench: Array) -> None:
        """Send a wrench; its stamp is empty: it counts from its arrival, whichever clock the plant has."""
        message = WrenchStamped()
        message.header.frame_id = link
        f, n = message.wrench.force, message.wrench.torque
        f.x, f.y, f.z, n.x, n.y, n.z = (float(x) for x in wrench)
        self._send(self._pushes, message)

    def command(self, positions: Mapping[str, float] | None) -> None:
        """Send positions. The publisher is there as long as commands are: two of them would be a mistake elsewhere."""
        if positions is None:
            if self._commands is not None:
                self._node.destroy_publisher(self._commands)
                self._commands = None
            return
        if self._commands is None:
            self._commands = self._node.create_publisher(JointState, "joint_commands", COMMANDS)
        self._commands.publish(_joint_message(positions))

    def set_state(self, positions: Mapping[str, float]) -> None:
        """Send a pose."""
        self._send(self._poses, _joint_message(positions))

    def _send(self, publisher: Any, message: Any) -> None:
        if not publisher.get_subscription_count():
            raise InputError(f"nobody listens to {publisher.topic_name}. Is {self.name} running?")
        publisher.publish(message)


def _joint_message(positions: Mapping[str, float]) -> JointState:
    return JointState(name=list(positions), position=[float(x) for x in positions.values()])


def _pose(transform: Any) -> Array:
    """A transform as a 4x4 matrix; the unit matrix where its quaternion is none."""
    p, r = transform.translation, transform.rotation
    quaternion = np.array([r.x, r.y, r.z, r.w])
    norm = float(np.linalg.norm(quaternion))
    pose = np.eye(4)
    if np.isfinite([p.x, p.y, p.z, norm]).all() and norm > 0.0:
        pose[:3, :3] = from_quaternion(*(quaternion / norm).tolist())
        pose[:3, 3] = p.x, p.y, p.z
    return pose
