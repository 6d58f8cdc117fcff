# SPDX-License-Identifier: Apache-2.0
"""Decentralized PID control (Awa 2009, eq. 1), with filtered derivative and anti-windup.

    u = K_p (e + (1/T_i) ∫ e dτ + T_d ė),   e = q* - q

u is an effort, with K_p in N m/rad; or, as in Awa 2009, sec. 2.4, a velocity setpoint, with K_p in 1/s, for a motor
velocity loop τ = k (u - q̇) with k the setting `speed_gain`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_controllers.controller import Controller
from ada_controllers.state import JointReference, State
from ada_dynamics import expr
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.coordinates import null_space
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.jit.compiled import Vector, compiled
from ada_robot.contract import Command
from ada_robot.settings import setting

FREQUENCY = 10.0  # frequency of errors with gains from the inertia [rad/s]; critically damped for T_d = 0.2 s
LONGEST = 0.1  # maximum time between updates that is integrated [s]


@dataclass(frozen=True)
class PidSettings:
    """Gains of eq. 1, derivative filter and anti-windup."""

    gain: tuple[float, ...] = setting(
        (),
        "K_p of each joint; one value for all; empty: 100/s^2 times the inertia, 10/s with speed_gain",
        unit="N m/rad, N/m; 1/s with speed_gain",
        lower=0.0,
    )
    integral_time: tuple[float, ...] = setting(
        (0.5,), "T_i of each joint; one value for all; 0: no integral term", unit="s", lower=0.0
    )
    derivative_time: tuple[float, ...] = setting((0.2,), "T_d of each joint; one value for all", unit="s", lower=0.0)
    derivative_filter: float = setting(0.0, "time constant of the derivative filter; 0: no filter", unit="s", lower=0.0)
    anti_windup: bool = setting(True, "stop the integration while the effort is saturated")
    speed_gain: tuple[float, ...] = setting(
        (0.0,),
        "k of each motor's speed loop; one value for all; 0: u is the effort",
        unit="N m s/rad, N s/m",
        lower=0.0,
    )


class Pid(Controller[PidSettings]):
    """Eq. 1 for each joint; also for robots with passive joints, loops and a floating base."""

    NAME = "pid"
    SUMMARY = "joint positions with proportional, integral and derivative action (Awa 2009, eq. 1)"
    KIND = "effort"
    REFERENCES = (JointReference,)
    SETTINGS = PidSettings

    def _prepare(self) -> None:
        own = self.settings
        self._td = self.per_joint("derivative_time", own.derivative_time)
        self._ti = self.per_joint("integral_time", own.integral_time)
        self._speed_gain = self.per_joint("speed_gain", own.speed_gain)
        self._kp = self.per_joint("gain", own.gain or (0.0,))
        self._ki = integral_gains(self._kp, self._ti)
        self._efforts = _motor(len(self.joints))
        self._rules = np.array([0.0, own.derivative_filter, float(own.anti_windup)])  # first element: dt
        self._zero = np.zeros(len(self.joints))
        self._sum, self._slope, self._error, self._desired = (self._zero,) * 4

    def _begin(self, state: State, time: float) -> None:
        """Start with an integral that continues the last command; the error is zero."""
        if not self.settings.gain:
            inertias = apparent_inertias(Dynamics(self.model), state.q, self.v_index)
            self._kp = np.where(self._speed_gain > 0.0, FREQUENCY, FREQUENCY**2 * inertias)
            self._ki = integral_gains(self._kp, self._ti)
        effort, v, moves = self.last_command.effort, state.v[self.v_index], self._speed_gain > 0.0
        self._slope, self._error = -v, self._zero
        self._desired, self._sum = self._zero, self._zero
        if effort is not None:
            u = np.where(moves, np.divide(effort, self._speed_gain, out=np.zeros_like(effort), where=moves) + v, effort)
            self._desired = effort
            self._sum = np.where(self._ki > 0.0, u - self._kp * self._td * self._slope, 0.0)

    def _law(self, state: State, time: float) -> Command:
        position, velocity, _ = self.reference  # type: ignore[misc]
        commanded = self.last_command.effort
        self._rules[0] = min(time - self._shaper.then, LONGEST)
        efforts, self._sum, self._slope, self._error = self._efforts(
            state.q[self.q_index],
            state.v[self.v_index],
            position,
            self._zero if velocity is None else velocity,
            self._sum,
            self._slope,
            self._desired if commanded is None else commanded,
            self._desired,
            self._kp,
            self._ki,
            self._td,
            self._speed_gain,
            self._rules,
        )
        self._desired = efforts
        return Command(effort=efforts)

    def signals(self) -> dict[str, Array]:
        """Return error [rad, m] and integral term, in units of u, of the last update."""
        return {"error": self._error, "integral": self._sum}


def apparent_inertias(dynamics: Dynamics, q: Array, places: NDArray[np.intp]) -> Array:
    """Inertia of the mechanism at joints, each with all other joints free and loops closed [kg m², kg].

    Args:
        dynamics: dynamics of the robot.
        q: configuration.
        places: indices of the joints in v.
    """
    constraints = dynamics.constraints
    found = null_space(constraints.scaled_jacobian(q), constraints.mobility)
    T = constraints.coordinates.units[:, None] * found.basis(int(found.lost))
    inverse = np.einsum("im,mi->i", T, np.linalg.solve(T.T @ dynamics.mass_matrix(q) @ T, T.T))[places]
    return np.asarray(np.divide(1.0, inverse, out=np.zeros(len(places)), where=inverse > 0.0))


def integral_gains(kp: Array, integral_time: Array) -> Array:
    """Return K_p / T_i; zero for T_i = 0."""
    return np.divide(kp, integral_time, out=np.zeros_like(kp), where=integral_time > 0.0)


# --- eq. 1, over generic scalars --------------------------------------------------------------------------------------
def _u(error: Vector, slope: Vector, sums: Vector, kp: Vector, ki: Vector, td: Vector, dt: Vector) -> Any:
    """Eq. 1 with z = (K_p/T_i) ∫ e dτ up to now: u and z."""
    z = [s + k * e * dt[0] for s, k, e in zip(sums, ki, error, strict=True)]
    terms = zip(error, z, slope, kp, td, strict=True)
    return {"u": [k * (e + d * rate) + s for e, s, rate, k, d in terms], "sums_": z}


@lru_cache(maxsize=32)
def equation(count: int) -> Callable[..., Any]:
    """Compile (error, its rate, previous integral, K_p, K_p/T_i, T_d, [dt]) -> u of eq. 1, and the integral."""
    return compiled("awa_equation_1", {**dict.fromkeys(signature(_u).parameters, count), "dt": 1}, _u)


@lru_cache(maxsize=32)
def _motor(count: int) -> Callable[..., Any]:
    """Compile eq. 1 with filtered derivative, anti-windup and the motor velocity loop."""

    def body(
        q: Vector,
        v: Vector,
        q_ref: Vector,
        v_ref: Vector,
        sums: Vector,
        slopes: Vector,
        commanded: Vector,
        desired: Vector,
        kp: Vector,
        ki: Vector,
        td: Vector,
        speed_gain: Vector,
        rules: Vector,
    ) -> Any:
        dt, smooth, waits = rules
        error = [a - b for a, b in zip(q_ref, q, strict=True)]
        rate = [a - b for a, b in zip(v_ref, v, strict=True)]
        # first-order filter by an implicit step, stable for all dt
        share = expr.select(0.0, smooth, dt / (smooth + dt + _TINY), 1.0)
        slope = [old + share * (new - old) for old, new in zip(slopes, rate, strict=True)]
        # anti-windup: no integration while limits cut the effort in the direction of the error
        added = [
            expr.select(waits * (was - asked) * e, 0.0, 0.0, k)
            for was, asked, e, k in zip(commanded, desired, error, ki, strict=True)
        ]
        found = _u(error, slope, sums, kp, added, td, (dt,))
        efforts = [
            expr.select(0.0, k, k * (u - speed), u) for u, k, speed in zip(found["u"], speed_gain, v, strict=True)
        ]
        return {"efforts": efforts, "sums_": found["sums_"], "slopes_": slope, "error": error}

    return compiled("pid", {**dict.fromkeys(signature(body).parameters, count), "rules": 3}, body)


_TINY = 1e-300  # keeps the unused branch of `select` finite
