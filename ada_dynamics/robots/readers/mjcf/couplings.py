# SPDX-License-Identifier: Apache-2.0
"""Equality constraints of MJCF as loop joints and mimic joints, tendons, actuators and keyframes.

connect (one point), weld and joint (a polynomial) are exact here, not soft. A joint that is linear in another one
mimics it. Two connects between the same bodies form a revolute joint.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np

from ada_dynamics.errors import unknown_name
from ada_dynamics.model.description import Description, Problem, Sink
from ada_dynamics.model.elements import LoopJoint, Mimic
from ada_dynamics.model.rotations import UNIT, Pose, compose, inverse, product, shortest_turn, turned
from ada_dynamics.robots.readers.mjcf.bodies import WORLD, MjcfWorld, first_of_polynomial, range_of
from ada_dynamics.robots.readers.mjcf.document import ACTUATOR, MAIN, MjcfSettings, MjcfValues, rotation_of
from ada_dynamics.robots.readers.xml import Element

_FORCES = ("stiffness", "damping", "frictionloss", "armature")


class Tendons:
    """The tendons of a document; those with forces are refused, limits of length are listed as left out.

    Attributes:
        fixed: joints and coefficients by fixed tendon, whose length is a linear combination of joint positions.
    """

    def __init__(self, root: Element, robot: Description, settings: MjcfSettings, sink: Sink) -> None:
        """Read the tendons of an expanded document; `sink` receives the problems."""
        kinds: Counter[str] = Counter()
        self.fixed: dict[str, list[tuple[str, float]]] = {}
        for element in (child for section in root.all("tendon") for child in section.children):
            name = element.attributes.get("name", "").strip()
            values = MjcfValues(element, f"tendon {name!r}", sink, settings, MAIN, "tendon")
            for attribute in _FORCES:
                values.refuse(attribute, "Set it to zero and give forces of tendons as tau.")
            if "limit" not in settings.off and range_of(values, "range", "limited") is not None:
                fix = "Couple two joints by <equality> <joint>, or give the force of the tendon as tau."
                message = f"the limits {values.text('range')!r} of its length are not read."
                robot.left_out.append(Problem("tendon-limits", element.line, values.where, message, fix, element.file))
            kinds[element.tag] += 1
            if element.tag == "fixed":
                terms = [MjcfValues(joint, values.where, sink, settings) for joint in element.all("joint")]
                self.fixed[name] = [(term.text("joint"), term.number("coef", 1.0)) for term in terms]
        if kinds:
            robot.notes.append(f"{counted(kinds)}: tendons without forces of their own are left out.")


_SAME_LENGTH = 1e-5  # relative; sites are often written with six digits
_SAME_AXIS = 1e-9

_Ends = tuple[tuple[str, Pose], tuple[str, Pose]]


class Equalities:
    """Reader of <equality> sections; `finish` adds the loops to the description."""

    def __init__(self, robot: Description, world: MjcfWorld, settings: MjcfSettings, sink: Sink) -> None:
        """Initialize with the description that is extended, and its bodies and joints; `sink` receives the problems."""
        self._robot, self._world, self._settings, self._sink = robot, world, settings, sink
        self._loops: list[LoopJoint] = []
        self._connects: list[LoopJoint] = []
        self._count = 0

    def read(self, section: Element) -> None:
        """Read all constraints of a section."""
        for element in section.children:
            self._count += 1
            name = element.attributes.get("name", "").strip() or f"{element.tag}_{self._count}"
            values = MjcfValues(element, f"equality {name!r}", self._sink, self._settings, MAIN, "equality")
            if not values.flag("active", True):
                self._robot.notes.append(f"equality {name!r} (line {element.line}) is not active and left out.")
            elif element.tag == "joint":
                self._read_joint(values)
            elif element.tag in ("connect", "weld"):
                self._read_loop(name, values, element.tag)
            else:
                message = f"has the unsupported type {element.tag[:40]!r}."
                values.problem("not-modelled", message, "Remove it, or use connect, weld or joint.")

    # --- joints -------------------------------------------------------------------------------------------------
    def _read_joint(self, values: MjcfValues) -> None:
        joints = self._world.joints
        names = [values.text("joint1"), values.text("joint2")]
        for name in names:
            if name and name not in joints:
                values.problem("unknown-joint", f"names an unknown joint: {unknown_name('joint', name, joints)}")
                return
        if not all(names):
            message = "fixes a joint at a constant position." if names[0] else "has no joint1."
            values.problem("equality-joint", message, "Remove the joint from its body, or name joint1 and joint2.")
            return
        coefficients = np.array([0.0, 1.0, 0.0, 0.0, 0.0])
        if values.has("polycoef"):
            given = values.numbers("polycoef", 1, 5)
            coefficients[: len(given)] = given
        a0, a1 = float(coefficients[0]), float(coefficients[1])
        if coefficients[2:].any():
            message = f"has polycoef={values.text('polycoef')!r}, which is not linear."
            values.problem("equality-joint", message, "Give two numbers; mimic joints are linear.")
            return
        follower, leader = (joints[name] for name in names)
        own = follower.record
        if {follower.type, leader.type} - {"hinge", "slide"}:
            values.problem("equality-joint", "couples a ball or free joint.", "Use hinge or slide joints.")
        elif own.mimic is not None:
            values.problem("equality-joint", f"couples {own.name!r}, which already mimics {own.mimic.joint!r}.")
        else:  # y - y0 = a0 + a1 (x - x0), with the reference positions x0 and y0
            own.mimic = Mimic(leader.record.name, a1, follower.reference + a0 - a1 * leader.reference)

    # --- connect and weld ---------------------------------------------------------------------------------------
    def _read_loop(self, name: str, values: MjcfValues, tag: str) -> None:
        ends = self._sites(values) if values.has("site1") or values.has("site2") else self._bodies(values, tag)
        if ends is None:
            return
        is_point = tag == "connect" or values.number("torquescale", 1.0) == 0.0
        (parent, (R, p)), (child, (S, s)) = ends
        kind = "spherical" if is_point else "fixed"
        loop = LoopJoint(name, kind, parent, child, p, R, s, S, file=self._robot.file, line=values.element.line)
        self._loops.append(loop)
        if is_point:
            self._connects.append(loop)

    def _sites(self, values: MjcfValues) -> _Ends | None:
        sites = self._world.sites
        for key in ("site1", "site2"):
            if values.text(key) not in sites:
                values.problem("unknown-site", f"has {key}: {unknown_name('site', values.text(key), sites)}")
                return None
        return sites[values.text("site1")], sites[values.text("site2")]

    def _bodies(self, values: MjcfValues, tag: str) -> _Ends | None:
        first, second = values.text("body1"), values.text("body2", WORLD)
        for key, name in (("body1", first), ("body2", second)):
            if name not in self._world.bodies:
                values.problem("unknown-link", f"has {key}: {unknown_name('body', name, self._world.bodies)}")
                return None
        if tag == "connect" and not values.has("anchor"):
            values.problem("missing-attribute", "has neither an anchor nor sites.", 'Add anchor="..." in body1.')
            return None
        anchor = (UNIT, values.vector("anchor", (0.0, 0.0, 0.0)))
        second_in_first = compose(inverse(self._world.bodies[first]), self._world.bodies[second])
        if tag == "connect":  # the anchor is in body1; the loop is closed in the configuration of the file
            return (first, anchor), (second, compose(inverse(second_in_first), anchor))
        given = values.numbers("relpose", 7, 7) if values.has("relpose") else np.zeros(7)
        if given[3:].any():  # position of body2's anchor and orientation of body2, in body1
            return (first, (rotation_of(given[3:]), given[:3])), (second, anchor)
        return (first, compose(second_in_first, anchor)), (second, anchor)

    # --- hinges -------------------------------------------------------------------------------------------------
    def finish(self) -> None:
        """Merge pairs of connects to hinges, and add all loops to the description."""
        gone: set[int] = set()
        for i, one in enumerate(self._connects):
            for other in self._connects[i + 1 :]:
                if id(one) not in gone and id(other) not in gone and self._make_hinge(one, other):
                    gone.add(id(other))
                    break
        self._robot.loops.extend(loop for loop in self._loops if id(loop) not in gone)

    def _make_hinge(self, one: LoopJoint, other: LoopJoint) -> bool:
        """Convert the first of two point constraints on an axis to a revolute joint."""
        second = (other.parent_xyz, other.child_xyz)
        if (one.parent, one.child) == (other.child, other.parent):
            second = second[::-1]
        elif (one.parent, one.child) != (other.parent, other.child):
            return False
        along = [end - start for start, end in zip((one.parent_xyz, one.child_xyz), second, strict=True)]
        lengths = [float(np.linalg.norm(d)) for d in along]
        names = f"connects {one.name!r} and {other.name!r}"
        if min(lengths) == 0.0 or abs(lengths[0] - lengths[1]) > _SAME_LENGTH * max(lengths):
            self._robot.notes.append(
                f"{names} join the same bodies at points {lengths[0]:.6g} m apart in one and {lengths[1]:.6g} m in the "
                "other body; they are no hinge and remain two point constraints."
            )
            return False
        one.kind = "revolute"
        one.axis = turned(one.parent_rotation.T, along[0]) / lengths[0]
        seen = turned(one.child_rotation.T, along[1]) / lengths[1]
        if float(np.max(np.abs(one.axis - seen))) >= _SAME_AXIS:
            one.child_rotation = product(one.child_rotation, shortest_turn(one.axis, seen))
        self._robot.notes.append(f"{names}: two points on an axis, which form a revolute joint with the first name.")
        return True


# --- actuators, keyframes and notes -------------------------------------------------------------------------------
_SECTIONS = ("sensor", "contact", "deformable", "custom", "extension")
_IN_BODIES = ("camera", "light")
_SIZES = {"free": 7, "ball": 4}  # numbers in qpos


def note_left_out(root: Element, robot: Description) -> None:
    """Add notes with the numbers of elements that have no effect on the motion."""
    for tag in _SECTIONS:
        found = Counter(child.tag for section in root.all(tag) for child in section.children)
        if found:
            robot.notes.append(f"{counted(found)} in <{tag}> are left out.")
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

    The motor of a mimic joint drives the joint that it mimics; <equality> must have been read. Armature and damping of
    actuators are added to their joints. Ranges of their forces and, if the force is proportional to the control, of
    their controls become effort limits of the joints.
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
                leader, ratio = _leader_of(joint, world)
                moved.setdefault(leader, element)
                efforts[leader] = efforts.get(leader, 0.0) + abs(coefficient * ratio) * force
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


def _leader_of(name: str, world: MjcfWorld) -> tuple[str, float]:
    """Joint whose coordinate moves a joint, and the velocity of the joint per velocity of the coordinate."""
    ratio = 1.0
    for _ in world.joints:  # joints that mimic each other in a circle are refused later
        mimic = world.joints[name].record.mimic
        if mimic is None:
            break
        name, ratio = mimic.joint, ratio * mimic.multiplier
    return name, ratio


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
