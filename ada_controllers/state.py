# SPDX-License-Identifier: Apache-2.0
"""Measured states and references of controllers, and their errors, which do not change a controller."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError


class State(NamedTuple):
    """Measured state, as float64 vectors.

    Attributes:
        q: configuration, (nq,).
        v: velocities, (nv,).
        wrench: [f, n] measured by the force sensor, at its origin in its axes [N, N m]; None without a sensor.
    """

    q: Array
    v: Array
    wrench: Array | None = None


class JointReference(NamedTuple):
    """Joint setpoint, one value per joint of the controller in its order.

    Attributes:
        position: positions [rad, m].
        velocity: velocities [rad/s, m/s]; None for zero.
        acceleration: accelerations [rad/s², m/s²]; None for zero.
    """

    position: Array
    velocity: Array | None = None
    acceleration: Array | None = None


class JointPath(NamedTuple):
    """Joint waypoints to be passed in order, starting from the present position.

    Attributes:
        positions: (points, joints) [rad, m].
        times: increasing times from now on [s]; None for as fast as the limits allow.
        velocities: velocities at the points [rad/s, m/s]; None to be chosen.
    """

    positions: Array
    times: Array | None = None
    velocities: Array | None = None


def end_of(reference: JointReference | JointPath) -> Array:
    """Return the final positions."""
    return reference.positions[-1] if isinstance(reference, JointPath) else reference.position


class PoseReference(NamedTuple):
    """Pose setpoint of a link.

    Attributes:
        pose: 4x4, in the base frame of the robot (the world frame for fixed bases).
        twist: [linear, angular] of the link's origin, in base axes [m/s, rad/s]; None for zero.
    """

    pose: Array
    twist: Array | None = None


Reference: TypeAlias = "JointReference | JointPath | PoseReference"


class StateRefused(InputError):
    """Invalid measured state: not finite, wrong size, or older than the last one."""


class ReferenceRefused(InputError):
    """Invalid reference: wrong type, outside limits, or out of reach."""


class CommandRefused(InputError):
    """Invalid command computed by a control law: not finite, or wrong size. It is not sent."""


class ActivationRefused(InputError):
    """State of the robot in which a controller cannot start."""
