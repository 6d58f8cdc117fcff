# SPDX-License-Identifier: Apache-2.0
"""Diagnostic status of the controller node; no ROS."""

from __future__ import annotations

import time

from ada_controllers.node.control_thread import ControlThread
from ada_robot.ros.status import MOST_MISSED, Level, Status, period_values, since


def control_status(thread: ControlThread) -> Status:
    """Return the status of the running controller and its inputs."""
    control, inputs = thread.control, thread.inputs
    controller, latest, now = control.controller, control.latest, time.monotonic()
    values: dict[str, object] = {
        "controller": controller.NAME,
        "commands": controller.KIND,
        "joints": ", ".join(controller.joints),
        "active": control.is_active,
        "state from": inputs.topic,
        "references": " or ".join(kind.__name__ for kind in controller.REFERENCES) or "none",
        "follows": type(control.target).__name__ if control.target is not None else "",
        "commands that were cut to limits": controller.saturations,
        "cut in the last command": ", ".join(controller.saturated),
        "begun anew where the robot was": control.restarts,
        "begun last because": control.begun_because,
    }
    if latest is not None:
        values["newest state came [s ago]"] = control.age(now)
        values["its age by its stamp [ms]"] = 1e3 * latest.age
        values["measured wrench"] = latest.state.wrench is not None
    values.update({f"refused: {reason}": count for reason, count in sorted(dict(control.refused).items())})
    if control.last_refusal:
        values["last refusal"] = control.last_refusal
    if control.reason:
        values["not active because"] = control.reason
    if thread.loop.failure is not None:
        return Status(Level.ERROR, f"the control thread has ended: {thread.loop.failure}", values)
    if not control.is_active:
        asked = control.reason in ("asked for", "not activated yet")
        return Status(Level.OK if asked else Level.ERROR, f"not active: {control.reason}", values)
    if control.age(now) > control.settings.state_timeout:
        return Status(Level.WARN, f"{controller.NAME} waits for a state, {control.age(now):.3g} s so far", values)
    if control.waits:
        level = Level.WARN if control.is_silent else Level.OK
        said = "no commands" if control.is_silent else "it is commanded to stay"
        return Status(level, f"{controller.NAME} waits: {control.waits} ({said})", values)
    if controller.saturated:
        return Status(
            Level.WARN, f"{controller.NAME} is cut to the limits of {', '.join(controller.saturated)}", values
        )
    if control.refused:
        return Status(Level.WARN, f"{controller.NAME} is active; something was refused", values)
    return Status(Level.OK, f"{controller.NAME} is active", values)


class ControlPeriods:
    """Timing status of the control thread."""

    def __init__(self, thread: ControlThread) -> None:
        """Args: control thread."""
        self._loop = thread.loop
        self._before = self._loop.statistics.summary()

    def __call__(self) -> Status:
        """Return the status."""
        summary = self._loop.statistics.summary()
        new, self._before = since(self._before, summary), summary
        values = period_values(summary)
        if new.slipped_s > 0.0:
            return Status(Level.WARN, f"too slow: {new.slipped_s:.3g} s given up since the last report", values)
        if new.missed > MOST_MISSED * max(new.count, 1):
            return Status(Level.WARN, f"{new.missed} periods missed since the last report", values)
        return Status(Level.OK, "in time", values)
