# SPDX-License-Identifier: Apache-2.0
"""Timing statistics as diagnostic values; no ROS."""

from __future__ import annotations

from dataclasses import replace

from ada_robot.timing.periods import PeriodSummary

MOST_MISSED = 1e-3  # share of missed periods in one report that causes a warning
_MS = 1e3


def period_values(summary: PeriodSummary) -> dict[str, object]:
    """Return the statistics by name."""
    return {
        "wake-ups": summary.count,
        "missed periods": summary.missed,
        "time given up [s]": summary.slipped_s,
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
