# SPDX-License-Identifier: Apache-2.0
"""ROS 2 messages of a recording: type definitions, layouts and their encoding, and the joints of a JointState.

The encoding is CDR (OMG DDSI-RTPS, 10: "CDR_LE"): little-endian numbers, aligned to their size after a header of four
bytes. The layout of a message with constant strings and lengths is computed once, with slots for its numbers; many
messages are then filled together.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.model.model import Model

HEADER = b"\x00\x01\x00\x00"  # plain CDR, little-endian, no options
NANOSECONDS = 1_000_000_000
_DOUBLE = 8
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


class Message:
    """A message with slots for numbers and times; its layout is appended field by field, and then filled."""

    def __init__(self) -> None:
        """Initialize the message with the header of the encoding."""
        self._bytes = bytearray(HEADER)
        self._slots: list[tuple[str, int, int]] = []  # name, offset, number of floating-point numbers
        self._stamps: list[int] = []  # offsets of times

    # --- layout -------------------------------------------------------------------------------------------------
    def _align(self, size: int) -> None:
        self._bytes += bytes(-(len(self._bytes) - len(HEADER)) % size)

    def uint32(self, value: int) -> None:
        """Append a constant number."""
        self._align(4)
        self._bytes += struct.pack("<I", value)

    def string(self, text: str) -> None:
        """Append a constant string with its terminating zero."""
        raw = text.encode() + b"\x00"
        self.uint32(len(raw))
        self._bytes += raw

    def doubles(self, slot: str, count: int) -> None:
        """Append a slot for a fixed number of floating-point numbers."""
        self._align(_DOUBLE)
        self._slots.append((slot, len(self._bytes), count))
        self._bytes += bytes(_DOUBLE * count)

    def double_sequence(self, slot: str, count: int) -> None:
        """Append a slot for a sequence of floating-point numbers; an empty sequence is not aligned."""
        self.uint32(count)
        if count:
            self.doubles(slot, count)

    def time(self) -> None:
        """Append a slot for builtin_interfaces/Time: seconds and nanoseconds."""
        self._align(4)
        self._stamps.append(len(self._bytes))
        self._bytes += bytes(8)

    def header(self, frame: str) -> None:
        """Append std_msgs/Header: a slot for the time, and a frame."""
        self.time()
        self.string(frame)

    # --- filling ------------------------------------------------------------------------------------------------
    @cached_property
    def _layout(self) -> tuple[NDArray[np.uint8], tuple[slice, NDArray[np.intp]], tuple[slice, NDArray[np.intp]]]:
        """Bytes of the message; slice of all 4-byte words, and indices of the times in it; the same for doubles.

        After the header, values are aligned to their size.
        """
        raw, at = np.frombuffer(bytes(self._bytes), dtype=np.uint8), len(HEADER)
        words, doubles = (slice(at, at + (len(raw) - at) // width * width) for width in (4, _DOUBLE))
        times = [[(stamp - at) // 4 + i for i in (0, 1)] for stamp in self._stamps]
        numbers = [(slot - at) // _DOUBLE + i for _, slot, count in self._slots for i in range(count)]
        return raw, (words, np.array(times, dtype=np.intp)), (doubles, np.array(numbers, dtype=np.intp))

    def fill_one(self, time: int, numbers: Array) -> bytes:
        """Return one message; faster than `fill`.

        Args:
            time: time of the message [ns].
            numbers: numbers of all slots, concatenated.
        """
        constant, (words, times), (doubles, places) = self._layout
        raw = constant.copy()
        if self._stamps:
            raw[words].view("<u4")[times] = divmod(time, NANOSECONDS)
        if self._slots:
            raw[doubles].view("<f8")[places] = numbers
        return raw.tobytes()

    def fill(self, ns: Sequence[int] | NDArray[np.int64], values: dict[str, Array]) -> list[bytes]:
        """Return many messages.

        Args:
            ns: times of the messages [ns].
            values: numbers by slot, one row per message.
        """
        constant, (words, times), (doubles, places) = self._layout
        rows = np.tile(constant, (len(ns), 1))
        if self._stamps:
            rows[:, words].view("<u4")[:, times] = np.stack(np.divmod(ns, NANOSECONDS), axis=1)[:, None]
        if self._slots:
            numbers = [np.reshape(values[name], (len(ns), size)) for name, _, size in self._slots]
            rows[:, doubles].view("<f8")[:, places] = np.concatenate(numbers, axis=1)
        return [row.tobytes() for row in rows]


def joint_state(names: Sequence[str], given: Sequence[bool] = (True, True, True)) -> Message:
    """sensor_msgs/JointState with the slots position, velocity and effort.

    Args:
        names: names of the joints.
        given: which of the three slots have numbers.
    """
    message = Message()
    message.header("")
    message.uint32(len(names))
    for name in names:
        message.string(name)
    for slot, has_numbers in zip(JOINT_STATE_PARTS, given, strict=True):
        message.double_sequence(slot, len(names) if has_numbers else 0)
    return message


def transforms(parents: str | Sequence[str], children: Sequence[str]) -> Message:
    """tf2_msgs/TFMessage with a slot of x, y, z, qx, qy, qz, qw per child.

    Args:
        parents: parent frame of all children, or one per child.
        children: child frames with distinct names.
    """
    message = Message()
    message.uint32(len(children))
    each = [parents] * len(children) if isinstance(parents, str) else parents
    for parent, child in zip(each, children, strict=True):
        message.header(parent)
        message.string(child)
        message.doubles(child, 7)
    return message


def wrench(frame: str) -> Message:
    """geometry_msgs/WrenchStamped with the slot wrench, [force, moment]."""
    message = Message()
    message.header(frame)
    message.doubles("wrench", 6)
    return message


def vectors(sizes: Mapping[str, int]) -> Message:
    """std_msgs/Float64MultiArray of concatenated vectors with one dimension each, and one slot data."""
    message = Message()
    message.uint32(len(sizes))
    for label, size in sizes.items():
        message.string(label)
        message.uint32(size)
        message.uint32(size)
    message.uint32(0)
    message.double_sequence("data", sum(sizes.values()))
    return message


def clock() -> Message:
    """rosgraph_msgs/Clock with its time."""
    message = Message()
    message.time()
    return message


def number() -> Message:
    """std_msgs/Float64 with the slot data."""
    message = Message()
    message.doubles("data", 1)
    return message


def text_message(text: str) -> bytes:
    """Return a std_msgs/String."""
    raw = text.encode() + b"\x00"
    return HEADER + struct.pack("<I", len(raw)) + raw


def read_text(raw: bytes) -> str:
    """Return the text of a std_msgs/String.

    Raises:
        ValueError: the message is truncated or has another format.
    """
    if raw[:4] != HEADER or len(raw) < 8:
        raise ValueError(f"a message of {len(raw)} bytes is not a text in little-endian CDR")
    end = 8 + int(struct.unpack_from("<I", raw, 4)[0])
    if end > len(raw):
        raise ValueError(f"a message of {len(raw)} bytes is truncated")
    return raw[8 : end - 1].decode()


# Header, number of dimensions, then label (with its length), size and stride of each, data_offset, number of data.
_TABLE = struct.Struct("<4sII8sIII8sIIII4x")


def table_message(table: Array) -> bytes:
    """Return a std_msgs/Float64MultiArray of a table, row by row."""
    rows, columns = table.shape
    count = rows * columns
    beginning = _TABLE.pack(HEADER, 2, 5, b"rows", rows, count, 8, b"columns", columns, columns, 0, count)
    return beginning + np.ascontiguousarray(table, dtype="<f8").tobytes()


def read_table(raw: bytes) -> Array:
    """Return the table of a `table_message`.

    Raises:
        ValueError: the message is truncated or has another format.
    """
    if raw[:4] != HEADER or len(raw) < _TABLE.size:
        raise ValueError(f"a message of {len(raw)} bytes is not a table of states in little-endian CDR")
    _, dimensions, _, _, rows, _, _, _, columns, _, _, count = _TABLE.unpack_from(raw)
    if dimensions != 2 or count != rows * columns or len(raw) < _TABLE.size + _DOUBLE * count:
        raise ValueError(f"a table of {rows} x {columns} states has {count} numbers in {len(raw)} bytes")
    return np.frombuffer(raw, dtype="<f8", count=count, offset=_TABLE.size).reshape(rows, columns)


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

    def numbers(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        """Return positions, velocities and efforts, with the exact numbers of the state.

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
        return position, velocity, effort
