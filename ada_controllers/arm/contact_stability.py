# SPDX-License-Identifier: Apache-2.0
"""Stability of a compliant end effector in contact, as a sampled linear loop with a servo.

In one direction, measured from the wall, the hand is at x and the wall exerts f = k x. The controller reads both every
T seconds, f possibly delayed and filtered (y), and commands the velocity v = P (d - y/K - x). Then

    ideal robot, no delay              stable for P T (1 + k/K) < 2
    ideal robot, one period of delay   stable for P T k/K < 1 (and P T < 2)
    servo with bandwidth ω             by `spectral_radius`

The stiffest stable contact grows with K and decreases with P and T. A filter with time constant τ raises it by about
1 + P τ, and causes oscillation on the approach to a constant force. A moving target (mode `moved`, time τ_m) causes
oscillation for k > K P τ_m / 4, for any T; both together (mode `relaxed`) do not.
"""

from __future__ import annotations

import math

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError

STIFFEST = 1e12  # upper bound of the search [N/m]
_TERMS = 12  # number of terms of the exponential series


def spectral_radius(
    contact: float,
    *,
    gain: float,
    stiffness: float,
    period: float,
    delay: int = 0,
    filter_time: float = 0.0,
    bandwidth: float = 0.0,
    servo_stiffness: float = 0.0,
) -> float:
    """Return the growth factor of the loop per period; below 1 it is stable.

    Args:
        contact: stiffness k of wall and sensor [N/m].
        gain: gain P of the pose servo [1/s].
        stiffness: desired stiffness K of the hand [N/m].
        period: control period T [s].
        delay: delay of the force in periods.
        filter_time: time constant of the force filter [s].
        bandwidth: ω of critically damped position and velocity servos [rad/s]; 0 for an ideal robot.
        servo_stiffness: stiffness of these servos at the hand [N/m]; 0 for rigid servos.
    """
    servo, commanded = _servo(contact, period, bandwidth, servo_stiffness)
    share = 1.0 - math.exp(-period / filter_time) if filter_time > 0.0 else 1.0
    # state (x, x', u, y, delayed forces, latest first) with the commanded position u
    n = 4 + delay
    force = np.zeros(n)
    force[0 if not delay else 3 + delay] = contact if not delay else 1.0
    felt = share * force
    felt[3] += 1.0 - share
    velocity = -gain / stiffness * felt
    velocity[0] -= gain
    step = np.zeros((n, n))
    step[2] = period * velocity
    step[2, 2] += 1.0
    step[:2, :2] = servo
    step[:2] += np.outer(commanded[:, 0], step[2]) + np.outer(commanded[:, 1], velocity)
    step[3] = felt
    if delay:
        step[4, 0] = contact
        for i in range(5, n):
            step[i, i - 1] = 1.0
    return float(np.max(np.abs(np.linalg.eigvals(step))))


def stiffest_contact(**loop: float) -> float:
    """Return the contact stiffness at the stability limit [N/m]; arguments of `spectral_radius`.

    Raises:
        InputError: if the loop is unstable without contact.
    """
    if _is_unstable(0.0, loop):
        raise InputError(
            f"gain {loop['gain']:g} 1/s is too large for a period of {loop['period']:g} s; reduce it.",
            field="gain",
            value=loop["gain"],
        )
    low, high = 0.0, loop["stiffness"]
    while not _is_unstable(high, loop):
        low, high = high, 2.0 * high
        if high > STIFFEST:
            return math.inf
    while high - low > 1e-9 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if _is_unstable(middle, loop) else (middle, high)
    return low


def _is_unstable(contact: float, loop: dict[str, float]) -> bool:
    return spectral_radius(contact, **loop) > 1.0 + 1e-12  # type: ignore[arg-type]


def _servo(contact: float, period: float, bandwidth: float, servo_stiffness: float) -> tuple[Array, Array]:
    """Return the transition of (x, x') over a period, and the response to commanded position and velocity.

    x'' = ω² (u - x) + 2 ω (v - x') - ω² k / k_s x. An ideal robot follows the command exactly.
    """
    if bandwidth <= 0.0:
        return np.zeros((2, 2)), np.array([[1.0, 0.0], [0.0, 1.0]])
    pushed = contact / servo_stiffness if servo_stiffness > 0.0 else 0.0
    w2 = bandwidth * bandwidth
    motion = np.zeros((4, 4))
    motion[0, 1] = 1.0
    motion[1] = -w2 * (1.0 + pushed), -2.0 * bandwidth, w2, 2.0 * bandwidth
    whole = _exponential(period * motion)
    return whole[:2, :2], whole[:2, 2:]


def _exponential(A: Array) -> Array:
    """Return the exponential of a small matrix by a Taylor series with scaling and squaring."""
    halvings = max(0, math.ceil(math.log2(max(float(np.abs(A).sum()), 1e-300))) + 3)
    part = A / 2.0**halvings
    total = term = np.eye(len(A))
    for k in range(1, _TERMS):
        term = term @ part / k
        total = total + term
    return np.asarray(np.linalg.matrix_power(total, 2**halvings))
