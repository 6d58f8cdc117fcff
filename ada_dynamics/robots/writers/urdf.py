# SPDX-License-Identifier: Apache-2.0
"""Writers of URDF, with loop joints as elements or in a separate file.

Elements that are no part of a model, such as transmissions, and the shapes of links are copied from the URDF that the
model was read from. Loops are written as elements in three formats, or as a YAML or JSON file in the format of this
library (sidecar).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import yaml

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from ada_dynamics.model.elements import PLAIN, SHAPE_SIZES, Joint, Link, LoopJoint, Shape
from ada_dynamics.model.joints import Spherical
from ada_dynamics.model.model import STANDARD_GRAVITY, Model
from ada_dynamics.model.rotations import is_unit
from ada_dynamics.robots.readers.description_builder import FOLLOWER
from ada_dynamics.robots.readers.urdf import EXACT_TYPE, KINDS, STANDARD
from ada_dynamics.robots.readers.urdf_loops import ELEMENTS
from ada_dynamics.robots.readers.values import MOMENTS
from ada_dynamics.robots.readers.xml import Element, parse_xml
from ada_dynamics.robots.writers.draft import Draft, bounded, ends_of, make, number, numbers, to_text
from ada_dynamics.spatial.orientation import to_rpy

# Attributes and children that are part of a model; others are copied from the source.
_ATTRIBUTES = {
    "link": ("name",),
    "joint": ("name", "type", "actuated", EXACT_TYPE),
    "limit": ("lower", "upper", "effort", "velocity"),
    "dynamics": ("damping", "friction", "armature", "spring_stiffness", "spring_reference"),
    "mimic": ("joint", "multiplier", "offset"),
}
_CHILDREN = {
    "link": ("inertial",),
    "joint": ("origin", "parent", "child", "axis", "axis2", "limit", "dynamics", "mimic"),
}


def tree_of(draft: Draft) -> Element:
    """Return the <robot> without its loops."""
    draft.check_kinds(KINDS)
    if draft.floats:
        draft.notes.append("URDF has no floating base: load the file with the same base.")
    if draft.model.gravity != STANDARD_GRAVITY:
        draft.notes.append(f"URDF has no gravity: load the file with gravity={draft.model.gravity}.")
    if draft.model.has_home:
        draft.notes.append("the initial configuration is left out: URDF has none.")
    source = _source(draft)
    if source is None and draft.has_contact_parameters:
        draft.notes.append("friction and margin of shapes are left out: URDF has none.")
    looks = {link.attributes.get("name", ""): link for link in source.all("link")} if source else {}
    links = [_link(link, looks.get(link.name)) for link in draft.model.links.values()]
    before = {joint.attributes.get("name", ""): joint for joint in source.all("joint")} if source else {}
    joints = [_joint(joint, draft, before.get(joint.name)) for joint in draft.joints]
    attributes = {"name": draft.model.name}
    if source is not None:
        attributes.update({k: v for k, v in source.attributes.items() if k not in ("name", "version")})
    return make("robot", attributes, [*(_extras(source) if source else ()), *links, *joints])


def origin(xyz: Array, R: Array, tag: str = "origin") -> Element | None:
    """Return an <origin>, or None for the identity."""
    attributes = pose_attributes(xyz, R)
    return make(tag, attributes) if attributes else None


def pose_attributes(xyz: Array, R: Array) -> dict[str, str]:
    """Attributes xyz and rpy, if they are not zero."""
    attributes = {}
    if xyz.any():
        attributes["xyz"] = numbers(xyz)
    if not is_unit(R):
        attributes["rpy"] = numbers(to_rpy(R))
    return attributes


def _link(link: Link, looks: Element | None) -> Element:
    inertial = None
    if link.has_inertial or link.mass or link.inertia.any():
        tensor = {name: number(float(link.inertia[i, j])) for name, i, j in MOMENTS}
        centre = make("origin", {"xyz": numbers(link.com)}) if link.com.any() else None
        inertial = make("inertial", {}, [centre, make("mass", {"value": number(link.mass)}), make("inertia", tensor)])
    if looks is not None:  # with the names and materials of the source
        return make("link", {"name": link.name, **_rest(looks)}, [inertial, *_other_children(looks)])
    shapes = [("visual", shape) for shape in link.visuals] + [("collision", shape) for shape in link.collisions]
    return make("link", {"name": link.name}, [inertial, *(_shape(role, shape) for role, shape in shapes)])


def _shape(role: str, shape: Shape) -> Element:
    """Return a <visual> or <collision>; only visuals have colours."""
    if shape.kind == "mesh":
        scale = {} if shape.size == (1.0, 1.0, 1.0) else {"scale": numbers(shape.size)}
        body = make("mesh", {"filename": shape.mesh or "", **scale})
    elif shape.kind == "box":
        body = make("box", {"size": numbers(shape.size)})
    else:
        body = make(shape.kind, dict(zip(SHAPE_SIZES[shape.kind], map(number, shape.size), strict=True)))
    material = None
    if role == "visual" and shape.rgba != PLAIN:
        # equal colours have equal names, as some readers identify materials by name
        name = "rgba_" + "".join(f"{round(255 * part):02x}" for part in shape.rgba)
        material = make("material", {"name": name}, [make("color", {"rgba": numbers(shape.rgba)})])
    return make(role, {}, [origin(shape.xyz, shape.rotation), make("geometry", {}, [body]), material])


def _joint(joint: Joint, draft: Draft, before: Element | None) -> Element:
    """Return a <joint>, with the parts of that of the source, `before`, that are no part of a model."""
    attributes = {"name": joint.name, "type": joint.kind}
    if joint.kind not in STANDARD:  # tools for URDF 1.0 refuse files with other types
        attributes |= {"type": "floating", EXACT_TYPE: joint.kind}
        draft.notes.append(f"joint {joint.name!r}: {joint.kind}, which tools for URDF 1.0 read as floating.")
    if draft.is_passive(joint):
        attributes["actuated"] = "false"
    elif joint.name in draft.motor_numbers:
        attributes["actuated"] = str(draft.motor_numbers[joint.name])
    children = [
        make("parent", {"link": joint.parent}),
        make("child", {"link": joint.child}),
        origin(joint.xyz, joint.rotation),
    ]
    if joint.type.axes:
        children.append(make("axis", {"xyz": numbers(joint.axis)}))
    if joint.axis2 is not None:
        children.append(make("axis2", {"xyz": numbers(joint.axis2)}))
    limit, dynamics, mimic = (_rest(None if before is None else before.first(tag)) for tag in _PARTS)
    children += [_limit(joint, limit), _dynamics(joint, dynamics)]
    if joint.mimic is not None:
        m = joint.mimic
        values = {"joint": m.joint, "multiplier": number(m.multiplier), "offset": number(m.offset)}
        children.append(make("mimic", values | mimic))
    return make("joint", attributes | _rest(before), [*children, *_other_children(before)])


def _rest(source: Element | None) -> dict[str, str]:
    """Return the attributes of an element of the source that are no part of a model."""
    known = () if source is None else _ATTRIBUTES[source.tag]
    return {} if source is None else {name: x for name, x in source.attributes.items() if name not in known}


def _other_children(source: Element | None) -> list[Element]:
    """Return the children of a link or joint of the source that are no part of a model."""
    return [] if source is None else [child for child in source.children if child.tag not in _CHILDREN[source.tag]]


def _limit(joint: Joint, rest: dict[str, str]) -> Element | None:
    limits = joint.limits
    is_cone = joint.kind == Spherical.kind and math.isfinite(limits.upper)
    has_any = is_cone or bool(rest) or math.isfinite(limits.effort) or math.isfinite(limits.velocity)
    has_ends = joint.type.has_limits()  # ROS refuses such joints without limits
    if joint.kind == "fixed" or not (has_ends or has_any):
        return None
    ends = {"lower": bounded(limits.lower), "upper": bounded(limits.upper)} if has_ends else {}
    if is_cone:
        ends = {"upper": number(limits.upper)}
    return make("limit", {**ends, "effort": bounded(limits.effort), "velocity": bounded(limits.velocity), **rest})


def _dynamics(joint: Joint, rest: dict[str, str]) -> Element | None:
    values = {name: getattr(joint, name) for name in ("damping", "friction", "armature")}
    values |= {"spring_stiffness": joint.stiffness, "spring_reference": joint.rest if joint.stiffness else 0.0}
    attributes = {name: number(value) for name, value in values.items() if value} | rest
    if attributes and not attributes.keys() & {"damping", "friction"}:  # urdfdom refuses an element with neither
        attributes = {"damping": number(0.0), **attributes}
    return make("dynamics", attributes) if attributes else None


# --- elements that are no part of a model -----------------------------------------------------------------------
_PARTS = ("limit", "dynamics", "mimic")  # of a joint


def unmodelled(draft: Draft) -> list[str]:
    """Return the elements and attributes of the source that are no part of a model, each one once."""
    source = _source(draft)
    if source is None:
        return []
    found = [f"<{element.tag}>" for element in _extras(source) if element.tag != "material"]
    for element in (*source.all("link"), *source.all("joint")):
        others = [child.tag for child in _other_children(element) if child.tag not in ("visual", "collision")]
        parts = [element, *(child for child in element.children if child.tag in _PARTS)]
        found += [f"<{tag}>" for tag in others]
        found += [f"{name} of <{part.tag}>" for part in parts for name in _rest(part)]
    return list(dict.fromkeys(found))


def _source(draft: Draft) -> Element | None:
    """The URDF that the model was read from, or None."""
    text = draft.model.source
    if text is None:
        return None
    try:
        root = parse_xml(text, draft.model.name)
    except AdaError:  # not a URDF
        return None
    return root if root.tag == "robot" else None


def _extras(source: Element) -> list[Element]:
    """Elements of a robot other than links, joints and loops."""
    kept = []
    for element in source.children:
        if element.tag in ("link", "joint", *ELEMENTS):
            continue
        without = element
        if element.tag == "gazebo":
            without = element if "reference" in element.attributes else _without(element, {"joint"})
            without = _copy(without, [child for child in without.children if not _is_modelled(child, source)])
            if not without.children and not without.text:
                continue
        elif element.tag == "transmission":  # its rotor inertia is the joint's armature
            without = _copy(element, [_without(child, {"drake:rotor_inertia"}) for child in element.children])
        kept.append(without)
    return kept


def _is_modelled(plugin: Element, source: Element) -> bool:
    """Return True if a plugin is a mimic joint or a loop of the model."""
    if plugin.attributes.get("name", "").endswith("DetachableJoint"):
        other = plugin.first("child_model")
        return other is not None and other.text in (source.attributes.get("name"), "__model__")
    return plugin.first(FOLLOWER) is not None


def _without(element: Element, tags: Collection[str]) -> Element:
    return _copy(element, [child for child in element.children if child.tag not in tags])


def _copy(element: Element, children: list[Element]) -> Element:
    return make(element.tag, element.attributes, children, element.text)


# --- loops as elements ------------------------------------------------------------------------------------------
def with_elements(
    kinds: Sequence[str], element: Callable[[LoopJoint], Element], others: str = "sidecar"
) -> Callable[[Draft], dict[str, str]]:
    """Return a writer of URDFs whose loops are elements.

    Args:
        kinds: types of loop joints of the format.
        element: function that returns the element of a loop joint.
        others: formats for other types, for messages.
    """

    def write(draft: Draft) -> dict[str, str]:
        draft.check_loop_kinds(kinds, others)
        root = tree_of(draft)
        root.children += [element(loop) for loop in draft.model.loops.values()]
        return {".urdf": to_text(root)}

    return write


def constraint(loop: LoopJoint) -> Element:
    """Return a <constraint> (ros/urdfdom#264)."""
    children: list[Element | None] = []
    axes = (loop.axis, loop.axis if loop.axis2 is None else loop.axis2)
    for tag, (link, xyz, R), axis in zip(("parent", "child"), ends_of(loop), axes, strict=True):
        children += [make(tag, {"link": link}), origin(xyz, R, f"{tag}_origin")]
        children += [make(f"{tag}_axis", {"xyz": numbers(axis)})] if loop.type.axes else []
    return make("constraint", {"name": loop.name, "type": "link" if loop.kind == "fixed" else loop.kind}, children)


def loop_joint(loop: LoopJoint) -> Element:
    """Return a <loop_joint>; both Drake and Isaac Sim read the type "continuous"."""
    kind = "continuous" if loop.kind == "revolute" else loop.kind
    ends = [
        make(tag, {"link": link, **pose_attributes(xyz, R)})
        for tag, (link, xyz, R) in zip(("link1", "link2"), ends_of(loop), strict=True)
    ]
    return make("loop_joint", {"name": loop.name, "type": kind}, [*ends, *_axes(loop)])


def urdf_plus(loop: LoopJoint) -> Element:
    """Return a <loop> of URDF+; mimic joints are written as <mimic>, equivalent to <coupling>."""
    ends = [
        make(tag, {"link": link}, [origin(xyz, R)])
        for tag, (link, xyz, R) in zip(("predecessor", "successor"), ends_of(loop), strict=True)
    ]
    return make("loop", {"name": loop.name, "type": loop.kind}, [*ends, *_axes(loop)])


def _axes(loop: LoopJoint) -> list[Element]:
    axes = {"axis": loop.axis, "axis2": loop.axis2} if loop.type.axes else {}
    return [make(tag, {"xyz": numbers(axis)}) for tag, axis in axes.items() if axis is not None]


# --- loops in a separate file -----------------------------------------------------------------------------------
_HEAD = """\
# Joints that close loops, in SI units: the joint's frame in each link, rpy in rad; axis in the parent-side frame.
"""


def sidecar(draft: Draft) -> dict[str, str]:
    """Return the tree as a URDF, and the loops as YAML."""
    root = tree_of(draft)
    for joint in root.all("joint"):
        joint.attributes.pop("actuated", None)  # the YAML file contains it
    return {".urdf": to_text(root), ".loops.yaml": to_yaml(draft.model)}


def to_data(model: Model) -> dict[str, Any]:
    """Return loops and actuated joints as plain data for `load(loops=...)`."""
    data: dict[str, Any] = {"loops": [_loop(loop) for loop in model.loops.values()]}
    if model.actuated != tuple(model.joint_names):
        data["actuated"] = list(model.actuated)
    return data


def _loop(loop: LoopJoint) -> dict[str, Any]:
    data: dict[str, Any] = {"name": loop.name, "type": loop.kind}
    if loop.type.axes:
        data["axis"] = _plain(loop.axis)
    if loop.axis2 is not None:
        data["axis2"] = _plain(loop.axis2)
    data.update(loop.constants)
    for key, (link, xyz, R) in zip(("parent", "child"), ends_of(loop), strict=True):
        data[key] = {"link": link, "xyz": _plain(xyz), "rpy": _plain(to_rpy(R))}
    return data


def _plain(values: Iterable[float]) -> list[float]:
    return [float(value) + 0.0 for value in values]


def to_json(model: Model) -> str:
    """Return loops and actuated joints as JSON."""
    return json.dumps(to_data(model), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def to_yaml(model: Model) -> str:
    """Return loops and actuated joints as YAML."""
    return _HEAD + str(yaml.safe_dump(to_data(model), sort_keys=False, default_flow_style=None, allow_unicode=True))
