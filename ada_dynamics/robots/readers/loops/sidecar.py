# SPDX-License-Identifier: Apache-2.0
"""The library's own spelling: loops in a file of their own, YAML or JSON, or as Python dicts.

    loops:
      - name: closing
        type: revolute                                                  # one of LOOP_KINDS
        axis: [0, 1, 0]                                                 # in the parent-side frame
        parent: {link: link_3, xyz: [1, 0, 0], rpy: [0, 0, 0]}          # the joint's frame in each link
        child: {link: base, xyz: [1, 0, 0], rpy: [0, 0, 0]}
    actuated: [joint_1]                                                 # where not all joints have motors

`axis` is a planar joint's normal; a universal joint has `axis2` as well, in the child-side frame; spherical and fixed
joints have none. A link may be "world".
"""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.description import Description
from ada_dynamics.model.elements import LoopJoint
from ada_dynamics.model.joints import JOINT_TYPES, LOOP_KINDS, loop_kind
from ada_dynamics.model.rotations import clean_rotation
from ada_dynamics.model.structure import NamedPlace
from ada_dynamics.robots.readers.loops.fields import LoopFields, refuse
from ada_dynamics.spatial.rotation import from_rpy
from ada_dynamics.structured_text.lexical import near
from ada_dynamics.structured_text.nodes import ListNode, MappingNode, Node, kind_of

KEYS = ("loops", "actuated")

_LOOP_KEYS = ("name", "type", "axis", "axis2", "parent", "child")
_CONSTANTS = tuple(dict.fromkeys(name for kind in LOOP_KINDS for name in JOINT_TYPES[kind].constants))
_END_KEYS = ("link", "xyz", "rpy")
_LOOP = "{name: closing, type: revolute, axis: [0, 1, 0], parent: {link: a}, child: {link: b}}"
_END = "{link: name, xyz: [0, 0, 0], rpy: [0, 0, 0]}"
_SHORTEST = 1e-9


def read_sidecar(node: Node, file: str, robot: Description) -> None:
    """Add the loops and actuated joints of a file in our own spelling to a robot."""
    if isinstance(node, ListNode):
        node = MappingNode(node.line, {"loops": (node.line, node)})
    top = LoopFields(node, "the file", file, KEYS, "loops: [...]")
    loops = top.node("loops")
    if loops is not None:
        if not isinstance(loops, ListNode):
            raise top.problem("loops", f"it is {kind_of(loops)} and not a list.", f"Write loops: [{_LOOP}].")
        robot.loops.extend(_loop(item, f"loops[{i}]", file) for i, item in enumerate(loops.items))
    if top.has("actuated"):
        set_actuated(robot, top.names("actuated"), file, "actuated")


def set_actuated(robot: Description, names: list[tuple[str, int | None]], file: str, where: str) -> None:
    """Say which joints have motors, once."""
    if robot.actuated is not None:
        known = ", ".join(place.name for place in robot.actuated[:8])
        line = names[0][1] if names else None
        message = f"the actuated joints are given twice: {robot.file} has {known or 'none'} already."
        raise refuse(file, line, where, message, "Keep one of them.")
    seen: dict[str, int | None] = {}
    for name, line in names:
        if name in seen:
            raise refuse(file, line, where, f"joint {name!r} is there twice.", "Remove one.")
        seen[name] = line
    robot.actuated = [NamedPlace(name, file, line) for name, line in names]


def _loop(node: Node, where: str, file: str) -> LoopJoint:
    fields = LoopFields(node, where, file, (*_LOOP_KEYS, *_CONSTANTS), _LOOP)
    name = fields.name("name", "closing")
    fields.where = f"loop {name!r}"
    kind = _kind(fields)
    parent, parent_xyz, parent_rotation = _end(fields, "parent")
    child, child_xyz, child_rotation = _end(fields, "child")
    axis, axis2 = _axes(fields, kind)
    constants = {name: fields.number(name) for name in JOINT_TYPES[kind].constants}
    line = fields.line if fields.line is not None else fields.line_of("name")
    frames = (parent_xyz, parent_rotation, child_xyz, child_rotation)
    return LoopJoint(name, kind, parent, child, *frames, axis, axis2, constants, file, line)


def _kind(fields: LoopFields) -> str:
    written = fields.name("type", "revolute")
    kind = loop_kind(written)
    if kind not in LOOP_KINDS:
        message = f"no type of loop joint is named {written[:40]!r}."
        raise fields.problem("type", message, f"{near(written, LOOP_KINDS)}Known: {', '.join(LOOP_KINDS)}.")
    return kind


def _end(fields: LoopFields, key: str) -> tuple[str, Array, Array]:
    node = fields.needed(key, f"{key}: {_END}")
    end = LoopFields(node, f"{fields.where}, {key}", fields.file, _END_KEYS, f"{key}: {_END}")
    link = end.name("link", "name")
    xyz, rpy = end.vector("xyz"), end.vector("rpy")
    rotation = np.eye(3) if rpy is None or not rpy.any() else clean_rotation(np.array(from_rpy(*rpy.tolist())))
    return link, np.zeros(3) if xyz is None else xyz, rotation


def _axes(fields: LoopFields, kind: str) -> tuple[Array, Array | None]:
    if JOINT_TYPES[kind].axes == 0:
        return np.array([1.0, 0.0, 0.0]), None
    axis = _direction(fields, "axis", kind)
    if JOINT_TYPES[kind].axes == 1:
        if fields.has("axis2"):
            raise fields.problem("axis2", f"a {kind} joint has one axis.", "Remove it, or is the type universal?")
        return axis, None
    axis2 = _direction(fields, "axis2", kind)
    if abs(float(axis @ axis2)) > _SHORTEST * float(np.linalg.norm(axis) * np.linalg.norm(axis2)):
        raise fields.problem("axis2", "it is not perpendicular to axis.", "A universal joint has perpendicular axes.")
    return axis, axis2


def _direction(fields: LoopFields, key: str, kind: str) -> Array:
    axis = fields.vector(key)
    if axis is None:
        raise fields.problem(key, f"it is missing, but a {kind} joint needs it.", f"Add {key}: [0, 0, 1] or the like.")
    if float(np.linalg.norm(axis)) < _SHORTEST:
        raise fields.problem(key, "it has length zero.", "Give a direction such as [0, 0, 1].")
    return axis
