# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics by the Divide-and-Conquer Algorithm (Takahashi 2012, sec. 2.2.3, eqs. 2.35-2.46).

In contrast to ADA, a joint is represented by its motion S q̈ (eqs. 2.35, 2.36) instead of its constraint forces: the
full Y = (Φᴬ + Φᴮ)⁻¹ is needed, and SᵀYS of the size of q̈. In a loop this inverse may not exist; a term that changes
only the inverse regularizes it (see `JointMotion`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ada_dynamics.algorithms.articulated_body import ArticulatedBody
from ada_dynamics.algorithms.assembly import AssemblyAlgorithm, State, constraints_in_use
from ada_dynamics.algorithms.closure import loop_rows
from ada_dynamics.algorithms.joint_equations import (
    Block,
    ClosingEquations,
    LoopJointEquations,
    Outcome,
    joined,
    outcomes_of,
)
from ada_dynamics.algorithms.kinematics import Moving
from ada_dynamics.algorithms.ldl import Factors, factorise_dense
from ada_dynamics.model.joints.base import RowKind
from ada_dynamics.model.tree import Loop
from ada_dynamics.spatial.motion import NO_MOTION, Force, Motion
from ada_dynamics.spatial.vector import Scalar, is_zero, product


class ClosedByMotion:
    """Joints closed by solving for q̈."""

    def __init__(
        self,
        conditions: ClosingEquations,
        Y: Factors,
        s: Sequence[Scalar],
        pulled: Mapping[int, Sequence[Motion]],
        motion: JointMotion,
    ) -> None:
        """Store the factors for disassembly.

        Args:
            conditions: equations of the joints.
            Y: factors of Y⁻¹.
            s: L⁻¹ d.
            pulled: L⁻¹ Vᵀ of each open handle.
            motion: equation of q̈.
        """
        self._conditions, self._Y, self._s, self._pulled, self._motion = conditions, Y, s, pulled, motion

    @property
    def pivots(self) -> list[Scalar]:
        """Pivots of Y⁻¹."""
        return list(self._Y.pivots)

    def outcomes(self, forces: Mapping[int, Force]) -> list[Outcome]:
        """q̈ from eq. 2.40, the wrenches from eq. 2.38."""
        t = list(self._s)
        for handle, force in forces.items():
            t = [a + z @ force for a, z in zip(t, self._pulled[handle], strict=True)]
        stretched = self._motion.stretched(self._Y.divided(t))
        for column, rate in zip(self._motion.columns, stretched, strict=True):
            t = [a - c * rate for a, c in zip(t, column, strict=True)]
        x = [-value for value in self._Y.backward(self._Y.divided(t))]
        terms = [joint.terms for joint in self._conditions.joints]
        return outcomes_of(terms, x, self._motion.rates(stretched))


class FreeDirection(NamedTuple):
    """A column of S: its row among the equations of the joints, τ, armature and κ (see `JointMotion`)."""

    row: int
    effort: Scalar
    armature: Scalar
    give: Scalar

    @property
    def share(self) -> Scalar:
        """1/(1 - armature κ)."""
        moved = self.armature * self.give
        return 1.0 if is_zero(moved) else 1.0 / (1.0 - moved)


class JointMotion:
    """SᵀYS q̈ = τ - armature q̈ + SᵀY (d + VᵀF), eq. 2.40.

    In the basis [T T_a], S has columns of the unit matrix. In a loop Y may not exist. Since SᵀF is known, Y⁻¹ + S κ Sᵀ
    and q̈' = q̈ + κ SᵀF can replace Y⁻¹ and q̈ for any κ; with κ > 0 the inverse exists if the joint constraints are
    independent.
    """

    def __init__(self, free: Sequence[FreeDirection], size: int, Y: Factors) -> None:
        """Args: the columns of S, number of equations, factors of Y⁻¹ + S κ Sᵀ."""
        self.free = free
        self.columns = [Y.forward([1.0 if i == f.row else 0.0 for i in range(size)]) for f in free]  # L⁻¹ S
        self.divided = [Y.divided(column) for column in self.columns]
        # SᵀF = (τ - armature q̈')/(1 - armature κ)
        inertia = [f.armature * f.share for f in free]
        self.factors = factorise_dense(
            [
                [product(a, b) + (inertia[i] if i == j else 0.0) for j, b in enumerate(self.divided)]
                for i, a in enumerate(self.columns)
            ]
        )

    def stretched(self, divided: Sequence[Scalar]) -> list[Scalar]:
        """q̈' for D⁻¹ L⁻¹ (d + VᵀF)."""
        right = [f.effort * f.share + product(c, divided) for f, c in zip(self.free, self.columns, strict=True)]
        return self.factors.solve(right)

    def rates(self, stretched: Sequence[Scalar]) -> list[Scalar]:
        """q̈."""
        result = []
        for f, rate in zip(self.free, stretched, strict=True):
            effort = (f.effort - f.armature * rate) * f.share
            result.append(rate - f.give * effort)
        return result


def equations(conditions: ClosingEquations) -> tuple[Block, list[Scalar], list[FreeDirection]]:
    """Y⁻¹ + S κ Sᵀ, d, and the columns of S."""
    G = conditions.matrix()
    d = list(conditions.bias)
    free = []
    for joint, start in zip(conditions.joints, conditions.starts, strict=True):
        terms = joint.terms
        mobility = terms.mobility or (0.0,) * len(terms.efforts)
        for i, (effort, own) in enumerate(zip(terms.efforts, mobility, strict=True), start + terms.held):
            give = own * (1.0 / (1.0 + 2.0 * (terms.armature * own)))
            G[i][i] = G[i][i] + give
            free.append(FreeDirection(i, effort, terms.armature, give))
    return G, d, free


def _sum(weights: Sequence[Scalar], motions: Sequence[Motion]) -> Motion:
    result = NO_MOTION
    for weight, motion in zip(weights, motions, strict=True):
        result = result + weight * motion
    return result


def close(conditions: ClosingEquations, handles: tuple[int, ...]) -> tuple[ArticulatedBody, ClosedByMotion]:
    """Close joints by their motion (eqs. 2.37-2.46).

    W = Y - Y S (SᵀYS)⁻¹ SᵀY of eq. 2.42 is applied in two parts: Φ' = Φ - V Y Vᵀ + (V Y S)(SᵀYS)⁻¹(V Y S)ᵀ.
    """
    inverse_Y, d, free = equations(conditions)
    Y = factorise_dense(inverse_Y)
    motion = JointMotion(free, conditions.size, Y)
    s = Y.forward(d)
    stretched = motion.stretched(Y.divided(s))
    y: dict[int, list[Motion]] = {}
    z: dict[int, list[Motion]] = {}
    pulled: dict[int, list[Motion]] = {}
    bias: dict[int, Motion] = {}
    for handle in handles:
        pulled[handle] = Y.forward(conditions.columns(handle))
        # γ of eq. 2.43: with q̈ of the joints while the handles are free, x = Y (S q̈ - d)
        own = conditions.part_bias(handle)
        for m, value in zip(Y.divided(pulled[handle]), s, strict=True):
            own = own - value * m
        by_rate = [_sum(column, pulled[handle]) for column in motion.divided]
        bias[handle] = own + _sum(stretched, by_rate)
        freed = motion.factors.forward(by_rate)
        y[handle] = [*Y.divided(pulled[handle]), *(-m for m in motion.factors.divided(freed))]
        z[handle] = [*pulled[handle], *freed]
    return joined(conditions, handles, y, z, bias), ClosedByMotion(conditions, Y, s, pulled, motion)


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
