# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's MJCF into a description: bodies, joints, masses, defaults, equalities as loops and mimicking joints.

A body is a link with the body's own frame; a joint elsewhere in the body, and each of several joints, gets a link
without mass at its anchor. q is MuJoCo's qpos, with quaternions as x, y, z, w. Actuators tell which joints have
motors; what they do is left to the caller. Contacts, sensors, looks and keyframes are skipped. What would change the
motion and has no counterpart here (springs, tendons with forces, fluids, gravity compensation) is refused.
"""

from __future__ import annotations

from ada_dynamics.errors import ModelError
from ada_dynamics.model.readers.description import Description, NamedPlace, note_odd_shapes
from ada_dynamics.model.readers.mjcf.bodies import Walk, World, scale_masses
from ada_dynamics.model.readers.mjcf.equality import Equalities
from ada_dynamics.model.readers.mjcf.settings import read_settings
from ada_dynamics.model.readers.mjcf.shapes import read_colours
from ada_dynamics.model.readers.mjcf.values import MAIN, Settings, Values
from ada_dynamics.model.readers.problems import Problem, Sink
from ada_dynamics.model.readers.xml import Element

_UNREAD = {
    "include": "Put the included text in its place: MuJoCo does so by mj_saveLastXML.",
    "deformable": "Only rigid bodies are read.",
}
_FORCES = ("stiffness", "damping", "frictionloss", "armature")


def describe_mjcf(root: Element, file: str, sink: Sink) -> Description:
    """Links, joints and loops of an MJCF document."""
    robot = Description(root.attributes.get("model", "").strip() or "MuJoCo Model", file, root, holds_itself=True)
    for element in root.children:
        if element.tag in _UNREAD:
            message = f"<{element.tag}> is not read."
            sink(Problem("not-modelled", element.line, "<mujoco>", message, _UNREAD[element.tag]))
    settings = read_settings(root, robot, sink)
    read_colours(root, settings)
    bodies = root.all("worldbody")
    if not bodies:
        raise ModelError(f"{file}, line {root.line}: <mujoco>: a MuJoCo (MJCF) file without a <worldbody>.")
    walk = Walk(robot, settings, sink)
    world = walk.run(_merged(bodies))
    scale_masses(robot, settings.total_mass)
    note_odd_shapes(robot)
    equalities = Equalities(robot, world, settings, sink)
    for section in root.all("equality"):
        equalities.read(section)
    equalities.finish()
    for section in root.all("tendon"):
        _check_tendons(section, settings, sink)
    _read_actuators(root, robot, world, settings, sink)
    if any(joint.type == "free" for joint in world.joints.values()):
        robot.notes.append("the start pose of free bodies is a state and no part of the model: it is left out.")
    return robot


def _merged(sections: list[Element]) -> Element:
    """Several <worldbody> sections as one."""
    if len(sections) == 1:
        return sections[0]
    merged = Element("worldbody", {}, sections[0].line)
    merged.children = [child for section in sections for child in section.children]
    return merged


def _check_tendons(section: Element, settings: Settings, sink: Sink) -> None:
    for element in section.children:
        name = element.attributes.get("name", "")
        values = Values(element, f"tendon {name!r}", sink, settings, MAIN, "tendon")
        for attribute in _FORCES:
            values.refuse(attribute, "There are no tendons here: give its force as tau.")


def _read_actuators(root: Element, robot: Description, world: World, settings: Settings, sink: Sink) -> None:
    """Joints with motors; all of them where the file has no <actuator> at all."""
    sections = root.all("actuator")
    if not sections:
        return
    moved: dict[str, int] = {}
    for element in (child for section in sections for child in section.children):
        name = element.attributes.get("name", "")
        values = Values(element, f"actuator {name!r}", sink, settings)
        joint = values.text("joint") or values.text("jointinparent")
        if not joint:
            robot.notes.append(f"actuator {name!r} (line {element.line}) acts on no joint: it is left out.")
            continue
        if joint not in world.joints:
            values.problem("unknown-joint", f"names the joint {joint!r}, which is not there.", "Name a joint.")
            continue
        for attribute in ("armature", "damping"):
            values.refuse(attribute, "Give it to the joint.")
        moved[joint] = element.line
        if element.tag not in ("motor", "general"):
            robot.notes.append(f"actuator {name!r} is a {element.tag}: what it does is left to the caller.")
    robot.actuated = [
        NamedPlace(joint.name, robot.file, moved[joint.name])
        for joint in robot.joints
        if joint.name in moved and joint.mimic is None
    ]
