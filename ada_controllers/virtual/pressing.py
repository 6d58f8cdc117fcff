# SPDX-License-Identifier: Apache-2.0
"""Ground and walls that can only press: which wrenches carry a robot, and the efforts of its motors beside them.

A floating base has no motor: of M a + h = S τ + Jᵀ λ its rows tell what all contacts do together, and leave open how
they share it. Of all ways the one is taken that is least in

    Σ over contacts  (normal / N)² + (tangential / (μ P))² + (tilting moment / (s P))² + (turning moment / (μ s P))²

with N an equal share of the weight and P what the contact presses with, found by iteration. Where
nothing presses, nothing is rubbed or tilted; a contact that would have to pull carries nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_controllers.support.constraint_jacobian import constraint_jacobian
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.jit.compiled import Vector, compiled
from ada_dynamics.model.joints.rows import RowKind
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import WORLD, Loop

ROUNDS = 6  # of forces and the limits they set; the forces change by some percent in the last one
LEAST = 1e-3  # share of the weight that a contact counts as pressing with at the least, so that the sum stays regular
_RANK = 1e-9  # relative singular value of what contacts can do to the base, that counts
_ROUNDING = 1e-14  # of the largest of what contacts can do to the base: keeps the rest regular
_Z = 2


class Pressing:
    """Contacts of one robot whose base floats.

    The z axis of a loop's frame in the world points out of ground or wall; of a planar loop its own axis does.
    """

    def __init__(self, law: str, model: Model, friction: float, sole: float) -> None:
        """Prepare.

        Args:
            law: for messages.
            model: with loops to the world; its first six velocities are those of its base.
            friction: μ, tangential force by normal one.
            sole: s, lever of a moment [m].

        Raises:
            InputError: a loop is none to the world, or together they cannot carry the robot.
        """
        tree = model.tree
        inner = sorted(set(model.loops) - set(tree.grounded_loops))
        if inner or not model.loops:
            raise InputError(
                f"{law}: contacts: pressed is for loops from a floating robot to the world, and "
                f"{'loop ' + repr(inner[0]) + ' is none' if inner else 'there are none'}; set contacts: held.",
                loop=inner[0] if inner else None,
                field="contacts",
                value="pressed",
                allowed=("held",),
            )
        tree = replace(tree, loops=tuple(loop.turned() if loop.child == WORLD else loop for loop in tree.loops))
        rest = (0.0,) * tree.nv

        def body(q: Vector) -> dict[str, Any]:
            return {"J": constraint_jacobian(tree, q, rest)[0]}

        self._rows = compiled("contact_conditions", {"q": tree.nq}, body)
        kinds = [(k, kind, _normal_of(loop)) for k, loop in enumerate(tree.loops) for kind in loop.rows]
        self._of = np.array([k for k, _, _ in kinds])
        self._is_normal = np.array([kind.is_force and kind.axis == normal for _, kind, normal in kinds])
        self._limits = np.array([_limit(kind, normal, friction, sole) for _, kind, normal in kinds])
        self._share = model.total_mass * float(np.linalg.norm(model.gravity)) / len(tree.loops) or 1.0
        self.pressures = np.zeros(len(tree.loops))
        values = np.linalg.svd(self._on_base(model.neutral())[1], compute_uv=False)
        if not values[-1] > _RANK * values[0]:
            raise InputError(
                f"{law}: the contacts {', '.join(model.loop_names)} cannot carry robot {model.name!r}: some force or "
                "moment on its base is none of theirs. Join a link to the world by a fixed loop, such as a foot.",
                field="loops",
                value=tuple(model.loop_names),
            )

    def efforts(self, q: Array, wanted: Array) -> Array:
        """Efforts of all joints, none on the base, that do with the contacts what those wanted would do alone.

        Args:
            q: positions.
            wanted: on all joints of the tree, those of the base first.
        """
        J, B = self._on_base(q)
        forces = self._shared(B, wanted[:6])
        self.pressures = forces[self._is_normal]
        efforts = wanted - forces @ J
        efforts[:6] = 0.0
        return np.asarray(efforts, dtype=np.float64)

    def _on_base(self, q: Array) -> tuple[Array, Array]:
        J = self._rows(q)
        return J, J[:, :6]

    def _shared(self, B: Array, needed: Array) -> Array:
        """Forces λ with Bᵀ λ as needed; while some contact pulls, the one that pulls most is left out."""
        carries = np.ones(len(self.pressures), dtype=bool)
        while True:
            forces = self._of_all(B, needed, carries)
            pulls = np.where(carries, -forces[self._is_normal], 0.0)
            if not pulls.max() > 0.0 or carries.sum() == 1:
                return forces
            carries[int(np.argmax(pulls))] = False

    def _of_all(self, B: Array, needed: Array, carries: NDArray[np.bool_]) -> Array:
        """The same of those that carry, whatever sign their forces have."""
        room, forces = np.full(len(carries), self._share), np.zeros(len(B))
        for _ in range(ROUNDS):
            sizes = np.where(self._is_normal, self._share, self._limits * room[self._of]) * carries[self._of]
            forces = _least(B, needed, sizes)
            room = np.maximum(0.5 * (room + forces[self._is_normal]), LEAST * self._share)
        return forces


def _least(B: Array, needed: Array, sizes: Array) -> Array:
    """Forces λ with Bᵀ λ as needed, the least in Σ (λ / size)²; the nearest to it where they cannot do it all."""
    weighted = (sizes * sizes)[:, None] * B
    S = B.T @ weighted
    S[np.diag_indices(6)] += _ROUNDING * np.trace(S)
    forces = weighted @ np.linalg.solve(S, needed)
    return np.asarray(forces + weighted @ np.linalg.solve(S, needed - forces @ B), dtype=np.float64)


def _normal_of(loop: Loop) -> int:
    """The axis of frame A out of the surface: z, or the only one along which the loop holds."""
    axes = [kind.axis for kind in loop.rows if kind.is_force]
    return axes[0] if len(axes) == 1 else _Z


def _limit(kind: RowKind, normal: int, friction: float, sole: float) -> float:
    """How much of a force or moment is as much as pressing with 1 N."""
    lever = 1.0 if kind.is_force else sole
    is_rubbing = kind.axis != normal if kind.is_force else kind.axis == normal
    return lever * friction if is_rubbing else lever
