# SPDX-License-Identifier: Apache-2.0
"""Violation checks of the commands to an emulated HEXA: commands that must never be sent to a real one."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_hardware.hexa.limits import LIMITS, PERIOD, RATE_LIMIT
from ada_hardware.hexa.packets import CommandPacket, Request
from ada_robot.contract import Mode
from ada_robot.limits import Limits

_ROUNDING = 1e-9  # [rad]
_BOUNDS = Limits(LIMITS)


def invalid_reason(command: CommandPacket, present: Array, cycles: int) -> str:
    """Return why the motors cannot execute a command; "" if they can.

    Args:
        command: POSITION or EFFORT command.
        present: present targets [rad].
        cycles: cycles since the last command, including lost ones.
    """
    values, what, is_effort = np.array(command.values), command.request.name, command.request is Request.EFFORT
    refusal = _BOUNDS.refusal(Mode.EFFORT if is_effort else Mode.POSITION, values, present)  # return motion is allowed
    if refusal is not None:
        return f"{what}, {refusal.reason.value}: {refusal.text}"
    steps, most = np.abs(values - present), RATE_LIMIT * PERIOD * cycles + _ROUNDING
    if is_effort or (steps <= most).all():
        return ""
    i = int(np.argmax(steps))
    return f"{what}: a step of {steps[i]:.6g} rad for leg {i + 1} in {cycles} cycles, at most {most:.6g}"
