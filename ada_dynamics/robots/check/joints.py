# SPDX-License-Identifier: Apache-2.0
"""Rules on limits and offsets of joints: missing values, limits without range, probable unit errors."""

from __future__ import annotations

import math

import numpy as np

from ada_dynamics.model.description import Description
from ada_dynamics.model.elements import Joint
from ada_dynamics.robots.check.links import crosses
from ada_dynamics.robots.check.report import CheckReport, listed
from ada_dynamics.robots.readers.urdf import STANDARD
from ada_dynamics.structured_text.lexical import BadNumber, to_float

_TURNS = 4.0 * math.pi  # limits of most revolute joints are within
_DEGREES = 720.0
_ROUND = {20.0, 50.0, 100.0, 200.0, 500.0}  # limits in radians that mean many turns
_FAR = 20.0  # [m]


def check_joints(robot: Description, out: CheckReport) -> None:
    """Run all rules on joints."""
    powerless: list[Joint] = []
    for joint in robot.joints:
        _pose_units(joint, out)
        if joint.kind == "fixed":
            mimic = joint.element.first("mimic")
            if mimic is not None:
                message = "it is fixed, so its <mimic> has no effect."
                out.add("mimic-fixed", "note", joint.where, message, "Remove the <mimic>.", mimic.line)
            continue
        if joint.kind not in STANDARD:
            message = f"joint type {joint.kind} is an extension, unknown to other readers of URDF."
            out.add("joint-type-extension", "note", joint.where, message, "", joint.line)
        _range(joint, out)
        if _can_have_motor(robot, joint):
            _effort_and_velocity(joint, powerless, out)
    _no_effort(robot, powerless, out)


def _can_have_motor(robot: Description, joint: Joint) -> bool:
    """Return False for mimic joints and joints without motor, whose effort and velocity limits bind no controller."""
    if joint.mimic is not None or joint.type.leaves_free():
        return False
    return robot.actuated is None or any(place.name == joint.name for place in robot.actuated)


def _range(joint: Joint, out: CheckReport) -> None:
    """Rules on lower and upper limits."""
    if not joint.type.has_limits():
        return
    element = joint.element.first("limit")
    if element is None:
        message = "it has no <limit>, which URDF requires; the joint is unlimited."
        fix = "Add <limit>, or make it continuous." if joint.type.turns() else "Add <limit>."
        out.add("limit-missing", "warning", joint.where, message, fix, joint.line)
        return
    lower, upper = joint.limits.lower, joint.limits.upper
    if lower == upper:
        given = "lower" in element.attributes or "upper" in element.attributes
        message = f"its limits allow no motion: lower = upper = {lower:g}" + ("." if given else ", by default.")
        fix = "Widen the limits, or make the joint fixed" + (" or continuous." if joint.type.turns() else ".")
        severity = "note" if joint.mimic is not None else "warning"
        out.add("limit-empty", severity, joint.where, message, fix, element.line)
    elif joint.type.turns():
        suspects = [b for b in (lower, upper) if _TURNS < abs(b) <= _DEGREES and b == round(b) and round(b) % 5 == 0]
        if suspects and not all(abs(b) in _ROUND for b in suspects):
            message = f"its limits of {' and '.join(f'{b:g}' for b in suspects)} rad look like degrees."
            out.add("limit-degrees", "warning", joint.where, message, "Angles are in radians.", element.line)
    elif _FAR < max(abs(lower), abs(upper)) < 1e4:
        message, fix = f"its range is {lower:g} to {upper:g} m.", "Distances are in m; the values look like mm."
        out.add("limit-length", "warning", joint.where, message, fix, element.line)


def _effort_and_velocity(joint: Joint, powerless: list[Joint], out: CheckReport) -> None:
    element = joint.element.first("limit")
    if element is None:
        return
    for name, value in (("effort", joint.limits.effort), ("velocity", joint.limits.velocity)):
        if name not in element.attributes:
            message = f"its <limit> has no {name}, which URDF requires; it is unlimited."
            out.add("limit-missing", "note", joint.where, message, f'Add {name}="...".', element.line)
        elif value == 0.0 and name == "effort":
            powerless.append(joint)
        elif value == 0.0:
            message = "its velocity limit is 0, with which a controller cannot move the joint."
            out.add("limit-zero", "warning", joint.where, message, "Give the limit of the motor.", element.line)


def _no_effort(robot: Description, powerless: list[Joint], out: CheckReport) -> None:
    """Report effort limits of 0: joints without motors that are not declared as such, or missing values."""
    hinges = {joint.name for pair in crosses(robot.links, robot.joints).values() for joint in pair}
    passive = hinges | {joint.name for joint in powerless}
    if robot.loops and robot.actuated is None and passive:
        moving = [joint.name for joint in robot.joints if joint.kind != "fixed" and joint.mimic is None]
        rest = [name for name in moving if name not in passive]
        message = (
            f"no motors are named, so all {len(moving)} joints are actuated, although {len(moving) - len(rest)} of "
            "them have an effort limit of 0 or belong to the massless cross of a universal joint."
        )
        fix = (
            f"Name the actuated joints in the file of the loops: `actuated: [{listed(rest) or '...'}]`, or set "
            'actuated="false" on each <joint> without one.'
        )
        out.add("motors-not-named", "warning", f"robot {robot.name!r}", message, fix)
    elif powerless:
        names = [joint.name for joint in powerless]
        where = powerless[0].where if len(names) == 1 else f"joints {listed(names, repr)}"
        message = "the effort limit is 0, with which a controller cannot move the joint."
        fix = 'Give the limit of the motor, or set actuated="false" on a <joint> without a motor.'
        out.add("limit-zero", "warning", where, message, fix, powerless[0].line)


def _pose_units(joint: Joint, out: CheckReport) -> None:
    distance = float(np.max(np.abs(joint.xyz)))
    origin = joint.element.first("origin")
    line = joint.line if origin is None else origin.line
    if distance > _FAR:
        message = f"its origin is {distance:g} m from its parent's frame."
        out.add("far-joint", "warning", joint.where, message, "Positions are in m; the values look like mm.", line)
    if origin is None:
        return
    try:
        angles = [to_float(x) for x in origin.attributes.get("rpy", "").split()]
    except BadNumber:
        return
    if any(abs(a) > _TURNS and a == round(a) for a in angles):
        message = f"its rpy {origin.attributes['rpy']!r} looks like degrees."
        out.add("rpy-degrees", "warning", joint.where, message, "Angles are in radians.", line)
