# SPDX-License-Identifier: Apache-2.0
"""From links and joints to the tree of moving bodies: fixed joints merged, axes aligned, inertias moved along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ada_dynamics.model import stacks
from ada_dynamics.model.align import to_vec3
from ada_dynamics.model.elements import Joint, Link, LoopJoint
from ada_dynamics.model.joints import Fixed, JointType
from ada_dynamics.model.rigid import NO_MOVE, Pose
from ada_dynamics.model.tree import WORLD, Body, Frame, Loop, Tree
from ada_dynamics.spatial.inertia import RigidInertia

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
    """The tree of moving bodies.

    Args:
        root: link that is fixed to the world, unless a joint named in `joints` carries it.
        links: all links by name.
        joints: all joints, parents before children.
        gravity: gravity in the world's axes.
        q_slices: where each joint's positions are.
        v_slices: where each joint's velocities are.
        onto: coordinate axis for all joint axes; by default the nearest one each.
        loops: joints that close loops.
        keep_fixed: make bodies of links that are fixed to others, too: then every joint has its own wrench.
    """
    frames: dict[str, tuple[int, Pose]] = {"world": (WORLD, NO_MOVE)}
    if root not in {j.child for j in joints}:
        frames[root] = (WORLD, NO_MOVE)
    moving: list[_Moving] = []
    parts: list[tuple[int, Link, Pose]] = []
    kinds = _Kinds(onto)
    for joint in joints:
        carrier, pose = frames[joint.parent]
        if joint.kind == Fixed.kind and not keep_fixed:
            R, p = pose
            at = carrier, (R @ joint.rotation, p + R @ joint.xyz)
        else:
            kind, own_pose = kinds.of(joint)
            at = len(moving), own_pose
            moving.append(_Moving(joint, kind, carrier, pose, own_pose))
        frames[joint.child] = at
        if at[0] != WORLD:
            parts.append((at[0], links[joint.child], at[1]))
    return Tree(
        _bodies(moving, stacks.inertias(parts, len(moving)), q_slices, v_slices),
        _frames(frames),
        to_vec3(np.asarray(gravity, dtype=float)),
        sum(s.stop - s.start for s in q_slices.values()),
        sum(s.stop - s.start for s in v_slices.values()),
        tuple(_loop(loop, frames, onto) for loop in loops),
    )


class _Moving(NamedTuple):
    """A joint that has a body of its own."""

    joint: Joint
    kind: JointType
    carrier: int  # body
    carrier_pose: Pose  # of the parent link's frame in that body
    own_pose: Pose  # of the child link's frame in the own body


class _Kinds:
    """Joint types on coordinate axes, and poses of the links' frames behind them: one for all joints that are alike."""

    def __init__(self, onto: int | None) -> None:
        self._onto = onto
        self._found: dict[object, tuple[JointType, Pose]] = {}

    def of(self, joint: Joint) -> tuple[JointType, Pose]:
        """The type of a joint, and the pose of the child link's frame in its body."""
        second = None if joint.axis2 is None else joint.axis2.tobytes()
        alike = (joint.kind, joint.axis.tobytes(), second, *joint.constants.items())
        found = self._found.get(alike)
        if found is None:
            kind, Q = joint.type.aligned(joint.axis, joint.axis2, self._onto, **joint.constants)
            found = self._found[alike] = kind, (Q.T, NO_MOVE[1])
        return found


def _bodies(
    moving: Sequence[_Moving],
    inertias: Sequence[RigidInertia],
    q_slices: Mapping[str, slice],
    v_slices: Mapping[str, slice],
) -> tuple[Body, ...]:
    R, p = stacks.stacked([one.carrier_pose for one in moving])
    R_joint, xyz = stacks.stacked([(one.joint.rotation, one.joint.xyz) for one in moving])
    Qt, _ = stacks.stacked([one.own_pose for one in moving])
    placements = stacks.transforms(R @ R_joint @ Qt.swapaxes(1, 2), p + stacks.turned(R, xyz))
    bodies = []
    for index, (one, placement, inertia) in enumerate(zip(moving, placements, inertias, strict=True)):
        joint, mimic = one.joint, one.joint.mimic
        source = mimic.joint if mimic else joint.name
        q, v = q_slices.get(source, NOTHING), v_slices.get(source, NOTHING)
        loads = (joint.armature, joint.damping, joint.friction)
        tie = (mimic.multiplier, mimic.offset) if mimic else (1.0, 0.0)
        spring = (joint.stiffness, joint.rest)
        bodies.append(Body(joint.name, index, one.carrier, one.kind, placement, inertia, q, v, *loads, *tie, *spring))
    return tuple(bodies)


def _frames(frames: Mapping[str, tuple[int, Pose]]) -> dict[str, Frame]:
    """Frames of all links; those with the same pose in their bodies share it."""
    distinct = {id(pose): pose for _, pose in frames.values()}
    poses = dict(zip(distinct, stacks.transforms(*stacks.stacked(list(distinct.values()))), strict=True))
    return {name: Frame(name, body, poses[id(pose)]) for name, (body, pose) in frames.items()}


def _loop(loop: LoopJoint, frames: Mapping[str, tuple[int, Pose]], onto: int | None) -> Loop:
    """A loop joint with its axis on coordinate axes of both its frames."""
    joint, *turns = loop.type.aligned_sides(loop.axis, loop.axis2, onto, **loop.constants)
    sides = ((loop.parent, loop.parent_xyz, loop.parent_rotation), (loop.child, loop.child_xyz, loop.child_rotation))
    placed = []
    for (link, xyz, rotation), turn in zip(sides, turns, strict=True):
        body, (R, p) = frames[link]
        placed.append((body, (R @ rotation @ turn, p + R @ xyz)))
    (parent, at_parent), (child, at_child) = placed
    A, B, turned = stacks.transforms(*stacks.stacked([at_parent, at_child, (turns[1], NO_MOVE[1])]))
    return Loop(loop.name, joint, parent, A, child, B, turned)
