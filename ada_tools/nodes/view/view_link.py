# SPDX-License-Identifier: Apache-2.0
"""A robot behind ROS 2 topics and services, as a page in the browser needs it; imports rclpy.

States and markers wait in inboxes until the page's thread fetches them, once a frame; of the exact states it decodes
only the newest. The thread that spins the node looks around four times a second: who is there, what is listened to.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from visualization_msgs.msg import MarkerArray

from ada_dynamics.arrays import Array
from ada_dynamics.drawing.marks import KeptMarks, Mark
from ada_dynamics.errors import InputError
from ada_robot.messages.markers import read_markers
from ada_robot.messages.poses import matrix_of
from ada_robot.messages.state_message import read_state
from ada_robot.node.dynamics_settings import FIXED_WORLD, FLOATING_WORLD
from ada_robot.ros.inbox import Inbox
from ada_robot.ros.qos import COMMANDS, LATCHED, STATES, streams
from ada_tools.browser.plant import Answer
from ada_tools.browser.seen import Seen, SeenJoints, SeenState
from ada_tools.nodes.view.node_requests import Post
from ada_tools.nodes.view.view_requests import PlantRequests

try:
    from tf2_msgs.msg import TFMessage
except ImportError:  # no wheel has it, and without a compiler nobody could make it: free bases stay where they are then
    TFMessage = None


_ROUND = 0.25  # [s] between looks at who is there
_LEARNED = 2.0  # [s] between looks at the plant's parameters
_FRESH = 1.0  # [s] that an exact state counts more than joint states
_RATED = 1.0  # [s] over which messages are counted
_PARAMETERS = ("model.gravity", "real_time_factor", "world_frame")
_STREAMS = streams(200)  # so many states may arrive in a frame that takes long; more are not counted
_MARKERS = streams(20)
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

    def __init__(self, node: Node, plant: str, state_topic: str, post: Post, prefix: str = "") -> None:
        """Subscribe.

        Args:
            node: that the view is.
            plant: name of the node that moves the robot.
            state_topic: of its exact state.
            post: takes answers over to the page's thread, as `Page.note` does.
            prefix: that stands before the names of the robot's frames.
        """
        self.name = plant
        self._prefix = prefix
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
        self._markers: Inbox | None = None
        self._marks = KeptMarks()
        self._watches_marks = False
        self._marked_since: float | None = None
        self._marker_topic = f"{plant}/markers"
        self._fallback: tuple[Inbox, Inbox | None] | None = None  # joint states, and transforms
        self._commands: Any = None
        self._retired: list[Any] = []  # publishers to be destroyed by the thread that spins the node
        self._complained: set[str] = set()
        node.create_subscription(String, "robot_description", self._take_description, LATCHED)
        self._states = Inbox(node, Float64MultiArray, state_topic, _STREAMS, raw=True)
        self._pushes = node.create_publisher(WrenchStamped, f"{plant}/external_wrench", STATES)
        self._poses = node.create_publisher(JointState, f"{plant}/set_state", STATES)
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)  # simulated time may stand still
        node.create_timer(_ROUND, self._look_around, clock=self._steady)

    # --- on the thread that spins the node ----------------------------------------------------------------------
    def _take_description(self, message: String) -> None:
        self._text = message.data

    def _look_around(self) -> None:
        """See who is there, and listen to them."""
        self._requests.forget_old()
        while self._retired:
            self._node.destroy_publisher(self._retired.pop())
        now = time.monotonic()
        if now - self._learned_at > _LEARNED:
            self._learned_at = now
            for name in _PARAMETERS:
                self._requests.get_parameter(name, partial(self._learn, name))
        has_state = self._raw is not None and now - self._raw.at < _FRESH
        if has_state and self._fallback:
            inboxes, self._fallback = self._fallback, None
            for inbox in inboxes:
                if inbox is not None:
                    inbox.close()
        elif not has_state and not self._fallback and not self._node.count_publishers(self._states.topic):
            joints = Inbox(self._node, JointState, "joint_states", _STREAMS)
            self._fallback = joints, TFMessage and Inbox(self._node, TFMessage, "/tf", _STREAMS)
        self._watch_or_not()

    def _learn(self, name: str, value: Any) -> None:
        self._known[name] = value
        known = {"real_time_factor": self._known.get("real_time_factor")}
        gravity = np.asarray(self._known.get("model.gravity", ()), dtype=np.float64).tolist()
        self._parameters = {**known, "gravity": gravity} if gravity else known

    def _watch_or_not(self) -> None:
        markers = self._markers
        if self._watches_marks and markers is None:
            self._markers = Inbox(self._node, MarkerArray, self._marker_topic, _MARKERS)
        elif not self._watches_marks and markers is not None:
            self._markers = None
            markers.close()

    def _complain(self, problem: str) -> None:
        if problem not in self._complained and len(self._complained) < 100:
            self._complained.add(problem)
            self._node.get_logger().warning(f"a message is left out: {problem}")

    # --- on the page's thread: what arrived ---------------------------------------------------------------------
    def _fetch(self) -> None:
        """Take what has arrived since the last frame."""
        states = self._states.fetch()
        if states:
            self._raw = _Arrival(time.monotonic(), states[-1])
            self._count += len(states)
        if fallback := self._fallback:
            joints, transforms = fallback
            for message in transforms.fetch() if transforms else ():
                self._take_transforms(message)
            for message in joints.fetch():
                self._take_joints(message)
        self._count_messages(time.monotonic())

    def _count_messages(self, now: float) -> None:
        begin, count = self._rated
        if now - begin >= _RATED:
            self._rate = (self._count - count) / (now - begin)
            self._rated = now, self._count

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
            if transform.child_frame_id.startswith(self._prefix):  # else it is another robot's
                self._frames[transform.child_frame_id.removeprefix(self._prefix)] = transform.transform

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
        self._fetch()
        raw, joints = self._raw, self._joints
        if raw is not None and (joints is None or joints.at < raw.at + _FRESH):
            if self._decoded is None or self._decoded[0] is not raw:
                self._decoded = raw, self._state_of(raw)
            if self._decoded[1] is not None:
                return self._decoded[1]
        if joints is None:
            return None
        if self._seen_joints is None or self._seen_joints[0] is not joints:
            frames = {link: matrix_of(t.translation, t.rotation) for link, t in self._frames.items()}
            self._seen_joints = joints, SeenJoints(*joints, frames)
        return self._seen_joints[1]

    def _state_of(self, raw: _Arrival) -> SeenState | None:
        try:
            message = deserialize_message(raw.data, Float64MultiArray)
            dimensions = message.layout.dim
            numbers = read_state([d.label for d in dimensions], [d.size for d in dimensions], message.data)
        except InputError as problem:
            self._complain(f"{self._states.topic}: {problem}")
            return None
        return SeenState(raw.at, numbers.t, numbers.q, numbers.v)

    def rate(self) -> float:
        """Messages of its state in the last second or so [Hz]."""
        return self._rate

    def parameters(self) -> Mapping[str, object]:
        """Parameters of the plant, as far as they are known."""
        return self._parameters

    def marks(self) -> Sequence[Mark]:
        """What markers say that is to be drawn now."""
        markers, now = self._markers, time.monotonic()
        for message in markers.fetch() if markers else ():
            if self._marked_since is None:
                self._marked_since = now
            read_markers(message, self._marks, now, self._worlds(), self._complain_of_marker)
        return self._marks.present(now)

    def _worlds(self) -> tuple[str, ...]:
        """What the world's frame may be called."""
        known = self._known.get("world_frame")
        names = (str(known),) if known else (FLOATING_WORLD, FIXED_WORLD)
        return tuple(self._prefix + name for name in names)

    def _complain_of_marker(self, problem: str) -> None:
        is_early = self._marked_since is None or time.monotonic() - self._marked_since < 2.0 * _LEARNED
        if "world_frame" in self._known or not is_early:
            self._complain(f"{self._marker_topic}: a marker {problem}")

    # --- on the page's thread: what is asked for ----------------------------------------------------------------
    def watch_marks(self, is_on: bool) -> None:
        """Begin or end to receive markers, at the next look around."""
        self._watches_marks = is_on
        self._marks.clear()

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
        """Send a wrench; its stamp is empty: it counts from its arrival, whichever clock the plant has.

        Raises:
            InputError: it is not finite, or nobody listens.
        """
        if not np.isfinite(wrench).all():
            raise InputError(
                f"the wrench on link {link!r} is {np.asarray(wrench).tolist()}; all six of [fx, fy, fz, nx, ny, nz] "
                "must be finite. It is not sent."
            )
        message = WrenchStamped()
        message.header.frame_id = self._prefix + link
        f, n = message.wrench.force, message.wrench.torque
        f.x, f.y, f.z, n.x, n.y, n.z = (float(x) for x in wrench)
        self._send(self._pushes, message)

    def command(self, positions: Mapping[str, float] | None) -> None:
        """Send positions. The publisher is there as long as commands are: two of them would be a mistake elsewhere."""
        if positions is None:
            if self._commands is not None:
                self._retired.append(self._commands)  # the executor must not meet what is being destroyed
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
