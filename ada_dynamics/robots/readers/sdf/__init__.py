# SPDX-License-Identifier: Apache-2.0
"""Reader of SDFormat 1.4 to 1.12: one model, whose links and joints form a graph.

If a link has two parents, the later joint in the file closes a loop. In the poses of the file all joints are at zero
and all loops closed, which determines the parent-side frame of a loop joint. If a joint is not at its child's frame, a
massless link is inserted there. Nested and included models are refused. A model without a joint to the world floats.
Elements of Drake: `readers/vendor_elements.py`. Joints without a motor may have the attribute ada:actuated="false", an
extension.
"""

from __future__ import annotations

import numpy as np

from ada_dynamics.errors import ModelError
from ada_dynamics.model.description import Description
from ada_dynamics.model.elements import PLAIN, SHAPE_SIZES, Joint, Link, LoopJoint, Shape
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.model.rotations import NO_MOVE, UNIT, conjugated
from ada_dynamics.model.structure import NamedPlace
from ada_dynamics.robots.readers.description_builder import DescriptionBuilder
from ada_dynamics.robots.readers.sdf.frames import MODEL, WORLD, SdfFrames, SdfValues
from ada_dynamics.robots.readers.sdf.joint import SdfJoint, read_joint, resolve_frames, root_of, spanning_tree
from ada_dynamics.robots.readers.vendor_elements import DRAKE_JOINT, read_drake, read_mimic_plugin
from ada_dynamics.robots.readers.xml import Element

AXES_IN_MODEL = ("1.4",)  # versions where an axis is in the model's frame
VERSIONS = (*AXES_IN_MODEL, *(f"1.{minor}" for minor in range(5, 13)))

ACTUATED = "ada:actuated"

_MOMENTS = (("ixx", 0, 0), ("iyy", 1, 1), ("izz", 2, 2), ("ixy", 0, 1), ("ixz", 0, 2), ("iyz", 1, 2))


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
    robot.note_odd_shapes()
    if not robot.links:
        return robot
    written = [element for element in model.children if element.tag in ("joint", DRAKE_JOINT)]
    joints = [joint for element in written if (joint := read_joint(element, sink)) is not None]
    frames = _frames(model, robot, joints, where, sink)
    placed = [joint for joint in joints if resolve_frames(joint, frames, sink, version in AXES_IN_MODEL)]
    _assemble(robot, model, placed, sink)
    for element in model.children:
        read_drake(element, robot, sink)
    for plugin in model.all("plugin"):
        read_mimic_plugin(plugin, robot, sink)
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
    x, y, z = SdfValues(worlds[0], "<world>", sink).vector("gravity", (0.0, 0.0, -9.8)).tolist()
    return models[0], (x, y, z)


def _read_link(element: Element, robot: Description, sink: Sink) -> None:
    name = element.attributes.get("name", "").strip()
    if not name or name == WORLD:
        sink(Problem("link-name", element.line, "a link", f"its name is {name!r}.", 'Give another name="...".'))
        return
    link = Link(name, 1.0, inertia=np.eye(3), element=element)  # SDFormat's default: 1 kg with unit moments
    robot.links.append(link)
    link.visuals = _read_shapes(element, "visual", link.where, robot.odd_shapes.append)
    link.collisions = _read_shapes(element, "collision", link.where, robot.odd_shapes.append)
    values = SdfValues(element, link.where, sink)
    if values.child("gravity") is not None and not values.flag("gravity"):
        values.problem(
            "no-gravity", element, "disables gravity.", "Gravity acts on all links of a model: remove <gravity>."
        )
    decay = values.inside("velocity_decay")
    if decay is not None and (decay.number("linear", 0.0) or decay.number("angular", 0.0)):
        values.problem("decay", element, "has a velocity_decay.", "Remove it, or use damping of its joint.")
    inertial = values.inside("inertial")
    link.has_inertial = inertial is not None
    if inertial is None:
        return
    if inertial.element.attributes.get("auto", "false").strip().lower() in {"true", "1"}:
        fix = 'Give <mass> and <inertia>, without auto="true".'
        inertial.problem("auto-inertia", inertial.element, "is computed from shapes, which is not supported.", fix)
    if inertial.child("fluid_added_mass") is not None:
        inertial.problem("fluid", inertial.element, "has <fluid_added_mass>, which is not modelled.", "Remove it.")
    link.mass = inertial.number("mass", 1.0)
    R, link.com = inertial.pose()
    tensor = inertial.inside("inertia")
    I = np.eye(3)
    for tag, i, j in _MOMENTS:
        I[i, j] = I[j, i] = I[i, j] if tensor is None else tensor.number(tag, float(i == j))
    link.inertia = I if R is UNIT else conjugated(R, I)


def _frames(model: Element, robot: Description, joints: list[SdfJoint], where: str, sink: Sink) -> SdfFrames:
    pose = SdfValues(model, where, sink).pose()
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
        frames.add(joint.name, joint.element, joint.child_frame, joint.child_frame)
    return frames


def _assemble(robot: Description, model: Element, joints: list[SdfJoint], sink: Sink) -> None:
    names = [link.name for link in robot.links]
    root = root_of(joints, names, model.attributes.get("canonical_link", "").strip() or None)
    is_static = SdfValues(model, f"model {robot.name!r}", sink).flag("static")
    robot.holds_itself = root == WORLD or is_static
    robot.own_base = None if robot.holds_itself else "floating"
    if root == WORLD:
        robot.links.insert(0, Link(WORLD, element=model, has_inertial=False))
    tree, closing = spanning_tree(joints, names, root)
    builder = DescriptionBuilder(robot)
    for joint in tree:
        own = Joint(joint.name, joint.kind, joint.parent, joint.child, element=joint.element, constants=joint.constants)
        own.limits, own.damping, own.friction = joint.limits, joint.damping, joint.friction
        own.stiffness, own.rest, own.armature = joint.stiffness, joint.rest, joint.armature
        own.mimic = joint.mimic if joint.kind != "fixed" else None
        _set_axes(own, joint)
        builder.join(own, joint.in_parent or NO_MOVE, joint.in_child or NO_MOVE)
    robot.loops.extend(loop_of(joint, robot, sink) for joint in closing)
    passive = {joint.name for joint in tree if joint.element.attributes.get(ACTUATED, "true").strip() == "false"}
    if passive:
        moving = [j for j in tree if j.kind != "fixed" and j.mimic is None and j.name not in passive]
        robot.actuated = [NamedPlace(j.name, robot.file, j.element.line) for j in moving]


def _set_axes(own: Joint | LoopJoint, joint: SdfJoint) -> None:
    for name, axis in zip(("axis", "axis2"), joint.axes, strict=False):
        setattr(own, name, axis)


def loop_of(joint: SdfJoint, robot: Description, sink: Sink) -> LoopJoint:
    """Convert a joint to a loop joint."""
    loads = (joint.damping, joint.friction, joint.stiffness, joint.armature)
    if any(loads) or joint.mimic is not None:
        message = "it closes a loop and has no coordinate for its damping, friction, spring, rotor or <mimic>."
        fix = "Cut the loop at another joint: write that one last, or add <must_be_loop_joint> to it."
        sink(Problem("loop-dissipation", joint.element.line, joint.where, message, fix))
    kind = joint.type.closes_as or joint.kind
    ends = (joint.parent, joint.child)
    loop = LoopJoint(joint.name, kind, *ends, file=robot.file, line=joint.element.line, constants=joint.constants)
    loop.parent_rotation, loop.parent_xyz = joint.in_parent or NO_MOVE
    loop.child_rotation, loop.child_xyz = joint.in_child or NO_MOVE
    _set_axes(loop, joint)
    return loop


def _read_shapes(link: Element, role: str, where: str, sink: Sink) -> list[Shape]:
    """Read the valid shapes of a link in the role "visual" or "collision"; the sink must not raise."""
    shapes = []
    for element in link.all(role):
        problems: list[Problem] = []
        shape = _read_shape(SdfValues(element, where, problems.append))
        for problem in problems:
            sink(problem)
        if shape is not None and not problems:
            shapes.append(shape)
    return shapes


def _read_shape(role: SdfValues) -> Shape | None:
    geometry = role.inside("geometry")
    kind = None if geometry is None else next((c.tag for c in geometry.element.children if c.tag in SHAPE_SIZES), None)
    body = None if geometry is None or kind is None else geometry.inside(kind)
    if body is None or kind is None:
        return None
    mesh = body.text("uri", "") or None
    if kind == "mesh":
        if mesh is None:
            return None
        size = body.vector("scale", (1.0, 1.0, 1.0))
    elif kind == "box":
        size = body.vector("size", (1.0, 1.0, 1.0))  # SDFormat's own default sizes
    else:
        size = np.array([body.number(name, 1.0) for name in SHAPE_SIZES[kind]])
    if kind != "mesh" and (size < 0.0).any():
        body.problem("shape-size", body.element, f"has size {size.tolist()}.", "Sizes must not be negative.")
        return None
    R, p = role.pose()
    material = role.inside("material")
    colour = PLAIN if material is None else tuple(material.vector("diffuse", PLAIN).tolist())
    return Shape(kind, tuple(size.tolist()), p, R, colour, mesh if kind == "mesh" else None)
