# SPDX-License-Identifier: Apache-2.0
"""`<constraint>` inside a URDF, as proposed in ros/urdfdom#264 and ros/urdfdom_headers#108.

    <constraint name="closing" type="revolute">
      <parent link="a"/> <parent_origin xyz="..." rpy="..."/> <parent_axis xyz="0 1 0"/>
      <child link="b"/> <child_origin xyz="..." rpy="..."/> <child_axis xyz="0 1 0"/>
    </constraint>

The frames that the origins place coincide at the joint's zero position; each axis is in the frame on its side. The
proposal has the types link (all of both frames coincide: a link that was cut), revolute and spherical; the others are
taken in the same sense.
"""

from __future__ import annotations

from ada_dynamics.model.elements import LoopJoint
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.model.rotations import UNIT, Pose
from ada_dynamics.robots.readers.loops.xml_parts import (
    are_perpendicular,
    check_known,
    read_direction,
    read_kind,
    read_link,
    read_name,
    same_direction,
)
from ada_dynamics.robots.readers.values import Attributes, pose_in, the_child
from ada_dynamics.robots.readers.xml import Element

OTHER_WORDS = {"link": "fixed", "continuous": "revolute"}

_CHILDREN = ("parent", "parent_origin", "parent_axis", "child", "child_origin", "child_axis")


def read_constraint(element: Element, file: str, sink: Sink) -> LoopJoint | None:
    """The loop, or None after reporting why there is none."""
    name = read_name(element, sink)
    if name is None:
        return None
    where = f"loop {name!r}"
    check_known(element, where, sink, _CHILDREN, ("name", "type"))
    kind = read_kind(element, where, sink, OTHER_WORDS)
    ends = [read_link(element, tag, where, sink) for tag in ("parent", "child")]
    poses = [_pose(element, tag, where, sink) for tag in ("parent_origin", "child_origin")]
    if kind is None or ends[0] is None or ends[1] is None:
        return None
    loop = LoopJoint(name, kind, ends[0][0], ends[1][0], file=file, line=element.line)
    (loop.parent_rotation, loop.parent_xyz), (loop.child_rotation, loop.child_xyz) = poses
    if not loop.type.axes or _read_axes(loop, element, sink):
        return loop
    return None


def _pose(element: Element, tag: str, where: str, sink: Sink) -> Pose:
    origin = the_child(element, tag, where, sink)
    if origin is None:
        return UNIT, UNIT[0] * 0.0
    for name in origin.attributes:
        if name not in ("xyz", "rpy", "quat_xyzw"):
            problem = Attributes(origin, where, sink).problem
            problem("unknown-attribute", f"has an attribute {name[:40]!r}.", "Known: xyz, rpy.")
    return pose_in(origin, where, sink)


def _read_axes(loop: LoopJoint, element: Element, sink: Sink) -> bool:
    where = loop.where
    is_universal = loop.type.axes == 2
    first = read_direction(element, "parent_axis", None if is_universal else (1.0, 0.0, 0.0), where, sink)
    second = read_direction(element, "child_axis", None if is_universal else first, where, sink)
    if first is None or second is None:
        if is_universal and not (element.first("parent_axis") and element.first("child_axis")):
            message = "a universal joint needs both <parent_axis> and <child_axis>."
            sink(
                Problem("missing-element", element.line, where, message, 'Add <parent_axis xyz="0 0 1"/> or the like.')
            )
        return False
    loop.axis = first
    if is_universal:
        loop.axis2 = second
        return are_perpendicular(first, second, where, element, sink)
    if not same_direction(first, second):
        message = f"<parent_axis> and <child_axis> of a {loop.kind} joint differ, though its frames coincide at zero."
        fix = "Make them equal and turn <child_origin> by rpy, so that both frames see the axis alike."
        sink(Problem("axes", element.line, where, message, fix))
        return False
    return True
