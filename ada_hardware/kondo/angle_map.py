# SPDX-License-Identifier: Apache-2.0
"""Angle map from the servos of a Kondo robot to the joints of its model, such as config/khr1_angle_map.yaml.

    q [deg] = sign * (servo [deg] - zero)

The file lists `servos`. Each has its connector (RCB-1: `channel`; RCB-4: `id` and `sio`), its `joint`, `sign`, and the
servo angles `home`, `zero`, `min` and `max` [deg]: 0 to 180 on an RCB-1, -135 to 135 from the centre on an RCB-4.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, ModelError
from ada_dynamics.structured_text.fields import Fields
from ada_dynamics.structured_text.files import read_file
from ada_dynamics.structured_text.lexical import near
from ada_dynamics.structured_text.yaml_text import parse_yaml
from ada_robot.contract import JointLimit
from ada_robot.errors import HardwareError

_ENCODINGS = ("utf-8-sig", "cp932")
PathLike = str | os.PathLike[str]
CHANNELS = 24  # of the two RCB-1 boards of a KHR-1: 1 to 12 on the first, 13 to 24 on the second
ICS_IDS = 18  # servo ids on one ICS bus of an RCB-4: 0 to 17
SERVO_SPEED = math.radians(60.0 / 0.17)  # [rad/s] KRS-786ICS at 6 V (Awa 2009, table 2)
SERVO_SPEED_ICS = math.radians(60.0 / 0.14)  # [rad/s] KRS-2552 at its rated voltage (data sheet)


class MotionError(InputError, HardwareError):
    """Invalid motion file or angle map; the message names file, line and column or key."""


def text_of(path: str | os.PathLike[str]) -> str:
    """Read a text file in UTF-8 or Shift-JIS.

    Raises:
        MotionError: the file cannot be read or has neither encoding.
    """
    try:
        data = read_file(Path(path))
    except ModelError as problem:
        raise MotionError(str(problem), file=problem.file or path, line=problem.line, field=problem.field) from None
    for encoding in _ENCODINGS:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise MotionError(f"{path}: neither UTF-8 nor Shift-JIS (cp932) text.", file=path, field="encoding")


class _Format(NamedTuple):
    """Connector keys, angle range and resolution of a board type."""

    title: str
    place: tuple[str, ...]  # keys that identify the connector of a servo
    lowest: float  # [deg] smallest servo angle that can be commanded
    highest: float
    resolution: float  # [deg] per count


class Board(Enum):
    """Board types."""

    RCB1 = _Format("RCB-1", ("channel",), 0.0, 180.0, 1.0)
    RCB4 = _Format("RCB-4", ("id", "sio"), -135.0, 135.0, 135.0 / 4000.0)

    def connector(self, channel: int) -> str:
        """Connector of a channel, for messages."""
        return f"channel {channel}" if self is Board.RCB1 else f"id {channel // 2} on sio {channel % 2 + 1}"


@dataclass(frozen=True)
class Servo:
    """One servo: q [deg] = sign * (angle [deg] - zero)."""

    channel: int  # RCB-1: 1 to 24; RCB-4: ICS number, id * 2 + sio - 1
    joint: str  # name of the driven joint
    sign: float  # 1 or -1
    home: float  # servo angle of the home position [deg]
    zero: float  # servo angle at joint position zero [deg]
    lowest: float  # lower limit of the servo angle [deg]
    highest: float  # upper limit of the servo angle [deg]

    def position(self, angle: float) -> float:
        """Return the joint position [rad] for a servo angle [deg]."""
        return float(np.radians(self.sign * (angle - self.zero)))

    def angle(self, position: float) -> float:
        """Return the servo angle [deg] for a joint position [rad]."""
        return float(np.degrees(position)) * self.sign + self.zero

    def clipped(self, angle: float) -> float:
        """Clip a servo angle [deg] to the limits."""
        return min(max(angle, self.lowest), self.highest)


@dataclass(frozen=True)
class AngleMap:
    """Servos of a robot by channel."""

    servos: dict[int, Servo]
    file: str = ""

    @staticmethod
    def read(path: PathLike, board: Board = Board.RCB1, joints: Sequence[str] | None = None) -> AngleMap:
        """Read an angle map.

        Args:
            path: path of the file.
            board: board type that the servos are connected to.
            joints: joints of the robot, each of which must have a servo; None to accept any joints.

        Raises:
            MotionError: the file is invalid; the message names line and key.
        """
        file = str(path)
        try:
            node = parse_yaml(text_of(path), file)
        except ModelError as problem:
            raise MotionError(str(problem), file=problem.file, line=problem.line, field=problem.field) from None
        servos = _servos(MapEntry(node, "map", file, ("servos",)), file, board, joints)
        if not servos:
            text = f"{file}: no servos; add servos: [{{channel: 1, joint: name, ...}}]."
            raise MotionError(text, file=file, field="servos")
        missing = [joint for joint in joints or () if all(joint != servo.joint for servo in servos.values())]
        if missing:
            text = (
                f"{file}: map.servos: no servo for {', '.join(map(repr, missing))}; every joint of the robot needs "
                f"one: add {{{', '.join(board.value.place)}: ..., joint: {missing[0]}, ...}}."
            )
            raise MotionError(text, file=file, field="servos", joint=missing[0])
        return AngleMap(servos, file)

    @property
    def joints(self) -> tuple[str, ...]:
        """Joint names, in the order of the file."""
        return tuple(servo.joint for servo in self.servos.values())

    def positions(self, angles: ArrayLike) -> Array:
        """Convert servo angles [deg] to joint positions [rad], both in the order of the file."""
        values = np.asarray(angles, dtype=np.float64)
        return np.array([servo.position(a) for servo, a in zip(self.servos.values(), values, strict=True)])

    def angles(self, positions: ArrayLike) -> Array:
        """Convert joint positions [rad] to servo angles [deg], both in the order of the file."""
        values = np.asarray(positions, dtype=np.float64)
        return np.array([servo.angle(q) for servo, q in zip(self.servos.values(), values, strict=True)])

    def limits(self, speed: float) -> list[JointLimit]:
        """Return the joint limits for servos of a given speed [rad/s]."""
        found = []
        for servo in self.servos.values():
            lower, upper = sorted((servo.position(servo.lowest), servo.position(servo.highest)))
            found.append(JointLimit(servo.joint, lower, upper, speed))
        return found


class MapEntry(Fields):
    """Mapping in the angle map file."""

    ERROR = MotionError


def _servos(top: MapEntry, file: str, board: Board, joints: Sequence[str] | None) -> dict[int, Servo]:
    keys = (*board.value.place, "joint", "sign", "home", "zero", "min", "max")
    found: dict[int, Servo] = {}
    for i, node in enumerate(top.items("servos")):
        entry = MapEntry(node, f"map.servos.{i}", file, keys)
        servo = _servo(entry, board)
        if servo.channel in found:
            key, what = board.value.place[0], board.connector(servo.channel)
            raise entry.problem(key, f"{what} is used twice, for {found[servo.channel].joint} and {servo.joint}.")
        if any(servo.joint == other.joint for other in found.values()):
            raise entry.problem("joint", f"joint {servo.joint!r} has two servos.")
        if joints is not None and servo.joint not in joints:
            raise entry.problem(
                "joint",
                f"the robot has no joint {servo.joint!r}. {near(servo.joint, list(joints))}Known: {', '.join(joints)}.",
            )
        found[servo.channel] = servo
    return found


def _servo(entry: MapEntry, board: Board) -> Servo:
    if board is Board.RCB1:
        channel = entry.whole("channel", least=1, most=CHANNELS)
    else:
        channel = entry.whole("id", least=0, most=ICS_IDS - 1) * 2 + entry.whole("sio", least=1, most=2) - 1
    sign, home, zero, low, high = (entry.number(key) for key in ("sign", "home", "zero", "min", "max"))
    if abs(sign) != 1.0:
        raise entry.problem("sign", f"it is {sign:g}; it must be 1 or -1.")
    if not low < high:
        raise entry.problem("min", f"it is {low:g} and max {high:g}; min must be less than max.")
    kind = board.value
    for key, value in (("min", low), ("max", high)):
        if not kind.lowest <= value <= kind.highest:
            raise entry.problem(
                key,
                f"it is {value:g}; the servo range of an {kind.title} is {kind.lowest:g} to {kind.highest:g} deg, and "
                "a limit must not be wider than that.",
            )
    if not low <= home <= high:
        raise entry.problem("home", f"it is {home:g}, not between min and max.")
    return Servo(channel, entry.text("joint"), sign, home, zero, low, high)


def joints_of_robot(robot: str) -> tuple[str, ...] | None:
    """Return the motor joints of a robot given by catalogue name or file; None for "", which allows any joints.

    Raises:
        InputError: the robot is not in the catalogue.
    """
    if not robot:
        return None
    from ada_dynamics.model.model import motor_joints  # the import takes half a second
    from ada_dynamics.robots.load import load

    try:
        return tuple(motor_joints(load(robot)))
    except ModelError as problem:
        raise InputError(f"robot {robot!r}: {problem}", field="robot", value=robot) from None
