# SPDX-License-Identifier: Apache-2.0
"""Reaction null-space control: joints follow a reference without reaction on the support (Takahashi 2012, ch. 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from ada_controllers.computed_torque import desired_acceleration
from ada_controllers.controller import Controller
from ada_controllers.state import JointReference, State
from ada_controllers.support_coupling import (
    COMPONENTS,
    RANK_TOLERANCE,
    SupportCoupling,
    free_motion,
    row_space,
    scaled_rows,
    six,
)
from ada_dynamics import expr
from ada_dynamics.algorithms.coupling_inertia import Coupling, coupling, efforts_of_joints, wrench_on_support
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.jit.compiled import Vector, compiled
from ada_dynamics.simulation.control import CompiledController
from ada_dynamics.spatial.motion import NO_MOTION, Force
from ada_dynamics.spatial.vector import ZERO, Scalar
from ada_robot.contract import Command
from ada_robot.settings import setting

_GAINS = ("stiffness", "damping", "weights")
_FOLLOWED = ("position", "velocity", "acceleration", "stiffness", "damping")


@dataclass(frozen=True)
class ReactionNullSpaceSettings:
    """Reaction to be avoided, its link, and joint gains."""

    support: str = setting("", "support link; empty: root link")
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
        (25.0,), "acceleration per position error, of each joint; one value for all", unit="1/s^2", lower=0.0
    )
    damping: tuple[float, ...] = setting(
        (10.0,), "acceleration per velocity error, of each joint; one value for all", unit="1/s", lower=0.0
    )
    weights: tuple[float, ...] = setting(
        (1.0,), "weight of each joint's deviation from its reference; one value for all", lower=1e-6
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
            text = f"{self.NAME}: preserved is empty; name some of {', '.join(COMPONENTS)}."
            raise InputError(text, field="preserved", value=(), allowed=COMPONENTS)
        self.is_held = self._is_held()
        self._gains = {name: self.per_joint(name, getattr(self.settings, name)) for name in _GAINS}
        self._gains["gain"] = np.array([self.settings.momentum_gain])
        self._sizes = {**dict.fromkeys((*_FOLLOWED[:3], *_GAINS), count), "gain": 1}
        self._compiled = compiled("reaction_null_space", {"q": model.nq, "v": model.nv, **self._sizes}, self._equations)
        self._zero = np.zeros(count)
        self._signals: dict[str, Array] = {"momentum": np.zeros(6), "reaction": np.zeros(6), "rank": np.zeros(1)}

    def _is_held(self) -> bool:
        held = self.settings.held
        if held == "no" and not self.coupling.is_floating:
            text = f"{self.NAME}: held is 'no', but the base of robot {self.model.name!r} is fixed; set it to 'yes'."
            raise InputError(text, field="held", value="no", allowed=("yes",))
        if held == "auto":
            return not self.coupling.is_floating or bool(np.any(self.model.gravity))
        return held == "yes"

    def _equations(self, q: Vector, v: Vector, gain: Vector, weights: Vector, **given: Vector) -> dict[str, Any]:
        """Control law over generic scalars: efforts, M_fl θ̇, reaction beyond weight, and rank of M_fl."""
        rates, tree, support = [v[i] for i in self.v_index], self.coupling.tree, self.coupling.support
        desired = desired_acceleration([q[i] for i in self.q_index], rates, *(given[name] for name in _FOLLOWED))
        found = coupling(tree, q, v, support)
        momentum = reduce(add, (rate * column for rate, column in zip(rates, found.columns, strict=True)))
        due = found.bias + gain[0] * momentum
        joints, rank = self._nearest(found, due, desired, weights, self.coupling.loops(q, v))
        motion = NO_MOTION if self.is_held else -free_motion(found, wrench_on_support(found, joints))
        return {
            "tau": efforts_of_joints(tree, q, v, found, joints, motion),
            "momentum": six(momentum),
            "reaction": six(wrench_on_support(found, joints, motion)),
            "rank": [rank],
        }

    def _nearest(
        self,
        found: Coupling,
        due: Force,
        desired: Sequence[Scalar],
        weights: Vector,
        loops: tuple[Sequence[Sequence[Scalar]], Sequence[Scalar]],
    ) -> tuple[list[Scalar], Scalar]:
        """Return the accelerations nearest to the desired ones that satisfy all constraints, and the rank of M_fl.

        The preserved momentum obeys K θ̈ + b = -gain K θ̇, where K are rows of M_fl, or of M_f⁻¹ M_fl if the support is
        free.
        """
        (closed, rates), length = loops, self.coupling.length
        if self.is_held:
            *kept, right = zip(*scaled_rows([*found.columns, due], self.rows, 1.0 / length), strict=True)
        else:
            columns = [free_motion(found, column) for column in (*found.columns, due)]
            *kept, right = zip(*scaled_rows(columns, self.rows, length), strict=True)
        eased = [1.0 / expr.sqrt(w) for w in weights]  # in these units all joints have equal weights
        rows = [[x * s for x, s in zip(row, eased, strict=True)] for row in (*closed, *zip(*kept, strict=True))]
        space = row_space(rows, RANK_TOLERANCE)
        near = [w * expr.sqrt(weight) for w, weight in zip(desired, weights, strict=True)]
        best = [x - y for x, y in zip(space.inside(near), space.least((*rates, *right)), strict=True)]
        return [x * s for x, s in zip(best, eased, strict=True)], sum(space.kept[len(closed) :], ZERO)

    def _law(self, state: State, time: float) -> Command:
        position, velocity, acceleration = self.reference  # type: ignore[misc]
        tau, momentum, reaction, rank = self._compiled(
            state.q,
            state.v,
            position,
            self._zero if velocity is None else velocity,
            self._zero if acceleration is None else acceleration,
            *self._gains.values(),
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
        rows = [self._zero if values is None else values for values in reference]
        given = {
            name: tuple(values.tolist())
            for name, values in zip(self._sizes, [*rows, *self._gains.values()], strict=True)
        }

        def law(_: Scalar, q: Vector, v: Vector) -> list[Scalar]:
            return [*(0.0,) * (self.model.nv - self.coupling.count), *self._equations(q, v, **given)["tau"]]

        return CompiledController(law)
