# SPDX-License-Identifier: Apache-2.0
"""What can be computed of a model: for each quantity its inputs, the shape of its result, and how it is traced.

Here, and only here, the algorithms' [angular; linear] becomes the public [linear; angular] and [force; moment].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ada_dynamics.algorithms import (
    aba,
    centre_of_mass,
    centroidal,
    crba,
    energy,
    jacobian,
    jacobian_method,
    kinematics,
    lagrange,
    order_n,
    rnea,
    unit_vector,
)
from ada_dynamics.algorithms.sparse_ldl import factorise, solve_factorised
from ada_dynamics.dynamics.singular import loose_joint, pivot_guards
from ada_dynamics.errors import ModelError
from ada_dynamics.expr import Expr, Function, Traced, directional, jvp, trace
from ada_dynamics.expr.evaluate import evaluate_nodes
from ada_dynamics.model.regroup import for_efforts
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.scalar import Scalar
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vec3 import is_zero, minus

Outputs = Mapping[str, Any]

FORWARD: dict[str, Callable[..., list[Scalar]]] = {
    "aba": aba.forward_dynamics,
    "crba": crba.forward_dynamics,
    "order_n": order_n.forward_dynamics,
    "lagrange": lagrange.forward_dynamics,
}
MASS_MATRIX: dict[str, Callable[[Tree, Sequence[Scalar]], list[list[Scalar]]]] = {
    "crba": lambda tree, q: crba.mass_matrix(tree, q).dense(),
    "unit_vector": unit_vector.mass_matrix,
    "jacobian": jacobian_method.mass_matrix,
}
FRAMES = ("local_world_aligned", "local", "world")


@dataclass(frozen=True)
class Quantity:
    """One thing to compute."""

    name: str  # an identifier, unique for a model
    inputs: dict[str, int]  # name and length of each argument
    shapes: dict[str, tuple[int, ...]]  # name and shape of each result
    trace: Callable[[], Function]


def _quantity(
    name: str,
    tree: Tree,
    inputs: Sequence[str],
    shapes: dict[str, tuple[int, ...]],
    body: Callable[..., Outputs],
    solves: bool = False,
) -> Quantity:
    """A quantity; `solves` says that it divides by the mass matrix, which must then not be singular."""
    sizes = {"q": tree.nq, "v": tree.nv, "tau": tree.nv, "a": tree.nv, "wrenches": 6 * len(tree.bodies)}
    wanted = {key: sizes[key] for key in inputs}

    def guarded(**vectors: Sequence[Scalar]) -> Traced:
        guards = position_guards(tree, vectors["q"])
        if solves:
            guards += pivot_guards(tree, vectors["q"])
        return Traced(body(**vectors), guards)

    def traced() -> Function:
        try:
            return trace(name, wanted, guarded, tuple(shapes))
        except ZeroDivisionError:
            raise ModelError(_singular_everywhere(tree)) from None

    return Quantity(name, wanted, shapes, traced)


def _singular_everywhere(tree: Tree) -> str:
    """Message for a division by a constant zero: a pivot that vanishes in every position."""
    neutral = np.zeros(tree.nq)
    for body in tree.bodies:
        neutral[body.q] = body.joint.neutral()
    joint = loose_joint(tree, neutral.tolist())
    return (
        f"nothing resists joint {joint!r} in any position: the links that it carries have no mass, or no inertia that "
        "another joint does not move as well. Give them inertia, give the joint an armature, or make it fixed."
    )


def position_guards(tree: Tree, q: Sequence[Scalar]) -> list[Scalar]:
    """What must not be negative for q to be usable."""
    return [g for body in tree.bodies if body.is_independent for g in body.joint.guards(q[body.q])]


# --- public order ---------------------------------------------------------------------------------------------------
def linear_first(m: Motion) -> tuple[Scalar, ...]:
    """[linear; angular]."""
    return (*m.linear, *m.angular)


def force_first(f: Force) -> tuple[Scalar, ...]:
    """[force; moment]."""
    return (*f.force, *f.moment)


def as_matrix(X: Transform) -> list[list[Scalar]]:
    """Homogeneous 4x4 matrix."""
    R = X.rotation.matrix()
    return [[*R[i], X.position[i]] for i in range(3)] + [[0.0, 0.0, 0.0, 1.0]]


def body_wrenches(tree: Tree, flat: Sequence[Scalar]) -> dict[int, Force]:
    """External wrenches, [force; moment] about each body's origin in its axes, body after body."""
    parts = {b.index: flat[6 * b.index : 6 * b.index + 6] for b in tree.bodies}
    return {i: Force((x[3], x[4], x[5]), (x[0], x[1], x[2])) for i, x in parts.items()}


# --- dynamics -------------------------------------------------------------------------------------------------------
def forward(tree: Tree, algorithm: str, external: bool) -> Quantity:
    """Joint accelerations."""
    # The order-n algorithm works at centres of mass, which regrouped bodies do not have.
    short = tree if algorithm == "order_n" else for_efforts(tree)

    def body(q: Sequence[Scalar], v: Sequence[Scalar], tau: Sequence[Scalar]) -> Outputs:
        return {"a": FORWARD[algorithm](short, q, v, tau)}

    def with_wrenches(
        q: Sequence[Scalar], v: Sequence[Scalar], tau: Sequence[Scalar], wrenches: Sequence[Scalar]
    ) -> Outputs:
        solver = FORWARD["crba" if algorithm == "lagrange" else algorithm]
        return {"a": solver(short, q, v, tau, body_wrenches(tree, wrenches))}

    shapes: dict[str, tuple[int, ...]] = {"a": (tree.nv,)}
    if external:
        inputs = ("q", "v", "tau", "wrenches")
        return _quantity(f"forward_{algorithm}_external", tree, inputs, shapes, with_wrenches, solves=True)
    return _quantity(f"forward_{algorithm}", tree, ("q", "v", "tau"), shapes, body, solves=True)


def inverse(tree: Tree, external: bool) -> Quantity:
    """Joint efforts."""
    short = for_efforts(tree)
    shapes: dict[str, tuple[int, ...]] = {"tau": (tree.nv,)}
    if external:
        return _quantity(
            "inverse_external",
            tree,
            ("q", "v", "a", "wrenches"),
            shapes,
            lambda q, v, a, wrenches: {"tau": rnea.inverse_dynamics(short, q, v, a, body_wrenches(tree, wrenches))},
        )
    return _quantity(
        "inverse", tree, ("q", "v", "a"), shapes, lambda q, v, a: {"tau": rnea.inverse_dynamics(short, q, v, a)}
    )


def mass_matrix(tree: Tree, method: str) -> Quantity:
    """Joint-space mass matrix."""
    short = for_efforts(tree)
    return _quantity(
        f"mass_matrix_{method}",
        tree,
        ("q",),
        {"M": (tree.nv, tree.nv)},
        lambda q: {"M": MASS_MATRIX[method](short, q)},
    )


def bias(tree: Tree) -> Quantity:
    """Efforts at zero acceleration."""
    short = for_efforts(tree)
    return _quantity(
        "bias", tree, ("q", "v"), {"h": (tree.nv,)}, lambda q, v: {"h": rnea.inverse_dynamics(short, q, v, None)}
    )


def gravity(tree: Tree) -> Quantity:
    """Efforts that hold the weight."""
    short = for_efforts(tree)
    return _quantity("gravity", tree, ("q",), {"g": (tree.nv,)}, lambda q: {"g": rnea.gravity_efforts(short, q)})


# --- kinematics -----------------------------------------------------------------------------------------------------
def pose(tree: Tree, link: str) -> Quantity:
    """Pose of a link in the world."""
    return _quantity(
        f"pose_{_tag(tree, link)}",
        tree,
        ("q",),
        {"T": (4, 4)},
        lambda q: {"T": as_matrix(kinematics.link_pose(tree, q, link))},
    )


def all_poses(tree: Tree) -> Quantity:
    """Poses of all links in the world, in the order of `tree.frames`."""

    def body(q: Sequence[Scalar]) -> Outputs:
        return {"T": [as_matrix(X) for X in kinematics.all_link_poses(tree, q).values()]}

    return _quantity("all_poses", tree, ("q",), {"T": (len(tree.frames), 4, 4)}, body)


def velocity(tree: Tree, link: str) -> Quantity:
    """Velocity of a link at its origin, world's axes."""
    return _quantity(
        f"velocity_{_tag(tree, link)}",
        tree,
        ("q", "v"),
        {"V": (6,)},
        lambda q, v: {"V": linear_first(kinematics.link_velocity(tree, q, v, link))},
    )


def acceleration(tree: Tree, link: str) -> Quantity:
    """Acceleration of a link's origin and its angular acceleration, world's axes."""
    return _quantity(
        f"acceleration_{_tag(tree, link)}",
        tree,
        ("q", "v", "a"),
        {"A": (6,)},
        lambda q, v, a: {"A": linear_first(kinematics.link_acceleration(tree, q, v, a, link))},
    )


def link_jacobian(tree: Tree, link: str, frame: str) -> Quantity:
    """Jacobian of a link, rows [linear; angular]."""

    def body(q: Sequence[Scalar]) -> Outputs:
        columns = [linear_first(c) for c in jacobian.link_jacobian(tree, q, link, frame)]
        return {"J": [[column[i] for column in columns] for i in range(6)]}

    return _quantity(f"jacobian_{frame}_{_tag(tree, link)}", tree, ("q",), {"J": (6, tree.nv)}, body)


def rate_of(quantity: Quantity, tree: Tree) -> Quantity:
    """Time derivative of a quantity of q alone, along v."""
    (result, shape), *_ = quantity.shapes.items()
    name = f"{quantity.name}_rate"
    inputs = {"q": tree.nq, "v": tree.nv}

    def traced() -> Function:
        inner = jvp(quantity.trace(), wrt=("q",))

        def body(q: Sequence[Scalar], v: Sequence[Scalar]) -> Outputs:
            rates = position_rates(tree, q, v)
            flat = substitute(inner, {"q": q, "d_q": rates})
            return {result: reshape(flat[f"d_{result}"], shape)}

        return trace(name, inputs, body)

    return Quantity(name, inputs, {result: shape}, traced)


def com(tree: Tree) -> Quantity:
    """Centre of mass."""
    return _quantity("com", tree, ("q",), {"c": (3,)}, lambda q: {"c": centre_of_mass.position(tree, q)})


def com_jacobian(tree: Tree) -> Quantity:
    """Jacobian of the centre of mass."""

    def body(q: Sequence[Scalar]) -> Outputs:
        columns = centre_of_mass.jacobian(tree, q)
        return {"J": [[column[i] for column in columns] for i in range(3)]}

    return _quantity("com_jacobian", tree, ("q",), {"J": (3, tree.nv)}, body)


def centroidal_momentum(tree: Tree) -> Quantity:
    """Linear momentum and angular momentum about the centre of mass."""
    return _quantity(
        "centroidal_momentum",
        tree,
        ("q", "v"),
        {"h": (6,)},
        lambda q, v: {"h": force_first(centroidal.momentum(tree, q, v))},
    )


def centroidal_matrix(tree: Tree) -> Quantity:
    """Centroidal momentum per unit velocity."""

    def body(q: Sequence[Scalar]) -> Outputs:
        columns = [force_first(c) for c in centroidal.momentum_columns(tree, q)]
        return {"A": [[column[i] for column in columns] for i in range(6)]}

    return _quantity("centroidal_matrix", tree, ("q",), {"A": (6, tree.nv)}, body)


def energies(tree: Tree) -> Quantity:
    """Kinetic and potential energy."""
    return _quantity(
        "energy",
        tree,
        ("q", "v"),
        {"energy": (2,)},
        lambda q, v: {"energy": (energy.kinetic(tree, q, v), energy.potential(tree, q))},
    )


# --- derivatives ----------------------------------------------------------------------------------------------------
def inverse_derivatives(tree: Tree) -> Quantity:
    """∂τ/∂q, ∂τ/∂v and ∂τ/∂a = M of inverse dynamics, by differentiating its graph; q changes on the manifold."""
    short = for_efforts(tree)
    n = tree.nv

    def body(q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]) -> Outputs:
        tau = rnea.inverse_dynamics(short, q, v, a)
        by_q = [_column(tau, q, position_rates(tree, q, _unit(j, n))) for j in range(n)]
        by_v = [_column(tau, v, _unit(j, n)) for j in range(n)]
        return {"dq": _transposed(by_q), "dv": _transposed(by_v), "du": crba.mass_matrix(short, q).dense()}

    shapes: dict[str, tuple[int, ...]] = {"dq": (n, n), "dv": (n, n), "du": (n, n)}
    return _quantity("inverse_derivatives", tree, ("q", "v", "a"), shapes, body)


def forward_derivatives(tree: Tree) -> Quantity:
    """∂a/∂q = -M⁻¹ ∂τ/∂q, ∂a/∂v = -M⁻¹ ∂τ/∂v and ∂a/∂τ = M⁻¹, with the derivatives of inverse dynamics at a."""
    short = for_efforts(tree)
    n = tree.nv
    of_inverse = inverse_derivatives(tree)

    def body(q: Sequence[Scalar], v: Sequence[Scalar], tau: Sequence[Scalar]) -> Outputs:
        factors = factorise(crba.mass_matrix(short, q))
        bias = rnea.inverse_dynamics(short, q, v, None)
        a = solve_factorised(factors, [minus(t, h) for t, h in zip(tau, bias, strict=True)])
        flat = substitute(of_inverse.trace(), {"q": q, "v": v, "a": a})
        result = {}
        for name in ("dq", "dv"):
            rows = reshape(flat[name], (n, n))
            columns = [solve_factorised(factors, [minus(0.0, rows[i][j]) for i in range(n)]) for j in range(n)]
            result[name] = _transposed(columns)
        result["du"] = _transposed([solve_factorised(factors, _unit(j, n)) for j in range(n)])
        return result

    shapes: dict[str, tuple[int, ...]] = {"dq": (n, n), "dv": (n, n), "du": (n, n)}
    return _quantity("forward_derivatives", tree, ("q", "v", "tau"), shapes, body, solves=True)


def _column(values: Sequence[Scalar], variables: Sequence[Scalar], rates: Sequence[Scalar]) -> list[Scalar]:
    return directional(values, {x: rate for x, rate in zip(variables, rates, strict=True) if not is_zero(rate)})


def _unit(j: int, n: int) -> list[float]:
    return [1.0 if i == j else 0.0 for i in range(n)]


def _transposed(columns: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
    return [list(row) for row in zip(*columns, strict=True)]


def inverse_along(tree: Tree) -> Quantity:
    """Derivative of inverse dynamics along one change d_q (a velocity: on the manifold) and d_v of the state."""
    quantity = inverse(tree, external=False)
    (result, shape), *_ = quantity.shapes.items()
    name = "inverse_along"
    inputs = {**quantity.inputs, "d_q": tree.nv, "d_v": tree.nv}

    def traced() -> Function:
        inner = jvp(quantity.trace(), wrt=("q", "v"))

        def body(**vectors: Sequence[Scalar]) -> Outputs:
            given = {**vectors, "d_q": position_rates(tree, vectors["q"], vectors["d_q"])}
            return {result: reshape(substitute(inner, given)[f"d_{result}"], shape)}

        return trace(name, inputs, body)

    return Quantity(name, inputs, {result: shape}, traced)


def position_rates(tree: Tree, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """q̇ of the whole model."""
    rates: list[Scalar] = [0.0] * tree.nq
    for body in tree.bodies:
        if body.is_independent:
            rates[body.q] = body.joint.position_rate(q[body.q], v[body.v])
    return rates


def substitute(function: Function, arguments: Mapping[str, Sequence[Scalar]]) -> dict[str, list[Scalar]]:
    """Results of a traced function for arguments that may be expressions of another graph."""
    values = evaluate_nodes(function.nodes(), arguments)
    return {
        name: [values[x.index] if isinstance(x, Expr) else x for x in elements]
        for name, elements in function.outputs.items()
    }


def reshape(flat: Sequence[Scalar], shape: tuple[int, ...]) -> Any:
    """Nested lists of the given shape."""
    if len(shape) <= 1:
        return list(flat)
    step = len(flat) // shape[0]
    return [reshape(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def _tag(tree: Tree, link: str) -> str:
    """An identifier for a link, whose name may be any text."""
    return f"link{list(tree.frames).index(link)}"
