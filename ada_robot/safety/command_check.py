# SPDX-License-Identifier: Apache-2.0
"""Whether a command may be followed: taken as a whole or refused as a whole, never clamped, every refusal counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_robot.command.rules import ROUNDING, Reason
from ada_robot.driver import Mode
from ada_robot.safety.joint_rules import JointRules

# reasons beside those of commanding.rules.Reason
NOT_ACTIVE, NO_MODE, OVERTAKEN = "not active", "no such mode", "overtaken"
AHEAD = 0.01  # [s] that a stamp may be in the future: both ends read the same clock


class Command(NamedTuple):
    """What a program asks for.

    Attributes:
        mode: what the numbers are.
        values: one per joint.
        stamp: when it was made, on the steady clock [s].
    """

    mode: Mode
    values: Array
    stamp: float


class Refusal(NamedTuple):
    """Why a command is not followed.

    Attributes:
        reason: in two words, for counters.
        text: for people: joint, number, what is allowed, what to do.
    """

    reason: str
    text: str


class CommandCheck:
    """Judges commands, and counts.

    Attributes:
        accepted: commands that were taken.
        refused: those that were not, by reason.
        last_refusal: words on the newest of them; "".
    """

    def __init__(self, rules: JointRules, modes: Iterable[Mode], max_age: float) -> None:
        """Prepare.

        Args:
            rules: limits.
            modes: that the driver has.
            max_age: of a command [s].
        """
        self._rules, self._modes, self._max_age = rules, frozenset(modes), max_age
        self.accepted = 0
        self.refused: Counter[str] = Counter()
        self.last_refusal = ""

    def judge(self, command: Command, now: float, demanded: Array, measured: Array | None = None) -> Refusal | None:
        """Judge a command, and count it.

        Args:
            command: as it came.
            now: on the clock of its stamp [s].
            demanded: where the joints are told to be, or are, at this moment; what position commands may jump from.
            measured: where they are; None: where they are told to be.

        Returns:
            None for one that may be followed; else why not.
        """
        where = (demanded,) if measured is None else (demanded, measured)
        refusal = (
            self.refused_numbers(command, *where) or self._bad_age(command.stamp, now) or self._jump(command, demanded)
        )
        if refusal is None:
            self.accepted += 1
        else:
            self.count(refusal)
        return refusal

    def count(self, refusal: Refusal, times: int = 1) -> None:
        """Count a refusal, or several of a kind."""
        self.refused[refusal.reason] += times
        self.last_refusal = refusal.text

    def refused_numbers(self, command: Command, *where: Array) -> Refusal | None:
        """What is wrong with length, mode or numbers of a command; nothing is counted.

        Args:
            command: as it came.
            where: places where the joints stand, as `JointBounds.span` takes them; none: wherever the robot may be.
        """
        if command.mode not in self._modes:
            known = ", ".join(sorted(mode.value for mode in self._modes))
            return Refusal(
                NO_MODE,
                f"the robot cannot be commanded by {getattr(command.mode, 'value', command.mode)}; it can by {known}.",
            )
        rules = self._rules
        places = where or (rules.lower - rules.margin, rules.upper + rules.margin)
        found = rules.bounds.refusal(command.mode, command.values, *places)
        return None if found is None else Refusal(found.reason.value, found.text)

    def _bad_age(self, stamp: float, now: float) -> Refusal | None:
        age = now - stamp
        if age > self._max_age:
            return Refusal(
                Reason.OLD.value,
                f"the command is {age:.4g} s old; at most {self._max_age:g} s are allowed (command_timeout). The "
                f"commanding program, or the machine, stood still.",
            )
        if not age >= -AHEAD:  # NaN too
            return Refusal(
                Reason.FROM_THE_FUTURE.value,
                f"the command's stamp is {-age:.4g} s ahead; take it from time.monotonic() of this machine.",
            )
        return None

    def _jump(self, command: Command, demanded: Array) -> Refusal | None:
        if command.mode is not Mode.POSITION:
            return None
        away = np.abs(command.values - demanded)
        near = away <= self._rules.step + ROUNDING
        if near.all():
            return None
        i = int(np.flatnonzero(~near)[0])
        return Refusal(
            Reason.JUMP.value,
            f"joint {self._rules.names[i]!r}: position {command.values[i]:.9g} is {away[i]:.4g} away from where it is "
            f"told to be, {demanded[i]:.9g}; at most {self._rules.step[i]:.4g} are allowed at once (max_step). Come "
            f"nearer in small steps, slower, or by a trajectory.",
        )
