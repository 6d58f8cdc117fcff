# SPDX-License-Identifier: Apache-2.0
"""Joint limits of a robot as arrays, narrowed by the user's settings, and the check of demands by them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_robot.contract import Demand, JointLimit, Mode, Reason, Refusal, Tally
from ada_robot.limits import ROUNDING, Limits, refused_age, refused_jump
from ada_robot.safety.settings import SafetySettings
from ada_robot.safety.tool_rules import Tool, ToolRules

AHEAD = 0.01  # tolerance of stamps in the future [s]; both ends read the same clock
RAMP_TIME = 0.1  # default time from the velocity limit to rest [s]
# Default time from zero effort to the effort limit [s], equal to that of velocities. Torque-controlled arms allow more
# (libfranka: 1000 N m/s for joints of 87 and 12 N m, 0.09 and 0.01 s). PA-10 and HEXA have no documented value; the
# torque step of a faulty program should be slow enough to be noticed.
EFFORT_TIME = 0.1
FOLLOWING_TIME = 0.2  # default following error, as time at the velocity limit [s]


class JointRules(Limits):
    """Rules for the demands to a robot; arrays hold one value per joint.

    Attributes:
        limits: limits per joint: positions, scaled velocities and efforts.
        tool: limits of the tool point.
        effort_rate: maximum effort rates [N m/s, N/s].
        acceleration: maximum accelerations of demands [rad/s^2, m/s^2].
        deceleration: decelerations of ramps to rest.
        longest_ramp: longest ramp from a velocity limit to rest [s].
        step: maximum distance of a commanded position from the demanded one [rad, m].
        following: maximum distance of the measured position from the demanded one.
    """

    def __init__(self, device: Sequence[JointLimit], settings: SafetySettings, tool: Tool | None = None) -> None:
        """Narrow the limits of the device.

        Args:
            device: limits of the device.
            settings: limits of the user.
            tool: tool point; None if unknown.

        Raises:
            InputError: if a list has the wrong length, or a limit is wider than that of the device or leaves no range.
        """
        _check(device)
        self.tool = ToolRules(tool, settings)
        self.names = tuple(joint.name for joint in device)
        self.lower = self._narrowed(settings.position_lower, "position_lower", [j.lower for j in device], is_least=True)
        self.upper = self._narrowed(settings.position_upper, "position_upper", [j.upper for j in device])
        fastest = self._narrowed(settings.velocity, "velocity", [j.velocity for j in device])
        self.velocity = fastest * settings.velocity_share
        self.effort = self._narrowed(settings.effort, "effort", [j.effort for j in device])
        rates = self._narrowed(settings.max_effort_rate, "max_effort_rate", [math.inf] * len(device))
        self.effort_rate = rates if settings.max_effort_rate else self.effort / EFFORT_TIME
        for name, lower, upper in zip(self.names, self.lower, self.upper, strict=True):
            if not lower < upper:
                text = f"joint {name!r}: position_lower {lower:g} is not below position_upper {upper:g}; widen it."
                raise InputError(text, joint=name, field="position_lower", value=lower, allowed=upper)
        count = len(self.names)
        fastest = self.velocity / RAMP_TIME
        self.acceleration = np.full(count, settings.max_acceleration) if settings.max_acceleration else fastest
        self.deceleration = np.full(count, settings.max_deceleration) if settings.max_deceleration else fastest
        ramps = np.nan_to_num(self.velocity / np.where(self.deceleration > 0.0, self.deceleration, np.inf))
        self.longest_ramp = float(ramps.max(initial=0.0))
        far = self.velocity * settings.command_timeout
        self.step = np.full(count, settings.max_step) if settings.max_step else far
        error = settings.max_following_error
        self.following = np.full(count, error) if error else self.velocity * FOLLOWING_TIME
        bounds = self.lower.tolist(), self.upper.tolist(), self.velocity.tolist(), self.effort.tolist()
        rows = zip(device, *bounds, strict=True)
        self.limits = tuple(
            JointLimit(joint.name, lower, upper, velocity, effort, joint.has_motor)
            for joint, lower, upper, velocity, effort in rows
        )

    def _narrowed(self, desired: Sequence[float], setting: str, device: list[float], is_least: bool = False) -> Array:
        can = np.array(device, dtype=np.float64)
        if not desired:
            return can
        if len(desired) != len(device):
            text = (
                f"{setting} has {len(desired)} values for the {len(device)} joints {', '.join(self.names)}; give one "
                f"for each, in this order, or none for the default {_list(device)}."
            )
            raise InputError(text, field=setting, value=len(desired), allowed=len(device))
        for name, ask, has in zip(self.names, desired, device, strict=True):
            if ask < has if is_least else ask > has:
                text = (
                    f"joint {name!r}: {setting} {ask:g} is wider than the device limit {has:g}; narrow it to "
                    f"{has:g} or {'more' if is_least else 'less'}. Device limits: {_list(device)}."
                )
                raise InputError(text, joint=name, field=setting, value=ask, allowed=has)
        return np.array(desired, dtype=np.float64)


def _check(joints: Sequence[JointLimit]) -> None:
    """Refuse duplicate joints and contradictory limits of a driver."""
    names = [joint.name for joint in joints]
    for joint in joints:
        if names.count(joint.name) > 1:
            text = f"joints: duplicate joint {joint.name!r}; list each joint once."
            raise InputError(text, field="joints", joint=joint.name)
        if not joint.lower <= joint.upper:
            text = f"joints: lower limit {joint.lower} of {joint.name!r} exceeds upper limit {joint.upper}; swap them."
            raise InputError(text, field="limits", joint=joint.name, value=(joint.lower, joint.upper))
        for what, value in (("velocity", joint.velocity), ("effort", joint.effort)):
            if not value >= 0.0:
                text = f"joints: {what} limit of {joint.name!r} is {value!r}; it must not be negative."
                raise InputError(text, joint=joint.name, field=what, value=value)


def _list(numbers: Sequence[float]) -> str:
    return "[" + ", ".join(f"{number:g}" for number in numbers) + "]"


class DemandGuard(Tally):
    """Checks demands against the joint rules: each is accepted or refused as a whole, never clipped, and counted."""

    def __init__(self, rules: JointRules, modes: Iterable[Mode], max_age: float) -> None:
        """Set joint rules, modes of the driver, and the maximum age of a demand [s]."""
        super().__init__()
        self._rules, self._modes, self._max_age = rules, frozenset(modes), max_age

    def judge(self, demand: Demand, now: float, demanded: Array, measured: Array | None = None) -> Refusal | None:
        """Check a demand and count it.

        Args:
            demand: received demand.
            now: present time on the clock of its stamp [s].
            demanded: present demanded or measured positions, from which position jumps are measured.
            measured: measured positions; None if equal to `demanded`.

        Returns:
            Refusal, or None if the demand is accepted.
        """
        where = (demanded,) if measured is None else (demanded, measured)
        refusal = (
            self._numbers(demand, *where)
            or refused_age(demand.stamp, now, self._max_age, AHEAD, "command_timeout")
            or self._jump(demand, demanded)
        )
        return self.count(refusal, now)

    def _numbers(self, demand: Demand, *where: Array) -> Refusal | None:
        if demand.mode not in self._modes:
            known = ", ".join(sorted(mode.value for mode in self._modes))
            text = f"the robot has no mode {getattr(demand.mode, 'value', demand.mode)}; its modes are {known}."
            return Refusal(Reason.NO_MODE, text)
        return self._rules.refusal(demand.mode, demand.values, *where)

    def _jump(self, demand: Demand, demanded: Array) -> Refusal | None:
        if demand.mode is not Mode.POSITION:
            return None
        step = self._rules.step
        near = np.abs(demand.values - demanded) <= step + ROUNDING
        if near.all():
            return None
        i = int(np.argmin(near))
        desired, present = float(demand.values[i]), float(demanded[i])
        return refused_jump(self._rules.names[i], desired, present, float(step[i]), "max_step")
