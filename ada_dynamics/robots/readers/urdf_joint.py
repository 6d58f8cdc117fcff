# SPDX-License-Identifier: Apache-2.0
"""A URDF joint."""

from __future__ import annotations

import math

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import unknown_name
from ada_dynamics.model.elements import Joint, Limits, Mimic
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.model.turns import Turns
from ada_dynamics.robots.readers.foreign import DRAKE_JOINT
from ada_dynamics.robots.readers.kinds import Kinds, Refused
from ada_dynamics.robots.readers.springs import checked_spring
from ada_dynamics.robots.readers.values import Attributes, read_pose, the_child
from ada_dynamics.robots.readers.xml import Element

_EULER = Refused("make it spherical or floating, whose coordinates are a quaternion.")
# What a file may name: spherical, cylindrical and universal are ours, and Euler angles a choice of coordinates.
KINDS = Kinds[str](
    "URDF",
    {
        "revolute": "revolute",
        "continuous": "continuous",
        "prismatic": "prismatic",
        "planar": "planar",
        "floating": "floating",
        "fixed": "fixed",
        "spherical": "spherical",
        "cylindrical": "cylindrical",
        "universal": "universal",
        "helical": Refused("write the model as SDFormat, whose type is screw."),
        "spherical_euler": _EULER,
        "floating_euler": _EULER,
    },
)
# Types of URDF 1.0: urdfdom refuses a file with another one. Other joints are written as floating, with their type in
# the attribute EXACT_TYPE.
STANDARD = ("revolute", "continuous", "prismatic", "planar", "floating", "fixed")
EXACT_TYPE = "ada_type"
_DRAKE_TYPES = {"ball": "spherical"}  # of <drake:joint>, which has universal and planar, too
_TOO_SHORT = 1e-9


def read_joint(element: Element, sink: Sink) -> Joint | None:
    """The joint, or None after reporting why there is none."""
    values = Attributes(element, "a joint", sink)
    name = values.text("name")
    if name is None:
        return None
    values.where = f"joint {name!r}"
    kind = _kind(values)
    parent, child = _end(element, "parent", values.where, sink), _end(element, "child", values.where, sink)
    if kind is None or parent is None or child is None:
        return None
    joint = Joint(name, kind, parent, child, element=element)
    joint.rotation, joint.xyz = read_pose(element, joint.where, sink)
    if joint.type.axes:
        _read_axes(joint, sink)
    joint.limits = _limits(joint, sink)
    joint.turns = _turns(joint, sink)
    _read_dynamics(joint, sink)
    if kind != "fixed":  # a fixed joint has nothing to follow with
        joint.mimic = _mimic(joint, sink)
    return joint


def _kind(values: Attributes) -> str | None:
    kind = values.text("type")
    if kind == "floating" and values.has(EXACT_TYPE):
        kind = values.text(EXACT_TYPE)
    if kind is None:
        return None
    if values.element.tag == DRAKE_JOINT:
        kind = _DRAKE_TYPES.get(kind, kind)
    if kind in KINDS.words:
        return kind
    values.problem("joint-type", str(unknown_name("joint type", kind[:40], KINDS.words)))
    return None


def _end(joint: Element, tag: str, where: str, sink: Sink) -> str | None:
    element = the_child(joint, tag, where, sink)
    if element is None:
        message = f"it has no <{tag}>."
        sink(Problem("missing-element", joint.line, where, message, f'Add <{tag} link="..."/>.'))
        return None
    return Attributes(element, where, sink).text("link")


def _read_axes(joint: Joint, sink: Sink) -> None:
    """The axis, (1, 0, 0) by default as in URDF; for a universal joint both: z and y, x and y in Drake's."""
    is_universal = joint.type.axes == 2
    is_ours = is_universal and joint.element.tag != DRAKE_JOINT
    joint.axis = _axis(joint, "axis", (0.0, 0.0, 1.0) if is_ours else (1.0, 0.0, 0.0), sink)
    if not is_universal:
        return
    joint.axis2 = _axis(joint, "axis2", (0.0, 1.0, 0.0), sink)
    lengths = float(np.linalg.norm(joint.axis) * np.linalg.norm(joint.axis2))
    if abs(float(joint.axis @ joint.axis2)) > _TOO_SHORT * lengths:
        message = "its <axis> and <axis2> are not perpendicular."
        sink(Problem("axes", joint.line, joint.where, message, "A universal joint has two perpendicular axes."))
        joint.axis, joint.axis2 = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])


def _axis(joint: Joint, tag: str, default: tuple[float, float, float], sink: Sink) -> Array:
    element = the_child(joint.element, tag, joint.where, sink)
    if element is None:
        return np.array(default)
    values = Attributes(element, joint.where, sink)
    if not values.has("xyz"):
        values.problem("missing-attribute", "has no attribute 'xyz'.", 'Add xyz="0 0 1" or another direction.')
    axis = values.vector("xyz", 3, default)
    if float(np.linalg.norm(axis)) < _TOO_SHORT:
        values.problem("zero-axis", "has length zero.", 'Give a direction such as xyz="0 0 1".')
        return np.array(default)
    return axis


def _limits(joint: Joint, sink: Sink) -> Limits:
    """Bounds; a missing lower or upper one is 0 by URDF's rule, if there is a <limit> at all."""
    element = the_child(joint.element, "limit", joint.where, sink)
    if element is None or joint.kind == "fixed":
        return Limits()
    values = Attributes(element, joint.where, sink)
    velocity = values.number("velocity", math.inf, unbounded=True)
    effort = values.number("effort", math.inf, unbounded=True)
    for name, value in (("velocity", velocity), ("effort", effort)):
        if value < 0.0:
            values.problem("negative-limit", f"{name} is {value:g}.", "It must not be negative.")
    velocity, effort = max(velocity, 0.0), max(effort, 0.0)
    if joint.kind == "spherical":
        if values.number("lower", 0.0, unbounded=True) not in (0.0, -math.inf):
            values.problem(
                "limits-of-ball", "has a lower limit, and the joint is spherical.", "Its whole turn is >= 0."
            )
        return Limits(upper=values.number("upper", math.inf, unbounded=True), velocity=velocity, effort=effort)
    if not joint.type.has_limits():
        return Limits(velocity=velocity, effort=effort)
    lower = values.number("lower", 0.0, unbounded=True)
    upper = values.number("upper", 0.0, unbounded=True)
    if lower > upper:
        values.problem("limits-inverted", f"lower {lower:g} is above upper {upper:g}.", "Exchange them.")
        lower, upper = upper, lower
    return Limits(lower, upper, velocity, effort)


def _turns(joint: Joint, sink: Sink) -> Turns | None:
    """The three <turn>s that a spherical joint stands for: each with its axis at the zero position, lower and upper."""
    elements = joint.element.all("turn")
    if not elements:
        return None
    axes, lower, upper = [], [], []
    for element in elements:
        values = Attributes(element, joint.where, sink)
        axes.append(values.vector("xyz", 3, (1.0, 0.0, 0.0)))
        lower.append(values.number("lower", -math.inf, unbounded=True))
        upper.append(values.number("upper", math.inf, unbounded=True))
    problem = "only spherical joints have turns" if joint.kind != "spherical" else None
    if problem is None and len(elements) != 3:
        problem = f"it has {len(elements)} turns, and needs three"
    turns = None if problem else Turns(axes, lower, upper)
    problem = problem if turns is None else turns.problem()
    if problem:
        fix = "Give three <turn xyz= lower= upper=/> elements, or none."
        sink(Problem("turns", elements[0].line, joint.where, f"{problem}.", fix))
        return None
    return turns


def _read_dynamics(joint: Joint, sink: Sink) -> None:
    element = the_child(joint.element, "dynamics", joint.where, sink)
    if element is None or joint.kind == "fixed":
        return
    values = Attributes(element, joint.where, sink)
    for name in ("damping", "friction", "armature"):
        value = values.number(name, 0.0)
        if value < 0.0:
            values.problem("negative", f"{name} is {value:g}.", "It must not be negative.")
        else:
            setattr(joint, name, value)
    stiffness, rest = values.number("spring_stiffness", 0.0), values.number("spring_reference", 0.0)
    joint.stiffness, joint.rest = checked_spring(joint.kind, stiffness, rest, element, joint.where, sink)


def _mimic(joint: Joint, sink: Sink) -> Mimic | None:
    element = the_child(joint.element, "mimic", joint.where, sink)
    element = element or the_child(joint.element, "drake:mimic", joint.where, sink)
    if element is None:
        return None
    values = Attributes(element, joint.where, sink)
    source = values.text("joint")
    if source is None:
        return None
    return Mimic(source, values.number("multiplier", 1.0), values.number("offset", 0.0))
