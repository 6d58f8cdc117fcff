# SPDX-License-Identifier: Apache-2.0
"""Measured state of a robot and its monitoring: limits, velocities, following errors, readiness for activation."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_robot.contract import Demand, Mode
from ada_robot.driver import Feedback, alarm_error, in_words
from ada_robot.errors import Refused
from ada_robot.safety.demand_shaper import Braking
from ada_robot.safety.joint_rules import JointRules
from ada_robot.safety.settings import SafetySettings
from ada_robot.safety.tool_rules import ToolMonitor

SMOOTHED = 0.5  # time constant of velocities estimated from positions of coarse sensors [s]
# Velocity demands are not followed exactly: a joint may lag by this share of the demanded distance, plus the distance
# at this share of its velocity limit. A joint that lags more counts as blocked.
SLACK, CREEP = 0.25, 0.005
_NAMED = 8  # joint names listed in a message


class MeasuredState:
    """Latest known joint state.

    Attributes:
        position: joint positions; NaN before the first complete feedback [rad, m].
        velocity: reported velocities; NaN where not reported [rad/s, m/s].
        speed: reported velocities, or estimates from positions where not reported.
        effort: reported efforts; NaN where not reported [N m, N].
        at: time of the feedback on the clock of the cycle [s]; -inf before the first.
    """

    def __init__(self, joints: int) -> None:
        """Start with an unknown state. Args: number of joints."""
        self.position = self.velocity = self.effort = np.full(joints, math.nan)
        self.speed = np.zeros(joints)
        self.at = -math.inf

    def take(self, feedback: Feedback, now: float) -> bool:
        """Store a feedback.

        Returns:
            True if it is fresh and contains the positions of all joints.
        """
        if not feedback.is_fresh or not np.isfinite(feedback.position).all():
            return False
        known = np.isfinite(feedback.velocity)
        if known.all():
            self.speed = feedback.velocity
        else:
            passed = now - self.at
            estimated = np.zeros(len(known))
            if 0.0 < passed < math.inf:
                before = np.where(np.isfinite(self.speed), self.speed, 0.0)
                share = min(1.0, passed / SMOOTHED)
                estimated = before + share * ((feedback.position - self.position) / passed - before)
            self.speed = np.where(known, feedback.velocity, estimated)
        self.position, self.velocity, self.effort = feedback.position, feedback.velocity, feedback.effort
        self.at = now
        return True


class StateMonitor:
    """Checks a measured state and describes violations. Unreported values (NaN) are ignored.

    Attributes:
        names: joint names.
    """

    def __init__(self, rules: JointRules, settings: SafetySettings, period: float) -> None:
        """Set joint rules, settings with the margins, and cycle time [s]."""
        self._rules, self._settings, self._period = rules, settings, period
        self.names = rules.names
        self._tool = ToolMonitor(rules.tool, rules.longest_ramp + settings.drive_lag)
        self._lower, self._upper = rules.lower - settings.position_margin, rules.upper + settings.position_margin
        # tolerance for the sensor noise of locked joints
        self._fastest = rules.velocity * (1.0 + settings.velocity_margin) + settings.standstill
        self._braking = Braking(rules.deceleration, period)
        self._creep = CREEP * rules.velocity
        self.begin()

    def begin(self) -> None:
        """Reset the expected positions, at a change of mode or the start of a motion."""
        self._expected: Array | None = None
        self._forgiven = self._demanded = self._before = np.zeros(len(self.names))
        self._since = math.nan

    def expect(self, now: float, demand: Demand) -> None:
        """Record a demand that is sent, with or without a reply."""
        if demand.mode is not Mode.VELOCITY:
            return
        if self._expected is not None:
            passed = now - self._since
            self._expected = self._expected + self._demanded * passed
            self._forgiven = self._forgiven + (SLACK * np.abs(self._demanded) + self._creep) * passed
        self._demanded, self._since = demand.values, now

    def trouble(self, mode: Mode, demanded: Array, feedback: Feedback) -> str:
        """Return a description of the first violation, or "".

        Args:
            mode: mode of the demand.
            demanded: demanded values.
            feedback: fresh feedback.
        """
        return (
            self.out_of_limits(feedback.position)
            or self._too_fast(feedback.velocity)
            or self._tool.broken(feedback.time, feedback.position)
            or self._not_following(mode, demanded, feedback.position)
            or (self._cannot_stop(feedback) if mode is Mode.EFFORT else "")
        )

    def moving(self, velocity: Array) -> str:
        """Describe a joint that moves; "" if none does."""
        standstill = self._settings.standstill
        return self._first(
            np.abs(velocity) > standstill,
            lambda i: f"moves at {velocity[i]:.4g}; the standstill threshold is {standstill:g} (standstill)",
        )

    def out_of_limits(self, position: Array) -> str:
        """Describe a joint outside its limits by more than the margin; "" if none is."""
        rules, margin = self._rules, self._settings.position_margin
        return self._first(
            (position < self._lower) | (position > self._upper),
            lambda i: (
                f"is at {position[i]:.6g}, outside of [{rules.lower[i]:.6g}, {rules.upper[i]:.6g}] by more than "
                f"{margin:g} (position_margin)"
            ),
        )

    def _too_fast(self, velocity: Array) -> str:
        return self._first(
            np.abs(velocity) > self._fastest,
            lambda i: (
                f"moves at {velocity[i]:.4g}; its limit is {self._rules.velocity[i]:.4g}, with velocity_margin "
                f"{self._fastest[i]:.4g}"
            ),
        )

    def _not_following(self, mode: Mode, demanded: Array, position: Array) -> str:
        if mode is Mode.EFFORT:
            return ""
        if mode is Mode.POSITION:
            expected = demanded
        else:
            expected = self._expected if self._expected is not None else position
            behind = expected - position
            behind = np.sign(behind) * np.maximum(np.abs(behind) - self._forgiven, 0.0)
            expected = np.where(np.isfinite(behind), position + behind, position)
            self._expected, self._forgiven = expected, np.zeros(len(position))
        following = self._rules.following
        return self._first(
            np.abs(position - expected) > following,
            lambda i: (
                f"does not follow: measured {position[i]:.6g}, expected {expected[i]:.6g}; the maximum error is "
                f"{following[i]:.4g} (max_following_error). It may be blocked"
            ),
        )

    def _cannot_stop(self, feedback: Feedback) -> str:
        """Describe a joint about to become too fast to stop before its limit: EFFORT demands do not brake."""
        rules, position = self._rules, feedback.position
        velocity = np.nan_to_num(feedback.velocity, nan=0.0)
        gained = np.maximum(np.abs(velocity) - np.abs(self._before), 0.0)
        self._before = velocity
        # a ramp starts in the next cycle; one cycle later, the speed would be higher by `gained`
        fastest = np.abs(velocity) + gained
        ahead = np.where(velocity > 0.0, rules.upper - position, position - rules.lower)
        room = ahead - fastest * (self._settings.drive_lag + 2.0 * self._period) - gained * self._period
        late = (fastest > self._braking.speed(room)) & (np.abs(velocity) > self._settings.standstill)
        return self._first(
            late & np.isfinite(position),
            lambda i: (
                f"moves at {velocity[i]:.4g} towards its limit at a distance of {ahead[i]:.4g}; later it could "
                f"not be stopped before the limit"
            ),
        )

    def _first(self, wrong: NDArray[np.bool_], text: Callable[[int], str]) -> str:
        """Describe the first joint that violates a rule; "" if none does."""
        if not wrong.any():
            return ""
        i = int(np.argmax(wrong))
        return f"joint {self.names[i]!r} {text(i)}"


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
