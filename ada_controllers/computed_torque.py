# SPDX-License-Identifier: Apache-2.0
"""Computed torque: joint efforts by inverse dynamics for a desired acceleration.

References and gains refer to the actuated joints; with loops the other joints follow from them (`actuated`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_controllers.actuated import ActuatedCoordinates
from ada_controllers.controller import Controller
from ada_controllers.state import JointReference, State
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import quantities
from ada_dynamics.dynamics.computation import kernels_of
from ada_dynamics.expr import Traced
from ada_dynamics.jit.compiled import Vector, compiled
from ada_dynamics.model.model import Model
from ada_dynamics.spatial.vector import Scalar
from ada_robot.contract import Command
from ada_robot.settings import setting

Places = NDArray[np.intp]
_INPUTS = ("q", "v", "q_ref", "v_ref", "a_ref", "kp", "kd")


@dataclass(frozen=True)
class ComputedTorqueSettings:
    """Gains of the error dynamics, per unit of inertia."""

    stiffness: tuple[float, ...] = setting(
        (100.0,), "acceleration per position error, of each joint; one value for all", unit="1/s^2", lower=0.0
    )
    damping: tuple[float, ...] = setting(
        (20.0,), "acceleration per velocity error, of each joint; one value for all", unit="1/s", lower=0.0
    )


class ComputedTorque(Controller[ComputedTorqueSettings]):
    """τ = ID(q, v, a* + K_d (v* - v) + K_p (q* - q)), such that the error of each motor obeys ë + K_d ė + K_p e = 0."""

    NAME = "computed_torque"
    SUMMARY = "joint positions with inverse dynamics: decoupled linear error dynamics"
    KIND = "effort"
    REFERENCES = (JointReference,)
    SETTINGS = ComputedTorqueSettings

    def _prepare(self) -> None:
        self._stiffness = self.per_joint("stiffness", self.settings.stiffness)
        self._damping = self.per_joint("damping", self.settings.damping)
        self._zero = np.zeros(len(self.joints))
        coordinates = ActuatedCoordinates(self)
        is_one_kernel = coordinates.are_all and not kernels_of(coordinates.dynamics).generic
        self._efforts = (
            _efforts(self.model) if is_one_kernel else _efforts_of_motors(coordinates, self.q_index, self.v_index)
        )

    def _law(self, state: State, time: float) -> Command:
        position, velocity, acceleration = self.reference  # type: ignore[misc]
        zero = self._zero
        efforts = self._efforts(
            state[0],
            state[1],
            position,
            zero if velocity is None else velocity,
            zero if acceleration is None else acceleration,
            self._stiffness,
            self._damping,
        )
        return tuple.__new__(Command, ((), None, None, efforts, None))  # half the time of Command(effort=efforts)


def desired_acceleration(
    q: Vector, v: Vector, q_ref: Vector, v_ref: Vector, a_ref: Vector, kp: Vector, kd: Vector
) -> list[Scalar]:
    """Return a* + K_d (v* - v) + K_p (q* - q)."""
    return [
        a + d * (v1 - v0) + p * (q1 - q0)
        for q0, v0, q1, v1, a, p, d in zip(q, v, q_ref, v_ref, a_ref, kp, kd, strict=True)
    ]


def _efforts(model: Model) -> Callable[..., Array]:
    """Compile the law of a tree with a motor at every joint as one kernel."""
    inverse_dynamics = quantities.of_tree(model.tree, "inverse").body

    def body(q: Sequence[Scalar], v: Sequence[Scalar], **rest: Any) -> Traced:
        return inverse_dynamics(q=q, v=v, a=desired_acceleration(q, v, **rest))

    return compiled("computed_torque", dict.fromkeys(_INPUTS, model.nv), body)


def _efforts_of_motors(coordinates: ActuatedCoordinates, q_index: Places, v_index: Places) -> Callable[..., Array]:
    """Compile the law with v̇ from the desired accelerations of the motors, for loops and very large robots."""
    inputs = dict.fromkeys(_INPUTS, len(v_index))
    desired = compiled("desired_acceleration", inputs, lambda **given: {"a": desired_acceleration(**given)})

    def efforts(q: Array, v: Array, *rest: Array) -> Array:
        a = coordinates.at(q, v).acceleration(desired(q[q_index], v[v_index], *rest))
        return np.asarray(coordinates.dynamics.inverse(q, v, a)[v_index])

    return efforts
