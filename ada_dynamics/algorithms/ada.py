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
from ada_dynamics.algorithms.joint_equations import Block, ClosingEquations, Outcome, Terms, joined, outcomes_of
from ada_dynamics.algorithms.ldl import Factors, factorise_dense
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.vector import Scalar, is_zero, product


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
        is_multiplier = [i < terms.held for terms in self.joints for i in range(terms.size)]
        return [d for i, d in zip(self.unknown, self.factors.pivots, strict=True) if is_multiplier[i]]

    def outcomes(self, forces: Mapping[int, Force]) -> list[Outcome]:
        """λ from eqs. 2.18, 3.6 and 3.14, q̈ from eqs. 2.22, 3.8 and 3.20."""
        t = list(self.start)
        for handle, force in forces.items():
            t = [a + y @ force for a, y in zip(t, self.pulled[handle], strict=True)]
        found = [-value for value in self.factors.backward(t)]
        x = list(self.known)
        for i, value in zip(self.unknown, found, strict=True):
            x[i] = value
        rates = [rate.offset + product(rate.weights, found) for rate in self.rates]
        for handle, force in forces.items():
            rates = [a + rate.columns[handle] @ force for a, rate in zip(rates, self.rates, strict=True)]
        return outcomes_of(self.joints, x, rates)


def close(conditions: ClosingEquations, handles: tuple[int, ...]) -> tuple[ArticulatedBody, ClosedByForces]:
    """Close joints by their constraint forces (eqs. 2.17-2.21, 3.6, 3.7, 3.14-3.19).

    Y = (TᵀΦT)⁻¹ is not formed: with TᵀΦT = L D Lᵀ, Φ' = Φ - Zᵀ D⁻¹ Z and Z = L⁻¹ Tᵀ Φ. The x of a rotor is τ - armature
    q̈, that is q̈ + (x - τ)/armature = 0: a compliant constraint.

    Args:
        conditions: equations of the joints.
        handles: links with joints that remain open.
    """
    G, terms = conditions.matrix(), [joint.terms for joint in conditions.joints]
    known: list[Scalar] = []  # zero where unknown
    unknown: list[int] = []
    give: list[Scalar] = []
    pull: list[Scalar] = []
    for one in terms:
        free = 0 if is_zero(one.armature) else len(one.efforts)
        unknown += range(len(known), len(known) + one.held + free)
        give += [*[0.0] * one.held, *([1.0 / one.armature] * free if free else ())]
        pull += [*[0.0] * one.held, *([tau * (1.0 / one.armature) for tau in one.efforts] if free else ())]
        known += [*[0.0] * (one.held + free), *(() if free else one.efforts)]
    # A x + r + Vᵀ F = 0
    A = [[G[i][j] + give[k] if i == j else G[i][j] for j in unknown] for k, i in enumerate(unknown)]
    r = [conditions.bias[i] + product(G[i], known) - p for i, p in zip(unknown, pull, strict=True)]
    factors = factorise_dense(A)
    s = factors.forward(r)
    z: dict[int, list[Motion]] = {}
    y: dict[int, list[Motion]] = {}
    bias: dict[int, Motion] = {}
    for handle in handles:
        V = conditions.columns(handle)
        z[handle] = factors.forward([V[i] for i in unknown])
        y[handle] = factors.divided(z[handle])
        own = conditions.part_bias(handle)
        for column, value in zip(V, known, strict=True):
            own = own if is_zero(value) else own + value * column
        for m, value in zip(y[handle], s, strict=True):
            own = own - value * m
        bias[handle] = own
    body = joined(conditions, handles, y, z, bias)
    rates = _rates(conditions, handles, G, known, unknown)
    return body, ClosedByForces(terms, known, unknown, factors, factors.divided(s), y, rates)


def _rates(
    conditions: ClosingEquations, handles: Sequence[int], G: Block, known: Sequence[Scalar], unknown: Sequence[int]
) -> list[Rate]:
    """q̈ of the joints, row by row.

    The x of a rotor is eliminated from its row: q̈ (1 + G armature) = ... + G τ.
    """
    found = []
    for joint, start in zip(conditions.joints, conditions.starts, strict=True):
        for i, tau in enumerate(joint.terms.efforts, start + joint.terms.held):
            weights = [G[i][j] for j in unknown]
            columns = {handle: conditions.columns(handle)[i] for handle in handles}
            offset = conditions.bias[i] + product(G[i], known)
            if not is_zero(joint.terms.armature):
                weights[unknown.index(i)] = 0.0
                scale = 1.0 / (1.0 + G[i][i] * joint.terms.armature)
                offset = scale * (offset + G[i][i] * tau)
                weights = [scale * weight for weight in weights]
                columns = {handle: scale * column for handle, column in columns.items()}
            found.append(Rate(offset, weights, columns))
    return found


_ADA = AssemblyAlgorithm(close, constraints_in_use)
solve, forward_dynamics = _ADA.solve, _ADA.forward_dynamics
