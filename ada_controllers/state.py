# SPDX-License-Identifier: Apache-2.0
"""States that a controller measures, and references that it follows."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from ada_dynamics.arrays import Array


class State(NamedTuple):
    """Measured state, as float64 vectors.

    Attributes:
        q: positions, as in the model (nq).
        v: velocities (nv).
        wrench: [f, n] that the force sensor feels, at its origin in its axes [N, N m]; None without a sensor.
    """

    q: Array
    v: Array
    wrench: Array | None = None


class JointReference(NamedTuple):
    """Where the joints of a controller shall be, a number for each in its order.

    Attributes:
        position: [rad, m].
        velocity: [rad/s, m/s]; None: zero.
        acceleration: [rad/s², m/s²]; None: zero.
    """

    position: Array
    velocity: Array | None = None
    acceleration: Array | None = None


class JointPath(NamedTuple):
    """Positions to pass one after another, a row each, from the present one on.

    Attributes:
        positions: (points, joints) [rad, m].
        times: of the points from now on [s], increasing; None: as fast as the limits allow.
        velocities: at the points [rad/s, m/s]; None: chosen smoothly.
    """

    positions: Array
    times: Array | None = None
    velocities: Array | None = None


def end_of(reference: JointReference | JointPath) -> Array:
    """Positions that joints are to come to."""
    return reference.positions[-1] if isinstance(reference, JointPath) else reference.position


class PoseReference(NamedTuple):
    """Where a link shall be.

    Attributes:
        pose: 4x4, in the frame of the robot's base (the world, for fixed bases).
        twist: [linear, angular] of the link's origin, in the axes of that frame [m/s, rad/s]; None: zero.
    """

    pose: Array
    twist: Array | None = None


Reference: TypeAlias = "JointReference | JointPath | PoseReference"
