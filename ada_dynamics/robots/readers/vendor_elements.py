# SPDX-License-Identifier: Apache-2.0
"""Elements of Drake, Gazebo and Onshape's exporter in URDF and SDFormat.

Drake's ball constraints, Gazebo's joint springs and its plugins for mimic joints are read. Elements without counterpart
in a model are listed as left out: Drake's bushings and springs, links without gravity or with velocity decay, and pairs
of frames `closing_NAME_1` and `closing_NAME_2`, which mark a loop without its joint type.
"""

from __future__ import annotations

import re

import numpy as np

from ada_dynamics.model.description import Description, free_name
from ada_dynamics.model.elements import LoopJoint, Mimic
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.robots.readers.values import ChildTexts
from ada_dynamics.robots.readers.xml import Element

BALL = "drake:ball_constraint"
DRAKE_JOINT = "drake:joint"
SPRING = ("springStiffness", "springReference")  # of <gazebo reference="JOINT">
FOLLOWER = "mimicJoint"  # of Gazebo's plugins for mimicking joints

_NO_LOADS = {BALL, DRAKE_JOINT, "drake:collision_filter_group", "drake:material"}
_CLOSING = re.compile(r"closing_(.+)_([12])")


def read_drake(element: Element, robot: Description, sink: Sink) -> None:
    """Read a <drake:...> element: a ball constraint becomes a loop joint, other elements are left out."""
    if element.tag == BALL:
        _read_ball(ChildTexts(element, f"<{BALL}>", sink), robot)
    elif element.tag.startswith("drake:") and element.tag not in _NO_LOADS:
        message = "is not read, as models have no such force or constraint."
        _leave_out(robot, "not-modelled", element, f"<{element.tag}>", message, "Give its force as tau or a wrench.")


def _read_ball(values: ChildTexts, robot: Description) -> None:
    children: dict[str, Element] = {}
    for part in ("body_A", "p_AP", "body_B", "p_BQ"):
        child = values.child(f"{BALL}_{part}")
        if child is None:
            values.problem("missing-element", f"has no <{BALL}_{part}>.")
            return
        children[part] = child
    ends = [(one := children[part]).attributes.get("name", one.text).strip() for part in ("body_A", "body_B")]
    texts = [((one := children[part]).attributes.get("value", one.text), one) for part in ("p_AP", "p_BQ")]
    points = [values.parsed(text, 3, "", one) for text, one in texts]
    name = free_name("ball_constraint", {loop.name for loop in robot.loops})
    loop = LoopJoint(name, "spherical", ends[0], ends[1], file=robot.file, line=values.element.line)
    loop.parent_xyz, loop.child_xyz = (np.zeros(3) if point is None else point for point in points)
    robot.loops.append(loop)


def read_reference(element: Element, robot: Description, sink: Sink) -> None:
    """Read a <gazebo reference=...>: the spring of a joint, or gravity and velocity decay of a link."""
    name = element.attributes["reference"]
    joint = next((one for one in robot.joints if one.name == name), None)
    if joint is not None and element.first(SPRING[0]) is not None:
        values = ChildTexts(element, joint.where, sink)
        stiffness, rest = values.spring(joint.kind, *SPRING)
        if stiffness and joint.stiffness:
            message = "and <dynamics spring_stiffness> both give the spring of the joint."
            values.problem("spring-twice", message, "Keep one of them.")
        elif stiffness:
            joint.stiffness, joint.rest = stiffness, rest
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


def read_mimic_plugin(element: Element, robot: Description, sink: Sink) -> None:
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
            message = f"it marks a loop with {other!r}, without a joint type."
            fix = f"Add it: load(..., loops=[{{'name': {found[1]!r}, 'type': 'spherical', ...}}])."
            _leave_out(robot, "loop-not-closed", link.element, link.where, message, fix)


def _leave_out(robot: Description, code: str, at: Element, where: str, message: str, fix: str = "") -> None:
    robot.left_out.append(Problem(code, at.line, where, message, fix, at.file))
