# SPDX-License-Identifier: Apache-2.0
"""Reader of URDF 1.0 to 1.2: https://docs.ros.org/en/rolling/Tutorials/Intermediate/URDF.

Extensions of the standard: joint types spherical, cylindrical and universal (with <axis2>), `armature` (reflected rotor
inertia) as an attribute of <dynamics>, and `actuated="false"` on a <joint> without a motor; other readers ignore these
attributes. Loop joints: `urdf_loops.py`. Drake's <drake:rotor_inertia value=...> and <drake:gear_ratio value=...> in
the <actuator> of a <transmission> give the armature gear² * rotor.
Elements of Drake and Gazebo: `description_builder.py`. Shapes (<visual>, <collision>) are kept for drawing and
contact. Other elements (<ros2_control>, <sensor>, ...) have no part in the dynamics.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import numpy as np

from ada_dynamics.errors import ModelError, unknown_name
from ada_dynamics.model.description import Description, Problem, Sink
from ada_dynamics.model.elements import PLAIN, SHAPE_SIZES, Joint, Limits, Link, Mimic, Shape
from ada_dynamics.model.rotations import UNIT, clean_relative, conjugated
from ada_dynamics.robots.readers.description_builder import read_drake
from ada_dynamics.robots.readers.urdf_loops import read_urdf_loops
from ada_dynamics.robots.readers.values import MOMENTS, Attributes, JointKindTable, UnsupportedKind
from ada_dynamics.robots.readers.xml import Element

Colours = Mapping[str, tuple[float, ...]]


def _read_colours(root: Element, sink: Sink) -> Colours:
    """Read colours by material; those of the document have priority over those in the shapes of links."""
    found: dict[str, tuple[float, ...]] = {}
    inside = [material for link in root.all("link") for v in link.all("visual") for material in v.all("material")]
    reported: list[Problem] = []  # with the shape
    for materials, report in ((root.all("material"), sink), (inside, reported.append)):
        for material in materials:
            name, colour = material.attributes.get("name", ""), _colour(Attributes(material, "<robot>", report))
            if name and colour is not None:
                found.setdefault(name, colour)
    return found


def _colour(material: Attributes) -> tuple[float, ...] | None:
    element = material.element.first("color")
    if element is None or "rgba" not in element.attributes:
        return None
    return tuple(Attributes(element, material.where, material.sink).vector("rgba", PLAIN).tolist())


def _shape(role: Attributes, colours: Colours) -> Shape | None:
    """Read the shape of a <visual> or <collision>, or None for unknown geometries."""
    geometry = role.element.first("geometry")
    found = None if geometry is None else next((child for child in geometry.children if child.tag in SHAPE_SIZES), None)
    if found is None:
        return None
    body = Attributes(found, role.where, role.sink)
    mesh = found.attributes.get("filename", "").strip() if found.tag == "mesh" else None
    if mesh == "":
        return None
    if found.tag == "box":
        body.text("size")  # reports that it is missing
    size, (R, p) = body.size(None), role.origin()
    colour: tuple[float, ...] | None = None
    material = role.element.first("material")
    if material is not None:
        colour = _colour(Attributes(material, role.where, role.sink))
        colour = colour or colours.get(material.attributes.get("name", ""))
    return Shape(found.tag, tuple(size.tolist()), p, R, colour or PLAIN, mesh)


def _read_link(element: Element, colours: Colours, sink: Sink, odd_shapes: Sink) -> Link | None:
    """Read a link, or return None after reporting that it has no name; `odd_shapes` must not raise."""
    values = Attributes(element, "a link", sink)
    name = values.text("name")
    if name is None:
        return None
    link = Link(name, element=element)
    values.where = link.where
    inertial = values.inside("inertial")
    link.has_inertial = inertial is not None
    if inertial is not None:
        _read_inertial(link, inertial)
    read = partial(_shape, colours=colours)
    link.visuals = values.shapes("visual", read, odd_shapes)
    link.collisions = values.shapes("collision", read, odd_shapes)
    return link


def _read_inertial(link: Link, inertial: Attributes) -> None:
    R, link.com = inertial.origin()
    mass, moments = inertial.inside("mass"), inertial.inside("inertia")
    if mass is None:
        inertial.problem("no-mass", "has no <mass>.", 'Add <mass value="..."/> [kg].')
    else:
        link.mass = mass.number("value")
    if moments is None:
        inertial.problem("no-inertia", "has no <inertia>.", 'Add <inertia ixx="..." ... iyz="..."/> [kg m²].')
        return
    I = np.zeros((3, 3))
    for name, i, j in MOMENTS:  # all six are required, as in urdfdom
        I[i, j] = I[j, i] = moments.number(name)
    link.inertia = I if R is UNIT else clean_relative(conjugated(R, I))


# Types of URDF 1.0; urdfdom refuses files with other ones. Other joints are written as floating, with their type in the
# attribute EXACT_TYPE.
STANDARD = ("revolute", "continuous", "prismatic", "planar", "floating", "fixed")
_EULER = UnsupportedKind("make it spherical or floating, whose coordinates are a quaternion.")
# Types spherical, cylindrical and universal are extensions; Euler angles are a choice of coordinates.
KINDS = JointKindTable[str](
    "URDF",
    {
        **{kind: kind for kind in (*STANDARD, "spherical", "cylindrical", "universal")},
        "helical": UnsupportedKind("keep its SDFormat file; no format that is written has screws."),
        "spherical_euler": _EULER,
        "floating_euler": _EULER,
    },
)
EXACT_TYPE = "ada_type"


def _read_joint(element: Element, sink: Sink) -> Joint | None:
    """Read a joint, or return None after reporting a problem."""
    values = Attributes(element, "a joint", sink)
    name = values.text("name")
    if name is None:
        return None
    values.where = f"joint {name!r}"
    kind, parent, child = _kind(values), values.link("parent"), values.link("child")
    if kind is None or parent is None or child is None:
        return None
    joint = Joint(name, kind, parent[0], child[0], element=element)
    joint.rotation, joint.xyz = values.origin()
    if joint.type.axes:
        _read_axes(joint, values)
    limit, dynamics = values.inside("limit"), values.inside("dynamics")
    if kind == "fixed":
        return joint
    if limit is not None:
        joint.limits = _limits(joint, limit)
    if dynamics is not None:
        for quantity in ("damping", "friction", "armature"):
            setattr(joint, quantity, dynamics.number(quantity, 0.0))
        joint.stiffness, joint.rest = dynamics.spring("spring_stiffness", "spring_reference")
    mimic = values.inside("mimic")
    source = None if mimic is None else mimic.text("joint")
    if mimic is not None and source is not None:
        joint.mimic = Mimic(source, mimic.number("multiplier", 1.0), mimic.number("offset", 0.0))
    return joint


def _kind(values: Attributes) -> str | None:
    kind = values.text("type")
    if kind == "floating" and values.has(EXACT_TYPE):
        kind = values.text(EXACT_TYPE)
    if kind is None:
        return None
    if kind in KINDS.words:
        return kind
    values.problem("joint-type", str(unknown_name("joint type", kind[:40], KINDS.words)))
    return None


def _read_axes(joint: Joint, values: Attributes) -> None:
    """Read the axis, by default (1, 0, 0), or both axes of a universal joint, by default z and y."""
    x, y, z = np.eye(3)
    is_universal = joint.type.axes == 2
    joint.axis = values.direction("axis", z if is_universal else x)
    if is_universal:
        joint.axis2 = values.direction("axis2", y)


def _limits(joint: Joint, values: Attributes) -> Limits:
    """Read the limits of a <limit>: one missing end is 0, as in URDF; without both ends the joint is unlimited."""
    velocity, effort = (values.number(name, math.inf, unbounded=True) for name in ("velocity", "effort"))
    if not joint.type.has_limits() and joint.kind != "spherical":
        return Limits(velocity=velocity, effort=effort)
    if joint.type.has_limits() and not (values.has("lower") or values.has("upper")):
        return Limits(velocity=velocity, effort=effort)
    highest = 0.0 if joint.type.has_limits() else math.inf
    lower, upper = (values.number(*end, unbounded=True) for end in (("lower", 0.0), ("upper", highest)))
    return Limits(lower, upper, velocity, effort)


_LOOKS_LIKE = {
    "gazebo": "an old Gazebo file",
    "mujocoinclude": "a MuJoCo (MJCF) include file",
    "html": "a web page: was an error page downloaded instead of the file?",
    "COLLADA": "a mesh (COLLADA)",
    "package": "a ROS package.xml",
    "launch": "a ROS launch file",
}


def describe_urdf(root: Element, file: str, sink: Sink) -> Description:
    """Read links, joints and loops without checking their structure; the sink receives problems of single values."""
    if root.tag != "robot":
        likeness = _LOOKS_LIKE.get(root.tag) or _LOOKS_LIKE.get(root.tag.lower())
        looks = f"it looks like {likeness}." if likeness else "a URDF starts with <robot name=...>."
        message = f"{file}, line {root.line}: the document is <{root.tag[:40]}>, not a URDF: {looks}"
        raise ModelError(message, file=file, line=root.line)
    version = root.attributes.get("version", "1.0")
    if version.strip() not in {"1", "1.0", "1.1", "1.2"}:
        message = f"version={version[:40]!r} is not known."
        sink(Problem("version", root.line, "<robot>", message, "Allowed: 1.0, 1.1 and 1.2."))
    stem = file.replace("\\", "/").rsplit("/", 1)[-1].split(".", 1)[0]
    robot = Description(root.attributes.get("name", "").strip() or stem or "robot", file, root)
    colours = _read_colours(root, robot.odd_shapes.append)
    for element in root.children:
        if element.tag == "link":
            link = _read_link(element, colours, sink, robot.odd_shapes.append)
            if link is not None:
                robot.links.append(link)
        elif element.tag == "joint":
            for child in element.children:
                read_drake(child, robot, sink)
            joint = _read_joint(element, sink)
            if joint is not None:
                robot.joints.append(joint)
        elif element.tag.startswith("xacro:") and element.tag[6:] in _XACRO:
            fix = "Give the file the ending .xacro, or expand it first."
            sink(Problem("xacro", element.line, f"<{element.tag}>", "the document is an unexpanded xacro file.", fix))
    _read_transmissions(robot, sink)
    read_urdf_loops(robot, sink)
    return robot


_XACRO = {"macro", "property", "include", "arg", "if", "unless", "call", "insert_block", "element"}


def _read_transmissions(robot: Description, sink: Sink) -> None:
    """Read armature from Drake's rotor inertia and gear ratio in the actuators of transmissions."""
    by_name = {joint.name: joint for joint in robot.joints}
    for transmission in robot.root.all("transmission"):
        named = transmission.first("joint")
        joint = None if named is None else by_name.get(named.attributes.get("name", ""))
        for actuator in transmission.all("actuator"):
            rotor, gear = actuator.first("drake:rotor_inertia"), actuator.first("drake:gear_ratio")
            if joint is None or rotor is None:
                continue
            values = Attributes(rotor, joint.where, sink)
            inertia = values.number("value")
            ratio = 1.0 if gear is None else Attributes(gear, joint.where, sink).number("value")
            if joint.armature:
                message = "and <dynamics armature> both define its rotor inertia."
                values.problem("armature-twice", message, "Keep one of them.")
            elif joint.type.nv:
                joint.armature = inertia * ratio * ratio
