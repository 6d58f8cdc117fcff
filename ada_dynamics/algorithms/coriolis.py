# SPDX-License-Identifier: Apache-2.0
"""Coriolis matrix by composite bodies (Echeandia and Wensing 2021), in the axes and about the origin of the world."""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.algorithms.crba import composite_inertias
from ada_dynamics.algorithms.kinematics import poses, transforms, velocities
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.motion import NO_FORCE, Force, Motion
from ada_dynamics.spatial.vector import ZERO, Scalar, Vec3, cross, weighted

_UNIT = [Motion.linear_first([float(i == (k + 3) % 6) for i in range(6)]) for k in range(6)]  # angular ones first
SubspaceRates = Sequence[Sequence[Motion]]


def coriolis_matrix(tree: Tree, q: Sequence[Scalar], v: Sequence[Scalar], rates: SubspaceRates) -> list[list[Scalar]]:
    """C with C v equal to the Coriolis and centrifugal efforts and Ṁ - 2 C skew-symmetric.

    C = Σ Jᵀ (I J̇ + B J) with B x = ½ (V x* I x + x x* I V - I (V x x)) for each body. `rates` are the time derivatives
    of the columns of S of each body, in its axes.
    """
    X = transforms(tree, q)
    world = poses(tree, X)
    composite = [x.to_parent(I) for x, I in zip(world, composite_inertias(tree, X), strict=True)]
    S: list[list[Motion]] = []
    S_rate: list[list[Motion]] = []
    B: list[list[Force]] = []
    for body, x, own, V in zip(tree.bodies, world, rates, velocities(tree, X, q, v), strict=True):
        moving = x.to_parent(V)
        columns = [body.multiplier * x.to_parent(s) for s in body.joint.subspace(body.positions(q))]
        S.append(columns)
        changes = [body.multiplier * x.to_parent(r) for r in own]
        S_rate.append([_cross(moving, s) + r for s, r in zip(columns, changes, strict=True)])
        B.append(_velocity_product(x.to_parent(body.inertia), moving))
    C: list[list[Scalar]] = [[ZERO] * tree.nv for _ in range(tree.nv)]
    for body in reversed(tree.bodies):
        i = body.index
        if body.parent != WORLD:
            B[body.parent] = [a + b for a, b in zip(B[body.parent], B[i], strict=True)]
        for j, s, s_rate in zip(range(body.v.start, body.v.stop), S[i], S_rate[i], strict=True):
            momentum = composite[i] @ s
            force = composite[i] @ s_rate + weighted((*s.angular, *s.linear), B[i], NO_FORCE)
            turned = Force(Vec3(*(s @ b for b in B[i][:3])), Vec3(*(s @ b for b in B[i][3:])))  # Bᵀ s
            for k in tree.ancestry(i):
                for m, (t, t_rate) in enumerate(zip(S[k], S_rate[k], strict=True), tree.bodies[k].v.start):
                    C[m][j] = C[m][j] + t @ force
                    if k != i:
                        C[j][m] = C[j][m] + t_rate @ momentum + t @ turned
    return C


def _velocity_product(inertia: RigidInertia, V: Motion) -> list[Force]:
    """Columns of B."""
    momentum = inertia @ V
    return [0.5 * (V.cross_force(inertia @ x) + x.cross_force(momentum) - inertia @ _cross(V, x)) for x in _UNIT]


def _cross(V: Motion, x: Motion) -> Motion:
    """V x x, the rate of a motion vector fixed in a body that moves with V."""
    return Motion(cross(V.angular, x.angular), cross(V.angular, x.linear) + cross(V.linear, x.angular))
