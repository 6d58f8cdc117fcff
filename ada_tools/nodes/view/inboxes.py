# SPDX-License-Identifier: Apache-2.0
"""Motion and markers of a robot from topics; imports rclpy.

Motion comes from complete states, of which only the latest is decoded, or from joint states.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from visualization_msgs.msg import MarkerArray

from ada_dynamics.drawing.marks import Mark, MarkStore
from ada_dynamics.errors import InputError
from ada_robot.messages.incoming import read_state
from ada_robot.messages.markers import read_markers
from ada_robot.ros.inbox import Inbox, decoded
from ada_robot.ros.qos import streams
from ada_tools.browser.robot_node import Observation, ObservedJoints, ObservedState

_FRESH = 1.0  # [s] a complete state takes precedence over joint states for this long
_STREAMS = streams(200)  # queue for a slow frame
_NS = 1e-9  # [s]
_EARLY = 4.0  # [s] from the first marker, during which the world frame may be unknown


class MotionInbox:
    """Latest motion of a robot."""

    def __init__(self, node: Node, state_topic: str, complain: Callable[[str], None]) -> None:
        """Subscribe to the complete state; `complain` gets the problems of ignored messages."""
        self._node, self._complain = node, complain
        self._received_at = -math.inf  # [s] arrival of the latest complete state, steady clock
        self._state: ObservedState | None = None  # None if that state was ignored
        self._joints: ObservedJoints | None = None
        self._fallback: Inbox | None = None  # joint states
        self._states = Inbox(node, Float64MultiArray, state_topic, _STREAMS, raw=True)

    def discover(self) -> None:
        """Subscribe to joint states while no complete states arrive (spinning thread)."""
        has_state = time.monotonic() - self._received_at < _FRESH
        if has_state and self._fallback:
            inbox, self._fallback = self._fallback, None
            inbox.close()
        elif not has_state and not self._fallback and not self._node.count_publishers(self._states.topic):
            self._fallback = Inbox(self._node, JointState, "joint_states", _STREAMS)

    def newest(self) -> Observation | None:
        """Latest complete state, or joint states without one."""
        if states := self._states.fetch():
            self._received_at = time.monotonic()
            self._state = self._state_of(states[-1])
        if fallback := self._fallback:
            for message in fallback.fetch():
                self._take_joints(message)
        joints = self._joints
        is_outdated = joints is not None and joints.arrived >= self._received_at + _FRESH
        return joints if self._state is None or is_outdated else self._state

    def _state_of(self, raw: bytes) -> ObservedState | None:
        try:
            message = decoded(raw, Float64MultiArray)
            dimensions = message.layout.dim
            numbers = read_state([d.label for d in dimensions], [d.size for d in dimensions], message.data)
        except InputError as problem:
            self._complain(f"{self._states.topic}: {problem}")
            return None
        return ObservedState(self._received_at, numbers.t, numbers.q, numbers.v, numbers.tau)

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
        self._joints = ObservedJoints(time.monotonic(), stamp.sec + _NS * stamp.nanosec, positions, velocities)


class MarkerInbox:
    """Markers to draw."""

    def __init__(self, node: Node, topic: str, complain: Callable[[str], None]) -> None:
        """Create an inbox without subscription; `complain` gets the problems of markers that cannot be drawn."""
        self._node, self._topic, self._report = node, topic, complain
        self._inbox: Inbox | None = None
        self._kept = MarkStore()
        self._since = math.inf
        self._is_wanted = False

    def discover(self) -> None:
        """Subscribe or unsubscribe (spinning thread)."""
        inbox = self._inbox
        if self._is_wanted and inbox is None:
            self._inbox = Inbox(self._node, MarkerArray, self._topic, streams(20))
        elif not self._is_wanted and inbox is not None:
            self._inbox = None
            inbox.close()

    def want(self, is_wanted: bool) -> None:
        """Start or stop receiving at the next `discover`; discard old markers."""
        self._is_wanted = is_wanted
        self._kept.clear()

    def present(self, worlds: Collection[str], *, is_sure: bool) -> list[Mark]:
        """Markers that have not expired.

        Args:
            worlds: possible names of the world frame.
            is_sure: whether one of these names is certain.
        """
        inbox, now = self._inbox, time.monotonic()
        for message in inbox.fetch() if inbox else ():
            self._since = min(self._since, now)
            is_known = is_sure or now - self._since >= _EARLY
            read_markers(message, self._kept, now, worlds, self._warn if is_known else _ignore)
        return self._kept.present(now)

    def _warn(self, problem: str) -> None:
        self._report(f"{self._topic}: a marker {problem}")


def _ignore(_: str) -> None:
    """Ignore problems while the world frame may be unknown."""
