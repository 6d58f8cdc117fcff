# SPDX-License-Identifier: Apache-2.0
"""The map from a robot's servos to the joints of its model: config/khr1_angle_map.yaml, config/khr3_angle_map.yaml.

    q [deg] = sign * (servo [deg] - zero)

A file lists `servos`, each with its place on the board (RCB-1: `channel`; RCB-4: `id` and `sio`), its `joint`, `sign`,
and the servo angles `home`, `zero`, `min` and `max` [deg]. Servo angles are the board's own: 0 to 180 on an RCB-1,
-135 to 135 from the servo's centre on an RCB-4.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, ModelError
from ada_dynamics.structured_text.fields import Fields
from ada_dynamics.structured_text.lexical import near
from ada_dynamics.structured_text.yaml_text import parse_yaml
from ada_hardware.kondo.errors import MotionError
from ada_hardware.kondo.text_file import text_of
from ada_robot.contract import JointLimit

PathLike = str | os.PathLike[str]

CHANNELS = 24  # of the two RCB-1 of a KHR-1: 1 to 12 on the first board, 13 to 24 on the second
ICS_IDS = 18  # of servos on one bus of an RCB-4: 0 to 17
SERVO_SPEED = math.radians(60.0 / 0.17)  # [rad/s] KRS-786ICS at 6 V (Awa 2009, table 2)
SERVO_SPEED_ICS = math.radians(60.0 / 0.14)  # [rad/s] KRS-2552 and its like at their rated voltage (maker's data)


class _Format(NamedTuple):
    """Properties of a kind of board."""

    title: str
    place: tuple[str, ...]  # keys that say where a servo is
    lowest: float  # [deg] that servos can be commanded to
    highest: float
    resolution: float  # [deg] of a count


class Board(Enum):
    """Kinds of boards."""

    RCB1 = _Format("RCB-1", ("channel",), 0.0, 180.0, 1.0)
    RCB4 = _Format("RCB-4", ("id", "sio"), -135.0, 135.0, 135.0 / 4000.0)


@dataclass(frozen=True)
class Servo:
    """One servo: q [deg] = sign * (angle [deg] - zero).

    Attributes:
        channel: on an RCB-1, 1 to 24; on an RCB-4, its ICS number, id * 2 + sio - 1.
        joint: that it turns.
        sign: 1 or -1.
        home: its angle in the home position [deg].
        zero: its angle where the joint is at zero [deg].
        lowest: least angle [deg].
        highest: greatest angle [deg].
    """

    channel: int
    joint: str
    sign: float
    home: float
    zero: float
    lowest: float
    highest: float

    def position(self, angle: float) -> float:
        """Joint position [rad] at a servo angle [deg]."""
        return float(np.radians(self.sign * (angle - self.zero)))

    def angle(self, position: float) -> float:
        """Servo angle [deg] at a joint position [rad]."""
        return float(np.degrees(position)) * self.sign + self.zero

    def clipped(self, angle: float) -> float:
        """The nearest angle within its limits [deg]: for what rounding has moved over them."""
        return min(max(angle, self.lowest), self.highest)


@dataclass(frozen=True)
class AngleMap:
    """The servos of a robot by channel."""

    servos: dict[int, Servo]
    file: str = ""

    @staticmethod
    def read(path: PathLike, board: Board = Board.RCB1, joints: Sequence[str] | None = None) -> AngleMap:
        """Read an angle map such as config/khr1_angle_map.yaml; needs the package PyYAML (extra "yaml").

        Args:
            path: of the file.
            board: that the servos hang on.
            joints: of the robot, each of which needs a servo; None: any joints.

        Raises:
            MotionError: the file is unusable; the message names line and key.
        """
        file = str(path)
        try:
            node = parse_yaml(text_of(path), file)
        except ModelError as problem:
            raise MotionError(str(problem), file=problem.file, line=problem.line, field=problem.field) from None
        servos = _servos(MapEntry(node, "map", file, ("servos",)), file, board, joints)
        if not servos:
            text = f"{file}: it has no servos. Write servos: [{{channel: 1, joint: name, ...}}]."
            raise MotionError(text, file=file, field="servos")
        missing = [joint for joint in joints or () if all(joint != servo.joint for servo in servos.values())]
        if missing:
            text = (
                f"{file}: map.servos: no servo turns {', '.join(map(repr, missing))}; every joint of the robot needs "
                f"one: add {{{', '.join(board.value.place)}: ..., joint: {missing[0]}, ...}}."
            )
            raise MotionError(text, file=file, field="servos", joint=missing[0])
        return AngleMap(servos, file)

    @property
    def joints(self) -> tuple[str, ...]:
        """Their joints, in the order of the file."""
        return tuple(servo.joint for servo in self.servos.values())

    def home(self) -> dict[str, float]:
        """Joint positions of the home position [rad]."""
        return {servo.joint: servo.position(servo.home) for servo in self.servos.values()}

    def positions(self, angles: ArrayLike) -> Array:
        """Joint positions [rad] at servo angles [deg], both in the order of the file."""
        values = np.asarray(angles, dtype=np.float64)
        return np.array([servo.position(a) for servo, a in zip(self.servos.values(), values, strict=True)])

    def angles(self, positions: ArrayLike) -> Array:
        """Servo angles [deg] at joint positions [rad], both in the order of the file."""
        values = np.asarray(positions, dtype=np.float64)
        return np.array([servo.angle(q) for servo, q in zip(self.servos.values(), values, strict=True)])

    def limits(self, speed: float) -> list[JointLimit]:
        """Limits of the joints, with servos of a speed [rad/s]."""
        found = []
        for servo in self.servos.values():
            lower, upper = sorted((servo.position(servo.lowest), servo.position(servo.highest)))
            found.append(JointLimit(servo.joint, lower, upper, speed))
        return found


class MapEntry(Fields):
    """One mapping of the file."""

    ERROR = MotionError


def _servos(top: MapEntry, file: str, board: Board, joints: Sequence[str] | None) -> dict[int, Servo]:
    keys = (*board.value.place, "joint", "sign", "home", "zero", "min", "max")
    found: dict[int, Servo] = {}
    for i, node in enumerate(top.items("servos")):
        entry = MapEntry(node, f"map.servos.{i}", file, keys)
        servo = _servo(entry, board)
        if servo.channel in found:
            key, what = board.value.place[0], _place_text(servo.channel, board)
            raise entry.problem(key, f"{what} is there twice, for {found[servo.channel].joint} and {servo.joint}.")
        if any(servo.joint == other.joint for other in found.values()):
            raise entry.problem("joint", f"joint {servo.joint!r} is there twice.")
        if joints is not None and servo.joint not in joints:
            raise entry.problem(
                "joint",
                f"the robot has no joint {servo.joint!r}. {near(servo.joint, list(joints))}Known: {', '.join(joints)}.",
            )
        found[servo.channel] = servo
    return found


def _place_text(channel: int, board: Board) -> str:
    if board is Board.RCB1:
        return f"channel {channel}"
    return f"id {channel // 2} on sio {channel % 2 + 1}"


def _servo(entry: MapEntry, board: Board) -> Servo:
    channel = _channel(entry, board)
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
                f"it is {value:g}; servos of an {kind.title} go from {kind.lowest:g} to {kind.highest:g} deg, and a "
                "limit must not be wider than that.",
            )
    if not low <= home <= high:
        raise entry.problem("home", f"it is {home:g}, not between min and max.")
    return Servo(channel, entry.text("joint"), sign, home, zero, low, high)


def _channel(entry: MapEntry, board: Board) -> int:
    if board is Board.RCB1:
        return entry.whole("channel", least=1, most=CHANNELS)
    return entry.whole("id", least=0, most=ICS_IDS - 1) * 2 + entry.whole("sio", least=1, most=2) - 1


def joints_of_robot(robot: str) -> tuple[str, ...] | None:
    """The turning joints of a robot, by its name in the catalogue or its file; None for "": any.

    Raises:
        InputError: there is no such robot.
    """
    if not robot:
        return None
    from ada_dynamics.model.model import motor_joints  # reading robots is an import of half a second
    from ada_dynamics.robots.load import load

    try:
        return tuple(motor_joints(load(robot)))
    except ModelError as problem:
        raise InputError(f"robot {robot!r}: {problem}", field="robot", value=robot) from None
