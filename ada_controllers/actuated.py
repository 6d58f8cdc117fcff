# SPDX-License-Identifier: Apache-2.0
"""Motions of a mechanism with loops in the coordinates of its motors, and the efforts of the motors for them.

v = T(q) y are the velocities that the loops allow, v̇ = T ẏ + Ṫ y, and the motors move at E y, E = S T, with S the rows
of their velocities. Generalized forces f do the same work as motor efforts τ with Eᵀ τ = Tᵀ f. With as many motors as
motions y are the velocities of the motors and E = 1; with more, ẏ is the least-squares solution for the wanted
accelerations of the motors, and τ has the least norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_controllers.controller import Controller
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.coordinates import INDEPENDENT
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import SingularConfigurationError
from ada_dynamics.model.model import Model

_SINGULAR = 1e-4  # smallest singular value of E, of its largest


@dataclass(frozen=True)
class Motions:
    """Motions that the loops allow in one state; of a robot without loops all of them, T = E = 1.

    Attributes:
        T: velocities of all joints per unit of y.
        E: velocities of the motors per unit of y; None: those are y.
        drift: Ṫ y, accelerations of all joints while ẏ = 0.
        v_index: places of the motors in v.
    """

    T: Array
    E: Array | None
    drift: Array
    v_index: NDArray[np.intp]

    def acceleration(self, wanted: Array) -> Array:
        """v̇ of all joints with the accelerations that are wanted of the motors, or those nearest to them."""
        if self.E is not None:
            wanted = np.asarray(np.linalg.lstsq(self.E, wanted - self.drift[self.v_index], rcond=None)[0])
        return np.asarray(self.T @ wanted + self.drift)

    def along(self, efforts: Array) -> Array:
        """Generalized forces on y of motor efforts: Eᵀ τ."""
        return efforts if self.E is None else np.asarray(self.E.T @ efforts)

    def efforts(self, forces: Array) -> Array:
        """Least motor efforts that act on y as generalized forces on y do."""
        return forces if self.E is None else np.asarray(np.linalg.lstsq(self.E.T, forces, rcond=None)[0])


class ActuatedCoordinates:
    """Prepares `Motions` of a mechanism.

    Attributes:
        dynamics: of the mechanism.
    """

    def __init__(self, model: Model, joints: Sequence[str], v_index: NDArray[np.intp]) -> None:
        """Args: the mechanism, its joints with motors, and their places in v.

        Raises:
            InputError: with all motors at rest a joint can still move; it is named.
        """
        self.dynamics = Dynamics(model)
        self._joints, self._v_index = list(joints), v_index
        surplus = self.dynamics.constraints.coordinates.refuse_missing(v_index.tolist(), "motors")
        self._is_redundant = bool(surplus)
        self._by = INDEPENDENT if surplus else self._joints
        self._y_index = list(self.dynamics.constraints.indices(self._by))

    def at(self, q: Array, v: Array) -> Motions:
        """Motions in a state.

        Raises:
            SingularConfigurationError: the motors do not determine the motion; the error names the joints.
        """
        T, rate = self.dynamics.constraints.tangent_map_rate(q, v, self._by)
        drift = rate @ v[self._y_index]
        if not self._is_redundant:
            return Motions(T, None, drift, self._v_index)
        E = T[self._v_index]
        _, sizes, directions = np.linalg.svd(E)
        if sizes[-1] < _SINGULAR * sizes[0]:
            self._refuse_singular(T @ directions[-1])
        return Motions(T, E, drift, self._v_index)

    def _refuse_singular(self, motion: Array) -> None:
        model = self.dynamics.model
        joint = model.joint_of_velocity(int(np.abs(motion).argmax()))
        raise SingularConfigurationError(
            f"model {model.name!r} is in a singular configuration of its motors: with all of them "
            f"({', '.join(self._joints)}) at rest joint {joint!r} can still move. Move the mechanism to another "
            "configuration, by hand or by a path that keeps off this one.",
            joint=joint,
            field="q",
        )


def actuated_coordinates(controller: Controller[Any]) -> ActuatedCoordinates | None:
    """Coordinates of the motors that a controller commands; None where these are all joints, in the model's order.

    Raises:
        InputError: the motors do not determine the motion of the robot.
    """
    model = controller.model
    if not model.loop_names:
        controller.refuse_free_joints()
        if controller.v_index.tolist() == list(range(model.nv)):
            return None
    return ActuatedCoordinates(model, controller.joints, controller.v_index)
