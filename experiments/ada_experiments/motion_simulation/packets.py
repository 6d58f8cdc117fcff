# SPDX-License-Identifier: Apache-2.0
"""UDP packets between the programs of the hybrid simulation.

The machines of the document exchange the same data over Ethernet in an unpublished format. All numbers are big-endian;
sizes in bytes:

    2 "HM", 1 version (1), 1 kind, 4 sequence number, 2 flags, body of the kind, 4 CRC-32 of all preceding bytes

    kind 1, pose, dynamics -> table:       8 simulated time of the pose [s], 8 clock of the sender [ns], 7x8 pose
                                           of the plate [x y z qx qy qz qw], 6x8 its twist
    kind 2, force, table -> dynamics:      8, 8 time and clock of the active pose, as received; 8 time since its
                                           reception [ns]; 6x8 wrench on the probe at the sensor; 7x8 pose of
                                           the plate; 1 length of an error text (UTF-8), and the text
    kind 3, picture, dynamics -> graphics: 8 simulated time; 6x8 wrench on the tip in the world; 3x8 its point;
                                           7x8 pose of the plate; 8 delay [s]; 1, 1 numbers of coordinates, and the
                                           configurations of robots 1 and 2, 8 each

Sequence numbers increase by one and wrap at 2^32. `decode` returns None for a wrong mark, version, kind, length or CRC,
and for invalid numbers.
"""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass
from enum import IntFlag

import numpy as np

from ada_dynamics.arrays import Array

VERSION = 1
_MARK = b"HM"
_HEAD = struct.Struct(">2sBBIH")
_CRC = struct.Struct(">I")
_POSE = struct.Struct(">dQ13d")
_FORCE = struct.Struct(">dQQ13dB")
_PICTURE = struct.Struct(">d17dBB")
LONGEST_TEXT = 200  # bytes
MOST_NUMBERS = 64
_LARGEST = 1 << 32
_UNIT = 1e-6  # tolerance of the squared quaternion norm


class Flags(IntFlag):
    """Flags of a packet."""

    RUN = 1  # pose: the motion is running; otherwise hold the pose
    END = 2  # pose, picture: the motion is over
    READY = 4  # force: the table follows
    SATURATED = 8  # force: the sensor is at the end of its range
    STALE = 16  # force: no new data from table or sensor in this period
    REFUSED = 32  # force: the table refused the command; see the text
    TOUCHING = 64  # picture


NO_FLAGS = Flags(0)


@dataclass(frozen=True, eq=False)
class PosePacket:
    """To the table: target pose of the plate."""

    sequence: int
    time: float  # simulated [s]
    sent_ns: int
    pose: Array  # seven numbers
    twist: Array
    flags: Flags = NO_FLAGS


@dataclass(frozen=True, eq=False)
class ForcePacket:
    """From the table: measured wrench and its pose."""

    sequence: int
    pose_time: float  # simulated time of the active pose [s]; NaN before the first
    pose_sent_ns: int
    waited_ns: int
    wrench: Array
    pose: Array  # seven numbers: pose of the plate
    flags: Flags = NO_FLAGS
    text: str = ""


@dataclass(frozen=True, eq=False)
class PicturePacket:
    """To the graphics: configurations of the robots and contact force."""

    sequence: int
    time: float  # simulated [s]
    wrench: Array  # on the tip, in the world
    place: Array  # of the tip in the world
    plate: Array  # seven numbers
    delay: float  # [s]
    q_1: Array
    q_2: Array
    flags: Flags = NO_FLAGS


Packet = PosePacket | ForcePacket | PicturePacket


def encode(packet: Packet) -> bytes:
    """Serialize a packet.

    Raises:
        ValueError: values that cannot be represented, a programming error.
    """
    if isinstance(packet, PosePacket):
        kind, body = 1, _POSE.pack(packet.time, packet.sent_ns, *packet.pose, *packet.twist)
    elif isinstance(packet, ForcePacket):
        text = packet.text.encode()[:LONGEST_TEXT].decode(errors="ignore").encode()
        numbers = (*packet.wrench, *packet.pose)
        kind = 2
        body = _FORCE.pack(packet.pose_time, packet.pose_sent_ns, packet.waited_ns, *numbers, len(text)) + text
    else:
        if max(len(packet.q_1), len(packet.q_2)) > MOST_NUMBERS:
            raise ValueError(f"a picture contains at most {MOST_NUMBERS} positions of each robot")
        kind, counts = 3, (len(packet.q_1), len(packet.q_2))
        numbers = (*packet.wrench, *packet.place, *packet.plate, packet.delay)
        body = _PICTURE.pack(packet.time, *numbers, *counts)
        body += struct.pack(f">{sum(counts)}d", *packet.q_1, *packet.q_2)
    data = _HEAD.pack(_MARK, VERSION, kind, packet.sequence % _LARGEST, int(packet.flags)) + body
    return data + _CRC.pack(zlib.crc32(data))


def decode(data: bytes) -> Packet | None:
    """Parse a packet; None if the data are invalid."""
    if len(data) < _HEAD.size + _CRC.size:
        return None
    mark, version, kind, sequence, bits = _HEAD.unpack_from(data)
    if mark != _MARK or version != VERSION or bits >= 2 * Flags.TOUCHING:
        return None
    body, check = data[_HEAD.size : -_CRC.size], data[-_CRC.size :]
    if _CRC.unpack(check)[0] != zlib.crc32(data[: -_CRC.size]):
        return None
    flags = Flags(bits)
    if kind == 1:
        return _pose(sequence, flags, body)
    if kind == 2:
        return _force(sequence, flags, body)
    return _picture(sequence, flags, body) if kind == 3 else None


def _pose(sequence: int, flags: Flags, body: bytes) -> PosePacket | None:
    if len(body) != _POSE.size:
        return None
    time, sent_ns, *numbers = _POSE.unpack(body)
    x = np.array(numbers)
    if not (np.isfinite(time) and np.isfinite(x).all() and _is_pose(x[:7])):
        return None
    return PosePacket(sequence, time, sent_ns, x[:7], x[7:], flags)


def _force(sequence: int, flags: Flags, body: bytes) -> ForcePacket | None:
    if len(body) < _FORCE.size:
        return None
    time, sent_ns, waited_ns, *numbers, length = _FORCE.unpack_from(body)
    x, text = np.array(numbers), body[_FORCE.size :]
    if np.isinf(time) or not np.isfinite(x).all() or not _is_pose(x[6:]) or len(text) != length:
        return None
    try:
        words = text.decode()
    except UnicodeDecodeError:
        return None
    return ForcePacket(sequence, time, sent_ns, waited_ns, x[:6], x[6:], flags, words)


def _picture(sequence: int, flags: Flags, body: bytes) -> PicturePacket | None:
    if len(body) < _PICTURE.size:
        return None
    time, *numbers, first, second = _PICTURE.unpack_from(body)
    rest = body[_PICTURE.size :]
    if len(rest) != 8 * (first + second) or max(first, second) > MOST_NUMBERS:
        return None
    x, q = np.array(numbers), np.array(struct.unpack(f">{first + second}d", rest))
    if not (np.isfinite(time) and np.isfinite(x).all() and np.isfinite(q).all() and _is_pose(x[9:16])):
        return None
    return PicturePacket(sequence, time, x[:6], x[6:9], x[9:16], float(x[16]), q[:first], q[first:], flags)


def _is_pose(seven: Array) -> bool:
    return abs(math.hypot(*seven[3:]) - 1.0) < 0.5 * _UNIT  # a square would overflow
