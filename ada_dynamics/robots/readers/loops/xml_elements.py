# SPDX-License-Identifier: Apache-2.0
"""Loops as XML elements of a URDF: <constraint>, <loop_joint>, URDF+ <loop> and <coupling>, <gazebo><joint>."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import unknown_name
from ada_dynamics.model.description import Description
from ada_dynamics.model.elements import Joint, LoopJoint, Mimic
from ada_dynamics.model.joints import JOINT_TYPES, LOOP_KINDS, joint_kind
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.model.rotations import NO_MOVE, UNIT, Pose
from ada_dynamics.robots.readers.description_builder import zero_pose
from ada_dynamics.robots.readers.sdf import loop_of
from ada_dynamics.robots.readers.sdf.frames import WORLD, SdfFrames
from ada_dynamics.robots.readers.sdf.joint import SdfJoint, read_joint, resolve_frames
from ada_dynamics.robots.readers.values import Attributes, pose_in, read_pose, the_child
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.structured_text.lexical import near

_SHORTEST = 1e-9
_SAME_AXIS = 1e-9

KINDS = tuple(
    kind for kind in LOOP_KINDS if not JOINT_TYPES[kind].constants
)  # elements have no attributes for constants


def check_known(
    element: Element, where: str, sink: Sink, children: Collection[str], attributes: Collection[str]
) -> None:
    """Report unknown children and attributes of a loop element."""
    for child in element.children:
        if child.tag == "limit":
            continue  # loop joints have no limits
        if child.tag == "dynamics":
            _check_no_dissipation(child, where, sink)
        elif child.tag not in children:
            hint = near(child.tag, sorted(children))
            message = f"<{element.tag}> has an unknown element <{child.tag[:40]}>."
            allowed = ", ".join(f"<{tag}>" for tag in children) or "none"
            sink(Problem("unknown-element", child.line, where, message, f"{hint}Known: {allowed}."))
    for name in element.attributes:
        if name not in attributes:
            hint = near(name, sorted(attributes))
            message = f"<{element.tag}> has an unknown attribute {name[:40]!r}."
            sink(Problem("unknown-attribute", element.line, where, message, f"{hint}Known: {', '.join(attributes)}."))


def _check_no_dissipation(element: Element, where: str, sink: Sink) -> None:
    values = Attributes(element, where, sink)
    for name in element.attributes:
        if values.number(name) != 0.0:
            message = f"has {name}, but a loop joint has no coordinate for it."
            values.problem("loop-dissipation", message, "Cut the loop at another joint, or set it to zero.")


def read_name(element: Element, sink: Sink) -> str | None:
    """Read the name of a loop."""
    return Attributes(element, f"<{element.tag}>", sink).text("name")


def read_kind(element: Element, where: str, sink: Sink, other_words: dict[str, str]) -> str | None:
    """Read the type of a loop joint, or return None after reporting an unknown one.

    Args:
        element: element with the attribute `type`.
        where: the loop, for messages.
        sink: callback for problems.
        other_words: names of the format for joint types of this library.
    """
    values = Attributes(element, where, sink)
    written = values.text("type")
    if written is None:
        return None
    written = written.strip()
    kind = joint_kind(other_words.get(written, written))
    if kind in KINDS:
        return kind
    if kind in LOOP_KINDS:
        message = f"has type={written!r}, which needs {', '.join(JOINT_TYPES[kind].constants)} in addition to its axis."
        values.problem("loop-type", message, "Write this loop into a YAML file.")
        return None
    known = [*KINDS, *other_words]
    values.problem("loop-type", f"has type={written[:40]!r}.", f"{near(written, known)}Known: {', '.join(known)}.")
    return None


def read_link(element: Element, tag: str, where: str, sink: Sink) -> tuple[str, Element] | None:
    """Return the link of a child element's attribute `link`, and that element."""
    child = the_child(element, tag, where, sink)
    if child is None:
        message = f"<{element.tag}> has no <{tag}>."
        sink(Problem("missing-element", element.line, where, message, f'Add <{tag} link="..."/>.'))
        return None
    link = Attributes(child, where, sink).text("link")
    return None if link is None else (link, child)


def read_direction(
    element: Element, tag: str, default: Sequence[float] | Array | None, where: str, sink: Sink
) -> Array | None:
    """Read the direction in the attribute `xyz` of a child element, or return the default without the element."""
    child = the_child(element, tag, where, sink)
    if child is None:
        return None if default is None else np.array(default, dtype=float)
    values = Attributes(child, where, sink)
    if not values.has("xyz"):
        values.problem("missing-attribute", "has no attribute 'xyz'.", 'Add xyz="0 0 1" or another direction.')
        return None
    axis = values.vector("xyz", 3, (0.0, 0.0, 0.0))
    if float(np.linalg.norm(axis)) < _SHORTEST:
        values.problem("zero-axis", "has length zero.", 'Give a direction such as xyz="0 0 1".')
        return None
    return axis


def same_direction(a: Array, b: Array) -> bool:
    """True if two vectors have the same direction."""
    return bool(np.allclose(a / np.linalg.norm(a), b / np.linalg.norm(b), rtol=0.0, atol=_SAME_AXIS))


def are_perpendicular(a: Array, b: Array, where: str, element: Element, sink: Sink) -> bool:
    """Return True if the axes of a universal joint are perpendicular, else report them."""
    if abs(float(a @ b)) <= _SAME_AXIS * float(np.linalg.norm(a) * np.linalg.norm(b)):
        return True
    message = "its two axes are not perpendicular."
    sink(Problem("axes", element.line, where, message, "A universal joint has two perpendicular axes."))
    return False


_CONSTRAINT_WORDS = {"link": "fixed", "continuous": "revolute"}

_CONSTRAINT_CHILDREN = ("parent", "parent_origin", "parent_axis", "child", "child_origin", "child_axis")


def read_constraint(element: Element, file: str, sink: Sink) -> LoopJoint | None:
    """Read a `<constraint>`, or return None after reporting a problem; see ros/urdfdom#264 and ros/urdfdom_headers#108.

        <constraint name="closing" type="revolute">
          <parent link="a"/> <parent_origin xyz="..." rpy="..."/> <parent_axis xyz="0 1 0"/>
          <child link="b"/> <child_origin xyz="..." rpy="..."/> <child_axis xyz="0 1 0"/>
        </constraint>

    The frames of both origins coincide at the zero position of the joint; each axis is in the frame on its side. The
    proposal has the types link (both frames coincide: a link that was cut), revolute and spherical.
    """
    name = read_name(element, sink)
    if name is None:
        return None
    where = f"loop {name!r}"
    check_known(element, where, sink, _CONSTRAINT_CHILDREN, ("name", "type"))
    kind = read_kind(element, where, sink, _CONSTRAINT_WORDS)
    ends = [read_link(element, tag, where, sink) for tag in ("parent", "child")]
    poses = [_optional_pose(element, tag, where, sink) for tag in ("parent_origin", "child_origin")]
    if kind is None or ends[0] is None or ends[1] is None:
        return None
    loop = LoopJoint(name, kind, ends[0][0], ends[1][0], file=file, line=element.line)
    (loop.parent_rotation, loop.parent_xyz), (loop.child_rotation, loop.child_xyz) = poses
    if not loop.type.axes or _read_both_axes(loop, element, sink):
        return loop
    return None


def _optional_pose(element: Element, tag: str, where: str, sink: Sink) -> Pose:
    origin = the_child(element, tag, where, sink)
    if origin is None:
        return UNIT, UNIT[0] * 0.0
    for name in origin.attributes:
        if name not in ("xyz", "rpy", "quat_xyzw"):
            problem = Attributes(origin, where, sink).problem
            problem("unknown-attribute", f"has an attribute {name[:40]!r}.", "Known: xyz, rpy.")
    return pose_in(origin, where, sink)


def _read_both_axes(loop: LoopJoint, element: Element, sink: Sink) -> bool:
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
        message = f"<parent_axis> and <child_axis> of a {loop.kind} joint differ, but its frames coincide at zero."
        fix = "Make them equal and rotate <child_origin> by rpy."
        sink(Problem("axes", element.line, where, message, fix))
        return False
    return True


_LOOP_JOINT_WORDS = {"continuous": "revolute", "ball": "spherical"}


def read_loop_joint(element: Element, file: str, sink: Sink) -> LoopJoint | None:
    """Read a `<loop_joint>` of Drake or Isaac Sim, or return None after reporting a problem.

        <loop_joint name="closing" type="continuous">
          <link1 link="a" xyz="..." rpy="..."/>
          <link2 link="b" xyz="..." rpy="..."/>
          <axis xyz="0 1 0"/>
        </loop_joint>

    The axis has the same coordinates in both frames. Drake has the type continuous only, Isaac Sim spherical only; all
    types are read, and a universal joint has <axis2> in the frame on link2.
    """
    name = read_name(element, sink)
    if name is None:
        return None
    where = f"loop {name!r}"
    check_known(element, where, sink, ("link1", "link2", "axis", "axis2"), ("name", "type"))
    kind = read_kind(element, where, sink, _LOOP_JOINT_WORDS)
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
    return loop if _read_axes(loop, element, sink) else None


def _read_axes(loop: LoopJoint, element: Element, sink: Sink) -> bool:
    """Read <axis>, by default (1, 0, 0), and <axis2> of a universal joint; return True if they are valid."""
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
    """Rename a second <link1> to <link2>: the manual of Isaac Sim has two <link1>, its parser reads <link2>."""
    if element.first("link2") is not None or len(element.all("link1")) != 2:
        return element
    copy = Element(element.tag, element.attributes, element.line)
    copy.children = list(element.children)
    place = copy.children.index(element.all("link1")[1])
    second = copy.children[place]
    copy.children[place] = Element("link2", second.attributes, second.line)
    return copy


URDF_PLUS_KINDS = ("revolute", "prismatic", "planar", "fixed")  # types of the URDF+ parser

_URDF_PLUS_WORDS = {"continuous": "revolute", "position": "spherical"}
_SMALLEST_RATIO = 1e-12


def read_urdf_plus_loop(element: Element, file: str, sink: Sink) -> LoopJoint | None:
    """Read a URDF+ `<loop>` (arXiv 2411.19753), or return None after reporting a problem.

        <loop name="closing" type="revolute">
          <predecessor link="a"> <origin xyz="..." rpy="..."/> </predecessor>
          <successor link="b"> <origin xyz="..." rpy="..."/> </successor>
          <axis xyz="0 0 1"/>
        </loop>

    The attribute `independent` of joints is ignored.
    """
    name = read_name(element, sink)
    if name is None:
        return None
    where = f"loop {name!r}"
    check_known(element, where, sink, ("predecessor", "successor", "axis", "axis2"), ("name", "type"))
    kind = read_kind(element, where, sink, _URDF_PLUS_WORDS)
    ends = [read_link(element, tag, where, sink) for tag in ("predecessor", "successor")]
    if kind is None or ends[0] is None or ends[1] is None:
        return None
    (parent, first), (child, second) = ends[0], ends[1]
    for end in (first, second):
        check_known(end, where, sink, ("origin",), ("link",))
    loop = LoopJoint(name, kind, parent, child, file=file, line=element.line)
    loop.parent_rotation, loop.parent_xyz = read_pose(first, where, sink)
    loop.child_rotation, loop.child_xyz = read_pose(second, where, sink)
    return loop if _read_axes(loop, element, sink) else None


def is_coupling(element: Element) -> bool:
    """True if a <constraint> of the first version of URDF+ is a coupling."""
    return element.attributes.get("type", "").strip() == "rolling"


@dataclass
class _CouplingReader:
    element: Element
    where: str
    sink: Sink

    def refuse(self, code: str, message: str, fix: str) -> None:
        self.sink(Problem(code, self.element.line, self.where, message, fix))


def apply_coupling(element: Element, robot: Description, sink: Sink) -> None:
    """Read a URDF+ `<coupling>` of two joints as <mimic>; other couplings are reported.

        <coupling name="gear"> <predecessor link="a"/> <successor link="b"/> <ratio value="6"/> </coupling>

    It couples the joints from the nearest common ancestor to both links: ratio times the sum of the positions on the
    path to the predecessor equals the sum on the path to the successor.
    """
    name = read_name(element, sink)
    if name is None:
        return
    coupling = _CouplingReader(element, f"coupling {name!r}", sink)
    check_known(element, coupling.where, sink, ("predecessor", "successor", "ratio"), ("name", "type"))
    ends = [read_link(element, tag, coupling.where, sink) for tag in ("predecessor", "successor")]
    ratio = _ratio(coupling)
    if ends[0] is None or ends[1] is None or ratio is None:
        return
    sides = _sides(coupling, robot, ends[0][0], ends[1][0])
    if sides is None:
        return
    leader, follower = sides
    if _is_dependent(leader) and not _is_dependent(follower):
        leader, follower, ratio = follower, leader, 1.0 / ratio
    if follower.mimic is not None:
        coupling.refuse("coupling", f"joint {follower.name!r} mimics {follower.mimic.joint!r} already.", "Keep one.")
        return
    follower.mimic = Mimic(leader.name, ratio, 0.0)


def _is_dependent(joint: Joint) -> bool:
    return bool(joint.element.attributes.get("independent", "true").strip().lower() == "false")


def _ratio(coupling: _CouplingReader) -> float | None:
    element = the_child(coupling.element, "ratio", coupling.where, coupling.sink)
    ratio = 1.0 if element is None else Attributes(element, coupling.where, coupling.sink).number("value")
    if abs(ratio) < _SMALLEST_RATIO:
        coupling.refuse("coupling", f"its ratio is {ratio:g}.", "Give a ratio that is not zero.")
        return None
    return ratio


def _sides(
    coupling: _CouplingReader, robot: Description, predecessor: str, successor: str
) -> tuple[Joint, Joint] | None:
    """Return the single movable joint on each side of the nearest common ancestor."""
    carriers = {joint.child: joint for joint in robot.joints}
    known = {link.name for link in robot.links}
    paths = []
    for link in (predecessor, successor):
        if link not in known:
            coupling.refuse("unknown-link", f"no link is named {link!r}.", "Name a link of this robot.")
            return None
        paths.append(_path(link, carriers))
    shared = {joint.name for joint in paths[0]} & {joint.name for joint in paths[1]}
    moving = [[j for j in path if j.name not in shared and JOINT_TYPES[j.kind].nv] for path in paths]
    for link, joints in zip((predecessor, successor), moving, strict=True):
        if len(joints) != 1 or JOINT_TYPES[joints[0].kind].nv != 1:
            names = ", ".join(repr(j.name) for j in joints[:8]) or "no joint"
            coupling.refuse(
                "coupling",
                f"it couples the sum of {names} up to link {link!r}; only couplings of two joints are supported.",
                "Couple single joints by <mimic>, or model the belt by links and loops.",
            )
            return None
    return moving[0][0], moving[1][0]


def _path(link: str, carriers: dict[str, Joint]) -> list[Joint]:
    path: list[Joint] = []
    seen = {link}
    while link in carriers:
        path.append(carriers[link])
        link = carriers[link].parent
        if link in seen:  # cycles of joints are reported by the structure check
            break
        seen.add(link)
    return path


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
    links = {link.name for link in robot.links}
    for end in (joint.parent_frame, joint.child_frame):
        if end not in links and end != WORLD:
            sink(Problem("unknown-link", joint.element.line, joint.where, str(unknown_name("link", end, links))))
            return None
    frames = SdfFrames(f"robot {robot.name!r}", sink)
    for link in robot.links:
        frames.put(link.name, link.element, zero_pose(robot, link.name) or NO_MOVE)
    frames.add(joint.name, joint.element, joint.child_frame, joint.child_frame)
    return loop_of(joint, robot, sink) if resolve_frames(joint, frames, sink) else None
