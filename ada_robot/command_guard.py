# SPDX-License-Identifier: Apache-2.0
"""Check of received commands before they reach a joint: names, values, jumps, and age; no ROS.

A command is accepted or refused as a whole, and counted with the reason. No message content makes the check raise or
grow its memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ada_robot.contract import Command, JointLimit, Mode, Reason, Refusal, Tally
from ada_robot.limits import JUMP_RULE, refused_age, refused_jump, refused_names, refused_number

AHEAD = 0.1  # tolerated lead of the sender's clock [s]


class CommandGuard(Tally):
    """Accepts commands that satisfy all rules, and refuses others.

    Example::

        guard = CommandGuard([JointLimit("elbow", -2.0, 2.0, velocity=3.0, effort=50.0)])
        refusal = guard.check(Command(["elbow"], position=[0.4]), now, {"elbow": 0.35})
        if refusal is None: ...                            # the command may be used

    Attributes:
        max_age: maximum age of a stamped command [s]; 0 for any.
        requires_stamps: whether commands without a stamp are refused.
        max_jump: maximum distance of a commanded position from the present one [rad, m]; 0 for any.
    """

    def __init__(self, joints: Sequence[JointLimit], *, max_age: float = 0.5, max_jump: float = 1.0) -> None:
        """Set the rules for all joints of the robot, including passive ones."""
        super().__init__()
        self._joints = {joint.name: joint for joint in joints}
        self.max_age, self.max_jump, self.requires_stamps = max_age, max_jump, False

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
            or self._bad_age(command.stamp, now)
            or self._bad_numbers(names, given)
            or self._bad_jump(names, given.get(Mode.POSITION, ()), present)
        )
        return self.count(refusal, now)

    def _bad_shape(self, names: Sequence[str], given: Mapping[Mode, list[float]]) -> Refusal | None:
        for mode, values in given.items():
            if len(values) != len(names):
                text = (
                    f"{mode.value} has {len(values)} values for {len(names)} names; position, velocity and effort must "
                    f"each be empty or have one value per name: use the same command interfaces for all joints of a "
                    f"message (ros2_control's topic interface omits the others)."
                )
                return Refusal(Reason.LENGTH, text)
        if not given:
            return Refusal(Reason.EMPTY, "the command is empty; give position, velocity or effort.")
        return None

    def _bad_age(self, stamp: float | None, now: float) -> Refusal | None:
        if stamp is not None:
            return refused_age(stamp, now, self.max_age, AHEAD, "parameter max_command_age; 0 = any age")
        if not self.requires_stamps:
            return None
        text = (
            "the command has no stamp (header.stamp is zero), so its age is unknown: set it to the time of this node's "
            "clock (ros2 topic pub: 'header: auto'), or allow commands without a stamp (parameter require_stamps)."
        )
        return Refusal(Reason.NO_STAMP, text)

    def _bad_numbers(self, names: Sequence[str], given: Mapping[Mode, list[float]]) -> Refusal | None:
        joints = [self._joints[name] for name in names]
        for mode, values in given.items():
            for joint, value in zip(joints, values, strict=True):
                refusal = refused_number(joint, mode.value, value)
                if refusal:
                    return refusal
        return None

    def _bad_jump(self, names: Sequence[str], desired: Sequence[float], present: Mapping[str, float]) -> Refusal | None:
        if not self.max_jump:
            return None
        for name, position in zip(names, desired, strict=False):  # positions may be empty
            refusal = refused_jump(name, position, present.get(name), self.max_jump, JUMP_RULE)
            if refusal:
                return refusal
        return None
