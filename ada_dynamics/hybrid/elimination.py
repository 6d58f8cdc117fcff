# SPDX-License-Identifier: Apache-2.0
"""Two ways to factorise the mass matrix of a piece, M = Lᵀ D L, from the leaves inward.

Either entry by entry, for which work grows with the cube of the piece's size, or joint by joint with articulated
inertias, whose pivots are the same D, and for which it grows with the size. Which one is shorter depends on the robot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from ada_dynamics.algorithms import aba, crba, rnea
from ada_dynamics.algorithms.kinematics import Moving
from ada_dynamics.algorithms.ldl import factorise
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.spatial.inertia import ArticulatedInertia
from ada_dynamics.spatial.motion import NO_FORCE, NO_MOTION, Force, Motion
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import UNIT3, ZERO3, Scalar, Vec3


@dataclass(frozen=True)
class PieceState:
    """A piece in a state."""

    tree: Tree
    q: Sequence[Scalar]
    X: Sequence[Transform]
    moving: Sequence[Moving]  # with zero joint accelerations
    tau: Sequence[Scalar]
    external: Mapping[int, Force]

    def needed(self) -> list[Force]:
        """Wrench that each body needs for that motion, less what acts on it from outside."""
        wrenches = [rnea.needed_force(body.inertia, m) for body, m in zip(self.tree.bodies, self.moving, strict=True)]
        for i, given in self.external.items():
            wrenches[i] = wrenches[i] - given
        return wrenches


class Elimination(Protocol):
    """The factors, as far as assembly and disassembly need them."""

    inverse: Sequence[Scalar]  # D⁻¹
    t: Sequence[Scalar]  # L⁻ᵀ (τ - h)

    def pulled(self, link: int) -> list[Motion]:
        """Z = L⁻ᵀ Jᵀ of a link, a row per velocity."""
        ...

    def rates(self, y: Sequence[Scalar]) -> list[Scalar]:
        """L⁻¹ y."""
        ...


class ByMassMatrix:
    """Composite inertias, then elimination of one velocity after the other."""

    def __init__(self, state: PieceState) -> None:
        """Args: the piece."""
        self._state = state
        self._factors = factorise(crba.mass_matrix(state.tree, state.q))
        self.inverse: Sequence[Scalar] = self._factors.inverse
        wrenches = state.needed()
        needed: list[Scalar] = [0.0] * state.tree.nv
        for body in reversed(state.tree.bodies):
            needed[body.v] = rnea.joint_efforts(body, state.q[body.q], wrenches[body.index])
            if body.parent != WORLD:
                wrenches[body.parent] = wrenches[body.parent] + state.X[body.index].to_parent(wrenches[body.index])
        x = [a - b for a, b in zip(state.tau, needed, strict=True)]
        for k in self._factors.order:
            for i, factor in self._factors.rows[k].items():
                x[i] = x[i] - factor * x[k]
        self.t: Sequence[Scalar] = x

    def _jacobian(self, link: int) -> list[Motion]:
        """Motion of a link for unit velocities, in its frame."""
        tree = self._state.tree
        body = tree.bodies[link]
        columns = [NO_MOTION] * tree.nv
        if body.parent != WORLD:
            columns = [self._state.X[link].to_child(m) for m in self._jacobian(body.parent)]
        columns[body.v] = body.joint.subspace(self._state.q[body.q])
        return columns

    def pulled(self, link: int) -> list[Motion]:
        """Z."""
        x = self._jacobian(link)
        for k in self._factors.order:
            for i, factor in self._factors.rows[k].items():
                x[i] = x[i] - factor * x[k]
        return x

    def rates(self, y: Sequence[Scalar]) -> list[Scalar]:
        """L⁻¹ y."""
        x = list(y)
        for k in reversed(self._factors.order):
            for i, factor in self._factors.rows[k].items():
                x[k] = x[k] - factor * x[i]
        return x


class ByArticulatedInertia:
    """Eqs. 2.26-2.34 within the piece."""

    def __init__(self, state: PieceState) -> None:
        """Args: the piece."""
        self._state = state
        tree = state.tree
        inertia = [ArticulatedInertia.of_rigid(body.inertia) for body in tree.bodies]
        wrenches = state.needed()
        t: list[Scalar] = [0.0] * tree.nv
        inverse: list[Scalar] = [0.0] * tree.nv
        self._L: list[Force] = [NO_FORCE] * tree.nv  # U/D
        for body in reversed(tree.bodies):
            i, v = body.index, body.v
            free = aba.eliminate_joint(body, state.q[body.q], state.tau[v], inertia[i], wrenches[i])
            self._L[v] = [pivot.U_over_D for pivot in free.pivots]
            inverse[v] = free.inverse_D
            t[v] = _efforts_left(body.joint.subspace(state.q[body.q]), state.tau[v], wrenches[i], self._L[v])
            if body.parent != WORLD:
                inertia[body.parent] = inertia[body.parent] + state.X[i].to_parent(free.inertia)
                wrenches[body.parent] = wrenches[body.parent] + state.X[i].to_parent(free.wrench)
        self.t: Sequence[Scalar] = t
        self.inverse: Sequence[Scalar] = inverse

    def pulled(self, link: int) -> list[Motion]:
        """Z: what six unit forces on the link leave for each velocity on their way to the base."""
        tree = self._state.tree
        rows = [NO_MOTION] * tree.nv
        forces = [Force(e, ZERO3) for e in UNIT3] + [Force(ZERO3, e) for e in UNIT3]
        while link != WORLD:
            body = tree.bodies[link]
            for k, s in zip(range(body.v.start, body.v.stop), body.joint.subspace(self._state.q[body.q]), strict=True):
                felt = [s @ force for force in forces]
                rows[k] = Motion(Vec3(*felt[:3]), Vec3(*felt[3:]))
                forces = [force - x * self._L[k] for force, x in zip(forces, felt, strict=True)]
            forces = [self._state.X[link].to_parent(force) for force in forces]
            link = body.parent
        return rows

    def rates(self, y: Sequence[Scalar]) -> list[Scalar]:
        """L⁻¹ y."""
        tree = self._state.tree
        result: list[Scalar] = [0.0] * tree.nv
        accelerations: list[Motion] = []
        for body in tree.bodies:
            v = body.v
            pivots = [aba.Pivot(L, x) for L, x in zip(self._L[v], y[v], strict=True)]
            above = NO_MOTION
            if body.parent != WORLD:
                above = self._state.X[body.index].to_child(accelerations[body.parent])
            result[v], own = aba.joint_acceleration(body, self._state.q[body.q], pivots, above)
            accelerations.append(own)
        return result


Method: TypeAlias = Callable[[PieceState], Elimination]


def _efforts_left(subspace: Sequence[Motion], tau: Sequence[Scalar], wrench: Force, L: Sequence[Force]) -> list[Scalar]:
    """u of each velocity of a joint (see `aba.eliminate_joint`)."""
    result = []
    for s, effort, column in zip(subspace, tau, L, strict=True):
        u = effort - s @ wrench
        wrench = wrench + u * column
        result.append(u)
    return result
