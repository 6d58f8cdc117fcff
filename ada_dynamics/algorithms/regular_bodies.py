# SPDX-License-Identifier: Apache-2.0
"""Bodies from which assembly starts: links with regular inertia, or groups of links that have one together.

Links with singular inertia (thin rods, massless links) receive inertia of adjacent links, if the motion is not affected
(`model.inertia_regularization`). Otherwise the smallest possible groups of links are represented in joint space; their
inertia then depends on the configuration, and is regular wherever that of the mechanism is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ada_dynamics.algorithms import crba
from ada_dynamics.algorithms.joint_space import local_position, sub_tree
from ada_dynamics.errors import ModelError
from ada_dynamics.model.inertia_regularization import is_thin, regularize_inertias
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.spatial.inertia import RigidInertia

# Smallest eigenvalue of the mass matrix of a group, scaled to a unit diagonal.
LEAST = 1e-6
POSES = 4


@dataclass(frozen=True, eq=False)
class Regular:
    """A tree ready for assembly."""

    tree: Tree
    moved: tuple[RigidInertia | None, ...]  # through each joint from the parent to the body, in the body's frame
    groups: tuple[tuple[int, ...], ...] = ()  # joints inside each group of links that is taken in joint space

    @property
    def is_unchanged(self) -> bool:
        """Return True if no inertia was moved."""
        return all(m is None for m in self.moved)


@lru_cache(maxsize=32)
def regular(tree: Tree) -> Regular:
    """The tree with regular inertias or groups.

    Raises:
        ModelError: a link has a singular inertia in any group.
    """
    nothing = (None,) * len(tree.bodies)
    if not any(is_thin(body.inertia) for body in tree.bodies):
        return Regular(tree, nothing)
    try:
        helped = regularize_inertias(tree)
    except ModelError:
        return Regular(tree, nothing, _groups(tree))
    return Regular(helped.tree, helped.moved)


def _groups(tree: Tree) -> tuple[tuple[int, ...], ...]:
    """Joints of groups with regular inertia, each grown from a link with singular inertia by adding neighbours."""
    rng = np.random.default_rng(20120302)
    poses = [_random_position(tree, rng) for _ in range(POSES)]
    inside: set[int] = set()
    for body in tree.bodies:
        group = _group_of(tree, body.index, inside)
        while not _is_regular(tree, body.index, group, poses):
            choices = [j for j in _neighbours(tree, body.index, group) if j not in inside]
            if not choices:
                raise _impossible(tree, body.index)
            larger = {j: _group_of(tree, body.index, inside | {j}) for j in choices}
            helpful = [j for j in choices if _is_regular(tree, body.index, larger[j], poses)]
            # if no single neighbour suffices, an outer one is more likely to help than an inner one
            chosen = min(helpful, key=lambda j: len(larger[j])) if helpful else choices[-1]
            inside.add(chosen)
            group = larger[chosen]
    found = {tuple(sorted(_group_of(tree, j, inside))) for j in inside}
    return tuple(sorted(found))


def _group_of(tree: Tree, body: int, inside: set[int]) -> set[int]:
    """Joints of the group that contains a body; groups on the world remain separate."""
    links, joints = {body}, set[int]()
    while True:
        more = {j for j in inside - joints if j in links or tree.bodies[j].parent in links}
        if not more:
            return joints
        joints |= more
        links |= more | {tree.bodies[j].parent for j in more} - {WORLD}


def _neighbours(tree: Tree, body: int, group: set[int]) -> list[int]:
    """Joints at the border of a group, those towards the base first."""
    links = {body} | group | {tree.bodies[j].parent for j in group} - {WORLD}
    upward = [j for j in sorted(links) if j not in group]
    return upward + [b.index for b in tree.bodies if b.parent in links and b.index not in group]


def _is_regular(tree: Tree, body: int, group: set[int], poses: Sequence[Sequence[float]]) -> bool:
    """Return True if a group has a regular mass matrix in all sample configurations."""
    if not group:
        return not is_thin(tree.bodies[body].inertia)
    part = sub_tree(tree, sorted(group))
    for q in poses:
        M = np.array(crba.mass_matrix(part.tree, local_position(part, q)).dense(), dtype=float)
        d = np.sqrt(np.diag(M))
        if not np.all(d > 0.0) or np.linalg.eigvalsh(M / np.outer(d, d))[0] < LEAST:
            return False
    return True


def _random_position(tree: Tree, rng: np.random.Generator) -> list[float]:
    q = np.zeros(tree.nq)
    for body in tree.bodies:
        size = body.joint.nq
        q[body.q] = body.joint.random(rng, np.full(size, -1.0), np.full(size, 1.0))
    return [float(x) for x in q]


def _impossible(tree: Tree, body: int) -> ModelError:
    link = next((f.link for f in tree.frames.values() if f.body == body), tree.bodies[body].name)
    return ModelError(
        f"link {link!r} at joint {tree.bodies[body].name!r} has a singular inertia in every configuration: give it, or "
        "adjacent links, mass and inertia about all axes, give their joints armature, or make them fixed.",
        link=link,
        joint=tree.bodies[body].name,
        field="inertia",
    )
