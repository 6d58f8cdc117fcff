# SPDX-License-Identifier: Apache-2.0
"""Encoding of robot state messages as serialized bytes; no ROS needed.

Names and lengths do not change, so that each message is laid out once and only its numbers are replaced.
`Publisher.publish` of rclpy accepts serialized bytes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.dynamics import stacked_poses
from ada_dynamics.errors import InputError
from ada_dynamics.model.description import WORLD_LINK
from ada_dynamics.model.elements import Joint
from ada_dynamics.model.joints import Fixed
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.record import messages
from ada_dynamics.simulation.record.messages import JointStates, Message
from ada_dynamics.spatial.orientation import quaternions
from ada_robot.contract import Demand, Mode
from ada_robot.driver import Feedback
from ada_robot.messages.incoming import StateNumbers
from ada_robot.ros.robot_settings import COMMON_WORLD

if TYPE_CHECKING:
    from ada_robot.simulated.plant import Snapshot

_WXYZ_TO_XYZW = np.array([1, 2, 3, 0])
_ONES = np.ones(4)
_NOTHING = np.zeros(0)


State: TypeAlias = "Snapshot | StateNumbers"
"""State to be encoded: t, q, v, tau."""


class FixedTransform(NamedTuple):
    """Constant transform between two frames."""

    parent: str
    child: str
    xyz: tuple[float, ...]  # [m]
    xyzw: tuple[float, ...]  # unit quaternion

    @classmethod
    def of(cls, parent: str, child: str, xyz: Array, rotation: Array) -> FixedTransform:
        """Create it from a rotation matrix."""
        xyzw = quaternions(rotation[None, :, :])[0][_WXYZ_TO_XYZW]
        return cls(parent, child, tuple(xyz.tolist()), tuple(xyzw.tolist()))


class StateMessages:
    """Encoder of the state of a robot; for one thread.

    Attributes:
        joint_names: joints in `joint_state`.
        world_frame: parent frame of the root, without the prefix; None if the root has the name of the world frame.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        world_frame: str = WORLD_LINK,
        *,
        prefix: str = "",
        base_pose: Sequence[float] = (),
    ) -> None:
        """Lay out the messages.

        Args:
            dynamics: dynamics of the robot, for the poses.
            world_frame: name of the world frame.
            prefix: prefix of all frame names.
            base_pose: x, y, z [m] and yaw [rad] of that frame in the common world frame; empty if unknown.

        Raises:
            InputError: if a movable link has the name of the world frame.
        """
        self._dynamics, model = dynamics, dynamics.model
        self._joints = JointStates(model)
        self.joint_names = self._joints.names
        self._world, self.world_frame = world_frame, _world_frame(model, world_frame)
        self._joint_state = messages.joint_state(self.joint_names)
        self._clock = messages.clock()
        self._state = messages.vectors({"t": 1, "q": model.nq, "v": model.nv, "tau": model.nv})
        moving = [joint for joint in model.joints.values() if joint.kind != Fixed.kind]
        self._fixed = [joint for joint in model.joints.values() if joint.kind == Fixed.kind]
        self._root = None if _is_carried(model) else model.root
        place = {link: i for i, link in enumerate(dynamics.forward_kinematics(model.neutral()))}
        self._parents = np.array([place[joint.parent] for joint in moving])
        self._children = np.array([place[joint.child] for joint in moving])
        self._prefix, self._base_pose = prefix, tuple(base_pose)
        parents, children = [self._parent(joint) for joint in moving], [joint.child for joint in moving]
        self._transforms = messages.transforms([prefix + one for one in parents], [prefix + one for one in children])
        self._last = np.tile([0.0, 0.0, 0.0, 1.0], (len(moving), 1))  # quaternions of the last message

    def _parent(self, joint: Joint) -> str:
        is_world = joint.parent == WORLD_LINK and self._root != WORLD_LINK
        return self.world_frame if is_world and self.world_frame is not None else joint.parent

    def joint_state(self, state: State, stamp_ns: int) -> bytes:
        """Encode a sensor_msgs/JointState of all joints with one position.

        Args:
            state: state to encode.
            stamp_ns: time in the header [ns].
        """
        numbers = self._joints.numbers(state.q, state.v, state.tau)
        return self._joint_state.fill_one(stamp_ns, np.concatenate(numbers))

    def transforms(self, state: State, stamp_ns: int) -> bytes:
        """Encode a tf2_msgs/TFMessage with the transform from parent to child link of each movable joint.

        Quaternions keep their sign between messages for continuity. Arguments as in `joint_state`.
        """
        poses = stacked_poses(self._dynamics, state.q)
        parents, between = poses.take(self._parents, axis=0), poses.take(self._children, axis=0)[:, :3]
        between[:, :, 3] -= parents[:, :3, 3]
        between = parents[:, :3, :3].transpose(0, 2, 1) @ between  # rotation and translation
        turns = quaternions(between[:, :, :3]).take(_WXYZ_TO_XYZW, axis=1)
        turns *= np.copysign(1.0, (turns * self._last) @ _ONES)[:, None]
        self._last = turns
        return self._transforms.fill_one(stamp_ns, np.concatenate([between[:, :, 3], turns], axis=1).ravel())

    def static_transforms(self) -> list[FixedTransform]:
        """Return the constant transforms: pose of the robot, root of a fixed base, fixed joints."""
        rows = [FixedTransform.of(self._parent(joint), joint.child, joint.xyz, joint.rotation) for joint in self._fixed]
        if self._root is not None and self.world_frame is not None:
            rows.insert(0, FixedTransform.of(self.world_frame, self._root, np.zeros(3), np.eye(3)))
        rows = [row._replace(parent=self._prefix + row.parent, child=self._prefix + row.child) for row in rows]
        if self._base_pose:
            x, y, z, yaw = self._base_pose
            turn = (0.0, 0.0, math.sin(0.5 * yaw), math.cos(0.5 * yaw))
            rows.insert(0, FixedTransform(COMMON_WORLD, self._prefix + self._world, (x, y, z), turn))
        return rows

    def clock(self, stamp_ns: int) -> bytes:
        """Encode a rosgraph_msgs/Clock."""
        return self._clock.fill_one(stamp_ns, _NOTHING)

    def state(self, state: State) -> bytes:
        """Encode a std_msgs/Float64MultiArray of t, q, v and tau, with one dimension each."""
        return self._state.fill_one(0, np.concatenate([[state.t], state.q, state.v, state.tau]))


def _is_carried(model: Model) -> bool:
    """Return True if the root link is the child of a joint."""
    return any(joint.child == model.root for joint in model.joints.values())


def _world_frame(model: Model, name: str) -> str | None:
    """Return the name of the world frame, which no movable link may have."""
    if name not in model.links:
        return name
    if name == model.root and not _is_carried(model):
        return None
    raise InputError(
        f"world_frame is {name!r}, but model {model.name!r} has a link of that name which is movable or not the root, "
        "so that transforms would form a cycle. Choose another name, such as 'odom'."
    )


class JointStateLayouts:
    """Encoder with one message layout per set of joints and quantities."""

    def __init__(self) -> None:
        """Start without layouts."""
        self._layouts: dict[tuple[tuple[str, ...], tuple[bool, ...]], Message] = {}

    def filled(self, names: tuple[str, ...], parts: Sequence[Array | None], stamp_ns: int) -> bytes:
        """Encode a message.

        Args:
            names: joint names.
            parts: positions, velocities and efforts; left empty where None, or not finite for a joint.
            stamp_ns: time in the header [ns].
        """
        is_known = tuple(part is not None and bool(np.isfinite(part).all()) for part in parts)
        key = names, is_known
        layout = self._layouts.get(key)
        if layout is None:
            layout = self._layouts[key] = messages.joint_state(*key)
        return layout.fill_one(stamp_ns, np.concatenate([_NOTHING, *itertools.compress(parts, is_known)]))


class JointStateBytes:
    """Encoder of one robot.

    Attributes:
        names: joints of the device, and dependent joints.
        needs_whole: whether `measured` needs the full state.
    """

    def __init__(self, joints: Sequence[str], model: Model | None) -> None:
        """Choose the joints.

        Args:
            joints: joints of the device.
            model: robot model with passive joints; None to encode the device's joints only.
        """
        self._device_joints = tuple(joints)
        self._joints = None if model is None else JointStates(model)
        self.names = self._device_joints if self._joints is None else tuple(self._joints.names)
        self.needs_whole = set(self.names) != set(self._device_joints)
        self._order = None
        if self._joints is not None and not self.needs_whole:
            self._order = np.array([self._device_joints.index(name) for name in self.names], dtype=np.intp)
        self._layouts = JointStateLayouts()

    def measured(self, feedback: Feedback, state: State | None, stamp_ns: int) -> bytes:
        """Encode the measured state; velocities and efforts only if the device reports them for all its joints.

        Args:
            feedback: feedback with all positions.
            state: full state at that time, if `needs_whole`.
            stamp_ns: time in the header [ns].
        """
        numbers = [feedback.position, feedback.velocity, feedback.effort]
        if self.needs_whole and self._joints is not None and state is not None:
            numbers = list(self._joints.numbers(state.q, state.v, state.tau))
        elif self._order is not None:
            numbers = [one[self._order] for one in numbers]
        return self._layouts.filled(self.names, numbers, stamp_ns)

    def commanded(self, demand: Demand, stamp_ns: int) -> bytes:
        """Encode a demand: positions, velocities or efforts."""
        parts = [demand.values if mode is demand.mode else None for mode in (Mode.POSITION, Mode.VELOCITY, Mode.EFFORT)]
        return self._layouts.filled(self._device_joints, parts, stamp_ns)
