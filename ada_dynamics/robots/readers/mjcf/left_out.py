# SPDX-License-Identifier: Apache-2.0
"""The rest of an MJCF file, beside bodies, joints, equalities: motors by joint, and a note for all that is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ada_dynamics.model.description import Description
from ada_dynamics.model.problems import Sink
from ada_dynamics.model.structure import NamedPlace
from ada_dynamics.robots.readers.mjcf.bodies import World
from ada_dynamics.robots.readers.mjcf.tendons import Tendons
from ada_dynamics.robots.readers.mjcf.values import Settings, Values
from ada_dynamics.robots.readers.xml import Element

_SECTIONS = {
    "sensor": "sensors",
    "contact": "contact rules",
    "keyframe": "keyframes",
    "deformable": "deformable parts",
    "custom": "custom data",
    "extension": "extensions",
}
_IN_BODIES = ("camera", "light")


def note_the_rest(root: Element, robot: Description) -> None:
    """A note with counts for each kind of thing that is no part of the motion of bodies and joints."""
    for tag, what in _SECTIONS.items():
        found = Counter(child.tag for section in root.all(tag) for child in section.children)
        if found:
            robot.notes.append(f"{counted(found)}: {what} are left out.")
    looks = Counter(one.tag for body in root.all("worldbody") for one in body.walk() if one.tag in _IN_BODIES)
    if looks:
        robot.notes.append(f"{counted(looks)}: cameras and lights are left out.")
    if any(joint.kind == "floating" for joint in robot.joints):
        robot.notes.append("the start pose of free bodies is a state and no part of the model: it is left out.")


def counted(found: Counter[str]) -> str:
    """Such as "12 motor, 2 muscle"."""
    return ", ".join(f"{count} {kind}" for kind, count in sorted(found.items()))


def read_actuators(
    root: Element, robot: Description, world: World, tendons: Tendons, settings: Settings, sink: Sink
) -> None:
    """Joints with motors; all of them where the file has no <actuator> at all."""
    sections = root.all("actuator")
    if not sections:
        return
    moved: dict[str, Element] = {}
    kinds: Counter[str] = Counter()
    elsewhere: Counter[str] = Counter()
    for element in (child for section in sections for child in section.children):
        kinds[element.tag] += 1
        values = Values(element, f"actuator {element.attributes.get('name', '')!r}", sink, settings)
        for attribute in ("armature", "damping"):
            values.refuse(attribute, "Give it to the joint.")
        joints = _moved_by(values, tendons)
        for joint in joints:
            if joint not in world.joints:
                values.problem("unknown-joint", f"names the joint {joint!r}, which is not there.", "Name a joint.")
            else:
                moved.setdefault(joint, element)
        if not joints:
            elsewhere[element.tag] += 1
    if kinds:
        robot.notes.append(f"{counted(kinds)}: actuators are left out, what they do is given as tau.")
    if elsewhere:
        robot.notes.append(f"{counted(elsewhere)} among them act on no joint: they make none count as actuated.")
    robot.actuated = [
        NamedPlace(joint.name, robot.file, moved[joint.name].line)
        for joint in robot.joints
        if joint.name in moved and joint.mimic is None
    ]


def _moved_by(values: Values, tendons: Tendons) -> Iterable[str]:
    joint = values.text("joint") or values.text("jointinparent")
    return [joint] if joint else tendons.joints_of(values.text("tendon"))
