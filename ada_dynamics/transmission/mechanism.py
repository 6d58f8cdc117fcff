# SPDX-License-Identifier: Apache-2.0
"""The mechanism of a whole robot that connects given joints by its loops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import closed_configuration
from ada_dynamics.model.edit import open_loops, reduce
from ada_dynamics.model.model import Model


def connecting_mechanism(model: Model, names: Sequence[str], reference: Array | None) -> tuple[Model, Array | None]:
    """Return the loops that connect joints, with all other joints locked, and the reference of the kept joints.

    Args:
        model: the robot.
        names: the joints.
        reference: configuration in which the other joints are locked, closed first; the home configuration by default.

    Returns:
        The reduced model and its reference; the arguments if no joint is left to lock.
    """
    loops, joints = _connected(model, names)
    if not loops or joints.issuperset(model.joint_names):
        return model, reference
    q = np.asarray(closed_configuration(model, reference))
    part = reduce(open_loops(model, [name for name in model.loops if name not in loops]), joints, q)
    return part, np.concatenate([q[model.q_index(name)] for name in part.joint_names])


def _connected(model: Model, names: Sequence[str]) -> tuple[set[str], set[str]]:
    """Loops that share joints with the named ones, directly or by other loops, and all joints of these loops."""
    tree = model.tree
    sources = {name: joint.mimic.joint for name, joint in model.joints.items() if joint.mimic}
    paths = {}
    for loop in tree.loops:
        bodies = set(tree.ancestry(loop.parent)) ^ set(tree.ancestry(loop.child))
        joints = {tree.bodies[body].name for body in bodies}
        paths[loop.name] = {sources.get(name, name) for name in joints}
    found, loops = set(names), set[str]()
    while more := {name for name, path in paths.items() if name not in loops and path & found}:
        loops |= more
        found |= set().union(*(paths[name] for name in more))
    return loops, found
