# SPDX-License-Identifier: Apache-2.0
"""Joints that are not at their link's frame: formats place them anywhere, here a link's frame is that of its joint.

Where they differ, a link without mass stands at the joint and carries the named one rigidly, so that every link keeps
the frame which the file gives it.
"""

from __future__ import annotations

from ada_dynamics.model.description import Description, free_name
from ada_dynamics.model.elements import Joint, Link
from ada_dynamics.model.rotations import NO_MOVE, Pose, compose, inverse, is_unit
from ada_dynamics.robots.readers.xml import Element


class DescriptionBuilder:
    """Adds joints and what they need to a description."""

    def __init__(self, robot: Description) -> None:
        self.robot = robot
        self._links = {link.name for link in robot.links}
        self._joints = {joint.name for joint in robot.joints}

    def add_link(self, link: Link) -> None:
        """Add a link."""
        self._links.add(link.name)
        self.robot.links.append(link)

    def add_joint(self, joint: Joint, pose: Pose) -> None:
        """Add a joint whose child's frame is the joint's, at a pose in its parent."""
        joint.rotation, joint.xyz = pose
        self._joints.add(joint.name)
        self.robot.joints.append(joint)

    def add_massless(self, wanted: str, element: Element) -> str:
        """Add a link without mass under a free name."""
        name = free_name(wanted, self._links)
        self.add_link(Link(name, element=element, has_inertial=False))
        return name

    def fix(self, parent: str, child: str, pose: Pose, element: Element) -> None:
        """Carry one link rigidly by another."""
        name = free_name(f"{child}_fixed", self._joints)
        self.add_joint(Joint(name, "fixed", parent, child, element=element), pose)

    def join(self, joint: Joint, in_parent: Pose, in_child: Pose = NO_MOVE) -> None:
        """Add a joint that has a frame in either link; at zero they coincide."""
        if is_unit(in_child[0]) and not in_child[1].any():
            self.add_joint(joint, in_parent)
            return
        child = joint.child
        joint.child = self.add_massless(f"{child}_at_{joint.name}", joint.element)
        self.add_joint(joint, in_parent)
        self.fix(joint.child, child, inverse(in_child), joint.element)


def zero_pose(robot: Description, link: str) -> Pose | None:
    """Pose of a link in its root where all joints are at zero; None where it has no root."""
    carriers = {joint.child: joint for joint in robot.joints}
    pose, seen = NO_MOVE, set()
    while link in carriers:
        if link in seen:
            return None
        seen.add(link)
        joint = carriers[link]
        pose = compose((joint.rotation, joint.xyz), pose)
        link = joint.parent
    return pose
