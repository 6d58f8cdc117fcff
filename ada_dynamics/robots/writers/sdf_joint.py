# SPDX-License-Identifier: Apache-2.0
"""A joint that closes a loop as SDFormat has it: its frame in the child, its axes in that frame."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.elements import Joint, LoopJoint
from ada_dynamics.model.joints import LOOP_KINDS
from ada_dynamics.robots.readers.sdf.joint import KINDS, written_constants
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.robots.writers.draft import Draft, zero_poses
from ada_dynamics.robots.writers.numbers import is_unit, number, numbers
from ada_dynamics.robots.writers.xml_out import make
from ada_dynamics.spatial.orientation import to_rpy

LOOP_TYPES = {kind: word for kind, word in KINDS.words.items() if kind in LOOP_KINDS}


def pose(xyz: Array, R: Array, relative_to: str | None = None) -> Element | None:
    """A <pose>, or none where it is zero and relative to what it would be anyhow."""
    if not xyz.any() and is_unit(R) and relative_to is None:
        return None
    attributes = {} if relative_to is None else {"relative_to": relative_to}
    return make("pose", attributes, text=numbers([*xyz, *((0.0, 0.0, 0.0) if is_unit(R) else to_rpy(R))]))


def own_elements(joint: Joint | LoopJoint) -> list[Element]:
    """The numbers that a type of joint has of its own."""
    return [make(tag, text=number(value)) for tag, value in written_constants(joint.kind, joint.constants).items()]


def axis_element(tag: str, direction: Array, extra: list[Element | None]) -> Element:
    """An <axis>."""
    return make(tag, {}, [make("xyz", text=numbers(direction)), *extra])


def loop_element(loop: LoopJoint, draft: Draft) -> Element:
    """The <joint>; its pose is that of the child-side frame, which at zero has the parent-side one's axis as well."""
    children: list[Element | None] = [
        make("parent", text=loop.parent),
        make("child", text=loop.child),
        *own_elements(loop),
        pose(loop.child_xyz, loop.child_rotation),
    ]
    if loop.axis2 is not None:
        children.append(axis_element("axis", _seen_in_child(loop, draft), []))
        children.append(axis_element("axis2", loop.axis2, []))
    elif loop.type.axes:
        children.append(axis_element("axis", loop.axis, []))
    cut = make("simbody", {}, [make("must_be_loop_joint", text="true")])
    children.append(make("physics", {}, [cut]))
    return make("joint", {"name": loop.name, "type": LOOP_TYPES[loop.kind]}, children)


def _seen_in_child(loop: LoopJoint, draft: Draft) -> Array:
    """The parent-side axis in the child-side frame, all joints at zero."""
    poses = zero_poses(draft.model)
    A = poses[loop.parent][0] @ loop.parent_rotation
    B = poses[loop.child][0] @ loop.child_rotation
    seen: Array = np.asarray(B.T @ A @ loop.axis)
    return seen
