# SPDX-License-Identifier: Apache-2.0
"""Motion and forces of a mechanism with loops in its actuated coordinates.

v = T(q) y are the velocities allowed by the loops, v̇ = T ẏ + Ṫ y, and E y are the velocities of the motors, E = S T,
with the selection matrix S. Motor efforts τ are equivalent to generalized forces f if Eᵀ τ = Tᵀ f. If the number of
motors equals the mobility, y are the motor velocities and E = 1. With redundant actuation, ẏ is the least-squares
solution for the desired motor accelerations, and τ has minimum norm.
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

_SINGULAR = 1e-4  # smallest relative singular value of E


@dataclass(frozen=True)
class Motions:
    """Motions allowed by the loops in one state; T = E = 1 without loops.

    Attributes:
        T: tangent map, velocities of all joints per unit of y.
        E: velocities of the motors per unit of y; None for the identity.
        drift: Ṫ y, accelerations of all joints at ẏ = 0.
        v_index: indices of the motors in v.
    """

    T: Array
    E: Array | None
    drift: Array
    v_index: NDArray[np.intp]

    def acceleration(self, desired: Array) -> Array:
        """Return v̇ for desired motor accelerations, in the least-squares sense."""
        if self.E is not None:
            desired = np.asarray(np.linalg.lstsq(self.E, desired - self.drift[self.v_index], rcond=None)[0])
        return np.asarray(self.T @ desired + self.drift)

    def along(self, efforts: Array) -> Array:
        """Return the generalized forces Eᵀ τ of motor efforts."""
        return efforts if self.E is None else np.asarray(self.E.T @ efforts)

    def efforts(self, forces: Array) -> Array:
        """Return the minimum-norm motor efforts for generalized forces."""
        return forces if self.E is None else np.asarray(np.linalg.lstsq(self.E.T, forces, rcond=None)[0])


class ActuatedCoordinates:
    """Computes `Motions` of a mechanism.

    Attributes:
        dynamics: dynamics of the mechanism.
    """

    def __init__(self, model: Model, joints: Sequence[str], v_index: NDArray[np.intp]) -> None:
        """Args: model; names of the actuated joints; their indices in v.

        Raises:
            InputError: if the motors do not determine the motion; the message names a joint that can still move.
        """
        self.dynamics = Dynamics(model)
        self._joints, self._v_index = list(joints), v_index
        surplus = self.dynamics.constraints.coordinates.refuse_missing(v_index.tolist(), "motors")
        self._is_redundant = bool(surplus)
        self._by = INDEPENDENT if surplus else self._joints
        self._y_index = list(self.dynamics.constraints.indices(self._by))

    def at(self, q: Array, v: Array) -> Motions:
        """Return the motions in a state.

        Raises:
            SingularConfigurationError: if the configuration is singular; the error names a joint that can still move.
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
            f"model {model.name!r} is in a singular configuration: with all motors "
            f"({', '.join(self._joints)}) at rest, joint {joint!r} can still move. Move the mechanism to another "
            "configuration, by hand or along a path that avoids this one.",
            joint=joint,
            field="q",
        )


def actuated_coordinates(controller: Controller[Any]) -> ActuatedCoordinates | None:
    """Return the actuated coordinates of a controller; None if they are all joints, in the order of the model.

    Raises:
        InputError: if the motors do not determine the motion of the robot.
    """
    model = controller.model
    if not model.loop_names:
        controller.refuse_free_joints()
        if controller.v_index.tolist() == list(range(model.nv)):
            return None
    return ActuatedCoordinates(model, controller.joints, controller.v_index)
