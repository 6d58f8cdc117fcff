# SPDX-License-Identifier: Apache-2.0
"""Loops as XML elements of a URDF.

<constraint> (ros/urdfdom#264, ros/urdfdom_headers#108). The frames of both origins coincide at the zero position of the
joint; each axis is in the frame on its side. The type link means fixed::

    <constraint name="closing" type="revolute">
      <parent link="a"/> <parent_origin xyz="..." rpy="..."/> <parent_axis xyz="0 1 0"/>
      <child link="b"/> <child_origin xyz="..." rpy="..."/> <child_axis xyz="0 1 0"/>
    </constraint>

<loop_joint> of Drake (which has the type continuous only) and Isaac Sim (spherical only). The axis has the same
coordinates in both frames; a universal joint has <axis2> in the frame on link2::

    <loop_joint name="closing" type="continuous">
      <link1 link="a" xyz="..." rpy="..."/>
      <link2 link="b" xyz="..." rpy="..."/>
      <axis xyz="0 1 0"/>
    </loop_joint>

<loop> of URDF+ (arXiv 2411.19753); the attribute `independent` of joints is ignored, and <coupling> refused::

    <loop name="closing" type="revolute">
      <predecessor link="a"> <origin xyz="..." rpy="..."/> </predecessor>
      <successor link="b"> <origin xyz="..." rpy="..."/> </successor>
      <axis xyz="0 0 1"/>
    </loop>

<gazebo><joint>: see `read_gazebo`.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ada_dynamics.errors import unknown_name
from ada_dynamics.model.description import Description, Problem, Sink
from ada_dynamics.model.elements import LoopJoint
from ada_dynamics.model.joints import JOINT_TYPES, LOOP_KINDS, joint_kind
from ada_dynamics.model.rotations import NO_MOVE, Pose
from ada_dynamics.robots.readers.description_builder import (
    read_actuated,
    read_drake,
    read_plugin,
    read_reference,
    zero_poses,
)
from ada_dynamics.robots.readers.sdf import WORLD, SdfFrames, SdfJoint, loop_of, read_joint, resolve_frames
from ada_dynamics.robots.readers.values import Attributes, unknown_names
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.structured_text.lexical import near

_SAME_AXIS = 1e-15  # one minus the cosine of the angle between equal axes
_X = (1.0, 0.0, 0.0)
_POSE = ("xyz", "rpy", "quat_xyzw")  # attributes
_AXES = ("axis", "axis2")

KINDS = tuple(kind for kind in LOOP_KINDS if not JOINT_TYPES[kind].constants)  # elements have no place for constants
URDF_PLUS_KINDS = ("revolute", "prismatic", "planar", "fixed")  # types of the URDF+ parser
ELEMENTS = ("constraint", "loop_joint", "loop", "coupling")  # of a <robot>, in addition to <gazebo><joint>
_ENDS = {"parent", "child", "link1", "link2", "predecessor", "successor"}


def read_urdf_loops(robot: Description, sink: Sink) -> None:
    """Add the loops and actuated joints of a URDF to its description."""
    for element in robot.root.children:
        if element.tag == "gazebo":
            if "reference" in element.attributes:
                read_reference(element, robot, sink)
            else:
                robot.loops.extend(read_gazebo(element, robot, sink))
            for plugin in element.all("plugin"):
                read_plugin(plugin, robot, sink)
        elif element.tag.startswith("drake:"):
            read_drake(element, robot, sink)
        elif element.tag == "coupling" or element.attributes.get("type", "").strip() == "rolling":
            name = element.attributes.get("name", "")
            message, fix = f"<{element.tag}> is not read.", "Couple single joints by <mimic>."
            sink(Problem("coupling", element.line, f"coupling {name!r}", message, fix))
        elif element.tag in ELEMENTS:
            loop = read_loop(element, robot.file, sink)
            if loop is not None:
                robot.loops.append(loop)
                if element.first("limit") is not None:
                    robot.notes.append(f"{loop.where}: its limits are left out, as a loop joint has no coordinate.")
        else:
            _check_spelling(element, sink)
    read_actuated(robot, "actuated", sink)


def _check_spelling(element: Element, sink: Sink) -> None:
    """Report elements that are probably misspelt loops; ignoring them would open the loops."""
    if not any(child.tag in _ENDS for child in element.children) or element.tag in {"joint", "link", "sensor"}:
        return
    hint = near(element.tag, ELEMENTS)
    if hint:
        message = f"<{element.tag[:40]}> is unknown and looks like a loop."
        sink(Problem("unknown-element", element.line, "<robot>", message, hint.strip()))


# Tags of both ends of a loop, and the known children and attributes of an end, by format.
_FORMS = {
    "constraint": (("parent", "child"), (), ("link",)),
    "loop_joint": (("link1", "link2"), (), ("link", *_POSE)),
    "loop": (("predecessor", "successor"), ("origin",), ("link",)),
}
_WORDS = {"link": "fixed", "continuous": "revolute", "ball": "spherical", "position": "spherical"}


def read_loop(element: Element, file: str, sink: Sink) -> LoopJoint | None:
    """Read a <constraint>, <loop_joint> or <loop>, or return None after reporting a problem."""
    # The first version of URDF+ also named its loops <constraint>.
    form = "loop" if element.first("predecessor") is not None else element.tag
    tags = _FORMS[form][0]
    others = [f"{tag}_{what}" for tag in tags for what in ("origin", "axis")] if form == "constraint" else _AXES
    values = Attributes(element, f"<{element.tag}>", sink)
    name = values.text("name")
    if name is None:
        return None
    values.where = f"loop {name!r}"
    _check_known(values, (*tags, *others), ("name", "type"))
    kind = _read_kind(values)
    first, second = (_read_end(values, form, tag) for tag in tags)
    if kind is None or first is None or second is None:
        return None
    (parent, (R, p)), (child, (S, s)) = first, second
    loop = LoopJoint(name, kind, parent, child, p, R, s, S, file=file, line=element.line)
    if loop.type.axes:
        (_constraint_axes if form == "constraint" else _axes)(loop, values)
    return loop


def _read_end(values: Attributes, form: str, tag: str) -> tuple[str, Pose] | None:
    """Read the link of an end and the pose of the joint in it, or return None after reporting a problem."""
    found = values.link(tag)
    if found is None:
        return None
    link, end = found
    _, children, attributes = _FORMS[form]
    _check_known(end, children, attributes)
    if form == "loop_joint":
        return link, end.pose()
    if form == "loop":
        return link, end.origin()
    origin = values.inside(f"{tag}_origin")
    if origin is None:
        return link, NO_MOVE
    _check_known(origin, (), _POSE)
    return link, origin.pose()


def _check_known(values: Attributes, children: Collection[str], attributes: Collection[str]) -> None:
    """Report unknown children and attributes of a loop element."""
    for child in values.element.all("dynamics"):
        dynamics = Attributes(child, values.where, values.sink)
        for name in child.attributes:
            if dynamics.number(name) != 0.0:
                message = f"has {name}, but a loop joint has no coordinate for it."
                dynamics.problem("loop-dissipation", message, "Cut the loop at another joint, or set it to zero.")
    for at, what, name in unknown_names(values.element, (*children, "dynamics", "limit"), attributes):
        known = sorted(children if what == "element" else attributes)
        shown = f"<{name[:40]}>" if what == "element" else repr(name[:40])
        message = f"<{values.element.tag}> has an unknown {what} {shown}."
        fix = f"{near(name, known)}Known: {', '.join(known) or 'none'}."
        values.sink(Problem(f"unknown-{what}", at.line, values.where, message, fix))


def _read_kind(values: Attributes) -> str | None:
    """Read the type of a loop joint, or return None after reporting an unknown one."""
    written = (values.text("type") or "").strip()
    if not written:
        return None
    kind = joint_kind(_WORDS.get(written, written))
    if kind in KINDS:
        return kind
    if kind in LOOP_KINDS:
        message = f"has type={written!r}, which needs {', '.join(JOINT_TYPES[kind].constants)} in addition to its axis."
        values.problem("loop-type", message, "Write this loop into a YAML file.")
        return None
    known = [*KINDS, *_WORDS]
    values.problem("loop-type", f"has type={written[:40]!r}.", f"{near(written, known)}Known: {', '.join(known)}.")
    return None


def _constraint_axes(loop: LoopJoint, values: Attributes) -> None:
    """Read <parent_axis> and <child_axis>."""
    is_universal = loop.type.axes == 2
    if is_universal and not (values.element.first("parent_axis") and values.element.first("child_axis")):
        message = "is universal and needs both <parent_axis> and <child_axis>."
        values.problem("missing-element", message, 'Add <parent_axis xyz="0 0 1"/> or the like.')
    loop.axis = values.direction("parent_axis", _X)
    second = values.direction("child_axis", loop.axis)
    if is_universal:
        loop.axis2 = second
    elif loop.axis @ second < (1.0 - _SAME_AXIS) * np.linalg.norm(loop.axis) * np.linalg.norm(second):
        message = f"is {loop.kind} with different <parent_axis> and <child_axis>, but its frames coincide at zero."
        values.problem("axes", message, "Make them equal and rotate <child_origin> by rpy.")


def _axes(loop: LoopJoint, values: Attributes) -> None:
    """Read <axis>, by default (1, 0, 0), and <axis2> of a universal joint."""
    loop.axis, second = values.direction("axis", _X), values.element.first("axis2")
    if second is not None and loop.type.axes == 1:
        message = f"is not for a {loop.kind} joint, which has one axis."
        values.problem("axes", message, "Remove <axis2>, or is the type universal?", second)
    elif second is not None:
        loop.axis2 = values.direction("axis2", _X)
    elif loop.type.axes == 2:
        message = "is universal and needs <axis2>, its axis in the frame on the second link."
        values.problem("missing-element", message, 'Add <axis2 xyz="0 1 0"/> or the like.')


# --- SDFormat joints --------------------------------------------------------------------------------------------
def read_gazebo(element: Element, robot: Description, sink: Sink) -> list[LoopJoint]:
    """Read the loop joints of a <gazebo> element without reference, which are SDFormat joints.

        <gazebo>
          <joint name="closing" type="revolute">
            <parent>a</parent> <child>b</child>
            <pose>0 0 1  0 0 0</pose>                       <!-- in the child's frame -->
            <axis> <xyz>0 1 0</xyz> </axis>
          </joint>
        </gazebo>

    SDFormat defines the joint's frame in the child; the frame in the parent follows from the zero configuration, where
    the loop is closed.
    """
    joints = [read_joint(one, sink) for one in element.all("joint")]
    return [loop for joint in joints if joint is not None and (loop := _gazebo_loop(joint, robot, sink)) is not None]


def _gazebo_loop(joint: SdfJoint, robot: Description, sink: Sink) -> LoopJoint | None:
    own, links = joint.record, [link.name for link in robot.links]
    for end in (own.parent, own.child):
        if end not in links and end != WORLD:
            sink(Problem("unknown-link", own.line, own.where, str(unknown_name("link", end, links))))
            return None
    frames = SdfFrames(f"robot {robot.name!r}", sink)
    poses = zero_poses(robot.joints)
    for link in robot.links:
        frames.put(link.name, link.element, poses.get(link.name, NO_MOVE))
    frames.add(own.name, own.element, own.child, own.child)
    return loop_of(joint, robot, sink) if resolve_frames(joint, frames, sink) else None
