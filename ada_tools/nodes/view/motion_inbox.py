# SPDX-License-Identifier: Apache-2.0
"""Motion of a robot from topics: complete states, or joint states and transforms as a fallback; imports rclpy.

Of the complete states only the latest is decoded.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ada_dynamics.errors import InputError
from ada_robot.messages.incoming import matrix_of, read_state
from ada_robot.ros.inbox import Inbox, decoded
from ada_robot.ros.qos import streams
from ada_tools.browser.robot_node import Observation, ObservedJoints, ObservedState

try:
    from tf2_msgs.msg import TFMessage
except ImportError:  # not on PyPI as a wheel; without it floating bases do not move
    TFMessage = None


_FRESH = 1.0  # [s] a complete state takes precedence over joint states for this long
_RATED = 1.0  # [s] interval for counting messages
_STREAMS = streams(200)  # queue for a slow frame; further states are not counted
_NS = 1e-9  # [s]


class _Arrival(NamedTuple):
    at: float  # [s], steady clock
    data: bytes


class _Joints(NamedTuple):
    """Merged joint states; replaced as a whole."""

    at: float
    t: float
    positions: dict[str, float]
    velocities: dict[str, float]


class MotionInbox:
    """Latest motion of a robot.

    Attributes:
        rate: rate of received messages [Hz].
        has_transforms: True if /tf messages can be decoded.
    """

    has_transforms = TFMessage is not None

    def __init__(self, node: Node, state_topic: str, prefix: str, complain: Callable[[str], None]) -> None:
        """Subscribe to the complete state.

        Args:
            node: node that subscribes.
            state_topic: topic of the complete state.
            prefix: frame prefix of the robot.
            complain: called with problems of ignored messages.
        """
        self._node, self._prefix, self._complain = node, prefix, complain
        self._raw: _Arrival | None = None
        self._decoded: tuple[_Arrival, ObservedState | None] | None = None
        self._joints: _Joints | None = None
        self._seen_joints: tuple[_Joints, ObservedJoints] | None = None
        self._frames: dict[str, Any] = {}
        self._count, self.rate = 0, 0.0
        self._rated = (time.monotonic(), 0)
        self._fallback: tuple[Inbox, Inbox | None] | None = None  # joint states, and transforms
        self._states = Inbox(node, Float64MultiArray, state_topic, _STREAMS, raw=True)

    def discover(self) -> None:
        """Subscribe to joint states while no complete states arrive (spinning thread)."""
        has_state = self._raw is not None and time.monotonic() - self._raw.at < _FRESH
        if has_state and self._fallback:
            inboxes, self._fallback = self._fallback, None
            for inbox in inboxes:
                if inbox is not None:
                    inbox.close()
        elif not has_state and not self._fallback and not self._node.count_publishers(self._states.topic):
            joints = Inbox(self._node, JointState, "joint_states", _STREAMS)
            self._fallback = joints, TFMessage and Inbox(self._node, TFMessage, "/tf", _STREAMS)

    def newest(self) -> Observation | None:
        """Latest complete state, or joint states without one."""
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
            self._seen_joints = joints, ObservedJoints(*joints, frames)
        return self._seen_joints[1]

    def _state_of(self, raw: _Arrival) -> ObservedState | None:
        try:
            message = decoded(raw.data, Float64MultiArray)
            dimensions = message.layout.dim
            numbers = read_state([d.label for d in dimensions], [d.size for d in dimensions], message.data)
        except InputError as problem:
            self._complain(f"{self._states.topic}: {problem}")
            return None
        return ObservedState(raw.at, numbers.t, numbers.q, numbers.v)

    def _fetch(self) -> None:
        """Process the messages received since the last frame."""
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
        begin, count = self._rated
        now = time.monotonic()
        if now - begin >= _RATED:
            self.rate = (self._count - count) / (now - begin)
            self._rated = now, self._count

    def _take_joints(self, message: JointState) -> None:
        """Merge joint states: several nodes may publish parts of the joints."""
        names = message.name
        if len(message.position) not in (0, len(names)) or len(message.velocity) not in (0, len(names)):
            self._complain(f"joint_states: number of positions or velocities differs from {len(names)} names.")
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
            if transform.child_frame_id.startswith(self._prefix):  # other frames belong to other robots
                self._frames[transform.child_frame_id.removeprefix(self._prefix)] = transform.transform
