# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics by hybrid modelling: sub-chains by their equations of motion, joined by ADA (Takahashi 2012, ch. 4).

Assembly starts from whole sub-chains instead of links, which saves its first and last steps (sec. 4.2.3, fig. 4.4).
Traced, a sub-chain is a symbolic operator with the robot's constants folded; on floats it is plain numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ada_dynamics.algorithms import ada
from ada_dynamics.algorithms.assembly import ConstraintSelection, State, assemble, disassemble, refuse_mimics
from ada_dynamics.algorithms.joint_space import sub_tree
from ada_dynamics.algorithms.regular_bodies import regular
from ada_dynamics.hybrid.partition import assembly_order
from ada_dynamics.hybrid.subchain import Method, SubChain
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.motion import Force
from ada_dynamics.spatial.vector import Scalar


def solve(
    tree: Tree,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    tau: Sequence[Scalar],
    external: Mapping[int, Force] | None,
    cuts: tuple[int, ...],
    loops: ConstraintSelection,
    method: Method,
) -> list[Scalar]:
    """Compute the joint accelerations of a tree that is cut at the joints of some bodies.

    Args:
        tree: the mechanism; mimicking joints are refused.
        q: positions; they must close the loops.
        v: velocities; they must satisfy the loop constraints.
        tau: joint efforts.
        external: wrench on a body about its origin, in its axes.
        cuts: bodies at whose joints the tree is cut.
        loops: constraint rows in use.
        method: factorizes the mass matrix of a sub-chain.
    """
    refuse_mimics(tree)
    loops.check(tree)
    state = State(regular(tree).tree, q, v, tau, external or {})

    def sub_chain(joints: Sequence[int]) -> SubChain:
        part = sub_tree(state.tree, joints)
        return SubChain(part, state.q, state.v, state.effort, state.w, state.external, method)

    steps = assembly_order(tree, cuts).steps
    done, _ = assemble(ada.close, state, steps, loops, sub_chain)
    outcomes = disassemble(len(tree.bodies), steps, done)
    accelerations: list[Scalar] = [0.0] * tree.nv
    for body in tree.bodies:
        accelerations[body.v] = outcomes[body.index][0].rates
    return accelerations
