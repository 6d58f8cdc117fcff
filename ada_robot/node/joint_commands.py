# SPDX-License-Identifier: Apache-2.0
"""From messages on joint_commands to the demands of a robot that follows one mode at a time; no ROS.

A message means what it means to dynamics_node: a position (what stands beside it only helps to get there) before a
velocity before an effort. A device follows all its joints in one mode, so the first of these that it knows is taken:

- position: joints that are not named stay where the robot took a command for them to be, or are;
- velocity: those that are not named stand still;
- effort: all joints must be named, for one without an effort would fall.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.clock import SYSTEM_CLOCK
from ada_robot.command.guard import CommandGuard
from ada_robot.contract import Command, Demand, JointLimit, Mode, Reason, Refusal
from ada_robot.robot_status import Judged

_MOST_SENT = 64  # demands that are not judged yet: more than a cycle takes


class _Sent(NamedTuple):
    """A demand on its way through the robot's own safety, with its positions, if it has any."""

    made_at: float
    positions: Array | None


class JointCommands(CommandGuard):
    """Commands for the joints of one robot.

    Attributes:
        refused_at: when the newest refusal was that has words, on the steady clock [s].
        age: of the newest message by its stamp, when it was read [s]; None without a stamp.
    """

    def __init__(
        self, limits: Sequence[JointLimit], modes: frozenset[Mode], clock: Callable[[], float] = SYSTEM_CLOCK
    ) -> None:
        """Prepare.

        Args:
            limits: of all joints, in the order of the robot.
            modes: that the robot knows.
            clock: steady [s].
        """
        super().__init__(limits, age_parameter="max_command_age", clock=clock)
        self._clock = clock
        self._index = {name: i for i, name in enumerate(self._joints)}
        self._modes = modes
        self.refused_at = 0.0
        self.age: float | None = None
        self._commanded: Array | None = None  # positions of the last demand, if it was one
        self._taken: Array | None = None  # those of the last one that the robot took
        self._sent: deque[_Sent] = deque(maxlen=_MOST_SENT)

    @property
    def refused_active(self) -> int:
        """Number of messages that were refused while the robot was to move."""
        return sum(self.refused.values()) - self.refused[Reason.NOT_ACTIVE]

    def hold_to(self, max_age: float, max_jump: float, *, require_stamps: bool = False) -> None:
        """Set the rules that messages are held to before a robot's own safety sees them.

        Args:
            max_age: of a stamped command [s]; 0: any.
            max_jump: from where a joint is measured to where it is commanded to be [rad, m]; 0: any.
            require_stamps: whether a command must say when it was made.
        """
        self.age_rule.max_age, self.max_jump = max_age, max_jump
        self.age_rule.requires_stamps = require_stamps

    def forget(self) -> None:
        """Forget all commands: the robot was restarted."""
        self._commanded = self._taken = None
        self._sent.clear()

    # --- outcome of demands -----------------------------------------------------------------------------------------
    def sent(self, made_at: float) -> None:
        """The newest demand is on its way to the robot's own safety, which names it by this time."""
        self._sent.append(_Sent(made_at, self._commanded))

    def lost(self) -> None:
        """The newest demand was refused at once: the demand before it holds."""
        self._commanded = self._sent[-1].positions if self._sent else self._taken

    def judged(self, robot: Judged) -> None:
        """Record the verdicts of the robot's own safety: refused positions are not held."""
        if not self._sent or self._sent[0].made_at > robot.judged_at:
            return
        while self._sent and self._sent[0].made_at <= robot.judged_at:
            one = self._sent.popleft()
            if one.made_at == robot.accepted_at:
                self._taken = one.positions
        if not self._sent:
            self._commanded = self._taken

    def ignored(self) -> None:
        """Count a message that came while the robot was not to move."""
        self.refused[Reason.NOT_ACTIVE] += 1

    def refuse(self, reason: Reason, text: str) -> None:
        """Count a message that another part refuses."""
        self.count(Refusal(reason, text), 0.0)

    def count(self, refusal: Refusal | None, now: float, times: int = 1) -> Refusal | None:
        """See `Tally.count`."""
        if refusal is not None:
            self.refused_at = self._clock()
        return super().count(refusal, now, times)

    def demand(self, command: Command, now: float, measured: Array) -> Demand | None:
        """The demand of a message to all joints.

        Args:
            command: the message.
            now: on the clock of its stamp [s].
            measured: positions; NaN where they are not known.

        Returns:
            None where it is refused, and counted.
        """
        if command.stamp is not None:
            self.age = now - command.stamp
        present = dict(zip(self._joints, measured.tolist(), strict=True))
        if self.check(command, now, present) is not None:
            return None
        mode, values = self._first_known(command)
        if mode is None:
            return None
        rows = [self._index[name] for name in command.names]
        complete = _COMPLETE[mode](self, command, measured)
        if complete is None:
            return None
        complete[rows] = values
        self._commanded = complete.copy() if mode is Mode.POSITION else None
        return Demand(mode, complete)

    def _first_known(self, command: Command) -> tuple[Mode | None, Sequence[float] | Array]:
        given = command.given()
        for mode, values in given.items():
            if mode in self._modes:
                return mode, values
        words = " and ".join(mode.value for mode in given)
        known = " or ".join(mode.value for mode in Mode if mode in self._modes)
        self.refuse(Reason.NO_MODE, f"the command gives {words} only; this device takes {known}.")
        return None, ()

    # --- joints that a message does not name ------------------------------------------------------------------------
    def _positions(self, command: Command, measured: Array) -> Array | None:
        """Their commanded positions, else measured ones."""
        if self._commanded is not None:
            return self._commanded.copy()
        rest = [i for name, i in self._index.items() if name not in command.names and not np.isfinite(measured[i])]
        if rest:
            names = ", ".join(tuple(self._joints)[i] for i in rest)
            self.refuse(
                Reason.UNKNOWN_POSITION, f"where {names} are is not known: name all joints in the first command."
            )
            return None
        return measured.copy()

    def _velocities(self, _command: Command, measured: Array) -> Array | None:
        return np.zeros(len(measured))

    def _efforts(self, command: Command, measured: Array) -> Array | None:
        missing = [name for name in self._joints if name not in command.names]
        if missing:
            self.refuse(
                Reason.EFFORT_MISSING,
                f"efforts must name all joints, for one without would fall; {', '.join(missing)} are missing.",
            )
            return None
        return np.zeros(len(measured))


_COMPLETE: dict[Mode, Callable[[JointCommands, Command, Array], Array | None]] = {
    Mode.POSITION: JointCommands._positions,
    Mode.VELOCITY: JointCommands._velocities,
    Mode.EFFORT: JointCommands._efforts,
}
