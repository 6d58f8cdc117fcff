# SPDX-License-Identifier: Apache-2.0
"""Common parts of the generic programs: matrices as rows of numbers, joints on the z axis, tables of a robot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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

    A step of a program knows this body alone: nothing asks for its place in a tree.
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


def constants_size(kinds: Sequence[Kind], spring: int) -> int:
    """Doubles of constants per body."""
    return spring + 2 * any(kind.has_spring for kind in kinds) + _own_size(kinds)


def _own_size(kinds: Iterable[Kind]) -> int:
    """Largest number of parameters of these joint types; they are the last entries of a row of constants."""
    return max(len(JOINT_TYPES[kind.name].constants) for kind in kinds)


def constants_table(tree: Tree, kinds: Sequence[Kind], of_program: Array) -> Array:
    """One row of constants per body, with those of the program."""
    columns, count = tree.columns, _own_size(kinds)
    own = np.zeros((len(kinds), count))
    for row, joint in zip(own, columns.kinds if count else (), strict=False):
        values = [getattr(joint, name) for name in joint.constants]
        row[count - len(values) :] = values
    springs = columns.springs[:, : 2 * any(kind.has_spring for kind in kinds)]
    return np.hstack([columns.rotations.reshape(-1, 9), columns.positions, columns.loads, of_program, springs, own])


# --- programs ---------------------------------------------------------------------------------------------------------
# direction, step, and where each result goes: a region and an offset in it
Passes = Sequence[tuple[bool, Step, Stores]]


def program_of(
    name: str,
    third: str,
    external: bool,
    kinds: Sequence[Kind],
    passes: Passes,
    operands: Callable[..., Any],
    sizes: tuple[int, int],
) -> GenericProgram:
    """Trace the steps of all passes for each kind of joint.

    `operands` builds the operands of a step from the kind, its constants, the workspace of body and parent, q, v, the
    third input and the external wrench or None; `sizes` are the doubles of workspace and of constants per body.
    """
    size, constants = sizes
    places: dict[str, Place] = {"q": "q", "v": "v", third: "v", **({"wrenches": 6} if external else {})}

    def code(kind: Kind, step: Step, stores: Stores) -> JointCode:
        joint = JOINT_TYPES[kind.name]
        inputs = {"k": constants, "own": size, "parent": size, "q": joint.nq, "v": joint.nv, third: joint.nv}

        def body(k: Row, own: Row, parent: Row, q: Row, v: Row, **rest: Row) -> dict[str, Any]:
            return step(operands(kind, k, own, parent, q, v, rest[third], rest.get("wrenches")))

        function = trace(f"step_{kind.name}", inputs | ({"wrenches": 6} if external else {}), body)
        return JointCode(function, {result: stores[result] for result in function.outputs})

    traced = (JointPass(outward, tuple(code(kind, step, stores) for kind in kinds)) for outward, step, stores in passes)
    return GenericProgram(name, tuple(traced), constants, size, places)


def kernel_of(
    tree: Tree,
    name: str,
    result: str,
    third: str,
    external: bool,
    kinds: Sequence[Kind],
    numbered: Sequence[Kind],
    constants: Array,
    base: Array,
    program: Callable[[], GenericProgram],
) -> GenericKernel:
    """Generic kernel with the tables of a robot.

    Args:
        tree: the mechanism.
        name: name of the program; with the kinds of joints it identifies the kernel.
        result: name of the result, one number per velocity.
        third: name of the third input, besides q and v.
        external: True if external wrenches are an input.
        kinds: kind of each body.
        numbered: all kinds, in the order of the program's code blocks.
        constants: a row for each body.
        base: workspace row of the world.
        program: builds the program.
    """
    indices = {kind: i for i, kind in enumerate(numbered)}
    tables = RobotTables(
        kinds=np.array([indices[kind] for kind in kinds], dtype=np.int32),
        parents=np.array(tree.columns.parents, dtype=np.int32),
        places_q=np.array([own.start for own in tree.columns.q], dtype=np.int64),
        places_v=np.array([own.start for own in tree.columns.v], dtype=np.int64),
        constants=constants,
        base=base,
    )
    sizes = {"q": tree.nq, "v": tree.nv, third: tree.nv}
    if external:
        sizes["wrenches"] = 6 * len(tree.bodies)
    signature = Signature(f"{name}_loop", tuple(sizes.items()), ((result, (tree.nv,)),))
    return GenericKernel(signature, program, f"{name}|{external}|{tuple(numbered)}", tables)
