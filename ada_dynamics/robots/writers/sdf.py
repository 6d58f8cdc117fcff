# SPDX-License-Identifier: Apache-2.0
"""A model as SDFormat: a graph of joints, those that close loops last.

Written as a URDF is: a joint's pose relative to its parent, a link's relative to its joint, so no digits are lost.
"""

from __future__ import annotations

import math

import numpy as np

from ada_dynamics.model.elements import Joint, Link, Mimic
from ada_dynamics.robots.readers.sdf import ACTUATED
from ada_dynamics.robots.readers.sdf.joint import KINDS
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.robots.writers.draft import Draft
from ada_dynamics.robots.writers.loop_elements import check_closed_at_zero
from ada_dynamics.robots.writers.numbers import number, numbers
from ada_dynamics.robots.writers.sdf_joint import LOOP_TYPES, axis_element, loop_element, own_elements, pose
from ada_dynamics.robots.writers.shapes_out import sdf_shapes
from ada_dynamics.robots.writers.xml_out import make, to_text

VERSION = "1.11"  # the first one with <mimic>
NAMESPACE = "ada_dynamics"  # SDFormat lets attributes in that have one
WORLD = "world"

_UNTURNED, _AT_ZERO = np.eye(3), np.zeros(3)
_MOMENTS = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))


def sdf(draft: Draft) -> dict[str, str]:
    """The document."""
    draft.check_kinds(KINDS)
    draft.check_turns("write it as sidecar")
    check_closed_at_zero(draft)
    _check_names(draft)
    carriers = {joint.child: joint.name for joint in draft.joints}
    model = draft.model
    children = [_link(link, carriers.get(link.name)) for link in model.links.values() if link.name != WORLD]
    if not draft.floats and model.root != WORLD:
        ends = [make("parent", text=WORLD), make("child", text=model.root)]
        children.append(make("joint", {"name": _hold(draft), "type": "fixed"}, ends))
    elif draft.floats:
        draft.note("the floating base is no part of a model in SDFormat: load it with the same base again.")
    children += [_joint(joint, draft) for joint in draft.joints if joint.kind in KINDS.words]
    children += [loop_element(loop, draft) for loop in model.loops.values() if loop.kind in LOOP_TYPES]
    attributes = {"version": VERSION}
    if draft.says_actuated:
        attributes["xmlns:ada"] = NAMESPACE
    whole = make("model", {"name": model.name}, children)
    if draft.has_own_gravity:  # which worlds have, and models do not
        whole = make("world", {"name": WORLD}, [make("gravity", text=numbers(model.gravity)), whole])
    return {".sdf": to_text(make("sdf", attributes, [whole]))}


def _hold(draft: Draft) -> str:
    """A free name for the joint that holds the root."""
    name = f"{draft.model.root}_on_world"
    while name in draft.model.joints or name in draft.model.loops or name in draft.model.links:
        name += "_"
    return name


def _check_names(draft: Draft) -> None:
    model = draft.model
    if any(link.mass == 0.0 for link in model.links.values() if link.name != WORLD):
        draft.note("some links have no mass, which Gazebo refuses.")
    if WORLD in model.links and (model.root != WORLD or draft.floats):
        draft.refuse("Link 'world'", "is not the world, as SDFormat takes it", "rename it.")
    for name in model.links:
        if name in model.joints or name in model.loops:
            draft.refuse(f"Link {name!r}", "has the name of a joint", "rename one: frames of SDFormat differ in name.")


def _link(link: Link, carrier: str | None) -> Element:
    tensor = make("inertia", {}, [make(tag, text=number(float(link.inertia[i, j]))) for tag, i, j in _MOMENTS])
    inertial = make("inertial", {}, [pose(link.com, _UNTURNED), make("mass", text=number(link.mass)), tensor])
    place = None if carrier is None else pose(_AT_ZERO, _UNTURNED, carrier)
    return make("link", {"name": link.name}, [place, inertial, *sdf_shapes(link)])


def _joint(joint: Joint, draft: Draft) -> Element:
    children: list[Element | None] = [
        make("parent", text=joint.parent),
        make("child", text=joint.child),
        *own_elements(joint),
        # The model's own pose in the world is zero.
        pose(joint.xyz, joint.rotation, "__model__" if joint.parent == WORLD else joint.parent),
    ]
    where = f"Joint {joint.name!r}"
    if joint.armature:
        draft.refuse(
            where, "has armature, which SDFormat lacks", "write the model as URDF or MJCF, or give links inertia."
        )
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
