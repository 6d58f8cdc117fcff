# SPDX-License-Identifier: Apache-2.0
"""Reaction null-space control: joints follow a reference without reaction on the support (Takahashi 2012, ch. 6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ada_controllers.controller import Controller
from ada_controllers.state import JointReference, State
from ada_controllers.support.coupling import (
    COMPONENTS,
    RANK_TOLERANCE,
    SupportCoupling,
    component,
    free_motion,
    scaled_rows,
)
from ada_controllers.support.null_space import row_space
from ada_dynamics import expr
from ada_dynamics.algorithms.coupling_inertia import Coupling, coupling, efforts_of_joints, wrench_on_support
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.jit.compiled import Vector, compiled
from ada_dynamics.simulation.control import CompiledController
from ada_dynamics.spatial.motion import NO_FORCE, NO_MOTION, Force, Motion
from ada_dynamics.spatial.vector import ZERO, Scalar
from ada_robot.contract import Command
from ada_robot.settings import setting


@dataclass(frozen=True)
class ReactionNullSpaceSettings:
    """Reaction to be avoided, its link, and joint gains."""

    support: str = setting("", "link that carries the robot; empty: its root")
    held: str = setting(
        "auto",
        "whether the support is fixed to the world; auto: unless the base floats without gravity",
        choices=("auto", "yes", "no"),
    )
    preserved: tuple[str, ...] = setting(
        COMPONENTS,
        "preserved components of the momentum about the support (or of its velocity, if it is not fixed)",
        choices=COMPONENTS,
    )
    stiffness: tuple[float, ...] = setting(
        (25.0,), "acceleration per position error, of each joint; one number: of all", unit="1/s^2", lower=0.0
    )
    damping: tuple[float, ...] = setting(
        (10.0,), "acceleration per velocity error, of each joint; one number: of all", unit="1/s", lower=0.0
    )
    weights: tuple[float, ...] = setting(
        (1.0,), "how much a joint resists being moved off its reference; one number: all the same", lower=1e-6
    )
    momentum_gain: float = setting(10.0, "decay rate of deviations of the preserved momentum", unit="1/s", lower=0.0)


class ReactionNullSpace(Controller[ReactionNullSpaceSettings]):
    """Accelerations nearest to the desired ones with M_fl θ̈ + Ṁ_fl θ̇ = 0 (eqs. 6.3, 6.4), by inverse dynamics."""

    NAME = "reaction_null_space"
    SUMMARY = "joint positions with constant momentum of the robot about its support"
    KIND = "effort"
    REFERENCES = (JointReference,)
    SETTINGS = ReactionNullSpaceSettings

    def _prepare(self) -> None:
        model = self.model
        self.coupling = SupportCoupling(model, self.settings.support)
        count = self.coupling.count
        if list(self.v_index) != list(range(model.nv - count, model.nv)):
            missing = [
                n for n in model.joint_names if model.v_index(n).stop > model.nv - count and n not in self.joints
            ]
            raise InputError(
                f"{self.NAME}: joints {', '.join(missing)} of robot {model.name!r} have no motors; this law needs a "
                "motor at every joint.",
                joint=missing[0] if missing else None,
                field="model",
                value=missing,
                allowed="a motor at every joint",
            )
        self.rows = self.coupling.rows(self.settings.preserved)
        if not self.rows:
            raise InputError(
                f"{self.NAME}: preserved is empty; name some of {', '.join(COMPONENTS)}.",
                field="preserved",
                value=(),
                allowed=COMPONENTS,
            )
        self.is_held = self._is_held()
        self._gains = {
            "stiffness": self.per_joint("stiffness", self.settings.stiffness),
            "damping": self.per_joint("damping", self.settings.damping),
            "weights": self.per_joint("weights", self.settings.weights),
            "gain": np.array([self.settings.momentum_gain]),
        }
        self._compiled = self._make()
        self._zero = np.zeros(count)
        self._signals: dict[str, Array] = {"momentum": np.zeros(6), "reaction": np.zeros(6), "rank": np.zeros(1)}

    def _is_held(self) -> bool:
        held = self.settings.held
        if held == "no" and not self.coupling.is_floating:
            raise InputError(
                f"{self.NAME}: held is 'no', but the base of robot {self.model.name!r} is fixed; set it to 'yes'.",
                field="held",
                value="no",
                allowed=("yes",),
            )
        if held == "auto":
            return not self.coupling.is_floating or bool(np.any(self.model.gravity))
        return held == "yes"

    def _make(self) -> Callable[..., Any]:
        count = self.coupling.count
        vectors = dict.fromkeys(("position", "velocity", "acceleration", "stiffness", "damping", "weights"), count)
        return compiled(
            "reaction_null_space", {"q": self.model.nq, "v": self.model.nv, **vectors, "gain": 1}, self._equations
        )

    def _equations(
        self,
        q: Vector,
        v: Vector,
        position: Vector,
        velocity: Vector,
        acceleration: Vector,
        stiffness: Vector,
        damping: Vector,
        weights: Vector,
        gain: Vector,
    ) -> dict[str, Any]:
        """Control law over generic scalars: efforts, M_fl θ̇, reaction beyond weight, and rank of M_fl."""
        rates, places = [v[i] for i in self.v_index], [q[i] for i in self.q_index]
        desired = [
            a + (d * (r - w) + k * (p - x))
            for a, d, r, w, k, p, x in zip(
                acceleration, damping, velocity, rates, stiffness, position, places, strict=True
            )
        ]
        tree, support = self.coupling.tree, self.coupling.support
        found = coupling(tree, q, v, support)
        momentum = _combined(found.columns, rates)
        joints, rank = self._nearest(found, momentum, desired, weights, gain[0], self.coupling.loops(q, v))
        held = wrench_on_support(found, joints)
        motion = NO_MOTION if self.is_held else -free_motion(found, held)
        reaction = wrench_on_support(found, joints, motion)
        return {
            "tau": efforts_of_joints(tree, q, v, found, joints, motion),
            "momentum": _public(momentum),
            "reaction": _public(reaction),
            "rank": [rank],
        }

    def _nearest(
        self,
        found: Coupling,
        momentum: Force,
        desired: Sequence[Scalar],
        weights: Vector,
        gain: Scalar,
        loops: tuple[Sequence[Sequence[Scalar]], Sequence[Scalar]],
    ) -> tuple[list[Scalar], Scalar]:
        """Return the accelerations nearest to the desired ones that satisfy all constraints, weighted by joint.

        The preserved momentum obeys K θ̈ + b = -gain K θ̇, where K are rows of M_fl, or of M_f⁻¹ M_fl if the support is
        free.
        """
        due: Force | Motion = found.bias + gain * momentum
        columns: Sequence[Force | Motion] = found.columns
        if not self.is_held:
            due = free_motion(found, due)  # type: ignore[arg-type]
            columns = [free_motion(found, column) for column in found.columns]
        length, (closed, rates) = self.coupling.length, loops
        (right,) = zip(*scaled_rows([due], self.rows, length), strict=True)
        eased = [1.0 / expr.sqrt(w) for w in weights]  # in these units all joints have equal weights
        rows = [
            [x * s for x, s in zip(row, eased, strict=True)]
            for row in (*closed, *scaled_rows(columns, self.rows, length))
        ]
        space = row_space(rows, RANK_TOLERANCE)
        near = [w * expr.sqrt(weight) for w, weight in zip(desired, weights, strict=True)]
        best = [x - y for x, y in zip(space.inside(near), space.least((*rates, *right)), strict=True)]
        return [x * s for x, s in zip(best, eased, strict=True)], sum(space.kept[len(closed) :], ZERO)

    def _law(self, state: State, time: float) -> Command:
        desired, zero, gains = cast(JointReference, self.reference), self._zero, self._gains
        tau, momentum, reaction, rank = self._compiled(
            state.q,
            state.v,
            desired.position,
            zero if desired.velocity is None else desired.velocity,
            zero if desired.acceleration is None else desired.acceleration,
            gains["stiffness"],
            gains["damping"],
            gains["weights"],
            gains["gain"],
        )
        self._signals = {"momentum": momentum, "reaction": reaction, "rank": rank}
        return Command(effort=tau)

    def signals(self) -> dict[str, Array]:
        """Return `momentum` M_fl θ̇ and `reaction` beyond weight, [f, n] on the support in its axes; `rank` of M_fl."""
        return self._signals

    def continuous(self, reference: JointReference) -> CompiledController:
        """Return the law for a fixed reference as part of the equations of motion, without sampling.

        Joint limits are not applied.
        """
        self.check(reference)
        zero = (0.0,) * self.coupling.count
        given: dict[str, Any] = {name: tuple(values.tolist()) for name, values in self._gains.items()}
        for name in ("position", "velocity", "acceleration"):
            values = getattr(reference, name)
            given[name] = zero if values is None else tuple(values.tolist())

        def law(_: Scalar, q: Vector, v: Vector) -> list[Scalar]:
            return [*(0.0,) * (self.model.nv - self.coupling.count), *self._equations(q, v, **given)["tau"]]

        return CompiledController(law)


def _combined(columns: Sequence[Force], rates: Sequence[Scalar]) -> Force:
    combined = NO_FORCE
    for column, rate in zip(columns, rates, strict=True):
        combined = combined + rate * column
    return combined


def _public(wrench: Force) -> list[Scalar]:
    return [component(wrench, i) for i in range(6)]
