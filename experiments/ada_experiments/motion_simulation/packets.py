# SPDX-License-Identifier: Apache-2.0
"""UDP packets between the programs of the hybrid simulation.

The machines of the document exchange the same data over Ethernet in an unpublished format. All numbers are big-endian;
sizes in bytes:

    2 "HM", 1 version (2), 1 kind, 4 sequence number, 2 flags, body of the kind, 4 CRC-32 of all preceding bytes

    kind 1, pose, dynamics -> table:       8 simulated time of the pose [s], 8 clock of the sender [ns], 7x8 pose
                                           of the plate [x y z qx qy qz qw], 6x8 its twist
    kind 2, force, table -> dynamics:      8, 8 time and clock of the active pose, as received; 8 time since its
                                           reception [ns]; 6x8 wrench on the probe at the sensor; 7x8 pose of
                                           the plate; an error text (UTF-8)
    kind 3, picture, dynamics -> graphics: 8 simulated time; 6x8 wrench on the tip in the world; 3x8 its point;
                                           7x8 pose of the plate; 8 delay [s]; configuration of both robots, 8 each

Sequence numbers increase by one and wrap at 2^32. `decode` returns None for a wrong mark, version, kind, length or CRC,
and for invalid numbers.
"""

from __future__ import annotations

import math
import struct
import zlib
from enum import IntFlag
from typing import NamedTuple, TypeAlias

import numpy as np

from ada_dynamics.arrays import Array

VERSION = 2
_MARK = b"HM"
_HEAD = struct.Struct(">2sBBIH")
_CRC = struct.Struct(">I")
_POSE = struct.Struct(">dQ13d")
_FORCE = struct.Struct(">dQQ13d")
_PICTURE = struct.Struct(">18d")
LONGEST_TEXT = 200  # bytes
_LARGEST = 1 << 32
_UNIT = 5e-7  # tolerance of the quaternion norm


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


class PosePacket(NamedTuple):
    """To the table: target pose of the plate."""

    sequence: int
    time: float  # simulated [s]
    sent_ns: int
    pose: Array  # seven numbers
    twist: Array
    flags: Flags = NO_FLAGS


class ForcePacket(NamedTuple):
    """From the table: measured wrench and its pose."""

    sequence: int
    pose_time: float  # simulated time of the active pose [s]; NaN before the first
    pose_sent_ns: int
    waited_ns: int
    wrench: Array
    pose: Array  # seven numbers: pose of the plate
    flags: Flags = NO_FLAGS
    text: str = ""


class PicturePacket(NamedTuple):
    """To the graphics: configurations of the robots and contact force."""

    sequence: int
    time: float  # simulated [s]
    wrench: Array  # on the tip, in the world
    place: Array  # of the tip in the world
    plate: Array  # seven numbers
    delay: float  # [s]
    q: Array  # of both robots
    flags: Flags = NO_FLAGS


Packet: TypeAlias = PosePacket | ForcePacket | PicturePacket


def encode(packet: Packet) -> bytes:
    """Serialize a packet."""
    if isinstance(packet, PosePacket):
        kind, body = 1, _POSE.pack(packet.time, packet.sent_ns, *packet.pose, *packet.twist)
    elif isinstance(packet, ForcePacket):
        stamps = packet.pose_time, packet.pose_sent_ns, packet.waited_ns
        text = packet.text.encode()[:LONGEST_TEXT].decode(errors="ignore").encode()
        kind, body = 2, _FORCE.pack(*stamps, *packet.wrench, *packet.pose) + text
    else:
        kind, body = 3, _PICTURE.pack(packet.time, *packet.wrench, *packet.place, *packet.plate, packet.delay)
        body += struct.pack(f">{len(packet.q)}d", *packet.q)
    data = _HEAD.pack(_MARK, VERSION, kind, packet.sequence % _LARGEST, int(packet.flags)) + body
    return data + _CRC.pack(zlib.crc32(data))


def decode(data: bytes) -> Packet | None:
    """Parse a packet; None if the data are invalid."""
    if len(data) < _HEAD.size + _CRC.size or _CRC.unpack(data[-_CRC.size :])[0] != zlib.crc32(data[: -_CRC.size]):
        return None
    mark, version, kind, sequence, bits = _HEAD.unpack_from(data)
    if mark != _MARK or version != VERSION or kind not in (1, 2, 3) or bits >= 2 * Flags.TOUCHING:
        return None
    try:
        return (_pose, _force, _picture)[kind - 1](sequence, Flags(bits), data[_HEAD.size : -_CRC.size])
    except (struct.error, UnicodeDecodeError):
        return None


def _pose(sequence: int, flags: Flags, body: bytes) -> PosePacket | None:
    time, sent_ns, *numbers = _POSE.unpack(body)
    x = np.array(numbers)
    is_valid = math.isfinite(time) and np.isfinite(x).all() and _is_pose(x[:7])
    return PosePacket(sequence, time, sent_ns, x[:7], x[7:], flags) if is_valid else None


def _force(sequence: int, flags: Flags, body: bytes) -> ForcePacket | None:
    time, sent_ns, waited_ns, *numbers = _FORCE.unpack_from(body)
    x, text = np.array(numbers), body[_FORCE.size :]
    is_valid = not math.isinf(time) and np.isfinite(x).all() and _is_pose(x[6:]) and len(text) <= LONGEST_TEXT
    return ForcePacket(sequence, time, sent_ns, waited_ns, x[:6], x[6:], flags, text.decode()) if is_valid else None


def _picture(sequence: int, flags: Flags, body: bytes) -> PicturePacket | None:
    x = np.array(struct.unpack(f">{len(body) // 8}d", body))
    if len(body) < _PICTURE.size or not np.isfinite(x).all() or not _is_pose(x[10:17]):
        return None
    return PicturePacket(sequence, float(x[0]), x[1:7], x[7:10], x[10:17], float(x[17]), x[18:], flags)


def _is_pose(seven: Array) -> bool:
    return abs(math.hypot(*seven[3:]) - 1.0) < _UNIT  # a square would overflow
