# SPDX-License-Identifier: Apache-2.0
"""Exclusive command access to a robot, granted to one publisher of joint_commands at a time; no ROS.

The first publisher with a valid command holds the lease until it ends, sends nothing for host_timeout (which also
deactivates the robot), or the robot is restarted. Commands of other publishers are refused, naming both nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ada_dynamics.clock import SYSTEM_CLOCK

_LOOK = 0.25  # interval of publisher queries [s]


class Lease:
    """Lease of one robot."""

    def __init__(
        self, timeout: float, who: Callable[[], Mapping[bytes, str]], clock: Callable[[], float] = SYSTEM_CLOCK
    ) -> None:
        """Start without a holder.

        Args:
            timeout: time without commands after which the lease expires [s].
            who: returns the names of the publishing nodes by the ids of their publishers.
            clock: steady clock [s].
        """
        self._timeout, self._who, self._clock = timeout, who, clock
        self._holder: bytes | None = None
        self._heard_at = self._looked_at = -1e9  # last command of the holder, last query of the publishers [s]
        self._names: Mapping[bytes, str] = {}

    def release(self) -> None:
        """End the lease, after a restart of the robot."""
        self._holder = None

    def claim(self, sender: bytes | None) -> None:
        """Record the sender of an accepted command; None if the middleware does not report it."""
        if sender != self._holder and sender is not None and sender not in self._names:
            self._names = dict(self._who())  # now, while it exists, so that its end can be detected
        self._holder, self._heard_at = sender, self._clock()

    def refusal(self, sender: bytes | None, publishers: Callable[[], int]) -> str:
        """Return why a command is refused, or "".

        Args:
            sender: id of its publisher; None if the middleware does not report it.
            publishers: returns the number of publishers.
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
            f"{self._name(holder)} commands this robot, so that commands of {self._name(sender)} are refused: stop one "
            f"of them. The lease expires after {self._timeout:g} s without commands (host_timeout), or when the node "
            f"is activated again."
        )

    @property
    def holder(self) -> bytes | None:
        """Id of the publisher that holds the lease, or None."""
        is_silent = self._clock() - self._heard_at > self._timeout
        return None if is_silent else self._holder

    @property
    def holder_name(self) -> str:
        """Name of the node that holds the lease, or ""."""
        holder = self.holder
        return "" if holder is None else self._name(holder)

    def senders(self) -> list[str]:
        """Return the names of the publishing nodes, one per publisher."""
        return sorted(self._who().values())

    def _unknown_sender(self) -> str:
        return (
            f"{' and '.join(self.senders())} publish commands for this robot, and the middleware does not report the "
            f"sender of a message: stop all but one."
        )

    def _is_gone(self, holder: bytes) -> bool:
        """Return True if a known publisher has ended."""
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
