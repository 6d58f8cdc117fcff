# SPDX-License-Identifier: Apache-2.0
"""Which joints of a model a sensor_msgs/JointState holds, and their numbers.

Every joint with one position is in it: those with motors, passive ones of loops, and those that mimic others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.model import Model


class JointNumbers(NamedTuple):
    """Numbers by joint, in the order of `JointStates.names`; of one state, or a row for each of many."""

    position: Array
    velocity: Array
    effort: Array


class JointStates:
    """Joint states of a model.

    Attributes:
        names: joints with one position, in depth-first order; what turns or slides in several ways moves by transforms
            alone.
    """

    def __init__(self, model: Model) -> None:
        """Args: the mechanism."""
        bodies = [body for body in model.tree.bodies if body.joint.nq == body.joint.nv == 1]
        self.names = tuple(body.name for body in bodies)
        self._positions = np.array([body.q.start for body in bodies], dtype=np.intp)
        self._velocities = np.array([body.v.start for body in bodies], dtype=np.intp)
        self._mimics = [(i, body) for i, body in enumerate(bodies) if model.joints[body.name].mimic is not None]

    def numbers(self, q: Array, v: Array, tau: Array) -> JointNumbers:
        """Joint states: the very numbers of the state, bit for bit.

        The effort of a joint that mimics another is 0: the one that it follows has all of it.

        Args:
            q: positions, one state or a row for each of many.
            v: velocities.
            tau: efforts of the motors.
        """
        position = q.take(self._positions, axis=-1)
        velocity = v.take(self._velocities, axis=-1)
        effort = tau.take(self._velocities, axis=-1)
        for i, body in self._mimics:
            (position[..., i],) = body.positions(list(q.T))
            (velocity[..., i],) = body.velocities(list(v.T))
            effort[..., i] = 0.0
        return JointNumbers(position, velocity, effort)
