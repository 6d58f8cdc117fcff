# SPDX-License-Identifier: Apache-2.0
"""Construction of descriptions from formats whose joints are not at the frame of their child link.

In a description a link's frame is that of its joint. If they differ in a file, a massless link is inserted at the joint
and joined rigidly to the link, which keeps its frame.
"""

from __future__ import annotations

from collections.abc import Mapping

from ada_dynamics.model.description import Description, free_name
from ada_dynamics.model.elements import Joint, Link
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.model.rotations import NO_MOVE, Pose, inverse, is_unit
from ada_dynamics.model.structure import NamedPlace
from ada_dynamics.robots.readers.xml import Element


class DescriptionBuilder:
    """Adds links and joints to a description."""

    def __init__(self, robot: Description) -> None:
        self.robot = robot
        self._links = {link.name for link in robot.links}
        self._joints = {joint.name for joint in robot.joints}

    def add_link(self, link: Link) -> None:
        """Add a link."""
        self._links.add(link.name)
        self.robot.links.append(link)

    def add_joint(self, joint: Joint, pose: Pose) -> None:
        """Add a joint at a pose in its parent; the child's frame is that of the joint."""
        joint.rotation, joint.xyz = pose
        self._joints.add(joint.name)
        self.robot.joints.append(joint)

    def add_massless(self, wanted: str, element: Element) -> str:
        """Add a massless link under an unused name, and return the name."""
        name = free_name(wanted, self._links)
        self.add_link(Link(name, element=element, has_inertial=False))
        return name

    def fix(self, parent: str, child: str, pose: Pose, element: Element) -> None:
        """Add a fixed joint between two links."""
        name = free_name(f"{child}_fixed", self._joints)
        self.add_joint(Joint(name, "fixed", parent, child, element=element), pose)

    def join(self, joint: Joint, in_parent: Pose, in_child: Pose = NO_MOVE) -> None:
        """Add a joint with a frame in each link; both coincide at zero."""
        if is_unit(in_child[0]) and not in_child[1].any():
            self.add_joint(joint, in_parent)
            return
        child = joint.child
        joint.child = self.add_massless(f"{child}_at_{joint.name}", joint.element)
        self.add_joint(joint, in_parent)
        self.fix(joint.child, child, inverse(in_child), joint.element)


def joints_above(carriers: Mapping[str, Joint], link: str) -> list[Joint]:
    """Joints between a link and its root, the nearest first; `carriers` are the joints by their child link."""
    path: dict[str, Joint] = {}
    while link in carriers and link not in path:  # cycles of joints are reported by the structure check
        path[link] = carriers[link]
        link = carriers[link].parent
    return list(path.values())


def read_actuated(robot: Description, attribute: str, sink: Sink) -> None:
    """Read the extension `attribute`="false" of a <joint> without a motor; mimic joints must be known."""
    passive: set[str] = set()
    owners: dict[int, Joint] = {}  # the first joint of each element; fixed joints of massless links follow it
    for joint in robot.joints:
        owners.setdefault(id(joint.element), joint)
    for joint in owners.values():
        written = joint.element.attributes.get(attribute, "true")
        if written.strip().lower() == "false":
            passive.add(joint.name)
        elif written.strip().lower() != "true":
            message = f"{attribute}={written[:40]!r} is neither true nor false."
            sink(Problem("actuated", joint.line, joint.where, message, "Allowed: true, false."))
    if passive:
        moving = [j for j in robot.joints if j.kind != "fixed" and j.mimic is None and j.name not in passive]
        robot.actuated = [NamedPlace(j.name, robot.file, j.line) for j in moving]
