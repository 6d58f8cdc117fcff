# SPDX-License-Identifier: Apache-2.0
"""The guard that messages with commands pass before a joint may see them; no ROS.

A message is taken as a whole or refused as a whole, with the reason counted. Nothing that a message can hold makes the
guard raise, and what it keeps does not grow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ada_dynamics.clock import SYSTEM_CLOCK
from ada_robot.command.lateness import AgeRule
from ada_robot.contract import Command, JointLimit, Mode, Reason, Refusal, Tally
from ada_robot.limits import checked_joints, not_negative, refused_jump, refused_names, refused_number


class CommandGuard(Tally):
    """Takes commands that keep every rule, and refuses the others.

    Example::

        guard = CommandGuard([JointLimit("elbow", -2.0, 2.0, velocity=3.0, effort=50.0)])
        refusal = guard.check(Command(["elbow"], position=[0.4]), now, {"elbow": 0.35})
        if refusal is None: ...                            # only now may a joint see the command

    Attributes:
        age_rule: of their stamps.
        max_jump: farthest that a commanded position may be from the present one [rad, m]; 0 takes any.
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
            joints: all joints of the robot, those without a motor too.
            max_age: of a stamped command [s]; 0 takes any age.
            max_jump: see above.
            max_ahead: how far the sender's clock may be ahead [s].
            age_parameter: the node's parameter that sets `max_age`, for texts.
            jump_parameter: that of `max_jump`.
            clock: steady [s]; it tells late messages from clocks that differ.

        Raises:
            InputError: joints of one name, limits that cannot be met, a negative bound.
        """
        super().__init__()
        self._joints = checked_joints(joints)
        self.max_jump = not_negative("max_jump", max_jump)
        max_age, max_ahead = not_negative("max_age", max_age), not_negative("max_ahead", max_ahead)
        self.age_rule = AgeRule(max_age, max_ahead, f"parameter {age_parameter}; 0 = any age", clock)
        self._jump_rule = f"parameter {jump_parameter}; 0 = any"

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
                    f"{mode.value} has {len(values)} numbers for {len(names)} names; each of position, velocity and "
                    f"effort is empty or has one number per name. A sender that leaves out joints which have no such "
                    f"command (ros2_control's topic interface does) says no more whose number is whose: give all "
                    f"joints of one message the same command interfaces.",
                )
        if not given:
            return Refusal(Reason.EMPTY, "the command holds no number; give position, velocity or effort.")
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

    def _bad_jump(self, names: Sequence[str], wanted: Sequence[float], present: Mapping[str, float]) -> Refusal | None:
        if not self.max_jump:
            return None
        for name, position in zip(names, wanted, strict=False):  # there may be no positions
            refusal = refused_jump(name, position, present.get(name), self.max_jump, self._jump_rule)
            if refusal:
                return refusal
        return None
