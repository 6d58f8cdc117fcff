# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics by the order-n algorithm of Rosenthal and Kane (Tarao et al., eqs. 1-7, sec. 3.3).

The state of a body is the acceleration of its centre of mass and its angular acceleration, separated into a part S that
is linear in the accelerations u̇ and a remainder (a_t, α_t) of velocities (eq. 4). All equations refer to centres of
mass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ada_dynamics.algorithms.kinematics import at_rest, motions, transforms
from ada_dynamics.algorithms.passive import passive_efforts
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.spatial.inertia import ArticulatedInertia, RigidInertia
from ada_dynamics.spatial.motion import NO_FORCE, NO_MOTION, Force, Motion
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import ZERO3, ZERO33, Mat3, Scalar, Vec3, cross, diagonal, is_zero, skew


def forward_dynamics(
    tree: Tree,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    tau: Sequence[Scalar],
    external: Mapping[int, Force] | None = None,
) -> list[Scalar]:
    """Compute the joint accelerations; mimicking joints are not supported."""
    X = transforms(tree, q)
    effort = [t - p for t, p in zip(tau, passive_efforts(tree, q, v), strict=True)]
    centres = [_centre(b.inertia) for b in tree.bodies]
    Y: list[Transform] = []  # pose of the frame at the centre of mass in the frame at that of the parent
    for b, x, c in zip(tree.bodies, X, centres, strict=True):
        own = x.position + x.rotation.to_parent(c)
        Y.append(Transform(x.rotation, own if b.parent == WORLD else own - centres[b.parent]))
    P = [[s.at(centres[b.index]) for s in b.joint.subspace(b.positions(q))] for b in tree.bodies]

    # Forward pass 1: M_k, X_k (eqs. 6, 7)
    moving = motions(tree, X, q, v, None, at_rest(-tree.gravity))
    M: list[ArticulatedInertia] = []
    rest: list[Force] = []
    for body, state in zip(tree.bodies, moving, strict=True):
        c = centres[body.index]
        m, D = body.inertia.mass, skew(c)
        about: Mat3 = body.inertia.about_origin - m * (D @ D.T)  # I_k of eq. 6
        M.append(ArticulatedInertia(about, ZERO33, diagonal(m, m, m)))
        applied = (external or {}).get(body.index, NO_FORCE).at(c)
        a_t = state.a + state.spin @ c
        # [I α_t + ω x I ω; m a_t], eq. 7
        rest.append(Force(about @ state.wd + cross(state.w, about @ state.w), m * a_t) - applied)

    # Backward pass: remove the unknown constraint forces
    kept: list[list[tuple[Force, Scalar]]] = [[] for _ in tree.bodies]
    for body in reversed(tree.bodies):
        i = body.index
        for p, t in zip(P[i], effort[body.v], strict=True):
            MP = M[i] @ p
            k = 1.0 / (p @ MP + body.armature)
            gain, drive = k * MP, t - p @ rest[i]
            kept[i].append((gain, k * drive))
            M[i] = M[i].less_outer(MP, gain)
            rest[i] = rest[i] + drive * gain
        if body.parent != WORLD:
            M[body.parent] = M[body.parent] + Y[i].to_parent(M[i])
            rest[body.parent] = rest[body.parent] + Y[i].to_parent(rest[i])

    # Forward pass 2: u̇
    S: list[Motion] = []
    result: list[Scalar] = [0.0] * tree.nv
    for body in tree.bodies:
        i = body.index
        state_part = NO_MOTION if body.parent == WORLD else Y[i].to_child(S[body.parent])
        for j in range(len(P[i]) - 1, -1, -1):
            gain, drive = kept[i][j]
            rate = drive - state_part @ gain
            result[body.v.start + j] = rate
            state_part = state_part + rate * P[i][j]
        S.append(state_part)
    return result


def _centre(inertia: RigidInertia) -> Vec3:
    """Centre of mass; the origin for a massless body."""
    return ZERO3 if is_zero(inertia.mass) else inertia.first_moment / inertia.mass
