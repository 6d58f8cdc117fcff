# SPDX-License-Identifier: Apache-2.0
"""Elements of Drake, Gazebo and Onshape's exporter in URDF and SDFormat.

Drake's ball constraints, Gazebo's joint springs and its plugins for mimic joints are read. Elements without counterpart
in a model are listed as left out: Drake's bushings and springs, links without gravity or with velocity decay, and pairs
of frames `closing_NAME_1` and `closing_NAME_2`, which mark a loop without its joint type.
"""

from __future__ import annotations

import re

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.description import Description, free_name
from ada_dynamics.model.elements import LoopJoint, Mimic
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.robots.readers.values import checked_spring, the_child
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.structured_text.lexical import BadNumber, to_float

BALL = "drake:ball_constraint"
DRAKE_JOINT = "drake:joint"
SPRING = {"springStiffness", "springReference"}  # of <gazebo reference="JOINT">
FOLLOWER = "mimicJoint"  # of Gazebo's plugins for mimicking joints

_NO_LOADS = {BALL, DRAKE_JOINT, "drake:collision_filter_group", "drake:material"}
_CLOSING = re.compile(r"closing_(.+)_([12])")


def read_drake(element: Element, robot: Description, sink: Sink) -> None:
    """Read a <drake:...> element: a ball constraint becomes a loop joint, other elements are left out."""
    if element.tag == BALL:
        _read_ball(element, robot, sink)
    elif element.tag.startswith("drake:") and element.tag not in _NO_LOADS:
        message = "is not read, as models have no such force or constraint."
        _leave_out(robot, "not-modelled", element, f"<{element.tag}>", message, "Give its force as tau or a wrench.")


def _read_ball(element: Element, robot: Description, sink: Sink) -> None:
    where = f"<{BALL}>"
    ends, points = [], []
    for body, point in (("body_A", "p_AP"), ("body_B", "p_BQ")):
        name = the_child(element, f"{BALL}_{body}", where, sink)
        place = the_child(element, f"{BALL}_{point}", where, sink)
        if name is None or place is None:
            message = f"it has no <{BALL}_{body if name is None else point}>."
            sink(Problem("missing-element", element.line, where, message))
            return
        ends.append(name.attributes.get("name", name.text).strip())
        points.append(_numbers(place, place.attributes.get("value", place.text), 3, where, sink))
    loop = LoopJoint("", "spherical", ends[0], ends[1], file=robot.file, line=element.line)
    loop.name = free_name("ball_constraint", {one.name for one in robot.loops})
    loop.parent_xyz, loop.child_xyz = points
    robot.loops.append(loop)


def read_reference(element: Element, robot: Description, sink: Sink) -> None:
    """Read a <gazebo reference=...>: the spring of a joint, or gravity and velocity decay of a link."""
    name = element.attributes["reference"]
    joint = next((one for one in robot.joints if one.name == name), None)
    if joint is not None and element.first("springStiffness") is not None:
        stiffness, rest = (_number(element, tag, joint.where, sink) for tag in ("springStiffness", "springReference"))
        if stiffness and joint.stiffness:
            message = "<springStiffness> and <dynamics spring_stiffness> both give its spring."
            sink(Problem("spring-twice", element.line, joint.where, message, "Keep one of them."))
        elif stiffness:
            joint.stiffness, joint.rest = checked_spring(joint.kind, stiffness, rest, element, joint.where, sink)
    if not any(link.name == name for link in robot.links):
        return
    for tag, off in (("turnGravityOff", ("true", "1")), ("gravity", ("false", "0"))):
        child = element.first(tag)
        if child is not None and child.text.lower() in off:
            message = f"<{tag}> disables gravity, which acts on all links of a model."
            _leave_out(robot, "no-gravity", child, f"link {name!r}", message)
    child = element.first("dampingFactor")
    if child is not None and _number(element, "dampingFactor", f"link {name!r}", sink):
        message = "its <dampingFactor> is not read."
        _leave_out(robot, "decay", child, f"link {name!r}", message, "Give its joint damping.")


def read_mimic_plugin(element: Element, robot: Description, sink: Sink) -> None:
    """Read a <plugin> for a mimic joint; an existing <mimic> has priority."""
    leader, follower = element.first("joint"), element.first(FOLLOWER)
    if leader is None or follower is None:
        return
    where = f"joint {follower.text!r}"
    known = {joint.name: joint for joint in robot.joints}
    if leader.text not in known or follower.text not in known:
        message = f"<plugin> couples it to {leader.text!r}, and one of them is no joint of the robot."
        _leave_out(robot, "unknown-joint", element, where, message)
    elif known[follower.text].mimic is None and known[follower.text].kind != "fixed":
        multiplier = 1.0 if element.first("multiplier") is None else _number(element, "multiplier", where, sink)
        known[follower.text].mimic = Mimic(leader.text, multiplier, _number(element, "offset", where, sink))


def note_open_frames(robot: Description) -> None:
    """List pairs of Onshape's closing frames without loop joint as left out."""
    joined = {end for loop in robot.loops for end in (loop.parent, loop.child)}
    links = {link.name: link for link in robot.links}
    for name, link in links.items():
        found = _CLOSING.fullmatch(name)
        other = f"closing_{found[1]}_2" if found and found[2] == "1" else ""
        if other in links and not {name, other} & joined:
            message = f"it marks a loop with {other!r}, without a joint type."
            fix = f"Add it: load(..., loops=[{{'name': {found[1]!r}, 'type': 'spherical', ...}}])." if found else ""
            _leave_out(robot, "loop-not-closed", link.element, link.where, message, fix)


def _leave_out(robot: Description, code: str, at: Element, where: str, message: str, fix: str = "") -> None:
    robot.left_out.append(Problem(code, at.line, where, message, fix, at.file))


def _number(element: Element, tag: str, where: str, sink: Sink) -> float:
    """Number in a child element, 0 without one."""
    child = the_child(element, tag, where, sink)
    return 0.0 if child is None else float(_numbers(child, child.text, 1, where, sink)[0])


def _numbers(element: Element, text: str, size: int, where: str, sink: Sink) -> Array:
    try:
        values = [to_float(part) for part in text.split()]
        if len(values) != size:
            raise BadNumber(f"has {len(values)} numbers instead of {size}")
        return np.array(values)
    except BadNumber as reason:
        message = f"<{element.tag}> {text[:60]!r}: {reason}."
        sink(Problem("not-a-number", element.line, where, message, f"Allowed: {size} finite numbers."))
        return np.zeros(size)
