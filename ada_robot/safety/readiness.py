# SPDX-License-Identifier: Apache-2.0
"""Checks before the activation of a robot."""

from __future__ import annotations

import numpy as np

from ada_robot.driver import Feedback, alarm_error, in_words
from ada_robot.errors import Refused
from ada_robot.safety.measured_state import MeasuredState
from ada_robot.safety.state_monitor import StateMonitor

_NAMED = 8  # joint names listed in a message


def require_ready(
    feedback: Feedback, measured: MeasuredState, monitor: StateMonitor, pose_since: float, problem: str
) -> None:
    """Raise if a robot is not ready for activation.

    Args:
        feedback: latest feedback.
        measured: latest known joint state.
        monitor: limits and standstill threshold.
        pose_since: earliest allowed time of the last complete feedback [s].
        problem: description of the latest connection problem.

    Raises:
        DeviceAlarm: if the device has an alarm or a hindrance.
        Refused: if the configuration is unknown or outside a limit, or the robot moves.
    """
    if feedback.alarms:
        text = f"robot not activated: {in_words(feedback.alarms)}. Reset it first."
        raise alarm_error(text, feedback.alarms)
    if feedback.hindrances:
        text = f"robot not activated: {in_words(feedback.hindrances)}."
        raise alarm_error(text, feedback.hindrances)
    if not measured.at >= pose_since:
        unknown = [monitor.names[i] for i in np.flatnonzero(~np.isfinite(feedback.position))[:_NAMED].tolist()]
        raise Refused(
            f"robot not activated: no recent joint positions"
            f"{' of ' + ', '.join(unknown) if unknown else ''}; check that the cycle runs, and check cable "
            f"and power. {problem}".rstrip(),
            joint=unknown[0] if unknown else None,
            field="position",
            value=tuple(unknown),
        )
    trouble = monitor.out_of_limits(measured.position)
    if trouble:
        text = f"robot not activated: {trouble}. Move it inside by hand, or widen the limits."
        raise Refused(text, field="limits", value=trouble)
    trouble = monitor.moving(measured.speed)
    if trouble:
        raise Refused(f"robot not activated: {trouble}. Wait until it is at rest.", field="speed", value=trouble)
