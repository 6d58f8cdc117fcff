# SPDX-License-Identifier: Apache-2.0
"""Decoding of the topic ~/state of a hardware node: state of the node and its devices."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ada_dynamics.errors import InputError
from ada_dynamics.model.joints.base import NO_LIMIT

# phases of nodes and robots
UNCONFIGURED, INACTIVE, ACTIVE = "unconfigured", "inactive", "active"
CLOSED, STARTING, STOPPING, STOPPED = "closed", "starting", "stopping", "stopped"


class Motor(NamedTuple):
    """Motor with the data of a slider.

    Attributes:
        name: joint name.
        lower: lower limit [rad, m]; -NO_LIMIT for none.
        upper: upper limit; NO_LIMIT for none.
        speed: maximum speed [rad/s, m/s].
        is_angle: whether the joint is revolute.
    """

    name: str
    lower: float
    upper: float
    speed: float
    is_angle: bool = True


class ServoScale(NamedTuple):
    """Conversion of a joint position to a servo angle: sign * joint + zero, in degrees."""

    sign: float
    zero: float

    def angle(self, position: float) -> float:
        """Servo angle [deg] at a joint position [rad]."""
        return self.sign * math.degrees(position) + self.zero


class DeviceState(NamedTuple):
    """State of a robot or sensor of the node.

    Attributes:
        name: device name in the node.
        kind: device type, such as "pa10".
        phase: present phase.
        reason: reason of the phase, or "".
        alarms: texts of active alarms.
        last_refusal: message of the latest refused command.
        modes: command modes: "position", "velocity", "effort".
        motors: motors of a robot with their limits; none for a sensor.
        servos: scales of servos by joint, if the device has them.
        topics: full topic names by content.
        motions: names of stored motions.
        plays: name of the motion being played; "" for none.
        passed_limit: limit exceeded by a sensor, which stopped the robots; "" for none.
        is_armed: whether commands are accepted while it is active.
    """

    name: str
    kind: str
    phase: str
    reason: str
    alarms: tuple[str, ...]
    last_refusal: str
    modes: tuple[str, ...]
    motors: tuple[Motor, ...]
    servos: Mapping[str, ServoScale]
    topics: Mapping[str, str]
    motions: tuple[str, ...]
    plays: str
    passed_limit: str
    is_armed: bool = True

    @property
    def is_robot(self) -> bool:
        """True for a robot, False for a sensor."""
        return bool(self.motors)


class HardwareState(NamedTuple):
    """State of a hardware node.

    Attributes:
        phase: lifecycle state: unconfigured, inactive, active or finalized.
        stopped: reason of the latched stop; "" for none.
        problem: error of the last transition; "" for none.
        is_dry: whether emulators are used instead of ports.
        devices: devices by name.
    """

    phase: str
    stopped: str
    problem: str
    is_dry: bool
    devices: Mapping[str, DeviceState]


def read_hardware_state(text: str) -> HardwareState:
    """Decode a message; unknown keys are ignored.

    Raises:
        InputError: if it is not a message of a hardware node.
    """
    try:
        said = json.loads(text)
        devices = {name: _device(name, one) for name, one in said["devices"].items()}
        return HardwareState(
            str(said["phase"]), str(said["stopped"]), str(said["problem"]), bool(said["dry_run"]), devices
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as problem:
        raise InputError(
            f"not the state of a hardware node ({type(problem).__name__}: {problem}): {text[:80]!r}. The publisher may "
            "be another node, or another version."
        ) from None


def _device(name: str, said: Mapping[str, Any]) -> DeviceState:
    alarms = tuple(_alarm(one) for one in said.get("alarms", ()))
    servos = {
        joint: ServoScale(float(one["sign"]), float(one["zero"])) for joint, one in said.get("servos", {}).items()
    }
    return DeviceState(
        name=name,
        kind=str(said["kind"]),
        phase=str(said["phase"]),
        reason=str(said["reason"]),
        alarms=alarms,
        last_refusal=str(said.get("last_refusal", "")),
        modes=tuple(said.get("modes", ())),
        motors=tuple(_motor(one) for one in said.get("joints", ())),
        servos=servos,
        topics=dict(said["topics"]),
        motions=tuple(said.get("motions", ())),
        plays=str(said.get("plays", "")),
        passed_limit=str(said.get("passed_limit", "")),
        is_armed=bool(said.get("armed", True)),
    )


def _alarm(said: Mapping[str, Any]) -> str:
    joint = f"{said['joint']}: " if said["joint"] else ""
    return f"{joint}{said['text']} ({said['code']:#x})"


def _motor(said: Mapping[str, Any]) -> Motor:
    """Decode a motor; missing limits mean none."""
    lower, upper, speed = (said.get(key) for key in ("lower", "upper", "velocity"))
    return Motor(
        str(said["name"]),
        -NO_LIMIT if lower is None else float(lower),
        NO_LIMIT if upper is None else float(upper),
        math.inf if speed is None else float(speed),
    )
