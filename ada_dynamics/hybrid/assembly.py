# SPDX-License-Identifier: Apache-2.0
"""Assembly of pieces by ADA, and disassembly into joint accelerations (Takahashi 2012, sec. 4.2.3, fig. 4.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ada_dynamics.algorithms import ada
from ada_dynamics.algorithms.articulated_body import ArticulatedBody
from ada_dynamics.algorithms.assembly import ClosedStep, Loops, Release, State, insist_on_own_coordinates
from ada_dynamics.algorithms.assembly_order import Step
from ada_dynamics.algorithms.joint_equations import ClosingEquations, Outcome
from ada_dynamics.algorithms.joint_space import sub_tree
from ada_dynamics.algorithms.regular_bodies import regular
from ada_dynamics.hybrid.partition import order_of_pieces
from ada_dynamics.hybrid.subchain import Method, SubChain
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.motion import NO_FORCE, Force
from ada_dynamics.spatial.vector import Scalar


class _Releasing(Protocol):
    """A step of assembly on the way back."""

    def release(self, outside: Mapping[int, Force]) -> Release:
        """For forces on the handles."""
        ...


class _Piece:
    """A piece on the way back (eq. 4.9)."""

    def __init__(self, chain: SubChain) -> None:
        self._chain = chain

    def release(self, outside: Mapping[int, Force]) -> Release:
        """For forces on the handles."""
        found = self._chain.released(outside)
        return Release({j: (Outcome([], rates), NO_FORCE) for j, rates in found.items()}, {})


def solve(
    tree: Tree,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    tau: Sequence[Scalar],
    external: Mapping[int, Force] | None,
    cuts: tuple[int, ...],
    loops: Loops,
    method: Method,
) -> list[Scalar]:
    """Joint accelerations of a tree that is cut at the joints of some bodies."""
    insist_on_own_coordinates(tree)
    loops.check(tree)
    state = State(regular(tree), q, v, tau, external or {})
    steps = order_of_pieces(tree, cuts).steps
    done = _assemble(state, steps, loops, method)
    accelerations: list[Scalar] = [0.0] * tree.nv
    for joint, rates in _disassemble(len(tree.bodies), steps, done).items():
        accelerations[tree.bodies[joint].v] = rates
    return accelerations


def _assemble(state: State, steps: Sequence[Step], loops: Loops, method: Method) -> list[_Releasing]:
    """Eqs. 4.7 and 4.8 for the pieces, then eqs. 2.17-2.21 and 3.12-3.20 joint by joint."""
    n = len(state.tree.bodies)
    inside = {link for step in steps if step.in_joint_space for link in step.parts}
    bodies: dict[int, ArticulatedBody] = {i: state.link(i) for i in range(n) if i not in inside}
    done: list[_Releasing] = []
    for k, step in enumerate(steps, n):
        if step.in_joint_space:
            part = sub_tree(state.tree, step.joints)
            chain = SubChain(part, state.q, state.v, state.effort, state.w, state.external, method)
            bodies[k] = chain.body(step.handles)
            state.alone.update({link: bodies[k].operator(link, link) for link in step.handles})
            done.append(_Piece(chain))
            continue
        parts = [bodies[part] for part in step.parts]
        bias = {link: motion for part in parts for link, motion in part.bias.items()}
        joints = [state.joint(loops, j, bias, step.handles) for j in step.joints]
        bodies[k], closed = ada.close(ClosingEquations(parts, joints), step.handles)
        done.append(ClosedStep(step.joints, joints, closed))
    return done


def _disassemble(n: int, steps: Sequence[Step], done: Sequence[_Releasing]) -> dict[int, Sequence[Scalar]]:
    """q̈ of each tree joint, from the last step to the first: eqs. 2.18 and 2.22, then eq. 4.9 within the pieces."""
    found: dict[int, Sequence[Scalar]] = {}
    forces: dict[int, dict[int, Force]] = {}  # on the handles of each articulated body
    for k in range(len(steps) - 1, -1, -1):
        outcomes, passed = done[k].release(forces.get(n + k, {}))
        found |= {joint: outcome.rates for joint, (outcome, _) in outcomes.items() if joint < n}
        for part in steps[k].parts:
            if part >= n:
                forces[part] = {link: passed.get(link, NO_FORCE) for link in steps[part - n].handles}
    return found
