# SPDX-License-Identifier: Apache-2.0
"""Elements and attributes that URDF does not know but nearly; readers skip them silently."""

from __future__ import annotations

from ada_dynamics.model.description import Description
from ada_dynamics.robots.lint.report import Collector
from ada_dynamics.robots.readers.loops import ELEMENTS
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.structured_text.lexical import slip

# Element -> its known children and attributes, as far as the dynamics is concerned.
_KNOWN: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "robot": (
        frozenset(("link", "joint", "material", "transmission", "gazebo", "sensor", *ELEMENTS)),
        frozenset(("name", "version")),
    ),
    "link": (
        frozenset(("inertial", "visual", "collision", "contact")),
        frozenset(("name", "type")),
    ),
    "joint": (
        frozenset(("origin", "parent", "child", "axis", "axis2", "limit", "dynamics", "mimic", "turn", "calibration")),
        frozenset(("name", "type")),
    ),
    "inertial": (frozenset(("origin", "mass", "inertia")), frozenset()),
    "origin": (frozenset(), frozenset(("xyz", "rpy", "quat_xyzw"))),
    "mass": (frozenset(), frozenset(("value",))),
    "inertia": (frozenset(), frozenset(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))),
    "axis": (frozenset(), frozenset(("xyz",))),
    "axis2": (frozenset(), frozenset(("xyz",))),
    "parent": (frozenset(), frozenset(("link",))),
    "child": (frozenset(), frozenset(("link",))),
    "limit": (
        frozenset(),
        frozenset(("lower", "upper", "effort", "velocity", "acceleration", "deceleration", "jerk")),
    ),
    "dynamics": (frozenset(), frozenset(("damping", "friction", "armature", "spring_stiffness", "spring_reference"))),
    "mimic": (frozenset(), frozenset(("joint", "multiplier", "offset"))),
    "turn": (frozenset(), frozenset(("xyz", "lower", "upper"))),
}


def check_spelling(robot: Description, out: Collector) -> None:
    """Report elements and attributes that are probably misspelt."""
    for part in (robot.root, *robot.root.children):
        if part.tag not in {"robot", "link", "joint"}:
            continue
        where = f"<{part.tag}>" if part is robot.root else f"{part.tag} {part.attributes.get('name', '')!r}"
        _check(part, where, out)
        if part is not robot.root:
            for child in part.children:
                _check_below(child, where, out)


def _check_below(element: Element, where: str, out: Collector) -> None:
    if element.tag not in _KNOWN or element.tag in {"robot", "link", "joint"}:
        return
    _check(element, where, out)
    if element.tag == "inertial":
        for child in element.children:
            _check_below(child, where, out)


def _check(element: Element, where: str, out: Collector) -> None:
    children, attributes = _KNOWN[element.tag]
    for child in element.children:
        near = slip(child.tag, children)
        if near:
            message = f"<{element.tag}> has an element <{child.tag}>, which has no meaning and is skipped."
            out.add("unknown-element", "warning", where, message, f"Did you mean <{near}>?", child.line)
    for name in element.attributes:
        near = slip(name, attributes)
        if near:
            message = f"<{element.tag}> has an attribute {name!r}, which has no meaning and is skipped."
            out.add("unknown-attribute", "warning", where, message, f"Did you mean {near!r}?", element.line)
