# SPDX-License-Identifier: Apache-2.0
"""Writer of a URDF and the YAML file of Gepetto's parallel robots: a loop is a pair of frames on two added links."""

from __future__ import annotations

from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.elements import LoopJoint
from ada_dynamics.robots.readers.loops.yaml_files import KIND_OF_TYPE, loop_name
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.robots.writers.draft import Draft
from ada_dynamics.robots.writers.sidecar import flow
from ada_dynamics.robots.writers.urdf import origin, tree_of
from ada_dynamics.robots.writers.xml_output import make, to_text

SUFFIX = ".yaml"

_TYPE_OF_KIND = {kind: written for written, kind in KIND_OF_TYPE.items()}
_WITHOUT_PARTNER = ("cylindrical",)  # joints that neither URDF nor the YAML file has


def gepetto(draft: Draft) -> dict[str, str]:
    """Return the URDF and the YAML file."""
    others = "loop_joint, constraint or sidecar, or cut the loop at a spherical or fixed joint"
    draft.check_loop_kinds(tuple(_TYPE_OF_KIND), others)
    draft.check_turns("write it as sidecar")
    root = tree_of(draft)
    data: dict[str, Any] = {"closed_loop": [], "type": []}
    for loop in draft.model.loops.values():
        if loop.kind in _TYPE_OF_KIND:
            pair = _frames(loop, root, draft)
            data["closed_loop"].append(pair)
            data["type"].append(_TYPE_OF_KIND[loop.kind])
    moving = {joint.name for joint in draft.joints}  # without the one of a floating base, which a URDF lacks
    data["name_mot"] = [name for name in draft.model.actuated if name in moving]
    data.update(_special_joints(root, draft))
    text = "".join(f"{key}: {flow(value)}\n" for key, value in data.items())
    return {".urdf": to_text(root), SUFFIX: text}


def _frames(loop: LoopJoint, root: Element, draft: Draft) -> list[str]:
    """Add two coincident links with fixed joints; the loop's name follows from their names."""
    names = [f"{loop.name}_A", f"{loop.name}_B"]
    taken = {*draft.model.links, *draft.model.joints}
    if loop_name(*names) != loop.name or taken & {name + end for name in names for end in ("", "_fixed")}:
        draft.refuse(f"Loop {loop.name!r}", "needs two links whose names are in use", "rename the loop.")
    ends = (
        (loop.parent, loop.parent_xyz, loop.parent_rotation),
        (loop.child, loop.child_xyz, loop.child_rotation),
    )
    for name, (link, xyz, R) in zip(names, ends, strict=True):
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
    names, types = [], []
    elements = {element.attributes["name"]: element for element in root.all("joint")}
    for joint in draft.joints:
        element = elements[joint.name]
        element.attributes.pop("actuated", None)
        if joint.kind in _WITHOUT_PARTNER:
            draft.refuse(f"Joint {joint.name!r}", f"is {joint.kind}", "write a prismatic and a revolute joint.")
        written = "SPHERICAL" if joint.kind == "spherical" else None
        if joint.kind == "universal" and joint.axis2 is not None:
            letters = _letter(joint.axis) + _letter(joint.axis2)
            written = f"UJOINT_{letters}"
            if len(letters) != 2:
                why = "is universal about axes other than x, y or z of its frame"
                draft.refuse(f"Joint {joint.name!r}", why, "rotate its frame, or write two revolute joints.")
        if written is not None:
            names.append(joint.name)
            types.append(written)
            element.attributes["type"] = "continuous"
            element.children = [child for child in element.children if child.tag not in ("axis", "axis2")]
    return {"joint_name": names, "joint_type": types} if names else {}


def _letter(axis: Array) -> str:
    for k, letter in enumerate("XYZ"):
        if (axis == np.eye(3)[k]).all():
            return letter
    return ""
