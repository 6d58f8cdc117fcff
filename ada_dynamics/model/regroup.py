# SPDX-License-Identifier: Apache-2.0
"""Base inertial parameters: regroup inertia that does not act on a revolute joint into the parent link.

A mass on the joint axis and an inertia that is symmetric about it act on the joint and on its ancestors as if fixed to
the parent. Regrouping keeps efforts, accelerations and the mass matrix; it changes wrenches, energies and momenta of
single links. In long chains the parameters of the parents grow and digits are lost (2e-13 at 32 links, 1e-12 at 128),
so only short chains are regrouped.
"""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.rotations import clean_relative, to_mat3, to_vec3
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.spatial.inertia import RigidInertia

MAX_DEPTH = 12  # of a chain of joints up to which a few roundings are lost


def depth(tree: Tree) -> int:
    """Number of joints on the longest path from the base."""
    below = [0] * len(tree.bodies)
    for body in tree.bodies:
        below[body.index] = 1 + (below[body.parent] if body.parent != WORLD else 0)
    return max(below, default=0)


def for_efforts(tree: Tree) -> Tree:
    """Return the tree for efforts and accelerations: regrouped where no digits are lost."""
    return regroup(tree) if depth(tree) <= MAX_DEPTH else tree


def regroup(tree: Tree) -> Tree:
    """Return the tree with base parameters, which contain more zeros for constant folding."""
    inertias = [body.inertia for body in tree.bodies]
    for body in reversed(tree.bodies):
        parts = body.joint.parted(inertias[body.index])
        if parts is None:
            continue
        kept, moved = parts
        inertias[body.index] = kept
        if body.parent != WORLD:
            inertias[body.parent] = _clean(inertias[body.parent] + body.placement.to_parent(moved))
    return tree.with_inertias(inertias)


def _clean(inertia: RigidInertia) -> RigidInertia:
    h: Array = np.array(inertia.first_moment)
    about: Array = np.array(inertia.about_origin)
    return RigidInertia(inertia.mass, to_vec3(clean_relative(h)), to_mat3(clean_relative(about)))
