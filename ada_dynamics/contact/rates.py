# SPDX-License-Identifier: Apache-2.0
"""How fast contacts and joints react, to compare with what a step of an explicit integrator can follow."""

from __future__ import annotations

import numpy as np

from ada_dynamics.algorithms.contact import GroundContact, normal_force, slip_resistance
from ada_dynamics.algorithms.crba import mass_matrix
from ada_dynamics.algorithms.jacobian import columns_at
from ada_dynamics.algorithms.kinematics import poses, transforms
from ada_dynamics.arrays import Array
from ada_dynamics.contact.contact import Contact
from ada_dynamics.contact.material import GRAVITY
from ada_dynamics.model.model import Model
from ada_dynamics.spatial.vec3 import Vec3

STANDING_ON = 4  # points that carry the weight, where there are more


def fastest_rate(model: Model, contact: Contact, q: Array | None = None) -> float:
    """The fastest rate of a model that rests on its contacts with the ground [1/s].

    As if every contact touched, each with a quarter of the weight (with all of it among fewer). Of springs and masses
    the rate is √(λ(M⁻¹ JᵀKJ)), of losses and friction λ(M⁻¹ JᵀDJ). Loops only make it slower. Impacts are faster:
    by 3/2 e ω v.

    Args:
        model: with the links of the contacts.
        contact: the contacts; pairs are left out.
        q: pose; neutral by default.
    """
    tree = model.tree
    at = (model.neutral() if q is None else np.asarray(q, dtype=float)).tolist()
    grounds = [c for c in contact.resolve(model) if isinstance(c, GroundContact)]
    if not grounds or not model.nv:
        return 0.0
    gravity = float(np.linalg.norm(model.gravity)) or GRAVITY
    load = model.total_mass * gravity / min(len(grounds), STANDING_ON)
    world = poses(tree, transforms(tree, at))
    stiffness = np.zeros((model.nv, model.nv))
    damping = np.zeros((model.nv, model.nv))
    for c in grounds:
        n: Array = np.array(c.normal, dtype=float)
        x = np.array(world[c.body].point(c.point), dtype=float) - c.radius * n
        columns = columns_at(tree, at, world, c.body, Vec3(*x.tolist()))
        J: Array = np.array([m.linear for m in columns], dtype=float).T
        depth = (load / c.law.stiffness) ** (1.0 / c.law.exponent)
        normal = normal_force(c.law, depth, 0.0)
        slip = slip_resistance(c.law, normal.force, Vec3(0.0, 0.0, 0.0))
        outer = np.outer(n, n)
        stiffness += J.T @ (normal.by_depth * outer) @ J
        damping += J.T @ (normal.by_rate * outer + slip * (np.eye(3) - outer)) @ J
    L = np.linalg.cholesky(np.array(mass_matrix(tree, at).dense(), dtype=float))
    return max(float(np.sqrt(_largest(L, stiffness))), _largest(L, damping))


def _largest(L: Array, A: Array) -> float:
    """Largest eigenvalue of (L Lᵀ)⁻¹ A."""
    half = np.linalg.solve(L, A)
    return max(float(np.linalg.eigvalsh(np.linalg.solve(L, half.T))[-1]), 0.0)
