# SPDX-License-Identifier: Apache-2.0
"""Reader of URDF 1.0 to 1.2: https://docs.ros.org/en/rolling/Tutorials/Intermediate/URDF.

Extensions of the standard: joint types spherical, cylindrical and universal (with <axis2>), `armature` (reflected rotor
inertia) as an attribute of <dynamics>, and `actuated="false"` on a <joint> without a motor; other readers ignore these
attributes. Loop joints: `readers/loops`. Drake's <drake:rotor_inertia value=...> and <drake:gear_ratio value=...> in
the <actuator> of a <transmission> give the armature gear² * rotor.
Elements of Drake and Gazebo: `readers/vendor_elements.py`. Shapes (<visual>, <collision>) are kept for drawing and
contact. Other elements (<ros2_control>, <sensor>, ...) have no part in the dynamics.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, ModelError, unknown_name
from ada_dynamics.model.description import Description
from ada_dynamics.model.elements import PLAIN, SHAPE_SIZES, Joint, Limits, Link, Mimic, Shape
from ada_dynamics.model.joints import JOINT_TYPES
from ada_dynamics.model.problems import Problem, Sink, raising
from ada_dynamics.model.rotations import UNIT, clean_relative, conjugated
from ada_dynamics.model.structure import rigid_loops
from ada_dynamics.model.turns import Turns
from ada_dynamics.robots.readers.loops import read_urdf_loops
from ada_dynamics.robots.readers.values import Attributes, JointKindTable, Refused, checked_spring, read_pose, the_child
from ada_dynamics.robots.readers.vendor_elements import DRAKE_JOINT
from ada_dynamics.robots.readers.xml import Element, parse_xml

Colours = Mapping[str, tuple[float, ...]]


def _read_colours(root: Element, sink: Sink) -> Colours:
    """Read colours by material, of the document and of the shapes of links."""
    found: dict[str, tuple[float, ...]] = {}
    for material in root.all("material"):
        _define(material, "<robot>", found, sink)
    for link in root.all("link"):
        for visual in link.all("visual"):
            for material in visual.all("material"):
                _define(material, "", found, _ignore)  # reported when the shape is read
    return found


def _ignore(problem: Problem) -> None:
    pass


def _define(material: Element, where: str, found: dict[str, tuple[float, ...]], sink: Sink) -> None:
    name = material.attributes.get("name", "")
    colour = _colour(material, where, sink)
    if name and colour is not None:
        found.setdefault(name, colour)  # the document has priority over shapes


def _colour(material: Element, where: str, sink: Sink) -> tuple[float, ...] | None:
    element = material.first("color")
    if element is None or "rgba" not in element.attributes:
        return None
    return tuple(Attributes(element, where, sink).vector("rgba", 4, PLAIN).tolist())


def _read_shapes(link: Element, role: str, where: str, colours: Colours, sink: Sink) -> list[Shape]:
    """Read the valid shapes of a link.

    Args:
        link: element of the link.
        role: "visual" or "collision".
        where: name of the link, for messages.
        colours: colours of the document by material.
        sink: callback for problems, which must not raise.
    """
    shapes = []
    for element in link.all(role):
        problems: list[Problem] = []
        shape = _shape(element, where, colours, problems.append)
        for problem in problems:
            sink(problem)
        if shape is not None and not problems:
            shapes.append(shape)
    return shapes


def _shape(role: Element, where: str, colours: Colours, sink: Sink) -> Shape | None:
    """Read the shape of a <visual> or <collision>, or None for unknown geometries."""
    geometry = role.first("geometry")
    body = None if geometry is None else next((child for child in geometry.children if child.tag in SHAPE_SIZES), None)
    if body is None:
        return None
    mesh = body.attributes.get("filename", "").strip() if body.tag == "mesh" else None
    if mesh == "":
        return None
    size = _size(body, where, sink)
    R, p = read_pose(role, where, sink)
    return Shape(body.tag, tuple(size.tolist()), p, R, _colour_of(role, where, colours, sink), mesh)


def _size(body: Element, where: str, sink: Sink) -> Array:
    """Read the sizes of a shape; ones after reporting a problem."""
    values = Attributes(body, where, sink)
    if body.tag == "mesh":
        return values.vector("scale", 3, (1.0, 1.0, 1.0))
    if body.tag == "box":
        values.text("size")  # reports that it is missing
        size = values.vector("size", 3, (1.0, 1.0, 1.0))
    else:
        size = np.array([values.number(name) for name in SHAPE_SIZES[body.tag]])
    if (size < 0.0).any():
        values.problem("shape-size", f"has size {size.tolist()}.", "Lengths and radii must not be negative.")
        return np.ones_like(size)
    return size


def _colour_of(role: Element, where: str, colours: Colours, sink: Sink) -> tuple[float, ...]:
    material = role.first("material")
    if material is None:
        return PLAIN
    return _colour(material, where, sink) or colours.get(material.attributes.get("name", ""), PLAIN)


MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


def _read_link(element: Element, colours: Colours, sink: Sink, odd_shapes: Sink) -> Link | None:
    """Read a link, or return None after reporting that it has no name.

    Args:
        element: element of the link.
        colours: colours of the document by material.
        sink: callback for problems.
        odd_shapes: callback for problems of shapes, which must not raise.
    """
    name = Attributes(element, "a link", sink).text("name")
    if name is None:
        return None
    link = Link(name, element=element)
    inertial = the_child(element, "inertial", link.where, sink)
    link.has_inertial = inertial is not None
    if inertial is not None:
        _read_inertial(link, inertial, sink)
    link.visuals = _read_shapes(element, "visual", link.where, colours, odd_shapes)
    link.collisions = _read_shapes(element, "collision", link.where, colours, odd_shapes)
    return link


def _read_inertial(link: Link, inertial: Element, sink: Sink) -> None:
    where = link.where
    R, link.com = read_pose(inertial, where, sink)
    mass = the_child(inertial, "mass", where, sink)
    tensor = the_child(inertial, "inertia", where, sink)
    values = Attributes(inertial, where, sink)
    if mass is None:
        values.problem("no-mass", "has no <mass>.", 'Add <mass value="..."/> [kg].')
    else:
        link.mass = Attributes(mass, where, sink).number("value")
    if tensor is None:
        values.problem("no-inertia", "has no <inertia>.", 'Add <inertia ixx="..." ... iyz="..."/> [kg m²].')
        return
    moments = Attributes(tensor, where, sink)
    # All six moments are required, as in urdfdom.
    xx, yy, zz, xy, xz, yz = (moments.number(m) for m in MOMENTS)
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if R is not UNIT:
        I = clean_relative(conjugated(R, I))
    link.inertia = I


_EULER = Refused("make it spherical or floating, whose coordinates are a quaternion.")
# Types spherical, cylindrical and universal are extensions; Euler angles are a choice of coordinates.
KINDS = JointKindTable[str](
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
# Types of URDF 1.0; urdfdom refuses files with other ones. Other joints are written as floating, with their type in the
# attribute EXACT_TYPE.
STANDARD = ("revolute", "continuous", "prismatic", "planar", "floating", "fixed")
EXACT_TYPE = "ada_type"
_DRAKE_TYPES = {"ball": "spherical"}  # of <drake:joint>, which also has universal and planar
_TOO_SHORT = 1e-9


def _read_joint(element: Element, sink: Sink) -> Joint | None:
    """Read a joint, or return None after reporting a problem."""
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
    if kind != "fixed":
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
    """Read the axis, by default (1, 0, 0), or both axes of a universal joint, by default z and y (x and y in Drake)."""
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
    """Read the limits; a missing lower or upper limit of a <limit> is 0, as in URDF."""
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
                "limits-of-ball", "has a lower limit, and the joint is spherical.", "Its total angle is >= 0."
            )
        return Limits(upper=values.number("upper", math.inf, unbounded=True), velocity=velocity, effort=effort)
    if not joint.type.has_limits():
        return Limits(velocity=velocity, effort=effort)
    lower = values.number("lower", 0.0, unbounded=True)
    upper = values.number("upper", 0.0, unbounded=True)
    if lower > upper:
        values.problem("limits-inverted", f"lower {lower:g} exceeds upper {upper:g}.", "Exchange them.")
        lower, upper = upper, lower
    return Limits(lower, upper, velocity, effort)


def _turns(joint: Joint, sink: Sink) -> Turns | None:
    """Read the three <turn>s of a spherical joint: axis at the zero position, lower and upper limit of each."""
    elements = joint.element.all("turn")
    if not elements:
        return None
    axes, lower, upper = [], [], []
    for element in elements:
        values = Attributes(element, joint.where, sink)
        axes.append(values.vector("xyz", 3, (1.0, 0.0, 0.0)))
        lower.append(values.number("lower", -math.inf, unbounded=True))
        upper.append(values.number("upper", math.inf, unbounded=True))
    problem = "only spherical joints can have <turn>s" if joint.kind != "spherical" else None
    if problem is None and len(elements) != 3:
        problem = f"it has {len(elements)} <turn>s; three are needed"
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


MimicChoice: TypeAlias = Literal["keep", "free", "refuse"]
MIMIC_CHOICES: tuple[MimicChoice, ...] = get_args(MimicChoice)
NEW_JOINT_TYPES = ("spherical", "cylindrical", "universal")  # extensions, unknown to other readers of URDF

_LOOKS_LIKE = {
    "sdf": "an SDFormat file",
    "gazebo": "an old Gazebo file",
    "mujoco": "a MuJoCo (MJCF) file",
    "mujocoinclude": "a MuJoCo (MJCF) include file",
    "html": "a web page: was an error page downloaded instead of the file?",
    "svg": "a drawing (SVG)",
    "COLLADA": "a mesh (COLLADA)",
    "package": "a ROS package.xml",
    "launch": "a ROS launch file",
    "world": "a world file",
    "model": "a Gazebo model.config",
    "openrave": "an OpenRAVE file",
    "Robot": "an OpenRAVE file",
}


def read_urdf(data: bytes | str, file: str = "URDF text", mimic: str = "keep") -> Description:
    """Read the description of a URDF, whose `build` returns the model.

    Args:
        data: the document.
        file: name of the document, for messages.
        mimic: treatment of <mimic>: "keep" (the joint follows its leader), "free" (it has an independent coordinate) or
            "refuse" (an error that names the joints).

    Raises:
        ModelError: the document is invalid; the message names file, line, element and attribute.
    """
    check_mimic(mimic)
    robot = describe_urdf(parse_xml(data, file), file, raising(file))
    finish_description(robot, mimic)
    return robot


def finish_description(robot: Description, mimic: str) -> None:
    """Apply the treatment of mimic joints, and refuse loops between rigidly connected links.

    Raises:
        ModelError: there are mimic joints and `mimic` is "refuse", or the links of a loop are rigidly connected.
    """
    if mimic == "free":
        robot.free_mimics()
    elif mimic == "refuse":
        robot.refuse_mimics()
    for problem in rigid_loops(robot):
        raise problem.error(robot.file)


def check_mimic(mimic: str) -> None:
    """Raise InputError for an unknown treatment of mimic joints."""
    if mimic not in MIMIC_CHOICES:
        message = f"mimic is {mimic!r}; allowed: {', '.join(map(repr, MIMIC_CHOICES))}."
        raise InputError(message, field="mimic", value=mimic, allowed=MIMIC_CHOICES)


def describe_urdf(root: Element, file: str, sink: Sink) -> Description:
    """Read links, joints and loops without checking their structure; the sink receives problems of single values."""
    if root.tag != "robot":
        likeness = _LOOKS_LIKE.get(root.tag) or _LOOKS_LIKE.get(root.tag.lower())
        looks = f"it looks like {likeness}." if likeness else "a URDF starts with <robot name=...>."
        message = f"{file}, line {root.line}: the document is <{root.tag[:40]}>, not a URDF: {looks}"
        raise ModelError(message, file=file, line=root.line)
    _check_version(root, sink)
    robot = Description(root.attributes.get("name", "").strip() or _stem(file), file, root)
    colours = _read_colours(root, robot.odd_shapes.append)
    for element in root.children:
        if element.tag == "link":
            link = _read_link(element, colours, sink, robot.odd_shapes.append)
            if link is not None:
                robot.links.append(link)
        elif element.tag in ("joint", DRAKE_JOINT):
            joint = _read_joint(element, sink)
            if joint is not None:
                robot.joints.append(joint)
        elif element.tag.startswith("xacro:") and element.tag[6:] in _XACRO:
            sink(
                Problem(
                    "xacro",
                    element.line,
                    f"<{element.tag}>",
                    "the document is an unexpanded xacro file.",
                    "Give the file the ending .xacro, or expand it first.",
                )
            )
    robot.note_odd_shapes()
    _read_transmissions(robot, sink)
    read_urdf_loops(robot, sink)
    return robot


_XACRO = {"macro", "property", "include", "arg", "if", "unless", "call", "insert_block", "element"}


def _stem(file: str) -> str:
    return file.replace("\\", "/").rsplit("/", 1)[-1].split(".", 1)[0] or "robot"


def _check_version(root: Element, sink: Sink) -> None:
    version = root.attributes.get("version")
    if version is None or version.strip() in {"1", "1.0", "1.1", "1.2"}:
        return
    sink(
        Problem(
            "version", root.line, "<robot>", f"version={version[:40]!r} is not known.", "Allowed: 1.0, 1.1 and 1.2."
        )
    )


def _read_transmissions(robot: Description, sink: Sink) -> None:
    """Read armature from Drake's rotor inertia and gear ratio in the actuators of transmissions."""
    by_name = {joint.name: joint for joint in robot.joints}
    for transmission in robot.root.all("transmission"):
        joint = transmission.first("joint")
        for actuator in transmission.all("actuator"):
            rotor, gear = actuator.first("drake:rotor_inertia"), actuator.first("drake:gear_ratio")
            if joint is None or rotor is None:
                continue
            target = by_name.get(joint.attributes.get("name", ""))
            if target is None:
                continue
            where = f"transmission of {target.where}"
            inertia = Attributes(rotor, where, sink).number("value")
            ratio = 1.0 if gear is None else Attributes(gear, where, sink).number("value")
            _set_armature(target, inertia * ratio * ratio, rotor, sink)


def _set_armature(joint: Joint, armature: float, element: Element, sink: Sink) -> None:
    where = joint.where
    if joint.armature:
        message = f"<{element.tag}> and <dynamics armature> both define its rotor inertia."
        sink(Problem("armature-twice", element.line, where, message, "Keep one of them."))
    elif armature < 0.0:
        sink(
            Problem("negative", element.line, where, f"its rotor inertia is {armature:g}.", "It must not be negative.")
        )
    elif JOINT_TYPES[joint.kind].nv:
        joint.armature = armature
