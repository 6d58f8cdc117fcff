# SPDX-License-Identifier: Apache-2.0
"""The state of a hardware node and its devices, read from the text of its topic ~/state."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ada_dynamics.errors import InputError
from ada_dynamics.model.joints.base import NO_LIMIT

# Phases, as the node and its robots have them.
UNCONFIGURED, INACTIVE, ACTIVE = "unconfigured", "inactive", "active"
CLOSED, STARTING, STOPPING, STOPPED = "closed", "starting", "stopping", "stopped"


class Motor(NamedTuple):
    """A motor as a slider needs it.

    Attributes:
        name: of its joint.
        lower: limit [rad, m]; -NO_LIMIT: there is none.
        upper: likewise.
        speed: at most [rad/s, m/s].
        is_angle: whether it turns.
    """

    name: str
    lower: float
    upper: float
    speed: float
    is_angle: bool = True


class ServoScale(NamedTuple):
    """A servo's own angle: sign * joint + zero, in degrees."""

    sign: float
    zero: float

    def angle(self, position: float) -> float:
        """Servo angle [deg] at a joint position [rad]."""
        return self.sign * math.degrees(position) + self.zero


class DeviceState(NamedTuple):
    """One robot or sensor of the node.

    Attributes:
        name: as the node calls it.
        kind: of device, such as "pa10".
        phase: of its life.
        reason: why; "" for nothing special.
        alarms: what the device says is wrong, in words.
        last_refusal: words on the command that was refused last.
        modes: in which it can be commanded: "position", "velocity", "effort".
        motors: of a robot, with their limits; none: it is a sensor.
        servos: scales of servos by joint, where the device has some of its own.
        topics: whole names of its topics, by what they carry.
        motions: files of motions that it can play.
        plays: the one that it plays now; "": none.
        passed_limit: of a sensor, which stopped the robots; "": none.
        is_armed: whether it follows commands while it is active.
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
        """True if it has joints that move."""
        return bool(self.motors)


class HardwareState(NamedTuple):
    """The node.

    Attributes:
        phase: of its life: unconfigured, inactive, active or finalized.
        stopped: why it was stopped; "" where it was not, or a reset came since.
        problem: why the last transition failed; "" where it did not.
        is_dry: whether no port is open, and emulators answer.
        devices: by name.
    """

    phase: str
    stopped: str
    problem: str
    is_dry: bool
    devices: Mapping[str, DeviceState]


def read_hardware_state(text: str) -> HardwareState:
    """Read a message; keys that are not known here are left out.

    Raises:
        InputError: it is not what a hardware node sends.
    """
    try:
        said = json.loads(text)
        devices = {name: _device(name, one) for name, one in said["devices"].items()}
        return HardwareState(
            str(said["phase"]), str(said["stopped"]), str(said["problem"]), bool(said["dry_run"]), devices
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as problem:
        raise InputError(
            f"not the state of a hardware node ({type(problem).__name__}: {problem}): {text[:80]!r}. Another node may "
            "publish on that topic, or one of another version."
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
    """A motor of a device, which turns; a missing limit means none."""
    lower, upper, speed = (said.get(key) for key in ("lower", "upper", "velocity"))
    return Motor(
        str(said["name"]),
        -NO_LIMIT if lower is None else float(lower),
        NO_LIMIT if upper is None else float(upper),
        math.inf if speed is None else float(speed),
    )
