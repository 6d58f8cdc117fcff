# SPDX-License-Identifier: Apache-2.0
"""The numeric ADA of Takahashi 2012: one program for all chains, in which a chain is a table of constants.

Joints have no rotors, losses and springs.

Each joint is closed between the links beyond it, assembled already, and its parent. The links' operators are constants,
and so are those of the parent at the joint; all that is left to do is to turn them by the joint's angle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.algorithms import ada
from ada_dynamics.algorithms.articulated_body import ArticulatedBody, FreeBody, Operator
from ada_dynamics.algorithms.joint_equations import (
    ClosingEquations,
    JointFrame,
    Terms,
    TreeJointEquations,
    bias_between,
    moving_of,
)
from ada_dynamics.algorithms.ldl import Factors
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.joint_programs import (
    PROGRAM,
    JointProgram,
    Kind,
    Row,
    flat,
    joint_on_z,
    mat,
    symbolic_body,
    traced,
    upper,
)
from ada_dynamics.expr import cost
from ada_dynamics.jit.generic import GenericKernel
from ada_dynamics.model.inertia_regularization import regularize_inertias
from ada_dynamics.model.joints import JOINT_TYPES, Revolute
from ada_dynamics.model.tree import WORLD, Body, Tree
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.motion import NO_MOTION, Force, Motion
from ada_dynamics.spatial.rotation import AxisRotation
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import ZERO3, ZERO33, Scalar, Vec3, symmetric_of

# Constants of the program: the body's CoM 3, inertia about it 6, the inverse 6, Φ of the body 21, Φ from its parent's
# handle to the joint 36 and of the parent at the joint 21
COM, ABOUT, INVERSE, OWN, CROSS, AT_JOINT = (PROGRAM + i for i in (0, 3, 9, 15, 36, 72))
SPRING = PROGRAM + 93
# A body's workspace: w 3, bias 6, Φ 21, force on its handle 6, cosine and sine 2, then what the way back needs
W, BIAS, PHI, FORCE, TURN, BACK = 0, 3, 9, 30, 36, 38
PARENT, CHILD = 0, 1


# --- operators in rows ----------------------------------------------------------------------------------------------
def flat_symmetric(operator: Operator) -> tuple[Scalar, ...]:
    """A symmetric Φ as 21 numbers."""
    return (*upper(operator.aa), *flat(operator.la), *upper(operator.ll))


def read_symmetric(x: Sequence[Scalar]) -> Operator:
    """A symmetric Φ."""
    la = mat(x[6:15])
    return Operator(symmetric_of(x[:6]), la.T, la, symmetric_of(x[15:]))


def read_general(x: Sequence[Scalar]) -> Operator:
    """Φ with all its 36 numbers, block by block."""
    return Operator(*(mat(x[9 * i : 9 * i + 9]) for i in range(4)))


def _motion(x: Sequence[Scalar]) -> Motion:
    return Motion(Vec3(*x[:3]), Vec3(*x[3:]))


def _force(x: Sequence[Scalar]) -> Force:
    return Force(Vec3(*x[:3]), Vec3(*x[3:]))


# --- joints whose constants are variables ---------------------------------------------------------------------------
class _Turned(Revolute):
    """A revolute joint on z whose cosine and sine are known already."""

    def __init__(self, c: Scalar, s: Scalar) -> None:
        super().__init__(2)
        self._turn = AxisRotation(2, c, s)

    def pose(self, q: Sequence[Scalar]) -> Transform:
        """Rot(z, q)."""
        return Transform(self._turn)


class _OnLink(TreeJointEquations):
    """A joint on a parent whose operators at the joint are constants."""

    def __init__(self, body: Body, q: Row, frame: JointFrame, between: Motion, terms: Terms, k: Row) -> None:
        super().__init__(body, q, frame, between, terms)
        self._pose = body.joint.pose(q)
        self._cross, self._own = read_general(k[CROSS:AT_JOINT]), read_symmetric(k[AT_JOINT : AT_JOINT + 21])

    def pulled_at_joint(self, parent: Operator) -> Operator:
        """Φ X*: at most the joint's own motion is left to do."""
        return self._cross.force_at(self._pose) if self.frame.in_child is None else self._cross

    def seen_at_joint(self, parent: Operator) -> Operator:
        """X Φ X*, up to the joint's own motion."""
        return self._own.seen_from(self._pose) if self.frame.in_child is None else self._own


class At(NamedTuple):
    """Operands of a step of a pass: a joint, its constants, variables, row of workspace and its parent's row."""

    kind: Kind
    k: Row
    own: Row
    parent: Row
    q: Row
    v: Row
    tau: Row
    wrenches: Row | None  # none act

    def body(self, known_turn: bool) -> Body:
        """The body; with `known_turn`, its joint's sine and cosine come from the workspace."""
        joint = joint_on_z(self.kind, self.k)
        if known_turn and isinstance(joint, Revolute):
            joint = _Turned(*self.own[TURN : TURN + 2])
        # the inertia is not asked for: the operators are in the table
        return symbolic_body(self.kind, self.k, RigidInertia(0.0, ZERO3, ZERO33), SPRING, joint)

    def terms(self, body: Body) -> Terms:
        """Sizes and effort of the joint's equations."""
        return Terms(len(body.joint.constraint(self.q)), tuple(self.tau), body.armature)

    def frame(self, body: Body) -> JointFrame:
        """Frame of the joint's equations: on the parent's side, which keeps its handle."""
        return JointFrame.of(body, self.q, self.kind.parent != "world")

    def parent_bias(self) -> Motion:
        """B of the parent; of the world, its acceleration."""
        return _motion(self.parent[BIAS : BIAS + 6])


# --- passes ---------------------------------------------------------------------------------------------------------
def _rigid(at: At) -> dict[str, Any]:
    """Pass 1, outward: velocity of a link, and the link as an articulated body."""
    body = at.body(False)
    pose = body.joint.pose(at.q)
    carried = (body.placement @ pose).rotation.to_child(Vec3(*at.parent[W : W + 3]))
    w = carried + body.joint.relative_velocity(at.q, at.v).angular
    operator = read_symmetric(at.k[OWN : OWN + 21])
    about, inverse = (symmetric_of(at.k[i : i + 6]) for i in (ABOUT, INVERSE))
    free = FreeBody(operator, Vec3(*at.k[COM : COM + 3]), about, inverse)
    bias = free.acceleration(w)
    turn = (pose.rotation.c, pose.rotation.s) if isinstance(pose.rotation, AxisRotation) else (0.0, 0.0)
    return {"w": w, "bias": (*bias.angular, *bias.linear), "phi": flat_symmetric(operator), "turn": turn}


def _close(at: At) -> dict[str, Any]:
    """Pass 2, inward: close the joint."""
    child = ArticulatedBody.of_rigid(CHILD, read_symmetric(at.own[PHI : PHI + 21]), _motion(at.own[BIAS : BIAS + 6]))
    parent = ArticulatedBody.of_rigid(PARENT, read_symmetric(at.parent[PHI : PHI + 21]), at.parent_bias())
    joint = _joint(at, child.bias[CHILD])
    if at.kind.parent == "world":
        _, back = ada.close(ClosingEquations([child], [joint]), ())
        return {"back": _flat_back(back)}
    joined, back = ada.close(ClosingEquations([child, parent], [joint]), (PARENT,))
    bias = joined.bias[PARENT]
    return {
        "back": _flat_back(back),
        "phi": flat_symmetric(joined.operators[PARENT, PARENT]),
        "bias": (*bias.angular, *bias.linear),
    }


def _joint(at: At, own: Motion) -> TreeJointEquations:
    body = at.body(True)
    w: Vec3 = ZERO3 if at.kind.parent == "world" else Vec3(*at.parent[W : W + 3])
    between = bias_between(body, at.q, at.v, own, moving_of(w, at.parent_bias()))
    terms = at.terms(body)
    if at.kind.parent == "world":
        return TreeJointEquations(body, at.q, at.frame(body), between, terms)
    return _OnLink(body, at.q, at.frame(body), between, terms, at.k)


def _open(at: At) -> dict[str, Any]:
    """Pass 3, outward: the joint's wrench and accelerations."""
    body = at.body(True)
    terms = at.terms(body)
    pulled = {} if at.kind.parent == "world" else {PARENT: _force(at.parent[FORCE : FORCE + 6])}
    (outcome,) = _read_back(at.own[BACK:], terms, tuple(pulled)).outcomes(pulled)
    joint = TreeJointEquations(body, at.q, at.frame(body), NO_MOTION, terms)
    wrench = joint.wrench(outcome.x)
    return {"rates": tuple(outcome.rates), "force": (*wrench.moment, *wrench.force)}


def _flat_back(back: ada.ClosedByForces) -> tuple[Scalar, ...]:
    """Operands of pass 3, in a row."""
    rows = back.factors.rows
    constraints = [*(rows[k].get(i, 0.0) for i in range(len(rows)) for k in range(i)), *back.start]
    constraints += [x for columns in back.pulled.values() for m in columns for x in (*m.angular, *m.linear)]
    for rate in back.rates:
        constraints += [rate.offset, *rate.weights]
        constraints += [x for m in rate.columns.values() for x in (*m.angular, *m.linear)]
    return tuple(constraints)


def _read_back(row: Sequence[Scalar], terms: Terms, handles: tuple[int, ...]) -> ada.ClosedByForces:
    """The inverse of `_flat_back`."""
    unknown, known = list(range(terms.held)), [*(0.0,) * terms.held, *terms.efforts]
    place = 0

    def take(count: int) -> list[Scalar]:
        nonlocal place
        place += count
        return list(row[place - count : place])

    n = len(unknown)
    lower = [take(i) for i in range(n)]
    factors = Factors((), (), [{i: lower[i][k] for i in range(k + 1, n)} for k in range(n)], range(n))
    start = take(len(unknown))
    pulled = {handle: [_motion(take(6)) for _ in unknown] for handle in handles}
    rates = [
        ada.Rate(take(1)[0], take(len(unknown)), {handle: _motion(take(6)) for handle in handles})
        for _ in terms.efforts
    ]
    return ada.ClosedByForces([terms], known, unknown, factors, start, pulled, rates)


def back_size(kind: Kind) -> int:
    """Length of `_flat_back`."""
    joint = JOINT_TYPES[kind.name]
    unknown = 6 - joint.nv
    handles = 0 if kind.parent == "world" else 1
    return unknown * (unknown - 1) // 2 + unknown * (1 + 6 * handles) + joint.nv * (1 + unknown + 6 * handles)


def row_size(kinds: Sequence[Kind]) -> int:
    """Doubles of workspace per body."""
    return BACK + max(map(back_size, kinds))


ADA = JointProgram(
    "forward_ada",
    "tau",
    (
        (True, _rigid, {"w": ("own", W), "bias": ("own", BIAS), "phi": ("own", PHI), "turn": ("own", TURN)}),
        (False, _close, {"back": ("own", BACK), "phi": ("parent", PHI), "bias": ("parent", BIAS)}),
        (True, _open, {"rates": ("out", 0), "force": ("own", FORCE)}),
    ),
    At,
    row_size,
    SPRING,
    BIAS + 3,
)


# --- tables of a robot ----------------------------------------------------------------------------------------------
def kinds_of(tree: Tree) -> list[Kind]:
    """Kind of each body; joints are closed from the last one to the first."""
    return [
        Kind(body.joint.moves_as, False, False, False, "world" if body.parent == WORLD else "link")
        for body in tree.bodies
    ]


def operators_table(tree: Tree) -> Array:
    """Constants of the program, one row per body."""
    free = [FreeBody.of(body.inertia) for body in tree.bodies]
    rows = np.zeros((len(free), SPRING - PROGRAM))
    for row, body, own in zip(rows, tree.bodies, free, strict=True):
        parts = (*own.com, *upper(own.about_com), *upper(own.inverse_about_com), *flat_symmetric(own.operator))
        row[: len(parts)] = parts
        if body.parent != WORLD:
            parent = free[body.parent].operator
            cross = [x for block in parent.force_at(body.placement) for x in flat(block)]
            row[len(parts) :] = *cross, *flat_symmetric(parent.seen_from(body.placement))
    return rows


def operations(tree: Tree) -> int:
    """Operations of the program for a chain: those of all passes at each joint."""
    kinds = kinds_of(tree)
    numbered = tuple(sorted(set(kinds)))
    passes = traced(ADA, False, numbered).passes
    return sum(cost(one.bodies[numbered.index(kind)].function).flops for one in passes for kind in kinds)


def forward(tree: Tree) -> GenericKernel:
    """The kernel of forward dynamics by ADA on a chain whose joint axes are all on z."""
    regular = regularize_inertias(tree).tree
    return ADA.kernel(regular, False, kinds_of(regular), operators_table(regular))
