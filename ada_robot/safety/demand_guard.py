# SPDX-License-Identifier: Apache-2.0
"""Check of demands in the safety cycle. A demand is accepted or refused as a whole, never clipped, and counted."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ada_dynamics.arrays import Array
from ada_robot.contract import Demand, Mode, Reason, Refusal, Tally
from ada_robot.limits import ROUNDING, refused_age, refused_jump
from ada_robot.safety.joint_rules import JointRules

AHEAD = 0.01  # tolerance of stamps in the future [s]; both ends read the same clock


class DemandGuard(Tally):
    """Checks demands against the joint rules."""

    def __init__(self, rules: JointRules, modes: Iterable[Mode], max_age: float) -> None:
        """Args: joint rules; modes supported by the driver; maximum age of a demand [s]."""
        super().__init__()
        self._rules, self._modes, self._max_age = rules, frozenset(modes), max_age

    def judge(self, demand: Demand, now: float, demanded: Array, measured: Array | None = None) -> Refusal | None:
        """Check a demand and count it.

        Args:
            demand: received demand.
            now: present time on the clock of its stamp [s].
            demanded: present demanded or measured positions, from which position jumps are measured.
            measured: measured positions; None if equal to `demanded`.

        Returns:
            Refusal, or None if the demand is accepted.
        """
        where = (demanded,) if measured is None else (demanded, measured)
        refusal = (
            self._numbers(demand, *where)
            or refused_age(demand.stamp, now, self._max_age, AHEAD, "command_timeout")
            or self._jump(demand, demanded)
        )
        return self.count(refusal, now)

    def _numbers(self, demand: Demand, *where: Array) -> Refusal | None:
        if demand.mode not in self._modes:
            known = ", ".join(sorted(mode.value for mode in self._modes))
            text = f"the robot has no mode {getattr(demand.mode, 'value', demand.mode)}; its modes are {known}."
            return Refusal(Reason.NO_MODE, text)
        return self._rules.refusal(demand.mode, demand.values, *where)

    def _jump(self, demand: Demand, demanded: Array) -> Refusal | None:
        if demand.mode is not Mode.POSITION:
            return None
        step = self._rules.step
        near = np.abs(demand.values - demanded) <= step + ROUNDING
        if near.all():
            return None
        i = int(np.argmin(near))
        desired, present = float(demand.values[i]), float(demanded[i])
        return refused_jump(self._rules.names[i], desired, present, float(step[i]), "max_step")
