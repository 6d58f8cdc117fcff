# SPDX-License-Identifier: Apache-2.0
"""Efforts that joints take from the motors by themselves: viscous damping and Coulomb friction."""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics import expr
from ada_dynamics.model.tree import Body, Tree
from ada_dynamics.spatial.vector import Scalar, is_zero


def lost_effort(body: Body, rate: Scalar) -> Scalar:
    """damping v + friction sign(v) of one velocity of a joint; sign(0) = 0.

    A resting joint is not held: sticking is a matter of the simulator, which sees time.
    """
    effort = body.damping * rate
    if is_zero(body.friction) or is_zero(rate):
        return effort
    return effort + body.friction * expr.sign(rate)


def lost_efforts(tree: Tree, v: Sequence[Scalar]) -> list[Scalar]:
    """`lost_effort` of all joints in the model's order."""
    result: list[Scalar] = [0.0] * tree.nv
    for body in tree.bodies:
        for i, rate in zip(range(body.v.start, body.v.stop), body.velocities(v), strict=True):
            result[i] = result[i] + body.multiplier * lost_effort(body, rate)
    return result
