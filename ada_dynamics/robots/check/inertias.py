# SPDX-License-Identifier: Apache-2.0
"""Rules on masses, centres of mass and inertia tensors: impossible values, placeholders and probable unit errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ada_dynamics.model.description import Description
from ada_dynamics.model.elements import Link
from ada_dynamics.robots.check.bodies import Extent, RigidBody, crosses, extent
from ada_dynamics.robots.check.report import Collector
from ada_dynamics.robots.readers.values import MOMENTS
from ada_dynamics.robots.readers.xml import Element

_DENSEST = 22_600.0  # [kg/m³], osmium
_UNITS = ((1e-9, "g mm²"), (1e-7, "g cm²"), (1e-6, "kg mm²"), (1e-4, "kg cm²"), (1e-3, "g m²"))
_HEAVY = 2_000.0  # [kg], for a link of a robot that is smaller than _SMALL
_SMALL = 5.0  # [m]
_POINT = 1e-7  # [m], radius of gyration of a point mass
_MINOR = 0.05  # share of a body's mass and inertia below which a link is minor
_IMPOSSIBLE = 0.01  # excess of the largest moment over the sum of the others, relative, that is an error


def check_inertias(robot: Description, bodies: Sequence[RigidBody], has_floating_base: bool, out: Collector) -> None:
    """Run all rules on masses and inertias."""
    size = robot_size(bodies)
    minor = _minor_links(bodies)
    for link in robot.links:
        if link.has_inertial and _is_possible(link, link.name in minor, out):
            box = extent(link)
            severity = "note" if link.name in minor else "warning"
            # One finding per cause: the first rule that applies explains the later ones.
            if not _density(link, box, size, severity, out) and not _placeholder(link, severity, out):
                _inertia_size(link, box, size, severity, out)
            _centre(link, box, out)
    _repeated(robot.links, out)
    middles = crosses(robot.links, robot.joints, robot.loops)
    _massless([body for body in bodies if body.links[0][0].name not in middles], has_floating_base, out)


def robot_size(bodies: Sequence[RigidBody]) -> float:
    """Diagonal of the bounding box of all link frames at the zero configuration [m]."""
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
    """Links with a small share in the mass and inertia of their body, such as sensors."""
    minor = set()
    for body in bodies:
        most = max((float(np.max(np.abs(link.inertia))) for link, _, _ in body.links), default=0.0)
        for link, _, _ in body.links:
            if link.mass <= _MINOR * body.mass and float(np.max(np.abs(link.inertia))) <= _MINOR * most:
                minor.add(link.name)
    return minor


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


def _is_possible(link: Link, is_minor: bool, out: Collector) -> bool:
    """Report physically impossible parameters; return True if the plausibility rules apply."""
    line = _inertial(link).line
    if link.mass < 0.0:
        out.add("mass-negative", "error", link.where, f"its mass is {link.mass:g} kg.", "Masses are positive.", line)
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


def _placeholder(link: Link, severity: str, out: Collector) -> bool:
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


def _inertia_size(link: Link, box: Extent | None, size: float, severity: str, out: Collector) -> None:
    """Compare the radius of gyration with the size of the link and with a ball of the densest metal."""
    line = _inertial(link).line
    largest = float(np.max(np.linalg.eigvalsh(link.inertia)))
    radius = math.sqrt(largest / link.mass)
    reach = box.reach(link.com) if box is not None and box.complete else size
    if reach > 0.0 and radius > (1.2 if box is not None and box.complete else 1.0) * reach + 0.05:
        message = f"its inertia is too large: radius of gyration {radius:.3g} m, extent {reach:.3g} m"
        whose = "" if box is not None and box.complete else " (of the whole robot)"
        fix = f"Inertias are in kg m²{_unit_hint(largest, link.mass, reach)}."
        out.add("inertia-too-big", severity, link.where, message + whose + ".", fix, line)
        return
    ball = math.sqrt(0.4) * (3.0 * link.mass / (4.0 * math.pi * _DENSEST)) ** (1.0 / 3.0)
    if radius < 0.5 * ball:
        message = f"its inertia is too small: {link.mass:g} kg with radius of gyration {radius:.3g} m"
        fix = "Inertias are in kg m² and masses in kg."
        out.add("inertia-too-small", severity, link.where, message + " exceed the density of any metal.", fix, line)


def _unit_hint(largest: float, mass: float, reach: float) -> str:
    for factor, unit in _UNITS:
        if 0.1 * reach < math.sqrt(largest * factor / mass) < reach:
            return f"; the values look like {unit}"
    return ""


def _density(link: Link, box: Extent | None, size: float, severity: str, out: Collector) -> bool:
    """Compare the mass with the bounding box of the link's shapes, or with the size of the robot."""
    line = _inertial(link).line
    if box is not None and box.complete and box.volume > 0.0:
        density = link.mass / box.volume
        if density > _DENSEST and link.mass > 0.1:
            message = f"{link.mass:g} kg in a box of {box.volume:.3g} m³ exceed the density of any metal."
            hint = " The value looks like grams." if density / 1000.0 < 10_000.0 and link.mass >= 10.0 else ""
            out.add("mass-too-big", severity, link.where, message, f"Masses are in kg.{hint}", line)
            return True
    if link.mass > _HEAVY and size < _SMALL:
        message = f"{link.mass:g} kg, in a robot of {size:.2g} m."
        out.add("mass-too-big", severity, link.where, message, "Masses are in kg; the value looks like grams.", line)
        return True
    return False


def _centre(link: Link, box: Extent | None, out: Collector) -> None:
    if box is None or not box.complete:
        return
    outside = box.outside(link.com)
    if outside > max(0.5 * box.diagonal, 0.02):
        line = _inertial(link).line
        message = f"its centre of mass is {outside:.3g} m outside its shapes (diagonal {box.diagonal:.3g} m)."
        out.add("com-far", "warning", link.where, message, "Positions are in m, in the link's frame.", line)


def _repeated(links: Iterable[Link], out: Collector) -> None:
    """Report equal tensors of links with different masses, which were probably copied."""
    groups: dict[bytes, list[Link]] = {}
    for link in links:
        if link.has_inertial and link.mass > 0.0 and np.any(link.inertia):
            groups.setdefault(link.inertia.tobytes(), []).append(link)
    for group in groups.values():
        masses = {link.mass for link in group}
        if len(group) >= 3 and len(masses) >= 3 and max(masses) > 1.5 * min(masses):
            names = ", ".join(repr(link.name) for link in group[:6]) + (", ..." if len(group) > 6 else "")
            message = f"{len(group)} links of {min(masses):g} to {max(masses):g} kg have the same inertia: {names}."
            fix = "Give each link the tensor of its shape."
            out.add("inertia-repeated", "warning", group[0].where, message, fix, group[0].line)


def _massless(bodies: Sequence[RigidBody], has_floating_base: bool, out: Collector) -> None:
    for body in bodies:
        if (body.parent < 0 and not has_floating_base) or body.mass != 0.0:
            continue
        carrier = "the floating base" if body.joint is None else body.joint.where
        first = body.links[0][0]
        given = any(link.has_inertial for link, _, _ in body.links)
        message = f"it is moved by {carrier}, but has no mass" + ("." if given else ": it has no <inertial>.")
        fix = "Give it an <inertial>, or make the joint fixed."
        out.add("massless", "warning", first.where, message, fix, first.line)
