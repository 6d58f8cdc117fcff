# SPDX-License-Identifier: Apache-2.0
"""The rules that commands and trajectories keep alike, and what is said where one is broken; no ROS."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from ada_dynamics.errors import InputError, unknown_name

ROUNDING = 1e-9  # [rad, m] that a commanded position may be behind a limit
LONGEST_NAME = 80  # characters of a name that a text shows: a message may hold a name of any length


class Reason(Enum):
    """Why a command was refused."""

    EMPTY = "empty"
    LENGTH = "wrong length"
    UNKNOWN_JOINT = "unknown joint"
    DUPLICATE_JOINT = "duplicate joint"
    NO_MOTOR = "joint without a motor"
    NOT_FINITE = "not finite"
    TIMES = "times do not increase"
    NO_STAMP = "no stamp"
    OLD = "too old"
    FROM_THE_FUTURE = "from the future"
    OVER_LIMIT = "over a limit"
    JUMP = "jump"


class JointLimit(NamedTuple):
    """What a joint may be commanded to; infinite where there is no limit.

    Attributes:
        name: of the joint.
        lower: least position [rad, m].
        upper: greatest position.
        velocity: greatest speed, either way [rad/s, m/s].
        effort: greatest effort, either way [N m, N].
        has_motor: whether it can be commanded at all.
        derived: which of "position", "velocity" and "effort" the description leaves open, so that the bound here is
            somebody else's; for texts.
    """

    name: str
    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    has_motor: bool = True
    derived: tuple[str, ...] = ()


class Refusal(NamedTuple):
    """Why a command was refused, for counters and for people."""

    reason: Reason
    text: str


def checked_joints(joints: Sequence[JointLimit]) -> dict[str, JointLimit]:
    """Joints by name.

    Raises:
        InputError: two have one name, or limits that no command can meet.
    """
    known: dict[str, JointLimit] = {}
    for joint in joints:
        if joint.name in known:
            raise InputError(f"joints: {joint.name!r} is there twice; each joint is given once.")
        if not joint.lower <= joint.upper:
            raise InputError(
                f"joints: {joint.name!r} has the limits [{joint.lower}, {joint.upper}]; lower must not be above upper."
            )
        for what, value in (("velocity", joint.velocity), ("effort", joint.effort)):
            not_negative(f"joints: {what} of {joint.name!r}", value)
        known[joint.name] = joint
    return known


def not_negative(what: str, value: float) -> float:
    """A bound, which may be infinite.

    Raises:
        InputError: it is negative or not a number.
    """
    if not value >= 0.0:
        raise InputError(f"{what} is {value!r}; it must not be negative.")
    return float(value)


def refused_names(names: Sequence[str], joints: Mapping[str, JointLimit]) -> Refusal | None:
    """Why these names cannot be commanded; None if they can."""
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


@lru_cache(maxsize=16)  # looking for near names takes long, and a sender that is wrong is wrong again and again
def _unknown_text(name: str, known: tuple[str, ...]) -> str:
    return str(unknown_name("joint", name, known))


def refused_number(joint: JointLimit, what: str, value: float, where: str = "") -> Refusal | None:
    """Why a position, velocity or effort is not for a joint; None if it is.

    Args:
        joint: with its limits.
        what: "position", "velocity" or "effort"; anything else has only to be finite.
        value: wanted.
        where: words for the text, as " at point 3".
    """
    if not math.isfinite(value):
        return Refusal(
            Reason.NOT_FINITE,
            f"joint {joint.name!r}: {what}{where} is {value}; it must be finite. Leave out what has no command.",
        )
    if what == "position":
        lower, upper = joint.lower, joint.upper
        is_inside = lower - ROUNDING <= value <= upper + ROUNDING
    else:
        upper = {"velocity": joint.velocity, "effort": joint.effort}.get(what, math.inf)
        lower = -upper
        is_inside = abs(value) <= upper
    if is_inside:
        return None
    whose = "the limits of the robot description"
    if what in joint.derived:
        whose = "as far as a joint goes for which the robot description has no such limit"
    return Refusal(
        Reason.OVER_LIMIT,
        f"joint {joint.name!r}: {what}{where} is {value:.15g}, outside of [{lower:.15g}, {upper:.15g}], {whose}; "
        f"command a value inside.",
    )


def refused_jump(
    name: str, wanted: float, present: float | None, max_jump: float, parameter: str, where: str = ""
) -> Refusal | None:
    """Why a position is too far from the present one to be commanded at once; None if it is not.

    Args:
        name: of the joint.
        wanted: position.
        present: position; None where it is not known.
        max_jump: greatest distance, positive.
        parameter: that sets it.
        where: words for the text.
    """
    if present is None or not math.isfinite(present):
        return Refusal(
            Reason.JUMP,
            f"joint {name!r}: its present position is not known, so that position{where} {wanted:.15g} may be a jump; "
            f"wait for its first state, or allow any jump (parameter {parameter}: 0).",
        )
    if not abs(wanted - present) <= max_jump:
        return Refusal(
            Reason.JUMP,
            f"joint {name!r}: position{where} {wanted:.15g} is {abs(wanted - present):.9g} away from the present "
            f"{present:.15g}; at most {max_jump:.9g} are allowed at once (parameter {parameter}; 0 = any). Come nearer "
            f"in small steps, or send a trajectory.",
        )
    return None
