# SPDX-License-Identifier: Apache-2.0
"""Limits of commands: the commands of any control law are cut to the limits of the joints and of their rates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_controllers.state import CommandRefused, State
from ada_dynamics import expr
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.expr import Traced
from ada_dynamics.jit import Kernel
from ada_dynamics.jit.compiled import Vector, compiled_kernel
from ada_dynamics.spatial.vector import Scalar
from ada_robot.contract import Command, JointLimit
from ada_robot.settings import setting

UNLIMITED = 1e30  # replaces infinity, so that differences are finite
STOPPING = 0.02  # minimum time to reach a position limit [s]
SHORTEST = 1e-9  # keeps unlimited rates unlimited between commands of the same time [s]


@dataclass(frozen=True)
class ShapingSettings:
    """Command limits in addition to those of the robot description."""

    effort_scale: float = setting(1.0, "usable fraction of each joint's effort limit", lower=0.0, upper=1.0)
    velocity_scale: float = setting(1.0, "usable fraction of each joint's velocity limit", lower=0.0, upper=1.0)
    effort_rate: float = setting(0.0, "limit of the rate of efforts; 0: no limit", unit="N m/s, N/s", lower=0.0)
    acceleration: float = setting(0.0, "limit of the acceleration; 0: no limit", unit="rad/s^2, m/s^2", lower=0.0)
    position_margin: float = setting(0.0, "margin that commands keep to the position limits", unit="rad, m", lower=0.0)


class Shaper:
    """Limits the values of commands, and their change from one command to the next.

    Limits take precedence over rates: a value outside a limit is cut to it at once. Positions change at most by the
    velocity limit, starting from the measured ones; velocities start from the measured ones as well. Velocities without
    positions are reduced near position limits, so that the joints can stop there. A joint that starts within the margin
    leaves it at its velocity.

    Attributes:
        before: last limited command.
        then: time of the last command [s]; NaN before `begin`.
        count: number of commands that were cut since `begin`.
    """

    def __init__(
        self,
        limits: Sequence[JointLimit],
        settings: ShapingSettings,
        places: tuple[NDArray[np.intp], NDArray[np.intp]],
        law: str,
        kind: str,
    ) -> None:
        """Set the limits, and compile the kernels.

        Args:
            limits: limits of the commanded joints.
            settings: additional limits.
            places: indices of the joints in q and in v.
            law: name of the controller for messages.
            kind: kind of its commands: "effort", "position" or "velocity".

        Raises:
            InputError: if the margin leaves a joint no range.
        """
        self._law, (self._q_index, self._v_index) = law, places
        self._names = tuple(limit.name for limit in limits)
        self._ends = tuple(bounded([getattr(limit, end) for limit in limits]) for end in ("lower", "upper"))
        margin = settings.position_margin
        for limit in limits:
            if limit.lower + margin > limit.upper - margin:
                text = (
                    f"position_margin {margin:g} exceeds half the range of joint {limit.name!r}, "
                    f"[{limit.lower:g}, {limit.upper:g}]. Reduce it."
                )
                raise InputError(text, joint=limit.name, field="position_margin", value=margin)
        self._lower = bounded([limit.lower + margin for limit in limits])
        self._upper = bounded([limit.upper - margin for limit in limits])
        # a scale of zero allows no effort, even without a limit
        self._effort = settings.effort_scale * bounded([limit.effort for limit in limits])
        self._speed = settings.velocity_scale * bounded([limit.velocity for limit in limits])
        self._effort_rate = np.full(len(limits), settings.effort_rate or UNLIMITED)
        self._acceleration = np.full(len(limits), settings.acceleration or UNLIMITED)
        self._zero = np.zeros(len(limits))
        self._calls: dict[str, Callable[..., Any]] = {}
        self._dt = np.zeros(1)
        self.before, self.then, self.count = Command(), math.nan, 0
        self._cut = self._uncut = np.zeros(len(limits) + 1)
        # fast path for commands that need no cut
        self._passes = _passes(len(limits)).python_call(lambda *_: None)
        self._call(kind)

    def begin(self, time: float, command: Command | None = None) -> None:
        """Reset; the next command changes from the given one, or from none.

        Raises:
            InputError: if the command is invalid.
        """
        given = {} if command is None else command.given()
        # copies, because the arrays belong to the caller
        before = {mode: self._checked(mode.value, values).copy() for mode, values in given.items()}
        self.before, self.then, self.count, self._cut = Command.of(before), time, 0, self._uncut

    @property
    def saturated(self) -> tuple[str, ...]:
        """Joints whose last command was cut."""
        return tuple(name for name, cut in zip(self._names, self._cut[:-1], strict=True) if cut)

    def __call__(self, command: Command, state: State, time: float) -> Command:
        """Return the command within all limits.

        Raises:
            CommandRefused: if the command is invalid; the last one remains in force.
        """
        _, position, velocity, effort, _ = command
        passed = time - self.then
        self._dt[0] = passed if passed > SHORTEST else SHORTEST
        if position is None and velocity is None and effort is not None:
            last = self.before.effort
            if (
                self._passes(effort, effort if last is None else last, self._effort, self._effort_rate, self._dt)
                is not None
            ):
                self.before, self.then, self._cut = command, time, self._uncut
                return command
        shaped, cut = self._all_parts(effort, position, velocity, state)
        self.before, self.then, self._cut = shaped, time, cut
        if cut[-1]:
            self.count += 1
        return shaped

    def _all_parts(
        self, effort: Array | None, position: Array | None, velocity: Array | None, state: State
    ) -> tuple[Command, Array]:
        before, cut = self.before, self._uncut
        if effort is not None:
            last = effort if before.effort is None else before.effort
            effort, cut = self._call("effort")(effort, last, self._effort, self._effort_rate, self._dt)
        q, v = state.q[self._q_index], state.v[self._v_index]
        last_velocity = v if before.velocity is None else before.velocity
        if position is not None:
            last = q if before.position is None else before.position
            speeds = (self._zero, self._zero) if velocity is None else (velocity, last_velocity)
            ends = *self._room(last), self._speed
            position, allowed, lost = self._call("position")(
                position, speeds[0], last, speeds[1], *ends, self._acceleration, self._dt
            )
            velocity = None if velocity is None else allowed
            cut = np.maximum(cut, lost)
        elif velocity is not None:
            velocity, lost = self._velocity_cut(velocity, last_velocity, q)
            cut = np.maximum(cut, lost)
        return Command(position=position, velocity=velocity, effort=effort), cut

    def _room(self, last: Array) -> tuple[Array, Array]:
        """Return the position range without the margin, extended for joints that have not left the margin yet."""
        lowest, highest = self._ends
        lower = np.minimum(self._lower, np.maximum(last, lowest))
        return lower, np.maximum(self._upper, np.minimum(last, highest))

    def before_ends(self, velocity: Array, state: State) -> Array:
        """Limit velocities without positions near the position limits."""
        allowed: Array = self._velocity_cut(velocity, velocity, state.q[self._q_index])[0]
        return allowed

    def _velocity_cut(self, velocity: Array, last: Array, q: Array) -> Any:
        ends = self._lower, self._upper, self._speed
        return self._call("velocity")(velocity, last, q, *ends, self._acceleration, self._dt)

    def _call(self, name: str) -> Callable[..., Any]:
        """Return a compiled rule, with a fallback for other arguments than float64 vectors that reports errors."""
        call = self._calls.get(name)
        if call is None:
            kernel = _kernel(name, len(self._names))
            parts = ("position", "velocity") if name == "position" else (name,)

            def careful(*arrays: Any) -> Any:
                desired = [self._checked(part, values) for part, values in zip(parts, arrays, strict=False)]
                rest = [np.ascontiguousarray(values, dtype=np.float64) for values in arrays[len(parts) :]]
                return kernel.single(*desired, *rest)

            call = self._calls[name] = kernel.python_call(careful)
        return call

    def _checked(self, part: str, values: Any) -> Array:
        """Return one part of a command as a vector.

        Raises:
            CommandRefused: if it is not one finite number per joint.
        """
        try:
            checked = np.ascontiguousarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            checked = np.zeros(0)
        if checked.shape != (len(self._names),):
            text = (
                f"{self._law}: the commanded {part} is {values!r:.80}; it must have {len(self._names)} numbers, one "
                f"for each of {', '.join(self._names)}."
            )
            raise CommandRefused(text, field=part, value=values, allowed=f"{len(self._names)} numbers")
        for name, value in zip(self._names, checked.tolist(), strict=True):
            if not math.isfinite(value):
                text = (
                    f"{self._law}: the commanded {part} of joint {name!r} is {value}; the last command remains in "
                    "force. Check the gains, and whether the state is in the range of the law."
                )
                raise CommandRefused(text, joint=name, field=part, value=value)
        return checked


def bounded(values: Sequence[float] | Array) -> Array:
    """Replace infinity by a large number, for compiled code."""
    return np.clip(np.array(values, dtype=np.float64), -UNLIMITED, UNLIMITED)


# --- rules, over generic scalars --------------------------------------------------------------------------------------
def _within(value: Scalar, lowest: Scalar, highest: Scalar) -> Scalar:
    return expr.minimum(expr.maximum(value, lowest), highest)


def _limited(value: Scalar, last: Scalar, change: Scalar, lowest: Scalar, highest: Scalar) -> Scalar:
    """Limit the change from the last value, and the value."""
    return _within(_within(value, last - change, last + change), lowest, highest)


def _speed_to_end(way: Scalar, acceleration: Scalar) -> Scalar:
    """Return the velocity from which a joint can stop within a distance, by its acceleration and by STOPPING.

    Near the limit v = s/T, whose deceleration s/T² equals a at s = a T²; before that v² = 2 a s - (a T)², which
    continues it smoothly with deceleration a.
    """
    slow = acceleration * STOPPING
    square = 2.0 * acceleration * way - slow * slow
    far = expr.sqrt(expr.maximum(square, slow * slow))
    return expr.select(way, slow * STOPPING, way / STOPPING, far)


def _cuts(*parts: tuple[Vector, Sequence[Scalar]]) -> list[Scalar]:
    """Return flags of the joints whose command was limited, and their number."""
    cut: list[Scalar] = []
    for pairs in zip(*(zip(desired, allowed, strict=True) for desired, allowed in parts), strict=True):
        first, *others = (expr.absolute(desired - allowed) for desired, allowed in pairs)
        cut.append(expr.select(0.0, sum(others, first), 1.0, 0.0))
    return [*cut, sum(cut[1:], cut[0])]


def _effort(effort: Vector, before: Vector, limit: Vector, rate: Vector, dt: Vector) -> Any:
    allowed = [
        _limited(value, last, change * dt[0], -most, most)
        for value, last, most, change in zip(effort, before, limit, rate, strict=True)
    ]
    return {"allowed": allowed, "cut": _cuts((effort, allowed))}


def _velocity(
    velocity: Vector,
    before: Vector,
    present: Vector,
    lower: Vector,
    upper: Vector,
    speed: Vector,
    acceleration: Vector,
    dt: Vector,
) -> Any:
    """Limit velocities without positions near the position limits, where no position command stops the joint."""
    allowed = []
    for i, value in enumerate(velocity):
        a = acceleration[i]
        up = expr.minimum(_speed_to_end(expr.maximum(upper[i] - present[i], 0.0), a), speed[i])
        down = expr.minimum(_speed_to_end(expr.maximum(present[i] - lower[i], 0.0), a), speed[i])
        allowed.append(_limited(value, before[i], a * dt[0], -down, up))
    return {"allowed": allowed, "cut": _cuts((velocity, allowed))}


def _position(
    position: Vector,
    velocity: Vector,
    position_before: Vector,
    velocity_before: Vector,
    lower: Vector,
    upper: Vector,
    speed: Vector,
    acceleration: Vector,
    dt: Vector,
) -> Any:
    """Limit positions with their velocities; the velocity is zero towards a limit that the position has reached."""
    places, speeds = [], []
    for i, value in enumerate(velocity):
        places.append(_limited(position[i], position_before[i], speed[i] * dt[0], lower[i], upper[i]))
        most = expr.select(upper[i], position[i], 0.0, speed[i])
        least = expr.select(position[i], lower[i], 0.0, -speed[i])
        speeds.append(_limited(value, velocity_before[i], acceleration[i] * dt[0], least, most))
    return {"position_": places, "velocity_": speeds, "cut": _cuts((position, places), (velocity, speeds))}


@lru_cache(maxsize=32)
def _passes(count: int) -> Kernel:
    """Compile a kernel that succeeds if no effort exceeds a limit."""

    def body(effort: Vector, before: Vector, limit: Vector, rate: Vector, dt: Vector) -> Traced:
        guards: list[Scalar] = []
        for value, last, most, each in zip(effort, before, limit, rate, strict=True):
            change, step = each * dt[0], value - last
            guards += [most - value, most + value, change - step, change + step]
        return Traced({"sum": [sum(effort[1:], effort[0])]}, guards)

    sizes = dict.fromkeys(("effort", "before", "limit", "rate"), count)
    return compiled_kernel("efforts_pass", {**sizes, "dt": 1}, body)


_RULES: dict[str, Callable[..., Any]] = {"effort": _effort, "position": _position, "velocity": _velocity}


@lru_cache(maxsize=64)
def _kernel(name: str, count: int) -> Kernel:
    """Compile a rule: the limited command, a flag for each joint that was cut, and their number."""
    body = _RULES[name]
    vectors = dict.fromkeys(signature(body).parameters, count)
    return compiled_kernel(f"within_limits_{name}", {**vectors, "dt": 1}, body)
