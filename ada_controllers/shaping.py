# SPDX-License-Identifier: Apache-2.0
"""Commands within the limits of the joints, whatever a control law asks for; what was cut is told."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ada_controllers.compiled import Vector, compiled
from ada_controllers.state import Array, Command, State
from ada_dynamics import expr
from ada_dynamics.commanding.rules import JointLimit
from ada_dynamics.errors import InputError
from ada_dynamics.settings import setting

UNLIMITED = 1e30  # stands for infinity: differences of two of them stay numbers


@dataclass(frozen=True)
class ShapingSettings:
    """What commands are held to, beside the limits of the robot description."""

    effort_scale: float = setting(1.0, "part of each joint's effort limit that may be used", lower=0.0, upper=1.0)
    velocity_scale: float = setting(1.0, "part of each joint's velocity limit that may be used", lower=0.0, upper=1.0)
    effort_rate: float = setting(0.0, "greatest change of efforts; 0: any", unit="N m/s, N/s", lower=0.0)
    acceleration: float = setting(0.0, "greatest change of velocities; 0: any", unit="rad/s^2, m/s^2", lower=0.0)
    position_margin: float = setting(
        0.0, "kept from the position limits by positions and velocities", unit="rad, m", lower=0.0
    )


class Shaper:
    """Holds commands to limits: values, and their change from one command to the next.

    Attributes:
        saturated: joints whose last command was cut.
        count: commands that were cut since `begin`.
    """

    def __init__(self, limits: Sequence[JointLimit], settings: ShapingSettings, q_index: Array) -> None:
        """Take the limits.

        Args:
            limits: of the commanded joints.
            settings: what else commands are held to.
            q_index: where the joints' positions are in q.

        Raises:
            InputError: margins that leave a joint no room.
        """
        self._names = tuple(limit.name for limit in limits)
        self._q_index = q_index
        effort = np.array([settings.effort_scale * limit.effort for limit in limits])
        speed = np.array([settings.velocity_scale * limit.velocity for limit in limits])
        lower = np.array([limit.lower + settings.position_margin for limit in limits])
        upper = np.array([limit.upper - settings.position_margin for limit in limits])
        for limit, low, high in zip(limits, lower, upper, strict=True):
            if low > high:
                raise InputError(
                    f"position_margin is {settings.position_margin:g}; it leaves joint {limit.name!r} no room within "
                    f"[{limit.lower:g}, {limit.upper:g}]. Make it smaller."
                )
        self._effort, self._speed = _bounded(effort), _bounded(speed)
        self._lower, self._upper = _bounded(lower), _bounded(upper)
        self._minus_effort, self._minus_speed = -self._effort, -self._speed
        self._effort_rate = np.full(len(limits), settings.effort_rate or UNLIMITED)
        self._acceleration = np.full(len(limits), settings.acceleration or UNLIMITED)
        self._within = _within(len(limits))
        self._dt = np.zeros(1)
        self._before: Command = Command()
        self._then = -math.inf
        self._cut = np.zeros(len(limits))
        self.count = 0

    def begin(self, time: float, command: Command | None = None) -> None:
        """Forget what was commanded; the next command changes from this one, or from nothing."""
        self._before, self._then, self.count = command or Command(), time, 0
        self._cut = np.zeros(len(self._names))

    @property
    def saturated(self) -> tuple[str, ...]:
        """Joints whose last command was cut."""
        return tuple(name for name, cut in zip(self._names, self._cut, strict=True) if cut)

    def __call__(self, command: Command, state: State, time: float) -> Command:
        """A command within all limits.

        Raises:
            InputError: the control law gave what is not finite.
        """
        self._dt[0] = max(time - self._then, _SHORTEST)
        before, effort, position, velocity = self._before, command.effort, command.position, command.velocity
        cut = None
        if effort is not None:
            effort, cut = self._within(
                effort,
                effort if before.effort is None else before.effort,
                self._minus_effort,
                self._effort,
                self._effort_rate,
                self._dt,
            )
        if position is not None:
            present = state.q[self._q_index] if before.position is None else before.position
            position, cut = self._within(position, present, self._lower, self._upper, self._speed, self._dt)
        if velocity is not None:
            lowest, highest = self._minus_speed, self._speed
            if position is None:  # nothing else keeps the joint from running into its end
                lowest, highest = self._speeds_to_ends(state.q[self._q_index])
            velocity, lost = self._within(
                velocity,
                velocity if before.velocity is None else before.velocity,
                lowest,
                highest,
                self._acceleration,
                self._dt,
            )
            cut = lost if cut is None else cut + lost
        shaped = Command(effort, position, velocity)
        self._before, self._then = shaped, time
        if cut is not None:
            self._cut = cut
            if cut[-1]:
                self.count += 1
        return shaped

    def _speeds_to_ends(self, position: Array) -> tuple[Array, Array]:
        """Velocities at which a joint can still stop before its limits, by the acceleration that it has."""
        room = np.maximum(self._upper - position, 0.0), np.maximum(position - self._lower, 0.0)
        up, down = (np.minimum(np.sqrt(2.0 * self._acceleration * way), way / _STOPPING) for way in room)
        return -np.minimum(down, self._speed), np.minimum(up, self._speed)


_STOPPING = 0.02  # [s] in which a joint may be told to reach its end
_SHORTEST = 1e-9  # [s] so that what is unlimited stays so between two commands of one moment


def _bounded(values: Array) -> Array:
    return np.clip(values, -UNLIMITED, UNLIMITED)


@lru_cache(maxsize=32)
def _within(count: int) -> Callable[..., Any]:
    """(wanted, before, lowest, highest, rate, dt) -> what is allowed, and whether each was cut, with their number."""

    def body(wanted: Vector, before: Vector, lowest: Vector, highest: Vector, rate: Vector, dt: Vector) -> Any:
        allowed, cut = [], []
        for value, last, low, high, change in zip(wanted, before, lowest, highest, rate, strict=True):
            step = change * dt[0]
            near = expr.minimum(expr.maximum(value, last - step), last + step)
            within = expr.minimum(expr.maximum(near, low), high)
            allowed.append(within)
            cut.append(expr.select(0.0, expr.absolute(value - within), 1.0, 0.0))
        return {"allowed": allowed, "cut": [*cut, sum(cut[1:], cut[0])]}

    sizes = dict.fromkeys(("wanted", "before", "lowest", "highest", "rate"), count)
    return compiled("within_limits", {**sizes, "dt": 1}, body)
