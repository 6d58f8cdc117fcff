# SPDX-License-Identifier: Apache-2.0
"""ROS 2 messages of a recording: type definitions, layouts, and the joints of a sensor_msgs/JointState."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.record.cdr import Layout, Message

JOINT_STATE_PARTS = ("position", "velocity", "effort")  # fields of sensor_msgs/JointState

JOINT_STATE = "sensor_msgs/msg/JointState"
TRANSFORMS = "tf2_msgs/msg/TFMessage"
WRENCH = "geometry_msgs/msg/WrenchStamped"
NUMBERS = "std_msgs/msg/Float64MultiArray"
NUMBER = "std_msgs/msg/Float64"
TEXT = "std_msgs/msg/String"
CLOCK = "rosgraph_msgs/msg/Clock"

_NESTED = {  # types of fields
    "builtin_interfaces/Time": "int32 sec\nuint32 nanosec\n",
    "std_msgs/Header": "builtin_interfaces/Time stamp\nstring frame_id\n",
    "std_msgs/MultiArrayLayout": "std_msgs/MultiArrayDimension[] dim\nuint32 data_offset\n",
    "std_msgs/MultiArrayDimension": "string label\nuint32 size\nuint32 stride\n",
    "geometry_msgs/Vector3": "float64 x\nfloat64 y\nfloat64 z\n",
    "geometry_msgs/Quaternion": "float64 x 0\nfloat64 y 0\nfloat64 z 0\nfloat64 w 1\n",
    "geometry_msgs/Transform": "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation\n",
    "geometry_msgs/TransformStamped": (
        "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform\n"
    ),
    "geometry_msgs/Wrench": "geometry_msgs/Vector3 force\ngeometry_msgs/Vector3 torque\n",
}
_STATE_FIELDS = "string[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort\n"


def _definition(text: str) -> str:
    """Return a type definition with those of all nested types, in the format of ROS 2 bags."""
    parts, pending = {}, [text]
    while pending:
        for name in re.findall(r"^\w+/\w+", pending.pop(0), re.MULTILINE):
            if name not in parts:
                parts[name] = f"{'=' * 80}\nMSG: {name}\n{_NESTED[name]}"
                pending.append(_NESTED[name])
    return "".join([text, *parts.values()])


DEFINITIONS = MappingProxyType(
    {
        JOINT_STATE: _definition(f"std_msgs/Header header\n{_STATE_FIELDS}"),
        TRANSFORMS: _definition("geometry_msgs/TransformStamped[] transforms\n"),
        WRENCH: _definition("std_msgs/Header header\ngeometry_msgs/Wrench wrench\n"),
        NUMBERS: _definition("std_msgs/MultiArrayLayout layout\nfloat64[] data\n"),
        NUMBER: "float64 data\n",
        TEXT: "string data\n",
        CLOCK: _definition("builtin_interfaces/Time clock\n"),
    }
)


def joint_state(names: Sequence[str], given: Sequence[bool] = (True, True, True)) -> Message:
    """sensor_msgs/JointState with the slots position, velocity and effort.

    Args:
        names: names of the joints.
        given: which of the three slots have numbers.
    """
    layout = Layout()
    layout.header("")
    layout.strings(names)
    for slot, has_numbers in zip(JOINT_STATE_PARTS, given, strict=True):
        layout.double_sequence(slot, len(names) if has_numbers else 0)
    return layout.fixed()


def transforms(parents: str | Sequence[str], children: Sequence[str]) -> Message:
    """tf2_msgs/TFMessage with a slot of x, y, z, qx, qy, qz, qw per child.

    Args:
        parents: parent frame of all children, or one per child.
        children: child frames with distinct names.
    """
    layout = Layout()
    layout.uint32(len(children))
    each = [parents] * len(children) if isinstance(parents, str) else parents
    for parent, child in zip(each, children, strict=True):
        layout.header(parent)
        layout.string(child)
        layout.doubles(child, 7)
    return layout.fixed()


def wrench(frame: str) -> Message:
    """geometry_msgs/WrenchStamped with the slot wrench, [force, moment]."""
    layout = Layout()
    layout.header(frame)
    layout.doubles("wrench", 6)
    return layout.fixed()


def numbers(label: str, count: int) -> Message:
    """std_msgs/Float64MultiArray with one dimension and the slot data."""
    return vectors({label: count})


def vectors(sizes: Mapping[str, int]) -> Message:
    """std_msgs/Float64MultiArray of concatenated vectors with one dimension each, and one slot data."""
    layout = Layout()
    layout.uint32(len(sizes))
    for label, size in sizes.items():
        layout.string(label)
        layout.uint32(size)
        layout.uint32(size)
    layout.uint32(0)
    layout.double_sequence("data", sum(sizes.values()))
    return layout.fixed()


def clock() -> Message:
    """rosgraph_msgs/Clock with its time."""
    layout = Layout()
    layout.time()
    return layout.fixed()


def number() -> Message:
    """std_msgs/Float64 with the slot data."""
    layout = Layout()
    layout.doubles("data", 1)
    return layout.fixed()


class JointNumbers(NamedTuple):
    """Numbers of joints in the order of `JointStates.names`; of one state, or one row per state."""

    position: Array
    velocity: Array
    effort: Array


class JointStates:
    """Joint states of a model: all joints with one coordinate, actuated, passive and mimic joints.

    Attributes:
        names: names of these joints in depth-first order; joints with several coordinates appear in transforms only.
    """

    def __init__(self, model: Model) -> None:
        """Initialize the joint states of a model."""
        bodies = [body for body in model.tree.bodies if body.joint.nq == body.joint.nv == 1]
        self.names = tuple(body.name for body in bodies)
        self._positions = np.array([body.q.start for body in bodies], dtype=np.intp)
        self._velocities = np.array([body.v.start for body in bodies], dtype=np.intp)
        self._mimics = [(i, body) for i, body in enumerate(bodies) if model.joints[body.name].mimic is not None]

    def numbers(self, q: Array, v: Array, tau: Array) -> JointNumbers:
        """Return the joint states, with the exact numbers of the state.

        The effort of a mimic joint is 0: the joint that it follows has the whole effort.

        Args:
            q: configuration, one state or one row per state.
            v: velocity.
            tau: joint torques.
        """
        position = q.take(self._positions, axis=-1)
        velocity = v.take(self._velocities, axis=-1)
        effort = tau.take(self._velocities, axis=-1)
        for i, body in self._mimics:
            (position[..., i],) = body.positions(list(q.T))
            (velocity[..., i],) = body.velocities(list(v.T))
            effort[..., i] = 0.0
        return JointNumbers(position, velocity, effort)
