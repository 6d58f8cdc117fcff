# SPDX-License-Identifier: Apache-2.0
"""Check of received commands before they reach a joint: names, values, jumps, and age; no ROS.

A command is accepted or refused as a whole, and counted with the reason. No message content makes the check raise or
grow its memory.

Late commands have one of two causes. A clock offset delays all messages by a constant time. A busy machine or network
delays some messages, or several that waited together and therefore differ in age. A clock offset is reported only if
consecutive messages were late for some time with the same delay, or if a message is older than the time since the last
one that was on time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ada_dynamics.clock import SYSTEM_CLOCK
from ada_robot.contract import Command, JointLimit, Mode, Reason, Refusal, Tally
from ada_robot.limits import checked_joints, not_negative, refused_jump, refused_names, refused_number

_FOR = 2.0  # time of consecutive late messages before a clock offset is reported [s]
_LEAST = 3  # minimum number of late messages
_FASTEST = 1000.0  # maximum real-time factor of simulated time
CLOCKS = "Let sender and receiver share a clock (use_sim_time), or leave the stamp zero."


class Lateness:
    """Age statistics of consecutive messages."""

    def __init__(self, clock: Callable[[], float] = SYSTEM_CLOCK) -> None:
        """Args: steady clock [s]."""
        self._clock = clock
        self._in_time_at = -math.inf  # on the steady clock [s]
        self._age = 0.0
        self._forget()

    def _forget(self) -> None:
        self._since, self._count = math.inf, 0
        self._least, self._greatest = math.inf, -math.inf

    def note(self, age: float, limit: float, now: float) -> None:
        """Record the age of a message.

        Args:
            age: age at reception, by its stamp [s].
            limit: maximum age [s].
            now: time of reception on the receiver's clock [s].
        """
        self._age = age
        if age <= limit:
            self._in_time_at = self._clock()
            self._forget()
            return
        if now < self._since:  # first late message, or the clock was set back
            self._forget()
            self._since = now
        self._count += 1
        self._least, self._greatest = min(self._least, age), max(self._greatest, age)

    def advice(self, limit: float, now: float) -> str:
        """Return the diagnosis of the last message, which was late. Arguments as in `note`."""
        lasted, passed = now - self._since, self._clock() - self._in_time_at
        if self._age > limit + _FASTEST * passed:
            return f"A message {passed:.3g} s earlier was on time, so a clock was changed since. {CLOCKS}"
        if self._count >= _LEAST and lasted >= _FOR and self._greatest - self._least <= limit:
            return f"All messages were late by the same time for {lasted:.3g} s, so the clocks differ. {CLOCKS}"
        busy = "the sender, this machine or the network between them was busy"
        if passed < math.inf:
            return f"Other messages were on time, so the clocks agree: {busy}."
        return f"If all messages are late, the clocks differ. {CLOCKS} Otherwise, {busy}."


class AgeRule:
    """Maximum age of stamped commands.

    Attributes:
        max_age: maximum age [s]; 0 for any.
        max_ahead: tolerated lead of the sender's clock [s].
        requires_stamps: whether commands without a stamp are refused.
    """

    def __init__(
        self, max_age: float, max_ahead: float, setting: str, clock: Callable[[], float] = SYSTEM_CLOCK
    ) -> None:
        """Args: see the attributes; name of the setting of `max_age` for messages; steady clock [s]."""
        self.max_age, self.max_ahead, self.requires_stamps = max_age, max_ahead, False
        self._setting, self._lateness = setting, Lateness(clock)

    def refusal(self, stamp: float | None, now: float) -> Refusal | None:
        """Return the refusal of a command made at `stamp` and received at `now`, or None if it is allowed."""
        if stamp is None and self.requires_stamps:
            return Refusal(
                Reason.NO_STAMP,
                "the command has no stamp (header.stamp is zero), so its age is unknown: set it to the time of this "
                "node's clock (ros2 topic pub: 'header: auto'), or allow commands without a stamp "
                "(parameter require_stamps: false).",
            )
        if stamp is None:
            return None
        if not math.isfinite(stamp):
            return Refusal(Reason.NOT_FINITE, f"the stamp is {stamp}; it must be finite, or zero for no stamp.")
        if self.max_age:
            self._lateness.note(now - stamp, self.max_age, now)
        if self.max_age and not stamp >= now - self.max_age:
            return Refusal(
                Reason.OLD,
                f"the command is {now - stamp:.9g} s old; the maximum age is {self.max_age:.9g} s ({self._setting}). "
                f"{self._lateness.advice(self.max_age, now)}",
            )
        if not stamp <= now + self.max_ahead:
            return Refusal(
                Reason.FROM_THE_FUTURE,
                f"the command's stamp is {stamp - now:.9g} s ahead of this clock; the maximum is "
                f"{self.max_ahead:.9g} s. {CLOCKS}",
            )
        return None


class CommandGuard(Tally):
    """Accepts commands that satisfy all rules, and refuses others.

    Example::

        guard = CommandGuard([JointLimit("elbow", -2.0, 2.0, velocity=3.0, effort=50.0)])
        refusal = guard.check(Command(["elbow"], position=[0.4]), now, {"elbow": 0.35})
        if refusal is None: ...                            # the command may be used

    Attributes:
        age_rule: rule for the stamps.
        max_jump: maximum distance of a commanded position from the present one [rad, m]; 0 for any.
    """

    def __init__(
        self,
        joints: Sequence[JointLimit],
        *,
        max_age: float = 0.5,
        max_jump: float = 1.0,
        max_ahead: float = 0.1,
        age_parameter: str = "command_timeout",
        jump_parameter: str = "max_position_jump",
        clock: Callable[[], float] = SYSTEM_CLOCK,
    ) -> None:
        """Set the rules.

        Args:
            joints: all joints of the robot, including passive ones.
            max_age: maximum age of a stamped command [s]; 0 for any.
            max_jump: see the attribute.
            max_ahead: tolerated lead of the sender's clock [s].
            age_parameter: node parameter that sets `max_age`, for messages.
            jump_parameter: node parameter that sets `max_jump`, for messages.
            clock: steady clock [s], used to tell late messages from clock offsets.

        Raises:
            InputError: if joint names are duplicate, limits contradict each other or a bound is negative.
        """
        super().__init__()
        self._joints = checked_joints(joints)
        self.max_jump = not_negative("max_jump", max_jump)
        max_age, max_ahead = not_negative("max_age", max_age), not_negative("max_ahead", max_ahead)
        self.age_rule = AgeRule(max_age, max_ahead, f"parameter {age_parameter}; 0 = any age", clock)
        self._jump_rule = f"parameter {jump_parameter}; 0 = any"

    def check(self, command: Command, now: float, present: Mapping[str, float]) -> Refusal | None:
        """Check a command and count it.

        Args:
            command: received command.
            now: present time on the clock of the stamp [s].
            present: present positions by joint, measured or last commanded. Position commands to joints without a
                finite present position are refused, because their jump is unknown.

        Returns:
            Refusal, or None if the command is accepted.
        """
        names, given = command.names, {mode: np.asarray(values).tolist() for mode, values in command.given().items()}
        refusal = (
            self._bad_shape(names, given)
            or refused_names(names, self._joints)
            or self.age_rule.refusal(command.stamp, now)
            or self._bad_numbers(names, given)
            or self._bad_jump(names, given.get(Mode.POSITION, ()), present)
        )
        return self.count(refusal, now)

    def _bad_shape(self, names: Sequence[str], given: Mapping[Mode, list[float]]) -> Refusal | None:
        for mode, values in given.items():
            if len(values) != len(names):
                return Refusal(
                    Reason.LENGTH,
                    f"{mode.value} has {len(values)} values for {len(names)} names; position, velocity and effort must "
                    f"each be empty or have one value per name. Senders that omit joints without such a command "
                    f"(ros2_control's topic interface) make the assignment ambiguous: use the same command interfaces "
                    f"for all joints of one message.",
                )
        if not given:
            return Refusal(Reason.EMPTY, "the command is empty; give position, velocity or effort.")
        return None

    def _bad_numbers(self, names: Sequence[str], given: Mapping[Mode, list[float]]) -> Refusal | None:
        joints = [self._joints[name] for name in names]
        for mode, values in given.items():
            what = mode.value
            for joint, value in zip(joints, values, strict=True):
                refusal = refused_number(joint, what, value)
                if refusal:
                    return refusal
        return None

    def _bad_jump(self, names: Sequence[str], desired: Sequence[float], present: Mapping[str, float]) -> Refusal | None:
        if not self.max_jump:
            return None
        for name, position in zip(names, desired, strict=False):  # positions may be empty
            refusal = refused_jump(name, position, present.get(name), self.max_jump, self._jump_rule)
            if refusal:
                return refusal
        return None
