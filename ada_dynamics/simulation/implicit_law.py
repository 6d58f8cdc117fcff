# SPDX-License-Identifier: Apache-2.0
"""A compiled control law within a semi-implicit step: what it does to its own joint is linearly implicit.

With K = -∂τ/∂q and D = -∂τ/∂v of a joint by its own position and velocity, the effort at the end of a step h with the
acceleration a is τ - h K v - (h D + h² K) a to first order. The last term is an armature, so that a stiff spring or
damper in a joint that carries next to nothing stays stable. Where K or D is negative, the law counts as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ada_dynamics import expr
from ada_dynamics.dynamics.quantities.base import substitute
from ada_dynamics.expr import Function, trace
from ada_dynamics.expr.derivatives import directional
from ada_dynamics.expr.graph import Expr
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.vector import Scalar

Vector = Sequence[Scalar]
Law = Callable[[Scalar, Vector, Vector], Vector]  # τ of a time, q and v, over generic scalars


def implicit_law(
    tree: Tree, law: Law, t: Scalar, q: Vector, v: Vector, step: Scalar
) -> tuple[list[Scalar], list[Scalar]]:
    """Efforts, and what they add to the armature of each velocity, on expression nodes.

    Args:
        tree: the mechanism.
        law: the control law.
        t: time [s].
        q: positions.
        v: velocities.
        step: h [s].
    """
    found = substitute(_with_slopes(tree, law), {"t": [t], "q": q, "v": v})
    efforts, armature = [], []
    for tau, by_q, by_v, rate in zip(found["tau"], found["by_q"], found["by_v"], v, strict=True):
        stiffness = expr.maximum(-by_q, 0.0)
        damping = expr.maximum(-by_v, 0.0)
        efforts.append(tau - step * (stiffness * rate))
        armature.append(step * (damping + step * stiffness))
    return efforts, armature


def _with_slopes(tree: Tree, law: Law) -> Function:
    """τ, and the slope of each effort by its own position and velocity; zero where these are not one number each."""
    places = [-1] * tree.nv
    for one in tree.bodies:
        if one.joint.nq == 1 and one.joint.nv == 1:
            places[one.v.start] = one.q.start

    def slope(effort: Scalar, variable: Scalar) -> Scalar:
        return directional([effort], {variable: 1.0})[0] if isinstance(variable, Expr) else 0.0

    def body(t: Vector, q: Vector, v: Vector) -> dict[str, list[Scalar]]:
        tau = list(law(t[0], q, v))
        by_q = [slope(effort, q[k]) if k >= 0 else 0.0 for effort, k in zip(tau, places, strict=True)]
        by_v = [slope(effort, rate) for effort, rate in zip(tau, v, strict=True)]
        return {"tau": tau, "by_q": by_q, "by_v": by_v}

    return trace("law_with_slopes", {"t": 1, "q": tree.nq, "v": tree.nv}, body)
