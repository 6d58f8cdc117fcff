# SPDX-License-Identifier: Apache-2.0
"""The judge of what comes to an emulated HEXA: what a host must never send to a real one."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_hardware.emulation.emulator import Violation
from ada_hardware.hexa.limits import LIMITS, PERIOD, RATE_LIMIT
from ada_hardware.hexa.packets import CommandPacket, Request, State
from ada_robot.contract import Mode
from ada_robot.limits import Limits

GRACE = 0.1  # [s] after an alarm in which a host may not yet have heard of it: answers can get lost
_ROUNDING = 1e-9  # [rad]
_BOUNDS = Limits(LIMITS)


class CommandJudge:
    """Writes down violations.

    Attributes:
        violations: in order.
    """

    def __init__(self, violations: list[Violation]) -> None:
        """Args: where to write."""
        self.violations = violations

    def second_host(self, now: float, command: CommandPacket) -> None:
        """A host that does not drive the table demands something of it."""
        self._add(now, f"{command.request.name} of a second host, session {command.session:08x}")

    def not_driven(self, now: float, command: CommandPacket, state: State, since_alarm: float) -> None:
        """A demand came that a table with its brakes on, or in alarm, cannot follow."""
        if state is not State.ALARM:
            self._add(now, f"{command.request.name} with the brakes on")
        elif since_alarm > GRACE:
            self._add(now, f"{command.request.name} {since_alarm:.3f} s after an alarm that was not cleared")

    def allows(self, now: float, command: CommandPacket, present: Array, cycles: int) -> bool:
        """Whether motors can do what is demanded; a violation else.

        Args:
            now: time [s].
            command: POSITION or EFFORT.
            present: targets before it [rad].
            cycles: since the last command, with those that were lost.
        """
        values, what, is_effort = np.array(command.values), command.request.name, command.request is Request.EFFORT
        refusal = _BOUNDS.refusal(Mode.EFFORT if is_effort else Mode.POSITION, values, present)  # it may come back
        if refusal is not None:
            return self._add(now, f"{what}, {refusal.reason.value}: {refusal.text}")
        if is_effort:
            return True
        steps, most = np.abs(values - present), RATE_LIMIT * PERIOD * cycles + _ROUNDING
        if (steps <= most).all():
            return True
        i = int(np.argmax(steps))
        return self._add(
            now, f"{what}: a step of {steps[i]:.6g} rad for leg {i + 1} in {cycles} cycles, at most {most:.6g}"
        )

    def _add(self, now: float, text: str) -> bool:
        self.violations.append(Violation(now, text))
        return False
