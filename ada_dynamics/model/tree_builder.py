# SPDX-License-Identifier: Apache-2.0
"""From links and joints to the tree of moving bodies: fixed joints merged, axes aligned, inertias moved along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.align import clean_relative, clean_rotation, to_mat3, to_vec3
from ada_dynamics.model.elements import Joint, Link, LoopJoint
from ada_dynamics.model.joints import Fixed, JointType
from ada_dynamics.model.rigid import Pose
from ada_dynamics.model.tree import WORLD, Body, Frame, Loop, Tree
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.rotation import constant_rotation
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vec3 import Vec3

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
    bodies: list[Body] = []
    lumps: list[list[tuple[Link, Pose]]] = []
    frames: dict[str, tuple[int, Pose]] = {"world": (WORLD, (np.eye(3), np.zeros(3)))}
    if root not in {j.child for j in joints}:
        frames[root] = (WORLD, (np.eye(3), np.zeros(3)))
    for joint in joints:
        carrier, (R, p) = frames[joint.parent]
        R_joint, p_joint = R @ joint.rotation, p + R @ joint.xyz
        if joint.kind == Fixed.kind and not keep_fixed:
            frames[joint.child] = (carrier, (R_joint, p_joint))
            if carrier != WORLD:
                lumps[carrier].append((links[joint.child], (R_joint, p_joint)))
            continue
        kind, Q = joint.type.aligned(joint.axis, joint.axis2, onto, **joint.constants)
        frames[joint.child] = (len(bodies), (Q.T, np.zeros(3)))
        lumps.append([(links[joint.child], (Q.T, np.zeros(3)))])
        bodies.append(_body(joint, kind, len(bodies), carrier, (R_joint @ Q, p_joint), q_slices, v_slices))
    tree = Tree(
        tuple(bodies),
        {name: Frame(name, body, _transform(*pose)) for name, (body, pose) in frames.items()},
        to_vec3(np.asarray(gravity, dtype=float)),
        sum(s.stop - s.start for s in q_slices.values()),
        sum(s.stop - s.start for s in v_slices.values()),
        tuple(_loop(loop, frames, onto) for loop in loops),
    )
    return tree.with_inertias([_lumped(parts) for parts in lumps])


def _loop(loop: LoopJoint, frames: Mapping[str, tuple[int, Pose]], onto: int | None) -> Loop:
    """A loop joint with its axis on coordinate axes of both its frames."""
    joint, *turns = loop.type.aligned_sides(loop.axis, loop.axis2, onto, **loop.constants)
    sides = ((loop.parent, loop.parent_xyz, loop.parent_rotation), (loop.child, loop.child_xyz, loop.child_rotation))
    placed = []
    for (link, xyz, rotation), turn in zip(sides, turns, strict=True):
        body, (R, p) = frames[link]
        placed.append((body, _transform(R @ rotation @ turn, p + R @ xyz)))
    (parent, A), (child, B) = placed
    return Loop(loop.name, joint, parent, A, child, B, _transform(turns[1], np.zeros(3)))


def _body(
    joint: Joint,
    kind: JointType,
    index: int,
    parent: int,
    pose: Pose,
    q_slices: Mapping[str, slice],
    v_slices: Mapping[str, slice],
) -> Body:
    source = joint.mimic.joint if joint.mimic else joint.name
    return Body(
        joint.name,
        index,
        parent,
        kind,
        _transform(*pose),
        RigidInertia(0.0, Vec3(0.0, 0.0, 0.0), to_mat3(np.zeros((3, 3)))),
        q_slices.get(source, NOTHING),
        v_slices.get(source, NOTHING),
        joint.armature,
        joint.damping,
        joint.friction,
        joint.mimic.multiplier if joint.mimic else 1.0,
        joint.mimic.offset if joint.mimic else 0.0,
        joint.stiffness,
        joint.rest,
    )


def _transform(R: Array, p: Array) -> Transform:
    return Transform(constant_rotation(to_mat3(clean_rotation(R))), to_vec3(clean_relative(p)))


def _lumped(parts: Sequence[tuple[Link, Pose]]) -> RigidInertia:
    """Inertia about the body's origin of all links fixed to the body (Takahashi 2012, eq. A.29)."""
    mass, moment, about = 0.0, np.zeros(3), np.zeros((3, 3))
    for link, (R, p) in parts:
        c = p + R @ link.com
        mass += link.mass
        moment += link.mass * c
        about += R @ link.inertia @ R.T + link.mass * (float(c @ c) * np.eye(3) - np.outer(c, c))
    symmetric = clean_relative(0.5 * (about + about.T))
    return RigidInertia(float(mass), to_vec3(clean_relative(moment)), to_mat3(symmetric))
