# SPDX-License-Identifier: Apache-2.0
"""Quantities of links and of the whole body: poses, velocities, Jacobians, centre of mass, momentum, energy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

from ada_dynamics.algorithms import centroidal, energy, jacobians, kinematics
from ada_dynamics.dynamics.quantities.base import (
    Outputs,
    Quantity,
    as_matrix,
    force_first,
    linear_first,
    position_rates,
    quantity,
    tag_of,
)
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.vector import Scalar

Frame: TypeAlias = Literal["local_world_aligned", "local", "world"]
FRAMES: tuple[Frame, ...] = get_args(Frame)


def pose(tree: Tree, link: str) -> Quantity:
    """Pose of a link in the world."""
    return quantity(
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

    return quantity("all_poses", tree, ("q",), {"T": (len(tree.frames), 4, 4)}, body)


def position_map(tree: Tree) -> Quantity:
    """N of q̇ = N(q) v."""

    def body(q: Sequence[Scalar]) -> Outputs:
        unit = [[float(i == j) for i in range(tree.nv)] for j in range(tree.nv)]
        columns = [position_rates(tree, q, e) for e in unit]
        return {"N": [list(row) for row in zip(*columns, strict=True)]}

    return quantity("position_map", tree, ("q",), {"N": (tree.nq, tree.nv)}, body)


def velocity(tree: Tree, link: str) -> Quantity:
    """Velocity of a link at its origin, world's axes."""
    return quantity(
        f"velocity_{_tag(tree, link)}",
        tree,
        ("q", "v"),
        {"V": (6,)},
        lambda q, v: {"V": linear_first(kinematics.link_velocity(tree, q, v, link))},
    )


def acceleration(tree: Tree, link: str) -> Quantity:
    """Acceleration of a link's origin and its angular acceleration, world's axes."""
    return quantity(
        f"acceleration_{_tag(tree, link)}",
        tree,
        ("q", "v", "a"),
        {"A": (6,)},
        lambda q, v, a: {"A": linear_first(kinematics.link_acceleration(tree, q, v, a, link))},
    )


def link_jacobian(tree: Tree, links: str | Sequence[str], frame: str) -> Quantity:
    """Jacobian of a link, rows [linear; angular], or of several links."""
    several = [links] if isinstance(links, str) else links

    def rows(q: Sequence[Scalar], link: str) -> list[list[Scalar]]:
        columns = [linear_first(c) for c in jacobians.link_jacobian(tree, q, link, frame)]
        return [[column[i] for column in columns] for i in range(6)]

    def body(q: Sequence[Scalar]) -> Outputs:
        found = [rows(q, link) for link in several]
        return {"J": found[0] if isinstance(links, str) else found}

    if isinstance(links, str):
        return quantity(f"jacobian_{frame}_{_tag(tree, links)}", tree, ("q",), {"J": (6, tree.nv)}, body)
    name = f"jacobians_{frame}_{tag_of(*(_tag(tree, link) for link in links))}"
    return quantity(name, tree, ("q",), {"J": (len(links), 6, tree.nv)}, body)


def com(tree: Tree) -> Quantity:
    """Centre of mass."""
    return quantity("com", tree, ("q",), {"c": (3,)}, lambda q: {"c": centroidal.com(tree, q)})


def com_velocity(tree: Tree) -> Quantity:
    """Velocity of the centre of mass."""

    def body(q: Sequence[Scalar], v: Sequence[Scalar]) -> Outputs:
        k = 1.0 / centroidal.moving_mass(tree)
        return {"c_rate": k * centroidal.momentum(tree, q, v).force}

    return quantity("com_velocity", tree, ("q", "v"), {"c_rate": (3,)}, body)


def com_acceleration(tree: Tree) -> Quantity:
    """Acceleration of the centre of mass."""
    return quantity(
        "com_acceleration",
        tree,
        ("q", "v", "a"),
        {"c_acceleration": (3,)},
        lambda q, v, a: {"c_acceleration": centroidal.com_acceleration(tree, q, v, a)},
    )


def com_jacobian(tree: Tree) -> Quantity:
    """Jacobian of the centre of mass."""

    def body(q: Sequence[Scalar]) -> Outputs:
        columns = centroidal.com_jacobian(tree, q)
        return {"J": [[column[i] for column in columns] for i in range(3)]}

    return quantity("com_jacobian", tree, ("q",), {"J": (3, tree.nv)}, body)


def centroidal_momentum(tree: Tree) -> Quantity:
    """Linear momentum and angular momentum about the centre of mass."""
    return quantity(
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

    return quantity("centroidal_matrix", tree, ("q",), {"A": (6, tree.nv)}, body)


def energies(tree: Tree) -> Quantity:
    """Kinetic and potential energy."""
    return quantity(
        "energy",
        tree,
        ("q", "v"),
        {"energy": (2,)},
        lambda q, v: {"energy": (energy.kinetic(tree, q, v), energy.potential(tree, q))},
    )


def _tag(tree: Tree, link: str) -> str:
    """An identifier for a link, whose name may be any text."""
    return f"link{list(tree.frames).index(link)}"
