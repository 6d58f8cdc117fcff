# SPDX-License-Identifier: Apache-2.0
"""Assembly and disassembly (Takahashi 2012, fig. 2.3), shared by ADA, DCA and hybrid modelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from ada_dynamics.algorithms import kinematics
from ada_dynamics.algorithms.articulated_body import ArticulatedBody, FreeBody, Operator
from ada_dynamics.algorithms.assembly_order import AssemblyOrder, Step, assembly_order
from ada_dynamics.algorithms.closure import loop_rows
from ada_dynamics.algorithms.joint_equations import (
    Close,
    ClosedJoints,
    ClosingEquations,
    ClosingJoint,
    JointFrame,
    LoopJointEquations,
    Outcome,
    Release,
    Terms,
    TreeJointEquations,
    bias_between,
    moving_of,
)
from ada_dynamics.algorithms.joint_space import SubChain
from ada_dynamics.algorithms.kinematics import Moving, at_rest
from ada_dynamics.algorithms.passive import passive_efforts
from ada_dynamics.algorithms.rnea import needed_force
from ada_dynamics.model.inertia_regularization import RegularInertias, regularize_inertias
from ada_dynamics.model.tree import WORLD, Loop, Tree
from ada_dynamics.spatial.motion import NO_FORCE, Force, Motion
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import ZERO, ZERO3, Scalar, Vec3


class AssemblySolution(NamedTuple):
    """Result of forward dynamics."""

    accelerations: list[Scalar]  # q̈
    multipliers: list[Scalar]  # λ of the loop constraints in use, loop by loop: on the child
    wrenches: list[Force]  # of each tree joint onto its body, about its origin, in its axes (eq. 2.15)
    loop_wrenches: list[Force]  # of each loop joint onto its child, at frame B, in its axes
    pivots: list[Scalar]  # of all constraints, in the order in which their joints were closed


class State:
    """A mechanism in a given state."""

    def __init__(
        self,
        tree: Tree,
        q: Sequence[Scalar],
        v: Sequence[Scalar],
        tau: Sequence[Scalar],
        external: Mapping[int, Force],
        rows: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        """Args: as for `ada.solve`."""
        self.tree = tree
        self.q, self.v, self.external, self._rows = q, v, external, rows
        self.effort = [t - p for t, p in zip(tau, passive_efforts(tree, q, v), strict=True)]
        self.X: list[Transform] = kinematics.transforms(tree, q)
        velocities = kinematics.velocities(tree, self.X, q, v)
        self.w: dict[int, Vec3] = {WORLD: ZERO3, **{i: V.angular for i, V in enumerate(velocities)}}
        self.upward = Motion(ZERO3, -tree.gravity)
        self.alone: dict[int, Operator] = {}  # of links and link groups from which assembly starts

    def used(self, loop: Loop) -> tuple[int, ...]:
        """Constraint rows of a loop in use."""
        return tuple(range(len(loop.rows)) if self._rows is None else self._rows.get(loop.name, ()))

    def moving(self, link: int, bias: Mapping[int, Motion]) -> Moving:
        """Motion of a link with an acceleration of `bias`; the world accelerates upward to account for weight."""
        return moving_of(self.w[link], self.upward if link == WORLD else bias[link])

    def mobility(self, wrenches: Mapping[int, Force]) -> Scalar:
        """Relative acceleration of two links per unit of opposite wrenches on them, without their joint."""
        return sum((self.alone[link] @ wrench @ wrench for link, wrench in wrenches.items()), ZERO)

    def link(self, index: int) -> ArticulatedBody:
        """A single link as an articulated body."""
        free = FreeBody.of(self.tree.bodies[index].inertia)
        bias = free.acceleration(self.w[index])
        if index in self.external:
            bias = bias + free.operator @ self.external[index]
        self.alone[index] = free.operator
        return ArticulatedBody.of_rigid(index, free.operator, bias)

    def tree_joint(self, index: int, bias: Mapping[int, Motion], before: bool) -> TreeJointEquations:
        """Equations of a joint of the tree, for the accelerations that its two links would have without it.

        With `before` they refer to the frame in which the operators of the parent are not rotated.
        """
        body = self.tree.bodies[index]
        q, v = body.positions(self.q), body.velocities(self.v)
        between = bias_between(body, q, v, bias[index], self.moving(body.parent, bias))
        held = len(body.joint.constraint(q))
        alone = tuple(self.mobility({index: n}) for n in body.joint.active(q)) if self.tree.loops else ()
        terms = Terms(held, tuple(self.effort[body.v]), body.armature, mobility=alone)
        return TreeJointEquations(body, q, JointFrame.of(body, q, before), between, terms)


def constraints_in_use(state: State, loop: Loop, moving: Mapping[int, Moving]) -> LoopJointEquations:
    """Equations of a loop joint by its constraints, from the motion that its two links would have without it."""
    rows = loop_rows(state.tree, state.X, state.q, state.v, moving, loop, state.used(loop))
    return LoopJointEquations(rows, Terms(len(rows)))


@dataclass(frozen=True)
class ClosedStep:
    """A step of assembly, ready for disassembly."""

    numbers: Sequence[int]  # of the joints
    joints: Sequence[ClosingJoint]
    closed: ClosedJoints

    def release(self, outside: Mapping[int, Force]) -> Release:
        """Disassemble for forces on the handles."""
        outcomes = {}
        forces = dict(outside)
        for j, joint, outcome in zip(self.numbers, self.joints, self.closed.outcomes(outside), strict=True):
            outcomes[j] = (outcome, joint.wrench(outcome.x))
            for link, force in joint.pulls(outcome.x).items():
                forces[link] = forces.get(link, NO_FORCE) + force
        return Release(outcomes, forces)


LoopEquations: TypeAlias = Callable[[State, Loop, Mapping[int, Moving]], LoopJointEquations]
# The sub-chain of links that joints hold together, given by the joints inside.
GroupOf: TypeAlias = Callable[[State, Sequence[int]], SubChain]


@dataclass(frozen=True)
class AssemblyAlgorithm:
    """Forward dynamics by assembly and disassembly; every joint must have its own coordinates.

    Attributes:
        close: closes the joints of a step: by their constraint forces (ADA) or by their motion (DCA).
        loop_joint: makes the equations of a loop joint.
    """

    close: Close
    loop_joint: LoopEquations

    def solve(
        self,
        tree: Tree,
        q: Sequence[Scalar],
        v: Sequence[Scalar],
        tau: Sequence[Scalar],
        external: Mapping[int, Force] | None = None,
        order: AssemblyOrder | str | None = None,
        rows: Mapping[str, Sequence[int]] | None = None,
        group_of: GroupOf | None = None,
    ) -> AssemblySolution:
        """Compute the joint accelerations and the wrench of every joint.

        Args:
            tree: the mechanism.
            q: positions; they must close the loops.
            v: velocities; they must satisfy the loop constraints.
            tau: joint efforts.
            external: wrench on a body about its origin, in its axes.
            order: of assembly (see `assembly_order`); by default the one with few handles.
            rows: constraint rows in use by loop, as indices into `Loop.rows`; all by default. They must be
                independent.
            group_of: makes the sub-chains from which an order with sub-chains starts.

        Raises:
            ModelError: the inertia of a link is singular, and cannot be made regular by that of adjacent links.
        """
        basis = regularize_inertias(tree)
        state = State(basis.tree, q, v, tau, external or {}, rows)
        steps = assembly_order(tree, order).steps
        done, pivots = self._assembled(state, steps, group_of)
        outcomes = _disassembled(len(tree.bodies), steps, done)
        accelerations: list[Scalar] = [0.0] * tree.nv
        for body in tree.bodies:
            accelerations[body.v] = outcomes[body.index][0].rates
        of_loops = [(loop, outcomes[len(tree.bodies) + k]) for k, loop in enumerate(tree.loops)]
        return AssemblySolution(
            accelerations,
            [x for loop, (outcome, _) in of_loops for x in outcome.x[: len(state.used(loop))]],
            _original_wrenches(basis, state, accelerations, [outcomes[b.index][1] for b in tree.bodies]),
            [wrench for _, (_, wrench) in of_loops],
            pivots,
        )

    def forward_dynamics(self, *state: Any, **options: Any) -> list[Scalar]:
        """Compute the joint accelerations; arguments are those of `solve`."""
        return self.solve(*state, **options).accelerations

    def _assembled(
        self, state: State, steps: Sequence[Step], group_of: GroupOf | None
    ) -> tuple[list[ClosedStep | SubChain], list[Scalar]]:
        """Assemble all links (eqs. 2.17-2.21, 3.12-3.20): the steps, ready for disassembly, and all pivots."""
        n = len(state.tree.bodies)
        grouped = {link for step in steps if step.in_joint_space for link in step.parts}
        bodies = {i: state.link(i) for i in range(n) if i not in grouped}
        done: list[ClosedStep | SubChain] = []
        pivots: list[Scalar] = []
        for k, step in enumerate(steps):
            if step.in_joint_space:
                assert group_of is not None
                group = group_of(state, step.joints)
                bodies[n + k] = group.body(step.handles)
                state.alone.update({link: bodies[n + k].operator(link, link) for link in step.handles})
                done.append(group)
                continue
            parts = [bodies[part] for part in step.parts]
            bias = {link: motion for part in parts for link, motion in part.bias.items()}
            joints = [self._joint(state, j, bias, step.handles) for j in step.joints]
            bodies[n + k], closed = self.close(ClosingEquations(parts, joints), step.handles)
            done.append(ClosedStep(step.joints, joints, closed))
            pivots += closed.pivots
        return done, pivots

    def _joint(self, state: State, number: int, bias: Mapping[int, Motion], handles: Sequence[int]) -> ClosingJoint:
        """Equations of a joint by its number."""
        n = len(state.tree.bodies)
        if number < n:
            return state.tree_joint(number, bias, before=number not in handles)
        loop = state.tree.loops[number - n]
        return self.loop_joint(state, loop, {end: state.moving(end, bias) for end in (loop.parent, loop.child)})


def _disassembled(
    n: int, steps: Sequence[Step], done: Sequence[ClosedStep | SubChain]
) -> dict[int, tuple[Outcome, Force]]:
    """Outcome and wrench of every joint, from the last step to the first; n is the number of links."""
    found: dict[int, tuple[Outcome, Force]] = {}
    forces: dict[int, dict[int, Force]] = {}  # on the handles of each articulated body
    for k in range(len(steps) - 1, -1, -1):
        outcomes, passed = done[k].release(forces.get(n + k, {}))
        found |= outcomes
        for part in steps[k].parts:
            if part >= n:
                forces[part] = {link: passed.get(link, NO_FORCE) for link in steps[part - n].handles}
    return found


def _original_wrenches(
    basis: RegularInertias, state: State, accelerations: Sequence[Scalar], wrenches: list[Force]
) -> list[Force]:
    """Wrenches in the original tree: inertia that was moved through a joint is subtracted from its wrench."""
    if all(moved is None for moved in basis.moved):
        return wrenches
    base = at_rest(-state.tree.gravity)
    moving = kinematics.motions(state.tree, state.X, state.q, state.v, accelerations, base)
    return [
        wrench if moved is None else wrench - needed_force(moved, motion)
        for wrench, moved, motion in zip(wrenches, basis.moved, moving, strict=True)
    ]
