# SPDX-License-Identifier: Apache-2.0
"""Common parts of the generic programs: matrices as rows of numbers, joints on the z axis, tables of a robot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.expr import Expr, trace
from ada_dynamics.jit import Signature
from ada_dynamics.jit.generic import GenericKernel, GenericProgram, JointCode, JointPass, Place, RobotTables
from ada_dynamics.model.joints import JOINT_TYPES, JointType
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.vector import Mat3, Scalar

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


def constants_of(names: Iterable[str]) -> int:
    """Largest number of parameters of these joint types; they are the last entries of a row of constants."""
    return max(len(JOINT_TYPES[name].constants) for name in names)


def joint_on_z(name: str, k: Row) -> JointType:
    """Joint with its axis, if it has one, on z, and the parameters of its row of constants."""
    kind = JOINT_TYPES[name]
    own = dict(zip(kind.constants, k[len(k) - len(kind.constants) :], strict=True))
    z, y = np.eye(3)[Z], np.eye(3)[1]
    return kind.aligned(z, y, Z, **own)[0]


def own_constants(joints: Sequence[JointType], count: int) -> Array:
    """Parameters of the joints, right-aligned in rows of `count` entries."""
    rows = np.zeros((len(joints), count))
    for row, joint in zip(rows, joints if count else (), strict=False):
        own = [getattr(joint, name) for name in joint.constants]
        row[count - len(own) :] = own
    return rows


Kind = TypeVar("Kind")
# direction, step, and where each result goes: a region and an offset in it
Passes = Sequence[tuple[bool, Step, Stores]]


def program_of(
    name: str,
    third: str,
    external: bool,
    kinds: Sequence[Any],
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

    def code(kind: Any, step: Step, stores: Stores) -> JointCode:
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


def placement_constants(tree: Tree) -> Array:
    """R and p of each joint's frame in its parent body's, in rows."""
    columns = tree.columns
    return np.hstack([columns.rotations.reshape(-1, 9), columns.positions])
