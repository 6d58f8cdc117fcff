# SPDX-License-Identifier: Apache-2.0
"""Writer of SDFormat: a graph of joints, those that close loops last.

A joint's pose is relative to its parent and a link's to its joint, as in a URDF, so no digits are lost.
"""

from __future__ import annotations

import math

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.description import free_name
from ada_dynamics.model.elements import PLAIN, SHAPE_SIZES, Joint, Link, LoopJoint, Mimic, Shape
from ada_dynamics.model.joints import LOOP_KINDS
from ada_dynamics.model.rotations import NO_MOVE, UNIT, Pose, is_unit
from ada_dynamics.robots.readers.description_builder import zero_poses
from ada_dynamics.robots.readers.sdf import ACTUATED, KINDS, SCREW_PITCH
from ada_dynamics.robots.readers.values import MOMENTS
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.robots.writers.draft import Draft, gap_at_zero, make, number, numbers, to_text
from ada_dynamics.spatial.orientation import to_rpy

LOOP_TYPES = {kind: word for kind, word in KINDS.words.items() if kind in LOOP_KINDS}


def pose_element(xyz: Array, R: Array, relative_to: str | None = None) -> Element | None:
    """Return a <pose>, or None if it is zero relative to its default frame."""
    if not xyz.any() and is_unit(R) and relative_to is None:
        return None
    attributes = {} if relative_to is None else {"relative_to": relative_to}
    return make("pose", attributes, text=numbers([*xyz, *((0.0, 0.0, 0.0) if is_unit(R) else to_rpy(R))]))


def _pitch(joint: Joint | LoopJoint) -> Element | None:
    pitch = joint.constants.get("pitch")
    return None if pitch is None else make(SCREW_PITCH, text=number(2.0 * math.pi * pitch))


def axis_element(tag: str, direction: Array, extra: list[Element | None]) -> Element:
    """Return an <axis> or <axis2>."""
    return make(tag, {}, [make("xyz", text=numbers(direction)), *extra])


def loop_element(loop: LoopJoint, draft: Draft) -> Element:
    """Return the <joint> of a loop joint at its child-side frame; both frames have the same axis at zero."""
    children: list[Element | None] = [
        make("parent", text=loop.parent),
        make("child", text=loop.child),
        _pitch(loop),
        pose_element(loop.child_xyz, loop.child_rotation),
    ]
    if loop.axis2 is not None:
        # the parent-side axis is written in the child-side frame with all joints at zero
        poses = _zero_poses(draft)
        A, B = poses[loop.parent][0] @ loop.parent_rotation, poses[loop.child][0] @ loop.child_rotation
        children += [axis_element("axis", B.T @ A @ loop.axis, []), axis_element("axis2", loop.axis2, [])]
    elif loop.type.axes:
        children.append(axis_element("axis", loop.axis, []))
    cut = make("simbody", {}, [make("must_be_loop_joint", text="true")])
    children.append(make("physics", {}, [cut]))
    return make("joint", {"name": loop.name, "type": LOOP_TYPES[loop.kind]}, children)


CLOSED = 1e-9  # [m, rad] violation at zero that counts as closed
GENERAL_FORMATS = "loop_joint, constraint or sidecar"
VERSION = "1.11"  # the first one with <mimic>
NAMESPACE = "ada_dynamics"  # SDFormat allows attributes with a namespace
WORLD = "world"


def sdf(draft: Draft) -> dict[str, str]:
    """Return the document."""
    draft.check_kinds(KINDS)
    check_closed_at_zero(draft)
    _check_names(draft)
    carriers = {joint.child: joint.name for joint in draft.joints}
    model = draft.model
    children = [_link(link, carriers.get(link.name)) for link in model.links.values() if link.name != WORLD]
    if not draft.floats and model.root != WORLD:
        ends = [make("parent", text=WORLD), make("child", text=model.root)]
        name = free_name(f"{model.root}_on_world", {*model.joints, *model.loops, *model.links})
        children.append(make("joint", {"name": name, "type": "fixed"}, ends))
    elif draft.floats:
        draft.notes.append("SDFormat has no floating base: load the file with the same base.")
    children += [_joint(joint, draft) for joint in draft.joints if joint.kind in KINDS.words]
    children += [loop_element(loop, draft) for loop in model.loops.values() if loop.kind in LOOP_TYPES]
    attributes = {"version": VERSION}
    if draft.names_actuated:
        attributes["xmlns:ada"] = NAMESPACE
    whole = make("model", {"name": model.name}, children)
    if draft.has_own_gravity:  # an attribute of worlds, not of models
        whole = make("world", {"name": WORLD}, [make("gravity", text=numbers(model.gravity)), whole])
    return {".sdf": to_text(make("sdf", attributes, [whole]))}


def check_closed_at_zero(draft: Draft) -> None:
    """Refuse loop joints that SDFormat, with one frame per joint, cannot represent."""
    draft.check_loop_kinds(tuple(LOOP_TYPES), GENERAL_FORMATS)
    poses = _zero_poses(draft)
    for loop in draft.model.loops.values():
        what = f"Loop {loop.name!r}"
        if loop.child == "world":
            draft.refuse(what, "has the world as its child", "exchange its parent and child.")
        gap = gap_at_zero(loop, poses)
        if loop.kind in LOOP_TYPES and gap > CLOSED:
            why = f"has a closure error of {gap:.3g} (m or rad) at zero joint positions, which SDFormat forbids"
            draft.refuse(what, why, f"write it as {GENERAL_FORMATS}.")


def _zero_poses(draft: Draft) -> dict[str, Pose]:
    return {WORLD: NO_MOVE, draft.model.root: NO_MOVE, **zero_poses(draft.model.joints.values())}


def _check_names(draft: Draft) -> None:
    model = draft.model
    if any(link.mass == 0.0 for link in model.links.values() if link.name != WORLD):
        draft.notes.append("some links have no mass, which Gazebo refuses.")
    if WORLD in model.links and (model.root != WORLD or draft.floats):
        draft.refuse("Link 'world'", "is not the world, as SDFormat requires", "rename it.")
    for name in model.links:
        if name in model.joints or name in model.loops:
            draft.refuse(f"Link {name!r}", "has the name of a joint", "rename one; SDFormat requires unique names.")


def _link(link: Link, carrier: str | None) -> Element:
    tensor = make("inertia", {}, [make(tag, text=number(float(link.inertia[i, j]))) for tag, i, j in MOMENTS])
    inertial = make("inertial", {}, [pose_element(link.com, UNIT), make("mass", text=number(link.mass)), tensor])
    place = None if carrier is None else pose_element(np.zeros(3), UNIT, carrier)
    roles = (("visual", link.visuals), ("collision", link.collisions))
    shapes = [_shape(role, f"{role}_{i}", shape) for role, own in roles for i, shape in enumerate(own, 1)]
    return make("link", {"name": link.name}, [place, inertial, *shapes])


def _joint(joint: Joint, draft: Draft) -> Element:
    children: list[Element | None] = [
        make("parent", text=joint.parent),
        make("child", text=joint.child),
        _pitch(joint),
        # The model's pose in the world is zero.
        pose_element(joint.xyz, joint.rotation, "__model__" if joint.parent == WORLD else joint.parent),
    ]
    where = f"Joint {joint.name!r}"
    if joint.kind == "spherical" and math.isfinite(joint.limits.upper):
        draft.refuse(where, "is spherical with a limit", "write it as sidecar or MJCF.")
    if joint.armature:
        instead = "write the model as URDF or MJCF, or add inertia to links."
        draft.refuse(where, "has armature, which SDFormat lacks", instead)
    if joint.nv and not joint.type.axes and (joint.damping or joint.friction or joint.stiffness):
        draft.refuse(where, f"is {joint.kind} with damping, friction or a spring", "write the model as URDF or MJCF.")
    if joint.type.axes:
        inner = [_limit(joint), _dynamics(joint), _mimic(joint.mimic)]
        children.append(axis_element("axis", joint.axis, inner))
        if joint.axis2 is not None:
            children.append(axis_element("axis2", joint.axis2, inner))
    attributes = {"name": joint.name, "type": KINDS.words[joint.kind]}
    if draft.is_passive(joint):
        attributes[ACTUATED] = "false"
    return make("joint", attributes, children)


def _limit(joint: Joint) -> Element | None:
    limits = joint.limits
    values = {"effort": limits.effort, "velocity": limits.velocity}
    if joint.type.has_limits():
        values = {"lower": limits.lower, "upper": limits.upper, **values}
    finite = [make(tag, text=number(value)) for tag, value in values.items() if math.isfinite(value)]
    return make("limit", {}, finite) if finite else None


def _dynamics(joint: Joint) -> Element | None:
    if not joint.damping and not joint.friction and not joint.stiffness:
        return None
    values = [make("damping", text=number(joint.damping)), make("friction", text=number(joint.friction))]
    if joint.stiffness:
        values.append(make("spring_reference", text=number(joint.rest)))
        values.append(make("spring_stiffness", text=number(joint.stiffness)))
    return make("dynamics", {}, values)


def _mimic(mimic: Mimic | None) -> Element | None:
    if mimic is None:
        return None
    values = [make("multiplier", text=number(mimic.multiplier)), make("offset", text=number(mimic.offset))]
    return make("mimic", {"joint": mimic.joint}, [*values, make("reference", text=numbers([0.0]))])


def _shape(role: str, name: str, shape: Shape) -> Element:
    if shape.kind == "mesh":
        values = [make("uri", text=shape.mesh or ""), make("scale", text=numbers(shape.size))]
    elif shape.kind == "box":
        values = [make("size", text=numbers(shape.size))]
    else:
        named = zip(SHAPE_SIZES[shape.kind], shape.size, strict=True)
        values = [make(tag, text=number(value)) for tag, value in named]
    material = None
    if role == "visual" and shape.rgba != PLAIN:
        material = make("material", {}, [make(tag, text=numbers(shape.rgba)) for tag in ("ambient", "diffuse")])
    geometry = make("geometry", {}, [make(shape.kind, {}, values)])
    return make(role, {"name": name}, [pose_element(shape.xyz, shape.rotation), geometry, material])
