# SPDX-License-Identifier: Apache-2.0
"""The YAML beside a URDF of Gepetto's parallel robots ("Extended URDF", arXiv 2504.04767).

closed_loop: [[frameA, frameB], ...]          # frames that coincide: names of links or joints of the URDF
type: ['6d', '3d', ...]                       # all of both frames, or their origins only; 6d by default
name_mot: [joint, ...]                        # joints with motors
joint_name: [joint, ...]                      # joints of the URDF that are of another type,
joint_type: [SPHERICAL, UJOINT_XY, FIXED, ...]    # and which: UJOINT_XY turns about its own x, then about y
"""

from __future__ import annotations

import re

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import unknown_name
from ada_dynamics.model.description import Description
from ada_dynamics.model.elements import Joint, Limits, LoopJoint
from ada_dynamics.robots.readers.loops.fields import LoopFields
from ada_dynamics.robots.readers.loops.sidecar import set_actuated
from ada_dynamics.structured_text.nodes import ListNode, Node, kind_of

KEYS = ("closed_loop", "type", "name_mot", "joint_name", "joint_type")
KIND_OF_TYPE = {"6d": "fixed", "3d": "spherical"}

_UNIVERSAL = re.compile(r"UJOINT_([XYZ])([XYZ])\Z")


def read_gepetto(node: Node, file: str, robot: Description) -> None:
    """Add the loops and actuated joints of such a file to a robot, and change the joints that it names."""
    fields = LoopFields(node, "the file", file, KEYS, "closed_loop: [[frameA, frameB]]")
    _change_joints(fields, robot)
    pairs = _pairs(fields)
    types = fields.names("type") if fields.has("type") else [("6d", None)] * len(pairs)
    if len(types) != len(pairs):
        raise fields.problem("type", f"it has {len(types)} entries for {len(pairs)} loops.", "Give one for each loop.")
    frames = _frames(robot)
    for (first, second, line), (written, _) in zip(pairs, types, strict=True):
        kind = KIND_OF_TYPE.get(written.lower())
        if kind is None:
            raise fields.problem("type", f"no type is named {written[:40]!r}.", "Known: 3d, 6d.")
        ends = [_link_of(fields, frames, name) for name in (first, second)]
        robot.loops.append(LoopJoint(loop_name(first, second), kind, ends[0], ends[1], file=file, line=line))
    if fields.has("name_mot"):
        set_actuated(robot, fields.names("name_mot"), file, "name_mot")


def loop_name(first: str, second: str) -> str:
    """Name of the loop between two frames: what they share before an A and a B, or both names."""
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


def _frames(robot: Description) -> dict[str, set[str]]:
    """The links whose frame a name may mean: a joint's frame is that of the link it carries."""
    frames: dict[str, set[str]] = {link.name: {link.name} for link in robot.links}
    for joint in robot.joints:
        frames.setdefault(joint.name, set()).add(joint.child)
    return frames


def _link_of(fields: LoopFields, frames: dict[str, set[str]], name: str) -> str:
    if name not in frames:
        raise fields.problem("closed_loop", str(unknown_name("link or joint", name, frames)))
    links = sorted(frames[name])
    if len(links) > 1:
        message = f"{name!r} is a link, and a joint that carries another one ({', '.join(links)})."
        raise fields.problem("closed_loop", message, "Rename one of them.")
    return links[0]


def _change_joints(fields: LoopFields, robot: Description) -> None:
    names = fields.names("joint_name") if fields.has("joint_name") else []
    types = fields.names("joint_type") if fields.has("joint_type") else []
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
    joint.axis2 = None
    joint.limits = Limits(velocity=joint.limits.velocity, effort=joint.limits.effort)
    if written == "SPHERICAL":
        joint.kind = "spherical"
    elif written == "FIXED":
        joint.kind, joint.mimic, joint.limits = "fixed", None, Limits()
        joint.damping = joint.friction = joint.armature = joint.stiffness = joint.rest = 0.0
    elif universal is not None and universal[1] != universal[2]:
        joint.kind = "universal"
        joint.axis, joint.axis2 = _unit(universal[1]), _unit(universal[2])
    else:
        message = f"no type of joint is named {written[:40]!r}."
        raise fields.problem("joint_type", message, "Known: SPHERICAL, FIXED, UJOINT_XY and so on with other axes.")


def _unit(letter: str) -> Array:
    return np.array(np.eye(3)["XYZ".index(letter)])
