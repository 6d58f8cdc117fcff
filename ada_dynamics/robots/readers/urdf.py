# SPDX-License-Identifier: Apache-2.0
"""URDF into a model: https://docs.ros.org/en/rolling/Tutorials/Intermediate/URDF, versions 1.0 to 1.2.

Beyond the standard: joint types spherical, cylindrical and universal (with <axis2>), and `armature` (reflected rotor
inertia) as an attribute of <dynamics> and `actuated="false"` on a <joint> without a motor; other readers ignore these
attributes. Joints that close loops: `readers/loops`. In a <transmission>'s <actuator>, Drake's
<drake:rotor_inertia value=...> and <drake:gear_ratio value=...> give the armature gear² * rotor.
Spellings of Drake and Gazebo: `readers/foreign.py`. Shapes (<visual>, <collision>) are kept for looks and contact.
Everything else that robots carry (<ros2_control>, <sensor>, ...) has no part in the dynamics.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from ada_dynamics.errors import InputError, ModelError
from ada_dynamics.model.description import Description
from ada_dynamics.model.elements import Joint
from ada_dynamics.model.joints import JOINT_TYPES
from ada_dynamics.model.problems import Problem, Sink, raising
from ada_dynamics.model.structure import rigid_loops
from ada_dynamics.robots.readers.foreign import DRAKE_JOINT
from ada_dynamics.robots.readers.loops import read_urdf_loops
from ada_dynamics.robots.readers.urdf_joint import read_joint
from ada_dynamics.robots.readers.urdf_link import read_link
from ada_dynamics.robots.readers.urdf_shapes import read_colours
from ada_dynamics.robots.readers.values import Attributes
from ada_dynamics.robots.readers.xml import Element, parse_xml

MimicChoice: TypeAlias = Literal["keep", "free", "refuse"]
MIMIC_CHOICES: tuple[MimicChoice, ...] = get_args(MimicChoice)
NEW_JOINT_TYPES = ("spherical", "cylindrical", "universal")  # ours; other readers of URDF do not know them

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
    """The robot of a URDF, ready to `build`.

    Args:
        data: the document.
        file: where it comes from, for messages.
        mimic: what a <mimic> means: "keep" (the joint follows the other one), "free" (it has its own coordinate) or
            "refuse" (an error that names the joints).

    Raises:
        ModelError: the document is unusable; the message names file, line, element and attribute.
    """
    check_mimic(mimic)
    robot = describe_urdf(parse_xml(data, file), file, raising(file))
    settle(robot, mimic)
    return robot


def settle(robot: Description, mimic: str) -> None:
    """Free or refuse mimicking joints as is wanted, and refuse what `Description.build` allows, but no file should say.

    Raises:
        ModelError: joints mimic others, or a loop's links are fixed to each other.
    """
    if mimic == "free":
        robot.free_mimics()
    elif mimic == "refuse":
        robot.refuse_mimics()
    for problem in rigid_loops(robot):
        raise ModelError(problem.text(robot.file))


def check_mimic(mimic: str) -> None:
    """Refuse an unknown choice."""
    if mimic not in MIMIC_CHOICES:
        raise InputError(f"mimic is {mimic!r}; allowed: {', '.join(map(repr, MIMIC_CHOICES))}.")


def describe_urdf(root: Element, file: str, sink: Sink) -> Description:
    """Links, joints and loops as they are written; problems of single values go to the sink."""
    if root.tag != "robot":
        likeness = _LOOKS_LIKE.get(root.tag) or _LOOKS_LIKE.get(root.tag.lower())
        looks = f"it looks like {likeness}." if likeness else "a URDF starts with <robot name=...>."
        raise ModelError(f"{file}, line {root.line}: the document is <{root.tag[:40]}>, not a URDF: {looks}")
    _check_version(root, sink)
    robot = Description(root.attributes.get("name", "").strip() or _stem(file), file, root)
    colours = read_colours(root, robot.odd_shapes.append)
    for element in root.children:
        if element.tag == "link":
            link = read_link(element, colours, sink, robot.odd_shapes.append)
            if link is not None:
                robot.links.append(link)
        elif element.tag in ("joint", DRAKE_JOINT):
            joint = read_joint(element, sink)
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
    """Armature from Drake's rotor inertia and gear ratio, which stand in a transmission's actuator."""
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
        message = f"<{element.tag}> and <dynamics armature> both give its rotor inertia."
        sink(Problem("armature-twice", element.line, where, message, "Keep one of them."))
    elif armature < 0.0:
        sink(
            Problem("negative", element.line, where, f"its rotor inertia is {armature:g}.", "It must not be negative.")
        )
    elif JOINT_TYPES[joint.kind].nv:
        joint.armature = armature
