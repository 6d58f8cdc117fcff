# SPDX-License-Identifier: Apache-2.0
"""Loops as elements of a URDF, in the four spellings that there are."""

from __future__ import annotations

from ada_dynamics.arrays import Array
from ada_dynamics.model.elements import LoopJoint
from ada_dynamics.robots.readers.loops import urdf_plus
from ada_dynamics.robots.readers.loops.xml_parts import KINDS
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.robots.writers.draft import Draft, gap_at_zero, zero_poses
from ada_dynamics.robots.writers.numbers import numbers
from ada_dynamics.robots.writers.sdf_joint import LOOP_TYPES, loop_element
from ada_dynamics.robots.writers.urdf import origin, pose_attributes, tree_of
from ada_dynamics.robots.writers.xml_out import make, to_text

CLOSED = 1e-9  # [m, rad] a gap at zero that counts as closed

_GENERAL = "loop_joint, constraint or sidecar"


def constraint(draft: Draft) -> dict[str, str]:
    """`<constraint>` (ros/urdfdom#264)."""
    draft.check_loop_kinds(KINDS, "sidecar")
    return _urdf(draft, [_constraint(loop) for loop in draft.model.loops.values()])


def _constraint(loop: LoopJoint) -> Element:
    kind = "link" if loop.kind == "fixed" else loop.kind
    has_axis = loop.type.axes > 0
    second = loop.axis if loop.axis2 is None else loop.axis2
    return make(
        "constraint",
        {"name": loop.name, "type": kind},
        [
            make("parent", {"link": loop.parent}),
            origin(loop.parent_xyz, loop.parent_rotation, "parent_origin"),
            _direction("parent_axis", loop.axis) if has_axis else None,
            make("child", {"link": loop.child}),
            origin(loop.child_xyz, loop.child_rotation, "child_origin"),
            _direction("child_axis", second) if has_axis else None,
        ],
    )


def loop_joint(draft: Draft) -> dict[str, str]:
    """`<loop_joint>` (Drake, Isaac Sim)."""
    draft.check_loop_kinds(KINDS, "sidecar")
    return _urdf(draft, [_loop_joint(loop) for loop in draft.model.loops.values()])


def _loop_joint(loop: LoopJoint) -> Element:
    # Drake knew "continuous" only, and Isaac Sim knows that word, too.
    kind = "continuous" if loop.kind == "revolute" else loop.kind
    first = {"link": loop.parent, **pose_attributes(loop.parent_xyz, loop.parent_rotation)}
    second = {"link": loop.child, **pose_attributes(loop.child_xyz, loop.child_rotation)}
    return make(
        "loop_joint", {"name": loop.name, "type": kind}, [make("link1", first), make("link2", second), *_axes(loop)]
    )


def urdf_plus_loops(draft: Draft) -> dict[str, str]:
    """URDF+ `<loop>`; mimicking joints stay `<mimic>`, which says the same as its `<coupling>`."""
    draft.check_loop_kinds(urdf_plus.KINDS, _GENERAL)
    return _urdf(draft, [_urdf_plus(loop) for loop in draft.model.loops.values()])


def _urdf_plus(loop: LoopJoint) -> Element:
    first = make("predecessor", {"link": loop.parent}, [origin(loop.parent_xyz, loop.parent_rotation)])
    second = make("successor", {"link": loop.child}, [origin(loop.child_xyz, loop.child_rotation)])
    return make("loop", {"name": loop.name, "type": loop.kind}, [first, second, *_axes(loop)])


def gazebo(draft: Draft) -> dict[str, str]:
    """`<gazebo><joint>`: an SDFormat joint inside a URDF."""
    check_closed_at_zero(draft)
    elements = [loop_element(loop, draft) for loop in draft.model.loops.values() if loop.kind in LOOP_TYPES]
    return _urdf(draft, [make("gazebo", {}, elements)] if elements else [])


def check_closed_at_zero(draft: Draft) -> None:
    """Refuse what SDFormat's single frame for a joint cannot say."""
    draft.check_loop_kinds(tuple(LOOP_TYPES), _GENERAL)
    poses = zero_poses(draft.model)
    for loop in draft.model.loops.values():
        what = f"Loop {loop.name!r}"
        if loop.child == "world":
            draft.refuse(what, "has the world as its child", "exchange its parent and child.")
        gap = gap_at_zero(loop, poses)
        if loop.kind in LOOP_TYPES and gap > CLOSED:
            why = f"is open by {gap:.3g} (m or rad) where all joints are at zero, and SDFormat takes it as closed there"
            draft.refuse(what, why, f"write it as {_GENERAL}.")


def _axes(loop: LoopJoint) -> list[Element | None]:
    if not loop.type.axes:
        return []
    return [_direction("axis", loop.axis), None if loop.axis2 is None else _direction("axis2", loop.axis2)]


def _direction(tag: str, axis: Array) -> Element:
    return make(tag, {"xyz": numbers(axis)})


def _urdf(draft: Draft, elements: list[Element]) -> dict[str, str]:
    root = tree_of(draft)
    root.children += elements
    return {".urdf": to_text(root)}
