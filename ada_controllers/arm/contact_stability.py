# SPDX-License-Identifier: Apache-2.0
"""How stiff a contact may be for a compliant hand before it begins to hammer: a linear loop, sampled, with a servo.

Along one direction, from the wall on: the hand is at x, the wall pushes with f = k x, the controller sees both every
T seconds, f maybe late and filtered (y), and commands the velocity v = P (d - y/K - x). Then

    ideal robot, no delay              stable for P T (1 + k/K) < 2
    ideal robot, one period of delay   stable for P T k/K < 1 (and P T < 2)
    a servo of bandwidth ω             as `spectral_radius` finds

so the stiffest contact grows with K and falls with P and T; a filter of time τ raises it by about 1 + P τ, and makes
the approach to a steady force swing. A target that goes along (mode `moved`, time τ_m) makes the force swing from about
k = K P τ_m / 4 on, however short T is; not so with both (mode `relaxed`).
"""

from __future__ import annotations

import math

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError

STIFFEST = 1e12  # [N/m] that is looked for: any
_TERMS = 12  # of the series of an exponential


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
    """Growth of the loop from one period to the next; under 1 it is stable.

    Args:
        contact: stiffness k of wall and sensor [N/m].
        gain: P of the pose servo [1/s].
        stiffness: K that the hand shall have [N/m].
        period: T between two calls [s].
        delay: periods until a force is known.
        filter_time: of the force [s].
        bandwidth: ω of critically damped servos of position and velocity [rad/s]; 0: an ideal robot.
        servo_stiffness: of these servos at the hand [N/m]; 0: the contact does not push them back.
    """
    servo, commanded = _servo(contact, period, bandwidth, servo_stiffness)
    share = 1.0 - math.exp(-period / filter_time) if filter_time > 0.0 else 1.0
    # of (x, x', u, y, force of the last calls, latest first): u is the commanded position
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
    """The stiffness of a contact at which the loop begins to be unstable [N/m]; arguments of `spectral_radius`.

    Raises:
        InputError: the loop is unstable even without a contact.
    """
    if _is_unstable(0.0, loop):
        raise InputError(
            f"gain {loop['gain']:g} 1/s is too much for a period of {loop['period']:g} s; make it smaller.",
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
    """Transition of (x, x') over a period: free response, and response to the commanded position and velocity.

    x'' = ω² (u - x) + 2 ω (v - x') - ω² k / k_s x. An ideal robot follows a command at once.
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
    """Exponential of a small matrix: Taylor series with scaling and squaring."""
    halvings = max(0, math.ceil(math.log2(max(float(np.abs(A).sum()), 1e-300))) + 3)
    part = A / 2.0**halvings
    total = term = np.eye(len(A))
    for k in range(1, _TERMS):
        term = term @ part / k
        total = total + term
    return np.asarray(np.linalg.matrix_power(total, 2**halvings))
