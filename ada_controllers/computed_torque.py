# SPDX-License-Identifier: Apache-2.0
"""Computed torque: the efforts that the robot's own dynamics needs for a wanted acceleration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np

from ada_controllers.compiled import Vector, compiled
from ada_controllers.controller import Controller
from ada_controllers.gains import per_joint
from ada_controllers.shaping import ShapingSettings
from ada_controllers.state import Array, Command, JointReference, State
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model
from ada_dynamics.settings import setting


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

    def __init__(
        self,
        model: Model,
        settings: ComputedTorqueSettings | Mapping[str, object] | None = None,
        shaping: ShapingSettings | Mapping[str, object] | None = None,
    ) -> None:
        """Prepare; see `Controller`."""
        super().__init__(model, settings, shaping)
        if model.nv != len(self.joints) or model.loop_names:
            raise InputError(
                f"{self.NAME}: robot {model.name!r} has {model.nv} velocities and {len(self.joints)} motors"
                f"{', and loops' if model.loop_names else ''}; this law is for robots with a motor at every joint and a "
                "fixed base. With loops take virtual_closed_chain."
            )
        self._stiffness = per_joint(self, "stiffness", self.settings.stiffness)
        self._damping = per_joint(self, "damping", self.settings.damping)
        self._wanted = _wanted_acceleration(model.nv)
        self._dynamics = Dynamics(model)
        self._zero = np.zeros(model.nv)

    def _law(self, state: State, time: float) -> Command:
        wanted = cast(JointReference, self.reference)
        zero = self._zero
        acceleration = self._wanted(
            state.q,
            state.v,
            wanted.position,
            zero if wanted.velocity is None else wanted.velocity,
            zero if wanted.acceleration is None else wanted.acceleration,
            self._stiffness,
            self._damping,
        )
        return Command(effort=self._dynamics.inverse(state.q, state.v, acceleration))

    def signals(self) -> dict[str, Array]:
        """Nothing beside the command."""
        return {}


@lru_cache(maxsize=32)
def _wanted_acceleration(count: int) -> Callable[..., Any]:
    def body(q: Vector, v: Vector, q_ref: Vector, v_ref: Vector, a_ref: Vector, kp: Vector, kd: Vector) -> Any:
        return {
            "a": [
                a_ref[i] + kd[i] * (v_ref[i] - v[i]) + kp[i] * (q_ref[i] - q[i])  # type: ignore[operator]
                for i in range(count)
            ]
        }

    return compiled(
        "wanted_acceleration", dict.fromkeys(("q", "v", "q_ref", "v_ref", "a_ref", "kp", "kd"), count), body
    )
