# SPDX-License-Identifier: Apache-2.0
"""Motion and forces of a robot in its actuated coordinates, for trees and mechanisms with loops.

v = T(q) y are the velocities allowed by the loops, v̇ = T ẏ + Ṫ y, and E y are the velocities of the motors, E = S T,
with the selection matrix S. Motor efforts τ are equivalent to generalized forces f if Eᵀ τ = Tᵀ f. If the number of
motors equals the mobility, y are the motor velocities and E = 1; without loops T is constant. With redundant actuation,
ẏ is the least-squares solution for the desired motor accelerations, and τ has minimum norm.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_controllers.controller import Controller
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.coordinates import INDEPENDENT
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import SingularConfigurationError

_SINGULAR = 1e-4  # smallest relative singular value of E


class Motions(NamedTuple):
    """Motions allowed by the loops in one state.

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
    """Computes `Motions` of a robot; without loops they are constant.

    Attributes:
        dynamics: dynamics of the robot.
        are_all: whether the motors are all joints of a tree, in the order of the model.
    """

    def __init__(self, controller: Controller[Any]) -> None:
        """Use the motors of a controller as coordinates.

        Raises:
            InputError: if the motors do not determine the motion; the message names a joint that can still move.
        """
        model, self._joints, self._v_index = controller.model, list(controller.joints), controller.v_index
        self.dynamics = Dynamics(model)
        constraints, motors = self.dynamics.constraints, self._v_index.tolist()
        self._is_redundant = bool(constraints.coordinates.refuse_missing(motors, "motors"))
        self.are_all = not model.loops and motors == list(range(model.nv))
        self._constant: Motions | None = None
        if not model.loops:
            self._constant = Motions(np.eye(model.nv)[:, self._v_index], None, np.zeros(model.nv), self._v_index)
        self._by = INDEPENDENT if self._is_redundant else self._joints
        self._y_index = list(constraints.indices(self._by))

    def at(self, q: Array, v: Array) -> Motions:
        """Return the motions in a state.

        Raises:
            SingularConfigurationError: if the configuration is singular; the error names a joint that can still move.
        """
        if self._constant is not None:
            return self._constant
        T, rate = self.dynamics.constraints.tangent_map_rate(q, v, self._by)
        drift = rate @ v[self._y_index]
        if not self._is_redundant:
            return Motions(T, None, drift, self._v_index)
        E = T[self._v_index]
        _, sizes, directions = np.linalg.svd(E)
        if sizes[-1] < _SINGULAR * sizes[0]:
            model = self.dynamics.model
            joint = model.joint_of_velocity(int(np.abs(T @ directions[-1]).argmax()))
            text = (
                f"model {model.name!r} is in a singular configuration: with all motors "
                f"({', '.join(self._joints)}) at rest, joint {joint!r} can still move. Move the mechanism to another "
                "configuration, by hand or along a path that avoids this one."
            )
            raise SingularConfigurationError(text, joint=joint, field="q")
        return Motions(T, E, drift, self._v_index)
