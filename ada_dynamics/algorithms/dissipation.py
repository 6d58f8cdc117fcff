# SPDX-License-Identifier: Apache-2.0
"""Efforts that joints take from the motors by themselves: viscous damping and Coulomb friction."""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics import expr
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.scalar import Scalar
from ada_dynamics.spatial.vec3 import is_zero, plus, product


def passive_efforts(tree: Tree, v: Sequence[Scalar]) -> list[Scalar]:
    """damping v + friction sign(v), joint by joint; sign(0) = 0.

    A resting joint is not held: sticking is a matter of the simulator, which sees time.
    """
    result: list[Scalar] = [0.0] * tree.nv
    for body in tree.bodies:
        for i, rate in zip(range(body.v.start, body.v.stop), body.velocities(v), strict=True):
            effort = product(body.damping, rate)
            if not is_zero(body.friction) and not is_zero(rate):
                effort = plus(effort, product(body.friction, expr.sign(rate)))
            result[i] = plus(result[i], product(body.multiplier, effort))
    return result
