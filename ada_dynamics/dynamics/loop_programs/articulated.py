# SPDX-License-Identifier: Apache-2.0
"""Loop programs of the articulated-body algorithm and of the recursive Newton-Euler algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.algorithms import aba, rnea
from ada_dynamics.algorithms.kinematics import Moving, moving_outward, spin_matrix
from ada_dynamics.algorithms.passive import joint_passive_efforts
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.loop_programs.rows import (
    PROGRAM,
    Kind,
    LoopProgram,
    Row,
    flat,
    mat,
    symbolic_body,
    upper,
)
from ada_dynamics.expr import select
from ada_dynamics.jit.generic import GenericKernel
from ada_dynamics.model.joints import JOINT_TYPES
from ada_dynamics.model.tree import Body, Tree
from ada_dynamics.spatial.inertia import ArticulatedInertia, RigidInertia
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.rotation import MatrixRotation
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Scalar, Vec3, symmetric_of

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


def _inverse_1(at: At) -> dict[str, Any]:
    return _start(at, at.third)


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
    "forward": LoopProgram(
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
    "inverse": LoopProgram(
        "inverse",
        "a",
        ((True, _inverse_1, _START), (False, _inverse_2, {"efforts": ("out", 0), "wrench": ("parent", WRENCH)})),
        *_TABLES,
    ),
}


def kernel(tree: Tree, name: str, external: bool) -> GenericKernel:
    """The kernel that runs "forward" or "inverse" on a tree whose joint axes are all on z."""
    return PROGRAMS[name].kernel(tree, external, kinds_of(tree), inertias_table(tree))
