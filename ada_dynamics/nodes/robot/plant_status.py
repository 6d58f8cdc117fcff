# SPDX-License-Identifier: Apache-2.0
"""What the dynamics node reports of its plant in /diagnostics; no ROS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ada_dynamics.nodes.kit.periods import PeriodSummary
from ada_dynamics.nodes.kit.status import Level, Status
from ada_dynamics.nodes.robot.plant_loop import PlantLoop

MOST_MISSED = 1e-3  # share of the periods in one report that may be late before it is said
WIDEST_GAP = 1e-6  # [m, rad] of a loop
_MS = 1e3


class PhysicsStatus:
    """How well the physics keeps time, and whether it can go on."""

    def __init__(self, loop: PlantLoop) -> None:
        """Args: the physics."""
        self._loop = loop
        self._before = loop.loop.statistics.summary()

    def __call__(self) -> Status:
        """The report."""
        loop = self._loop
        summary = loop.loop.statistics.summary()
        new, self._before = _since(self._before, summary), summary
        values: dict[str, object] = {
            "simulated time [s]": loop.latest.t,
            "steps": loop.latest.step,
            "real-time factor": loop.factor,
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
            "clock": "monotonic",
        }
        if loop.jumps:
            values["backward jumps of the followed clock"] = loop.jumps
        failure = loop.plant.failure
        if failure is not None:
            return Status(Level.ERROR, f"the motion has stopped: {failure} Reset it (service ~/reset).", values)
        if loop.loop.failure is not None:
            return Status(Level.ERROR, f"the physics thread has ended: {loop.loop.failure}", values)
        if loop.is_paused:
            return Status(Level.OK, "paused", values)
        if new.slipped_s > 0.0:
            return Status(Level.WARN, f"too slow: {new.slipped_s:.3g} s given up since the last report", values)
        if new.missed > MOST_MISSED * max(new.count, 1):
            return Status(Level.WARN, f"{new.missed} periods missed since the last report, and made up for", values)
        return Status(Level.OK, "in time", values)


def _since(before: PeriodSummary, after: PeriodSummary) -> PeriodSummary:
    """Counts of a summary since an earlier one."""
    return replace(
        after,
        count=after.count - before.count,
        missed=after.missed - before.missed,
        slipped_s=after.slipped_s - before.slipped_s,
    )


def loop_status(loop: PlantLoop) -> Callable[[], Status]:
    """How well a mechanism's loops are closed."""
    dynamics, names = loop.plant.dynamics, loop.plant.model.loop_names

    def report() -> Status:
        gap = float(np.max(dynamics.largest_gap(loop.latest.q)))
        values = {"largest gap [m, rad]": gap, "loops": ", ".join(names)}
        if gap > WIDEST_GAP:
            return Status(Level.ERROR, f"a loop is open by {gap:.3g} [m, rad]", values)
        return Status(Level.OK, "all loops are closed", values)

    return report
