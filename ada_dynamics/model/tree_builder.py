# SPDX-License-Identifier: Apache-2.0
"""Construction of the tree of moving bodies: fixed joints merged, joint axes aligned, inertias transformed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ada_dynamics.model import stacks
from ada_dynamics.model.elements import Joint, Link, LoopJoint
from ada_dynamics.model.joints import Fixed, JointType
from ada_dynamics.model.rotations import NO_MOVE, Pose, product, to_vec3, turned
from ada_dynamics.model.tree import WORLD, Bodies, Columns, Frames, Loop, Tree

NOTHING = slice(0, 0)  # of the coordinates, for a fixed joint


def build_tree(
    root: str,
    links: Mapping[str, Link],
    joints: Sequence[Joint],
    gravity: Sequence[float],
    q_slices: Mapping[str, slice],
    v_slices: Mapping[str, slice],
    onto: int | None = None,
    loops: Sequence[LoopJoint] = (),
    keep_fixed: bool = False,
) -> Tree:
    """Return the tree of moving bodies.

    Args:
        root: link that is fixed to the world unless it is the child of a joint.
        links: all links by name.
        joints: all joints, parents before children.
        gravity: gravity in the world's axes.
        q_slices: consecutive slices of q, one per joint.
        v_slices: consecutive slices of v, one per joint.
        onto: coordinate axis onto which all joint axes are rotated; by default the nearest one.
        loops: joints that close loops.
        keep_fixed: also make bodies of links on fixed joints, so that each joint has a wrench.
    """
    frames: dict[str, tuple[int, Pose]] = {"world": (WORLD, NO_MOVE)}
    if not joints or joints[0].child != root:
        frames[root] = (WORLD, NO_MOVE)
    moving: list[_Moving] = []
    parts: list[tuple[int, Link, Pose]] = []
    kinds = _Kinds(onto)
    for joint in joints:
        carrier, pose = frames[joint.parent]
        if joint.kind == Fixed.kind and not keep_fixed:
            R, p = pose
            at = carrier, (product(R, joint.rotation), p + turned(R, joint.xyz))
        else:
            kind, own_pose = kinds.of(joint)
            at = len(moving), own_pose
            moving.append(_Moving(joint, kind, carrier, pose, own_pose))
        frames[joint.child] = at
        if at[0] != WORLD:
            parts.append((at[0], links[joint.child], at[1]))
    return Tree(
        _bodies(moving, stacks.inertias(parts, len(moving)), q_slices, v_slices),
        Frames(frames),
        to_vec3(np.asarray(gravity, dtype=float)),
        _count(q_slices),
        _count(v_slices),
        tuple(_loop(loop, frames, onto) for loop in loops),
    )


def _count(slices: Mapping[str, slice]) -> int:
    """Number of coordinates in consecutive slices."""
    return max((int(own.stop) for own in slices.values()), default=0)


class _Moving(NamedTuple):
    """A moving joint and its body."""

    joint: Joint
    kind: JointType
    carrier: int  # index of the parent body
    carrier_pose: Pose  # of the parent link's frame in that body
    own_pose: Pose  # of the child link's frame in the own body


class _Kinds:
    """Joint types on coordinate axes and poses of their child frames, shared by equal joints."""

    def __init__(self, onto: int | None) -> None:
        self._onto = onto
        self._found: dict[object, tuple[JointType, Pose]] = {}

    def of(self, joint: Joint) -> tuple[JointType, Pose]:
        """Return the type of a joint and the pose of the child frame in its body."""
        alike: tuple[object, ...] = (joint.kind, joint.axis.tobytes())
        if joint.axis2 is not None or joint.constants:
            alike += (None if joint.axis2 is None else joint.axis2.tobytes(), *joint.constants.items())
        found = self._found.get(alike)
        if found is None:
            kind, Q = joint.type.aligned(joint.axis, joint.axis2, self._onto, **joint.constants)
            found = self._found[alike] = kind, (Q.T, NO_MOVE[1])
        return found


def _bodies(
    moving: Sequence[_Moving],
    inertias: stacks.Inertias,
    q_slices: Mapping[str, slice],
    v_slices: Mapping[str, slice],
) -> Bodies:
    joints = [one.joint for one in moving]
    R, p = stacks.stacked([one.carrier_pose for one in moving])
    R_joint, xyz = stacks.stacked([(joint.rotation, joint.xyz) for joint in joints])
    Qt, _ = stacks.stacked([one.own_pose for one in moving])
    placements = stacks.cleaned(product(product(R, R_joint), Qt.swapaxes(1, 2)), p + turned(R, xyz))
    sources = [joint.mimic.joint if joint.mimic else joint.name for joint in joints]
    q, v = ([slices.get(name, NOTHING) for name in sources] for slices in (q_slices, v_slices))
    kinds, carriers = [one.kind for one in moving], [one.carrier for one in moving]
    return Bodies(Columns(joints, kinds, carriers, *placements, inertias, q, v))


def _loop(loop: LoopJoint, frames: Mapping[str, tuple[int, Pose]], onto: int | None) -> Loop:
    """Return a loop joint with its axis on a coordinate axis of both frames."""
    joint, *turns = loop.type.aligned_sides(loop.axis, loop.axis2, onto, **loop.constants)
    sides = ((loop.parent, loop.parent_xyz, loop.parent_rotation), (loop.child, loop.child_xyz, loop.child_rotation))
    placed = []
    for (link, xyz, rotation), turn in zip(sides, turns, strict=True):
        body, (R, p) = frames[link]
        placed.append((body, (product(product(R, rotation), turn), p + turned(R, xyz))))
    (parent, at_parent), (child, at_child) = placed
    sides_and_turn = stacks.stacked([at_parent, at_child, (turns[1], NO_MOVE[1])])
    A, B, Q = stacks.transforms(*stacks.cleaned(*sides_and_turn))
    return Loop(loop.name, joint, parent, A, child, B, Q)
