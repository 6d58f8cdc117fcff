# SPDX-License-Identifier: Apache-2.0
"""Symbolic equations of motion by Lagrange's method: M q̈ + c + g = τ (Takahashi 2012, sec. 4.2.1, eqs. 4.10, 4.11).

Kinetic energy T and potential energy V are expressions that are differentiated; this algorithm therefore runs on
expression nodes only. Where velocities are not rates of coordinates (quaternions), it is the Euler-Poincaré equation:
d/dt ∂T/∂v + [v, ∂T/∂v] - Eᵀ ∂(T - V)/∂q = τ with q̇ = E v.
"""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics import expr
from ada_dynamics.algorithms import energy
from ada_dynamics.algorithms.kinematics import position_rates, velocity_gradient
from ada_dynamics.algorithms.ldl import SymmetricMatrix, factorise
from ada_dynamics.algorithms.passive import passive_efforts
from ada_dynamics.algorithms.rnea import rotor_efforts
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.vector import Scalar


def mass_and_rest(
    tree: Tree, q: Sequence[Scalar], v: Sequence[Scalar], tau: Sequence[Scalar]
) -> tuple[SymmetricMatrix, list[Scalar]]:
    """M, and τ - c - g minus passive joint efforts, as expressions of the variables q and v (eq. 4.10)."""
    kinetic = energy.kinetic_of_links(tree, q, v)
    rates = position_rates(tree, q, v)
    momentum = expr.gradient(kinetic, v)

    M = SymmetricMatrix(tree.nv)
    for i in range(tree.nv):
        for j, entry in enumerate(expr.gradient(momentum[i], v)[: i + 1]):
            M.add(i, j, entry)
    for i, rotor in enumerate(rotor_efforts(tree, (1.0,) * tree.nv)):
        M.add(i, i, rotor)

    along = expr.directional(momentum, dict(zip(q, rates, strict=True)))
    slope = velocity_gradient(tree, q, expr.gradient(kinetic, q))
    turning: list[Scalar] = [0.0] * tree.nv
    for body in tree.bodies:
        turning[body.v] = body.joint.commutator(v[body.v], momentum[body.v])
    c = [a - s + t for a, s, t in zip(along, slope, turning, strict=True)]
    g = velocity_gradient(tree, q, expr.gradient(energy.potential_of_weight(tree, q), q))
    passive = passive_efforts(tree, q, v)
    return M, [t - p - x - y for t, p, x, y in zip(tau, passive, c, g, strict=True)]


def forward_dynamics(tree: Tree, q: Sequence[Scalar], v: Sequence[Scalar], tau: Sequence[Scalar]) -> list[Scalar]:
    """q̈ = M⁻¹ (τ - c - g), eq. 4.11."""
    M, rest = mass_and_rest(tree, q, v, tau)
    return factorise(M).solve(rest)
