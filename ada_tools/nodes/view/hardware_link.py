# SPDX-License-Identifier: Apache-2.0
"""A hardware node behind ROS 2 topics and services, as a page in the browser needs it; imports rclpy.

Readings wait in inboxes until the page's thread fetches them. The thread that spins the node subscribes to what the
node's ~/state names, and looks around four times a second.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from ada_dynamics.errors import InputError
from ada_robot.node_state import HardwareState, read_hardware_state
from ada_robot.ros.inbox import Inbox
from ada_robot.ros.qos import COMMANDS, LATCHED, streams
from ada_tools.browser.hardware_plant import Told, Wrench
from ada_tools.browser.plant import Answer
from ada_tools.nodes.view.node_requests import NodeRequests, Post, reason_of

_ROUND = 0.25  # [s] between looks at who is there
_STREAM = streams(100)
_KEPT = 2.0  # [s] that the publisher of commands stays after the last one
_SLOW = 30.0  # [s] for a transition: a robot may be switched on, or looked for on its wire
_AT_ONCE = 1.5  # [s] for a stop
_TRANSITIONS = {
    "configure": Transition.TRANSITION_CONFIGURE,
    "activate": Transition.TRANSITION_ACTIVATE,
    "deactivate": Transition.TRANSITION_DEACTIVATE,
    "cleanup": Transition.TRANSITION_CLEANUP,
}


class _Commands:
    """Publishers of commands by robot, each there only while there are some: two for a robot would be a mistake."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._lock = threading.Lock()
        self._each: dict[str, tuple[Any, float]] = {}  # with the time of the last command

    def send(self, device: str, topic: str, message: JointState) -> None:
        """Send a command; on the page's thread."""
        with self._lock:
            known = self._each.get(device)
            publisher = self._node.create_publisher(JointState, topic, COMMANDS) if known is None else known[0]
            self._each[device] = publisher, time.monotonic()
            publisher.publish(message)

    def forget_old(self) -> None:
        """Take those away that nobody needs; on the thread that spins the node."""
        now = time.monotonic()
        with self._lock:
            for device in [name for name, (_, last) in self._each.items() if now - last > _KEPT]:
                self._node.destroy_publisher(self._each.pop(device)[0])


class HardwareLink:
    """Subscriptions, publishers and clients that join a page to a hardware node; it is a `Hardware`.

    Attributes:
        name: of the hardware node.
    """

    def __init__(self, node: Node, name: str, post: Post, prefix: str = "") -> None:
        """Subscribe to its state.

        Args:
            node: that the view is.
            name: of the hardware node.
            post: takes answers over to the page's thread, as `Page.note` does.
            prefix: that stands before the names of the robots' frames.
        """
        self.name, self._node, self._prefix = name, node, prefix
        self._requests = NodeRequests(node, name, post)
        client = self._requests.client
        self._change = client(ChangeState, "change_state")
        self._triggers = {one: client(Trigger, one) for one in ("stop", "reset", "bias", "play_motion")}
        self._state: HardwareState | None = None
        self._complaint = ""
        self.is_there = False
        self._inboxes: dict[tuple[str, str], Inbox] = {}  # by device and what is told
        self._topics: dict[tuple[str, str], str] = {}
        self._told: dict[tuple[str, str], Told] = {}
        self._wrenches: dict[str, Wrench] = {}
        self._commands = _Commands(node)
        self._others: dict[str, tuple[str, ...]] = {}
        self._states = node.create_subscription(String, f"{name}/state", self._take_state, LATCHED)
        node.create_timer(_ROUND, self._look_around, clock=Clock(clock_type=ClockType.STEADY_TIME))

    # --- on the thread that spins the node ----------------------------------------------------------------------
    def _take_state(self, message: String) -> None:
        try:
            self._state = read_hardware_state(message.data)
        except InputError as problem:
            if str(problem) != self._complaint:
                self._complaint = str(problem)
                self._node.get_logger().warning(f"{self._states.topic_name}: {problem}")
            return
        self.is_there = True
        self._listen(self._state)

    def _listen(self, state: HardwareState) -> None:
        """Subscribe to what devices tell, and to no more."""
        wanted = {
            (device.name, what): topic
            for device in state.devices.values()
            for what, topic in device.topics.items()
            if what in ("states", "commanded", "wrench")
        }
        for key in [key for key, topic in self._topics.items() if wanted.get(key) != topic]:
            del self._topics[key]
            self._inboxes.pop(key).close()
        for key, topic in wanted.items():
            if key not in self._topics:
                kind = WrenchStamped if key[1] == "wrench" else JointState
                self._inboxes[key] = Inbox(self._node, kind, topic, _STREAM)
                self._topics[key] = topic

    def _look_around(self) -> None:
        self._requests.forget_old()
        self.is_there = bool(self._node.count_publishers(self._states.topic_name))
        self._commands.forget_old()
        state = self._state
        if state is not None:
            own = self._node.get_name(), self._node.get_namespace()
            self._others = {
                device.name: self._publishers(device.topics["commands"], own)
                for device in state.devices.values()
                if "commands" in device.topics
            }

    def _publishers(self, topic: str, own: tuple[str, str]) -> tuple[str, ...]:
        found = self._node.get_publishers_info_by_topic(topic)
        return tuple(sorted({one.node_name for one in found if (one.node_name, one.node_namespace) != own}))

    # --- on the page's thread -----------------------------------------------------------------------------------
    def state(self) -> HardwareState | None:
        """The newest that it said."""
        return self._state

    def measured(self, device: str) -> Told | None:
        """Where the joints of a robot are."""
        return self._joints(device, "states")

    def told(self, device: str) -> Told | None:
        """Where they are told to be, where they are told that."""
        return self._joints(device, "commanded")

    def _joints(self, device: str, what: str) -> Told | None:
        key = device, what
        inbox = self._inboxes.get(key)
        messages = inbox.fetch() if inbox is not None else ()
        if messages:
            newest = messages[-1]
            values = zip(newest.name, newest.position, strict=False)
            self._told[key] = Told(time.monotonic(), {name: x for name, x in values if math.isfinite(x)})
        return self._told.get(key)

    def wrench(self, device: str) -> Wrench | None:
        """What a sensor measured last."""
        inbox = self._inboxes.get((device, "wrench"))
        messages = inbox.fetch() if inbox is not None else ()
        if messages:
            newest = messages[-1]
            f, n = newest.wrench.force, newest.wrench.torque
            values = np.array([f.x, f.y, f.z, n.x, n.y, n.z])
            if np.isfinite(values).all():
                frame = newest.header.frame_id.removeprefix(self._prefix)
                self._wrenches[device] = Wrench(time.monotonic(), frame, values)
        return self._wrenches.get(device)

    def others(self, device: str) -> Sequence[str]:
        """Other nodes that command a robot."""
        return self._others.get(device, ())

    def command(self, device: str, positions: Mapping[str, float] | None) -> None:
        """Send positions, stamped: a robot follows no command of which it does not know how old it is."""
        if positions is None:
            return  # what is not sent again is over: the node's watchdog sees to that
        state = self._state
        topic = state.devices[device].topics.get("commands") if state and device in state.devices else None
        if topic is None:
            return
        message = JointState(name=list(positions), position=[float(x) for x in positions.values()])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._commands.send(device, topic, message)

    # --- what is asked for --------------------------------------------------------------------------------------
    def change(self, transition: str, then: Answer) -> None:
        """Ask for a transition."""
        request = ChangeState.Request(transition=Transition(id=_TRANSITIONS[transition]))
        self._requests.ask(self._change, request, self._changed, then, _SLOW)

    def _changed(self, response: Any) -> str | None:
        """The service says no more than yes or no; ~/state says why, and is on the page."""
        return None if response.success else f"{self.name} refused it; its state, or its log, says why."

    def stop(self, then: Answer) -> None:
        """Stop all robots; from any thread."""
        self._trigger("stop", self._unstopped(then), _AT_ONCE)

    def _unstopped(self, then: Answer) -> Answer:
        def answer(problem: str | None) -> None:
            then(None if problem is None else f"{problem} Press the emergency stop of the robot itself.")

        return answer

    def reset(self, then: Answer) -> None:
        """Clear alarms and a latched stop."""
        self._trigger("reset", then)

    def bias(self, then: Answer) -> None:
        """Take what the sensors measure now for zero."""
        self._trigger("bias", then)

    def play(self, path: str, then: Answer) -> None:
        """Say which motion, then begin with it."""

        def named(problem: str | None) -> None:
            if problem is not None:
                then(problem)
            else:
                self._trigger("play_motion", then)

        self._requests.set_parameter("motion", path, named)

    def _trigger(self, service: str, then: Answer, patience: float = _SLOW) -> None:
        self._requests.ask(self._triggers[service], Trigger.Request(), reason_of, then, patience)
