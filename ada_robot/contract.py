# SPDX-License-Identifier: Apache-2.0
"""The types shared by programs, robots and their drivers: limits, commands, demands, refusals.

A command is a request to joints by their names, in any of three modes. A demand is a request to all joints of a robot
in one of these modes: a robot's cycle judges it, and passes it to the driver.
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
    """The quantity that a joint is commanded in; the better way to hold it first."""

    POSITION = "position"  # [rad, m]
    VELOCITY = "velocity"  # [rad/s, m/s]
    EFFORT = "effort"  # [N m, N]


_MODES = tuple(Mode)  # faster to iterate than the class itself


class JointLimit(NamedTuple):
    """Limits of what a joint may be commanded; infinite where there is none.

    Attributes:
        name: of the joint.
        lower: least position [rad, m].
        upper: greatest position.
        velocity: greatest speed, either way [rad/s, m/s].
        effort: greatest effort, either way [N m, N].
        has_motor: whether it can be commanded at all.
        derived: which of "position", "velocity" and "effort" the description leaves open, so that the bound here is
            somebody else's; for texts.
    """

    name: str
    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    has_motor: bool = True
    derived: tuple[str, ...] = ()


class Command(NamedTuple):
    """A request to joints by name: position, velocity and effort have a number for each joint, or are None.

    Attributes:
        names: of the joints; empty: all joints of the commander, in their order.
        position: [rad, m].
        velocity: [rad/s, m/s]; of the position, where there is one too.
        effort: [N m, N]; on top of what holds a position, where there is one too.
        stamp: when it was made [s]; None where it does not say.
    """

    names: Sequence[str] = ()
    position: Array | None = None
    velocity: Array | None = None
    effort: Array | None = None
    stamp: float | None = None

    @classmethod
    def of(cls, given: Mapping[Mode, Array]) -> Command:
        """A command of quantities by mode, to all joints of the commander."""
        return cls((), given.get(Mode.POSITION), given.get(Mode.VELOCITY), given.get(Mode.EFFORT))

    def given(self) -> dict[Mode, Array]:
        """The quantities that it commands, by mode, in the order of `Mode`."""
        parts = zip(_MODES, self[1:4], strict=True)
        return {mode: values for mode, values in parts if values is not None and len(values)}


class Demand(NamedTuple):
    """One number for each joint of a robot, all in one mode; checked before it comes to a driver.

    Attributes:
        mode: of all joints.
        values: one per joint.
        stamp: when it was made, on the steady clock [s]; -inf where that is of no matter.
    """

    mode: Mode
    values: Array
    stamp: float = -math.inf


class Reason(str, Enum):
    """Why a command is refused; its value is the name in counters."""

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
    # of robots that follow one mode at a time, and only while they are active
    NOT_ACTIVE = "not active"
    NOT_ARMED = "not armed"
    NO_MODE = "no such mode"
    OVERTAKEN = "overtaken"
    NOT_TAKEN = "not taken"
    UNKNOWN_POSITION = "unknown position"
    EFFORT_MISSING = "joints without an effort"
    OTHER_COMMANDER = "another commander"
    MOTION_PLAYED = "a motion is played"

    __str__ = str.__str__


class Refusal(NamedTuple):
    """Why a command is refused, for counters and for people.

    Attributes:
        reason: in two words.
        text: joint, number, what is allowed, what to do.
        joint: whose number it is; "" where it is of none.
    """

    reason: Reason
    text: str
    joint: str = ""

    def as_error(self, device: str = "") -> Refused:
        """The error of a call; device: named in front of the text."""
        text = f"{device}: {self.text}" if device else self.text
        return Refused(text, joint=self.joint or None, field="command", value=self.reason.value)


class Tally:
    """Counts of what was taken and what was refused; as large after a day as after a second.

    Attributes:
        accepted: how many were taken.
        refused: how many were refused, by reason.
        last_refusal: words on the newest of them; "" before the first.
        last_accepted_at: time of the newest that was taken [s].
    """

    def __init__(self) -> None:
        self.accepted = 0
        self.refused: Counter[str] = Counter()
        self.last_refusal = ""
        self.last_accepted_at: float | None = None

    def count(self, refusal: Refusal | None, now: float, times: int = 1) -> Refusal | None:
        """Count one, refused or (None) taken, and return it."""
        if refusal is None:
            self.accepted += times
            self.last_accepted_at = now
        else:
            self.refused[refusal.reason] += times
            self.last_refusal = refusal.text
        return refusal
