# SPDX-License-Identifier: Apache-2.0
"""What the dynamics node publishes of its plant; imports rclpy.

joint_states, /tf, ~/state and /clock leave from the physics thread as bytes, right behind their step. What takes longer
to work out - wrenches of joints, markers - is made by the executor of the newest state.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Quaternion, TransformStamped, Vector3, WrenchStamped
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from visualization_msgs.msg import MarkerArray

from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import AdaError
from ada_dynamics.nodes.dynamics_settings import FIXED_WORLD, FLOATING_WORLD, DynamicsSettings
from ada_dynamics.nodes.kit import environment, qos
from ada_dynamics.nodes.markers import MarkerMessages
from ada_dynamics.nodes.marks import Marks
from ada_dynamics.nodes.outgoing import FixedTransform, StateMessages
from ada_dynamics.nodes.plant import Plant, Snapshot
from ada_dynamics.nodes.wrenches import JointLoads, WrenchMessages, passive_efforts
from ada_dynamics.simulation import defaults
from ada_dynamics.simulation.contact_frames import frames_of
from ada_dynamics.simulation.record.cdr import NANOSECONDS
from ada_dynamics.simulation.record.viewer_topics import description
from ada_dynamics.simulation.system import frictionless

_MARKERS_LAST = 5.0  # periods
_WARN_EVERY = 10.0  # [s]


class StatePublishers:
    """All outgoing topics of the dynamics node but /diagnostics.

    Attributes:
        world_frame: frame of the ground.
        source: text of the robot's description as it was published.
    """

    def __init__(
        self,
        node: Node,
        plant: Plant,
        settings: DynamicsSettings,
        latest: Callable[[], Snapshot],
        *,
        publishes_description: bool = True,
    ) -> None:
        """Create the publishers.

        Args:
            node: whose they are.
            plant: of which they tell.
            settings: of the node.
            latest: the newest state, for what the executor makes.
            publishes_description: whether robot_description is ours to publish.
        """
        self._node, self._latest = node, latest
        model = plant.model
        self.world_frame = settings.world_frame or (FLOATING_WORLD if defaults.floats(model) else FIXED_WORLD)
        self._is_clock = settings.publish_clock
        self._messages = StateMessages(model, plant.dynamics, self.world_frame)
        # The executor has kernels of its own: those of the physics thread are its own, too.
        # Friction comes on top (`passive_efforts`), as in the simulation.
        self._dynamics = Dynamics(frictionless(model), pose=plant.simulation.q if model.loops else None)
        self._efforts = passive_efforts(model, plant.simulation.stops)
        self._frames = frames_of(plant.simulation.contact)
        self._last_stamp = -1
        self._joint_states = node.create_publisher(JointState, "joint_states", qos.STATES)
        self._state = node.create_publisher(Float64MultiArray, "~/state", qos.STATES)
        self._clock = node.create_publisher(ClockMessage, "/clock", qos.CLOCK) if self._is_clock else None
        self._tf = self._publish_tf() if settings.publish_tf else None
        if publishes_description:
            self._publish_description(plant)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._wrenches: WrenchMessages | None = None
        self._wrench_topics: dict[str, Any] = {}
        self._ground = None if plant.simulation.contact is None else 0.0
        self.choose_wrenches(settings.wrenches)
        self._timers = [node.create_timer(1.0 / settings.wrench_rate, self._tell_wrenches, clock=steady)]
        if settings.marker_rate > 0.0:
            self._marker_messages = MarkerMessages(self.world_frame, _MARKERS_LAST / settings.marker_rate)
            self._markers = node.create_publisher(MarkerArray, "~/markers", qos.STATES)
            self._timers.append(node.create_timer(1.0 / settings.marker_rate, self._tell_markers, clock=steady))

    # --- what stays ---------------------------------------------------------------------------------------------
    def _publish_description(self, plant: Plant) -> None:
        text = description(plant.model)
        if text is None:
            self._node.get_logger().warning(
                f"no URDF can say what {plant.model.name!r} is: no robot_description, viewers show frames only."
            )
            return
        self._description = self._node.create_publisher(String, "robot_description", qos.LATCHED)
        self._description.publish(String(data=text))

    def _publish_tf(self) -> Any:
        if not environment.can_send_tf():
            self._node.get_logger().warning(
                "no /tf: the package tf2_msgs is missing. Build it: python -m ada_dynamics.nodes.interfaces "
                "(needs a C++ compiler: sudo apt install g++ python3-dev)."
            )
            return None
        from tf2_msgs.msg import TFMessage

        self._static = self._node.create_publisher(TFMessage, "/tf_static", qos.LATCHED)
        stamp = self._node.get_clock().now().to_msg()
        self._static.publish(
            TFMessage(transforms=[_transform(row, stamp) for row in self._messages.static_transforms()])
        )
        return self._node.create_publisher(TFMessage, "/tf", qos.STATES)

    def warm_up(self, snapshot: Snapshot) -> None:
        """Compile all that will be needed, before the physics runs: it would have to wait."""
        stamp = self.stamp(snapshot)
        for encode in (self._messages.joint_state, self._messages.transforms):
            encode(snapshot, stamp)
        with suppress(AdaError):  # in this pose; it is said when it is asked for
            if self._wrenches is not None:
                self._wrenches.encode(snapshot, stamp)
            self._marks.at(snapshot)

    # --- from the physics thread --------------------------------------------------------------------------------
    def tell(self, snapshot: Snapshot) -> None:
        """Publish a state."""
        stamp = self.stamp(snapshot)
        if self._clock is not None:
            self._clock.publish(self._messages.clock(stamp))
        self._joint_states.publish(self._messages.joint_state(snapshot, stamp))
        self._state.publish(self._messages.state(snapshot))
        # one transform for each time: tf2 complains about a second one
        if self._tf is not None and stamp != self._last_stamp:
            self._tf.publish(self._messages.transforms(snapshot, stamp))
        self._last_stamp = stamp

    def stamp(self, snapshot: Snapshot) -> int:
        """Time for the headers [ns]: simulated time where this node is the clock, else that of the node's clock."""
        if self._is_clock:
            return round(snapshot.t * NANOSECONDS)
        return int(self._node.get_clock().now().nanoseconds)

    # --- from the executor --------------------------------------------------------------------------------------
    def choose_wrenches(self, joints: tuple[str, ...]) -> None:
        """Publish the wrenches of these joints from now on.

        Raises:
            InputError: a joint is unknown.
        """
        model = self._dynamics.model
        loads = None
        if joints:
            loads = JointLoads(model, self._dynamics, joints, contact_frames=self._frames, efforts=self._efforts)
        self._loads = loads
        self._marks = Marks(model, self._dynamics, loads, contact_frames=self._frames, ground=self._ground)
        self._wrenches = None if loads is None else WrenchMessages(loads, self.world_frame)
        wanted = {} if self._wrenches is None else self._wrenches.topics
        for joint in self._wrench_topics.keys() - wanted.keys():
            self._node.destroy_publisher(self._wrench_topics.pop(joint))
        for joint, topic in wanted.items():
            if joint not in self._wrench_topics:
                name = f"~/wrench/{topic}"
                self._wrench_topics[joint] = self._node.create_publisher(WrenchStamped, name, qos.STATES)

    def _tell_wrenches(self) -> None:
        if self._wrenches is None:
            return
        snapshot = self._latest()
        try:
            encoded = self._wrenches.encode(snapshot, self.stamp(snapshot))
        except AdaError as problem:
            self._warn("wrenches", problem)
            return
        for joint, message in encoded.items():
            self._wrench_topics[joint].publish(message)

    def _tell_markers(self) -> None:
        if not self._markers.get_subscription_count():
            return
        snapshot = self._latest()
        try:
            marks = self._marks.at(snapshot)
        except AdaError as problem:
            self._warn("markers", problem)
            return
        self._markers.publish(self._marker_messages.message(marks, self.stamp(snapshot)))

    def _warn(self, what: str, problem: AdaError) -> None:
        self._node.get_logger().warning(f"no {what}: {problem}", throttle_duration_sec=_WARN_EVERY)

    def not_unique(self) -> tuple[str, ...]:
        """Joints whose published wrench is not determined by the motion alone."""
        return () if self._loads is None else self._loads.not_unique


def _transform(row: FixedTransform, stamp: Time) -> TransformStamped:
    message = TransformStamped(child_frame_id=row.child)
    message.header.stamp, message.header.frame_id = stamp, row.parent
    message.transform.translation = Vector3(**dict(zip("xyz", row.xyz, strict=True)))
    message.transform.rotation = Quaternion(**dict(zip("xyzw", row.xyzw, strict=True)))
    return message
