# SPDX-License-Identifier: Apache-2.0
"""Joints of SDFormat, and the spanning tree of the graph that they form."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ada_dynamics.arrays import Array
from ada_dynamics.model.elements import Joint, Limits, Mimic
from ada_dynamics.model.joints import JOINT_TYPES
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.model.rotations import NO_MOVE, Pose, turned
from ada_dynamics.robots.readers.sdf.frames import MODEL, WORLD, SdfFrames
from ada_dynamics.robots.readers.values import Attributes, ChildTexts, JointKindTable, Refused
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


@dataclass(eq=False)
class SdfJoint:
    """A joint of the file, which becomes a tree joint or a loop joint."""

    record: Joint  # its ends are frames until `resolve_frames` replaces them by links
    must_close: bool  # <must_be_loop_joint>
    in_parent: Pose = NO_MOVE  # pose of the joint in its parent link
    in_child: Pose = NO_MOVE  # pose of the joint in its child link


def read_joint(element: Element, sink: Sink) -> SdfJoint | None:
    """Read a joint without its frames, or return None after reporting a problem."""
    name = element.attributes.get("name", "").strip()
    if not name:
        sink(Problem("missing-attribute", element.line, "a joint", "<joint> has no name.", 'Add name="...".'))
        return None
    is_drake = element.tag == DRAKE_JOINT
    values = ChildTexts(element, f"joint {name!r}", sink)
    if is_drake:
        values.element = _from_drake(values)
    written = element.attributes.get("type", "").strip()
    kind = "planar" if is_drake and written == "planar" else _KIND_OF.get(written)
    if kind is None:
        fix = _REFUSED.get(written) or f"{near(written, list(_KIND_OF))}Known: {', '.join(_KIND_OF)}."
        values.problem("joint-type", f"has type={written[:40]!r}, which is not supported.", fix)
        return None
    parent, child = values.text("parent"), values.text("child")
    if parent is None or child is None:
        return None
    joint = Joint(name, kind, parent, child, element=values.element)
    _read_motion(joint, values)
    gear, rotor = values.number("drake:gear_ratio", 1.0), values.nonnegative("drake:rotor_inertia")
    joint.armature = gear * gear * rotor
    tie = values.child("drake:mimic")
    if tie is not None and joint.mimic is None:
        own = Attributes(tie, joint.where, sink)
        leader = own.text("joint")
        if leader is not None:
            joint.mimic = Mimic(leader, own.number("multiplier", 1.0), own.number("offset", 0.0))
    constants = {name: _CONSTANTS[name].read(values) for name in joint.type.constants}
    joint.constants = {name: value for name, value in constants.items() if value is not None}
    physics = values.inside("physics")
    simbody = None if physics is None else physics.inside("simbody")
    must_close = simbody is not None and simbody.flag("must_be_loop_joint")
    return SdfJoint(joint, must_close) if len(joint.constants) == len(constants) else None


def written_constants(kind: str, constants: Mapping[str, float]) -> dict[str, float]:
    """Return the elements of the constants of a joint type."""
    return {_CONSTANTS[name].tag: _CONSTANTS[name].written(constants[name]) for name in JOINT_TYPES[kind].constants}


class _Constant(NamedTuple):
    """Element of a constant of a joint type in SDFormat."""

    tag: str
    read: Callable[[ChildTexts], float | None]  # None after reporting a problem
    written: Callable[[float], float]


def _pitch(values: ChildTexts) -> float | None:
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
            values.problem("thread-pitch", "is 0.", "Give it a value, or make the joint revolute.", element)
        if not written or math.isnan(written):
            return None
        return written / (2.0 * math.pi) if tag == "screw_thread_pitch" else -1.0 / written
    fix = "Add <screw_thread_pitch> in metres per revolution."
    values.problem("missing-element", "is a screw without <screw_thread_pitch>.", fix)
    return None


_CONSTANTS = {"pitch": _Constant("screw_thread_pitch", _pitch, lambda pitch: 2.0 * math.pi * pitch)}


def _from_drake(values: ChildTexts) -> Element:
    """Convert a <drake:joint> to an SDFormat <joint>; the plane of a planar one is x-y."""
    element = values.element
    damping = values.vector("drake:damping", (0.0, 0.0, 0.0))
    if (damping != damping[0]).any():
        values.problem("damping", "has different damping of its motions.", "Make them equal.")
    dynamics = _made("dynamics", element, children=[_made("damping", element, repr(float(damping[0])))])
    axis = _made("axis", element, children=[_made("xyz", element, "0 0 1"), dynamics])
    own = [_made(child.tag.removeprefix("drake:"), child, child.text) for child in element.children]
    return _made(element.tag, element, children=[*own, axis])


def _made(tag: str, at: Element, text: str = "", children: Sequence[Element] = ()) -> Element:
    made = Element(tag, at.attributes, at.line)
    made.text, made.children = text, list(children)
    return made


def _read_motion(joint: Joint, values: ChildTexts) -> None:
    """Read limits, dissipation and <mimic> in <axis>; both axes of a universal joint must have the same ones."""
    readers = [axis for tag in _AXES[: joint.type.axes] if (axis := values.inside(tag)) is not None]
    found = [_axis_motion(joint, axis) for axis in readers]
    if not found:
        return
    if len(found) == 2 and found[0][1:] != found[1][1:]:
        message = "has different damping, friction or springs of its two axes."
        values.problem("axes", message, "Make them equal, or write two revolute joints.")
    joint.limits, joint.damping, joint.friction, joint.stiffness, joint.rest = found[0]
    if not joint.type.has_limits():
        joint.limits = Limits(velocity=joint.limits.velocity, effort=joint.limits.effort)


def _axis_motion(joint: Joint, axis: ChildTexts) -> tuple[Limits, float, float, float, float]:
    """Limits, damping, friction, stiffness and rest position."""
    damping = friction = stiffness = rest = 0.0
    dynamics = axis.inside("dynamics")
    if dynamics is not None:
        damping, friction = dynamics.nonnegative("damping"), dynamics.nonnegative("friction")
        stiffness, rest = dynamics.spring(joint.kind, "spring_stiffness", "spring_reference")
    limits = Limits()
    limit = axis.inside("limit")
    if limit is not None:
        bounds = [limit.number(tag, default, unbounded=True) for tag, default in _BOUNDS]
        # Gazebo writes 1e16 for no limit, and -1 for no limit of effort and velocity.
        lower, upper, velocity, effort = (math.copysign(math.inf, b) if abs(b) >= 1e16 else b for b in bounds)
        if lower > upper:
            limit.problem("limits-inverted", f"has lower {lower:g}, which exceeds upper {upper:g}.")
            lower, upper = upper, lower
        limits = Limits(lower, upper, math.inf if velocity < 0.0 else velocity, math.inf if effort < 0.0 else effort)
    mimic = axis.inside("mimic")
    if mimic is not None:
        joint.mimic = _mimic(mimic)
    return limits, damping, friction, stiffness, rest


_BOUNDS = (("lower", -math.inf), ("upper", math.inf), ("velocity", math.inf), ("effort", math.inf))


def _mimic(values: ChildTexts) -> Mimic | None:
    """Read a <mimic>: follower = multiplier (leader - reference) + offset."""
    source = values.element.attributes.get("joint", "").strip()
    if not source:
        values.problem("mimic", "has no joint.", 'Add joint="...".')
        return None
    if values.element.attributes.get("axis", "axis") != "axis":
        values.problem("mimic", "follows an axis2.", "Only joints with one axis can be followed.")
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
    record = joint.record
    if record.child == WORLD:
        sink(Problem("world", record.line, record.where, "its child is the world.", "Exchange parent and child."))
        return False
    parent, child = (frames.link_of(name, record.element) for name in (record.parent, record.child))
    if parent is None or child is None:
        return False
    record.parent, record.child = parent, child
    joint.in_parent, joint.in_child = frames.relative(parent, record.name), frames.relative(child, record.name)
    values = ChildTexts(record.element, record.where, sink)
    tags = _AXES[: record.type.axes]
    axes = [_direction(record.name, values, tag, frames, axes_in_model) for tag in tags]
    if any(axis is None for axis in axes):
        return False
    for tag, axis in zip(tags, axes, strict=True):
        setattr(record, tag, axis)
    return record.axis2 is None or values.are_perpendicular(record.axis, record.axis2)


def _direction(joint: str, values: ChildTexts, tag: str, frames: SdfFrames, axes_in_model: bool) -> Array | None:
    axis = values.inside(tag)
    if axis is None:
        values.problem("missing-element", f"has no <{tag}>.", f"Add <{tag}><xyz>0 0 1</xyz></{tag}>.")
        return None
    direction = axis.vector("xyz", (0.0, 0.0, 1.0))
    if not axis.is_direction(direction, "Give a direction such as 0 0 1."):
        return None
    xyz = axis.child("xyz")
    expressed_in = "" if xyz is None else xyz.attributes.get("expressed_in", "")
    if not expressed_in and (axes_in_model or axis.flag("use_parent_model_frame")):
        expressed_in = MODEL
    if not expressed_in or expressed_in == joint:
        return direction
    R, _ = frames.relative(joint, expressed_in, values.element)
    return turned(R, direction)


# --- spanning tree ----------------------------------------------------------------------------------------------
def spanning_tree(joints: Sequence[SdfJoint], root: str) -> tuple[list[SdfJoint], list[SdfJoint]]:
    """Split the joints into those of a spanning tree and those that close loops.

    The first joint in the file with a link as its child is its tree joint; later ones close loops, as do those with
    <must_be_loop_joint>. If this tree does not reach all links, it is searched depth first from the root.
    """
    free = [joint for joint in joints if not joint.must_close]
    tree, searched = _first_carriers(free, root), _searched(free, root)
    if len(_searched(tree, root)) < len(searched):
        tree = searched
    chosen = {id(joint) for joint in tree}
    return [j for j in joints if id(j) in chosen], [j for j in joints if id(j) not in chosen]


def root_of(joints: Sequence[SdfJoint], links: Sequence[str], canonical: str | None) -> str:
    """Return the root of the tree: a link that is no child of a joint, else the world if it is a parent."""
    carried = {joint.record.child for joint in joints if not joint.must_close}
    free = [link for link in links if link not in carried]
    if free:
        return free[0]
    if any(joint.record.parent == WORLD for joint in joints):
        return WORLD
    return canonical if canonical is not None and canonical in links else links[0]


def _first_carriers(joints: Sequence[SdfJoint], root: str) -> list[SdfJoint]:
    carriers: dict[str, SdfJoint] = {}
    tops: dict[str, str] = {}  # an ancestor of each carried link
    for joint in joints:
        parent, child = joint.record.parent, joint.record.child
        if child != root and child not in carriers and _top(parent, tops) != child:
            carriers[child] = joint
            tops[child] = parent
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


def _searched(joints: Sequence[SdfJoint], root: str) -> list[SdfJoint]:
    """Joints that lead to each reached link, depth first, so that a loop is cut at the joint that is written last."""
    children: dict[str, list[SdfJoint]] = {}
    for joint in joints:
        children.setdefault(joint.record.parent, []).append(joint)
    reached, tree = {root}, []
    pending = list(reversed(children.get(root, [])))
    while pending:
        joint = pending.pop()
        if joint.record.child not in reached:
            reached.add(joint.record.child)
            tree.append(joint)
            pending.extend(reversed(children.get(joint.record.child, [])))
    return tree
