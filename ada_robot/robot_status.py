# SPDX-License-Identifier: Apache-2.0
"""Robot status for programs and diagnostics."""

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
    """Creation times of the latest commands checked by the cycle, on the steady clock [s]; -inf for none.

    All commands made up to `judged_at` are checked. The one made at `accepted_at` is in force; later ones were refused.
    """

    accepted_at: float = -math.inf
    judged_at: float = -math.inf


@dataclass(frozen=True)
class RobotStatus:
    """Status of a robot, at most 0.1 s old.

    Attributes:
        phase: present phase.
        reason: reason of the phase, such as "stop: a person fell" or "deactivated: no command for 0.5 s".
        is_armed: whether commands are accepted in phase ACTIVE, see `arm_within`.
        operating_mode: "manual" or "automatic"; selects the limits.
        tool_speed: tool speed limit [m/s]; inf for none.
        alarms: active alarms of the device.
        accepted: number of accepted commands since `open`.
        refused: number of refused commands by reason.
        last_refusal: message of the latest refusal; "" for none.
        refused_at: time of the latest refusal on the steady clock [s]; 0 for none.
        counts: frame counters.
        periods: statistics of the cycle time; None before the first.
        missed_cycles: cycles without a reply of the device.
        late_cycles: cycles later than half the watchdog timeout of the device, after which the robot was slowed down.
        longest_gap: longest time between two exchanges since `open` [s].
        command_age: time since the last accepted command [s]; inf before the first.
        feedback_age: time since the last reply of the device [s].
        values: further quantities of the device, such as "battery [V]".
        flight_record: path of the latest flight record; "" for none.
        place: "process" or "thread".
        notes: remarks on the cycle process, such as missing real-time priority.
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
