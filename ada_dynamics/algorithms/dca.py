# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics by the Divide-and-Conquer Algorithm (Takahashi 2012, sec. 2.2.3, eqs. 2.35-2.46).

In contrast to ADA, a joint is represented by its motion S q̈ (eqs. 2.35, 2.36) instead of its constraint forces: the
full Y = (Φᴬ + Φᴮ)⁻¹ is needed, and SᵀYS of the size of q̈. In a loop this inverse may not exist; a term that changes
only the inverse regularizes it (see `ClosedByMotion`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ada_dynamics.algorithms.articulated_body import ArticulatedBody
from ada_dynamics.algorithms.assembly import AssemblyAlgorithm, State, constraints_in_use
from ada_dynamics.algorithms.closure import loop_rows
from ada_dynamics.algorithms.joint_equations import ClosingEquations, LoopJointEquations, Outcome, joined, outcomes_of
from ada_dynamics.algorithms.kinematics import Moving
from ada_dynamics.algorithms.ldl import factorise_dense
from ada_dynamics.model.joints.base import RowKind
from ada_dynamics.model.tree import Loop
from ada_dynamics.spatial.motion import NO_MOTION, Force, Motion
from ada_dynamics.spatial.vector import Scalar, is_zero, product, weighted


class FreeDirection(NamedTuple):
    """A column of S: its row among the equations of the joints, τ, armature and κ (see `ClosedByMotion`)."""

    row: int
    effort: Scalar
    armature: Scalar
    give: Scalar

    @property
    def share(self) -> Scalar:
        """1/(1 - armature κ)."""
        moved = self.armature * self.give
        return 1.0 if is_zero(moved) else 1.0 / (1.0 - moved)


class ClosedByMotion:
    """Joints closed by solving for q̈: SᵀYS q̈ = τ - armature q̈ + SᵀY (d + VᵀF), eq. 2.40.

    In the basis [T T_a], S has columns of the unit matrix. In a loop Y may not exist. Since SᵀF is known, Y⁻¹ + S κ Sᵀ
    and q̈' = q̈ + κ SᵀF can replace Y⁻¹ and q̈ for any κ; with κ > 0 the inverse exists if the joint constraints are
    independent.

    Attributes:
        Y: factors of Y⁻¹ + S κ Sᵀ.
        s: L⁻¹ d.
        pulled: L⁻¹ Vᵀ of each open handle.
        free: columns of S.
        divided: D⁻¹ L⁻¹ S.
        motion: factors of the equation of q̈'.
    """

    def __init__(self, conditions: ClosingEquations, handles: Sequence[int]) -> None:
        """Args: equations of the joints, links with joints that remain open."""
        self._terms, self.free = [joint.terms for joint in conditions.joints], list[FreeDirection]()
        G = conditions.matrix()
        for terms, start in zip(self._terms, conditions.starts, strict=True):
            mobility = terms.mobility or (0.0,) * len(terms.efforts)
            for i, (effort, own) in enumerate(zip(terms.efforts, mobility, strict=True), start + terms.held):
                give = own * (1.0 / (1.0 + 2.0 * (terms.armature * own)))
                G[i][i] = G[i][i] + give
                self.free.append(FreeDirection(i, effort, terms.armature, give))
        self.Y = factorise_dense(G)
        self.s = self.Y.forward(conditions.bias)
        self.pulled = {handle: self.Y.forward(conditions.columns(handle)) for handle in handles}
        units = ([1.0 if i == f.row else 0.0 for i in range(conditions.size)] for f in self.free)
        self._columns = [self.Y.forward(unit) for unit in units]  # L⁻¹ S
        self.divided = [self.Y.divided(column) for column in self._columns]
        block = [[product(a, b) for b in self.divided] for a in self._columns]
        for i, f in enumerate(self.free):  # SᵀF = (τ - armature q̈')/(1 - armature κ)
            block[i][i] = block[i][i] + f.armature * f.share
        self.motion = factorise_dense(block)

    @property
    def pivots(self) -> list[Scalar]:
        """Pivots of Y⁻¹."""
        return list(self.Y.pivots)

    def stretched(self, t: Sequence[Scalar]) -> list[Scalar]:
        """q̈' for L⁻¹ (d + VᵀF)."""
        divided = self.Y.divided(t)
        pairs = zip(self.free, self._columns, strict=True)
        return self.motion.solve([f.effort * f.share + product(column, divided) for f, column in pairs])

    def outcomes(self, forces: Mapping[int, Force]) -> list[Outcome]:
        """q̈ from eq. 2.40, the wrenches from eq. 2.38."""
        t = list(self.s)
        for handle, force in forces.items():
            t = [a + z @ force for a, z in zip(t, self.pulled[handle], strict=True)]
        stretched = self.stretched(t)
        for column, rate in zip(self._columns, stretched, strict=True):
            t = [a - c * rate for a, c in zip(t, column, strict=True)]
        x = [-value for value in self.Y.backward(self.Y.divided(t))]
        pairs = zip(self.free, stretched, strict=True)
        rates = [rate - f.give * ((f.effort - f.armature * rate) * f.share) for f, rate in pairs]
        return outcomes_of(self._terms, x, rates)


def close(conditions: ClosingEquations, handles: tuple[int, ...]) -> tuple[ArticulatedBody, ClosedByMotion]:
    """Close joints by their motion (eqs. 2.37-2.46).

    W = Y - Y S (SᵀYS)⁻¹ SᵀY of eq. 2.42 is applied in two parts: Φ' = Φ - V Y Vᵀ + (V Y S)(SᵀYS)⁻¹(V Y S)ᵀ.
    """
    closed = ClosedByMotion(conditions, handles)
    stretched = closed.stretched(closed.s)
    y: dict[int, list[Motion]] = {}
    z: dict[int, list[Motion]] = {}
    bias: dict[int, Motion] = {}
    for handle, pulled in closed.pulled.items():
        # γ of eq. 2.43: with q̈ of the joints while the handles are free, x = Y (S q̈ - d)
        divided, own = closed.Y.divided(pulled), conditions.part_bias(handle)
        for m, value in zip(divided, closed.s, strict=True):
            own = own - value * m
        by_rate = [weighted(column, pulled, NO_MOTION) for column in closed.divided]
        bias[handle] = own + weighted(stretched, by_rate, NO_MOTION)
        freed = closed.motion.forward(by_rate)
        y[handle] = [*divided, *(-m for m in closed.motion.divided(freed))]
        z[handle] = [*pulled, *freed]
    return joined(conditions, handles, y, z, bias), closed


def all_directions(state: State, loop: Loop, moving: Mapping[int, Moving]) -> LoopJointEquations:
    """Equations of a loop joint, six directions: the constraints in use, followed by its free directions.

    No force acts along free directions, and the velocity of the joint along them is not needed: their bias is zero.
    """
    held = constraints_in_use(state, loop, moving)
    unused = sorted(set(range(len(loop.rows))) - set(state.used(loop)))
    kinds = [RowKind(is_force, axis) for is_force, axis, _ in loop.joint.free_rows()]
    found = loop_rows(state.tree, state.X, state.q, state.v, moving, loop, [*unused, *kinds])
    free = [*found[: len(unused)], *(replace(row, rate=0.0) for row in found[len(unused) :])]
    mobility = tuple(state.mobility(row.wrenches) for row in free)
    return LoopJointEquations([*held.rows, *free], replace(held.terms, efforts=(0.0,) * len(free), mobility=mobility))


_DCA = AssemblyAlgorithm(close, all_directions)
solve, forward_dynamics = _DCA.solve, _DCA.forward_dynamics
