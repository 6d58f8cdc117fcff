# SPDX-License-Identifier: Apache-2.0
"""Springs of joints: efforts linear in the joint's own position, and the energy they store.

A joint with one position pulls with k (q - rest) towards its rest position. A spherical joint rests at its zero
position and pulls along its rotation vector φ: k φ in the child's axes is the slope of ½ k |φ|².
"""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.model.tree import Body, Tree
from ada_dynamics.spatial.vector import ZERO, Scalar, is_zero


def spring_effort(body: Body, q: Sequence[Scalar]) -> list[Scalar]:
    """Efforts of one joint against its spring, for the joint's own positions."""
    if is_zero(body.stiffness):
        return [0.0] * body.joint.nv
    return [body.stiffness * x for x in body.joint.deflection(q, body.rest)]


def stored_energy(tree: Tree, q: Sequence[Scalar]) -> Scalar:
    """Energy in all springs, ½ Σ k (q - rest)² [J]."""
    sprung = [body for body in tree.bodies if not is_zero(body.stiffness)]
    pulled = ((body, x) for body in sprung for x in body.joint.deflection(body.positions(q), body.rest))
    return sum((0.5 * (body.stiffness * (x * x)) for body, x in pulled), ZERO)
