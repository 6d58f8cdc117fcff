# SPDX-License-Identifier: Apache-2.0
"""Dynamics of any tree by one program that loops over joints: the algorithms' steps, traced once per joint type.

A robot is then a table of constants, so nothing is compiled per robot, and time and memory grow with the number of
joints alone. All joint axes are on z here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.algorithms import aba, rnea
from ada_dynamics.algorithms.dissipation import passive_effort
from ada_dynamics.algorithms.kinematics import Moving, moving_outward, spin_matrix
from ada_dynamics.expr import Expr, Function, trace
from ada_dynamics.jit import Signature
from ada_dynamics.jit.loop_kernel import LoopKernel, LoopTables
from ada_dynamics.jit.loops import LoopBody, LoopPass, LoopProgram, Place
from ada_dynamics.model.joints import JOINT_TYPES, Continuous, Cylindrical, JointType, Prismatic, Revolute
from ada_dynamics.model.tree import Body, Tree
from ada_dynamics.spatial.inertia import ArticulatedInertia, RigidInertia
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.rotation import MatrixRotation
from ada_dynamics.spatial.scalar import Mat3, Scalar, Vec3
from ada_dynamics.spatial.transform import Transform

Array = NDArray[np.float64]
# Joint type, and whether it has armature, damping or friction: without them its own row of the articulated inertia
# vanishes, which saves a fifth of the work.
Kind = tuple[str, bool]
Row = Sequence[Expr]

Z = 2
# A joint's constants: R 9, p 3, m, h 3, I 6, armature, damping, friction
CONSTANTS = 25
# A body's workspace: R 9, p 3, w 3, ẇ 3, a 3, wrench 6, inertia H 6 B 9 A 6, acceleration 6, then 7 per velocity
POSE, MOVING, WRENCH, INERTIA, ACCELERATION, PIVOTS = 0, 12, 21, 27, 48, 54


def row_size(kinds: Sequence[Kind]) -> int:
    """Doubles of workspace per body."""
    return PIVOTS + 7 * max(JOINT_TYPES[name].nv for name, _ in kinds)


# --- tables of a robot ----------------------------------------------------------------------------------------------
def kind_of(body: Body) -> Kind:
    """Joint type of a body for the program's switch."""
    name = Revolute.kind if isinstance(body.joint, Continuous) else body.joint.kind
    return name, bool(body.armature or body.damping or body.friction)


def constants_table(tree: Tree) -> Array:
    """One row of constants per body."""
    rows = np.zeros((len(tree.bodies), CONSTANTS))
    for row, body in zip(rows, tree.bodies, strict=True):
        m, h, about = body.inertia
        row[:9] = np.ravel(body.placement.rotation.matrix())
        row[9:12] = body.placement.position
        row[12], row[13:16], row[16:22] = m, h, _upper(about)
        row[22:25] = body.armature, body.damping, body.friction
    return rows


def _upper(A: Mat3) -> tuple[Scalar, ...]:
    return (A[0][0], A[0][1], A[0][2], A[1][1], A[1][2], A[2][2])


def _symmetric(x: Sequence[Scalar]) -> Mat3:
    return ((x[0], x[1], x[2]), (x[1], x[3], x[4]), (x[2], x[4], x[5]))


def _vec(x: Sequence[Scalar]) -> Vec3:
    return (x[0], x[1], x[2])


def _mat(x: Sequence[Scalar]) -> Mat3:
    return (_vec(x[0:3]), _vec(x[3:6]), _vec(x[6:9]))


# --- a body whose constants are variables ---------------------------------------------------------------------------
def _joint(kind: Kind) -> JointType:
    """The joint type with its axis, if it has one, on z."""
    cls: Callable[..., JointType] = JOINT_TYPES[kind[0]]
    return cls(Z) if issubclass(JOINT_TYPES[kind[0]], (Revolute, Prismatic, Cylindrical)) else cls()


def symbolic_body(kind: Kind, k: Row) -> Body:
    """A body with the constants of a table row."""
    inertia = RigidInertia(k[12], _vec(k[13:16]), _symmetric(k[16:22]))
    placement = Transform(MatrixRotation(_mat(k[0:9])), _vec(k[9:12]))
    armature, damping, friction = k[22:25] if kind[1] else (0.0, 0.0, 0.0)
    joint = _joint(kind)
    own_q, own_v = slice(0, joint.nq), slice(0, joint.nv)
    return Body(kind[0], 0, 0, joint, placement, inertia, own_q, own_v, armature, damping, friction)


def _pose(own: Row) -> Transform:
    return Transform(MatrixRotation(_mat(own[POSE : POSE + 9])), _vec(own[POSE + 9 : POSE + 12]))


def _moving(row: Row) -> Moving:
    w, wd, a = (_vec(row[MOVING + 3 * i : MOVING + 3 * i + 3]) for i in range(3))
    return Moving(w, wd, a, spin_matrix(w, wd))


def _wrench(row: Row) -> Force:
    return Force(_vec(row[WRENCH : WRENCH + 3]), _vec(row[WRENCH + 3 : WRENCH + 6]))


def _inertia(row: Row) -> ArticulatedInertia:
    x = row[INERTIA:ACCELERATION]
    return ArticulatedInertia(_symmetric(x[0:6]), _mat(x[6:15]), _symmetric(x[15:21]))


def _flat_inertia(inertia: ArticulatedInertia) -> tuple[Scalar, ...]:
    return (*_upper(inertia.H), *(x for line in inertia.B for x in line), *_upper(inertia.A))


# --- passes ---------------------------------------------------------------------------------------------------------
class At(NamedTuple):
    """What a step of a pass has at hand: a joint's body, its variables, its row of workspace and its parent's."""

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
    flat = Transform(MatrixRotation(R), X.position)
    state = moving_outward(at.body, flat, at.q, at.v, a, _moving(at.parent))
    needed = rnea.needed_force(at.body.inertia, state)
    if at.wrenches is not None:
        needed = needed - Force(_vec(at.wrenches[3:6]), _vec(at.wrenches[0:3]))
    return {
        "pose": (*(x for line in R for x in line), *X.position),
        "moving": (*state.w, *state.wd, *state.a),
        "wrench": (*needed.moment, *needed.force),
    }


_START = {"pose": ("own", POSE), "moving": ("own", MOVING), "wrench": ("own", WRENCH)}


def _forward_1(at: At) -> dict[str, Any]:
    return {**_start(at, None), "inertia": _flat_inertia(ArticulatedInertia.of_rigid(at.body.inertia))}


def _forward_2(at: At) -> dict[str, Any]:
    effort = [t - passive_effort(at.body, rate) for t, rate in zip(at.third, at.v, strict=True)]
    free = aba.eliminate_joint(at.body, at.q, effort, _inertia(at.own), _wrench(at.own))
    X = _pose(at.own)
    inertia = _inertia(at.parent) + free.inertia.up(X)
    wrench = _wrench(at.parent) + X.force_up(free.wrench)
    pivots = [(*p.U_over_D.moment, *p.U_over_D.force, p.u_over_D) for p in free.pivots]
    return {
        "pivots": tuple(x for p in pivots for x in p),
        "inertia": _flat_inertia(inertia),
        "wrench": (*wrench.moment, *wrench.force),
    }


def _forward_3(at: At) -> dict[str, Any]:
    flat = [at.own[PIVOTS + 7 * i : PIVOTS + 7 * i + 7] for i in range(at.body.joint.nv)]
    pivots = [aba.Pivot(Force(_vec(p[0:3]), _vec(p[3:6])), p[6]) for p in flat]
    above = at.parent[ACCELERATION : ACCELERATION + 6]
    carried = _pose(at.own).motion_down(Motion(_vec(above[0:3]), _vec(above[3:6])))
    rates, acceleration = aba.joint_acceleration(at.body, at.q, pivots, carried)
    return {"rates": tuple(rates), "acceleration": (*acceleration.angular, *acceleration.linear)}


def _inverse_1(at: At) -> dict[str, Any]:
    return _start(at, at.third)


def _inverse_2(at: At) -> dict[str, Any]:
    wrench = _wrench(at.own)
    efforts = rnea.joint_efforts(at.body, at.q, wrench)
    total = [
        effort + at.body.armature * a + passive_effort(at.body, rate)
        for effort, a, rate in zip(efforts, at.third, at.v, strict=True)
    ]
    passed = _wrench(at.parent) + _pose(at.own).force_up(wrench)
    return {"efforts": tuple(total), "wrench": (*passed.moment, *passed.force)}


Step = Callable[[At], dict[str, Any]]
Stores = Mapping[str, tuple[str, int]]

# direction, step, and where each result goes: a region and an offset in it
_FORWARD: tuple[tuple[bool, Step, Stores], ...] = (
    (True, _forward_1, {**_START, "inertia": ("own", INERTIA)}),
    (
        False,
        _forward_2,
        {"pivots": ("own", PIVOTS), "inertia": ("parent", INERTIA), "wrench": ("parent", WRENCH)},
    ),
    (True, _forward_3, {"rates": ("out", 0), "acceleration": ("own", ACCELERATION)}),
)
_INVERSE: tuple[tuple[bool, Step, Stores], ...] = (
    (True, _inverse_1, _START),
    (False, _inverse_2, {"efforts": ("out", 0), "wrench": ("parent", WRENCH)}),
)


def _traced(kind: Kind, step: Step, third: str, external: bool, size: int) -> Function:
    joint = _joint(kind)
    inputs = {"k": CONSTANTS, "own": size, "parent": size, "q": joint.nq, "v": joint.nv, third: joint.nv}
    if external:
        inputs["wrenches"] = 6

    def body(k: Row, own: Row, parent: Row, q: Row, v: Row, **rest: Row) -> dict[str, Any]:
        return step(At(symbolic_body(kind, k), own, parent, q, v, rest[third], rest.get("wrenches")))

    return trace(f"step_{kind[0]}", inputs, body)


@lru_cache(maxsize=64)
def program(name: str, external: bool, kinds: tuple[Kind, ...]) -> LoopProgram:
    """The loop program "forward" or "inverse" for a set of joint types, with or without external wrenches."""
    steps, third = (_FORWARD, "tau") if name == "forward" else (_INVERSE, "a")
    size = row_size(kinds)
    passes = tuple(
        LoopPass(outward, tuple(LoopBody(_traced(kind, step, third, external, size), stores) for kind in kinds))
        for outward, step, stores in steps
    )
    places: dict[str, Place] = {"q": "q", "v": "v", third: "v"}
    return LoopProgram(name, passes, CONSTANTS, size, {**places, "wrenches": 6} if external else places)


# --- a robot for a program ------------------------------------------------------------------------------------------
def loop_kernel(tree: Tree, name: str, external: bool) -> LoopKernel:
    """The kernel that runs "forward" or "inverse" on a tree whose joint axes are all on z."""
    kinds = tuple(sorted({kind_of(body) for body in tree.bodies}))
    numbers = {kind: i for i, kind in enumerate(kinds)}
    base = np.zeros(row_size(kinds))
    base[MOVING + 6 : MOVING + 9] = [-g for g in tree.gravity]
    tables = LoopTables(
        kinds=np.array([numbers[kind_of(b)] for b in tree.bodies], dtype=np.int32),
        parents=np.array([b.parent for b in tree.bodies], dtype=np.int32),
        places_q=np.array([b.q.start for b in tree.bodies], dtype=np.int64),
        places_v=np.array([b.v.start for b in tree.bodies], dtype=np.int64),
        constants=constants_table(tree),
        base=base,
    )
    third = "tau" if name == "forward" else "a"
    sizes = {"q": tree.nq, "v": tree.nv, third: tree.nv}
    if external:
        sizes["wrenches"] = 6 * len(tree.bodies)
    result = "a" if name == "forward" else "tau"
    signature = Signature(f"{name}_loop", tuple(sizes.items()), ((result, (tree.nv,)),))
    key = f"{name}|{external}|{kinds}"
    return LoopKernel(signature, lambda: program(name, external, kinds), key, tables)
