# SPDX-License-Identifier: Apache-2.0
"""Publishers of the physics thread; imports rclpy.

joint_states, /tf, ~/state and /clock are published as serialized bytes directly after the step. Slower computations are
in load_publishers.py.
"""

from __future__ import annotations

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ada_dynamics.dynamics import Dynamics
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.scene import floats
from ada_robot.messages.outgoing import StateMessages
from ada_robot.node.dynamics_settings import FIXED_WORLD, FLOATING_WORLD, DynamicsSettings
from ada_robot.node.frames import Frames, can_send_frames, publish_description, publish_fixed
from ada_robot.ros import qos
from ada_robot.simulated.plant import Snapshot

_LOOK = 1.0  # interval of queries for other publishers [s]
_UNKNOWN = "_NODE_NAME_UNKNOWN_"  # name of a publisher whose node has not been discovered yet


class OtherPublishers:
    """Warns when other nodes publish the same topic, since their messages alternate with those of this node."""

    def __init__(self, node: Node, topic: str) -> None:
        """Args: node; full topic name."""
        self._node, self._topic, self._known = node, topic, 0
        node.create_timer(_LOOK, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _look(self) -> None:
        node, topic = self._node, self._topic
        publishers = node.get_publishers_info_by_topic(topic)
        found = [(one.node_namespace, one.node_name) for one in publishers if one.node_name != _UNKNOWN]
        own = (node.get_namespace(), node.get_name())
        for _ in [one for one in node.publishers if one.topic_name == topic]:
            if own in found:
                found.remove(own)
        if len(found) > self._known:
            names = ", ".join(sorted(f"{space.rstrip('/')}/{name}" for space, name in found))
            node.get_logger().warning(
                f"{topic} is also published by other nodes: {names}. Their states alternate with those of this node; "
                "start one of them in a namespace (-r __ns:=/NAME). Killed nodes remain listed for about 20 s."
            )
        self._known = max(self._known, len(found))


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
        """Create the publishers.

        Args:
            node: node of the publishers.
            model: robot model.
            dynamics: dynamics of the model, for its poses.
            settings: settings of the node.
            publishes_description: whether to publish robot_description.
        """
        world_frame = settings.world_frame or (FLOATING_WORLD if floats(model) else FIXED_WORLD)
        self.world_frame = settings.frame_prefix + world_frame
        self._messages = StateMessages(
            model, dynamics, world_frame, prefix=settings.frame_prefix, base_pose=settings.base_pose
        )
        self._joint_states = node.create_publisher(JointState, "joint_states", qos.STATES)
        self._state = node.create_publisher(Float64MultiArray, "~/state", qos.STATES)
        self._clock = node.create_publisher(ClockMessage, "/clock", qos.CLOCK) if settings.publish_clock else None
        self._frames: Frames | None = None
        if settings.publish_tf and can_send_frames(node):
            self._frames = Frames(node, self._messages)
            self._fixed = publish_fixed(node, self._frames.fixed)
        self._others = OtherPublishers(node, self._joint_states.topic_name)
        if publishes_description:
            self._description = publish_description(node, model, "robot_description")

    # --- from the physics thread --------------------------------------------------------------------------------
    def publish(self, snapshot: Snapshot, *, runs: bool = True) -> None:
        """Publish a state.

        Args:
            snapshot: state.
            runs: whether the physics runs. Before that, positions are published only, without ~/state, so that no
                controller starts to control the robot.
        """
        stamp = snapshot.stamp
        if self._clock is not None:
            self._clock.publish(self._messages.clock(stamp))
        if runs:
            self._joint_states.publish(self._messages.joint_state(snapshot, stamp))
            self._state.publish(self._messages.state(snapshot))
        else:
            self._joint_states.publish(self._messages.joint_positions(snapshot, stamp))
        if self._frames is not None:
            self._frames.publish(snapshot, stamp)
