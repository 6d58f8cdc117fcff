# SPDX-License-Identifier: Apache-2.0
"""Loops in YAML or JSON files: the format of this library and that of Gepetto."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ada_dynamics import resources
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, ModelError, unknown_name
from ada_dynamics.model.description import Description, LocatedName, Problem
from ada_dynamics.model.elements import Joint, Limits, Link, LoopJoint
from ada_dynamics.model.joints import JOINT_TYPES, LOOP_KINDS, loop_kind
from ada_dynamics.model.rotations import UNIT
from ada_dynamics.robots.readers.values import rpy_rotation
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.structured_text.fields import Fields
from ada_dynamics.structured_text.files import parsed
from ada_dynamics.structured_text.lexical import BadNumber, near, to_float
from ada_dynamics.structured_text.nodes import ListNode, MappingNode, Node, ScalarNode, from_object, kind_of

LoopSource: TypeAlias = str | os.PathLike[str] | Mapping[str, object] | Sequence[object]


def add_loops(robot: Description, source: LoopSource) -> None:
    """Add the loops and actuated joints of a file or of Python data to a description.

    Args:
        robot: description that is extended.
        source: path of a YAML or JSON file in the format of this library or of Gepetto, name of one in config/loops,
            its content as a dict, or a list of dicts, one for each loop.

    Raises:
        InputError: the source has another type.
        ModelError: the file cannot be read; the message names the file, line and field.
    """
    given: object = source
    if isinstance(given, str | os.PathLike):
        node, file = parsed(loop_path(given)), str(given)
    elif isinstance(given, Mapping | Sequence) and not isinstance(given, bytes | bytearray):
        file = "the argument loops"
        node = from_object(given, file)
    else:
        message = f"loops is {source!r}; it must be a path, a dict or a list of dicts."
        raise InputError(message, field="loops", value=source, allowed="a path, a dict or a list of dicts")
    keys = list(node.entries) if isinstance(node, MappingNode) else []
    own = set(keys) & set(SIDECAR_KEYS)
    if own - set(_CHANGES) or isinstance(node, ListNode):
        read_sidecar(node, file, robot)
    elif any(key in GEPETTO_KEYS for key in keys):
        read_gepetto(node, file, robot)
    elif own:
        read_sidecar(node, file, robot)
    else:
        known = (*SIDECAR_KEYS, *GEPETTO_KEYS)
        message = f"it is {kind_of(node)}; none of its keys describes loops."
        fix = f"{near(keys[0], known) if keys else ''}Known: {', '.join(known)}."
        raise _refusal(file, node.line, "the file", message, fix)


def loop_path(given: str | os.PathLike[str]) -> Path:
    """Path of a file of loops that is given by its path, or by its name in config/loops."""
    path, own = Path(given), f"loops/{given}.yaml"
    return path if path.exists() or own not in resources.names("config") else resources.find("config", own)


def _refusal(file: str, line: int | None, where: str, message: str, fix: str = "") -> ModelError:
    """Return an error with file, line, location, problem and fix."""
    return Problem("loops", line, where, message, fix).error(file)


class LoopFields(Fields):
    """Entries of a mapping in a file of loops; keys without a value are refused."""

    JOIN = ", "

    def has(self, key: str) -> bool:
        """True if the key exists."""
        return key in self.entries

    def needed(self, key: str, example: str) -> Node:
        """Return a required value."""
        node = self.node(key)
        if node is None:
            raise self.problem(key, "it is missing.", f"Add {key}: {example}.")
        return node

    def names(self, key: str) -> list[tuple[str, int | None]]:
        """Return a list of names with their lines, empty without the key."""
        listing = self.node(key)
        if listing is None:
            return []
        if not isinstance(listing, ListNode):
            raise self.problem(key, f"it is {kind_of(listing)} and not a list of names.", f"Write {key}: [a, b].")
        return [(self.single(key, item, "a name").text, item.line) for item in listing.items]

    def vector(self, key: str) -> Array | None:
        """Return three numbers, or None without the key."""
        node = self.node(key)
        if node is None:
            return None
        allowed = "Allowed: a list of 3 finite numbers, such as [0, 0, 1]."
        if not isinstance(node, ListNode) or len(node.items) != 3:
            raise self.problem(key, f"it is {kind_of(node)} and not 3 numbers.", allowed)
        values = []
        for item in node.items:
            try:
                if not isinstance(item, ScalarNode) or item.is_text:
                    raise BadNumber(f"it contains {kind_of(item)}, which is no number")
                values.append(to_float(item.text))
            except BadNumber as reason:
                raise self.problem(key, f"{reason}.", allowed) from None
        return np.array(values)


GEPETTO_KEYS = ("closed_loop", "type", "name_mot", "joint_name", "joint_type")
_CHANGES = ("locked", "joint_name", "joint_type")  # keys of both formats, which change joints of the robot's file
SIDECAR_KEYS = ("loops", "actuated", "passive", "links", "joints", *_CHANGES)

_LOOP_KEYS = ("name", "type", "axis", "axis2", "parent", "child")
_LIMIT_KEYS = ("lower", "upper", "velocity", "effort")
_CONSTANTS = tuple(dict.fromkeys(name for kind in LOOP_KINDS for name in JOINT_TYPES[kind].constants))
_END_FIELDS = ("link", "xyz", "rpy")
_LOOP_EXAMPLE = "{name: closing, type: revolute, axis: [0, 1, 0], parent: {link: a}, child: {link: b}}"
_END_EXAMPLE = "{link: name, xyz: [0, 0, 0], rpy: [0, 0, 0]}"
_LINK_EXAMPLE = "{name: rod, mass: 0.1, com: [0, 0, 0.1], inertia: [1e-4, 1e-4, 0]}"
_JOINT_EXAMPLE = "{name: pivot, type: revolute, axis: [0, 1, 0], parent: {link: a}, child: b}"


def read_sidecar(node: Node, file: str, robot: Description) -> None:
    """Add the loops, links, joints and actuated joints of a file in the format of this library to a description.

        loops:
          - name: closing
            type: revolute                                                  # one of LOOP_KINDS
            axis: [0, 1, 0]                                                 # in the parent-side frame
            parent: {link: link_3, xyz: [1, 0, 0], rpy: [0, 0, 0]}          # the joint's frame in each link
            child: {link: base, xyz: [1, 0, 0], rpy: [0, 0, 0]}
        actuated: [joint_1]                                                 # if some joints have no motors
        passive: [joint_2, rod]                                             # or those without motors
        locked: [joint_5]                                                   # joints to fix at position zero
        joint_name: [joint_6]                                               # joints with another type
        joint_type: [UJOINT_XY]                                             # as in Gepetto's format
        links:                                                              # that the robot's file omits
          - {name: rod, mass: 0.1, com: [0, 0, 0.1], inertia: [1e-4, 1e-4, 0]}
        joints:
          - {name: rod, type: universal, axis: [1, 0, 0], axis2: [0, 1, 0], parent: {link: crank}, child: rod}

    `axis` is the normal of a planar joint; a universal joint also has `axis2`, of a loop in the child-side frame;
    spherical and fixed joints have none. A link may be "world". `inertia` is about the CoM, on the diagonal.
    """
    if isinstance(node, ListNode):
        node = MappingNode(node.line, {"loops": (node.line, node)})
    top = LoopFields(node, "the file", file, SIDECAR_KEYS, "loops: [...]")
    _change_joints(top, robot)
    readers: Any = (("links", _link, robot.links), ("joints", _joint, robot.joints), ("loops", _loop, robot.loops))
    examples = {"links": _LINK_EXAMPLE, "joints": _JOINT_EXAMPLE, "loops": _LOOP_EXAMPLE}
    for key, read, parts in readers:
        listing = top.node(key)
        if listing is None:
            continue
        if not isinstance(listing, ListNode):
            raise top.problem(key, f"it is {kind_of(listing)} and not a list.", f"Write {key}: [{examples[key]}].")
        parts.extend(read(item, f"{key}[{i}]", file) for i, item in enumerate(listing.items))
    if top.has("actuated"):
        set_actuated(robot, top.names("actuated"), file, "actuated")
    if top.has("passive"):
        _set_passive(robot, top)
    _lock(robot, top)


def _set_passive(robot: Description, top: LoopFields) -> None:
    """Set all joints but the passive ones as actuated; those that have no motor already keep that."""
    before = [motor.name for motor in robot.actuated] if robot.actuated is not None else None
    joints = {joint.name: joint for joint in robot.joints}
    passive = [name for name, _ in top.names("passive")]
    for name in passive:
        if name not in joints:
            raise top.problem("passive", str(unknown_name("joint", name, joints)))
    robot.actuated = [
        LocatedName(name, top.file, None)
        for name, joint in joints.items()
        if joint.nv and name not in passive and (before is None or name in before)
    ]


def _lock(robot: Description, top: LoopFields) -> None:
    """Fix joints at position zero; they have no motors."""
    joints = {joint.name: joint for joint in robot.joints}
    for name, _ in top.names("locked"):
        if name not in joints:
            raise top.problem("locked", str(unknown_name("joint", name, joints)))
        _fix(joints[name])
        robot.actuated = robot.actuated and [motor for motor in robot.actuated if motor.name != name]


def _fix(joint: Joint) -> None:
    joint.kind, joint.mimic, joint.limits, joint.axis2 = "fixed", None, Limits(), None
    joint.damping = joint.friction = joint.armature = joint.stiffness = joint.rest = 0.0


def set_actuated(robot: Description, names: list[tuple[str, int | None]], file: str, where: str) -> None:
    """Set the actuated joints; a second definition is refused."""
    if robot.actuated is not None:
        known = ", ".join(motor.name for motor in robot.actuated[:8])
        line = names[0][1] if names else None
        message = f"the actuated joints are defined twice: {robot.file} has {known or 'none'} already."
        raise _refusal(file, line, where, message, "Keep one of them.")
    seen: dict[str, int | None] = {}
    for name, line in names:
        if name in seen:
            raise _refusal(file, line, where, f"joint {name!r} is listed twice.", "Remove one.")
        seen[name] = line
    robot.actuated = [LocatedName(name, file, line) for name, line in names]


def _link(node: Node, where: str, file: str) -> Link:
    fields = LoopFields(node, where, file, ("name", "mass", "com", "inertia"), _LINK_EXAMPLE)
    name = fields.scalar("name", "a name", "Add name: rod.").text
    fields.where = f"link {name!r}"
    mass = fields.number("mass", "a mass [kg]") if fields.has("mass") else 0.0
    com, inertia = fields.vector("com"), fields.vector("inertia")
    tensor = np.diag(np.zeros(3) if inertia is None else inertia)
    return Link(name, mass, np.zeros(3) if com is None else com, tensor, element=Element("link", {}, 0))


def _joint(node: Node, where: str, file: str) -> Joint:
    fields, name, kind = _head(node, where, file, "joint", tuple(JOINT_TYPES), _LIMIT_KEYS, _JOINT_EXAMPLE)
    parent, xyz, rotation = _end(fields, "parent")
    child = fields.scalar("child", "the name of a link", "Add child: name.").text
    axis, axis2 = _axes(fields, kind)
    limits = {key: fields.number(key) for key in _LIMIT_KEYS if fields.has(key)}
    constants = {name: fields.number(name, "a finite number") for name in JOINT_TYPES[kind].constants}
    element = Element("joint", {}, 0)  # of no line in the robot's file
    element.children.append(Element("limit", {key: str(value) for key, value in limits.items()}, 0))
    return Joint(
        name, kind, parent, child, xyz, rotation, axis, axis2, Limits(**limits), constants=constants, element=element
    )


def _head(
    node: Node, where: str, file: str, part: str, kinds: Sequence[str], more: tuple[str, ...], example: str
) -> tuple[LoopFields, str, str]:
    """Return the fields of a joint, its name and its type."""
    fields = LoopFields(node, where, file, (*_LOOP_KEYS, *_CONSTANTS, *more), example)
    name = fields.scalar("name", "a name", "Add name: closing.").text
    fields.where = f"{part} {name!r}"
    written = fields.scalar("type", "a name", "Add type: revolute.").text
    kind = loop_kind(written)
    if kind not in kinds:
        message = f"the type of {'loop joint' if part == 'loop' else part} {written[:40]!r} is unknown."
        raise fields.problem("type", message, f"{near(written, kinds)}Known: {', '.join(kinds)}.")
    return fields, name, kind


def _loop(node: Node, where: str, file: str) -> LoopJoint:
    fields, name, kind = _head(node, where, file, "loop", LOOP_KINDS, (), _LOOP_EXAMPLE)
    parent, parent_xyz, parent_rotation = _end(fields, "parent")
    child, child_xyz, child_rotation = _end(fields, "child")
    axis, axis2 = _axes(fields, kind)
    constants = {name: fields.number(name, "a finite number") for name in JOINT_TYPES[kind].constants}
    line = fields.line if fields.line is not None else fields.line_of("name")
    frames = (parent_xyz, parent_rotation, child_xyz, child_rotation)
    return LoopJoint(name, kind, parent, child, *frames, axis, axis2, constants, file, line)


def _end(fields: LoopFields, key: str) -> tuple[str, Array, Array]:
    node = fields.needed(key, _END_EXAMPLE)
    end = LoopFields(node, f"{fields.where}, {key}", fields.file, _END_FIELDS, f"{key}: {_END_EXAMPLE}")
    link = end.scalar("link", "a name", "Add link: name.").text
    xyz, rpy = end.vector("xyz"), end.vector("rpy")
    return link, np.zeros(3) if xyz is None else xyz, UNIT if rpy is None else rpy_rotation(rpy)


def _axes(fields: LoopFields, kind: str) -> tuple[Array, Array | None]:
    if JOINT_TYPES[kind].axes == 0:
        return np.array([1.0, 0.0, 0.0]), None
    axis = _direction(fields, "axis", kind)
    if JOINT_TYPES[kind].axes == 1:
        if fields.has("axis2"):
            raise fields.problem("axis2", f"a {kind} joint has one axis.", "Remove it, or is the type universal?")
        return axis, None
    return axis, _direction(fields, "axis2", kind)


def _direction(fields: LoopFields, key: str, kind: str) -> Array:
    axis = fields.vector(key)
    if axis is None:
        raise fields.problem(key, f"it is missing, but a {kind} joint needs it.", f"Add {key}: [0, 0, 1] or the like.")
    return axis


KIND_OF_TYPE = {"6d": "fixed", "3d": "spherical"}

_UNIVERSAL = re.compile(r"UJOINT_([XYZ])([XYZ])\Z")


def read_gepetto(node: Node, file: str, robot: Description) -> None:
    """Add the loops and actuated joints of a file of Gepetto's parallel robots, and change the joints that it names.

        closed_loop: [[frameA, frameB], ...]          # coincident frames: names of links or joints of the URDF
        type: ['6d', '3d', ...]                       # coincident frames or origins only; 6d by default
        name_mot: [joint, ...]                        # joints with motors
        joint_name: [joint, ...]                      # joints of the URDF with another type
        joint_type: [SPHERICAL, UJOINT_XY, FIXED, ...]    # their types; UJOINT_XY rotates about x, then y
        locked: [joint, ...]                          # joints to fix, as in the format of this library

    See "Extended URDF", arXiv 2504.04767.
    """
    fields = LoopFields(node, "the file", file, (*GEPETTO_KEYS, "locked"), "closed_loop: [[frameA, frameB]]")
    _change_joints(fields, robot)
    pairs = _pairs(fields)
    types = fields.names("type") if fields.has("type") else [("6d", None)] * len(pairs)
    if len(types) != len(pairs):
        raise fields.problem("type", f"it has {len(types)} entries for {len(pairs)} loops.", "Give one for each loop.")
    frames: dict[str, set[str]] = {link.name: {link.name} for link in robot.links}  # links by name of a frame
    for joint in robot.joints:
        frames.setdefault(joint.name, set()).add(joint.child)
    for (first, second, line), (written, _) in zip(pairs, types, strict=True):
        kind = KIND_OF_TYPE.get(written.lower())
        if kind is None:
            raise fields.problem("type", f"no type is named {written[:40]!r}.", "Known: 3d, 6d.")
        ends = [_link_of(fields, frames, name) for name in (first, second)]
        robot.loops.append(LoopJoint(loop_name(first, second), kind, ends[0], ends[1], file=file, line=line))
    if fields.has("name_mot"):
        set_actuated(robot, fields.names("name_mot"), file, "name_mot")
    _lock(robot, fields)


def loop_name(first: str, second: str) -> str:
    """Name of the loop between two frames: their common stem before A and B, or both names."""
    stems = [re.sub(r"(.)_?[AB]((?:_3D|_6D)?)\Z", r"\1\2", name) for name in (first, second)]
    return stems[0] if stems[0] == stems[1] and first != second else f"{first}C{second}"


def _pairs(fields: LoopFields) -> list[tuple[str, str, int | None]]:
    node = fields.node("closed_loop")
    if node is None:
        return []
    fix = "Write closed_loop: [[frameA, frameB], ...]."
    if not isinstance(node, ListNode):
        raise fields.problem("closed_loop", f"it is {kind_of(node)} and not a list.", fix)
    pairs = []
    for item in node.items:
        if not isinstance(item, ListNode) or len(item.items) != 2:
            raise fields.problem("closed_loop", f"an entry is {kind_of(item)} and not two frames.", fix)
        first, second = (fields.single("closed_loop", one, "a name").text for one in item.items)
        pairs.append((first, second, item.line))
    return pairs


def _link_of(fields: LoopFields, frames: dict[str, set[str]], name: str) -> str:
    if name not in frames:
        raise fields.problem("closed_loop", str(unknown_name("link or joint", name, frames)))
    links = sorted(frames[name])
    if len(links) > 1:
        message = f"{name!r} is a link, and a joint that carries another one ({', '.join(links)})."
        raise fields.problem("closed_loop", message, "Rename one of them.")
    return links[0]


def _change_joints(fields: LoopFields, robot: Description) -> None:
    names = fields.names("joint_name")
    types = fields.names("joint_type")
    if len(names) != len(types):
        message = f"it has {len(types)} entries for the {len(names)} joints of joint_name."
        raise fields.problem("joint_type", message, "Give one for each joint.")
    joints = {joint.name: joint for joint in robot.joints}
    for (name, _), (written, _) in zip(names, types, strict=True):
        if name not in joints:
            raise fields.problem("joint_name", str(unknown_name("joint", name, joints)))
        _change(fields, joints[name], written)


def _change(fields: LoopFields, joint: Joint, written: str) -> None:
    universal = _UNIVERSAL.match(written)
    joint.axis2, joint.home = None, None
    joint.limits = Limits(velocity=joint.limits.velocity, effort=joint.limits.effort)
    if written == "SPHERICAL":
        joint.kind = "spherical"
    elif written == "FIXED":
        _fix(joint)
    elif universal is not None and universal[1] != universal[2]:
        joint.kind = "universal"
        joint.axis, joint.axis2 = (np.eye(3)["XYZ".index(letter)] for letter in universal.groups())
    else:
        message = f"no type of joint is named {written[:40]!r}."
        raise fields.problem("joint_type", message, "Known: SPHERICAL, FIXED, UJOINT_XY and so on with other axes.")
