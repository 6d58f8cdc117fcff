# SPDX-License-Identifier: Apache-2.0
"""Computed torque: the efforts that the robot's own dynamics needs for a wanted acceleration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ada_controllers.controller import Controller
from ada_controllers.state import JointReference, State
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics, quantities
from ada_dynamics.expr import Traced
from ada_dynamics.jit.compiled import Vector, compiled
from ada_dynamics.model.model import Model
from ada_dynamics.settings import setting
from ada_dynamics.spatial.scalar import Scalar
from ada_robot.contract import Command


@dataclass(frozen=True)
class ComputedTorqueSettings:
    """How fast errors die out; both gains count per unit of inertia."""

    stiffness: tuple[float, ...] = setting(
        (100.0,), "acceleration per position error, of each joint; one number: of all", unit="1/s^2", lower=0.0
    )
    damping: tuple[float, ...] = setting(
        (20.0,), "acceleration per velocity error, of each joint; one number: of all", unit="1/s", lower=0.0
    )


class ComputedTorque(Controller[ComputedTorqueSettings]):
    """τ = ID(q, v, a* + K_d (v* - v) + K_p (q* - q)): each joint's error obeys ë + K_d ė + K_p e = 0."""

    NAME = "computed_torque"
    SUMMARY = "joint positions by inverse dynamics: errors die out as of uncoupled springs and dampers"
    KIND = "effort"
    REFERENCES = (JointReference,)
    SETTINGS = ComputedTorqueSettings

    def _prepare(self) -> None:
        model = self.model
        self.refuse_free_joints()
        self._stiffness = self.per_joint("stiffness", self.settings.stiffness)
        self._damping = self.per_joint("damping", self.settings.damping)
        self._efforts = _efforts(model)
        self._zero = np.zeros(model.nv)

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
        return tuple.__new__(Command, ((), None, None, efforts, None))  # takes half as long as Command(effort=efforts)


def _wanted_acceleration(
    q: Vector, v: Vector, q_ref: Vector, v_ref: Vector, a_ref: Vector, kp: Vector, kd: Vector
) -> list[Scalar]:
    return [
        a + d * (v1 - v0) + p * (q1 - q0)
        for q0, v0, q1, v1, a, p, d in zip(q, v, q_ref, v_ref, a_ref, kp, kd, strict=True)
    ]


def _efforts(model: Model) -> Callable[..., Array]:
    """The whole law as one kernel; in two where the robot is too large for code of its own."""
    names = ("q", "v", "q_ref", "v_ref", "a_ref", "kp", "kd")
    inputs = dict.fromkeys(names, model.nv)
    dynamics = Dynamics(model)
    if dynamics.is_generic:
        wanted = compiled("wanted_acceleration", inputs, lambda **given: {"a": _wanted_acceleration(**given)})
        return lambda q, v, *rest: dynamics.inverse(q, v, wanted(q, v, *rest))
    inverse_dynamics = quantities.inverse(model.tree, external=False).body

    def body(q: Sequence[Scalar], v: Sequence[Scalar], **rest: Any) -> Traced:
        assert inverse_dynamics is not None
        return inverse_dynamics(q=q, v=v, a=_wanted_acceleration(q, v, **rest))

    return compiled("computed_torque", inputs, body)
