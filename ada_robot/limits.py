# SPDX-License-Identifier: Apache-2.0
"""Joint limit checks: names, positions, velocities, efforts and position jumps, with the texts of refusals.

Commands and trajectories are checked where they are received, demands in the safety cycle, device frames in drivers
and emulators. A joint outside a position limit may hold its position or move inwards, never farther out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import unknown_name
from ada_dynamics.model.model import Model
from ada_robot.contract import Command, JointLimit, Mode, Reason, Refusal, Tally

AHEAD = 0.1  # tolerated lead of the sender's clock [s]
ROUNDING = 1e-9  # tolerance of commanded positions at a limit [rad, m]
DESCRIPTION = "the limits of the robot description, or the default range of a joint without limits"
OF_DEVICE = "the limits of the device and of the safety settings"
CLOCKS = "Let sender and receiver share a clock (use_sim_time), or leave the stamp zero."
LATE = (
    f"If all messages are late, the clocks differ. {CLOCKS} Otherwise, the sender, this machine or the network between "
    "them was busy."
)
JUMP_RULE = "parameter max_position_jump; 0 = any"  # of nodes, for messages
LONGEST_NAME = 80  # characters of a joint name in a message; received names may be arbitrarily long


def joint_limits(model: Model, motors: Sequence[str]) -> list[JointLimit]:
    """Return the limits of the joints of a model. Args: model; names of the actuated joints."""
    found = []
    for name, joint in model.joints.items():
        if name == model.floating_joint or not joint.nv:
            continue
        lower, upper, speed, effort = joint.limits.lower, joint.limits.upper, joint.limits.velocity, joint.limits.effort
        found.append(JointLimit(name, float(lower), float(upper), float(speed), float(effort), name in motors))
    return found


def refused_names(names: Sequence[str], joints: Mapping[str, JointLimit]) -> Refusal | None:
    """Return the refusal of a list of joint names, or None if all can be commanded."""
    seen: set[str] = set()
    for name in names:
        joint = joints.get(name)
        if joint is None:
            return Refusal(Reason.UNKNOWN_JOINT, _unknown_text(name[:LONGEST_NAME], tuple(joints)))
        if name in seen:
            return Refusal(Reason.DUPLICATE_JOINT, f"duplicate joint {name!r}; name each joint of a message once.")
        if not joint.has_motor:
            driven = [joint.name for joint in joints.values() if joint.has_motor]
            return Refusal(
                Reason.NO_MOTOR,
                f"joint {name!r} has no motor and cannot be commanded; leave it out. Actuated joints: "
                f"{', '.join(driven[:12]) or 'none'}{', ...' if len(driven) > 12 else ''}.",
            )
        seen.add(name)
    return None


@lru_cache(maxsize=16)  # the search for similar names is slow, and a faulty sender repeats its message
def _unknown_text(name: str, known: tuple[str, ...]) -> str:
    return str(unknown_name("joint", name, known))


def refused_number(
    joint: JointLimit, what: str, value: float, where: str = "", whose: str = DESCRIPTION
) -> Refusal | None:
    """Return the refusal of a position, velocity or effort, or None if it is allowed.

    Args:
        joint: joint with its limits.
        what: "position", "velocity" or "effort"; other quantities must only be finite.
        value: commanded value.
        where: location for the message, such as " at point 3".
        whose: origin of the limits for the message.
    """
    if not math.isfinite(value):
        text = (
            f"joint {joint.name!r}: {what}{where} is {value}; it must be finite. Leave out joints without a command, "
            f"and check the controller that computed this value."
        )
        return Refusal(Reason.NOT_FINITE, text, joint.name)
    if what == "position":
        lower, upper = joint.lower, joint.upper
        is_inside = lower - ROUNDING <= value <= upper + ROUNDING
    else:
        upper = {"velocity": joint.velocity, "effort": joint.effort}.get(what, math.inf)
        lower = -upper
        is_inside = abs(value) <= upper
    if is_inside:
        return None
    text = (
        f"joint {joint.name!r}: {what}{where} is {value:.15g}, outside of [{lower:.15g}, {upper:.15g}], {whose}; "
        f"command a value inside."
    )
    return Refusal(Reason.OVER_LIMIT, text, joint.name)


def refused_jump(
    name: str, desired: float, present: float | None, max_jump: float, rule: str, where: str = ""
) -> Refusal | None:
    """Return the refusal of a commanded position too far from the present one, or None if it is allowed.

    Args:
        name: joint name.
        desired: commanded position.
        present: present position; None if unknown.
        max_jump: maximum distance, positive.
        rule: name of the setting for the message, such as "parameter max_position_jump; 0 = any".
        where: location for the message.
    """
    if present is None or not math.isfinite(present):
        text = (
            f"joint {name!r}: present position unknown, so position{where} {desired:.15g} may be a jump; wait for the "
            f"first joint state, or allow any jump ({rule})."
        )
        return Refusal(Reason.JUMP, text, name)
    if not abs(desired - present) <= max_jump:
        text = (
            f"joint {name!r}: position{where} {desired:.15g} is {abs(desired - present):.9g} away from the present "
            f"{present:.15g}; the maximum jump is {max_jump:.9g} ({rule}). Approach in small steps, or send a "
            f"trajectory."
        )
        return Refusal(Reason.JUMP, text, name)
    return None


def refused_age(stamp: float, now: float, max_age: float, max_ahead: float, rule: str) -> Refusal | None:
    """Return the refusal of a command by its stamp, or None if it is allowed.

    Args:
        stamp: creation time [s].
        now: present time on the clock of the stamp [s].
        max_age: maximum age [s]; 0 for any.
        max_ahead: tolerated lead of the sender's clock [s].
        rule: name of the setting of `max_age` for the message.
    """
    if not math.isfinite(stamp):
        return Refusal(Reason.NOT_FINITE, f"the stamp is {stamp}; it must be finite, or zero for no stamp.")
    if max_age and not stamp >= now - max_age:
        text = f"the command is {now - stamp:.9g} s old; the maximum age is {max_age:.9g} s ({rule}). {LATE}"
        return Refusal(Reason.OLD, text)
    if not stamp <= now + max_ahead:
        text = f"the command's stamp is {stamp - now:.9g} s ahead of this clock; the maximum is {max_ahead:.9g} s."
        return Refusal(Reason.FROM_THE_FUTURE, f"{text} {CLOCKS}")
    return None


class Limits:
    """Limits of all joints of a robot as arrays.

    Attributes:
        names: joint names.
        lower: lower position limits [rad, m].
        upper: upper position limits.
        velocity: maximum speeds [rad/s, m/s].
        effort: maximum efforts [N m, N].
    """

    def __init__(self, limits: Sequence[JointLimit]) -> None:
        """Copy the limits of the joints to arrays, in their order."""
        self.names = tuple(limit.name for limit in limits)
        self.lower = np.array([limit.lower for limit in limits], dtype=np.float64)
        self.upper = np.array([limit.upper for limit in limits], dtype=np.float64)
        self.velocity = np.array([limit.velocity for limit in limits], dtype=np.float64)
        self.effort = np.array([limit.effort for limit in limits], dtype=np.float64)

    def span(self, mode: Mode, *where: Array) -> tuple[Array, Array]:
        """Return the lower and upper bound of each joint.

        Args:
            mode: quantity.
            where: positions, such as the measured ones, that widen the range to include them. NaN is ignored.
        """
        if mode is not Mode.POSITION:
            greatest = self.velocity if mode is Mode.VELOCITY else self.effort
            return -greatest, greatest
        lower, upper = self.lower, self.upper
        for place in where:
            lower, upper = np.fmin(lower, place), np.fmax(upper, place)
        return lower, upper

    def inside(self, position: Array, where: Array) -> Array:
        """Clip positions to the limits; a joint outside may keep its position `where` or move inwards."""
        return np.asarray(np.clip(position, *self.span(Mode.POSITION, where)))

    def refusal(self, mode: Mode, values: Array, *where: Array) -> Refusal | None:
        """Return the refusal of values, or None if they are allowed.

        Args:
            mode: quantity.
            values: one per joint.
            where: positions that widen the range, see `span`.
        """
        if values.shape != (len(self.names),):
            return Refusal(
                Reason.LENGTH,
                f"the command has {values.size} values for {len(self.names)} joints; give one for each of "
                f"{', '.join(self.names)}.",
            )
        lower, upper = self.span(mode, *where)
        slack = ROUNDING if mode is Mode.POSITION else 0.0
        inside = (values >= lower - slack) & (values <= upper + slack) & (np.abs(values) < np.inf)
        if inside.all():
            return None
        finite = np.isfinite(values)
        i = int(np.argmin(inside if finite.all() else finite))
        joint = JointLimit(self.names[i], float(lower[i]), float(upper[i]), float(upper[i]), float(upper[i]))
        return refused_number(joint, mode.value, float(values[i]), whose=OF_DEVICE)


# --- commands by joint names ------------------------------------------------------------------------------------------
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
        ORIGIN: origin of the limits for messages.
    """

    ORIGIN = DESCRIPTION

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
                refusal = refused_number(joint, mode.value, value, whose=self.ORIGIN)
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
