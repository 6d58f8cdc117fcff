# SPDX-License-Identifier: Apache-2.0
"""`<loop_joint>` inside a URDF, as Drake had it and the importer of Isaac Sim has it.

    <loop_joint name="closing" type="continuous">
      <link1 link="a" xyz="..." rpy="..."/>
      <link2 link="b" xyz="..." rpy="..."/>
      <axis xyz="0 1 0"/>
    </loop_joint>

Both frames see the axis alike. Drake knew the type continuous only, Isaac Sim spherical only; all types are taken
here, and a universal joint has <axis2> in the frame on link2.
"""

from __future__ import annotations

from ada_dynamics.model.elements import LoopJoint
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.robots.readers.loops.xml_parts import (
    are_perpendicular,
    check_known,
    read_direction,
    read_kind,
    read_link,
    read_name,
)
from ada_dynamics.robots.readers.values import pose_in
from ada_dynamics.robots.readers.xml import Element

OTHER_WORDS = {"continuous": "revolute", "ball": "spherical"}


def read_loop_joint(element: Element, file: str, sink: Sink) -> LoopJoint | None:
    """The loop, or None after reporting why there is none."""
    name = read_name(element, sink)
    if name is None:
        return None
    where = f"loop {name!r}"
    check_known(element, where, sink, ("link1", "link2", "axis", "axis2"), ("name", "type"))
    kind = read_kind(element, where, sink, OTHER_WORDS)
    element = _mended(element)
    ends = [read_link(element, tag, where, sink) for tag in ("link1", "link2")]
    if kind is None or ends[0] is None or ends[1] is None:
        return None
    (parent, first), (child, second) = ends[0], ends[1]
    for end in (first, second):
        check_known(end, where, sink, (), ("link", "xyz", "rpy", "quat_xyzw"))
    loop = LoopJoint(name, kind, parent, child, file=file, line=element.line)
    loop.parent_rotation, loop.parent_xyz = pose_in(first, where, sink)
    loop.child_rotation, loop.child_xyz = pose_in(second, where, sink)
    return loop if read_axes(loop, element, sink) else None


def read_axes(loop: LoopJoint, element: Element, sink: Sink) -> bool:
    """<axis>, (1, 0, 0) by default, and <axis2> of a universal joint; whether they are usable."""
    where = loop.where
    if not loop.type.axes:
        return True
    axis = read_direction(element, "axis", (1.0, 0.0, 0.0), where, sink)
    loop.axis = loop.axis if axis is None else axis
    if loop.type.axes == 1:
        second = element.first("axis2")
        if second is not None:
            message = f"a {loop.kind} joint has one axis."
            sink(Problem("axes", second.line, where, message, "Remove <axis2>, or is the type universal?"))
        return axis is not None
    if element.first("axis2") is None:
        message = "a universal joint needs <axis2>, its axis in the frame on the second link."
        sink(Problem("missing-element", element.line, where, message, 'Add <axis2 xyz="0 1 0"/> or the like.'))
        return False
    loop.axis2 = read_direction(element, "axis2", None, where, sink)
    if axis is None or loop.axis2 is None:
        return False
    return are_perpendicular(loop.axis, loop.axis2, where, element, sink)


def _mended(element: Element) -> Element:
    """The manual of Isaac Sim calls both links link1; its parser wants link1 and link2."""
    if element.first("link2") is not None or len(element.all("link1")) != 2:
        return element
    copy = Element(element.tag, element.attributes, element.line)
    copy.children = list(element.children)
    place = copy.children.index(element.all("link1")[1])
    second = copy.children[place]
    copy.children[place] = Element("link2", second.attributes, second.line)
    return copy
