# SPDX-License-Identifier: Apache-2.0
"""Quantities of a model: inputs, shapes of results, and equations; `TABLE` has the quantities of a tree.

Here, and only here, the algorithms' [angular; linear] becomes the public [linear; angular] and [force; moment].
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from ada_dynamics.algorithms import (
    aba,
    ada,
    centroidal,
    coriolis,
    crba,
    dca,
    energy,
    jacobians,
    kinematics,
    lagrange,
    order_n,
    rnea,
)
from ada_dynamics.algorithms.kinematics import position_rates
from ada_dynamics.algorithms.ldl import factorise
from ada_dynamics.dynamics.arguments import loose_joint, pivot_guards, unresisted
from ada_dynamics.errors import ModelError
from ada_dynamics.expr import Function, Traced, directional, minimum, trace
from ada_dynamics.hybrid import cut_selection as hybrid
from ada_dynamics.hybrid import lane_dynamics
from ada_dynamics.model.tree import Tree, for_efforts
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Scalar, leaves

Outputs = Mapping[str, Any]
Vector = Sequence[Scalar]
Frame: TypeAlias = Literal["local_world_aligned", "local", "world"]
FRAMES: tuple[Frame, ...] = get_args(Frame)
MASS_MATRIX_METHODS = ("crba", "unit_vector", "jacobian")


@dataclass(frozen=True)
class Quantity:
    """A computation of some results from some inputs, not yet traced."""

    name: str  # an identifier, unique for a model
    inputs: dict[str, int]  # name and length of each argument
    shapes: dict[str, tuple[int, ...]]  # name and shape of each result
    trace: Callable[[], Function]
    body: Callable[..., Traced]  # computes it, guards included, over any scalars


class QuantityRow(NamedTuple):
    """Row of a table: results = equation(tree, *inputs), or equation(tree, *inputs, link, ...) for one of a link.

    An equation of several results returns them in the order of `shapes`.
    """

    inputs: tuple[str, ...]
    shapes: Mapping[str, tuple[int | str, ...]]  # of each result: numbers, or names of sizes such as nq and nv
    equation: Callable[..., Any]
    is_regrouped: bool = False  # evaluated on the tree with base parameters
    solves: bool = False  # divides by the mass matrix
    is_rate: bool = False  # the time derivative of the equation, which has all inputs but the last one: v

    def shapes_of(self, tree: Tree, sizes: Mapping[str, int] | None = None) -> dict[str, tuple[int, ...]]:
        """Shapes of the results, for more sizes by name."""
        known = {"nq": tree.nq, "nv": tree.nv, "frames": len(tree.frames), **(sizes or {})}
        return {
            name: tuple(size if isinstance(size, int) else known[size] for size in shape)
            for name, shape in self.shapes.items()
        }

    def rate(self) -> QuantityRow:
        """The time derivative along v of a quantity of q alone."""
        return self._replace(inputs=(*self.inputs, "v"), is_rate=True)

    def evaluated(
        self, tree: Tree, given: Mapping[str, Vector], shapes: Mapping[str, tuple[int, ...]], *more: Any
    ) -> Any:
        """Results by name, for arguments by name and more arguments of the equation."""
        own = self.inputs[:-1] if self.is_rate else self.inputs
        found = self.equation(tree, *(given[key] for key in own), *more)
        results = dict(zip(shapes, found if len(shapes) > 1 else (found,), strict=True))
        if not self.is_rate:
            return results
        return {name: rate_of(value, shapes[name], tree, given["q"], given["v"]) for name, value in results.items()}


def quantity(
    name: str,
    tree: Tree,
    inputs: Sequence[str],
    shapes: dict[str, tuple[int, ...]],
    body: Callable[..., Outputs | Traced],
    solves: bool = False,
    extra: Mapping[str, int] | None = None,
) -> Quantity:
    """A quantity of some of q, v, tau, a and wrenches, and of extra inputs with their lengths.

    It is guarded by usable positions, the guards of the body and, if it divides by the mass matrix, the pivots of that.
    """
    sizes = {"q": tree.nq, "v": tree.nv, "tau": tree.nv, "a": tree.nv, "wrenches": 6 * len(tree.bodies)}
    wanted = {**{key: sizes[key] for key in inputs}, **(extra or {})}

    def guarded(**vectors: Vector) -> Traced:
        guards = position_guards(tree, vectors["q"])
        if solves:
            guards += pivot_guards(tree, vectors["q"])
        result = body(**vectors)
        traced = result if isinstance(result, Traced) else Traced(result)
        return traced._replace(guards=[*guards, *traced.guards])

    def traced() -> Function:
        try:
            return trace(name, wanted, guarded, tuple(shapes))
        except ZeroDivisionError:
            neutral = [x for body in tree.bodies if body.is_independent for x in body.joint.neutral().tolist()]
            raise ModelError(unresisted(loose_joint(tree, neutral), "in any position")) from None

    return Quantity(name, wanted, shapes, traced, guarded)


def with_margin(of: Quantity) -> Quantity:
    """The quantity without guards; its smallest guard is the result `margin`, negative for rejected states."""

    def body(**given: Vector) -> Traced:
        found = of.body(**given)
        return Traced({**found.outputs, "margin": [reduce(minimum, found.guards, 1.0)]})

    name, shapes = f"{of.name}_with_margin", {**of.shapes, "margin": (1,)}
    return Quantity(name, of.inputs, shapes, lambda: trace(name, of.inputs, body, tuple(shapes)), body)


def tag_of(*what: object) -> str:
    """Hash of the texts of some values, as part of a name."""
    return hashlib.blake2b(repr(what).encode(), digest_size=6).hexdigest()


def position_guards(tree: Tree, q: Vector) -> list[Scalar]:
    """Quantities that must not be negative for q to be usable."""
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


def body_wrenches(tree: Tree, flat: Vector) -> dict[int, Force]:
    """External wrenches, [force; moment] about each body's origin in its axes, body after body."""
    parts = {b.index: flat[6 * b.index : 6 * b.index + 6] for b in tree.bodies}
    return {i: Force.force_first(x) for i, x in parts.items()}


# --- tracing ---------------------------------------------------------------------------------------------------------
def unit_vectors(n: int) -> list[list[float]]:
    """Rows of the unit matrix."""
    return [[float(i == j) for i in range(n)] for j in range(n)]


def rate_of(values: Any, shape: tuple[int, ...], tree: Tree, q: Vector, v: Vector) -> Any:
    """Time derivative of nested values of this shape while q moves with v."""
    return reshape(directional(leaves(values), dict(zip(q, position_rates(tree, q, v), strict=True))), shape)


def reshape(flat: Vector, shape: tuple[int, ...]) -> Any:
    """Nested lists of the given shape."""
    if len(shape) <= 1:
        return list(flat)
    step = len(flat) // max(shape[0], 1)
    return [reshape(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


# --- of a tree, without its loops -------------------------------------------------------------------------------------
def _inverse_mass_matrix(tree: Tree, q: Vector) -> list[list[Scalar]]:
    """Inverse by the sparse factors of the mass matrix."""
    factors = factorise(crba.mass_matrix(tree, q))
    columns = [factors.solve(unit) for unit in unit_vectors(tree.nv)]
    return [[columns[max(i, j)][min(i, j)] for j in range(tree.nv)] for i in range(tree.nv)]


def _coriolis_matrix(tree: Tree, q: Vector, v: Vector) -> list[list[Scalar]]:
    rates = dict(zip(q, position_rates(tree, q, v), strict=True))
    subspaces = (body.joint.subspace(body.positions(q)) for body in tree.bodies)
    changes = [[Motion.linear_first(directional((*s.linear, *s.angular), rates)) for s in S] for S in subspaces]
    return coriolis.coriolis_matrix(tree, q, v, changes)


def _link_jacobian(tree: Tree, q: Vector, links: str | Sequence[str], frame: str) -> list[Any]:
    """Rows [linear; angular] of a link, or of each of several links."""
    if not isinstance(links, str):
        return [_link_jacobian(tree, q, link, frame) for link in links]
    return _rows([linear_first(c) for c in jacobians.link_jacobian(tree, q, links, frame)])


def _pulled(tree: Tree, q: Vector, forces: Mapping[int, Force]) -> tuple[list[Scalar], list[list[Scalar]]]:
    """Joint efforts Jᵀ f of external wrenches on all bodies, and their derivative by q on the manifold."""
    inwards = kinematics.inward_sums(tree, kinematics.transforms(tree, q), [forces[body.index] for body in tree.bodies])
    efforts = rnea.gather_efforts(tree, q, inwards)
    moving = [dict(zip(q, position_rates(tree, q, unit), strict=True)) for unit in unit_vectors(tree.nv)]
    return efforts, _rows([directional(efforts, rates) for rates in moving])


def _rows(columns: Sequence[Vector]) -> list[list[Scalar]]:
    return [list(row) for row in zip(*columns, strict=True)]


_SQUARE = ("nv", "nv")
TABLE: dict[str, QuantityRow] = {
    "inverse": QuantityRow(("q", "v", "a"), {"tau": ("nv",)}, rnea.inverse_dynamics, True),
    "pulled": QuantityRow(("q",), {"efforts": ("nv",), "dq": _SQUARE}, _pulled),  # with external wrenches
    "mass_matrix": QuantityRow(("q",), {"M": _SQUARE}, lambda tree, q: crba.mass_matrix(tree, q).dense(), True),
    "mass_matrix_unit_vector": QuantityRow(("q",), {"M": _SQUARE}, crba.mass_matrix_by_unit_vectors, True),
    "mass_matrix_jacobian": QuantityRow(("q",), {"M": _SQUARE}, crba.mass_matrix_by_jacobians, True),
    "inverse_mass_matrix": QuantityRow(("q",), {"M_inv": _SQUARE}, _inverse_mass_matrix, True, True),
    "coriolis_matrix": QuantityRow(("q", "v"), {"C": _SQUARE}, _coriolis_matrix),
    "bias": QuantityRow(("q", "v"), {"h": ("nv",)}, lambda tree, q, v: rnea.inverse_dynamics(tree, q, v, None), True),
    "gravity": QuantityRow(("q",), {"g": ("nv",)}, rnea.gravity_efforts, True),
    "forward_kinematics": QuantityRow(
        ("q",),
        {"T": ("frames", 4, 4)},
        lambda tree, q: [as_matrix(X) for X in kinematics.all_link_poses(tree, q).values()],
    ),
    "position_map": QuantityRow(  # N of q̇ = N(q) v
        ("q",),
        {"N": ("nq", "nv")},
        lambda tree, q: _rows([position_rates(tree, q, unit) for unit in unit_vectors(tree.nv)]),
    ),
    "com": QuantityRow(("q",), {"c": (3,)}, centroidal.com),
    "com_velocity": QuantityRow(
        ("q", "v"),
        {"c_rate": (3,)},
        lambda tree, q, v: (1.0 / centroidal.moving_mass(tree)) * centroidal.momentum(tree, q, v).force,
    ),
    "com_acceleration": QuantityRow(("q", "v", "a"), {"c_acceleration": (3,)}, centroidal.com_acceleration),
    "com_jacobian": QuantityRow(("q",), {"J": (3, "nv")}, lambda tree, q: _rows(centroidal.com_jacobian(tree, q))),
    "momentum": QuantityRow(("q", "v"), {"h": (6,)}, lambda tree, q, v: force_first(centroidal.momentum(tree, q, v))),
    "momentum_matrix": QuantityRow(
        ("q",), {"A": (6, "nv")}, lambda tree, q: _rows([force_first(c) for c in centroidal.momentum_columns(tree, q)])
    ),
    "energy": QuantityRow(
        ("q", "v"), {"energy": (2,)}, lambda tree, q, v: (energy.kinetic(tree, q, v), energy.potential(tree, q))
    ),
    # --- of links ---------------------------------------------------------------------------------------------------
    "pose": QuantityRow(("q",), {"T": (4, 4)}, lambda tree, q, link: as_matrix(kinematics.link_pose(tree, q, link))),
    "velocity": QuantityRow(
        ("q", "v"), {"V": (6,)}, lambda tree, q, v, link: linear_first(kinematics.link_velocity(tree, q, v, link))
    ),
    "acceleration": QuantityRow(
        ("q", "v", "a"),
        {"A": (6,)},
        lambda tree, q, v, a, link: linear_first(kinematics.link_acceleration(tree, q, v, a, link)),
    ),
    "jacobian": QuantityRow(("q",), {"J": (6, "nv")}, _link_jacobian),
}
"""Quantities by name, as the methods of `Dynamics`."""
TABLE |= {f"{name}_rate": TABLE[name].rate() for name in ("com_jacobian", "momentum_matrix", "jacobian")}


def of_tree(
    tree: Tree, name: str, link: str | Sequence[str] | None = None, *more: str, external: bool = False
) -> Quantity:
    """A quantity of the table, of a link or, for the Jacobian in a frame, of several links.

    External wrenches on links are one more argument of the quantity and of its equation.
    """
    row = TABLE[name]
    shapes, own = row.shapes_of(tree), () if link is None else (link, *more)
    evaluated = for_efforts(tree) if row.is_regrouped else tree
    if link is not None:
        places = [list(tree.frames).index(one) for one in ([link] if isinstance(link, str) else link)]
        name = "_".join([name, *more, f"link{places[0]}" if isinstance(link, str) else f"links_{tag_of(*places)}"])
        if not isinstance(link, str):
            shapes = {result: (len(places), *shape) for result, shape in shapes.items()}

    def body(**given: Vector) -> Outputs:
        acting = (body_wrenches(tree, given["wrenches"]),) if external else ()
        results: Outputs = row.evaluated(evaluated, given, shapes, *own, *acting)
        return results

    inputs = (*row.inputs, "wrenches") if external else row.inputs
    return quantity(name + "_external" * external, tree, inputs, shapes, body, row.solves)


# --- forward dynamics by each algorithm -------------------------------------------------------------------------------
Order = Sequence[str] | str | None  # of assembly: "chain", "balanced" or "few_handles"; or cuts
# Algorithms that take an order of assembly.
ASSEMBLIES: dict[str, Callable[..., list[Scalar]]] = {"ada": ada.forward_dynamics, "dca": dca.forward_dynamics}
HYBRID = "hybrid"  # which takes cuts in its place
FORWARD: dict[str, Callable[..., list[Scalar]]] = {
    "aba": aba.forward_dynamics,
    "crba": crba.forward_dynamics,
    "order_n": order_n.forward_dynamics,
    "lagrange": lagrange.forward_dynamics,
    "lanes": lane_dynamics.forward_dynamics,
    HYBRID: hybrid.forward_dynamics,
    **ASSEMBLIES,
}


def forward(tree: Tree, algorithm: str, external: bool, order: Order = None) -> Quantity:
    """Joint accelerations; `order` is that of assembly, or the cuts of hybrid modelling, where there is one."""
    # The order-n algorithm works at centres of mass, which regrouped bodies do not have; assembly regroups by itself.
    short = tree if algorithm in ("order_n", HYBRID, *ASSEMBLIES) else for_efforts(tree)
    solver = FORWARD["crba" if external and algorithm == "lagrange" else algorithm]
    if algorithm in ASSEMBLIES:
        solver = partial(solver, order=order)
    if algorithm == HYBRID:
        solver = partial(solver, cuts="auto" if order is None else order)

    def body(q: Vector, v: Vector, tau: Vector, wrenches: Vector | None = None) -> Outputs:
        given = () if wrenches is None else (body_wrenches(tree, wrenches),)
        return {"a": solver(short, q, v, tau, *given)}

    name = f"forward_{algorithm}" + order_tag(order) + ("_external" if external else "")
    inputs = ("q", "v", "tau", "wrenches") if external else ("q", "v", "tau")
    return quantity(name, tree, inputs, {"a": (tree.nv,)}, body, solves=True)


def order_tag(order: Order) -> str:
    """An order of assembly as part of a name."""
    return "" if order is None else f"_{tag_of(order)}"
