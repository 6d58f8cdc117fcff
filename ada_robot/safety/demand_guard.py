# SPDX-License-Identifier: Apache-2.0
"""The guard of a robot's cycle: a demand is taken as a whole or refused as a whole, never clamped, always counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.clock import SYSTEM_CLOCK
from ada_robot.command.lateness import AgeRule
from ada_robot.contract import Demand, Mode, Reason, Refusal, Tally
from ada_robot.limits import ROUNDING, refused_jump
from ada_robot.safety.joint_rules import JointRules

AHEAD = 0.01  # [s] that a stamp may be in the future: both ends read the same clock


class DemandGuard(Tally):
    """Judges what a robot is asked for by the rules of its safety settings."""

    def __init__(
        self, rules: JointRules, modes: Iterable[Mode], max_age: float, clock: Callable[[], float] = SYSTEM_CLOCK
    ) -> None:
        """Prepare.

        Args:
            rules: limits.
            modes: that the driver has.
            max_age: of a demand [s].
            clock: steady time [s], by which late demands are explained.
        """
        super().__init__()
        self._rules, self._modes = rules, frozenset(modes)
        self._age = AgeRule(max_age, AHEAD, "command_timeout", clock)

    def judge(self, demand: Demand, now: float, demanded: Array, measured: Array | None = None) -> Refusal | None:
        """Judge a demand, and count it.

        Args:
            demand: as it came.
            now: on the clock of its stamp [s].
            demanded: where the joints are demanded to be, or are, at this moment; what positions may jump from.
            measured: where they are; None: where they are demanded to be.

        Returns:
            None for one that may be followed; else why not.
        """
        where = (demanded,) if measured is None else (demanded, measured)
        refusal = (
            self.refused_numbers(demand, *where) or self._age.refusal(demand.stamp, now) or self._jump(demand, demanded)
        )
        return self.count(refusal, now)

    def refused_numbers(self, demand: Demand, *where: Array) -> Refusal | None:
        """Why length, mode or numbers of a demand are refused; nothing is counted.

        Args:
            demand: as it came.
            where: places where the joints stand, as `Limits.span` takes them; none: wherever the robot may be.
        """
        if demand.mode not in self._modes:
            known = ", ".join(sorted(mode.value for mode in self._modes))
            text = f"the robot cannot be commanded by {getattr(demand.mode, 'value', demand.mode)}; it can by {known}."
            return Refusal(Reason.NO_MODE, text)
        rules = self._rules
        places = where or (rules.lower - rules.margin, rules.upper + rules.margin)
        return rules.bounds.refusal(demand.mode, demand.values, *places)

    def _jump(self, demand: Demand, demanded: Array) -> Refusal | None:
        if demand.mode is not Mode.POSITION:
            return None
        step = self._rules.step
        near = np.abs(demand.values - demanded) <= step + ROUNDING
        if near.all():
            return None
        i = int(np.argmin(near))
        wanted, present = float(demand.values[i]), float(demanded[i])
        return refused_jump(self._rules.names[i], wanted, present, float(step[i]), "max_step")
