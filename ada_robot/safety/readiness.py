# SPDX-License-Identifier: Apache-2.0
"""Judges whether a robot may be activated."""

from __future__ import annotations

import numpy as np

from ada_robot.driver import Feedback, alarm_error, in_words
from ada_robot.errors import Refused
from ada_robot.safety.measured import Measured
from ada_robot.safety.state_watch import StateWatch

_NAMED = 8  # joints that a text names


def require_ready(feedback: Feedback, measured: Measured, watch: StateWatch, pose_since: float, problem: str) -> None:
    """Refuse to start a robot that is not ready.

    Args:
        feedback: the newest.
        measured: what is known of the joints.
        watch: limits, and what counts as standing still.
        pose_since: time since which the pose must have been reported [s].
        problem: words on the newest trouble of the wire.

    Raises:
        DeviceAlarm: there is an alarm, or the device says what keeps it from moving.
        Refused: the pose is not known, beyond a limit, or changes.
    """
    if feedback.alarms:
        text = f"the robot is not activated: {in_words(feedback.alarms)}. Reset it first."
        raise alarm_error(text, feedback.alarms)
    if feedback.hindrances:
        text = f"the robot is not activated: {in_words(feedback.hindrances)}."
        raise alarm_error(text, feedback.hindrances)
    if not measured.at >= pose_since:
        unknown = [watch.names[i] for i in np.flatnonzero(~np.isfinite(feedback.position))[:_NAMED].tolist()]
        raise Refused(
            f"the robot is not activated: its pose was not reported lately"
            f"{' (nothing of ' + ', '.join(unknown) + ')' if unknown else ''}; let its cycles run, and look at wire "
            f"and power. {problem}".rstrip(),
            joint=unknown[0] if unknown else None,
            field="position",
            value=tuple(unknown),
        )
    trouble = watch.out_of_limits(measured.position)
    if trouble:
        text = f"the robot is not activated: {trouble}. Move it inside by hand, or widen the limits."
        raise Refused(text, field="limits", value=trouble)
    trouble = watch.moving(measured.speed)
    if trouble:
        raise Refused(f"the robot is not activated: {trouble}. Wait until it rests.", field="speed", value=trouble)
