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
    """Motor with the data of a slider."""

    name: str  # joint name
    lower: float  # lower limit [rad, m]; -NO_LIMIT for none
    upper: float  # upper limit; NO_LIMIT for none
    speed: float  # maximum speed [rad/s, m/s]
    is_angle: bool = True  # whether the joint is revolute


class DeviceState(NamedTuple):
    """State of a robot or sensor of the node."""

    name: str  # device name in the node
    kind: str  # device type, such as "pa10"
    phase: str  # present phase
    reason: str  # reason of the phase, or ""
    alarms: tuple[str, ...]  # texts of active alarms
    last_refusal: str  # message of the latest refused command
    modes: tuple[str, ...]  # command modes: "position", "velocity", "effort"
    motors: tuple[Motor, ...]  # motors of a robot with their limits; none for a sensor
    topics: Mapping[str, str]  # full topic names by content
    passed_limit: str  # limit exceeded by a sensor, which stopped the robots; "" for none
    is_armed: bool = True  # whether commands are accepted while it is active

    @property
    def is_robot(self) -> bool:
        """True for a robot, False for a sensor."""
        return bool(self.motors)


class HardwareState(NamedTuple):
    """State of a hardware node."""

    phase: str  # lifecycle state: unconfigured, inactive, active or finalized
    stopped: str  # reason of the latched stop; "" for none
    problem: str  # error of the last transition; "" for none
    is_dry: bool  # whether emulators are used instead of ports
    devices: Mapping[str, DeviceState]  # devices by name


def read_hardware_state(text: str) -> HardwareState:
    """Decode a message; unknown keys are ignored. InputError if it is not a message of a hardware node."""
    try:
        content = json.loads(text)
        devices = {name: _device(name, one) for name, one in content["devices"].items()}
        phase, stopped, problem = (str(content[key]) for key in ("phase", "stopped", "problem"))
        return HardwareState(phase, stopped, problem, bool(content["dry_run"]), devices)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as problem:
        raise InputError(
            f"not the state of a hardware node ({type(problem).__name__}: {problem}): {text[:80]!r}. The publisher may "
            "be another node, or another version."
        ) from None


def _device(name: str, content: Mapping[str, Any]) -> DeviceState:
    texts = {key: str(content.get(key, "")) for key in ("last_refusal", "passed_limit")}
    return DeviceState(
        name=name,
        kind=str(content["kind"]),
        phase=str(content["phase"]),
        reason=str(content["reason"]),
        alarms=tuple(_alarm(one) for one in content.get("alarms", ())),
        modes=tuple(content.get("modes", ())),
        motors=tuple(_motor(one) for one in content.get("joints", ())),
        topics=dict(content["topics"]),
        is_armed=bool(content.get("armed", True)),
        **texts,
    )


def _alarm(content: Mapping[str, Any]) -> str:
    joint = f"{content['joint']}: " if content["joint"] else ""
    return f"{joint}{content['text']} ({content['code']:#x})"


def _motor(content: Mapping[str, Any]) -> Motor:
    """Decode a motor; missing limits mean none."""
    unlimited = {"lower": -NO_LIMIT, "upper": NO_LIMIT, "velocity": math.inf}
    lower, upper, speed = (
        float(usual if content.get(key) is None else content[key]) for key, usual in unlimited.items()
    )
    return Motor(str(content["name"]), lower, upper, speed)
