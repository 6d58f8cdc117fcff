# SPDX-License-Identifier: Apache-2.0
"""Status of one part of a node (published by diagnostics.py), timing statistics in it, and responses; no ROS."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.errors import AdaError
from ada_robot.timing.periods import PeriodSummary

MOST_MISSED = 1e-3  # share of missed periods in one report that causes a warning
_MS = 1e3


class Level(enum.IntEnum):
    """Levels of diagnostic_msgs/DiagnosticStatus, in order of severity."""

    OK = 0
    WARN = 1
    ERROR = 2
    STALE = 3


class Status(NamedTuple):
    """Diagnostic status."""

    level: Level  # severity
    message: str  # one short sentence
    values: Mapping[str, object] = MappingProxyType({})  # values by name with unit, such as "period p99 [ms]"


def value_text(value: object) -> str:
    """Format a diagnostic value: six digits, "true" and "false"."""
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, Real) and not isinstance(value, Integral):
        return f"{float(value):.6g}"
    return str(value)


def answered(answer: Any, act: Callable[[], str]) -> Any:
    """Fill a std_srvs response with the result of `act`, or with its error."""
    try:
        answer.message, answer.success = act(), True
    except AdaError as problem:
        answer.message, answer.success = str(problem), False
    return answer


def period_values(summary: PeriodSummary) -> dict[str, object]:
    """Return the statistics by name."""
    return {
        "wake-ups": summary.count,
        "missed periods": summary.missed,
        "skipped time [s]": summary.slipped_s,
        "period p50 [ms]": summary.period_p50 * _MS,
        "period p99 [ms]": summary.period_p99 * _MS,
        "period p99.9 [ms]": summary.period_p999 * _MS,
        "period max [ms]": summary.period_max * _MS,
        "late p50 [ms]": summary.late_p50 * _MS,
        "late p99 [ms]": summary.late_p99 * _MS,
        "late p99.9 [ms]": summary.late_p999 * _MS,
        "late max [ms]": summary.late_max * _MS,
        "measured over [s]": summary.since_s,
    }


def since(before: PeriodSummary, after: PeriodSummary) -> PeriodSummary:
    """Return a summary with counts since an earlier one."""
    return replace(
        after,
        count=after.count - before.count,
        missed=after.missed - before.missed,
        slipped_s=after.slipped_s - before.slipped_s,
    )
