# SPDX-License-Identifier: Apache-2.0
"""Equations of joints between articulated bodies (Takahashi 2012, eqs. 2.14-2.17, 3.12-3.16).

The wrench of a joint is N x: a basis N of wrenches, the columns of T followed by those of T_a, and coefficients x,
which are λ and τ (eq. 2.15). Nᵀ of the relative acceleration is linear in x and in the forces on the open handles:

    Nᵀ(V̇ᴮ - V̇ᴬ) = G x + d + Σₚ VₚᵀFₚ,     G = Nᵀ(Φᴬ + Φᴮ)N,     Vₚ = Φₚ N

The rows of T must vanish, those of T_a are q̈ (eqs. 2.9, 2.22). G and V are computed here in the frame of a joint,
where they are cheap: for a joint about a coordinate axis, TᵀΦT is a submatrix of Φ. ADA and DCA solve these equations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, Protocol, TypeAlias

from ada_dynamics.algorithms.articulated_body import NO_OPERATOR, ArticulatedBody, Operator
from ada_dynamics.algorithms.closure import ConstraintRow
from ada_dynamics.algorithms.kinematics import Moving, moving_outward, spin_matrix
from ada_dynamics.model.tree import WORLD, Body
from ada_dynamics.spatial.motion import NO_FORCE, NO_MOTION, Force, Motion
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Scalar, Vec3, weighted

Block = list[list[Scalar]]


@dataclass(frozen=True)
class Terms:
    """Known terms of the coefficients x of a joint's wrench."""

    held: int  # number of λ, which come first
    efforts: tuple[Scalar, ...] = ()  # τ of the remaining coefficients
    armature: Scalar = 0.0  # the remaining coefficients are τ - armature q̈
    mobility: tuple[Scalar, ...] = ()  # acceleration of single links along each of them; for DCA in loops

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return self.held + len(self.efforts)


def moving_of(w: Vec3, acceleration: Motion) -> Moving:
    """Motion of a link from angular velocity and acceleration."""
    return Moving(w, acceleration.angular, acceleration.linear, spin_matrix(w, acceleration.angular))


class JointFrame(NamedTuple):
    """Frame of the equations of a joint: that of the child, or that of the child at the zero position of the joint.

    Terms of the parent in the second frame need no rotation by the joint, those of the child do.
    """

    in_parent: Transform
    in_child: Transform | None  # None: it is the child's frame

    @classmethod
    def of(cls, body: Body, q: Sequence[Scalar], before: bool) -> JointFrame:
        """The frame of the child or, with `before`, of the zero position, if [T T_a] is equal in both."""
        pose = body.joint.pose(q)
        if before and body.joint.is_even:
            return cls(body.placement, pose.inverse())
        return cls(body.placement @ pose, None)

    def to_child(self, motion: Motion) -> Motion:
        """Transform a motion in the frame of the child to this frame."""
        return motion if self.in_child is None else self.in_child.to_child(motion)

    def to_parent(self, force: Force) -> Force:
        """Transform a force in this frame to the frame of the child."""
        return force if self.in_child is None else self.in_child.to_parent(force)


class TreeJointEquations:
    """Equations of a joint of the tree."""

    def __init__(self, body: Body, q: Sequence[Scalar], frame: JointFrame, between: Motion, terms: Terms) -> None:
        """Set up the basis and the bias of the joint of a body with the positions q; `between` is `bias_between`."""
        self.body, self.frame, self.terms = body, frame, terms
        self.basis = (*body.joint.constraint(q), *body.joint.active(q))
        seen = frame.to_child(between)
        self.bias = [seen @ n for n in self.basis]
        self.ends = (body.index,) if body.parent == WORLD else (body.index, body.parent)

    def columns(self, operator: Callable[[int], Operator | None]) -> list[Motion]:
        """V of a handle, given by the operators Φ between it and the links (None: 0)."""
        child, parent = operator(self.body.index), self._parent(operator)
        result = [NO_MOTION] * len(self.basis)
        if child is not None:
            own = child if self.frame.in_child is None else child.force_at(self.frame.in_child)
            result = [own @ n for n in self.basis]
        if parent is not None:
            pulled = self.pulled_at_joint(parent)
            result = [m - pulled @ n for m, n in zip(result, self.basis, strict=True)]
        return result

    def pulled_at_joint(self, parent: Operator) -> Operator:
        """Φ X*: acceleration of a handle by a force on the parent at the joint."""
        return parent.force_at(self.frame.in_parent)

    def seen_at_joint(self, parent: Operator) -> Operator:
        """X Φ X* of the parent."""
        return parent.seen_from(self.frame.in_parent)

    def _parent(self, operator: Callable[[int], Operator | None]) -> Operator | None:
        return None if self.body.parent == WORLD else operator(self.body.parent)

    def relative(self, accelerations: Mapping[int, Motion]) -> list[Scalar]:
        """Nᵀ(V̇ᴮ - V̇ᴬ)."""
        between = self.frame.to_child(accelerations[self.body.index])
        if self.body.parent != WORLD:
            between = between - self.frame.in_parent.to_child(accelerations[self.body.parent])
        return [between @ n for n in self.basis]

    def own_block(self, operator: Callable[[int, int], Operator | None]) -> Block | None:
        """Nᵀ(Φᴬ + Φᴮ)N, if the two links belong to two articulated bodies."""
        i, p = self.body.index, self.body.parent
        total = operator(i, i) or NO_OPERATOR
        if self.frame.in_child is not None:
            total = total.seen_from(self.frame.in_child)
        if p != WORLD:
            if operator(i, p) is not None:
                return None
            total = total + self.seen_at_joint(operator(p, p) or NO_OPERATOR)
        return reduced(total, self.basis)

    def wrench(self, x: Sequence[Scalar]) -> Force:
        """T λ + T_a τ (eq. 2.15) on the child, in its frame."""
        return self.frame.to_parent(weighted(x, self.basis, NO_FORCE))

    def pulls(self, x: Sequence[Scalar]) -> dict[int, Force]:
        """Forces on the child and on the parent."""
        wrench = weighted(x, self.basis, NO_FORCE)
        found = {self.body.index: self.frame.to_parent(wrench)}
        if self.body.parent != WORLD:
            found[self.body.parent] = -self.frame.in_parent.to_parent(wrench)
        return found


def bias_between(body: Body, q: Sequence[Scalar], v: Sequence[Scalar], own: Motion, parent: Moving) -> Motion:
    """Bᴮ - Bᴬ - Ṡq̇ in the frame of the child, from the biases of both links and the velocity of the parent.

    The subtracted term is the acceleration of the body with q̈ = 0.
    """
    taken = moving_outward(body, body.transform(q), q, v, None, parent)
    return own - Motion(taken.wd, taken.a)


def reduced(total: Operator, wrenches: Sequence[Force]) -> Block:
    """NᵀΦN of a symmetric Φ; equal entries are one value."""
    columns = [total @ n for n in wrenches]
    block: Block = [[0.0] * len(columns) for _ in columns]
    for i, n in enumerate(wrenches):
        for j in range(i, len(columns)):
            block[i][j] = block[j][i] = columns[j] @ n
    return block


class LoopJointEquations:
    """Equations of a loop joint from its rows (see `closure`): N has wrenches on both bodies, in their frames."""

    def __init__(self, rows: Sequence[ConstraintRow], terms: Terms) -> None:
        """Args: rows for the biases of the two ends; known terms of their multipliers."""
        self.rows, self.terms = rows, terms
        self.ends = tuple(rows[0].wrenches) if rows else ()
        self.bias = [row.rate for row in rows]

    def columns(self, operator: Callable[[int], Operator | None]) -> list[Motion]:
        """V of a handle, given by the operators Φ between it and the links (None: 0)."""
        result = [NO_MOTION] * len(self.rows)
        for end in self.ends:
            own = operator(end)
            if own is not None:
                result = [m + own @ row.wrenches[end] for m, row in zip(result, self.rows, strict=True)]
        return result

    def relative(self, accelerations: Mapping[int, Motion]) -> list[Scalar]:
        """Nᵀ of the relative acceleration."""
        result: list[Scalar] = [0.0] * len(self.rows)
        for end in self.ends:
            for k, row in enumerate(self.rows):
                result[k] = result[k] + accelerations[end] @ row.wrenches[end]
        return result

    def own_block(self, operator: Callable[[int, int], Operator | None]) -> Block | None:
        """Return None: there is no direct computation."""
        return None

    def wrench(self, x: Sequence[Scalar]) -> Force:
        """T λ on the child at frame B, in its axes."""
        return weighted(x, [row.own for row in self.rows], NO_FORCE)

    def pulls(self, x: Sequence[Scalar]) -> dict[int, Force]:
        """Forces on both ends."""
        return {end: weighted(x, [row.wrenches[end] for row in self.rows], NO_FORCE) for end in self.ends}


ClosingJoint: TypeAlias = TreeJointEquations | LoopJointEquations


class ClosingEquations:
    """G, d and V of joints that are closed at once; the parts are articulated bodies without common links."""

    def __init__(self, parts: Sequence[ArticulatedBody], joints: Sequence[ClosingJoint]) -> None:
        """Args: the articulated bodies to be joined, the joints."""
        self.parts, self.joints = parts, joints
        self._part = {link: part for part in parts for link in part.handles}
        self._columns: dict[tuple[int, int], list[Motion]] = {}
        self.starts = [sum(j.terms.size for j in joints[:k]) for k in range(len(joints))]
        self.size = sum(j.terms.size for j in joints)
        self.bias = [x for joint in joints for x in joint.bias]

    def operator(self, i: int, j: int) -> Operator | None:
        """Φᵢⱼ, or None between two parts."""
        part = self._part[i]
        return part.operator(i, j) if self._part[j] is part else None

    def part_bias(self, handle: int) -> Motion:
        """B of a handle before the joints are closed."""
        return self._part[handle].bias[handle]

    def columns(self, handle: int) -> list[Motion]:
        """V of a handle: its acceleration per unit of each x."""
        return [m for k in range(len(self.joints)) for m in self._joint_columns(handle, k)]

    def _joint_columns(self, handle: int, k: int) -> list[Motion]:
        if (handle, k) not in self._columns:
            self._columns[handle, k] = self.joints[k].columns(lambda end: self.operator(handle, end))
        return self._columns[handle, k]

    def matrix(self) -> Block:
        """G."""
        G: Block = [[0.0] * self.size for _ in range(self.size)]
        for k, joint in enumerate(self.joints):
            own = joint.own_block(self.operator)
            for j in range(k if own is None else k + 1, len(self.joints)):
                self._enter(G, self._block(k, j), k, j)
            if own is not None:
                self._enter(G, own, k, k)
        return G

    def _block(self, k: int, j: int) -> Block:
        """Rows of joint k, columns of joint j."""
        joint = self.joints[k]
        sides = {end: self._joint_columns(end, j) for end in joint.ends}
        by_column = [joint.relative({e: sides[e][c] for e in joint.ends}) for c in range(self.joints[j].terms.size)]
        return [[column[r] for column in by_column] for r in range(joint.terms.size)]

    def _enter(self, G: Block, block: Block, k: int, j: int) -> None:
        for r, row in enumerate(block, self.starts[k]):
            for c, value in enumerate(row, self.starts[j]):
                if c >= r:  # all of another joint's columns; of its own block the upper half
                    G[r][c] = G[c][r] = value


class Outcome(NamedTuple):
    """Wrench and acceleration of a joint for given forces on the open handles."""

    x: list[Scalar]  # λ, then the efforts that reach the links
    rates: list[Scalar]  # q̈


class Release(NamedTuple):
    """Accelerations of the joints of a step of assembly, and their forces on the parts of the step."""

    outcomes: dict[int, tuple[Outcome, Force]]  # by joint, with its wrench
    forces: dict[int, Force]  # by link


def outcomes_of(terms: Sequence[Terms], x: Sequence[Scalar], rates: Sequence[Scalar]) -> list[Outcome]:
    """Outcome of each joint, from the x and q̈ of all joints in their order."""
    coefficients, accelerations = iter(x), iter(rates)
    return [
        Outcome(list(islice(coefficients, one.size)), list(islice(accelerations, len(one.efforts)))) for one in terms
    ]


class ClosedJoints(Protocol):
    """Closed joints: their motion and wrenches for given forces on the open handles."""

    def outcomes(self, forces: Mapping[int, Force]) -> list[Outcome]:
        """Per joint, for forces on the open handles."""
        ...

    @property
    def pivots(self) -> list[Scalar]:
        """Pivots of the constraints, in the order of the joints; positive if these are independent."""
        ...


Close = Callable[[ClosingEquations, tuple[int, ...]], tuple[ArticulatedBody, ClosedJoints]]


def joined(
    conditions: ClosingEquations,
    handles: tuple[int, ...],
    y: Mapping[int, Sequence[Motion]],
    z: Mapping[int, Sequence[Motion]],
    bias: Mapping[int, Motion],
) -> ArticulatedBody:
    """The articulated body with Φ'ₚᵣ = Φₚᵣ - Σ yₚ zᵣᵀ (eqs. 2.21, 3.7, 3.17) and the given handles."""
    operators = {}
    for p in handles:
        for r in handles:
            if p <= r:
                before = conditions.operator(p, r) or NO_OPERATOR
                operators[p, r] = before.less_outer(y[p], z[r], p == r)
    return ArticulatedBody(handles, operators, bias)
