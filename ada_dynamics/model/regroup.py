# SPDX-License-Identifier: Apache-2.0
"""Base inertial parameters: what a link cannot show through its revolute joint is moved to its parent.

A mass on the joint's axis, and an inertia that is symmetric about it, act on the joint and on everything before it as
if they were fixed to the parent. Efforts, accelerations and the mass matrix of the regrouped tree are those of the
original one; wrenches, energies and momenta of single links are not. In long chains the parent's parameters grow and
digits are lost (2e-13 at 32 links, 1e-12 at 128), so it is for short chains only.
"""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.align import clean_relative, to_mat3, to_vec3
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.spatial.inertia import RigidInertia

MAX_DEPTH = 12  # of a chain of joints; up to here the loss stays within a few roundings


def depth(tree: Tree) -> int:
    """Number of joints on the longest path from the base."""
    below = [0] * len(tree.bodies)
    for body in tree.bodies:
        below[body.index] = 1 + (below[body.parent] if body.parent != WORLD else 0)
    return max(below, default=0)


def for_efforts(tree: Tree) -> Tree:
    """The tree to compute efforts and accelerations with: regrouped where that loses no digits."""
    return regroup(tree) if depth(tree) <= MAX_DEPTH else tree


def regroup(tree: Tree) -> Tree:
    """The tree with base parameters, which has more zeros to fold."""
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
