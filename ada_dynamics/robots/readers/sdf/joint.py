# SPDX-License-Identifier: Apache-2.0
"""Joints of SDFormat, and the spanning tree of the graph that they form."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.elements import Limits, Mimic
from ada_dynamics.model.joints import JOINT_TYPES, JointType
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.model.rotations import Pose, turned
from ada_dynamics.robots.readers.sdf.frames import MODEL, WORLD, SdfFrames, SdfValues
from ada_dynamics.robots.readers.values import Attributes, JointKindTable, Refused, checked_spring
from ada_dynamics.robots.readers.vendor_elements import DRAKE_JOINT
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.structured_text.lexical import near

KINDS = JointKindTable[str](
    "SDFormat",
    {
        "revolute": "revolute",
        "continuous": "continuous",
        "prismatic": "prismatic",
        "spherical": "ball",
        "universal": "universal",
        "helical": "screw",
        "fixed": "fixed",
        "cylindrical": Refused("write a prismatic and a revolute joint with a massless link between them."),
        "planar": Refused("write two prismatic joints and a revolute one with massless links between them."),
        "floating": Refused("leave the joint out: a link without a joint to the world floats."),
        "floating_euler": Refused("leave the joint out: a link without a joint to the world floats."),
        "spherical_euler": Refused("make it spherical, whose coordinates are a quaternion."),
    },
)
_KIND_OF = {word: kind for kind, word in KINDS.words.items()}
_REFUSED = {
    "revolute2": "Write two revolute joints with a link between them.",
    "gearbox": "Write a revolute joint with <mimic>.",
}
_AXES = ("axis", "axis2")
_SHORTEST = 1e-9


@dataclass(eq=False)
class SdfJoint:
    """A joint of the file, which becomes a tree joint or a loop joint."""

    name: str
    element: Element
    kind: str
    parent_frame: str
    child_frame: str
    parent: str = ""  # link
    child: str = ""
    must_close: bool = False  # <must_be_loop_joint>
    axes: tuple[Array, ...] = ()  # in the joint's frame
    limits: Limits = field(default_factory=Limits)
    damping: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    mimic: Mimic | None = None
    in_parent: Pose | None = None
    in_child: Pose | None = None
    constants: dict[str, float] = field(default_factory=dict)

    @property
    def type(self) -> type[JointType]:
        """Class of the joint type."""
        return JOINT_TYPES[self.kind]

    @property
    def where(self) -> str:
        """Name for messages."""
        return f"joint {self.name!r}"


def read_joint(element: Element, sink: Sink) -> SdfJoint | None:
    """Read a joint without its frames, or return None after reporting a problem."""
    name = element.attributes.get("name", "").strip()
    if not name:
        sink(Problem("missing-attribute", element.line, "a joint", "<joint> has no name.", 'Add name="...".'))
        return None
    if element.tag == DRAKE_JOINT:
        element = _from_drake(element, sink)
    values = SdfValues(element, f"joint {name!r}", sink)
    written = element.attributes.get("type", "").strip()
    is_planar = written == "planar" and element.tag == DRAKE_JOINT
    if written not in _KIND_OF and not is_planar:
        fix = _REFUSED.get(written) or f"{near(written, list(_KIND_OF))}Known: {', '.join(_KIND_OF)}."
        values.problem("joint-type", element, f"has type={written[:40]!r}, which is not supported.", fix)
        return None
    parent, child = values.text("parent"), values.text("child")
    if parent is None or child is None:
        return None
    joint = SdfJoint(name, element, "planar" if is_planar else _KIND_OF[written], parent, child)
    joint.must_close = _must_close_loop(values)
    _read_motion(joint, values)
    _read_drake(joint, values)
    constants = {name: _CONSTANTS[name].read(values) for name in joint.type.constants}
    joint.constants = {name: value for name, value in constants.items() if value is not None}
    return joint if len(joint.constants) == len(constants) else None


def written_constants(kind: str, constants: Mapping[str, float]) -> dict[str, float]:
    """Return the elements of the constants of a joint type."""
    return {_CONSTANTS[name].tag: _CONSTANTS[name].written(constants[name]) for name in JOINT_TYPES[kind].constants}


class _Constant(NamedTuple):
    """Element of a constant of a joint type in SDFormat."""

    tag: str
    read: Callable[[SdfValues], float | None]  # None after reporting a problem
    written: Callable[[float], float]


def _pitch(values: SdfValues) -> float | None:
    """Read the pitch of a screw [m/rad], positive for right-handed screws.

    <screw_thread_pitch> is in metres per revolution, positive for right-handed screws; its predecessor <thread_pitch>
    is in radians per metre, positive for left-handed screws.
    """
    for tag in ("screw_thread_pitch", "thread_pitch"):
        element = values.child(tag)
        if element is None:
            continue
        written = values.number(tag, math.nan)
        if written == 0.0:
            values.problem("thread-pitch", element, "is 0.", "Give it a value, or make the joint revolute.")
        if not written or math.isnan(written):
            return None
        return written / (2.0 * math.pi) if tag == "screw_thread_pitch" else -1.0 / written
    fix = "Add <screw_thread_pitch> in metres per revolution."
    values.problem("missing-element", values.element, "is a screw without <screw_thread_pitch>.", fix)
    return None


_CONSTANTS = {"pitch": _Constant("screw_thread_pitch", _pitch, lambda pitch: 2.0 * math.pi * pitch)}


def _from_drake(element: Element, sink: Sink) -> Element:
    """Convert a <drake:joint> to an SDFormat <joint>; the plane of a planar one is x-y."""
    values = SdfValues(element, f"joint {element.attributes.get('name', '')!r}", sink)
    damping = values.vector("drake:damping", (0.0, 0.0, 0.0))
    if (damping != damping[0]).any():
        values.problem("damping", element, "has different damping of its motions.", "Make them equal.")
    copy = Element(element.tag, element.attributes, element.line)
    for child in element.children:
        copy.children.append(_made(child.tag.removeprefix("drake:"), child, child.text))
    dynamics = _made("dynamics", element, children=[_made("damping", element, repr(float(damping[0])))])
    copy.children.append(_made("axis", element, children=[_made("xyz", element, "0 0 1"), dynamics]))
    return copy


def _made(tag: str, at: Element, text: str = "", children: Sequence[Element] = ()) -> Element:
    made = Element(tag, at.attributes, at.line)
    made.text, made.children = text, list(children)
    return made


def _read_drake(joint: SdfJoint, values: SdfValues) -> None:
    """Read Drake's rotor inertia, gear ratio and <drake:mimic>."""
    gear = values.number("drake:gear_ratio", 1.0)
    joint.armature = gear * gear * values.number("drake:rotor_inertia", 0.0)
    if joint.armature < 0.0:
        values.problem("negative", joint.element, f"has rotor inertia {joint.armature:g}.", "It must not be negative.")
    tie = values.child("drake:mimic")
    if tie is not None and joint.mimic is None:
        own = Attributes(tie, joint.where, values.sink)
        leader = own.text("joint")
        if leader is not None:
            joint.mimic = Mimic(leader, own.number("multiplier", 1.0), own.number("offset", 0.0))


def _must_close_loop(values: SdfValues) -> bool:
    physics = values.inside("physics")
    simbody = None if physics is None else physics.inside("simbody")
    return simbody is not None and simbody.flag("must_be_loop_joint")


def _read_motion(joint: SdfJoint, values: SdfValues) -> None:
    """Read limits, dissipation and <mimic> in <axis>; both axes of a universal joint must have the same ones."""
    found: list[tuple[Limits, float, float, float, float]] = []
    for tag in _AXES[: joint.type.axes]:
        axis = values.inside(tag)
        if axis is not None:
            found.append(_axis_motion(joint, axis))
    if not found:
        return
    if len(found) == 2 and found[0][1:] != found[1][1:]:
        message = "its two axes have different damping, friction or springs."
        values.problem("axes", joint.element, message, "Make them equal, or write two revolute joints.")
    joint.limits, joint.damping, joint.friction, joint.stiffness, joint.rest = found[0]
    if not joint.type.has_limits():
        joint.limits = Limits(velocity=joint.limits.velocity, effort=joint.limits.effort)


def _axis_motion(joint: SdfJoint, axis: SdfValues) -> tuple[Limits, float, float, float, float]:
    """Limits, damping, friction, stiffness and rest position."""
    damping = friction = stiffness = rest = 0.0
    dynamics = axis.inside("dynamics")
    if dynamics is not None:
        damping, friction = dynamics.number("damping", 0.0), dynamics.number("friction", 0.0)
        stiffness, rest = dynamics.number("spring_stiffness", 0.0), dynamics.number("spring_reference", 0.0)
        stiffness, rest = checked_spring(joint.kind, stiffness, rest, dynamics.element, joint.where, dynamics.sink)
        for value, what in ((damping, "damping"), (friction, "friction")):
            if value < 0.0:
                dynamics.problem("negative", dynamics.element, f"has {what} {value:g}.", "It must not be negative.")
    limits = Limits()
    limit = axis.inside("limit")
    if limit is not None:
        bounds = [limit.number(tag, default, unbounded=True) for tag, default in _BOUNDS]
        # Gazebo writes 1e16 for no limit, and -1 for no limit of effort and velocity.
        lower, upper, velocity, effort = (math.copysign(math.inf, b) if abs(b) >= 1e16 else b for b in bounds)
        if lower > upper:
            limit.problem("limits-inverted", limit.element, f"has lower {lower:g}, which exceeds upper {upper:g}.")
            lower, upper = upper, lower
        limits = Limits(lower, upper, math.inf if velocity < 0.0 else velocity, math.inf if effort < 0.0 else effort)
    mimic = axis.inside("mimic")
    if mimic is not None:
        joint.mimic = _mimic(mimic)
    return limits, max(damping, 0.0), max(friction, 0.0), stiffness, rest


_BOUNDS = (("lower", -math.inf), ("upper", math.inf), ("velocity", math.inf), ("effort", math.inf))


def _mimic(values: SdfValues) -> Mimic | None:
    """Read a <mimic>: follower = multiplier (leader - reference) + offset."""
    source = values.element.attributes.get("joint", "").strip()
    if not source:
        values.problem("mimic", values.element, "has no joint.", 'Add joint="...".')
        return None
    if values.element.attributes.get("axis", "axis") != "axis":
        values.problem("mimic", values.element, "follows an axis2.", "Only joints with one axis can be followed.")
    multiplier, offset = values.number("multiplier", 1.0), values.number("offset", 0.0)
    return Mimic(source, multiplier, offset - multiplier * values.number("reference", 0.0))


def resolve_frames(joint: SdfJoint, frames: SdfFrames, sink: Sink, axes_in_model: bool = False) -> bool:
    """Determine the links of a joint, its frame in both of them, and its axes; return True if all are valid.

    Args:
        joint: the joint.
        frames: frames of the model, including that of the joint.
        sink: callback for problems.
        axes_in_model: if True, axes are in the model's frame, as before SDFormat 1.5.
    """
    if joint.child_frame == WORLD:
        message = "its child is the world."
        sink(Problem("world", joint.element.line, joint.where, message, "Exchange parent and child."))
        return False
    ends = [frames.link_of(name, joint.element) for name in (joint.parent_frame, joint.child_frame)]
    if ends[0] is None or ends[1] is None:
        return False
    joint.parent, joint.child = ends[0], ends[1]
    joint.in_parent = frames.relative(joint.parent, joint.name)
    joint.in_child = frames.relative(joint.child, joint.name)
    values = SdfValues(joint.element, joint.where, sink)
    tags = _AXES[: joint.type.axes]
    axes = [_direction(joint, values, tag, frames, axes_in_model) for tag in tags]
    joint.axes = tuple(axis for axis in axes if axis is not None)
    if len(joint.axes) != len(tags):
        return False
    return joint.type.axes != 2 or _perpendicular(joint, values)


def _direction(joint: SdfJoint, values: SdfValues, tag: str, frames: SdfFrames, axes_in_model: bool) -> Array | None:
    axis = values.inside(tag)
    if axis is None:
        values.problem("missing-element", joint.element, f"has no <{tag}>.", f"Add <{tag}><xyz>0 0 1</xyz></{tag}>.")
        return None
    direction = axis.vector("xyz", (0.0, 0.0, 1.0))
    if float(np.linalg.norm(direction)) < _SHORTEST:
        axis.problem("zero-axis", axis.element, "has length zero.", "Give a direction such as 0 0 1.")
        return None
    xyz = axis.child("xyz")
    expressed_in = "" if xyz is None else xyz.attributes.get("expressed_in", "")
    if not expressed_in and (axes_in_model or axis.flag("use_parent_model_frame")):
        expressed_in = MODEL
    if not expressed_in or expressed_in == joint.name:
        return direction
    R, _ = frames.relative(joint.name, expressed_in, joint.element)
    return turned(R, direction)


def _perpendicular(joint: SdfJoint, values: SdfValues) -> bool:
    first, second = joint.axes
    if abs(float(first @ second)) <= _SHORTEST * float(np.linalg.norm(first) * np.linalg.norm(second)):
        return True
    message = "is universal, but its axes are not perpendicular."
    values.problem("axes", joint.element, message, "Write two revolute joints with a link between them.")
    return False


def spanning_tree(joints: Sequence[SdfJoint], links: Sequence[str], root: str) -> tuple[list[SdfJoint], list[SdfJoint]]:
    """Split the joints into those of a spanning tree and those that close loops.

    The first joint in the file with a link as its child is its tree joint; later ones close loops, as do those with
    <must_be_loop_joint>. If this tree does not reach all links, it is searched depth first from the root.

    Args:
        joints: all joints in the order of the file.
        links: all links.
        root: root of the tree.
    """
    free = [joint for joint in joints if not joint.must_close]
    tree = _first_carriers(free, root)
    if len(_reached(tree, root)) < len(_reached(free, root)):
        tree = _searched(free, root)
    chosen = {id(joint) for joint in tree}
    return [j for j in joints if id(j) in chosen], [j for j in joints if id(j) not in chosen]


def root_of(joints: Sequence[SdfJoint], links: Sequence[str], canonical: str | None) -> str:
    """Return the root of the tree: a link that is no child of a joint, else the world if it is a parent."""
    carried = {joint.child for joint in joints if not joint.must_close}
    free = [link for link in links if link not in carried]
    if free:
        return free[0]
    if any(joint.parent == "world" for joint in joints):
        return "world"
    return canonical if canonical is not None and canonical in links else links[0]


def _first_carriers(joints: Sequence[SdfJoint], root: str) -> list[SdfJoint]:
    carriers: dict[str, SdfJoint] = {}
    tops: dict[str, str] = {}  # an ancestor of each carried link
    for joint in joints:
        if joint.child != root and joint.child not in carriers and _top(joint.parent, tops) != joint.child:
            carriers[joint.child] = joint
            tops[joint.child] = joint.parent
    return list(carriers.values())


def _top(link: str, tops: dict[str, str]) -> str:
    """Root of a partial tree, with path compression."""
    path = []
    while link in tops:
        path.append(link)
        link = tops[link]
    for passed in path:
        tops[passed] = link
    return link


def _children(joints: Sequence[SdfJoint]) -> dict[str, list[SdfJoint]]:
    children: dict[str, list[SdfJoint]] = {}
    for joint in joints:
        children.setdefault(joint.parent, []).append(joint)
    return children


def _reached(joints: Sequence[SdfJoint], root: str) -> set[str]:
    children, reached, pending = _children(joints), {root}, [root]
    while pending:
        for joint in children.get(pending.pop(), ()):
            if joint.child not in reached:
                reached.add(joint.child)
                pending.append(joint.child)
    return reached


def _searched(joints: Sequence[SdfJoint], root: str) -> list[SdfJoint]:
    """Depth first, so that a loop is cut at the joint that is written last."""
    children, reached = _children(joints), {root}
    tree: list[SdfJoint] = []
    pending = list(reversed(children.get(root, [])))
    while pending:
        joint = pending.pop()
        if joint.child not in reached:
            reached.add(joint.child)
            tree.append(joint)
            pending.extend(reversed(children.get(joint.child, [])))
    return tree
