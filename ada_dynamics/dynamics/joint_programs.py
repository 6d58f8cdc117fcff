# SPDX-License-Identifier: Apache-2.0
"""Dynamics of any tree by one program that loops over joints, with the steps of the algorithms traced once per type.

A robot is a table of constants and needs no compilation; time and memory are linear in the number of joints. All joint
axes are on z. The programs are the articulated-body and the Newton-Euler algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.algorithms import aba, rnea
from ada_dynamics.algorithms.kinematics import Moving, moving_outward, spin_matrix
from ada_dynamics.algorithms.passive import joint_passive_efforts
from ada_dynamics.arrays import Array
from ada_dynamics.expr import Expr, select, trace
from ada_dynamics.jit import Signature
from ada_dynamics.jit.generic import GenericKernel, GenericProgram, JointCode, JointPass, Place, RobotTables
from ada_dynamics.model.joints import JOINT_TYPES, JointType
from ada_dynamics.model.tree import WORLD, Body, Tree
from ada_dynamics.spatial.inertia import ArticulatedInertia, RigidInertia
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.rotation import MatrixRotation
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Mat3, Scalar, Vec3, symmetric_of

Row = Sequence[Expr]
Step = Callable[..., dict[str, Any]]
Stores = Mapping[str, tuple[str, int]]  # where each result of a step goes: a region and an offset in it

Z = 2


def upper(A: Mat3) -> tuple[Scalar, ...]:
    """Upper triangle of a symmetric matrix, row by row."""
    return (A[0][0], A[0][1], A[0][2], A[1][1], A[1][2], A[2][2])


def flat(A: Mat3) -> tuple[Scalar, ...]:
    """All entries of a matrix."""
    return (*A[0], *A[1], *A[2])


def mat(x: Sequence[Scalar]) -> Mat3:
    """Nine numbers as a matrix."""
    xx, xy, xz, yx, yy, yz, zx, zy, zz = x
    return Mat3.of(((xx, xy, xz), (yx, yy, yz), (zx, zy, zz)))


# --- joints and bodies whose constants are variables ------------------------------------------------------------------
# A joint's constants: R 9, p 3, armature, damping, friction, those of the program; where some joint has a spring, k and
# rest; where some joint has numbers of its own, these
LOADS, PROGRAM = 12, 15


class Kind(NamedTuple):
    """Properties by which the code of one joint differs from that of another."""

    name: str  # of the joint type
    has_rotor: bool
    has_losses: bool  # damping or friction
    has_spring: bool
    parent: str = ""  # for assembly, which parent the joint is closed at


def joint_on_z(kind: Kind, k: Row) -> JointType:
    """Joint with its axis, if it has one, on z, and the parameters of its row of constants."""
    joint = JOINT_TYPES[kind.name]
    own = dict(zip(joint.constants, k[len(k) - len(joint.constants) :], strict=True))
    z, y = np.eye(3)[Z], np.eye(3)[1]
    return joint.aligned(z, y, Z, **own)[0]


def symbolic_body(kind: Kind, k: Row, inertia: RigidInertia, spring: int, joint: JointType | None = None) -> Body:
    """A body with the constants of a table row, k and rest of its spring from `spring` on.

    Steps of a program use one body at a time, without its place in a tree.
    """
    joint = joint_on_z(kind, k) if joint is None else joint
    armature, damping, friction = k[LOADS:PROGRAM]
    stiffness, rest = k[spring : spring + 2] if kind.has_spring else (0.0, 0.0)
    return Body(
        kind.name,
        1,
        WORLD if kind.parent == "world" else 0,
        joint,
        Transform(MatrixRotation(mat(k[:9])), Vec3(*k[9:LOADS])),
        inertia,
        slice(joint.nq),
        slice(joint.nv),
        armature if kind.has_rotor else 0.0,
        damping if kind.has_losses else 0.0,
        friction if kind.has_losses else 0.0,
        stiffness=stiffness,
        rest=rest,
    )


def _own_size(kinds: Iterable[Kind]) -> int:
    """Largest number of parameters of these joint types; they are the last entries of a row of constants."""
    return max(len(JOINT_TYPES[kind.name].constants) for kind in kinds)


def _constants_table(tree: Tree, kinds: Sequence[Kind], of_program: Array) -> Array:
    """One row of constants per body, with those of the program."""
    columns, count = tree.columns, _own_size(kinds)
    own = np.zeros((len(kinds), count))
    for row, joint in zip(own, columns.kinds if count else (), strict=False):
        values = [getattr(joint, name) for name in joint.constants]
        row[count - len(values) :] = values
    springs = columns.springs[:, : 2 * any(kind.has_spring for kind in kinds)]
    return np.hstack([columns.rotations.reshape(-1, 9), columns.positions, columns.loads, of_program, springs, own])


# --- programs ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class JointProgram:
    """Steps of an algorithm at one joint, and places of numbers.

    Attributes:
        name: with the kinds of joints it identifies the kernel.
        third: name of the third input, in addition to q and v; the result is the other of a and tau.
        passes: direction, step, and where each result goes: a region and an offset in it.
        operands: builds the operands of a step from the kind, its constants, the workspace of body and parent, q, v,
            the third input and the external wrench or None.
        row_size: doubles of workspace per body, of some kinds of joints.
        spring: place of the spring in the constants of a body.
        acceleration: place of the linear acceleration in the workspace of a body.
    """

    name: str
    third: str
    passes: Sequence[tuple[bool, Step, Stores]]
    operands: Callable[..., Any]
    row_size: Callable[[Sequence[Kind]], int]
    spring: int
    acceleration: int

    def kernel(self, tree: Tree, external: bool, kinds: Sequence[Kind], of_program: Array) -> GenericKernel:
        """Generic kernel with the tables of a robot, a row for each body: its kind, and constants of the program."""
        numbered = tuple(sorted(set(kinds)))
        indices = {kind: i for i, kind in enumerate(numbered)}
        base = np.zeros(self.row_size(numbered))
        base[self.acceleration : self.acceleration + 3] = [-g for g in tree.gravity]
        tables = RobotTables(
            kinds=np.array([indices[kind] for kind in kinds], dtype=np.int32),
            parents=np.array(tree.columns.parents, dtype=np.int32),
            places_q=np.array([own.start for own in tree.columns.q], dtype=np.int64),
            places_v=np.array([own.start for own in tree.columns.v], dtype=np.int64),
            constants=_constants_table(tree, kinds, of_program),
            base=base,
        )
        sizes = {"q": tree.nq, "v": tree.nv, self.third: tree.nv}
        if external:
            sizes["wrenches"] = 6 * len(tree.bodies)
        result = "a" if self.third == "tau" else "tau"
        signature = Signature(f"{self.name}_loop", tuple(sizes.items()), ((result, (tree.nv,)),))
        key = f"{self.name}|{external}|{numbered}"
        return GenericKernel(signature, lambda: traced(self, external, numbered), key, tables)


@lru_cache(maxsize=64)
def traced(program: JointProgram, external: bool, kinds: tuple[Kind, ...]) -> GenericProgram:
    """The steps of all passes for each kind of joint, with or without external wrenches."""
    size, third = program.row_size(kinds), program.third
    constants = program.spring + 2 * any(kind.has_spring for kind in kinds) + _own_size(kinds)
    wrenches = {"wrenches": 6} if external else {}

    def code(kind: Kind, step: Step, stores: Stores) -> JointCode:
        joint = JOINT_TYPES[kind.name]
        inputs = {"k": constants, "own": size, "parent": size, "q": joint.nq, "v": joint.nv, third: joint.nv}

        def body(k: Row, own: Row, parent: Row, q: Row, v: Row, **rest: Row) -> dict[str, Any]:
            return step(program.operands(kind, k, own, parent, q, v, rest[third], rest.get("wrenches")))

        function = trace(f"step_{kind.name}", inputs | wrenches, body)
        return JointCode(function, {result: stores[result] for result in function.outputs})

    passes = tuple(
        JointPass(outward, tuple(code(kind, step, stores) for kind in kinds))
        for outward, step, stores in program.passes
    )
    places: dict[str, Place] = {"q": "q", "v": "v", third: "v", **wrenches}
    return GenericProgram(program.name, passes, constants, size, places)


# --- articulated bodies, and Newton-Euler -----------------------------------------------------------------------------
# Constants of the program: m, h 3, I 6
MASS, SPRING = PROGRAM, PROGRAM + 10
UPPER = [0, 1, 2, 4, 5, 8]  # of a symmetric matrix, among all its entries
# A body's workspace: R 9, p 3, w 3, ẇ 3, a 3, wrench 6, inertia H 6 B 9 A 6, acceleration 6, then 7 per velocity
POSE, MOVING, WRENCH, INERTIA, ACCELERATION, PIVOTS = 0, 12, 21, 27, 48, 54


def row_size(kinds: Sequence[Kind]) -> int:
    """Doubles of workspace per body."""
    return PIVOTS + 7 * max(JOINT_TYPES[kind.name].nv for kind in kinds)


# --- tables of a robot ----------------------------------------------------------------------------------------------
def kinds_of(tree: Tree) -> list[Kind]:
    """Joint types of the bodies for the program's switch; those that are alike are one object.

    Without armature, damping and friction a joint's own row of the articulated inertia vanishes, which saves a fifth of
    the work.
    """
    columns = tree.columns
    names = [kind.moves_as for kind in columns.kinds]
    properties = np.column_stack([columns.loads.any(axis=1), columns.springs[:, 0] != 0.0]).tolist()
    keys = [(name, loads, loads, spring) for name, (loads, spring) in zip(names, properties, strict=True)]
    found = {key: Kind(*key) for key in set(keys)}
    return [found[key] for key in keys]


def inertias_table(tree: Tree) -> Array:
    """Constants of the program, one row per body."""
    mass, first, about = tree.columns.inertias
    return np.column_stack([mass, first, about.reshape(-1, 9)[:, UPPER]])


def body_of(kind: Kind, k: Row) -> Body:
    """A body with the constants of a table row."""
    m = MASS
    inertia = RigidInertia(k[m], Vec3(*k[m + 1 : m + 4]), symmetric_of(k[m + 4 : SPRING]))
    return symbolic_body(kind, k, inertia, SPRING)


def _pose(own: Row) -> Transform:
    return Transform(MatrixRotation(mat(own[POSE : POSE + 9])), Vec3(*own[POSE + 9 : POSE + 12]))


def _moving(row: Row) -> Moving:
    w, wd, a = (Vec3(*row[MOVING + 3 * i : MOVING + 3 * i + 3]) for i in range(3))
    return Moving(w, wd, a, spin_matrix(w, wd))


def _wrench(row: Row) -> Force:
    return Force(Vec3(*row[WRENCH : WRENCH + 3]), Vec3(*row[WRENCH + 3 : WRENCH + 6]))


def _inertia(row: Row) -> ArticulatedInertia:
    x = row[INERTIA:ACCELERATION]
    return ArticulatedInertia(symmetric_of(x[:6]), mat(x[6:15]), symmetric_of(x[15:]))


def _flat_inertia(inertia: ArticulatedInertia) -> tuple[Scalar, ...]:
    return (*upper(inertia.H), *flat(inertia.B), *upper(inertia.A))


# --- passes ---------------------------------------------------------------------------------------------------------
class At(NamedTuple):
    """Operands of a step of a pass: a joint's body, its variables, its row of workspace and its parent's."""

    body: Body
    own: Row
    parent: Row
    q: Row
    v: Row
    third: Row  # efforts or accelerations
    wrenches: Row | None  # external wrench on the body, [force, moment]


def _start(at: At, a: Row | None) -> dict[str, Any]:
    """Pose, motion and own wrench of a body: pass 1 of both programs."""
    X = at.body.transform(at.q)
    R = X.rotation.matrix()
    pose = Transform(MatrixRotation(R), X.position)
    state = moving_outward(at.body, pose, at.q, at.v, a, _moving(at.parent))
    needed = rnea.needed_force(at.body.inertia, state)
    if at.wrenches is not None:
        needed = needed - Force.force_first(at.wrenches)
    return {
        "pose": (*flat(R), *X.position),
        "moving": (*state.w, *state.wd, *state.a),
        "wrench": (*needed.moment, *needed.force),
    }


_START = {"pose": ("own", POSE), "moving": ("own", MOVING), "wrench": ("own", WRENCH)}


def _forward_1(at: At) -> dict[str, Any]:
    return {**_start(at, None), "inertia": _flat_inertia(ArticulatedInertia.of_rigid(at.body.inertia))}


def _forward_2(at: At) -> dict[str, Any]:
    effort = [t - p for t, p in zip(at.third, joint_passive_efforts(at.body, at.q, at.v), strict=True)]
    free = aba.eliminate_joint(at.body, at.q, effort, _inertia(at.own), _wrench(at.own))
    X = _pose(at.own)
    inertia = _inertia(at.parent) + X.to_parent(free.inertia)
    wrench = _wrench(at.parent) + X.to_parent(free.wrench)
    # Where inertias are none, an effort could turn a joint backwards; the mass matrix has a negative pivot then, too.
    rates = [select(0.0, d, p.u_over_D, inf) for p, d in zip(free.pivots, free.inverse_D, strict=True)]
    pivots = [(*p.U_over_D.moment, *p.U_over_D.force, rate) for p, rate in zip(free.pivots, rates, strict=True)]
    return {
        "pivots": tuple(x for p in pivots for x in p),
        "inertia": _flat_inertia(inertia),
        "wrench": (*wrench.moment, *wrench.force),
    }


def _forward_3(at: At) -> dict[str, Any]:
    rows = [at.own[PIVOTS + 7 * i : PIVOTS + 7 * i + 7] for i in range(at.body.joint.nv)]
    pivots = [aba.Pivot(Force(Vec3(*p[:3]), Vec3(*p[3:6])), p[6]) for p in rows]
    above = at.parent[ACCELERATION : ACCELERATION + 6]
    carried = _pose(at.own).to_child(Motion(Vec3(*above[:3]), Vec3(*above[3:])))
    rates, acceleration = aba.joint_acceleration(at.body, at.q, pivots, carried)
    return {"rates": tuple(rates), "acceleration": (*acceleration.angular, *acceleration.linear)}


def _inverse_2(at: At) -> dict[str, Any]:
    wrench = _wrench(at.own)
    efforts = rnea.joint_efforts(at.body, at.q, wrench)
    total = [
        effort + at.body.armature * a + own
        for effort, a, own in zip(efforts, at.third, joint_passive_efforts(at.body, at.q, at.v), strict=True)
    ]
    passed = _wrench(at.parent) + _pose(at.own).to_parent(wrench)
    return {"efforts": tuple(total), "wrench": (*passed.moment, *passed.force)}


_TABLES = (lambda kind, k, *x: At(body_of(kind, k), *x), row_size, SPRING, MOVING + 6)
PROGRAMS = {
    "forward": JointProgram(
        "forward",
        "tau",
        (
            (True, _forward_1, {**_START, "inertia": ("own", INERTIA)}),
            (
                False,
                _forward_2,
                {"pivots": ("own", PIVOTS), "inertia": ("parent", INERTIA), "wrench": ("parent", WRENCH)},
            ),
            (True, _forward_3, {"rates": ("out", 0), "acceleration": ("own", ACCELERATION)}),
        ),
        *_TABLES,
    ),
    "inverse": JointProgram(
        "inverse",
        "a",
        (
            (True, lambda at: _start(at, at.third), _START),
            (False, _inverse_2, {"efforts": ("out", 0), "wrench": ("parent", WRENCH)}),
        ),
        *_TABLES,
    ),
}


def kernel(tree: Tree, name: str, external: bool) -> GenericKernel:
    """The kernel that runs "forward" or "inverse" on a tree whose joint axes are all on z."""
    return PROGRAMS[name].kernel(tree, external, kinds_of(tree), inertias_table(tree))
