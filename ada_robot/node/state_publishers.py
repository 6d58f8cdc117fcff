# SPDX-License-Identifier: Apache-2.0
"""Publishers of states, frames, robot description, joint wrenches and markers; imports rclpy, and tf2_msgs for /tf.

In dynamics_node, joint_states, /tf, ~/state and /clock are published as serialized bytes directly after the step. Joint
wrenches and markers take a millisecond, ten times as long, so that separate threads compute them: executor timers would
cost more than the computation.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from visualization_msgs.msg import MarkerArray

from ada_dynamics.contact.contact import contact_frames
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import AdaError
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.record import messages
from ada_dynamics.simulation.record.messages import NANOSECONDS
from ada_dynamics.simulation.record.recorder import description
from ada_dynamics.simulation.scene import Scene, floats
from ada_dynamics.simulation.system import frictionless
from ada_robot.messages.markers import MarkerMessages
from ada_robot.messages.marks import Marks
from ada_robot.messages.outgoing import FixedTransform, State, StateMessages
from ada_robot.messages.wrenches import JointLoads, WrenchMessages, passive_efforts
from ada_robot.ros import environment, qos
from ada_robot.ros.status import Level, Status
from ada_robot.simulated.plant import Snapshot
from ada_robot.simulated.settings import FIXED_WORLD, FLOATING_WORLD, DynamicsSettings
from ada_robot.timing.deadlines import DeadlineLoop

_EARLY = 0.95  # minimum time between messages, in periods, because stamps jitter
_MARKERS_LAST = 5.0  # lifetime of markers, in periods
_WARN_EVERY = 10.0  # minimum time between warnings [s]


def can_send_frames(node: Node) -> bool:
    """Return True if the package of /tf is installed; otherwise log how to install it."""
    if environment.can_send_tf():
        return True
    node.get_logger().warning(
        "no /tf: the package tf2_msgs is missing. Build it in the checkout, and start again: python "
        "tools/build_interfaces.py (needs a C++ compiler: sudo apt install g++ python3-dev)."
    )
    return False


def publish_fixed(node: Node, rows: Sequence[FixedTransform]) -> Any:
    """Publish constant transforms on /tf_static (transient local); return the publisher.

    All transforms are in one message, for subscribers with a queue of one message.
    """
    from tf2_msgs.msg import TFMessage

    publisher = node.create_publisher(TFMessage, "/tf_static", qos.LATCHED)
    layout = messages.transforms([row.parent for row in rows], [row.child for row in rows])
    numbers = np.array([(*row.xyz, *row.xyzw) for row in rows], dtype=np.float64).ravel()
    publisher.publish(layout.fill_one(node.get_clock().now().nanoseconds, numbers))
    return publisher


class Frames:
    """Publisher of the transforms of movable links on /tf.

    Attributes:
        fixed: constant transforms, which `publish` does not send.
    """

    def __init__(self, node: Node, encoder: StateMessages, rate: float = math.inf) -> None:
        """Create the publisher.

        Args:
            node: node of the publisher.
            encoder: encoder of the robot's state, used by the thread that calls `publish`.
            rate: maximum rate, see `is_due` [Hz].
        """
        from tf2_msgs.msg import TFMessage

        self._node, self._messages = node, encoder
        self._stamp, self._gap = -1, round(_EARLY / rate * NANOSECONDS)
        self.fixed = encoder.static_transforms()
        self._moving = node.create_publisher(TFMessage, "/tf", qos.STATES)

    def is_due(self, stamp: int) -> bool:
        """Return True if the rate allows a message with this stamp [ns]; tf2 warns about duplicates."""
        return abs(stamp - self._stamp) > self._gap  # the clock may be set back

    def publish(self, state: State, stamp: int) -> None:
        """Publish the transforms of a state with a stamp [ns], unless it is the last one."""
        if stamp != self._stamp:
            self._moving.publish(self._messages.transforms(state, stamp))
        self._stamp = stamp

    def close(self) -> None:
        """Destroy the publisher; to be called by the thread that spins the node."""
        self._node.destroy_publisher(self._moving)


def publish_description(node: Node, model: Model, topic: str) -> Any:
    """Publish a robot description (transient local); return the publisher, or None if URDF cannot express the model."""
    text = description(model)
    if text is None:
        node.get_logger().warning(
            f"URDF cannot express {model.name!r}: no robot_description, viewers show frames only."
        )
        return None
    publisher = node.create_publisher(String, topic, qos.LATCHED)
    publisher.publish(String(data=text))
    return publisher


class StatePublishers:
    """Publishers of joint_states, ~/state, /tf and /clock, and once of robot_description and /tf_static.

    Attributes:
        world_frame: frame of the ground, with its prefix.
    """

    def __init__(
        self,
        node: Node,
        model: Model,
        dynamics: Dynamics,
        settings: DynamicsSettings,
        *,
        publishes_description: bool = True,
    ) -> None:
        """Create the publishers; `dynamics` of the model is used for its poses."""
        world_frame = settings.world_frame or (FLOATING_WORLD if floats(model) else FIXED_WORLD)
        self.world_frame = settings.frame_prefix + world_frame
        self._messages = StateMessages(
            dynamics, world_frame, prefix=settings.frame_prefix, base_pose=settings.base_pose
        )
        self._joint_states = node.create_publisher(JointState, "joint_states", qos.STATES)
        self._state = node.create_publisher(Float64MultiArray, "~/state", qos.STATES)
        self._clock = node.create_publisher(ClockMessage, "/clock", qos.CLOCK) if settings.publish_clock else None
        self._frames: Frames | None = None
        if settings.publish_tf and can_send_frames(node):
            self._frames = Frames(node, self._messages)
            self._fixed = publish_fixed(node, self._frames.fixed)
        if publishes_description:
            self._description = publish_description(node, model, "robot_description")

    # --- from the physics thread --------------------------------------------------------------------------------
    def publish(self, snapshot: Snapshot) -> None:
        """Publish a state."""
        stamp = snapshot.stamp
        if self._clock is not None:
            self._clock.publish(self._messages.clock(stamp))
        self._joint_states.publish(self._messages.joint_state(snapshot, stamp))
        self._state.publish(self._messages.state(snapshot))
        if self._frames is not None:
            self._frames.publish(snapshot, stamp)


class LoadPublishers:
    """Publishers of ~/wrench/<joint> and ~/markers."""

    def __init__(self, node: Node, model: Model, scene: Scene, settings: DynamicsSettings, *, world_frame: str) -> None:
        """Create the publishers; `start` starts their threads.

        Raises:
            InputError: if a joint in the parameter wrenches is unknown.
        """
        self._node, self._world_frame = node, world_frame
        # separate kernels, because kernels are not thread-safe; friction is added by `passive_efforts`
        self._dynamics = Dynamics(frictionless(model), q0=scene.q if model.loops else None)
        self._efforts = passive_efforts(model, scene.stops)
        self._frames = contact_frames(scene.contact)
        self._ground = None if scene.contact is None else 0.0
        self._prefix = settings.frame_prefix
        self._lock = threading.Lock()  # the executor's thread changes the choice
        self._topics: dict[str, Any] = {}
        self._loads: JointLoads | None = None
        self._wrenches: WrenchMessages | None = None
        self.choose(settings.wrenches)
        self._loops = [DeadlineLoop(1.0 / settings.wrench_rate, self._publish_wrenches, name="wrenches")]
        if settings.marker_rate > 0.0:
            self._marker_messages = MarkerMessages(world_frame, _MARKERS_LAST / settings.marker_rate)
            self._markers = node.create_publisher(MarkerArray, "~/markers", qos.STATES)
            self._loops.append(DeadlineLoop(1.0 / settings.marker_rate, self._publish_markers, name="markers"))

    def choose(self, joints: tuple[str, ...]) -> None:
        """Publish the wrenches of these joints from now on. InputError if a joint is unknown."""
        loads = None
        if joints:
            loads = JointLoads(self._dynamics, joints, contact_frames=self._frames, efforts=self._efforts)
        with self._lock:
            self._marks = Marks(self._dynamics, loads, contact_frames=self._frames, ground=self._ground)
            self._loads = loads
            self._wrenches = None if loads is None else WrenchMessages(loads, self._world_frame, self._prefix)
            requested = {} if self._wrenches is None else self._wrenches.topics
            for joint in self._topics.keys() - requested.keys():
                self._node.destroy_publisher(self._topics.pop(joint))
            for joint, topic in requested.items():
                if joint not in self._topics:
                    name = f"~/wrench/{topic}"
                    self._topics[joint] = self._node.create_publisher(WrenchStamped, name, qos.STATES)

    def warm_up(self, snapshot: Snapshot) -> None:
        """Compile all kernels by computing the messages of a state."""
        with suppress(AdaError):  # impossible in this state; reported when published
            if self._wrenches is not None:
                self._wrenches.encode(snapshot, 0)
            self._marks.at(snapshot)

    def start(self, latest: Callable[[], Snapshot]) -> None:
        """Start the threads, which publish the state that `latest` returns."""
        self._latest = latest
        for loop in self._loops:
            loop.start()

    def stop(self) -> None:
        """Stop the threads."""
        for loop in self._loops:
            loop.stop()

    # --- in the threads -----------------------------------------------------------------------------------------
    def _publish_wrenches(self, _: int) -> None:
        snapshot = self._latest()
        with self._lock, self._said("wrenches"):
            if self._wrenches is not None:
                for joint, message in self._wrenches.encode(snapshot, snapshot.stamp).items():
                    self._topics[joint].publish(message)

    def _publish_markers(self, _: int) -> None:
        if not self._markers.get_subscription_count():
            return
        snapshot = self._latest()
        with self._lock, self._said("markers"):
            self._markers.publish(self._marker_messages.message(self._marks.at(snapshot), snapshot.stamp))

    # --- for /diagnostics ---------------------------------------------------------------------------------------
    def status(self) -> Status:
        """Return the status, with the joints whose wrenches are indeterminate."""
        open_ones = () if self._loads is None else self._loads.not_unique
        values = {"wrenches of": ", ".join(self._topics), "indeterminate wrenches": ", ".join(open_ones)}
        for loop in self._loops:
            if loop.failure is not None:
                return Status(Level.ERROR, f"a thread has ended: {loop.failure}", values)
        if open_ones:
            return Status(Level.OK, "some wrenches are indeterminate because of redundant constraints", values)
        return Status(Level.OK, "published", values)

    @contextmanager
    def _said(self, what: str) -> Iterator[None]:
        """Log at intervals why a message could not be computed, such as for a non-finite state."""
        try:
            yield
        except AdaError as problem:
            self._node.get_logger().warning(f"no {what}: {problem}", throttle_duration_sec=_WARN_EVERY)
