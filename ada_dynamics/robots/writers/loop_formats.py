# SPDX-License-Identifier: Apache-2.0
"""Writers of loop joints in or with a URDF.

Elements of the URDF in four formats, a YAML or JSON file in the format of this library (sidecar), and the YAML file of
Gepetto's parallel robots, where a loop is a pair of frames on two added links.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.elements import LoopJoint
from ada_dynamics.model.model import Model
from ada_dynamics.robots.readers.loops.xml_elements import KINDS, URDF_PLUS_KINDS
from ada_dynamics.robots.readers.loops.yaml_files import KIND_OF_TYPE, loop_name
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.robots.writers.draft import Draft, ends_of
from ada_dynamics.robots.writers.sdf import GENERAL_FORMATS, LOOP_TYPES, check_closed_at_zero, loop_element
from ada_dynamics.robots.writers.urdf import origin, pose_attributes, tree_of
from ada_dynamics.robots.writers.xml_output import make, number, numbers, to_text
from ada_dynamics.spatial.orientation import to_rpy

_HEAD = """\
# Joints that close loops, in SI units: the joint's frame in each link, rpy in rad; axis in the parent-side frame.
"""
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*\Z")
_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}  # not strings in YAML 1.1
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


# --- elements of a URDF -----------------------------------------------------------------------------------------
def constraint(draft: Draft) -> dict[str, str]:
    """Return a URDF with `<constraint>` elements (ros/urdfdom#264)."""
    draft.check_loop_kinds(KINDS, "sidecar")
    return _with_elements(draft, _constraint)


def _constraint(loop: LoopJoint) -> Element:
    children: list[Element | None] = []
    axes = (loop.axis, loop.axis if loop.axis2 is None else loop.axis2)
    for tag, (link, xyz, R), axis in zip(("parent", "child"), ends_of(loop), axes, strict=True):
        children += [make(tag, {"link": link}), origin(xyz, R, f"{tag}_origin")]
        children += [_direction(f"{tag}_axis", axis)] if loop.type.axes else []
    return make("constraint", {"name": loop.name, "type": "link" if loop.kind == "fixed" else loop.kind}, children)


def loop_joint(draft: Draft) -> dict[str, str]:
    """Return a URDF with `<loop_joint>` elements (Drake, Isaac Sim)."""
    draft.check_loop_kinds(KINDS, "sidecar")
    return _with_elements(draft, _loop_joint)


def _loop_joint(loop: LoopJoint) -> Element:
    # Both Drake and Isaac Sim read "continuous".
    kind = "continuous" if loop.kind == "revolute" else loop.kind
    ends = [
        make(tag, {"link": link, **pose_attributes(xyz, R)})
        for tag, (link, xyz, R) in zip(("link1", "link2"), ends_of(loop), strict=True)
    ]
    return make("loop_joint", {"name": loop.name, "type": kind}, [*ends, *_axes(loop)])


def urdf_plus_loops(draft: Draft) -> dict[str, str]:
    """Return a URDF+ with `<loop>` elements; mimic joints are `<mimic>`, equivalent to `<coupling>`."""
    draft.check_loop_kinds(URDF_PLUS_KINDS, GENERAL_FORMATS)
    return _with_elements(draft, _urdf_plus)


def _urdf_plus(loop: LoopJoint) -> Element:
    ends = [
        make(tag, {"link": link}, [origin(xyz, R)])
        for tag, (link, xyz, R) in zip(("predecessor", "successor"), ends_of(loop), strict=True)
    ]
    return make("loop", {"name": loop.name, "type": loop.kind}, [*ends, *_axes(loop)])


def gazebo(draft: Draft) -> dict[str, str]:
    """Return a URDF with `<gazebo><joint>` elements, which are SDFormat joints."""
    check_closed_at_zero(draft)
    elements = [loop_element(loop, draft) for loop in draft.model.loops.values() if loop.kind in LOOP_TYPES]
    return _urdf(draft, [make("gazebo", {}, elements)] if elements else [])


def _axes(loop: LoopJoint) -> list[Element]:
    axes = {"axis": loop.axis, "axis2": loop.axis2} if loop.type.axes else {}
    return [_direction(tag, axis) for tag, axis in axes.items() if axis is not None]


def _direction(tag: str, axis: Array) -> Element:
    return make(tag, {"xyz": numbers(axis)})


def _with_elements(draft: Draft, write: Callable[[LoopJoint], Element]) -> dict[str, str]:
    return _urdf(draft, [write(loop) for loop in draft.model.loops.values()])


def _urdf(draft: Draft, elements: Iterable[Element]) -> dict[str, str]:
    root = tree_of(draft)
    root.children += elements
    return {".urdf": to_text(root)}


# --- sidecar ----------------------------------------------------------------------------------------------------
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
    data = to_data(model)
    lines = [_HEAD + ("loops:" if data["loops"] else "loops: []")]
    for loop in data["loops"]:
        for i, (key, value) in enumerate(loop.items()):
            lines.append(f"  {'- ' if i == 0 else '  '}{key}: {_flow(value)}")
    if "actuated" in data:
        lines.append(f"actuated: {_flow(data['actuated'])}")
    return "\n".join(lines) + "\n"


def _flow(value: Any) -> str:
    """Format a value in YAML's flow style."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    if isinstance(value, float):
        return number(value)
    text = str(value)
    if _PLAIN.match(text) and text.lower() not in _WORDS:
        return text
    return _UNPRINTABLE.sub(lambda m: f"\\u{ord(m.group()):04x}", json.dumps(text, ensure_ascii=False))


# --- Gepetto ----------------------------------------------------------------------------------------------------
_TYPE_OF_KIND = {kind: written for written, kind in KIND_OF_TYPE.items()}


def gepetto(draft: Draft) -> dict[str, str]:
    """Return the URDF and the YAML file."""
    others = "loop_joint, constraint or sidecar, or cut the loop at a spherical or fixed joint"
    draft.check_loop_kinds(tuple(_TYPE_OF_KIND), others)
    draft.check_turns("write it as sidecar")
    root = tree_of(draft)
    loops = [loop for loop in draft.model.loops.values() if loop.kind in _TYPE_OF_KIND]
    moving = {joint.name for joint in draft.joints}  # without the one of a floating base, which a URDF lacks
    data: dict[str, Any] = {
        "closed_loop": [_frames(loop, root, draft) for loop in loops],
        "type": [_TYPE_OF_KIND[loop.kind] for loop in loops],
        "name_mot": [name for name in draft.model.actuated if name in moving],
        **_special_joints(root, draft),
    }
    return {".urdf": to_text(root), ".yaml": "".join(f"{key}: {_flow(value)}\n" for key, value in data.items())}


def _frames(loop: LoopJoint, root: Element, draft: Draft) -> list[str]:
    """Add two coincident links with fixed joints; the loop's name follows from their names."""
    names = [f"{loop.name}_A", f"{loop.name}_B"]
    taken = {*draft.model.links, *draft.model.joints}
    if loop_name(*names) != loop.name or taken & {name + end for name in names for end in ("", "_fixed")}:
        draft.refuse(f"Loop {loop.name!r}", "needs two links whose names are in use", "rename the loop.")
    for name, (link, xyz, R) in zip(names, ends_of(loop), strict=True):
        if link == "world" and link not in draft.model.links:
            if draft.floats:
                draft.refuse(f"Loop {loop.name!r}", "joins the world, and the base floats", "write it as sidecar.")
            link = draft.model.root  # fixed to the world, at its origin
        joint = [make("parent", {"link": link}), make("child", {"link": name}), origin(xyz, R)]
        root.children.append(make("link", {"name": name}))
        root.children.append(make("joint", {"name": f"{name}_fixed", "type": "fixed"}, joint))
    return names


def _special_joints(root: Element, draft: Draft) -> dict[str, list[str]]:
    """Spherical and universal joints, which the YAML file declares and the URDF writes as continuous."""
    types: dict[str, str] = {}
    elements = {element.attributes["name"]: element for element in root.all("joint")}
    for joint in draft.joints:
        element = elements[joint.name]
        element.attributes.pop("actuated", None)
        if joint.kind == "cylindrical":  # neither URDF nor the YAML file has it
            draft.refuse(f"Joint {joint.name!r}", f"is {joint.kind}", "write a prismatic and a revolute joint.")
        if joint.kind == "spherical":
            types[joint.name] = "SPHERICAL"
        elif joint.kind == "universal" and joint.axis2 is not None:
            letters = _letter(joint.axis) + _letter(joint.axis2)
            types[joint.name] = f"UJOINT_{letters}"
            if len(letters) != 2:
                why = "is universal about axes other than x, y or z of its frame"
                draft.refuse(f"Joint {joint.name!r}", why, "rotate its frame, or write two revolute joints.")
        if joint.name in types:
            element.attributes["type"] = "continuous"
            element.children = [child for child in element.children if child.tag not in ("axis", "axis2")]
    return {"joint_name": list(types), "joint_type": list(types.values())} if types else {}


def _letter(axis: Array) -> str:
    return "".join(letter for letter, e in zip("XYZ", np.eye(3), strict=True) if (axis == e).all())
