# SPDX-License-Identifier: Apache-2.0
"""Motion files (CSV) of the KHR-1 software Heart To Heart.

The first line is a heading. Each further line is a key frame: number, name, speed (0 fastest to 7 slowest), and 24
angles [deg], one per channel, relative to the home position; 225 marks a channel without a servo. The duration of a
frame is its largest angle change times the time per degree of its speed: all servos arrive at the same time.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.structured_text.lexical import BadNumber, to_float
from ada_hardware.kondo.angle_map import CHANNELS, AngleMap, MotionError, PathLike, Servo, text_of

UNUSED = 225  # angle of a channel without a servo
# Seconds per degree for each speed, measured by RoadNarrows.
SECONDS_PER_DEGREE = (0.0028, 0.0030, 0.0032, 0.0034, 0.0036, 0.0038, 0.0086, 0.0178)

_LONGEST = 2**20  # characters of a file; a key frame has about 100
_FIRST = 3  # columns before the channels: number, name, speed


def read_motion(path: PathLike, angle_map: AngleMap | PathLike) -> tuple[Array, dict[str, Array]]:
    """Read a motion file as a joint trajectory.

    Example::

        times, angles = read_motion("walk.csv", "khr1_angle_map.yaml")
        angles["left_knee"]                                          # [rad], one per time

    Args:
        path: CSV file in UTF-8 or Shift-JIS.
        angle_map: angle map of the robot, or its file.

    Returns:
        Times at which the key frames are reached [s], starting at zero, and the joint angles at these times [rad]. Key
        frames without a change are left out.

    Raises:
        MotionError: a file is invalid; the message names line, column and the allowed values.
    """
    servos = angle_map if isinstance(angle_map, AngleMap) else AngleMap.read(angle_map)
    file, text = str(path), text_of(path)
    if len(text) > _LONGEST:
        text = f"{file}: {len(text)} characters; a motion file may have at most {_LONGEST}."
        raise MotionError(text, file=file, field="length", value=len(text), allowed=_LONGEST)
    try:
        rows = list(csv.reader(text.splitlines()))
    except csv.Error as problem:
        raise MotionError(f"{file}: not a CSV table: {problem}.", file=file) from None
    frames = [_frame(file, i, row, servos) for i, row in enumerate(rows[1:], start=2) if any(map(str.strip, row))]
    if len(frames) < 2:
        text = f"{file}: {len(frames)} key frames after the heading; a motion needs two or more."
        raise MotionError(text, file=file, field="frames", value=len(frames), allowed="2 or more")
    times, kept = [0.0], [frames[0][1]]
    for speed, servo_angles in frames[1:]:
        change = float(np.max(np.abs(servo_angles - kept[-1])))
        if change > 0.0:
            times.append(times[-1] + SECONDS_PER_DEGREE[speed] * change)
            kept.append(servo_angles)
    if len(times) < 2:
        raise MotionError(f"{file}: all key frames are equal.", file=file, field="frames")
    by_channel = np.array(kept).T
    turned = {s.joint: np.radians(s.sign * (by_channel[i] - s.zero)) for i, s in enumerate(servos.servos.values())}
    return np.array(times), turned


def sampled(
    times: Array, angles: Mapping[str, Array], period: float, joints: Sequence[str], start: Array | None = None
) -> Array:
    """Sample a motion with linear interpolation between its key frames, one sample per period.

    Args:
        times: times of the key frames [s], as returned by `read_motion`.
        angles: angles by joint [rad].
        period: sampling period [s].
        joints: joints in the order of the columns.
        start: present configuration [rad], from which the first key frame is approached at the slowest speed; None: the
            robot is at the first key frame.

    Raises:
        InputError: the motion lacks a joint.
    """
    unknown = [joint for joint in joints if joint not in angles]
    if unknown:
        text = f"the motion has no joint {', '.join(unknown)}; it has {', '.join(angles)}."
        raise InputError(text, joint=unknown[0], allowed=tuple(angles))
    frames = np.column_stack([angles[joint] for joint in joints])
    if start is not None:
        way = float(np.degrees(np.max(np.abs(frames[0] - start)))) * SECONDS_PER_DEGREE[-1]
        frames, times = np.vstack([start, frames]), np.concatenate([[times[0] - way], times])
    at = times[0] + period * np.arange(int(np.ceil((times[-1] - times[0]) / period)) + 1)
    return np.column_stack([np.interp(at, times, column) for column in frames.T])


def _frame(file: str, line: int, row: list[str], servos: AngleMap) -> tuple[int, Array]:
    """Return speed and servo angles [deg] of a key frame, in the order of the angle map; raises MotionError."""
    if len(row) < _FIRST + CHANNELS:
        wanted = f"{_FIRST + CHANNELS}: number, name, speed and {CHANNELS} channels"
        text = f"{file}, line {line}: {len(row)} columns; a key frame has {wanted}."
        raise MotionError(text, file=file, line=line, field="columns", value=len(row))
    speed = _number(file, line, 3, row[2])
    if speed not in range(len(SECONDS_PER_DEGREE)):
        text = f"{file}, line {line}, column 3: speed is {speed:g}; allowed are 0 (fastest) to 7 (slowest)."
        raise MotionError(text, file=file, line=line, field="speed", value=speed, allowed="0 to 7")
    angles = [_angle(file, line, servo, row[_FIRST + servo.channel - 1]) for servo in servos.servos.values()]
    return int(speed), np.array(angles)


def _angle(file: str, line: int, servo: Servo, text: str) -> float:
    column = _FIRST + servo.channel
    relative = _number(file, line, column, text)
    angle = servo.home + (0.0 if relative == UNUSED else relative)
    if not servo.lowest <= angle <= servo.highest:
        low, high = servo.lowest - servo.home, servo.highest - servo.home
        text = (
            f"{file}, line {line}, column {column}: channel {servo.channel} ({servo.joint}): {relative:g} deg from "
            f"home is a servo angle of {angle:g} deg; allowed are {low:g} to {high:g} deg from home."
        )
        raise MotionError(
            text, file=file, line=line, joint=servo.joint, field=f"column {column}", value=relative, allowed=(low, high)
        )
    return angle


def _number(file: str, line: int, column: int, text: str) -> float:
    try:
        return to_float(text)
    except BadNumber as reason:
        raise MotionError(
            f"{file}, line {line}, column {column}: {reason}; it must be a number.",
            file=file,
            line=line,
            field=f"column {column}",
            value=text,
        ) from None
