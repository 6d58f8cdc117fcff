# SPDX-License-Identifier: Apache-2.0
"""Springs of joints: efforts linear in the joint's own position, and the energy they store.

A joint with one position pulls with k (q - rest) towards its rest position. A spherical joint rests at its zero
position and pulls along its rotation vector φ: k φ in the child's axes is the slope of ½ k |φ|².
"""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics import expr
from ada_dynamics.model.joints import Spherical
from ada_dynamics.model.tree import Body, Tree
from ada_dynamics.spatial import vec3 as v3
from ada_dynamics.spatial.scalar import ZERO, Scalar, is_zero

_TINY = 1e-300  # under the square root: far below every rounding, and no division by zero at rest


def deflection(body: Body, q: Sequence[Scalar]) -> list[Scalar]:
    """How far the spring is from rest, one number per velocity of the joint, for the joint's own positions."""
    if not isinstance(body.joint, Spherical):
        return [q[0] - body.rest]
    x, y, z, w = q
    half = expr.sqrt(v3.dot((x, y, z), (x, y, z)) + _TINY)  # |sin(½ angle)|
    scale = expr.select(w, 0.0, -2.0, 2.0) * (expr.atan2(half, expr.absolute(w)) / half)
    return [scale * component for component in (x, y, z)]


def spring_effort(body: Body, q: Sequence[Scalar]) -> list[Scalar]:
    """What the motors of one joint must give against its spring, for the joint's own positions."""
    if is_zero(body.stiffness):
        return [0.0] * body.joint.nv
    return [body.stiffness * x for x in deflection(body, q)]


def stored_energy(tree: Tree, q: Sequence[Scalar]) -> Scalar:
    """Energy in all springs, ½ Σ k (q - rest)² [J]."""
    sprung = [body for body in tree.bodies if not is_zero(body.stiffness)]
    return sum((0.5 * (body.stiffness * (x * x)) for body in sprung for x in deflection(body, body.positions(q))), ZERO)
