# SPDX-License-Identifier: Apache-2.0
"""Unilateral contacts of a floating robot: contact wrenches that support it, and the corresponding motor efforts.

A floating base has no motor: the rows of M a + h = S τ + Jᵀ λ for the base determine the resultant of all contacts, but
not its distribution. The distribution minimizes

    Σ over contacts  (normal / N)² + (tangential / (μ P))² + (tilting moment / (s P))² + (turning moment / (μ s P))²

with the mean share of the weight N and the normal force P of the contact, by iteration. Without a normal force there is
no friction and no tilting moment; contacts that would have to pull are excluded.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.constraint_set import dense_rows, loop_equations
from ada_dynamics.errors import InputError
from ada_dynamics.jit.compiled import Vector, compiled
from ada_dynamics.model.joints.base import RowKind
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import WORLD, Loop

ROUNDS = 6  # number of iterations of the normal forces, which change by a few percent in the last one
LEAST = 1e-3  # minimum normal force of the weighting, as a share of the weight, for regularity
_RANK = 1e-9  # minimum relative singular value of the contact wrenches on the base
_ROUNDING = 1e-14  # relative regularization
_Z = 2


class Pressing:
    """Contacts of one robot with a floating base.

    The z axis of a loop's frame in the world is the outward normal of the surface; for planar loops it is their axis.
    """

    def __init__(self, law: str, model: Model, friction: float, sole: float) -> None:
        """Set the contacts.

        Args:
            law: name of the controller for messages.
            model: robot model with loops to the world, whose first six velocities are those of the base.
            friction: μ, ratio of tangential to normal force.
            sole: s, lever of moments [m].

        Raises:
            InputError: if a loop does not join the robot to the world, or the contacts cannot support the robot.
        """
        tree = model.tree
        inner = sorted(set(model.loops) - set(tree.grounded_loops))
        if inner or not model.loops:
            raise InputError(
                f"{law}: contacts: pressed requires loops from a floating robot to the world, and "
                f"{'loop ' + repr(inner[0]) + ' is not one' if inner else 'robot has none'}; set contacts: held.",
                loop=inner[0] if inner else None,
                field="contacts",
                value="pressed",
                allowed=("held",),
            )
        tree = replace(tree, loops=tuple(loop.turned() if loop.child == WORLD else loop for loop in tree.loops))

        def body(q: Vector) -> dict[str, Any]:
            return {"J": dense_rows(loop_equations(tree, q), tree.nv)}

        self._rows = compiled("contact_conditions", {"q": tree.nq}, body)
        kinds = [(k, kind, _normal_of(loop)) for k, loop in enumerate(tree.loops) for kind in loop.rows]
        self._of = np.array([k for k, _, _ in kinds])
        self._is_normal = np.array([kind.is_force and kind.axis == normal for _, kind, normal in kinds])
        self._limits = np.array([_limit(kind, normal, friction, sole) for _, kind, normal in kinds])
        self._share = model.total_mass * float(np.linalg.norm(model.gravity)) / len(tree.loops) or 1.0
        self.pressures = np.zeros(len(tree.loops))
        values = np.linalg.svd(self._rows(model.neutral())[:, :6], compute_uv=False)
        if not values[-1] > _RANK * values[0]:
            raise InputError(
                f"{law}: the contacts {', '.join(model.loop_names)} cannot support robot {model.name!r}: they do not "
                "transmit all forces and moments to its base. Join a link, such as a foot, to the world by a fixed "
                "loop.",
                field="loops",
                value=tuple(model.loop_names),
            )

    def efforts(self, q: Array, desired: Array) -> Array:
        """Return joint efforts that, with the contact forces, are equivalent to desired efforts including the base.

        Args:
            q: configuration.
            desired: desired efforts on all joints of the tree, those of the base first.
        """
        J = self._rows(q)
        forces = self._shared(J[:, :6], desired[:6])
        self.pressures = forces[self._is_normal]
        efforts = desired - forces @ J
        efforts[:6] = 0.0
        return np.asarray(efforts, dtype=np.float64)

    def _shared(self, B: Array, needed: Array) -> Array:
        """Return forces λ with Bᵀ λ as needed; contacts that pull are excluded, the largest first."""
        carries = np.ones(len(self.pressures), dtype=bool)
        while True:
            forces = self._of_all(B, needed, carries)
            pulls = np.where(carries, -forces[self._is_normal], 0.0)
            if not pulls.max() > 0.0 or carries.sum() == 1:
                return forces
            carries[int(np.argmax(pulls))] = False

    def _of_all(self, B: Array, needed: Array, carries: NDArray[np.bool_]) -> Array:
        """Return the forces of the remaining contacts, of any sign."""
        room, forces = np.full(len(carries), self._share), np.zeros(len(B))
        for _ in range(ROUNDS):
            sizes = np.where(self._is_normal, self._share, self._limits * room[self._of]) * carries[self._of]
            forces = _least(B, needed, sizes)
            room = np.maximum(0.5 * (room + forces[self._is_normal]), LEAST * self._share)
        return forces


def _least(B: Array, needed: Array, sizes: Array) -> Array:
    """Return forces λ with Bᵀ λ as needed and least Σ (λ / size)², in the least-squares sense."""
    weighted = (sizes * sizes)[:, None] * B
    S = B.T @ weighted
    S[np.diag_indices(6)] += _ROUNDING * np.trace(S)
    forces = weighted @ np.linalg.solve(S, needed)
    return np.asarray(forces + weighted @ np.linalg.solve(S, needed - forces @ B), dtype=np.float64)


def _normal_of(loop: Loop) -> int:
    """Return the axis of frame A normal to the surface: z, or the only constrained axis."""
    axes = [kind.axis for kind in loop.rows if kind.is_force]
    return axes[0] if len(axes) == 1 else _Z


def _limit(kind: RowKind, normal: int, friction: float, sole: float) -> float:
    """Return the weight of a force or moment relative to a normal force."""
    lever = 1.0 if kind.is_force else sole
    is_rubbing = kind.axis != normal if kind.is_force else kind.axis == normal
    return lever * friction if is_rubbing else lever
