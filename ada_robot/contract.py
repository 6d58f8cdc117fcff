# SPDX-License-Identifier: Apache-2.0
"""Types shared by programs, robots and drivers: joint limits, commands, demands and refusals.

A command addresses joints by name, in any combination of the three modes. A demand holds one value per joint of a
robot in a single mode. The robot's safety cycle checks demands before it passes them to the driver.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from ada_dynamics.arrays import Array
from ada_robot.errors import Refused


class Mode(Enum):
    """Commanded quantity of a joint."""

    POSITION = "position"  # [rad, m]
    VELOCITY = "velocity"  # [rad/s, m/s]
    EFFORT = "effort"  # [N m, N]


_MODES = tuple(Mode)  # iterating a tuple is faster than iterating the enumeration


class JointLimit(NamedTuple):
    """Limits of the commands to a joint; infinite where unlimited."""

    name: str  # joint name
    lower: float = -math.inf  # lower position limit [rad, m]
    upper: float = math.inf  # upper position limit
    velocity: float = math.inf  # maximum speed in both directions [rad/s, m/s]
    effort: float = math.inf  # maximum effort in both directions [N m, N]
    has_motor: bool = True  # whether the joint is actuated


class Command(NamedTuple):
    """Command to joints by name. Position, velocity and effort are None or hold one value per joint."""

    names: Sequence[str] = ()  # joint names; empty for all joints of the robot, in its order
    position: Array | None = None  # position setpoints [rad, m]
    velocity: Array | None = None  # velocity setpoints, or feedforward with positions [rad/s, m/s]
    effort: Array | None = None  # effort setpoints, or feedforward efforts where positions are given [N m, N]
    stamp: float | None = None  # creation time [s]; None if unknown

    @classmethod
    def of(cls, given: Mapping[Mode, Array]) -> Command:
        """Create a command to all joints from quantities by mode."""
        return cls((), given.get(Mode.POSITION), given.get(Mode.VELOCITY), given.get(Mode.EFFORT))

    def given(self) -> dict[Mode, Array]:
        """Return the commanded quantities by mode, in the order of `Mode`."""
        parts = zip(_MODES, self[1:4], strict=True)
        return {mode: values for mode, values in parts if values is not None and len(values)}


class Demand(NamedTuple):
    """Checked setpoint of a robot: one value per joint, all in one mode."""

    mode: Mode  # commanded quantity of all joints
    values: Array  # setpoints, one per joint
    stamp: float = -math.inf  # creation time on the steady clock [s]; -inf for no time


class Reason(str, Enum):
    """Reason of a refused command; its value is the name of the counter."""

    EMPTY = "empty"
    LENGTH = "wrong length"
    UNKNOWN_JOINT = "unknown joint"
    DUPLICATE_JOINT = "duplicate joint"
    NO_MOTOR = "joint without a motor"
    NOT_FINITE = "not finite"
    TIMES = "times do not increase"
    NO_STAMP = "no stamp"
    OLD = "too old"
    FROM_THE_FUTURE = "from the future"
    OVER_LIMIT = "over a limit"
    JUMP = "jump"
    # robots that accept one mode at a time, and only in phase ACTIVE
    NOT_ACTIVE = "not active"
    NOT_ARMED = "not armed"
    NO_MODE = "no such mode"
    OVERTAKEN = "overtaken"
    NOT_TAKEN = "not taken"
    UNKNOWN_POSITION = "unknown position"
    EFFORT_MISSING = "joints without an effort"
    OTHER_COMMANDER = "another commander"

    __str__ = str.__str__


class Refusal(NamedTuple):
    """Refusal of a command."""

    reason: Reason  # category, for counters
    text: str  # message with the joint, the value, the allowed range and the remedy
    joint: str = ""  # name of the joint; "" if the refusal concerns no single joint

    def as_error(self) -> Refused:
        """Return the exception for this refusal."""
        return Refused(self.text, joint=self.joint or None, field="command", value=self.reason.value)


class Tally:
    """Counters of accepted and refused commands, of constant size.

    Attributes:
        accepted: number of accepted commands.
        refused: number of refused commands by reason.
        last_refusal: message of the latest refusal; "" before the first.
        last_accepted_at: time of the latest accepted command [s].
        refused_at: time of the latest refused command [s]; 0 before the first.
    """

    def __init__(self) -> None:
        self.accepted = 0
        self.refused: Counter[str] = Counter()
        self.last_refusal = ""
        self.last_accepted_at: float | None = None
        self.refused_at = 0.0

    def count(self, refusal: Refusal | None, now: float, times: int = 1) -> Refusal | None:
        """Count a refusal, or an accepted command (None), and return the argument."""
        if refusal is None:
            self.accepted += times
            self.last_accepted_at = now
        else:
            self.refused[refusal.reason] += times
            self.last_refusal, self.refused_at = refusal.text, now
        return refusal
