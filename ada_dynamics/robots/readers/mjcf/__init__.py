# SPDX-License-Identifier: Apache-2.0
"""Reader of MuJoCo's MJCF: bodies, joints, masses, defaults, and equality constraints as loop joints and mimic joints.

A body is a link with the body's frame; a joint at another point of the body, and each of several joints, gets a
massless link at its anchor. q is MuJoCo's qpos with quaternions in the order x, y, z, w. Actuators define which joints
have motors, and add rotor inertia. Elements that are left out are counted in notes; misspelt ones are refused, and so
are elements that change the motion and have no counterpart (forces of tendons, fluids, gravity compensation).
"""

from __future__ import annotations

from ada_dynamics.errors import ModelError
from ada_dynamics.model.description import Description, LocatedName, Problem, Sink
from ada_dynamics.robots.readers.mjcf.bodies import BodyTreeReader, scale_masses
from ada_dynamics.robots.readers.mjcf.couplings import Equalities, Tendons, note_left_out, read_actuators, read_keyframe
from ada_dynamics.robots.readers.mjcf.document import check_spelling, expand_includes, read_settings
from ada_dynamics.robots.readers.mjcf.geoms import Meshes, read_colours, read_ground
from ada_dynamics.robots.readers.xml import Element


def describe_mjcf(root: Element, file: str, sink: Sink) -> Description:
    """Read links, joints and loops of an MJCF document."""
    robot = Description(root.attributes.get("model", "").strip() or "MuJoCo Model", file, root, holds_itself=True)
    expand_includes(root, file, sink)
    check_spelling(root, robot, sink)
    for element in (flex for section in root.all("deformable") for flex in section.children if flex.tag != "skin"):
        message = f"<{element.tag}> is not supported."
        fix = "Remove it; only rigid bodies are supported."
        sink(Problem("not-modelled", element.line, "<deformable>", message, fix, element.file))
    settings = read_settings(root, robot, sink)
    read_colours(root, settings)
    bodies = root.all("worldbody")
    if not bodies:
        message = f"{file}, line {root.line}: <mujoco>: a MuJoCo (MJCF) file without a <worldbody>."
        raise ModelError(message, file=file, line=root.line)
    worldbody = bodies[0]  # with the content of all sections
    worldbody.children = [child for section in bodies for child in section.children]
    root.children = [child for child in root.children if child is worldbody or child.tag != "worldbody"]
    read_ground(worldbody, settings)
    world = BodyTreeReader(robot, settings, Meshes(root, file, settings), sink).run(worldbody)
    scale_masses(robot, settings.total_mass)
    tendons = Tendons(root, robot, settings, sink)
    equalities = Equalities(robot, world, settings, sink)
    for section in root.all("equality") if "equality" not in settings.off else ():
        equalities.read(section)
    equalities.finish()
    motors = read_actuators(root, robot, world, tendons, settings, sink)
    if motors is not None:
        robot.actuated = [LocatedName(name, file, at.line) for name, at in motors.items()]
    read_keyframe(root, robot, world, settings)
    note_left_out(root, robot)
    return robot
