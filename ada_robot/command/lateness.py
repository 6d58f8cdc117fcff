# SPDX-License-Identifier: Apache-2.0
"""Allowed age of commands; and the cause of late messages: clocks that differ, or a busy machine or network.

With a clock offset all messages are late, by the same time, without end. A busy machine or network delays some of
them, or many at once that waited together: these are older the longer they waited. So the clocks are blamed only where
consecutive messages are all late, for a while, and all by the same time; or where one is older than it can be, given
that another one came in time a moment ago.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ada_dynamics.clock import SYSTEM_CLOCK
from ada_robot.contract import Reason, Refusal

_FOR = 2.0  # [s] that all have been late, before the clocks are blamed
_LEAST = 3  # messages
_FASTEST = 1000.0  # times real time, at which simulated time of stamps may run
CLOCKS = "Let sender and receiver share a clock (use_sim_time), or leave the stamp zero."


class Lateness:
    """Ages of consecutive messages."""

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
            age: of it when it came, by its stamp [s].
            limit: that it is allowed [s].
            now: when it came, on the clock of the receiver [s].
        """
        self._age = age
        if age <= limit:
            self._in_time_at = self._clock()
            self._forget()
            return
        if now < self._since:  # the first one, or the clock was set back
            self._forget()
            self._since = now
        self._count += 1
        self._least, self._greatest = min(self._least, age), max(self._greatest, age)

    def advice(self, limit: float, now: float) -> str:
        """Advice on the last one, which was late. Arguments as of `note`."""
        lasted, passed = now - self._since, self._clock() - self._in_time_at
        if self._age > limit + _FASTEST * passed:
            return f"One that came {passed:.3g} s before was in time, so a clock was set since then. {CLOCKS}"
        if self._count >= _LEAST and lasted >= _FOR and self._greatest - self._least <= limit:
            return f"All have been as old for {lasted:.3g} s, so the two clocks differ. {CLOCKS}"
        busy = "the sender, this machine or the network between them was busy"
        if passed < math.inf:
            return f"Others came in time, so the clocks agree: {busy}."
        return f"If that is so of all, the two clocks differ. {CLOCKS} If it is not, {busy}."


class AgeRule:
    """The age that commands may have by their stamps.

    Attributes:
        max_age: greatest [s]; 0: any.
        max_ahead: how far the sender's clock may be ahead [s].
        requires_stamps: whether a command must say when it was made.
    """

    def __init__(
        self, max_age: float, max_ahead: float, setting: str, clock: Callable[[], float] = SYSTEM_CLOCK
    ) -> None:
        """Args: see above; what sets the greatest age, for texts; steady clock [s]."""
        self.max_age, self.max_ahead, self.requires_stamps = max_age, max_ahead, False
        self._setting, self._lateness = setting, Lateness(clock)

    def refusal(self, stamp: float | None, now: float) -> Refusal | None:
        """Why a command made at a time cannot be followed at another one; None if it can."""
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
                f"the command is {now - stamp:.9g} s old; at most {self.max_age:.9g} s are allowed ({self._setting}). "
                f"{self._lateness.advice(self.max_age, now)}",
            )
        if not stamp <= now + self.max_ahead:
            return Refusal(
                Reason.FROM_THE_FUTURE,
                f"the command's stamp is {stamp - now:.9g} s ahead of this clock; at most {self.max_ahead:.9g} s are "
                f"allowed. {CLOCKS}",
            )
        return None
