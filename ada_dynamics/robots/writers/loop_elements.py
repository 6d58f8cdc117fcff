# SPDX-License-Identifier: Apache-2.0
"""Writers of loop joints as elements of a URDF, in four formats."""

from __future__ import annotations

from ada_dynamics.arrays import Array
from ada_dynamics.model.elements import LoopJoint
from ada_dynamics.robots.readers.loops.xml_elements import KINDS, URDF_PLUS_KINDS
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.robots.writers.draft import Draft
from ada_dynamics.robots.writers.sdf import GENERAL_FORMATS, LOOP_TYPES, check_closed_at_zero, loop_element
from ada_dynamics.robots.writers.urdf import origin, pose_attributes, tree_of
from ada_dynamics.robots.writers.xml_output import make, numbers, to_text


def constraint(draft: Draft) -> dict[str, str]:
    """Return a URDF with `<constraint>` elements (ros/urdfdom#264)."""
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
    """Return a URDF with `<loop_joint>` elements (Drake, Isaac Sim)."""
    draft.check_loop_kinds(KINDS, "sidecar")
    return _urdf(draft, [_loop_joint(loop) for loop in draft.model.loops.values()])


def _loop_joint(loop: LoopJoint) -> Element:
    # Both Drake and Isaac Sim read "continuous".
    kind = "continuous" if loop.kind == "revolute" else loop.kind
    first = {"link": loop.parent, **pose_attributes(loop.parent_xyz, loop.parent_rotation)}
    second = {"link": loop.child, **pose_attributes(loop.child_xyz, loop.child_rotation)}
    return make(
        "loop_joint", {"name": loop.name, "type": kind}, [make("link1", first), make("link2", second), *_axes(loop)]
    )


def urdf_plus_loops(draft: Draft) -> dict[str, str]:
    """Return a URDF+ with `<loop>` elements; mimic joints are `<mimic>`, equivalent to `<coupling>`."""
    draft.check_loop_kinds(URDF_PLUS_KINDS, GENERAL_FORMATS)
    return _urdf(draft, [_urdf_plus(loop) for loop in draft.model.loops.values()])


def _urdf_plus(loop: LoopJoint) -> Element:
    first = make("predecessor", {"link": loop.parent}, [origin(loop.parent_xyz, loop.parent_rotation)])
    second = make("successor", {"link": loop.child}, [origin(loop.child_xyz, loop.child_rotation)])
    return make("loop", {"name": loop.name, "type": loop.kind}, [first, second, *_axes(loop)])


def gazebo(draft: Draft) -> dict[str, str]:
    """Return a URDF with `<gazebo><joint>` elements, which are SDFormat joints."""
    check_closed_at_zero(draft)
    elements = [loop_element(loop, draft) for loop in draft.model.loops.values() if loop.kind in LOOP_TYPES]
    return _urdf(draft, [make("gazebo", {}, elements)] if elements else [])


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
