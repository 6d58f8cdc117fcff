# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics by the Assembly-Disassembly Algorithm (Takahashi 2012, secs. 2.2.1 and 3.1).

Links are joined to articulated bodies, and these to larger ones, in any order, until all joints are closed. Disassembly
then computes wrench and acceleration of each joint. A joint is represented by its constraint forces (eqs. 2.7, 2.9). A
loop joint is therefore closed like any other joint, and the wrenches of all joints are results at no extra cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ada_dynamics.algorithms.articulated_body import ArticulatedBody
from ada_dynamics.algorithms.assembly import AssemblyAlgorithm, constraints_in_use
from ada_dynamics.algorithms.joint_equations import (
    Block,
    ClosingEquations,
    Outcome,
    Terms,
    has_rotor,
    joined,
    outcomes_of,
)
from ada_dynamics.algorithms.ldl import Factors, factorise_dense
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.vector import ZERO, Scalar, is_zero


class Rate(NamedTuple):
    """Acceleration of a joint velocity: q̈ = e + g.x + Σ V.F, over the unknown x and the forces on the open handles."""

    offset: Scalar
    weights: list[Scalar]
    columns: Mapping[int, Motion]


@dataclass(frozen=True)
class ClosedByForces:
    """Joints closed by elimination of λ: factors for disassembly.

    Attributes:
        joints: known terms of each joint.
        known: all x, joint by joint; zero where unknown.
        unknown: indices of the unknown x.
        factors: of the matrix of the equations for the unknown x.
        start: D⁻¹ L⁻¹ r of these equations.
        pulled: D⁻¹ L⁻¹ Vᵀ for each open handle.
        rates: one for each joint velocity.
    """

    joints: Sequence[Terms]
    known: Sequence[Scalar]
    unknown: Sequence[int]
    factors: Factors
    start: Sequence[Scalar]
    pulled: Mapping[int, Sequence[Motion]]
    rates: Sequence[Rate]

    @property
    def pivots(self) -> list[Scalar]:
        """Pivots of the constraints, joint by joint."""
        conditions = [i for i, is_condition in enumerate(_conditions(self.joints)) if is_condition]
        return [d for i, d in zip(self.unknown, self.factors.pivots, strict=True) if i in conditions]

    def outcomes(self, forces: Mapping[int, Force]) -> list[Outcome]:
        """λ from eqs. 2.18, 3.6 and 3.14, q̈ from eqs. 2.22, 3.8 and 3.20."""
        t = list(self.start)
        for handle, force in forces.items():
            t = [a + y @ force for a, y in zip(t, self.pulled[handle], strict=True)]
        found = [-value for value in self.factors.backward(t)]
        x = list(self.known)
        for i, value in zip(self.unknown, found, strict=True):
            x[i] = value
        return outcomes_of(self.joints, x, [self._rate(rate, found, forces) for rate in self.rates])

    @staticmethod
    def _rate(rate: Rate, found: Sequence[Scalar], forces: Mapping[int, Force]) -> Scalar:
        value = rate.offset + sum((g * x for g, x in zip(rate.weights, found, strict=True)), ZERO)
        for handle, force in forces.items():
            value = value + rate.columns[handle] @ force
        return value


def _conditions(joints: Sequence[Terms]) -> list[bool]:
    """For each x of some joints, True if it is a λ."""
    return [i < terms.held for terms in joints for i in range(terms.size)]


class System:
    """Equations for the unknown x of some joints, and the known x.

    The x of a rotor is τ - armature q̈, that is q̈ + (x - τ)/armature = 0: a compliant constraint.
    """

    def __init__(self, conditions: ClosingEquations) -> None:
        """Args: the joints."""
        self.G: Block = conditions.matrix()
        self.x: list[Scalar] = []  # zero where unknown
        self.unknown: list[int] = []
        give: list[Scalar] = []
        pull: list[Scalar] = []
        for joint in conditions.joints:
            terms = joint.terms
            self._add(terms.held)
            give += [0.0] * terms.held
            pull += [0.0] * terms.held
            if has_rotor(terms):
                self._add(len(terms.efforts))
                give += [1.0 / terms.armature] * len(terms.efforts)
                pull += [tau * (1.0 / terms.armature) for tau in terms.efforts]
            else:
                self.x += terms.efforts
        u = self.unknown
        self.A = [[self.G[i][j] + give[r] if i == j else self.G[i][j] for j in u] for r, i in enumerate(u)]
        known = [sum((g * x for g, x in zip(self.G[i], self.x, strict=True)), ZERO) for i in u]
        # r of A x + r + Vᵀ F = 0
        self.r = [conditions.bias[i] + k - p for i, k, p in zip(u, known, pull, strict=True)]

    def _add(self, count: int) -> None:
        self.unknown += range(len(self.x), len(self.x) + count)
        self.x += [0.0] * count

    def rates(self, conditions: ClosingEquations, handles: Sequence[int]) -> list[Rate]:
        """q̈ of the joints, row by row.

        The x of a rotor is eliminated from its row: q̈ (1 + G armature) = ... + G τ.
        """
        found = []
        for joint, start in zip(conditions.joints, conditions.starts, strict=True):
            for i, tau in enumerate(joint.terms.efforts, start + joint.terms.held):
                row = self.G[i]
                weights = [row[j] for j in self.unknown]
                columns = {handle: conditions.columns(handle)[i] for handle in handles}
                known = sum((g * x for g, x in zip(row, self.x, strict=True)), ZERO)
                offset = conditions.bias[i] + known
                if has_rotor(joint.terms):
                    weights[self.unknown.index(i)] = 0.0
                    scale = 1.0 / (1.0 + row[i] * joint.terms.armature)
                    offset = scale * (offset + row[i] * tau)
                    weights = [scale * weight for weight in weights]
                    columns = {handle: scale * column for handle, column in columns.items()}
                found.append(Rate(offset, weights, columns))
        return found


def close(conditions: ClosingEquations, handles: tuple[int, ...]) -> tuple[ArticulatedBody, ClosedByForces]:
    """Close joints by their constraint forces (eqs. 2.17-2.21, 3.6, 3.7, 3.14-3.19).

    Y = (TᵀΦT)⁻¹ is not formed: with TᵀΦT = L D Lᵀ, Φ' = Φ - Zᵀ D⁻¹ Z and Z = L⁻¹ Tᵀ Φ.

    Args:
        conditions: equations of the joints.
        handles: links with joints that remain open.
    """
    system = System(conditions)
    factors = factorise_dense(system.A)
    s = factors.forward(system.r)
    z: dict[int, list[Motion]] = {}
    y: dict[int, list[Motion]] = {}
    bias: dict[int, Motion] = {}
    for handle in handles:
        V = conditions.columns(handle)
        z[handle] = factors.forward([V[i] for i in system.unknown])
        y[handle] = factors.divided(z[handle])
        own = conditions.part_bias(handle)
        for column, value in zip(V, system.x, strict=True):
            own = own if is_zero(value) else own + value * column
        for m, value in zip(y[handle], s, strict=True):
            own = own - value * m
        bias[handle] = own
    body = joined(conditions, handles, y, z, bias)
    terms = [joint.terms for joint in conditions.joints]
    rates = system.rates(conditions, handles)
    return body, ClosedByForces(terms, system.x, system.unknown, factors, factors.divided(s), y, rates)


_ADA = AssemblyAlgorithm(close, constraints_in_use)
solve, forward_dynamics = _ADA.solve, _ADA.forward_dynamics
