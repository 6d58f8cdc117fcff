# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics by hybrid modelling: pieces by their equations of motion, joined by ADA (Takahashi 2012, ch. 4).

Assembly starts from whole pieces instead of links, which saves its first and last steps (fig. 4.4). Traced, a piece is
a symbolic operator with the robot's constants folded; on floats it is plain numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ada_dynamics.algorithms.assembly import Loops
from ada_dynamics.hybrid import assembly
from ada_dynamics.hybrid.cuts import cheapest_cuts, cheapest_method, frozen
from ada_dynamics.hybrid.pieces import cut_joints
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.motion import Force
from ada_dynamics.spatial.vector import Scalar


def forward_dynamics(
    tree: Tree,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    tau: Sequence[Scalar],
    external: Mapping[int, Force] | None = None,
    cuts: Sequence[str] | str = "auto",
    rows: Mapping[str, Sequence[int]] | None = None,
) -> list[Scalar]:
    """Joint accelerations.

    Args:
        tree: the mechanism; every joint has its own coordinates.
        q: positions; they must close the loops.
        v: velocities, likewise.
        tau: efforts.
        external: wrench on a body about its origin, in its axes.
        cuts: joints at which the tree is cut into pieces, or "auto": where it takes the fewest instructions.
        rows: conditions of the loops in use (see `ada.solve`).
    """
    chosen = cheapest_cuts(tree, rows) if isinstance(cuts, str) and cuts == "auto" else cut_joints(tree, cuts)
    method = cheapest_method(tree, chosen, frozen(rows))
    return assembly.solve(tree, q, v, tau, external, chosen, Loops(rows), method)
