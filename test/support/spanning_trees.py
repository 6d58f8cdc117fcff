# SPDX-License-Identifier: Apache-2.0
"""Other spanning trees of a mechanism: a loop joint carries one of its links, whose tree joint closes the loop."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import ada_dynamics as ada
from ada_dynamics.model.description import WORLD_LINK
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.elements import LOADS, Joint, Link, LoopJoint
from ada_dynamics.model.model import link_poses
from ada_dynamics.model.rotations import Pose, compose, inverse


def exchanges(model: ada.Model) -> Iterator[tuple[str, str, str]]:
    """Loop joint, the link that it can carry, and the tree joint that carries this link now."""
    carriers = {joint.child: joint for joint in model.joints.values()}
    for loop in model.loops.values():
        for link, other in ((loop.parent, loop.child), (loop.child, loop.parent)):
            above = other
            while above in carriers and above != link:
                above = carriers[above].parent
            cut = carriers.get(link)
            loses = cut is not None and any(getattr(cut, load) for load in LOADS)
            if above != link and cut is not None and cut.type.closes_as and not loses and cut.parent != WORLD_LINK:
                yield loop.name, link, cut.name


def exchanged(model: ada.Model, q: np.ndarray, loop: str, link: str, cut: str) -> tuple[ada.Model, np.ndarray]:
    """The mechanism with the tree in which the loop joint carries the link, and its configuration of the same poses."""
    parts = Parts.of(model, list_actuated=True)
    old, closing = parts.loops.pop(loop), parts.joints.pop(cut)
    if WORLD_LINK in (old.parent, old.child) and WORLD_LINK not in parts.links:
        parts.free_root_as_joint()
    near, far = (old.parent, old.parent_rotation, old.parent_xyz), (old.child, old.child_rotation, old.child_xyz)
    axes = (old.axis, old.axis2)
    if link == old.parent:  # the inverse motion has opposite axes, those of a universal joint in the other order
        near, far, axes = far, near, (-old.axis, None) if old.axis2 is None else (-old.axis2, -old.axis)
    carrier = parts.root if near[0] == WORLD_LINK and WORLD_LINK not in parts.links else near[0]
    at_link = inverse(far[1:])
    parts.links["mount"] = Link("mount", has_inertial=False)
    parts.joints[loop] = Joint(loop, old.kind, carrier, "mount", near[2], near[1], *axes, constants=old.constants)
    parts.joints["weld"] = Joint("weld", "fixed", "mount", link, at_link[1], at_link[0])
    frames = (closing.xyz, closing.rotation, np.zeros(3), np.eye(3))
    ends = (closing.parent, link, *frames, closing.axis, closing.axis2, closing.constants)
    parts.loops[cut] = LoopJoint(cut, closing.type.closes_as or closing.kind, *ends)
    parts.actuated = [name for name in parts.actuated or [] if name != cut]
    other = parts.build()
    found = other.neutral()
    for name in set(other.joint_names) - {loop}:
        found[other.q_index(name)] = q[model.q_index(name)]
    if loop in other.joint_names:
        poses, joint = link_poses(other, found), other.joints[loop]
        wanted = compose(link_poses(model, q)[link], far[1:])
        inside = inverse(compose(poses[carrier], (joint.rotation, joint.xyz)))
        found[other.q_index(loop)] = position_at(joint, compose(inside, wanted))
    return other, found


def position_at(joint: Joint, pose: Pose) -> np.ndarray:
    """Position of a joint at which the child frame has a pose in the joint frame."""
    alone = ada.Builder("joint").link("a").link("b", 1.0, inertia=(1.0, 1.0, 1.0))
    alone.joint("j", joint.kind, "a", "b", axis=joint.axis, axis2=joint.axis2, **joint.constants)
    goal = np.eye(4)
    goal[:3, :3], goal[:3, 3] = pose
    return np.asarray(ada.solve_ik(alone.build(), ada.PoseTask("b", goal), starts=20, tolerance=1e-14).q)
