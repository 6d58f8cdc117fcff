# SPDX-License-Identifier: Apache-2.0
"""Joint springs and dampers whose gains may depend on the rotation of a link (eq. 6.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from ada_controllers.controller import Controller
from ada_controllers.state import JointReference, State
from ada_controllers.support_coupling import row_space
from ada_dynamics import expr
from ada_dynamics.algorithms.kinematics import link_pose
from ada_dynamics.algorithms.rnea import gravity_efforts
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.constraint_set import dense_rows, loop_equations
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.jit.compiled import Vector, compiled
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.orientation import rpy_of
from ada_dynamics.spatial.vector import Scalar
from ada_robot.contract import Command
from ada_robot.settings import setting
from ada_robot.trajectory.splines import segment_coefficients

Axis = Literal["x", "y", "z"]
_DEPENDENT = 1e-6  # tolerance of dependent constraints, relative to the largest; planar loops in space are redundant


@dataclass(frozen=True)
class SpringDamperSettings:
    """Stiffness, damping, and the angle that changes them."""

    stiffness: tuple[float, ...] = setting(
        (1.0,), "effort per position error, of each joint; one number: of all", unit="N m/rad, N/m", lower=0.0
    )
    damping: tuple[float, ...] = setting(
        (0.1,), "effort per velocity, of each joint; one number: of all", unit="N m s/rad, N s/m", lower=0.0
    )
    link: str = setting("", "link whose turn changes the gains; empty: they are constant")
    axis: str = setting("z", "axis of the world about which its turn counts", choices=("x", "y", "z"))
    full_angle: float = setting(
        0.25,
        "rotation at which the gains reach the turned ones, with a quintic spline in between",
        unit="rad",
        lower=1e-3,
    )
    turned_stiffness: tuple[float, ...] = setting(
        (), "stiffness at the full angle; empty: no change", unit="N m/rad, N/m", lower=0.0
    )
    turned_damping: tuple[float, ...] = setting(
        (), "damping at the full angle; empty: no change", unit="N m s/rad, N s/m", lower=0.0
    )
    carry_weight: bool = setting(
        False, "whether the motors also compensate gravity, including loops, so that springs do not sag"
    )


class SpringDamper(Controller[SpringDamperSettings]):
    """τ = k_p(α) (θ_ini - θ) - k_d(α) θ̇ (eq. 6.6), with the reference θ_ini and, if given, its velocity."""

    NAME = "spring_damper"
    SUMMARY = "springs and dampers at the joints, constant or dependent on the rotation of a link"
    KIND = "effort"
    REFERENCES = (JointReference,)
    SETTINGS = SpringDamperSettings

    def _prepare(self) -> None:
        model = self.model
        own = self.settings
        if own.link and own.link not in model.links:
            raise unknown_name("link", own.link, model.links)
        if own.carry_weight and model.nv != len(self.joints):
            text = (
                f"{self.NAME}: carry_weight needs a fixed base and a motor at every joint; robot {model.name!r} has "
                f"{model.nv} velocities and {len(self.joints)} motors. For a walking robot, use a model whose feet are "
                "fixed to the ground, such as 'hoap2_standing'."
            )
            raise InputError(text, field="carry_weight", value=True, allowed=(False,))
        self._gains = {name: self.per_joint(name, getattr(own, name)) for name in ("stiffness", "damping")}
        for name, near in list(self._gains.items()):
            given = getattr(own, f"turned_{name}")
            self._gains[f"turned_{name}"] = self.per_joint(f"turned_{name}", given) if given else near
        self._gains["full_angle"] = np.array([own.full_angle])
        if not own.link and (own.turned_stiffness or own.turned_damping):
            text = (
                f"{self.NAME}: turned_stiffness and turned_damping depend on the rotation of a link; set link to one "
                f"of {', '.join(model.links)}."
            )
            raise InputError(text, field="link", value="", allowed=tuple(model.links))
        self._zero = np.zeros(len(self.joints))
        sizes = {name: len(self.joints) for name in ("position", "velocity", *self._gains)}
        self._efforts = compiled(
            "spring_damper", {"q": model.nq, "v": model.nv, **sizes, "full_angle": 1}, self._equations
        )
        self._angle = np.zeros(1)

    def _equations(
        self,
        q: Vector,
        v: Vector,
        position: Vector,
        velocity: Vector,
        stiffness: Vector,
        damping: Vector,
        turned_stiffness: Vector,
        turned_damping: Vector,
        full_angle: Vector,
    ) -> dict[str, Any]:
        """Efforts and angle over generic scalars."""
        own, tree = self.settings, self.model.tree
        angle: Scalar = turned(tree, q, own.link, cast(Axis, own.axis)) if own.link else 0.0
        part = share(angle, full_angle[0]) if own.link else 0.0
        springs = [between(a, b, part) for a, b in zip(stiffness, turned_stiffness, strict=True)]
        dampers = [between(a, b, part) for a, b in zip(damping, turned_damping, strict=True)]
        places, rates = [q[i] for i in self.q_index], [v[i] for i in self.v_index]
        efforts = spring_efforts(springs, dampers, position, velocity, places, rates)
        if own.carry_weight:
            weight = carried_weight(tree, q)
            efforts = [x + weight[i] for x, i in zip(efforts, self.v_index, strict=True)]
        return {"tau": efforts, "angle": [angle]}

    def _law(self, state: State, time: float) -> Command:
        desired = cast(JointReference, self.reference)
        velocity = self._zero if desired.velocity is None else desired.velocity
        tau, self._angle = self._efforts(state.q, state.v, desired.position, velocity, *self._gains.values())
        return Command(effort=tau)

    def signals(self) -> dict[str, Array]:
        """Return `angle`, the rotation that changes the gains [rad]."""
        return {"angle": self._angle}


def spring_efforts(
    stiffness: Sequence[Scalar],
    damping: Sequence[Scalar],
    position: Sequence[Scalar],
    velocity: Sequence[Scalar],
    places: Sequence[Scalar],
    rates: Sequence[Scalar],
) -> list[Scalar]:
    """Eq. 6.6 for each joint."""
    return [
        k * (desired - x) + d * (moving - rate)
        for k, d, desired, moving, x, rate in zip(stiffness, damping, position, velocity, places, rates, strict=True)
    ]


def carried_weight(tree: Tree, q: Sequence[Scalar]) -> list[Scalar]:
    """Return the minimum-norm efforts of all joints that hold the weight; constraint forces carry the rest.

    Constraint forces act along the rows of J, so that the part of the tree's efforts in the row space is removed.
    """
    return row_space(dense_rows(loop_equations(tree, q), tree.nv), _DEPENDENT).inside(gravity_efforts(tree, q))


def share(angle: Scalar, full: Scalar) -> Scalar:
    """Return 0 at angle zero, 1 for magnitudes from `full` on, and a quintic in between."""
    way = expr.minimum(expr.absolute(angle) / full, 1.0)
    total: Scalar = 0.0
    for coefficient in reversed(segment_coefficients(1.0, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0))):  # type: ignore[arg-type]
        total = total * way + float(coefficient)
    return total


def between(near: Scalar, far: Scalar, part: Scalar) -> Scalar:
    """Interpolate a gain between its values at zero and at the full angle."""
    return near + (far - near) * part


def turned(tree: Tree, q: Sequence[Scalar], link: str, axis: Axis) -> Scalar:
    """Return the rotation of a link about a world axis: roll about x, pitch about y, yaw about z [rad]."""
    return rpy_of(link_pose(tree, q, link).rotation.matrix())["xyz".index(axis)]
