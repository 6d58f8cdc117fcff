# SPDX-License-Identifier: Apache-2.0
"""Parts of descriptions that several readers share: links and joints at any frame, and elements of other programs.

In a description a link's frame is that of its joint. If they differ in a file, a massless link is inserted at the joint
and joined rigidly to the link, which keeps its frame.

Gazebo's plugins for mimic joints and DetachableJoint are read. Elements without counterpart in a model are listed as
left out: Drake's bushings, joint springs of Gazebo, links without gravity or with velocity decay, and pairs of frames
`closing_NAME_1` and `closing_NAME_2` of Onshape's exporter, which mark a loop without its joint type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ada_dynamics.errors import unknown_name
from ada_dynamics.model.description import Description, LocatedName, Problem, Sink, free_name
from ada_dynamics.model.elements import Joint, Link, LoopJoint, Mimic
from ada_dynamics.model.rotations import NO_MOVE, Pose, compose, inverse, is_unit
from ada_dynamics.robots.readers.values import ChildTexts
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


def zero_poses(joints: Iterable[Joint]) -> dict[str, Pose]:
    """Pose of every link in its root, with all joints at zero."""
    carriers = {joint.child: joint for joint in joints}
    poses: dict[str, Pose] = {}
    for link in carriers:
        path: list[Joint] = []
        while link in carriers and link not in poses and len(path) <= len(carriers):  # or a cycle of joints
            path.append(carriers[link])
            link = carriers[link].parent
        poses.setdefault(link, NO_MOVE)
        for joint in reversed(path):
            poses[joint.child] = compose(poses[joint.parent], (joint.rotation, joint.xyz))
    return poses


def read_actuated(robot: Description, attribute: str, sink: Sink) -> None:
    """Read the extension `attribute` of a <joint>: "false" without a motor, or the number of its motor.

    Mimic joints must be known.
    """
    passive: set[str] = set()
    numbers: dict[str, int] = {}
    owners: dict[int, Joint] = {}  # the first joint of each element; fixed joints of massless links follow it
    for joint in robot.joints:
        owners.setdefault(id(joint.element), joint)
    for joint in owners.values():
        written = joint.element.attributes.get(attribute, "true").strip().lower()
        if written == "false":
            passive.add(joint.name)
        elif written.isdecimal() and int(written):
            other = next((name for name, number in numbers.items() if number == int(written) > 1), None)
            if other is not None:
                message = f"{attribute}={written!r} is the number of joint {other!r}, too."
                sink(Problem("actuated", joint.line, joint.where, message, "Give each motor its own number."))
            numbers[joint.name] = int(written)
        elif written != "true":
            message = f"{attribute}={written[:40]!r} is neither true nor false, nor the number of a motor."
            sink(Problem("actuated", joint.line, joint.where, message, "Allowed: true, false, 1, 2, ..."))
    if passive or numbers:
        moving = [j for j in robot.joints if j.kind != "fixed" and j.mimic is None and j.name not in passive]
        moving = sorted(moving, key=lambda j: numbers.get(j.name, 0))
        robot.actuated = [LocatedName(j.name, robot.file, j.line) for j in moving]


# --- elements of other programs -----------------------------------------------------------------------------------
FOLLOWER = "mimicJoint"  # of Gazebo's plugins for mimicking joints

_WITHOUT_LOADS = {"drake:collision_filter_group", "drake:controller_gains", "drake:gear_ratio", "drake:material"}
_REFUSED = {
    "drake:joint": "Write it as <joint>.",
    "drake:ball_constraint": "Write it as a spherical loop joint.",
    "drake:mimic": "Write it as <mimic>.",
}
_CLOSING = re.compile(r"closing_(.+)_([12])")


def read_drake(element: Element, robot: Description, sink: Sink) -> None:
    """List an element of Drake as left out, or refuse it if it is a joint or a loop."""
    where = f"<{element.tag}>"
    if element.tag in _REFUSED:
        sink(Problem("not-modelled", element.line, where, "it is not read.", _REFUSED[element.tag]))
    elif element.tag.startswith("drake:") and element.tag not in _WITHOUT_LOADS:
        fix = "Give its force as tau or a wrench, or an inertia of rotors as armature in a URDF."
        _leave_out(robot, "not-modelled", element, where, "is not read.", fix)


def read_reference(element: Element, robot: Description, sink: Sink) -> None:
    """List springs of joints, disabled gravity and velocity decay of links in a <gazebo reference=...> as left out."""
    name = element.attributes["reference"]
    spring, joint = element.first("springStiffness"), next((one for one in robot.joints if one.name == name), None)
    if spring is not None and joint is not None:
        fix = "Write it as <dynamics spring_stiffness=...>."
        _leave_out(robot, "spring", spring, joint.where, "its <springStiffness> is not read.", fix)
    if not any(link.name == name for link in robot.links):
        return
    values = ChildTexts(element, f"link {name!r}", sink)
    for tag, off in (("turnGravityOff", ("true", "1")), ("gravity", ("false", "0"))):
        child = element.first(tag)
        if child is not None and child.text.lower() in off:
            message = f"<{tag}> disables gravity, which acts on all links of a model."
            _leave_out(robot, "no-gravity", child, values.where, message)
    child = element.first("dampingFactor")
    if child is not None and values.number("dampingFactor", 0.0):
        message = "its <dampingFactor> is not read."
        _leave_out(robot, "decay", child, values.where, message, "Give its joint damping.")


def read_plugin(element: Element, robot: Description, sink: Sink) -> None:
    """Read a <plugin> for a mimic joint, or one that joins two links rigidly; list other ones that join links."""
    ends = [end.text for tag in ("parent", "child") if (end := element.first(tag)) is not None]
    if element.attributes.get("name", "").rpartition("::")[2] == "DetachableJoint":
        _read_detachable_joint(element, robot, sink)
    elif len(ends) == 2 and set(ends) <= {link.name for link in robot.links}:  # such as libpegasus_gazebo_closed_loop
        fix = "Write the loop as <gazebo><joint>, or in a file of loops."
        _leave_out(robot, "loop-not-closed", element, "<plugin>", f"joins {ends[0]!r} and {ends[1]!r} unread.", fix)
    else:
        _read_mimic_plugin(element, robot, sink)


def _read_detachable_joint(element: Element, robot: Description, sink: Sink) -> None:
    """Read a DetachableJoint between two links of the robot: a fixed loop joint, closed at the zero configuration."""
    values = ChildTexts(element, "<plugin> DetachableJoint", sink)
    parent, child, other = (values.text(tag) for tag in ("parent_link", "child_link", "child_model"))
    if parent is None or child is None or other is None:
        return
    if other not in (robot.name, "__model__"):
        message = f"it joins link {parent!r} to the model {other!r}, which is not read."
        _leave_out(robot, "loop-not-closed", element, values.where, message)
        return
    links = [link.name for link in robot.links]
    for end in (parent, child):
        if end not in links:
            sink(Problem("unknown-link", element.line, values.where, str(unknown_name("link", end, links))))
            return
    poses = zero_poses(robot.joints)
    R, p = compose(inverse(poses.get(parent, NO_MOVE)), poses.get(child, NO_MOVE))
    name = f"{parent}_{child}"
    robot.loops.append(LoopJoint(name, "fixed", parent, child, p, R, file=robot.file, line=element.line))
    robot.notes.append(f"DetachableJoint of {parent!r} and {child!r} is a fixed joint; it is never detached.")


def _read_mimic_plugin(element: Element, robot: Description, sink: Sink) -> None:
    """Read a <plugin> for a mimic joint; an existing <mimic> has priority."""
    leader, follower = element.first("joint"), element.first(FOLLOWER)
    if leader is None or follower is None:
        return
    values = ChildTexts(element, f"joint {follower.text!r}", sink)
    known = {joint.name: joint for joint in robot.joints}
    if leader.text not in known or follower.text not in known:
        message = f"<plugin> couples it to {leader.text!r}, and one of them is no joint of the robot."
        _leave_out(robot, "unknown-joint", element, values.where, message)
    elif known[follower.text].mimic is None and known[follower.text].kind != "fixed":
        multiplier, offset = values.number("multiplier", 1.0), values.number("offset", 0.0)
        known[follower.text].mimic = Mimic(leader.text, multiplier, offset)


def note_open_frames(robot: Description) -> None:
    """List pairs of Onshape's closing frames without loop joint as left out."""
    joined = {end for loop in robot.loops for end in (loop.parent, loop.child)}
    links = {link.name: link for link in robot.links}
    for name, link in links.items():
        found = _CLOSING.fullmatch(name)
        other = f"closing_{found[1]}_2" if found and found[2] == "1" else ""
        if found and other in links and not {name, other} & joined:
            message = "it marks a loop with the frame of the same name that ends in _2, without a joint type."
            ends = "parent: {link: closing_NAME_1}, child: {link: closing_NAME_2}"
            fix = f"Add it to a file of loops, with its type: {{name: NAME, type: spherical, {ends}}}."
            _leave_out(robot, "loop-not-closed", link.element, link.where, message, fix)


def _leave_out(robot: Description, code: str, at: Element, where: str, message: str, fix: str = "") -> None:
    robot.left_out.append(Problem(code, at.line, where, message, fix, at.file))
