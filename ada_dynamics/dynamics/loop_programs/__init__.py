# SPDX-License-Identifier: Apache-2.0
"""Dynamics of any tree by one program that loops over joints: the algorithms' steps, traced once per joint type.

A robot is then a table of constants, so nothing is compiled per robot, and time and memory grow with the number of
joints alone. All joint axes are on z here.
"""

from __future__ import annotations

from ada_dynamics.dynamics.loop_programs import articulated, assembly
from ada_dynamics.errors import InputError
from ada_dynamics.jit.generic import GenericKernel
from ada_dynamics.model.tree import Tree

ALGORITHMS = ("aba", "ada")  # of forward dynamics


def loop_kernel(tree: Tree, name: str, external: bool, algorithm: str = "aba") -> GenericKernel:
    """The kernel that runs "forward" (by an algorithm) or "inverse" on a tree whose joint axes are all on z."""
    if algorithm not in ALGORITHMS:
        raise InputError(f"the generic loop kernels run {' or '.join(map(repr, ALGORITHMS))}, not {algorithm!r}.")
    if name == "forward" and algorithm == "ada":
        return assembly.forward_kernel(tree, external)
    return articulated.loop_kernel(tree, name, external)


__all__ = ["ALGORITHMS", "loop_kernel"]
