# SPDX-License-Identifier: Apache-2.0
"""Reader of SDFormat 1.4 to 1.12: one model, whose links and joints form a graph.

If a link has two parents, the later joint in the file closes a loop. Joints that lead from their child to a link
without other parents are reversed. In the poses of the file all joints are at zero and all loops closed, which
determines the parent-side frame of a loop joint. If a joint is not at its child's frame, a massless link is inserted.
Nested and included models are refused. A model without a joint to the world floats. Elements of Drake:
`description_builder.py`. Joints without a motor may have the attribute ada:actuated="false", an extension.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import ModelError, unknown_name
from ada_dynamics.model.description import Description, Problem, Sink
from ada_dynamics.model.elements import PLAIN, SHAPE_SIZES, Joint, Limits, Link, LoopJoint, Mimic, Shape
from ada_dynamics.model.rotations import NO_MOVE, UNIT, Pose, compose, conjugated, inverse, turned
from ada_dynamics.robots.readers.description_builder import DescriptionBuilder, read_actuated, read_drake, read_plugin
from ada_dynamics.robots.readers.values import MOMENTS, ChildTexts, JointKindTable, UnsupportedKind
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.structured_text.lexical import near

VERSIONS = tuple(f"1.{minor}" for minor in range(4, 13))
ACTUATED = "ada:actuated"


def describe_sdf(root: Element, file: str, sink: Sink) -> Description:
    """Read links, joints and loops of the only model in an SDFormat document."""
    version = root.attributes.get("version", "1.12").strip()
    if version not in VERSIONS:
        message = f"version={version[:40]!r} is not read."
        sink(Problem("version", root.line, "<sdf>", message, f"Known: {VERSIONS[0]} to {VERSIONS[-1]}."))
    model, gravity = _the_model(root, file, sink)
    robot = Description(model.attributes.get("name", "").strip() or "model", file, model)
    robot.gravity = gravity
    where = f"model {robot.name!r}"
    for element in model.children:
        if element.tag in ("model", "include"):
            message = f"contains a <{element.tag}>; nested models are not supported."
            sink(Problem("nested", element.line, where, message, "Flatten it first: gz sdf -p FILE."))
        elif element.tag == "link":
            _read_link(element, robot, sink)
    if not robot.links:
        return robot
    written = model.all("joint")
    if version == "1.4":  # directions of axes are in the frame of the model
        for axis in (axis for element in written for tag in ("axis", "axis2") for axis in element.all(tag)):
            in_model = Element("use_parent_model_frame", {}, axis.line)
            in_model.text = "true"
            axis.children.insert(0, in_model)
    joints = [joint for element in written if (joint := read_joint(element, sink)) is not None]
    frames = _frames(model, robot, joints, where, sink)
    placed = [joint for joint in joints if resolve_frames(joint, frames, sink)]
    _assemble(robot, model, placed, sink)
    for element in (*model.children, *(child for joint in written for child in joint.children)):
        read_drake(element, robot, sink)
    for plugin in model.all("plugin"):
        read_plugin(plugin, robot, sink)
    read_actuated(robot, ACTUATED, sink)
    return robot


def _the_model(root: Element, file: str, sink: Sink) -> tuple[Element, tuple[float, float, float] | None]:
    worlds = root.all("world")
    models = [*root.all("model"), *(model for world in worlds for model in world.all("model"))]
    if len(models) != 1:
        found = f"it has {len(models)} models" if models else "an SDFormat file without a <model>"
        message = f"{file}, line {root.line}: <sdf>: {found}; exactly one is needed."
        raise ModelError(message, file=file, line=root.line)
    if not worlds:
        return models[0], None
    x, y, z = ChildTexts(worlds[0], "<world>", sink).vector("gravity", (0.0, 0.0, -9.8)).tolist()
    return models[0], (x, y, z)


def _read_link(element: Element, robot: Description, sink: Sink) -> None:
    name = element.attributes.get("name", "").strip()
    if not name or name == WORLD:
        sink(Problem("link-name", element.line, "a link", f"its name is {name!r}.", 'Give another name="...".'))
        return
    link = Link(name, 1.0, inertia=np.eye(3), element=element)  # SDFormat's default: 1 kg with unit moments
    robot.links.append(link)
    values = ChildTexts(element, link.where, sink)
    link.visuals = values.shapes("visual", _read_shape, robot.odd_shapes.append)
    link.collisions = values.shapes("collision", _read_shape, robot.odd_shapes.append)
    lost = ChildTexts(element, link.where, robot.left_out.append)
    if values.child("gravity") is not None and not values.flag("gravity"):
        lost.problem("no-gravity", "disables gravity, which acts on all links of a model.")
    decay = values.inside("velocity_decay")
    if decay is not None and (decay.number("linear", 0.0) or decay.number("angular", 0.0)):
        lost.problem("decay", "has a velocity_decay, which is not read.", "Give its joint damping.")
    inertial = values.inside("inertial")
    link.has_inertial = inertial is not None
    if inertial is None:
        return
    if inertial.element.attributes.get("auto", "false").strip().lower() in {"true", "1"}:
        fix = 'Give <mass> and <inertia>, without auto="true".'
        inertial.problem("auto-inertia", "is computed from shapes, which is not supported.", fix)
    if inertial.child("fluid_added_mass") is not None:
        inertial.problem("fluid", "has <fluid_added_mass>, which is not modelled.", "Remove it.")
    link.mass = inertial.number("mass", 1.0)
    R, link.com = inertial.pose()
    tensor = inertial.inside("inertia")
    I = np.eye(3)
    for tag, i, j in MOMENTS:
        I[i, j] = I[j, i] = I[i, j] if tensor is None else tensor.number(tag, float(i == j))
    link.inertia = I if R is UNIT else conjugated(R, I)


def _frames(model: Element, robot: Description, joints: list[SdfJoint], where: str, sink: Sink) -> SdfFrames:
    pose = ChildTexts(model, where, sink).pose()
    placed = model.first("pose")
    if placed is not None and placed.attributes.get("relative_to"):
        message = "its pose is relative to another frame of the world, which is not supported."
        sink(Problem("pose", placed.line, where, message, "Give its pose in the world."))
    frames = SdfFrames(where, sink, pose)
    canonical = model.attributes.get("canonical_link", "").strip() or robot.links[0].name
    for link in robot.links:
        frames.add(link.name, link.element, None, None)
    for element in model.all("frame"):
        name = element.attributes.get("name", "").strip()
        attached = element.attributes.get("attached_to", "").strip()
        frames.add(name, element, attached or None, canonical if attached in ("", MODEL) else attached)
    for joint in joints:
        own = joint.record
        frames.add(own.name, own.element, own.child, own.child)
    return frames


def _assemble(robot: Description, model: Element, joints: list[SdfJoint], sink: Sink) -> None:
    names = [link.name for link in robot.links]
    root = root_of(joints, names, model.attributes.get("canonical_link", "").strip() or None)
    is_static = ChildTexts(model, f"model {robot.name!r}", sink).flag("static")
    robot.holds_itself = root == WORLD or is_static
    robot.own_base = None if robot.holds_itself else "floating"
    if root == WORLD:
        robot.links.insert(0, Link(WORLD, element=model, has_inertial=False))
    tree, closing = spanning_tree(joints, root)
    builder = DescriptionBuilder(robot)
    for joint in tree:
        if joint.record.kind == "fixed":
            joint.record.mimic = None
        builder.join(joint.record, joint.in_parent, joint.in_child)
    robot.loops.extend(loop_of(joint, robot, sink) for joint in closing)


def loop_of(joint: SdfJoint, robot: Description, sink: Sink) -> LoopJoint:
    """Convert a joint to a loop joint."""
    own = joint.record
    if own.damping or own.friction or own.stiffness or own.armature or own.mimic is not None:
        message = "it closes a loop and has no coordinate for its damping, friction, spring, rotor or <mimic>."
        fix = "Cut the loop at another joint: write that one last, or add <must_be_loop_joint> to it."
        sink(Problem("loop-dissipation", own.line, own.where, message, fix))
    if own.limits != Limits():
        robot.notes.append(f"{own.where}: its limits are left out, as it closes a loop and has no coordinate.")
    (R, p), (S, s) = joint.in_parent, joint.in_child
    kind = own.type.closes_as or own.kind
    axes = (own.axis, own.axis2, own.constants)
    return LoopJoint(own.name, kind, own.parent, own.child, p, R, s, S, *axes, file=robot.file, line=own.line)


def _read_shape(role: ChildTexts) -> Shape | None:
    geometry = role.inside("geometry")
    kind = None if geometry is None else next((c.tag for c in geometry.element.children if c.tag in SHAPE_SIZES), None)
    body = None if geometry is None or kind is None else geometry.inside(kind)
    if body is None or kind is None:
        return None
    mesh = body.text("uri", "") or None
    if kind == "mesh" and mesh is None:
        return None
    size, (R, p) = body.size(1.0), role.pose()  # SDFormat's own default sizes
    material = role.inside("material")
    colour = PLAIN if material is None else tuple(material.vector("diffuse", PLAIN).tolist())
    return Shape(kind, tuple(size.tolist()), p, R, colour, mesh if kind == "mesh" else None)


# --- frames -------------------------------------------------------------------------------------------------------
MODEL = "__model__"
WORLD = "world"


class SdfFrame(NamedTuple):
    """A frame of a link, joint or <frame>."""

    name: str
    element: Element
    relative_to: str | None  # frame of the pose; None for the model
    pose: Pose  # in that frame
    attached_to: str | None  # link or frame to which it is fixed; None for a link


class SdfFrames:
    """Frames of a model.

    By default the pose of a link is relative to the model, that of a joint to its child, and that of a <frame> to the
    frame to which it is attached.
    """

    def __init__(self, where: str, sink: Sink, model_pose: Pose = NO_MOVE) -> None:
        """Initialize without frames; `where` names the model in messages, `sink` receives the problems."""
        self._where, self._sink, self._model_pose = where, sink, model_pose
        self._frames: dict[str, SdfFrame] = {}

    def add(self, name: str, element: Element, default: str | None, attached_to: str | None) -> None:
        """Read the pose of an element, which is relative to the frame `default` by default."""
        if name in self._frames:
            line = self._frames[name].element.line
            message = f"its name {name!r} is also that of <{self._frames[name].element.tag}> in line {line}."
            self._problem(element, message, "Names of links, joints and frames of a model must differ.")
            return
        pose = element.first("pose")
        given = None if pose is None else pose.attributes.get("relative_to") or pose.attributes.get("frame")
        value = ChildTexts(element, f"{element.tag} {name!r}", self._sink).pose()
        self._frames[name] = SdfFrame(name, element, given or default, value, attached_to)

    def put(self, name: str, element: Element, pose: Pose) -> None:
        """Add a link whose pose in the model is known."""
        self._frames.setdefault(name, SdfFrame(name, element, None, pose, None))

    def relative(self, base: str, target: str, element: Element | None = None) -> Pose:
        """Pose of a frame in another one; `element` names them, for messages.

        The common part of their chains cancels, which avoids rounding errors far from the root.
        """
        one, other = self._frames.get(base), self._frames.get(target)
        if other is not None and other.relative_to == base != WORLD:  # adjacent frames, the usual case
            return other.pose
        if one is not None and one.relative_to == target != WORLD:
            return inverse(one.pose)
        up, down = self._chain(base, element), self._chain(target, element)
        shared = {frame.name for frame in up} & {frame.name for frame in down}
        pose = compose(inverse(_down_to(up, shared)), _down_to(down, shared))
        return compose(self._model_pose, pose) if base == WORLD else pose

    def link_of(self, name: str, element: Element) -> str | None:
        """Return the link of a frame, or "world", or None after reporting a problem."""
        seen: set[str] = set()
        current = name
        while current != WORLD:
            frame = self._frames.get(current)
            if frame is None:
                self._problem(element, str(unknown_name("link or frame", current, self._frames)))
                return None
            if frame.attached_to is None:
                return frame.name
            if current in seen:
                self._problem(element, f"the frames {', '.join(sorted(seen))} are attached to each other in a cycle.")
                return None
            seen.add(current)
            current = frame.attached_to
        return WORLD

    def _chain(self, name: str, element: Element | None) -> list[SdfFrame]:
        """The frame and the frames to which its pose is relative, up to the model."""
        chain: list[SdfFrame] = []
        current: str | None = name
        while current is not None and current not in (MODEL, WORLD):
            frame = self._frames.get(current)
            if frame is None:
                at = chain[-1].element if chain else element
                message = str(unknown_name("link, joint or frame", current, self._frames))
                self._sink(Problem("unknown-frame", at.line if at else None, self._where, message))
                return chain
            if any(frame is one for one in chain):
                names = " -> ".join(repr(one.name) for one in chain[:8])
                self._problem(frame.element, f"the poses of {names} are relative to each other in a cycle.")
                return chain
            chain.append(frame)
            current = frame.relative_to
        return chain

    def _problem(self, element: Element, message: str, fix: str = "") -> None:
        self._sink(Problem("frame", element.line, self._where, message, fix))


def _down_to(chain: list[SdfFrame], shared: set[str]) -> Pose:
    """Pose of a chain's first frame in its first shared frame, or in the model."""
    pose = NO_MOVE
    for frame in chain:
        if frame.name in shared:
            break
        pose = compose(frame.pose, pose)
    return pose


# --- joints -------------------------------------------------------------------------------------------------------
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
        "cylindrical": UnsupportedKind("write a prismatic and a revolute joint with a massless link between them."),
        "planar": UnsupportedKind("write two prismatic joints and a revolute one with massless links between them."),
        **dict.fromkeys(
            ("floating", "floating_euler"), UnsupportedKind("leave it out: links without joint to the world float.")
        ),
        "spherical_euler": UnsupportedKind("make it spherical, whose coordinates are a quaternion."),
    },
)
# A revolute2 joint is a universal joint if its axes are perpendicular; others are refused.
_KIND_OF = {word: kind for kind, word in KINDS.words.items()} | {"revolute2": "universal"}
_REFUSED = {"gearbox": "Write a revolute joint with <mimic>."}
_AXES = ("axis", "axis2")
SCREW_PITCH = "screw_thread_pitch"  # [m] per revolution


@dataclass(eq=False)
class SdfJoint:
    """A joint of the file, which becomes a tree joint or a loop joint."""

    record: Joint  # its ends are frames until `resolve_frames` replaces them by links
    must_close: bool  # <must_be_loop_joint>
    in_parent: Pose = NO_MOVE  # pose of the joint in its parent link
    in_child: Pose = NO_MOVE  # pose of the joint in its child link

    def reverse(self) -> None:
        """Exchange parent and child; the coordinates of joints with one axis stay the same."""
        own = self.record
        own.parent, own.child = own.child, own.parent
        self.in_parent, self.in_child = self.in_child, self.in_parent
        own.axis, own.axis2 = (-own.axis, None) if own.axis2 is None else (-own.axis2, -own.axis)


def read_joint(element: Element, sink: Sink) -> SdfJoint | None:
    """Read a joint without its frames, or return None after reporting a problem."""
    name = element.attributes.get("name", "").strip()
    if not name:
        sink(Problem("missing-attribute", element.line, "a joint", "<joint> has no name.", 'Add name="...".'))
        return None
    values = ChildTexts(element, f"joint {name!r}", sink)
    written = element.attributes.get("type", "").strip()
    kind = _KIND_OF.get(written)
    if kind is None:
        fix = _REFUSED.get(written) or f"{near(written, list(_KIND_OF))}Known: {', '.join(_KIND_OF)}."
        values.problem("joint-type", f"has type={written[:40]!r}, which is not supported.", fix)
        return None
    parent, child = values.text("parent"), values.text("child")
    if parent is None or child is None:
        return None
    joint = Joint(name, kind, parent, child, element=element)
    _read_motion(joint, values)
    if kind == "helical":
        written_pitch = values.number(SCREW_PITCH, math.nan)
        if math.isnan(written_pitch):
            fix = "Add <screw_thread_pitch> in metres per revolution; <thread_pitch> is not read."
            values.problem("missing-element", "is a screw without <screw_thread_pitch>.", fix)
            return None
        joint.constants = {"pitch": written_pitch / (2.0 * math.pi)}  # [m/rad], positive for right-handed screws
    simbody = None if (physics := values.inside("physics")) is None else physics.inside("simbody")
    return SdfJoint(joint, simbody is not None and simbody.flag("must_be_loop_joint"))


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
        damping, friction = dynamics.number("damping", 0.0), dynamics.number("friction", 0.0)
        stiffness, rest = dynamics.spring("spring_stiffness", "spring_reference")
    limits = Limits()
    limit = axis.inside("limit")
    if limit is not None:
        ends = (("lower", -math.inf), ("upper", math.inf), ("velocity", math.inf), ("effort", math.inf))
        bounds = [limit.number(tag, default, unbounded=True) for tag, default in ends]
        # Gazebo writes 1e16 for no limit, and -1 for no limit of effort and velocity.
        lower, upper, velocity, effort = (math.copysign(math.inf, b) if abs(b) >= 1e16 else b for b in bounds)
        limits = Limits(lower, upper, math.inf if velocity < 0.0 else velocity, math.inf if effort < 0.0 else effort)
    mimic = axis.inside("mimic")
    if mimic is not None:
        joint.mimic = _mimic(mimic)
    return limits, damping, friction, stiffness, rest


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


def resolve_frames(joint: SdfJoint, frames: SdfFrames, sink: Sink) -> bool:
    """Determine the links of a joint, its frame in both of them, and its axes; return True if all are valid.

    Args:
        joint: the joint.
        frames: frames of the model, including that of the joint.
        sink: callback for problems.
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
    axes = [_direction(record.name, values, tag, frames) for tag in tags]
    for tag, axis in zip(tags, axes, strict=True):
        if axis is None:
            return False
        setattr(record, tag, axis)
    return True


def _direction(joint: str, values: ChildTexts, tag: str, frames: SdfFrames) -> Array | None:
    axis = values.inside(tag)
    if axis is None:
        values.problem("missing-element", f"has no <{tag}>.", f"Add <{tag}><xyz>0 0 1</xyz></{tag}>.")
        return None
    direction = axis.vector("xyz", (0.0, 0.0, 1.0))
    xyz = axis.child("xyz")
    expressed_in = "" if xyz is None else xyz.attributes.get("expressed_in", "")
    if not expressed_in and axis.flag("use_parent_model_frame"):
        expressed_in = MODEL
    if not expressed_in or expressed_in == joint:
        return direction
    R, _ = frames.relative(joint, expressed_in, values.element)
    return turned(R, direction)


# --- spanning tree ----------------------------------------------------------------------------------------------
def spanning_tree(joints: Sequence[SdfJoint], root: str) -> tuple[list[SdfJoint], list[SdfJoint]]:
    """Split the joints into those of a spanning tree and those that close loops.

    The first joint in the file with a link as its child is its tree joint; later ones close loops, as do those with
    <must_be_loop_joint>. If these joints do not reach all links, the tree is searched depth first from the root, and
    joints that lead from their children to other links are reversed.
    """
    free = [joint for joint in joints if not joint.must_close]
    tree, searched = _first_carriers(free, root), _searched(free, root, can_reverse=True)
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
    for joint in joints:
        if joint.record.child != root:
            carriers.setdefault(joint.record.child, joint)
    return list(carriers.values())


def _searched(joints: Sequence[SdfJoint], root: str, can_reverse: bool = False) -> list[SdfJoint]:
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
        if can_reverse and not pending:
            backward = [j for j in joints if j.record.child in reached and j.record.parent not in {*reached, WORLD}]
            for joint in backward[:1]:
                joint.reverse()
                pending.append(joint)
    return tree
