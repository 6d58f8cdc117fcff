# SPDX-License-Identifier: Apache-2.0
"""A joint's spring as URDF and SDFormat have it: a stiffness and a reference, with one position to act on."""

from __future__ import annotations

from ada_dynamics.model.joints import JOINT_TYPES, SPRUNG
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.robots.readers.xml import Element


def checked_spring(
    kind: str, stiffness: float, rest: float, element: Element, where: str, sink: Sink
) -> tuple[float, float]:
    """Stiffness and rest position, or a spring of no stiffness after a report.

    Args:
        kind: of the joint.
        stiffness: as read [N m/rad] or [N/m].
        rest: as read [rad] or [m].
        element: where they stand.
        where: what it describes, for messages.
        sink: where problems go.
    """
    if stiffness == 0.0:
        return 0.0, 0.0
    if stiffness < 0.0:
        sink(
            Problem("negative", element.line, where, f"spring_stiffness is {stiffness:g}.", "It must not be negative.")
        )
    elif kind not in SPRUNG:
        message = f"it is {kind} and has a spring, but only {', '.join(SPRUNG)} joints can have one."
        sink(Problem("spring", element.line, where, message, "Write it as several joints, or give the effort as tau."))
    elif JOINT_TYPES[kind].nq > 1 and rest != 0.0:
        message = f"it is spherical, with spring_reference {rest:g}."
        sink(Problem("spring", element.line, where, message, "Its spring rests at zero: turn the joint's frame."))
    else:
        return stiffness, rest
    return 0.0, 0.0
