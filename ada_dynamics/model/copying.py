# SPDX-License-Identifier: Apache-2.0
"""Links, joints and loops as they stand in a model or in a description, into a builder, which checks them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ada_dynamics.model.builder import Builder
from ada_dynamics.model.elements import Joint, Link, LoopJoint

if TYPE_CHECKING:  # the readers themselves copy with this
    from ada_dynamics.robots.readers.description import JointRecord, LinkRecord, LoopRecord

_LINK = ("mass", "com", "inertia", "has_inertial", "visuals", "collisions")
_JOINT = ("xyz", "rotation", "axis", "axis2", "limits", "damping", "friction", "armature", "mimic", "stiffness", "rest")
_LOOP = ("parent_xyz", "parent_rotation", "child_xyz", "child_rotation", "axis", "axis2")


def add_link(builder: Builder, link: Link | LinkRecord) -> None:
    """Add a link like this one."""
    builder.link(link.name, **{name: getattr(link, name) for name in _LINK})


def add_joint(builder: Builder, joint: Joint | JointRecord) -> None:
    """Add a joint like this one."""
    more: dict[str, Any] = {**{name: getattr(joint, name) for name in _JOINT}, **joint.constants}
    builder.joint(joint.name, joint.kind, joint.parent, joint.child, **more)


def add_loop(builder: Builder, loop: LoopJoint | LoopRecord) -> None:
    """Close a loop by a joint like this one."""
    more: dict[str, Any] = {**{name: getattr(loop, name) for name in _LOOP}, **loop.constants}
    builder.loop(loop.name, loop.kind, loop.parent, loop.child, **more)
