# SPDX-License-Identifier: Apache-2.0
"""Rules on links and joints: impossible inertias, placeholders, missing or empty limits, probable unit errors."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.description import Description, welded
from ada_dynamics.model.elements import Joint, Link, LoopJoint
from ada_dynamics.robots.check.report import CheckReport, listed
from ada_dynamics.robots.readers.description_builder import zero_poses
from ada_dynamics.robots.readers.values import MOMENTS
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.structured_text.lexical import BadNumber, to_float

_HINGES = ("revolute", "continuous")
_DIFFERENT = 0.1  # sine of the angle between the axes of a cross
_UNITS = ((1e-9, "g mm²"), (1e-7, "g cm²"), (1e-6, "kg mm²"), (1e-4, "kg cm²"), (1e-3, "g m²"))
_HEAVY = 2_000.0  # [kg], for a link of a robot that is smaller than _SMALL
_SMALL = 5.0  # [m]
_POINT = 1e-7  # [m], radius of gyration of a point mass
_MINOR = 0.05  # share of a body's mass and inertia below which a link is minor
_IMPOSSIBLE = 0.01  # excess of the largest moment over the sum of the others, relative, that is an error


def check_links(robot: Description, has_floating_base: bool, out: CheckReport) -> None:
    """Run all rules on masses and inertias."""
    frames = np.array([p for _, p in zero_poses(robot.joints).values()] or [np.zeros(3)])
    size = float(np.linalg.norm(np.ptp(frames, axis=0)))
    bodies = _rigid_bodies(robot)
    minor = {link.name for body in bodies for link in _minor_links(body)}
    for link in robot.links:
        if link.has_inertial and _is_possible(link, link.name in minor, out):
            severity = "note" if link.name in minor else "warning"
            # One finding per cause: the first rule that applies explains the later ones.
            if not _heavy(link, size, out) and not _placeholder(link, severity, out):
                _inertia_size(link, size, severity, out)
            _centre(link, out)
    carriers = {joint.child: joint for joint in robot.joints}
    middles = crosses(robot.links, robot.joints, robot.loops)
    for body in bodies:
        carrier = carriers.get(body[0].name)
        is_moved = has_floating_base if carrier is None else carrier.kind != "fixed"
        is_cross = body[0].name in middles or body[0].element.tag == "joint"  # between two joints of a body of MJCF
        if is_moved and not is_cross and not any(link.mass for link in body):
            given = any(link.has_inertial for link in body)
            message = "it moves, but has no mass" + ("." if given else ": it has no <inertial>.")
            fix = "Give it an <inertial>, or make the joint fixed."
            out.add("massless", "warning", body[0].where, message, fix, body[0].line)


def _rigid_bodies(robot: Description) -> list[list[Link]]:
    """Links that fixed joints join, the one nearest to the root first."""
    tops = welded(robot)
    bodies: dict[str, list[Link]] = {}
    for link in robot.links:
        own = bodies.setdefault(tops[link.name], [])
        own.insert(0 if link.name == tops[link.name] else len(own), link)
    return list(bodies.values())


def _minor_links(body: list[Link]) -> Iterable[Link]:
    """Links with a small share in the mass and inertia of their body, such as sensors."""
    moments = [float(np.max(np.abs(link.inertia))) for link in body]
    mass = sum(link.mass for link in body)
    return [
        link
        for link, moment in zip(body, moments, strict=True)
        if link.mass <= _MINOR * mass and moment <= _MINOR * max(moments)
    ]


def crosses(
    links: Iterable[Link], joints: Iterable[Joint], loops: Iterable[LoopJoint] = ()
) -> dict[str, tuple[Joint, Joint | LoopJoint]]:
    """Find massless links between two hinges whose different axes intersect: the crosses of universal joints.

    The second hinge may be a loop joint.

    Returns:
        The two joints by name of the massless link.
    """
    arriving: dict[str, list[Joint]] = {}
    others: dict[str, list[tuple[Joint | LoopJoint, Array, Array]]] = {}  # with point and axis in the link's frame
    for joint in joints:
        if joint.kind in _HINGES:
            arriving.setdefault(joint.child, []).append(joint)
        others.setdefault(joint.parent, []).append((joint, joint.xyz, joint.rotation @ joint.axis))
    for loop in loops:
        others.setdefault(loop.parent, []).append((loop, loop.parent_xyz, loop.parent_rotation @ loop.axis))
        others.setdefault(loop.child, []).append((loop, loop.child_xyz, loop.child_rotation @ loop.axis))
    found: dict[str, tuple[Joint, Joint | LoopJoint]] = {}
    for link in links:
        first, rest = arriving.get(link.name, []), others.get(link.name, [])
        if link.mass or len(first) != 1 or len(rest) != 1:
            continue
        second, xyz, axis = rest[0]
        across = np.linalg.norm(np.cross(first[0].axis, axis))
        if second.kind in _HINGES and not xyz.any() and across > _DIFFERENT:
            found[link.name] = (first[0], second)
    return found


def _inertial(link: Link) -> Element:
    """Element with the link's inertia; in MJCF it may be the body, whose geoms give the inertia."""
    own: Element | None = link.element.first("inertial")
    return link.element if own is None else own


def _half_unit(text: str) -> float:
    """Rounding error of a printed number."""
    mantissa, _, exponent = text.strip().lower().partition("e")
    digits = len(mantissa.partition(".")[2])
    if not digits and not exponent:
        return 0.0  # an integer is exact
    try:
        return float(0.5 * 10.0 ** (int(exponent or "0") - digits))
    except (ValueError, OverflowError):
        return 0.0


def _is_possible(link: Link, is_minor: bool, out: CheckReport) -> bool:
    """Report physically impossible parameters; return True if the plausibility rules apply."""
    line = _inertial(link).line
    if link.mass < 0.0:  # an invalid value, which is reported elsewhere
        return False
    moments = np.linalg.eigvalsh(link.inertia)
    largest = float(np.max(np.abs(moments)))
    odd = "note" if is_minor else "warning"
    if largest <= _POINT**2 * link.mass:
        if link.mass > 0.0:
            message = f"its inertia is negligible: {link.mass:g} kg in one point."
            out.add("inertia-zero", odd, link.where, message, "Give it an inertia tensor [kg m²].", line)
        return False
    tensor = _inertial(link).first("inertia")
    texts = () if tensor is None else (tensor.attributes.get(name, "") for name, _, _ in MOMENTS)
    rounding = min(max(map(_half_unit, texts), default=0.0), 0.1 * largest) + 1e-12 * largest
    shown = " ".join(f"{m:.4g}" for m in moments)
    if moments[0] < -3.0 * rounding or moments[2] <= 0.0:  # entries that are off by r move the moments by up to 3 r
        message = f"its inertia is not positive definite: the principal moments are {shown} kg m²."
        severity = "warning" if is_minor else "error"
        out.add("inertia-negative", severity, link.where, message, "Check signs, units and products of inertia.", line)
        return False
    excess = float(moments[2] - moments[1] - moments[0])
    if excess > 9.0 * rounding:
        severity = "error" if excess > _IMPOSSIBLE * largest and not is_minor else "warning"
        message = (
            f"its inertia violates the triangle inequality: principal moments {shown} kg m², the largest exceeds the "
            "sum of the others."
        )
        fix = "The tensor must be about the centre of mass, in the axes of <origin>; check signs and units."
        out.add("inertia-triangle", severity, link.where, message, fix, line)
        return False
    if link.mass == 0.0:
        out.add("mass-zero", odd, link.where, "it has an inertia but no mass.", "Give it a mass [kg].", line)
    return link.mass > 0.0


def _placeholder(link: Link, severity: str, out: CheckReport) -> bool:
    """Report tensors that are a power of ten times the unit matrix, which are typical placeholders."""
    I = link.inertia
    first = float(I[0, 0])
    if first <= 0.0 or not np.array_equal(I, first * np.eye(3)):
        return False
    power = math.log10(first)
    is_filler = abs(power - round(power)) < 1e-9
    if is_filler:
        line = _inertial(link).line
        message = f"its inertia is {first:g} times the unit matrix, which looks like a placeholder."
        out.add("inertia-placeholder", severity, link.where, message, "Give it the tensor of its shape.", line)
    return is_filler


def _inertia_size(link: Link, size: float, severity: str, out: CheckReport) -> None:
    """Compare the radius of gyration with the size of the robot."""
    radius = math.sqrt(float(np.max(np.linalg.eigvalsh(link.inertia))) / link.mass)
    if 0.0 < size < radius - 0.05:
        message = f"its inertia is too large: radius of gyration {radius:.3g} m, extent of the robot {size:.3g} m."
        units = (unit for factor, unit in _UNITS if 0.1 * size < math.sqrt(factor) * radius < size)
        hint = next((f"; the values look like {unit}" for unit in units), "")
        line = _inertial(link).line
        out.add("inertia-too-big", severity, link.where, message, f"Inertias are in kg m²{hint}.", line)


def _heavy(link: Link, size: float, out: CheckReport) -> bool:
    if link.mass <= _HEAVY or size >= _SMALL:
        return False
    message, fix = f"{link.mass:g} kg, in a robot of {size:.2g} m.", "Masses are in kg; the value looks like grams."
    out.add("mass-too-big", "warning", link.where, message, fix, _inertial(link).line)
    return True


def _centre(link: Link, out: CheckReport) -> None:
    distance = float(np.max(np.abs(link.com)))
    if distance > _FAR:
        message, fix = (
            f"its centre of mass is {distance:g} m from its frame.",
            "Positions are in m, in the link's frame.",
        )
        out.add("com-far", "warning", link.where, message, fix, _inertial(link).line)


# --- joints ---------------------------------------------------------------------------------------------------
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
            continue
        _range(joint, out)
        if _can_have_motor(robot, joint):
            _effort_and_velocity(joint, powerless, out)
    _no_effort(robot, powerless, out)


def _can_have_motor(robot: Description, joint: Joint) -> bool:
    """Return False for mimic joints and joints without motor, whose effort and velocity limits bind no controller."""
    if joint.mimic is not None or joint.type.leaves_free():
        return False
    return robot.actuated is None or any(motor.name == joint.name for motor in robot.actuated)


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
    if not {"lower", "upper"} & set(element.attributes):
        message = (
            "its <limit> has no lower and no upper; the joint is unlimited. The default of URDF, 0 for both, would "
            "allow no motion."
        )
        fix = 'Add lower="..." upper="..."' + (", or make it continuous." if joint.type.turns() else ".")
        out.add("limit-missing", "warning", joint.where, message, fix, element.line)
    elif lower == upper:
        message = f"its limits allow no motion: lower = upper = {lower:g}."
        fix = "Widen the limits, or make the joint fixed" + (" or continuous." if joint.type.turns() else ".")
        severity = "note" if joint.mimic is not None else "warning"
        out.add("limit-empty", severity, joint.where, message, fix, element.line)
    elif joint.type.turns():
        suspects = [b for b in (lower, upper) if _TURNS < abs(b) <= _DEGREES and b == round(b) and round(b) % 5 == 0]
        if suspects and not all(abs(b) in _ROUND for b in suspects):
            message = f"its limits of {' and '.join(f'{b:g}' for b in suspects)} rad look like degrees."
            out.add("limit-degrees", "warning", joint.where, message, "Angles are in radians.", element.line)


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


def commanded_joints(robot: Description) -> list[str]:
    """Joints with a command interface of ros2_control, or with a transmission."""
    blocks = [*robot.root.all("ros2_control"), *robot.root.all("transmission")]
    joints = [(joint, block.tag == "transmission") for block in blocks for joint in block.all("joint")]
    named = {
        joint.attributes.get("name") for joint, is_driven in joints if is_driven or joint.first("command_interface")
    }
    return [joint.name for joint in robot.joints if joint.name in named and joint.mimic is None]


def _no_effort(robot: Description, powerless: list[Joint], out: CheckReport) -> None:
    """Report effort limits of 0: joints without motors that are not declared as such, or missing values."""
    hinges = {joint.name for pair in crosses(robot.links, robot.joints).values() for joint in pair}
    passive = hinges | {joint.name for joint in powerless}
    if robot.loops and robot.actuated is None and passive:
        moving = [joint.name for joint in robot.joints if joint.kind != "fixed" and joint.mimic is None]
        rest = commanded_joints(robot) or [name for name in moving if name not in passive]
        count = sum(name in passive for name in moving)
        message = (
            f"no motors are named, so all {len(moving)} joints are actuated, including {count} with an effort limit of "
            "0 or on the massless cross of a universal joint."
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
