# SPDX-License-Identifier: Apache-2.0
"""Check of received commands before they reach a joint; no ROS.

A command is accepted or refused as a whole, and counted with the reason. No message content makes the check raise or
grow its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ada_dynamics.clock import SYSTEM_CLOCK
from ada_robot.command.lateness import AgeRule
from ada_robot.contract import Command, JointLimit, Mode, Reason, Refusal, Tally
from ada_robot.limits import checked_joints, not_negative, refused_jump, refused_names, refused_number


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
