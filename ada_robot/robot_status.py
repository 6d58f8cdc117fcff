# SPDX-License-Identifier: Apache-2.0
"""Status of a robot, for programs, diagnostics and people."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ada_robot.driver import Alarm, LinkCounts
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import MANUAL
from ada_robot.timing.periods import PeriodSummary


class Judged(NamedTuple):
    """The commands a robot's cycle has checked, by their creation times on the steady clock [s]; -inf: none.

    Those up to `judged_at` are: the one of `accepted_at` is the newest that is followed, those after it were refused.
    """

    accepted_at: float = -math.inf
    judged_at: float = -math.inf


@dataclass(frozen=True)
class RobotStatus:
    """Status of a robot; at most a tenth of a second old.

    Attributes:
        phase: what it is doing.
        reason: why it is in this phase, in words: "stop: a person fell", "deactivated: no command for 0.5 s".
        is_armed: whether it follows commands while it is ACTIVE; see `arm_within`.
        operating_mode: whose limits hold, "manual" or "automatic".
        tool_speed: greatest of its tool [m/s]; inf: any.
        alarms: what the device says is wrong.
        accepted: commands that were accepted since it was opened.
        refused: commands that were not, by reason.
        last_refusal: words on the newest of them; "" where there is none.
        refused_at: when that was, on the steady clock [s]; 0 where there is none.
        counts: of the wire.
        periods: of the cycle; None before its first.
        missed_cycles: cycles in which the device did not answer.
        late_cycles: cycles that came later than half the device's own watchdog, after which the robot was braked.
        longest_gap: between two exchanges with the device, since it was opened [s].
        command_age: since the last accepted command [s]; inf before the first.
        feedback_age: since the last report of the device [s].
        values: other figures of the device, such as "battery [V]".
        flight_record: the newest file of the flight recorder; "" where there is none.
        place: "process" or "thread".
        notes: what to know about the cycle, such as that it has no real-time priority.
    """

    phase: Phase = Phase.CLOSED
    reason: str = ""
    is_armed: bool = True
    operating_mode: str = MANUAL
    tool_speed: float = math.inf
    alarms: tuple[Alarm, ...] = ()
    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    last_refusal: str = ""
    refused_at: float = 0.0
    counts: LinkCounts = field(default_factory=LinkCounts)
    periods: PeriodSummary | None = None
    missed_cycles: int = 0
    late_cycles: int = 0
    longest_gap: float = 0.0
    command_age: float = float("inf")
    feedback_age: float = float("inf")
    values: Mapping[str, float] = field(default_factory=dict)
    flight_record: str = ""
    place: str = ""
    notes: tuple[str, ...] = ()
