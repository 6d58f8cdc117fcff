# SPDX-License-Identifier: Apache-2.0
"""Actuators and keyframes of MJCF, and notes on elements that are left out."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

from ada_dynamics.model.description import Description
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.robots.readers.mjcf.bodies import MjcfWorld
from ada_dynamics.robots.readers.mjcf.equality import Tendons
from ada_dynamics.robots.readers.mjcf.joints import first_of_polynomial, range_of
from ada_dynamics.robots.readers.mjcf.values import ACTUATOR, MjcfSettings, MjcfValues
from ada_dynamics.robots.readers.xml import Element

_SECTIONS = {
    "sensor": "sensors",
    "contact": "contact rules",
    "deformable": "deformable parts",
    "custom": "custom data",
    "extension": "extensions",
}
_IN_BODIES = ("camera", "light")
_SIZES = {"free": 7, "ball": 4}  # numbers in qpos


def note_left_out(root: Element, robot: Description) -> None:
    """Add notes with the numbers of elements that have no effect on the motion."""
    for tag, what in _SECTIONS.items():
        found = Counter(child.tag for section in root.all(tag) for child in section.children)
        if found:
            robot.notes.append(f"{counted(found)}: {what} are left out.")
    looks = Counter(one.tag for body in root.all("worldbody") for one in body.walk() if one.tag in _IN_BODIES)
    if looks:
        robot.notes.append(f"{counted(looks)}: cameras and lights are left out.")


def read_keyframe(root: Element, robot: Description, world: MjcfWorld, settings: MjcfSettings) -> None:
    """Set the start positions of joints from the keyframe named home, or else from the first one."""
    keys = [key for section in root.all("keyframe") for key in section.all("key")]
    if not keys:
        return
    chosen = next((key for key in keys if key.attributes.get("name", "").strip() == "home"), keys[0])
    others = f"; {len(keys) - 1} others are left out" if len(keys) > 1 else ""
    name = chosen.attributes.get("name", "").strip() or "without a name"
    problems: list[Problem] = []
    values = MjcfValues(chosen, f"keyframe {name!r}", problems.append, settings)
    sizes = [_SIZES.get(joint.type, 1) for joint in world.in_qpos]
    qpos = values.numbers("qpos", sum(sizes), sum(sizes)).tolist() if values.has("qpos") else None
    if problems:
        robot.notes.append(f"the robot does not start in a keyframe: {problems[0].text(robot.file)}")
        return
    robot.notes.append(f"the robot starts in the keyframe {name!r} (line {chosen.line}){others}.")
    if qpos is None:  # the start is the configuration of the file
        return
    for joint, size in zip(world.in_qpos, sizes, strict=True):
        own, qpos = qpos[:size], qpos[size:]
        if size > 1:  # MuJoCo's quaternions have the order w, x, y, z and any length
            length = math.hypot(*own[-4:])
            w, *vector = (x / length for x in own[-4:]) if length > 0.0 else (1.0, 0.0, 0.0, 0.0)
            own[-4:] = [*vector, w]
        joint.record.home = tuple(own)


def counted(found: Counter[str]) -> str:
    """Format counts, such as "12 motor, 2 muscle"."""
    return ", ".join(f"{count} {kind}" for kind, count in sorted(found.items()))


def read_actuators(
    root: Element, robot: Description, world: MjcfWorld, tendons: Tendons, settings: MjcfSettings, sink: Sink
) -> dict[str, Element] | None:
    """Return the actuator of each actuated joint, or None without an <actuator> section.

    Armature and damping of actuators are added to their joints. Ranges of their forces and, if the force is
    proportional to the control, of their controls become effort limits of the joints.
    """
    sections = root.all("actuator")
    if not sections:
        return None
    moved: dict[str, Element] = {}
    efforts: dict[str, float] = {}
    kinds: Counter[str] = Counter()
    elsewhere: Counter[str] = Counter()
    for element in (child for section in sections for child in section.children):
        kinds[element.tag] += 1
        name = element.attributes.get("name", "")
        values = MjcfValues(element, f"actuator {name!r}", sink, settings, family=ACTUATOR)
        joints = _moved_by(values, tendons)
        force = _largest_force(values)
        for joint, coefficient in joints:
            if joint not in world.joints:
                values.problem("unknown-joint", f"names the unknown joint {joint!r}.", "Name a joint of the model.")
            else:
                moved.setdefault(joint, element)
                efforts[joint] = efforts.get(joint, 0.0) + abs(coefficient) * force
        if not joints:
            elsewhere[element.tag] += 1
        _add_to_joint(values, world)
    for record in robot.joints:
        if efforts.get(record.name, math.inf) < record.limits.effort:
            record.limits = replace(record.limits, effort=efforts[record.name])
    if kinds:
        robot.notes.append(f"{counted(kinds)}: actuators are left out; give their efforts as tau.")
    if elsewhere:
        robot.notes.append(f"{counted(elsewhere)} among them act on no joint and actuate none.")
    return moved


def _add_to_joint(values: MjcfValues, world: MjcfWorld) -> None:
    """Add gear² times the armature and damping of an actuator to its joint."""
    armature = values.number("armature", 0.0)
    damping = 0.0 if "damper" in values.settings.off else first_of_polynomial(values, "damping")
    if not armature and not damping:
        return
    name = values.text("joint") or values.text("jointinparent")
    if name in world.joints and world.joints[name].type in ("hinge", "slide"):
        gear, record = _gear(values), world.joints[name].record
        record.armature += gear * gear * armature
        record.damping += gear * gear * damping
        return
    for attribute in ("armature", "damping"):
        values.refuse(attribute, "Remove it; only actuators of hinge and slide joints can have it.")


def _moved_by(values: MjcfValues, tendons: Tendons) -> list[tuple[str, float]]:
    """Joints on which an actuator acts, with their effort per actuator force."""
    joint = values.text("joint") or values.text("jointinparent")
    terms = [(joint, 1.0)] if joint else tendons.fixed.get(values.text("tendon"), [])
    return [(name, _gear(values) * coefficient) for name, coefficient in terms]


def _gear(values: MjcfValues) -> float:
    return float(values.numbers("gear", 1, 6)[0]) if values.has("gear") else 1.0


def _largest_force(values: MjcfValues) -> float:
    """Largest magnitude of an actuator's force; infinite without limits."""
    low, high = range_of(values, "forcerange", "forcelimited") or (-math.inf, math.inf)
    controls = range_of(values, "ctrlrange", "ctrllimited")
    if controls is not None and _is_proportional(values):
        gain = values.numbers("gainprm", 1, 10)[0] if values.element.tag == "general" and values.has("gainprm") else 1.0
        ends = sorted(float(gain) * control for control in controls)
        low, high = max(low, ends[0]), min(high, ends[1])
    return max(abs(low), abs(high))


def _is_proportional(values: MjcfValues) -> bool:
    """True if the force is proportional to the control."""
    if values.element.tag != "general":
        return values.element.tag == "motor"
    kinds = {"gaintype": "fixed", "biastype": "none", "dyntype": "none"}
    return all(values.text(name, kind) == kind for name, kind in kinds.items())
