# SPDX-License-Identifier: Apache-2.0
"""Diagnostic status of the plant; no ROS."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ada_dynamics.model.model import Model
from ada_robot.node.plant_loop import NotReadyError, PlantLoop
from ada_robot.ros.period_status import MOST_MISSED, period_values, since
from ada_robot.ros.status import Level, Status

WIDEST_GAP = 1e-6  # tolerance of the closure error [m, rad]


class PhysicsStatus:
    """Status of the physics thread: timing and failures."""

    def __init__(self, loop: PlantLoop) -> None:
        """Args: physics thread."""
        self._loop = loop
        self._before = loop.loop.statistics.summary()
        self._dropped = 0.0

    def __call__(self) -> Status:
        """Return the status."""
        loop = self._loop
        summary = loop.loop.statistics.summary()
        new, self._before = since(self._before, summary), summary
        before, self._dropped = self._dropped, loop.dropped
        dropped = max(self._dropped - before, 0.0)
        values: dict[str, object] = {
            "simulated time [s]": loop.latest.t,
            "steps": loop.latest.step,
            "real-time factor": loop.factor,
            "real-time factor wanted": loop.requested_factor or "as fast as it goes",
            "time dropped since the last report [s]": dropped,
            "periods missed since the last report": max(new.missed, 0),
            **period_values(summary),
            "clock": "monotonic",
        }
        if loop.jumps:
            values["backward jumps of the followed clock"] = loop.jumps
        try:
            failure = loop.plant.failure
        except NotReadyError as problem:
            return Status(Level.WARN, str(problem), values)
        if failure is not None:
            return Status(Level.ERROR, f"the motion has stopped: {failure} Reset it (service ~/reset).", values)
        if loop.loop.failure is not None:
            return Status(Level.ERROR, f"the physics thread has ended: {loop.loop.failure}", values)
        if loop.is_paused:
            return Status(Level.OK, "paused", values)
        if dropped > 0.0:
            text = (
                f"too slow: {dropped:.3g} s dropped since the last report, real-time factor {loop.factor:.3g}; lower "
                "physics_rate, or real_time_factor to what the machine can do"
            )
            return Status(Level.WARN, text, values)
        if new.missed > MOST_MISSED * max(new.count, 1):
            return Status(Level.WARN, f"{new.missed} periods missed since the last report, and made up for", values)
        return Status(Level.OK, "in time", values)


def loop_status(model: Model, loop: PlantLoop) -> Callable[[], Status]:
    """Return a function for the diagnostic status of loop closure."""
    names = model.loop_names

    def report() -> Status:
        if not loop.is_ready:
            return Status(Level.OK, "the physics does not run yet", {"loops": ", ".join(names)})
        dynamics = loop.plant.dynamics
        gap = float(np.max(dynamics.constraints.closure_error(loop.latest.q)))
        values = {"largest gap [m, rad]": gap, "loops": ", ".join(names)}
        if gap > WIDEST_GAP:
            return Status(Level.ERROR, f"a loop has a closure error of {gap:.3g} [m, rad]", values)
        return Status(Level.OK, "all loops are closed", values)

    return report
