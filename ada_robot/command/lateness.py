# SPDX-License-Identifier: Apache-2.0
"""Maximum age of commands, and diagnosis of late ones: clock offset, or a busy machine or network.

A clock offset delays all messages by a constant time. A busy machine or network delays some messages, or several that
waited together and therefore differ in age. A clock offset is reported only if consecutive messages were late for some
time with the same delay, or if a message is older than the time since the last one that was on time.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ada_dynamics.clock import SYSTEM_CLOCK
from ada_robot.contract import Reason, Refusal

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
