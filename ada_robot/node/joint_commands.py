# SPDX-License-Identifier: Apache-2.0
"""Commands to a robot that follows one mode at a time: conversion to demands, commander, waiting time; no ROS.

As in dynamics_node, positions take precedence over velocities (which are feedforward then), and velocities over
efforts. All joints follow one mode, the first of these that the device supports:

- position: joints not named keep their last accepted position setpoint, or their measured position;
- velocity: joints not named are commanded zero velocity;
- effort: all joints must be named, since a joint without an effort would fall.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.clock import SYSTEM_CLOCK
from ada_robot.contract import Command, Demand, JointLimit, Mode, Reason, Refusal
from ada_robot.cycle.messages import Judged
from ada_robot.limits import OF_DEVICE, CommandGuard

SETTLED = 0.1  # time after a halt in which waiting messages are delivered [s]
_LOOK = 0.25  # interval of publisher queries [s]
_MOST_SENT = 64  # maximum number of unchecked demands, more than a cycle accepts


class HaltDetector:
    """Detects halts of the thread that calls `poll`."""

    def __init__(self, longest: float, clock: Callable[[], float] = SYSTEM_CLOCK.since_boot) -> None:
        """Count longer times than `longest` [s] between calls as halts; `clock`: steady clock [s]."""
        self._longest, self._clock = longest, clock
        self._looked_at = clock()
        self._awake_before = self._settled_at = -1e9  # last call before a halt, end of the delivery [s]

    def poll(self) -> float:
        """Return the possible waiting time of messages received since the last call [s]; 0 without a halt."""
        now, before = self._clock(), self._looked_at
        if now - before > self._longest:
            if before > self._settled_at:  # consecutive halts count from the first one
                self._awake_before = before
            self._settled_at = now + SETTLED
        self._looked_at = now
        return now - self._awake_before if before <= self._settled_at else 0.0


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
        if sender is None and publishers() <= 1:
            return ""
        if sender is None:
            return (
                f"{' and '.join(self.senders())} publish commands for this robot, and the middleware does not report "
                f"the sender of a message: stop all but one."
            )
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


class JointCommands(CommandGuard):
    """Commands to the joints of one robot, which must satisfy the rules of `CommandGuard` and of the safety cycle.

    Attributes:
        age: age of the latest message by its stamp [s]; None without a stamp.
    """

    ORIGIN = OF_DEVICE

    def __init__(
        self, limits: Sequence[JointLimit], modes: frozenset[Mode], clock: Callable[[], float] = SYSTEM_CLOCK
    ) -> None:
        """Set the limits of all joints, in the order of the robot, and the modes; `clock`: steady clock [s]."""
        super().__init__(limits)
        self._clock = clock
        self._index = {name: i for i, name in enumerate(self._joints)}
        self._modes = modes
        self.age: float | None = None
        self._commanded: Array | None = None  # positions of the latest demand; None in other modes
        self._taken: Array | None = None  # positions of the latest demand accepted by the safety cycle
        # creation times and positions of the demands that the safety cycle has not checked yet
        self._sent: deque[tuple[float, Array | None]] = deque(maxlen=_MOST_SENT)

    @property
    def refused_active(self) -> int:
        """Number of messages refused while the robot was active."""
        return sum(self.refused.values()) - self.refused[Reason.NOT_ACTIVE]

    def forget(self) -> None:
        """Drop all commands, after a restart of the robot."""
        self._commanded = self._taken = None
        self._sent.clear()

    # --- outcome of demands -----------------------------------------------------------------------------------------
    def sent(self, made_at: float) -> None:
        """Record that the latest demand was sent, under its creation time."""
        self._sent.append((made_at, self._commanded))

    def lost(self) -> None:
        """Record that the latest demand was refused at once; the previous one remains in force."""
        self._commanded = self._sent[-1][1] if self._sent else self._taken

    def judged(self, robot: Judged) -> None:
        """Process the results of the safety cycle, so that refused positions are not held."""
        if not self._sent or self._sent[0][0] > robot.judged_at:
            return
        while self._sent and self._sent[0][0] <= robot.judged_at:
            made_at, positions = self._sent.popleft()
            if made_at == robot.accepted_at:
                self._taken = positions
        if not self._sent:
            self._commanded = self._taken

    def ignored(self) -> None:
        """Count a message received while the robot was not active."""
        self.refused[Reason.NOT_ACTIVE] += 1

    def refuse(self, reason: Reason, text: str) -> None:
        """Count a message refused by the caller."""
        self.count(Refusal(reason, text), 0.0)

    def count(self, refusal: Refusal | None, now: float, times: int = 1) -> Refusal | None:
        """Count a refusal with its time on the steady clock; see `Tally.count`."""
        return super().count(refusal, now if refusal is None else self._clock(), times)

    def demand(self, command: Command, now: float, measured: Array) -> Demand | None:
        """Convert a message to a demand for all joints.

        Args:
            command: received command.
            now: present time on the clock of its stamp [s].
            measured: measured positions; NaN if unknown.

        Returns:
            Demand; None if it is refused, and counted.
        """
        if command.stamp is not None:
            self.age = now - command.stamp
        present = dict(zip(self._joints, measured.tolist(), strict=True))
        if self.check(command, now, present) is not None:
            return None
        given = command.given()
        mode = next((mode for mode in given if mode in self._modes), None)
        if mode is None:
            words = " and ".join(mode.value for mode in given)
            known = " or ".join(mode.value for mode in Mode if mode in self._modes)
            self.refuse(Reason.NO_MODE, f"the command contains {words} only; this device supports {known}.")
            return None
        values = self._of_other_joints(mode, command, measured)
        if isinstance(values, Refusal):
            self.count(values, now)
            return None
        values[[self._index[name] for name in command.names]] = given[mode]
        self._commanded = values.copy() if mode is Mode.POSITION else None
        return Demand(mode, values)

    def _of_other_joints(self, mode: Mode, command: Command, measured: Array) -> Array | Refusal:
        """Return values of all joints, as the defaults of joints that a message does not name."""
        others = [name for name in self._joints if name not in command.names]
        if mode is Mode.EFFORT and others:
            text = "effort commands must name all joints, since a joint without one would fall; missing: "
            return Refusal(Reason.EFFORT_MISSING, f"{text}{', '.join(others)}.")
        if mode is not Mode.POSITION:
            return np.zeros(len(measured))
        if self._commanded is not None:
            return self._commanded.copy()
        unknown = [name for name in others if not np.isfinite(measured[self._index[name]])]
        if unknown:
            text = f"positions of {', '.join(unknown)} unknown: name all joints in the first command."
            return Refusal(Reason.UNKNOWN_POSITION, text)
        return measured.copy()
