# SPDX-License-Identifier: Apache-2.0
"""The common check of numbers for joints: names, positions, speeds, efforts, jumps; and the texts of refusals.

Commands and trajectories ask it at their source, demands in the cycle's own process, drivers and the judges of
emulators at the wire. A joint beyond a position limit may be held where it stands, and moved inwards; never farther
out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.model import Model
from ada_robot.contract import JointLimit, Mode, Reason, Refusal

ROUNDING = 1e-9  # [rad, m] that a commanded position may be behind a limit
DESCRIPTION = "the limits of the robot description"
_OF_DEVICE = "the device's limits and those of the safety settings"
LONGEST_NAME = 80  # characters of a name that a text shows: a message may hold a name of any length


def joint_limits(model: Model, motors: Sequence[str]) -> list[JointLimit]:
    """Limits of the joints of a model, of which some have motors."""
    found = []
    for name, joint in model.joints.items():
        if name == model.floating_joint or not joint.nv:
            continue
        lower, upper, speed, effort = joint.limits.lower, joint.limits.upper, joint.limits.velocity, joint.limits.effort
        found.append(JointLimit(name, float(lower), float(upper), float(speed), float(effort), name in motors))
    return found


def checked_joints(joints: Sequence[JointLimit]) -> dict[str, JointLimit]:
    """Joints by name.

    Raises:
        InputError: two have one name, or limits that no command can meet.
    """
    known: dict[str, JointLimit] = {}
    for joint in joints:
        if joint.name in known:
            raise InputError(
                f"joints: {joint.name!r} is there twice; each joint is given once.", field="joints", joint=joint.name
            )
        if not joint.lower <= joint.upper:
            text = (
                f"joints: {joint.name!r} has the limits [{joint.lower}, {joint.upper}]; lower must not be above upper."
            )
            raise InputError(text, field="limits", joint=joint.name, value=(joint.lower, joint.upper))
        for what, value in (("velocity", joint.velocity), ("effort", joint.effort)):
            if not value >= 0.0:
                text = f"joints: {what} of {joint.name!r} is {value!r}; it must not be negative."
                raise InputError(text, joint=joint.name, field=what, value=value)
        known[joint.name] = joint
    return known


def not_negative(what: str, value: float) -> float:
    """A bound, which may be infinite.

    Raises:
        InputError: it is negative or not a number.
    """
    if not value >= 0.0:
        raise InputError(f"{what} is {value!r}; it must not be negative.", field=what, value=value)
    return float(value)


def refused_names(names: Sequence[str], joints: Mapping[str, JointLimit]) -> Refusal | None:
    """The reason why these names cannot be commanded; None if they can."""
    seen: set[str] = set()
    for name in names:
        joint = joints.get(name)
        if joint is None:
            return Refusal(Reason.UNKNOWN_JOINT, _unknown_text(name[:LONGEST_NAME], tuple(joints)))
        if name in seen:
            return Refusal(Reason.DUPLICATE_JOINT, f"joint {name!r} is named twice; name each joint of a message once.")
        if not joint.has_motor:
            driven = [joint.name for joint in joints.values() if joint.has_motor]
            return Refusal(
                Reason.NO_MOTOR,
                f"joint {name!r} has no motor and follows the others; leave it out. Joints with one: "
                f"{', '.join(driven[:12]) or 'none'}{', ...' if len(driven) > 12 else ''}.",
            )
        seen.add(name)
    return None


@lru_cache(maxsize=16)  # looking for near names takes long, and a wrong sender repeats itself
def _unknown_text(name: str, known: tuple[str, ...]) -> str:
    return str(unknown_name("joint", name, known))


def refused_number(
    joint: JointLimit, what: str, value: float, where: str = "", whose: str = DESCRIPTION
) -> Refusal | None:
    """Why a position, velocity or effort is not for a joint; None if it is.

    Args:
        joint: with its limits.
        what: "position", "velocity" or "effort"; anything else has only to be finite.
        value: wanted.
        where: words for the text, as " at point 3".
        whose: limits they are, for the text.
    """
    if not math.isfinite(value):
        text = (
            f"joint {joint.name!r}: {what}{where} is {value}; it must be finite. Leave out what has no command; a "
            f"controller that computes such a number has failed: look there."
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
    if what in joint.derived:
        whose = "as far as a joint goes for which the robot description has no such limit"
    text = (
        f"joint {joint.name!r}: {what}{where} is {value:.15g}, outside of [{lower:.15g}, {upper:.15g}], {whose}; "
        f"command a value inside."
    )
    return Refusal(Reason.OVER_LIMIT, text, joint.name)


def refused_jump(
    name: str, wanted: float, present: float | None, max_jump: float, rule: str, where: str = ""
) -> Refusal | None:
    """Why a position is too far from the present one to be commanded at once; None if it is not.

    Args:
        name: of the joint.
        wanted: position.
        present: position; None where it is not known.
        max_jump: greatest distance, positive.
        rule: that sets it, for the text, as "parameter max_position_jump; 0 = any".
        where: words for the text.
    """
    if present is None or not math.isfinite(present):
        text = (
            f"joint {name!r}: its present position is not known, so that position{where} {wanted:.15g} may be a jump; "
            f"wait for its first state, or allow any jump ({rule})."
        )
        return Refusal(Reason.JUMP, text, name)
    if not abs(wanted - present) <= max_jump:
        text = (
            f"joint {name!r}: position{where} {wanted:.15g} is {abs(wanted - present):.9g} away from the present "
            f"{present:.15g}; at most {max_jump:.9g} are allowed at once ({rule}). Come nearer in small steps, or "
            f"send a trajectory."
        )
        return Refusal(Reason.JUMP, text, name)
    return None


class Limits:
    """Limits of all joints of a robot as arrays.

    Attributes:
        names: of the joints.
        lower: least positions [rad, m].
        upper: greatest positions.
        velocity: greatest speeds [rad/s, m/s].
        effort: greatest efforts [N m, N].
    """

    def __init__(self, limits: Sequence[JointLimit]) -> None:
        """Args: limits of the joints, in their order."""
        self.names = tuple(limit.name for limit in limits)
        self.lower = np.array([limit.lower for limit in limits], dtype=np.float64)
        self.upper = np.array([limit.upper for limit in limits], dtype=np.float64)
        self.velocity = np.array([limit.velocity for limit in limits], dtype=np.float64)
        self.effort = np.array([limit.effort for limit in limits], dtype=np.float64)

    def span(self, mode: Mode, *where: Array) -> tuple[Array, Array]:
        """The least and greatest number of each joint.

        Args:
            mode: what the numbers are.
            where: places where the joints stand; a joint may be held there, even beyond a limit. NaN opens nothing.
        """
        if mode is not Mode.POSITION:
            greatest = self.velocity if mode is Mode.VELOCITY else self.effort
            return -greatest, greatest
        lower, upper = self.lower, self.upper
        for place in where:
            lower, upper = np.fmin(lower, place), np.fmax(upper, place)
        return lower, upper

    def inside(self, position: Array, where: Array) -> Array:
        """Positions within the limits, or between a limit and where a joint beyond it stands."""
        return np.asarray(np.clip(position, *self.span(Mode.POSITION, where)))

    def refusal(self, mode: Mode, values: Array, *where: Array) -> Refusal | None:
        """Why joints cannot be commanded these numbers; None if they can.

        Args:
            mode: what the numbers are.
            values: one per joint.
            where: as `span` takes it.
        """
        if values.shape != (len(self.names),):
            return Refusal(
                Reason.LENGTH,
                f"the command has {values.size} numbers for {len(self.names)} joints; give one for each: "
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
        return refused_number(joint, mode.value, float(values[i]), whose=_OF_DEVICE)
