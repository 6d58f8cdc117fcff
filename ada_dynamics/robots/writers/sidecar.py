# SPDX-License-Identifier: Apache-2.0
"""Writer of a URDF and a YAML or JSON file with the loop joints, in the format of this library."""

from __future__ import annotations

import json
import re
from typing import Any

from ada_dynamics.arrays import Array
from ada_dynamics.model.elements import LoopJoint
from ada_dynamics.model.model import Model
from ada_dynamics.robots.writers.draft import Draft
from ada_dynamics.robots.writers.urdf import tree_of
from ada_dynamics.robots.writers.xml_output import number, to_text
from ada_dynamics.spatial.orientation import to_rpy

SUFFIX = ".loops.yaml"

_HEAD = """\
# Joints that close loops, in SI units: the joint's frame in each link, rpy in rad; axis in the parent-side frame.
"""
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*\Z")
_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}  # not strings in YAML 1.1
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def sidecar(draft: Draft) -> dict[str, str]:
    """Return the tree as a URDF, and the loops as YAML."""
    root = tree_of(draft)
    for joint in root.all("joint"):
        joint.attributes.pop("actuated", None)  # the YAML file contains it
    return {".urdf": to_text(root), SUFFIX: to_yaml(draft.model)}


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
    data["parent"] = _end(loop.parent, loop.parent_xyz, loop.parent_rotation)
    data["child"] = _end(loop.child, loop.child_xyz, loop.child_rotation)
    return data


def _end(link: str, xyz: Array, R: Array) -> dict[str, Any]:
    return {"link": link, "xyz": _plain(xyz), "rpy": [angle + 0.0 for angle in to_rpy(R)]}


def _plain(values: Array) -> list[float]:
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
            lines.append(f"  {'- ' if i == 0 else '  '}{key}: {flow(value)}")
    if "actuated" in data:
        lines.append(f"actuated: {flow(data['actuated'])}")
    return "\n".join(lines) + "\n"


def flow(value: Any) -> str:
    """Format a value in YAML's flow style."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    if isinstance(value, float):
        return number(value)
    text = str(value)
    if _PLAIN.match(text) and text.lower() not in _WORDS:
        return text
    return _UNPRINTABLE.sub(lambda m: f"\\u{ord(m.group()):04x}", json.dumps(text, ensure_ascii=False))
