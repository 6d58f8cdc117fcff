# SPDX-License-Identifier: Apache-2.0
"""Masses, centres of mass and inertia tensors: impossible ones, placeholders, and those that smell of wrong units."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ada_dynamics.model.description import Description
from ada_dynamics.model.elements import Link
from ada_dynamics.robots.check.bodies import Extent, RigidBody, crosses, extent
from ada_dynamics.robots.check.report import Collector
from ada_dynamics.robots.readers.urdf import MOMENTS
from ada_dynamics.robots.readers.xml import Element

_DENSEST = 22_600.0  # [kg/m³], osmium
_UNITS = ((1e-9, "g mm²"), (1e-7, "g cm²"), (1e-6, "kg mm²"), (1e-4, "kg cm²"), (1e-3, "g m²"))
_HEAVY = 2_000.0  # [kg], for a link of a robot that is smaller than _SMALL
_SMALL = 5.0  # [m]
_POINT = 1e-7  # [m], radius of gyration of what is a point
_MINOR = 0.05  # part of a body's mass and inertia below which a link hardly matters
_IMPOSSIBLE = 0.01  # part of the largest moment by which it may exceed the sum of the others before it is an error


def check_inertias(robot: Description, bodies: Sequence[RigidBody], has_floating_base: bool, out: Collector) -> None:
    """Run all rules on masses and inertias."""
    size = robot_size(bodies)
    minor = _minor_links(bodies)
    for link in robot.links:
        if link.has_inertial and _is_possible(link, link.name in minor, out):
            box = extent(link)
            severity = "note" if link.name in minor else "warning"
            # One cause, one finding: what stands first explains what follows.
            if not _density(link, box, size, severity, out) and not _placeholder(link, severity, out):
                _inertia_size(link, box, size, severity, out)
            _centre(link, box, out)
    _repeated(robot.links, out)
    middles = crosses(robot.links, robot.joints, robot.loops)
    _massless([body for body in bodies if body.links[0][0].name not in middles], has_floating_base, out)


def robot_size(bodies: Sequence[RigidBody]) -> float:
    """Diagonal of the box around all link frames at the zero pose [m]."""
    origins: list[np.ndarray] = []
    frames: dict[int, tuple[np.ndarray, np.ndarray]] = {-1: (np.eye(3), np.zeros(3))}
    for body in bodies:
        R, p = frames[body.parent]
        frames[body.index] = (R @ body.rotation, p + R @ body.position)
        R, p = frames[body.index]
        origins.extend(p + R @ at for _, _, at in body.links)
    if not origins:
        return 0.0
    points = np.array(origins)
    return float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))


def _minor_links(bodies: Sequence[RigidBody]) -> set[str]:
    """Links that are fixed to a body and hardly matter in it, such as sensors."""
    minor = set()
    for body in bodies:
        most = max((float(np.max(np.abs(link.inertia))) for link, _, _ in body.links), default=0.0)
        for link, _, _ in body.links:
            if link.mass <= _MINOR * body.mass and float(np.max(np.abs(link.inertia))) <= _MINOR * most:
                minor.add(link.name)
    return minor


def _inertial(link: Link) -> Element:
    """Where a link's inertia is written; in MJCF that may be the body, whose geoms give it."""
    own: Element | None = link.element.first("inertial")
    return link.element if own is None else own


def _rounding(link: Link) -> float:
    """Half a unit in the last printed digit of the tensor's entries, at most [kg m²]."""
    tensor = _inertial(link).first("inertia")
    texts = () if tensor is None else (tensor.attributes.get(m, "") for m in MOMENTS)
    return max((_half_unit(t) for t in texts), default=0.0)


def _half_unit(text: str) -> float:
    mantissa, _, exponent = text.strip().lower().partition("e")
    digits = len(mantissa.partition(".")[2])
    if not digits and not exponent:
        return 0.0  # "1" is meant as it stands
    try:
        return float(0.5 * 10.0 ** (int(exponent or "0") - digits))
    except (ValueError, OverflowError):
        return 0.0


def _is_possible(link: Link, is_minor: bool, out: Collector) -> bool:
    """Report what no body can have; whether the plausibility rules make sense."""
    line = _inertial(link).line
    if link.mass < 0.0:
        out.add("mass-negative", "error", link.where, f"its mass is {link.mass:g} kg.", "A mass is positive.", line)
        return False
    moments = np.linalg.eigvalsh(link.inertia)
    largest = float(np.max(np.abs(moments)))
    odd = "note" if is_minor else "warning"
    if largest <= _POINT**2 * link.mass:
        if link.mass > 0.0:
            message = f"its inertia is as good as zero: {link.mass:g} kg in one point."
            out.add("inertia-zero", odd, link.where, message, "Give it an inertia tensor [kg m²].", line)
        return False
    rounding = min(_rounding(link), 0.1 * largest) + 1e-12 * largest
    shown = " ".join(f"{m:.4g}" for m in moments)
    if moments[0] < -3.0 * rounding or moments[2] <= 0.0:  # entries that are off by r move the moments by up to 3 r
        message = f"its inertia is not positive: the principal moments are {shown} kg m²."
        severity = "warning" if is_minor else "error"
        out.add("inertia-negative", severity, link.where, message, "Check signs, units and the mixed moments.", line)
        return False
    excess = float(moments[2] - moments[1] - moments[0])
    if excess > 9.0 * rounding:
        severity = "error" if excess > _IMPOSSIBLE * largest and not is_minor else "warning"
        message = (
            f"no body has its inertia: principal moments {shown} kg m², the largest exceeds the sum of the others."
        )
        fix = "The tensor must be about the centre of mass, in the axes of <origin>; check signs and units."
        out.add("inertia-triangle", severity, link.where, message, fix, line)
        return False
    if link.mass == 0.0:
        out.add("mass-zero", odd, link.where, "it has an inertia but no mass.", "Give it a mass [kg].", line)
    return link.mass > 0.0


def _placeholder(link: Link, severity: str, out: Collector) -> bool:
    """The same round number three times is what people type to get rid of a message."""
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


def _inertia_size(link: Link, box: Extent | None, size: float, severity: str, out: Collector) -> None:
    """The radius of gyration against the link's shape, and against the densest metal."""
    line = _inertial(link).line
    largest = float(np.max(np.linalg.eigvalsh(link.inertia)))
    radius = math.sqrt(largest / link.mass)
    reach = box.reach(link.com) if box is not None and box.complete else size
    if reach > 0.0 and radius > (1.2 if box is not None and box.complete else 1.0) * reach + 0.05:
        message = f"its inertia is too big: a radius of gyration of {radius:.3g} m, but it reaches only {reach:.3g} m"
        whose = "" if box is not None and box.complete else " (the whole robot)"
        fix = f"Inertias are in kg m²{_unit_hint(largest, link.mass, reach)}."
        out.add("inertia-too-big", severity, link.where, message + whose + ".", fix, line)
        return
    ball = math.sqrt(0.4) * (3.0 * link.mass / (4.0 * math.pi * _DENSEST)) ** (1.0 / 3.0)
    if radius < 0.5 * ball:
        message = f"its inertia is too small: {link.mass:g} kg with a radius of gyration of {radius:.3g} m"
        fix = "Inertias are in kg m² and masses in kg."
        out.add("inertia-too-small", severity, link.where, message + " are denser than any metal.", fix, line)


def _unit_hint(largest: float, mass: float, reach: float) -> str:
    for factor, unit in _UNITS:
        if 0.1 * reach < math.sqrt(largest * factor / mass) < reach:
            return f"; these look like {unit}"
    return ""


def _density(link: Link, box: Extent | None, size: float, severity: str, out: Collector) -> bool:
    """The mass against the box around the link's shapes, or against the size of the robot."""
    line = _inertial(link).line
    if box is not None and box.complete and box.volume > 0.0:
        density = link.mass / box.volume
        if density > _DENSEST and link.mass > 0.1:
            message = f"{link.mass:g} kg in a box of {box.volume:.3g} m³ are denser than any metal."
            hint = " These look like grams." if density / 1000.0 < 10_000.0 and link.mass >= 10.0 else ""
            out.add("mass-too-big", severity, link.where, message, f"Masses are in kg.{hint}", line)
            return True
    if link.mass > _HEAVY and size < _SMALL:
        message = f"{link.mass:g} kg, in a robot of {size:.2g} m."
        out.add("mass-too-big", severity, link.where, message, "Masses are in kg; are these grams?", line)
        return True
    return False


def _centre(link: Link, box: Extent | None, out: Collector) -> None:
    if box is None or not box.complete:
        return
    outside = box.outside(link.com)
    if outside > max(0.5 * box.diagonal, 0.02):
        line = _inertial(link).line
        message = f"its centre of mass is {outside:.3g} m outside its shapes, which are {box.diagonal:.3g} m across."
        out.add("com-far", "warning", link.where, message, "Positions are in m, in the link's own frame.", line)


def _repeated(links: Iterable[Link], out: Collector) -> None:
    """One tensor for links of different mass was copied."""
    groups: dict[bytes, list[Link]] = {}
    for link in links:
        if link.has_inertial and link.mass > 0.0 and np.any(link.inertia):
            groups.setdefault(link.inertia.tobytes(), []).append(link)
    for group in groups.values():
        masses = {link.mass for link in group}
        if len(group) >= 3 and len(masses) >= 3 and max(masses) > 1.5 * min(masses):
            names = ", ".join(repr(link.name) for link in group[:6]) + (", ..." if len(group) > 6 else "")
            message = f"{len(group)} links of {min(masses):g} to {max(masses):g} kg have the same inertia: {names}."
            fix = "Give each the tensor of its own shape."
            out.add("inertia-repeated", "warning", group[0].where, message, fix, group[0].line)


def _massless(bodies: Sequence[RigidBody], has_floating_base: bool, out: Collector) -> None:
    for body in bodies:
        if (body.parent < 0 and not has_floating_base) or body.mass != 0.0:
            continue
        carrier = "the floating base" if body.joint is None else body.joint.where
        first = body.links[0][0]
        given = any(link.has_inertial for link, _, _ in body.links)
        message = f"it moves by {carrier}, but has no mass" + ("." if given else ": it has no <inertial>.")
        out.add(
            "massless", "warning", first.where, message, "Give it an <inertial>, or make the joint fixed.", first.line
        )
