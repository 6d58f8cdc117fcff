# SPDX-License-Identifier: Apache-2.0
"""Gravity compensation: motors carry the weight, fully or in part, for hand guiding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ada_controllers.controller import Controller
from ada_controllers.state import ActivationRefused, State
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics, quantities
from ada_dynamics.dynamics.computation import kernels_of
from ada_dynamics.errors import InputError
from ada_dynamics.expr import Traced
from ada_dynamics.jit.compiled import Vector, compiled
from ada_dynamics.spatial.vector import Scalar
from ada_robot.contract import Command
from ada_robot.settings import setting

_POSES = 5  # number of random configurations in which passive joints are checked
_NOTHING = 1e-9  # tolerance relative to the motor efforts


@dataclass(frozen=True)
class GravityCompensationSettings:
    """Share of the weight, and damping."""

    share: tuple[float, ...] = setting(
        (1.0,), "compensated fraction of the weight, of each motor; one value for all", lower=0.0, upper=1.0
    )
    damping: tuple[float, ...] = setting(
        (0.0,), "viscous damping, of each motor; one value for all", unit="N m s/rad, N s/m", lower=0.0
    )


class GravityCompensation(Controller[GravityCompensationSettings]):
    """τ = share · g(q) - D v.

    With loops, g are the minimum-norm motor efforts that hold the weight. Passive joints must not carry weight: a
    floating base cannot be held, except by loops that fix the feet.
    """

    NAME = "gravity_compensation"
    SUMMARY = "compensation of gravity, or a part of it, with damping, for guiding by hand"
    KIND = "effort"
    REFERENCES = ()
    SETTINGS = GravityCompensationSettings

    def _prepare(self) -> None:
        model = self.model
        self._share = self.per_joint("share", self.settings.share)
        self._damping = self.per_joint("damping", self.settings.damping)
        self._dynamics = Dynamics(model)
        self._rest = np.zeros(model.nv)
        self._weight = np.zeros(len(self.joints))
        self._law_call: Callable[..., Any] | None = None
        if not model.loop_names:
            rng = np.random.default_rng(0)
            poses = [model.neutral(), *(model.random_state(rng)[0] for _ in range(_POSES))]
            self._refuse_what_motors_leave(np.abs([self._dynamics.gravity(q) for q in poses]).max(axis=0))
            self._law_call = None if kernels_of(self._dynamics).generic else self._kernel()

    def _begin(self, state: State, time: float) -> None:
        try:
            self._law(state, time)
        except InputError as problem:
            raise ActivationRefused(
                f"{self.NAME}: the motors cannot carry the weight in this configuration: {problem}",
                joint=problem.joint,
                field=problem.field,
                value=problem.value,
                allowed=problem.allowed,
            ) from None

    def _law(self, state: State, time: float) -> Command:
        if self._law_call is not None:
            efforts, self._weight = self._law_call(state.q, state.v, self._share, self._damping)
            return Command(effort=efforts)
        if self.model.loop_names:
            held = self._dynamics.inverse(state.q, self._rest, self._rest)
            self._refuse_what_motors_leave(held)
        else:
            held = self._dynamics.gravity(state.q)
        self._weight = held[self.v_index]
        return Command(effort=self._share * self._weight - self._damping * state.v[self.v_index])

    def signals(self) -> dict[str, Array]:
        """Return the efforts of the last update that carry the full weight [N m, N]."""
        return {"weight": self._weight}

    def _kernel(self) -> Callable[..., Any]:
        tree, rows = self.model.tree, self.v_index.tolist()
        gravity = quantities.of_tree(tree, "gravity").body

        def body(q: Vector, v: Vector, share: Vector, damping: Vector) -> Traced:
            whole = gravity(q=q)
            weight: list[Scalar] = [whole.outputs["g"][row] for row in rows]
            efforts = [s * w - d * v[row] for s, w, d, row in zip(share, weight, damping, rows, strict=True)]
            return Traced({"efforts": efforts, "weight": weight}, whole.guards)

        count = len(rows)
        sizes = {"q": self.model.nq, "v": self.model.nv, "share": count, "damping": count}
        return compiled("gravity_compensation", sizes, body)

    def _refuse_what_motors_leave(self, held: Array) -> None:
        """Raise if passive joints carry weight, such as that of a floating base."""
        model = self.model
        others = np.ones(model.nv, dtype=bool)
        others[self.v_index] = False
        left = others & (np.abs(held) > _NOTHING * max(1.0, float(np.abs(held).max())))
        names = [name for name in model.joint_names if left[model.v_index(name)].any()]
        if names:
            text = (
                f"{self.NAME}: passive joints of robot {model.name!r} carry weight: {', '.join(names[:8])}. "
                "Give them motors, or add loops that transmit the weight to motors (for a standing robot: feet "
                "fixed to the world)."
            )
            raise InputError(text, joint=names[0], field="model", value=model.name)
