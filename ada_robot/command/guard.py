# SPDX-License-Identifier: Apache-2.0
"""The guard that every command passes before a joint may see it, and how old commands are; no ROS.

A message is taken as a whole or refused as a whole, with the reason counted. Nothing that a message can hold makes the
guard raise, and what it keeps does not grow.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ada_robot.command.lateness import CLOCKS, Lateness
from ada_robot.command.rules import (
    JointLimit,
    Reason,
    Refusal,
    checked_joints,
    not_negative,
    refused_jump,
    refused_names,
    refused_number,
)

__all__ = ["Command", "CommandGuard", "JointLimit", "Reason", "Refusal", "Staleness", "Tally", "stamp_seconds"]


class Command(NamedTuple):
    """What joints are told: position, velocity and effort are empty, or one number for each name.

    Attributes:
        names: of the joints.
        position: wanted [rad, m].
        velocity: wanted [rad/s, m/s].
        effort: wanted [N m, N].
        stamp: when it was made [s]; None where it does not say.
    """

    names: Sequence[str]
    position: Sequence[float] = ()
    velocity: Sequence[float] = ()
    effort: Sequence[float] = ()
    stamp: float | None = None


def stamp_seconds(sec: int, nanosec: int) -> float | None:
    """A message's stamp [s]; None for zero, by which a message says that it has none."""
    return sec + 1e-9 * nanosec if sec or nanosec else None


class Tally:
    """What was taken and what was refused; as large after a day as after a second.

    Attributes:
        accepted: messages taken.
        refused: messages refused, by reason.
        last_refusal: the newest.
        last_accepted_at: time of the newest message taken [s].
    """

    def __init__(self) -> None:
        self.accepted = 0
        self.refused: Counter[Reason] = Counter()
        self.last_refusal: Refusal | None = None
        self.last_accepted_at: float | None = None

    def count(self, refusal: Refusal | None, now: float) -> Refusal | None:
        """Count a message, refused or (None) taken, and hand that back."""
        if refusal is None:
            self.accepted += 1
            self.last_accepted_at = now
        else:
            self.refused[refusal.reason] += 1
            self.last_refusal = refusal
        return refusal


class CommandGuard(Tally):
    """Takes commands that keep every rule, and refuses the others.

    Example::

        guard = CommandGuard([JointLimit("elbow", -2.0, 2.0, velocity=3.0, effort=50.0)])
        refusal = guard.check(Command(["elbow"], position=[0.4]), now, {"elbow": 0.35})
        if refusal is None: ...                            # only now may a joint see the command

    Attributes:
        max_age: of a stamped command [s]; 0 takes any age.
        max_jump: farthest that a commanded position may be from the present one [rad, m]; 0 takes any.
        max_ahead: how far the sender's clock may be ahead [s].
        requires_stamps: whether a command must say when it was made.
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
    ) -> None:
        """Set the rules.

        Args:
            joints: all joints of the robot, those without a motor too.
            max_age: see above.
            max_jump: see above.
            max_ahead: see above.
            age_parameter: the node's parameter that sets `max_age`, for texts.
            jump_parameter: that of `max_jump`.

        Raises:
            InputError: joints of one name, limits that cannot be met, a negative bound.
        """
        super().__init__()
        self._joints = checked_joints(joints)
        self.max_age = not_negative("max_age", max_age)
        self.max_jump = not_negative("max_jump", max_jump)
        self.max_ahead = not_negative("max_ahead", max_ahead)
        self.requires_stamps = False
        self._age_parameter, self._jump_parameter = age_parameter, jump_parameter
        self._lateness = Lateness()

    def check(self, command: Command, now: float, present: Mapping[str, float]) -> Refusal | None:
        """Judge a command, and count it.

        Args:
            command: as it came.
            now: on the clock of its stamp [s].
            present: positions, measured or commanded last, by joint. A position command for a joint that is not
                among them, or is not finite, is refused, for its jump cannot be known.

        Returns:
            None for a command that may be used; else why not.
        """
        refusal = (
            self._bad_shape(command)
            or refused_names(command.names, self._joints)
            or self._bad_stamp(command.stamp, now)
            or self._bad_numbers(command)
            or self._bad_jump(command, present)
        )
        return self.count(refusal, now)

    def clock_jumped(self, now: float) -> None:
        """Take note that the clock went back, so that no age is counted from a time to come."""
        if self.last_accepted_at is not None:
            self.last_accepted_at = min(self.last_accepted_at, now)

    def _bad_shape(self, command: Command) -> Refusal | None:
        arrays = (("position", command.position), ("velocity", command.velocity), ("effort", command.effort))
        wanted = len(command.names)
        for what, values in arrays:
            if len(values) not in (0, wanted):
                return Refusal(
                    Reason.LENGTH,
                    f"{what} has {len(values)} numbers for {wanted} names; each of position, velocity and effort is "
                    f"empty or has one number per name. A sender that leaves out joints which have no such command "
                    f"(ros2_control's topic interface does) says no more whose number is whose: give all joints of one "
                    f"message the same command interfaces.",
                )
        if not any(len(values) for _, values in arrays):
            return Refusal(Reason.EMPTY, "the command holds no number; give position, velocity or effort.")
        return None

    def _bad_stamp(self, stamp: float | None, now: float) -> Refusal | None:
        if stamp is None and self.requires_stamps:
            return Refusal(
                Reason.NO_STAMP,
                "the command does not say when it was made (header.stamp is zero), so nobody knows how old it is: give "
                "it the time of this node's clock (ros2 topic pub: 'header: auto'), or allow commands without a stamp "
                "(parameter require_stamps: false).",
            )
        if stamp is None:
            return None
        if not math.isfinite(stamp):
            return Refusal(Reason.NOT_FINITE, f"the stamp is {stamp}; it must be finite, or zero for none.")
        if self.max_age:
            self._lateness.note(now - stamp, self.max_age, now)
        if self.max_age and not stamp >= now - self.max_age:
            return Refusal(
                Reason.OLD,
                f"the command is {now - stamp:.9g} s old; at most {self.max_age:.9g} s are allowed (parameter "
                f"{self._age_parameter}; 0 = any age). {self._lateness.advice(self.max_age, now)}",
            )
        if not stamp <= now + self.max_ahead:
            return Refusal(
                Reason.FROM_THE_FUTURE,
                f"the command's stamp is {stamp - now:.9g} s ahead of this clock; at most {self.max_ahead:.9g} s are "
                f"allowed. {CLOCKS}",
            )
        return None

    def _bad_numbers(self, command: Command) -> Refusal | None:
        joints = [self._joints[name] for name in command.names]
        for what, values in (
            ("position", command.position),
            ("velocity", command.velocity),
            ("effort", command.effort),
        ):
            for joint, value in zip(joints, values, strict=bool(len(values))):
                refusal = refused_number(joint, what, value)
                if refusal:
                    return refusal
        return None

    def _bad_jump(self, command: Command, present: Mapping[str, float]) -> Refusal | None:
        if not self.max_jump:
            return None
        for name, wanted in zip(command.names, command.position, strict=False):  # there may be no positions
            refusal = refused_jump(name, wanted, present.get(name), self.max_jump, self._jump_parameter)
            if refusal:
                return refusal
        return None


class Staleness:
    """How long ago each joint got its last command that was taken.

    The clock is the caller's: the steady one, or the simulation's. One that goes back makes no command older or younger
    than it was: its age counts from that moment on.

    Attributes:
        timeout: age at which a command is stale [s]; 0 = never.
    """

    def __init__(self, timeout: float = 0.5) -> None:
        self.timeout = not_negative("timeout", timeout)
        self._taken_at: dict[str, float] = {}

    def renew(self, names: Iterable[str], now: float) -> None:
        """Take note of a command that was taken for these joints."""
        for name in names:
            self._taken_at[name] = now

    def ages(self, now: float) -> dict[str, float]:
        """Age of the last command of every joint that ever got one [s]."""
        return {name: self._age(name, now) for name in tuple(self._taken_at)}

    def is_live(self, name: str, now: float) -> bool:
        """Whether a joint has a command that is not stale."""
        return name in self._taken_at and not self._is_old(name, now)

    def stale(self, now: float) -> tuple[str, ...]:
        """Joints whose last command is too old; those that never got one are not among them."""
        return tuple(name for name in tuple(self._taken_at) if self._is_old(name, now))

    def forget(self, names: Iterable[str] | None = None) -> None:
        """Take joints (all by default) as if they never got a command: after a reset."""
        for name in tuple(self._taken_at) if names is None else names:
            self._taken_at.pop(name, None)

    def clock_jumped(self, now: float) -> None:
        """Take note that the clock went back: ages that would be negative begin at zero, now."""
        self.ages(now)

    def _is_old(self, name: str, now: float) -> bool:
        age = self._age(name, now)
        return bool(self.timeout) and age > self.timeout

    def _age(self, name: str, now: float) -> float:
        age = now - self._taken_at[name]
        if age < 0.0:  # else it would live for as long as the clock went back
            self._taken_at[name] = now
            return 0.0
        return age
