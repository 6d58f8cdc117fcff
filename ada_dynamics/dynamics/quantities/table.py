# SPDX-License-Identifier: Apache-2.0
"""Table of the quantities of a tree, without its loops: inputs, shape and equation of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from ada_dynamics.algorithms import centroidal, coriolis, crba, energy, jacobians, kinematics, rnea
from ada_dynamics.algorithms.ldl import factorise, solve_factorised
from ada_dynamics.dynamics.quantities.base import (
    Quantity,
    as_matrix,
    force_first,
    linear_first,
    position_rates,
    quantity,
    tag_of,
)
from ada_dynamics.expr import directional
from ada_dynamics.model.tree import Tree, for_efforts
from ada_dynamics.spatial.motion import Motion
from ada_dynamics.spatial.vector import Scalar, Vec3

Frame: TypeAlias = Literal["local_world_aligned", "local", "world"]
FRAMES: tuple[Frame, ...] = get_args(Frame)
MASS_MATRIX_METHODS = ("crba", "unit_vector", "jacobian")

Vector = Sequence[Scalar]


class TreeQuantity(NamedTuple):
    """A quantity: result = equation(tree, *inputs), or equation(tree, *inputs, link, ...) for one of a link."""

    result: str
    inputs: tuple[str, ...]
    shape: tuple[int | str, ...]  # sizes, or nq, nv, and frames: their number
    equation: Callable[..., Any]
    is_regrouped: bool = False  # evaluated on the tree with base parameters
    solves: bool = False  # divides by the mass matrix

    def shape_of(self, tree: Tree) -> tuple[int, ...]:
        """Shape of the result."""
        sizes = {"nq": tree.nq, "nv": tree.nv, "frames": len(tree.frames)}
        return tuple(size if isinstance(size, int) else sizes[size] for size in self.shape)


def _inverse_mass_matrix(tree: Tree, q: Vector) -> list[list[Scalar]]:
    """By the sparse factors of the mass matrix."""
    factors = factorise(crba.mass_matrix(tree, q))
    columns = [solve_factorised(factors, [float(i == j) for i in range(tree.nv)]) for j in range(tree.nv)]
    return [[columns[max(i, j)][min(i, j)] for j in range(tree.nv)] for i in range(tree.nv)]


def _coriolis_matrix(tree: Tree, q: Vector, v: Vector) -> list[list[Scalar]]:
    rates = dict(zip(q, position_rates(tree, q, v), strict=True))
    changes = [
        [
            Motion(Vec3(*x[:3]), Vec3(*x[3:]))
            for s in body.joint.subspace(body.positions(q))
            for x in [directional((*s.angular, *s.linear), rates)]
        ]
        for body in tree.bodies
    ]
    return coriolis.coriolis_matrix(tree, q, v, changes)


def _position_map(tree: Tree, q: Vector) -> list[list[Scalar]]:
    """N of q̇ = N(q) v."""
    columns = [position_rates(tree, q, [float(i == j) for i in range(tree.nv)]) for j in range(tree.nv)]
    return _rows(columns)


def _link_jacobian(tree: Tree, q: Vector, links: str | Sequence[str], frame: str) -> list[Any]:
    """Rows [linear; angular] of a link, or of each of several links."""
    if not isinstance(links, str):
        return [_link_jacobian(tree, q, link, frame) for link in links]
    return _rows([linear_first(c) for c in jacobians.link_jacobian(tree, q, links, frame)])


def _rows(columns: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
    return [list(row) for row in zip(*columns, strict=True)]


TABLE: dict[str, TreeQuantity] = {
    "mass_matrix": TreeQuantity("M", ("q",), ("nv", "nv"), lambda tree, q: crba.mass_matrix(tree, q).dense(), True),
    "mass_matrix_unit_vector": TreeQuantity("M", ("q",), ("nv", "nv"), crba.mass_matrix_by_unit_vectors, True),
    "mass_matrix_jacobian": TreeQuantity("M", ("q",), ("nv", "nv"), crba.mass_matrix_by_jacobians, True),
    "inverse_mass_matrix": TreeQuantity("M_inv", ("q",), ("nv", "nv"), _inverse_mass_matrix, True, True),
    "coriolis_matrix": TreeQuantity("C", ("q", "v"), ("nv", "nv"), _coriolis_matrix),
    "bias": TreeQuantity("h", ("q", "v"), ("nv",), lambda tree, q, v: rnea.inverse_dynamics(tree, q, v, None), True),
    "gravity": TreeQuantity("g", ("q",), ("nv",), rnea.gravity_efforts, True),
    "forward_kinematics": TreeQuantity(
        "T",
        ("q",),
        ("frames", 4, 4),
        lambda tree, q: [as_matrix(X) for X in kinematics.all_link_poses(tree, q).values()],
    ),
    "position_map": TreeQuantity("N", ("q",), ("nq", "nv"), _position_map),
    "com": TreeQuantity("c", ("q",), (3,), centroidal.com),
    "com_velocity": TreeQuantity(
        "c_rate",
        ("q", "v"),
        (3,),
        lambda tree, q, v: (1.0 / centroidal.moving_mass(tree)) * centroidal.momentum(tree, q, v).force,
    ),
    "com_acceleration": TreeQuantity("c_acceleration", ("q", "v", "a"), (3,), centroidal.com_acceleration),
    "com_jacobian": TreeQuantity("J", ("q",), (3, "nv"), lambda tree, q: _rows(centroidal.com_jacobian(tree, q))),
    "momentum": TreeQuantity("h", ("q", "v"), (6,), lambda tree, q, v: force_first(centroidal.momentum(tree, q, v))),
    "momentum_matrix": TreeQuantity(
        "A", ("q",), (6, "nv"), lambda tree, q: _rows([force_first(c) for c in centroidal.momentum_columns(tree, q)])
    ),
    "energy": TreeQuantity(
        "energy", ("q", "v"), (2,), lambda tree, q, v: (energy.kinetic(tree, q, v), energy.potential(tree, q))
    ),
    # --- of links ---------------------------------------------------------------------------------------------------
    "pose": TreeQuantity("T", ("q",), (4, 4), lambda tree, q, link: as_matrix(kinematics.link_pose(tree, q, link))),
    "velocity": TreeQuantity(
        "V", ("q", "v"), (6,), lambda tree, q, v, link: linear_first(kinematics.link_velocity(tree, q, v, link))
    ),
    "acceleration": TreeQuantity(
        "A",
        ("q", "v", "a"),
        (6,),
        lambda tree, q, v, a, link: linear_first(kinematics.link_acceleration(tree, q, v, a, link)),
    ),
    "jacobian": TreeQuantity("J", ("q",), (6, "nv"), _link_jacobian),
}
"""Quantities by name, as the methods of `Dynamics`."""


def of_tree(tree: Tree, name: str, link: str | Sequence[str] | None = None, *more: str) -> Quantity:
    """A quantity of the table.

    Args:
        tree: the mechanism.
        name: in the table.
        link: for a quantity of a link; the Jacobian also takes several links.
        more: frame of the Jacobian.
    """
    row = TABLE[name]
    shape, own = row.shape_of(tree), () if link is None else (link, *more)
    evaluated = for_efforts(tree) if row.is_regrouped else tree
    if link is not None:
        places = [list(tree.frames).index(one) for one in ([link] if isinstance(link, str) else link)]
        name = "_".join([name, *more, f"link{places[0]}" if isinstance(link, str) else f"links_{tag_of(*places)}"])
        shape = shape if isinstance(link, str) else (len(places), *shape)
    return quantity(
        name,
        tree,
        row.inputs,
        {row.result: shape},
        lambda **given: {row.result: row.equation(evaluated, *(given[key] for key in row.inputs), *own)},
        row.solves,
    )
