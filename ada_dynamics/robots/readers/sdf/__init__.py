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
from ada_dynamics.model.elements import PLAIN, SHAPE_SIZES, Link, LoopJoint, Shape
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.model.rotations import UNIT, conjugated
from ada_dynamics.robots.readers.description_builder import DescriptionBuilder, read_actuated
from ada_dynamics.robots.readers.sdf.frames import MODEL, WORLD, SdfFrames
from ada_dynamics.robots.readers.sdf.joint import SdfJoint, read_joint, resolve_frames, root_of, spanning_tree
from ada_dynamics.robots.readers.values import MOMENTS, ChildTexts
from ada_dynamics.robots.readers.vendor_elements import DRAKE_JOINT, read_drake, read_mimic_plugin
from ada_dynamics.robots.readers.xml import Element

AXES_IN_MODEL = ("1.4",)  # versions where an axis is in the model's frame
VERSIONS = (*AXES_IN_MODEL, *(f"1.{minor}" for minor in range(5, 13)))

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
    if values.child("gravity") is not None and not values.flag("gravity"):
        fix = "Gravity acts on all links of a model: remove <gravity>."
        values.problem("no-gravity", "disables gravity.", fix)
    decay = values.inside("velocity_decay")
    if decay is not None and (decay.number("linear", 0.0) or decay.number("angular", 0.0)):
        values.problem("decay", "has a velocity_decay.", "Remove it, or use damping of its joint.")
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
