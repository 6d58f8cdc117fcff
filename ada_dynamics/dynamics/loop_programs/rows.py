# SPDX-License-Identifier: Apache-2.0
"""Common parts of the generic programs: matrices as rows of numbers, joints on the z axis, tables of a robot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.expr import Expr, trace
from ada_dynamics.jit import Signature
from ada_dynamics.jit.generic import GenericKernel, GenericProgram, JointCode, JointPass, Place, RobotTables
from ada_dynamics.model.joints import JOINT_TYPES, JointType
from ada_dynamics.model.tree import WORLD, Body, Tree
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.rotation import MatrixRotation
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Mat3, Scalar, Vec3

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
class LoopProgram:
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
        return GenericKernel(signature, lambda: _traced(self, external, numbered), key, tables)


@lru_cache(maxsize=64)
def _traced(program: LoopProgram, external: bool, kinds: tuple[Kind, ...]) -> GenericProgram:
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
