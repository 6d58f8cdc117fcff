# SPDX-License-Identifier: Apache-2.0
"""Transition from the last command to the commands of a new controller, without a jump."""

from __future__ import annotations

from typing import Any

import numpy as np

from ada_controllers.command_shaping import UNLIMITED, bounded
from ada_controllers.controller import Controller
from ada_controllers.running.state_filter import ReceivedState
from ada_controllers.state import State
from ada_dynamics.arrays import Array
from ada_robot.contract import Command, Mode
from ada_robot.limits import Limits

_GREATEST_STEP = 0.2  # maximum progress per command


class CommandBlend:
    """Blends from the last command, or the measured state, to the commands of a controller.

    Time starts with the first command. A gap between two commands counts as a limited progress, so that the command
    does not jump after it.

    Both ends satisfy the limits, and so do all commands between them, except that velocities near position limits are
    limited for the present positions. The rate limits apply to the sum of both changes, so that the blend may take
    longer.
    """

    def __init__(self) -> None:
        """Create a finished transition."""
        self._controller: Controller[Any] | None = None
        self._start = self._last = Command()
        self._then: float | None = None  # time of the last command; None before the first [s]
        self._way = self._duration = 0.0  # elapsed and total time [s]
        self._rates: dict[Mode, Array] = {}
        self._is_over = True

    def begin(self, controller: Controller[Any], start: Command, duration: float) -> None:
        """Start from a command.

        Args:
            controller: new controller.
            start: initial command; its parts that are None are not blended.
            duration: duration of the transition [s].
        """
        self._controller = controller
        self._start = self._last = start
        self._then, self._way = None, 0.0
        self._duration, self._is_over = duration, duration <= 0.0
        shaping = controller.shaping
        speed = shaping.velocity_scale * bounded([limit.velocity for limit in controller.limits])
        self._rates = {
            Mode.POSITION: speed,
            Mode.VELOCITY: np.full_like(speed, shaping.acceleration or UNLIMITED),
            Mode.EFFORT: np.full_like(speed, shaping.effort_rate or UNLIMITED),
        }

    def __call__(self, command: Command, state: State, time: float) -> Command:
        """Return the blended command for a measured state."""
        if self._is_over or self._controller is None:
            return command
        passed = 0.0 if self._then is None else min(max(time - self._then, 0.0), _GREATEST_STEP * self._duration)
        self._way += passed
        s = min(self._way / self._duration, 1.0)
        weight = s * s * (3.0 - 2.0 * s)  # zero slope at both ends
        desired, start, last = command.given(), self._start.given(), self._last.given()
        led = Command.of(
            {
                mode: _between(start.get(mode), last.get(mode), new, weight, self._rates[mode] * passed)
                for mode, new in desired.items()
            }
        )
        led = self._controller.before_ends(led, state)
        parts = led.given()
        self._last, self._then = led, time
        self._is_over = s == 1.0 and all(np.array_equal(parts[mode], new) for mode, new in desired.items())
        return led


def _between(old: Array | None, last: Array | None, new: Array, weight: float, change: Array) -> Array:
    """Interpolate between an old and a new value, limiting the change from the last one."""
    if old is None or last is None:
        return new
    value = new if weight == 1.0 else old + weight * (new - old)
    return np.clip(value, last - change, last + change)


def start_of(controller: Controller[Any], commanded: Command | None, measured: ReceivedState) -> Command:
    """Return the initial command of a controller: the last command of its kind, or the measured state.

    Args:
        controller: new controller.
        commanded: last command; None for none.
        measured: present state.
    """
    last = commanded or Command()
    if controller.KIND == "effort":
        effort = last.effort
        if effort is None or last.position is not None or last.velocity is not None:  # feedforward only
            effort = None if measured.effort is None else measured.effort[controller.v_index]
        is_known = effort is not None and bool(np.isfinite(effort).all())
        return within_limits(controller, Command(effort=effort if is_known else None))
    q, v = measured.state.q[controller.q_index], measured.state.v[controller.v_index]
    return within_limits(
        controller,
        Command(
            effort=None if last.position is None else last.effort,
            position=q if last.position is None else last.position,
            velocity=v if last.velocity is None else last.velocity,
        ),
    )


def within_limits(controller: Controller[Any], command: Command) -> Command:
    """Clip a command to the limits of the robot, which measured values may exceed."""
    limits = Limits(controller.limits)
    return Command.of({mode: np.clip(values, *limits.span(mode)) for mode, values in command.given().items()})
