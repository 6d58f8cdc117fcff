# SPDX-License-Identifier: Apache-2.0
"""Bodies and frames of a tree from the links and joints of a model.

Links on fixed joints are merged into one body, and every joint axis is rotated onto a coordinate axis: the frame of a
body differs from that of its link by this rotation. Constants of all bodies are computed as stacked arrays, because
models may have 100,000 joints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ada_dynamics.model.elements import Joint, Link, LoopJoint
from ada_dynamics.model.joints import Fixed, JointType
from ada_dynamics.model.rotations import NO_MOVE, Pose, clean_relative, product, turned
from ada_dynamics.model.tree import (
    WORLD,
    Bodies,
    BodyColumns,
    Inertias,
    LinkFrames,
    Loop,
    cleaned,
    point_inertias,
    stacked,
    transforms,
)

Slices = Mapping[str, slice]  # of the coordinates of each joint


class _Moving(NamedTuple):
    """A moving joint and its body."""

    joint: Joint
    kind: JointType
    carrier: int  # index of the parent body
    carrier_pose: Pose  # of the parent link's frame in that body
    own_pose: Pose  # of the child link's frame in the own body


def tree_parts(
    root: str,
    links: Mapping[str, Link],
    joints: Sequence[Joint],
    loops: Iterable[LoopJoint],
    q: Slices,
    v: Slices,
    *,
    onto: int | None = None,
    keep_fixed: bool = False,
) -> tuple[Bodies, LinkFrames, tuple[Loop, ...]]:
    """Bodies in the order of their joints, frames of all links, and loop joints between bodies.

    Joints are in depth-first order. Their axes are rotated onto the coordinate axis `onto`, by default the nearest one
    of each. With `keep_fixed` links on fixed joints are bodies, too, so that each joint has a wrench.
    """
    frames: dict[str, tuple[int, Pose]] = {"world": (WORLD, NO_MOVE)}
    if not joints or joints[0].child != root:
        frames[root] = (WORLD, NO_MOVE)
    moving: list[_Moving] = []
    parts: list[tuple[int, Link, Pose]] = []
    known: dict[object, tuple[JointType, Pose]] = {}
    for joint in joints:
        carrier, pose = frames[joint.parent]
        if joint.kind == Fixed.kind and not keep_fixed:
            R, p = pose
            body, own_pose = carrier, (product(R, joint.rotation), p + turned(R, joint.xyz))
        else:
            kind, own_pose = _aligned(joint, onto, known)
            body = len(moving)
            moving.append(_Moving(joint, kind, carrier, pose, own_pose))
        frames[joint.child] = body, own_pose
        if body != WORLD:
            parts.append((body, links[joint.child], own_pose))
    bodies = Bodies(_columns(moving, _inertias(parts, len(moving)), q, v))
    return bodies, LinkFrames(frames), tuple(_aligned_loop(loop, frames, onto) for loop in loops)


def _columns(moving: Sequence[_Moving], inertias: Inertias, q: Slices, v: Slices) -> BodyColumns:
    joints = [one.joint for one in moving]
    R, p = stacked([one.carrier_pose for one in moving])
    R_joint, xyz = stacked([(joint.rotation, joint.xyz) for joint in joints])
    Qt, _ = stacked([one.own_pose for one in moving])
    placements = cleaned(product(product(R, R_joint), Qt.swapaxes(1, 2)), p + turned(R, xyz))
    sources = [joint.mimic.joint if joint.mimic else joint.name for joint in joints]
    nothing = slice(0, 0)  # of a fixed joint
    own_q, own_v = ([slices.get(name, nothing) for name in sources] for slices in (q, v))
    kinds, carriers = [one.kind for one in moving], [one.carrier for one in moving]
    return BodyColumns(joints, kinds, carriers, *placements, inertias, own_q, own_v)


def _inertias(parts: Sequence[tuple[int, Link, Pose]], count: int) -> Inertias:
    """Inertias of bodies about their origins, summed over the links fixed to them (Takahashi 2012, eq. A.29).

    Args:
        parts: number of the body, a link and its pose in the body.
        count: number of bodies.
    """
    links = [link for _, link, _ in parts]
    R, p = stacked([pose for *_, pose in parts])
    I, com = stacked([(link.inertia, link.com) for link in links])
    m = np.array([link.mass for link in links])
    c = p + turned(R, com)
    about = product(product(R, I), R.swapaxes(1, 2)) + point_inertias(m, c)
    body = np.array([number for number, _, _ in parts], dtype=np.intp)
    mass, h, total = np.zeros(count), np.zeros((count, 3)), np.zeros((count, 3, 3))
    for sums, values in ((mass, m), (h, m[:, None] * c), (total, about)):
        np.add.at(sums, body, values)
    symmetric = clean_relative(0.5 * (total + total.swapaxes(1, 2)), axes=(1, 2))
    return Inertias(mass, clean_relative(h, axes=1) + 0.0, symmetric + 0.0)


def _aligned(joint: Joint, onto: int | None, known: dict[object, tuple[JointType, Pose]]) -> tuple[JointType, Pose]:
    """Type of a joint on coordinate axes and pose of the child frame in its body, shared by equal joints."""
    alike: tuple[object, ...] = (joint.kind, joint.axis.tobytes())
    if joint.axis2 is not None or joint.constants:
        alike += (None if joint.axis2 is None else joint.axis2.tobytes(), *joint.constants.items())
    if alike not in known:
        kind, Q = joint.type.aligned(joint.axis, joint.axis2, onto, **joint.constants)
        known[alike] = kind, (Q.T, NO_MOVE[1])
    return known[alike]


def _aligned_loop(loop: LoopJoint, frames: Mapping[str, tuple[int, Pose]], onto: int | None) -> Loop:
    """Return a loop joint with its axis on a coordinate axis of both frames."""
    joint, *turns = loop.type.aligned_sides(loop.axis, loop.axis2, onto, **loop.constants)
    sides = ((loop.parent, loop.parent_xyz, loop.parent_rotation), (loop.child, loop.child_xyz, loop.child_rotation))
    placed = []
    for (link, xyz, rotation), turn in zip(sides, turns, strict=True):
        body, (R, p) = frames[link]
        placed.append((body, (product(product(R, rotation), turn), p + turned(R, xyz))))
    (parent, at_parent), (child, at_child) = placed
    sides_and_turn = stacked([at_parent, at_child, (turns[1], NO_MOVE[1])])
    A, B, Q = transforms(*cleaned(*sides_and_turn))
    return Loop(loop.name, joint, parent, A, child, B, Q)
