# SPDX-License-Identifier: Apache-2.0
"""What the dynamics node publishes from its physics thread; imports rclpy.

joint_states, /tf, ~/state and /clock leave as bytes, right behind their step. What takes longer to work out is in
load_publishers.py.
"""

from __future__ import annotations

from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Quaternion, TransformStamped, Vector3
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from ada_dynamics.nodes.kit import environment, qos
from ada_dynamics.nodes.messages.outgoing import FixedTransform, StateMessages
from ada_dynamics.nodes.robot.dynamics_settings import FIXED_WORLD, FLOATING_WORLD, DynamicsSettings
from ada_dynamics.nodes.robot.plant import Plant, Snapshot
from ada_dynamics.simulation import defaults
from ada_dynamics.simulation.record.cdr import NANOSECONDS
from ada_dynamics.simulation.record.viewer_topics import description

_MARKERS_LAST = 5.0  # periods
_WARN_EVERY = 10.0  # [s]


class StatePublishers:
    """joint_states, ~/state, /tf and /clock; and once, robot_description and /tf_static.

    Attributes:
        world_frame: frame of the ground, with its prefix.
    """

    def __init__(
        self,
        node: Node,
        plant: Plant,
        settings: DynamicsSettings,
        *,
        publishes_description: bool = True,
    ) -> None:
        """Create the publishers.

        Args:
            node: whose they are.
            plant: of which they tell.
            settings: of the node.
            publishes_description: whether robot_description is ours to publish.
        """
        self._node = node
        model = plant.model
        world_frame = settings.world_frame or (FLOATING_WORLD if defaults.floats(model) else FIXED_WORLD)
        self.world_frame = settings.frame_prefix + world_frame
        self._is_clock = settings.publish_clock
        self._messages = StateMessages(
            model, plant.dynamics, world_frame, prefix=settings.frame_prefix, base_pose=settings.base_pose
        )
        self._last_stamp = -1
        self._joint_states = node.create_publisher(JointState, "joint_states", qos.STATES)
        self._state = node.create_publisher(Float64MultiArray, "~/state", qos.STATES)
        self._clock = node.create_publisher(ClockMessage, "/clock", qos.CLOCK) if self._is_clock else None
        self._tf = self._publish_tf() if settings.publish_tf else None
        if publishes_description:
            self._publish_description(plant)

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
            TFMessage(transforms=[transform_message(row, stamp) for row in self._messages.static_transforms()])
        )
        return self._node.create_publisher(TFMessage, "/tf", qos.STATES)

    def warm_up(self, snapshot: Snapshot) -> None:
        """Compile all that will be needed, before the physics runs: it would have to wait."""
        stamp = self.stamp(snapshot)
        for encode in (self._messages.joint_state, self._messages.transforms):
            encode(snapshot, stamp)

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


def transform_message(row: FixedTransform, stamp: Time) -> TransformStamped:
    """A frame that stays, as a message. Args: the frame, and a time."""
    message = TransformStamped(child_frame_id=row.child)
    message.header.stamp, message.header.frame_id = stamp, row.parent
    message.transform.translation = Vector3(**dict(zip("xyz", row.xyz, strict=True)))
    message.transform.rotation = Quaternion(**dict(zip("xyzw", row.xyzw, strict=True)))
    return message
