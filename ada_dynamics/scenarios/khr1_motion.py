# SPDX-License-Identifier: Apache-2.0
"""Motions of the KHR-1 as its program Heart To Heart writes them (CSV), and the map from servos to joints of the model.

A motion's first line is a heading. Each other line is a key frame: its number, its name, its speed (0 fastest to 7
slowest), and 24 angles [deg], one per channel, relative to the home position; 225 stands for a channel without a servo.
A frame's duration is not written: a servo needs a time per degree that the speed sets, all servos arrive together, and
so the largest change counts.
"""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.errors import InputError, ModelError
from ada_dynamics.model.readers.loops.yaml_text import parse_yaml
from ada_dynamics.model.readers.source import read_file
from ada_dynamics.model.readers.values import BadNumber, to_float
from ada_dynamics.scenarios.fields import Part, ScenarioError
from ada_dynamics.scenarios.units import NUMBER

Array = NDArray[np.float64]
PathLike = str | os.PathLike[str]

CHANNELS = 24
UNUSED = 225  # of a channel without a servo
# Seconds per degree by speed; measured by RoadNarrows, not the maker's figures.
SECONDS_PER_DEGREE = (0.0028, 0.0030, 0.0032, 0.0034, 0.0036, 0.0038, 0.0086, 0.0178)

_FIRST = 3  # columns before the channels: number, name, speed
_KEYS = ("channel", "joint", "sign", "home", "zero", "min", "max")
_ENCODINGS = ("utf-8-sig", "cp932")  # the program runs on a Japanese Windows


class MotionError(InputError):
    """A motion or an angle map is unusable; the message names file, line and column or key."""


@dataclass(frozen=True)
class Servo:
    """One servo: q [deg] = sign * (angle [deg] - zero)."""

    channel: int  # 1 to 24
    joint: str
    sign: float
    home: float  # [deg]
    zero: float  # [deg]
    lowest: float  # [deg]
    highest: float  # [deg]

    def position(self, angle: float) -> float:
        """Joint position [rad] at a servo angle [deg]."""
        return float(np.radians(self.sign * (angle - self.zero)))

    def angle(self, position: float) -> float:
        """Servo angle [deg] at a joint position [rad]."""
        return float(np.degrees(position)) * self.sign + self.zero


@dataclass(frozen=True)
class AngleMap:
    """The servos of a robot by channel."""

    servos: dict[int, Servo]
    file: str = ""

    @staticmethod
    def read(path: PathLike) -> AngleMap:
        """Read an angle map such as config/khr1_angle_map.yaml; needs the package PyYAML (extra "yaml").

        Raises:
            MotionError: the file is unusable; the message names line and key.
        """
        file = str(path)
        try:
            servos = _servos(Part(parse_yaml(_text(path), file), "map", file, ("servos",)))
        except (ModelError, ScenarioError) as problem:
            raise MotionError(str(problem)) from None
        if not servos:
            raise MotionError(f"{file}: it has no servos. Write servos: [{{channel: 1, joint: name, ...}}].")
        return AngleMap(servos, file)

    def home(self) -> dict[str, float]:
        """Joint positions of the home position [rad]."""
        return {servo.joint: servo.position(servo.home) for servo in self.servos.values()}


def _servos(top: Part) -> dict[int, Servo]:
    found: dict[int, Servo] = {}
    for part in top.parts("servos", _KEYS):
        servo = _servo(part)
        if servo.channel in found:
            raise part.problem("channel", f"channel {servo.channel} is there twice.")
        if any(servo.joint == other.joint for other in found.values()):
            raise part.problem("joint", f"joint {servo.joint!r} is there twice.")
        found[servo.channel] = servo
    return found


def _servo(part: Part) -> Servo:
    values = {key: part.quantity(key, NUMBER) for key in ("channel", "sign", "home", "zero", "min", "max")}
    channel = values["channel"]
    if channel not in range(1, CHANNELS + 1):
        raise part.problem("channel", f"it is {channel:g}; it must be a whole number from 1 to {CHANNELS}.")
    if abs(values["sign"]) != 1.0:
        raise part.problem("sign", f"it is {values['sign']:g}; it must be 1 or -1.")
    if not values["min"] < values["max"]:
        raise part.problem("min", f"it is {values['min']:g} and max {values['max']:g}; min must be less than max.")
    if not values["min"] <= values["home"] <= values["max"]:
        raise part.problem("home", f"it is {values['home']:g}, not between min and max.")
    rest = (values[key] for key in ("sign", "home", "zero", "min", "max"))
    return Servo(int(channel), part.text("joint"), *rest)


def read_motion(path: PathLike, angle_map: AngleMap | PathLike) -> tuple[Array, dict[str, Array]]:
    """Key frames of a motion.

    Example::

        times, angles = read_motion("walk.csv", "khr1_angle_map.yaml")
        angles["left_knee"]                                          # [rad], one per time

    Args:
        path: the CSV file, in UTF-8 or Shift-JIS.
        angle_map: of the robot, or its file.

    Returns:
        The times at which the frames are reached [s], the first one at zero, and the joints' angles then [rad]. A frame
        that changes nothing takes no time and is left out.

    Raises:
        MotionError: a file is unusable; the message names its line and column, and what is allowed.
    """
    servos = angle_map if isinstance(angle_map, AngleMap) else AngleMap.read(angle_map)
    file = str(path)
    rows = list(csv.reader(_text(path).splitlines()))
    frames = [_frame(file, i, row, servos) for i, row in enumerate(rows[1:], start=2) if any(map(str.strip, row))]
    if len(frames) < 2:
        raise MotionError(f"{file}: it has {len(frames)} key frames after its heading; a motion needs two or more.")
    times, kept = [0.0], [frames[0][1]]
    for speed, angles in frames[1:]:
        change = float(np.max(np.abs(angles - kept[-1])))
        if change > 0.0:
            times.append(times[-1] + SECONDS_PER_DEGREE[speed] * change)
            kept.append(angles)
    if len(times) < 2:
        raise MotionError(f"{file}: all its key frames are the same; nothing moves.")
    by_channel = np.array(kept).T
    turned = {s.joint: np.radians(s.sign * (by_channel[i] - s.zero)) for i, s in enumerate(servos.servos.values())}
    return np.array(times), turned


def _frame(file: str, line: int, row: list[str], servos: AngleMap) -> tuple[int, Array]:
    """Speed, and servo angles [deg] in the order of the map."""
    if len(row) < _FIRST + CHANNELS:
        wanted = f"{_FIRST + CHANNELS}: number, name, speed and {CHANNELS} channels"
        raise MotionError(f"{file}, line {line}: it has {len(row)} columns; a key frame has {wanted}.")
    speed = _number(file, line, 3, row[2])
    if speed not in range(len(SECONDS_PER_DEGREE)):
        raise MotionError(f"{file}, line {line}, column 3: speed is {speed:g}; allowed are 0 (fastest) to 7 (slowest).")
    angles = [_angle(file, line, servo, row[_FIRST + servo.channel - 1]) for servo in servos.servos.values()]
    return int(speed), np.array(angles)


def _angle(file: str, line: int, servo: Servo, text: str) -> float:
    column = _FIRST + servo.channel
    relative = _number(file, line, column, text)
    angle = servo.home + (0.0 if relative == UNUSED else relative)
    if not servo.lowest <= angle <= servo.highest:
        low, high = servo.lowest - servo.home, servo.highest - servo.home
        raise MotionError(
            f"{file}, line {line}, column {column}: channel {servo.channel} ({servo.joint}) is at {relative:g} deg "
            f"from its home, a servo angle of {angle:g} deg; allowed are {low:g} to {high:g} deg from its home."
        )
    return angle


def _number(file: str, line: int, column: int, text: str) -> float:
    try:
        return to_float(text)
    except BadNumber as reason:
        raise MotionError(f"{file}, line {line}, column {column}: {reason}; it must be a number.") from None


def _text(path: PathLike) -> str:
    """A file's text in whichever of the two encodings it is."""
    try:
        data = read_file(Path(path))
    except ModelError as problem:
        raise MotionError(str(problem)) from None
    for encoding in _ENCODINGS:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise MotionError(f"{path}: it is text neither in UTF-8 nor in Shift-JIS (cp932).")
