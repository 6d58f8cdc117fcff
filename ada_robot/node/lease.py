# SPDX-License-Identifier: Apache-2.0
"""One commander at a time: whose joint_commands a robot follows; no ROS.

The first publisher whose command passes the checks holds the robot, until it is gone, was silent for host_timeout (then
the robot is deactivated, too), or the robot is activated anew. What others send meanwhile is refused, by their names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ada_dynamics.clock import SYSTEM_CLOCK

_LOOK = 0.25  # [s] between checks of the publishers


class Lease:
    """Whose commands count."""

    def __init__(
        self, timeout: float, who: Callable[[], Mapping[bytes, str]], clock: Callable[[], float] = SYSTEM_CLOCK
    ) -> None:
        """Begin without a holder.

        Args:
            timeout: silence after which a holder has lost it [s].
            who: names of the nodes that publish commands at the moment, by their publishers' numbers.
            clock: steady [s].
        """
        self._timeout, self._who, self._clock = timeout, who, clock
        self._holder: bytes | None = None
        self._heard_at = self._looked_at = -1e9  # [s]: last command of the holder, last check of the publishers
        self._names: Mapping[bytes, str] = {}

    def release(self) -> None:
        """Drop the holder: the robot is restarted."""
        self._holder = None

    def claim(self, sender: bytes | None) -> None:
        """Record the sender of an accepted command; none, where the middleware does not report it."""
        if sender != self._holder and sender is not None and sender not in self._names:
            self._names = dict(self._who())  # while it is there: otherwise its end could not be noticed
        self._holder, self._heard_at = sender, self._clock()

    def refusal(self, sender: bytes | None, publishers: Callable[[], int]) -> str:
        """Why a command does not count; "" where it may.

        Args:
            sender: number of its publisher; None where the middleware does not report it.
            publishers: how many there are.
        """
        if sender is None:
            return self._unknown_sender() if publishers() > 1 else ""
        if sender == self._holder:
            self._heard_at = self._clock()
            return ""
        holder = self.holder
        if holder is None or self._is_gone(holder):
            self._holder = None
            return ""
        return (
            f"{self._name(holder)} commands this robot, and {self._name(sender)} may not meanwhile: end one of them. "
            f"Who commands keeps the robot until it was silent for {self._timeout:g} s (host_timeout), or the node is "
            f"activated anew."
        )

    @property
    def holder(self) -> bytes | None:
        """Number of the publisher that holds the robot; None where none does."""
        is_silent = self._clock() - self._heard_at > self._timeout
        return None if is_silent else self._holder

    @property
    def holder_name(self) -> str:
        """Name of the node that holds the robot; "" where none does."""
        holder = self.holder
        return "" if holder is None else self._name(holder)

    def senders(self) -> list[str]:
        """Names of the nodes that publish commands, one for each publisher."""
        return sorted(self._who().values())

    def _unknown_sender(self) -> str:
        return (
            f"{' and '.join(self.senders())} publish commands for this robot, and this middleware does not tell which "
            f"of them sent one: end all but one."
        )

    def _is_gone(self, holder: bytes) -> bool:
        """True if a known publisher is gone."""
        was_there = holder in self._names
        self._look()
        return was_there and holder not in self._names

    def _look(self) -> None:
        now = self._clock()
        if now - self._looked_at > _LOOK:
            self._looked_at, self._names = now, dict(self._who())

    def _name(self, sender: bytes) -> str:
        if sender not in self._names:
            self._look()
        return self._names.get(sender) or f"publisher {sender.hex()}"
