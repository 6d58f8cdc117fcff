# SPDX-License-Identifier: Apache-2.0
"""Kinematic tree of MJCF: nested bodies with joints, sites, frames and geoms.

A body has any number of joints in series, at any points. Each becomes a joint with a link at its anchor; the last one
carries the body's frame.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.description import Description, Problem, Sink
from ada_dynamics.model.elements import Joint, Limits, Link
from ada_dynamics.model.rotations import NO_MOVE, UNIT, Pose, about, compose, turned
from ada_dynamics.robots.readers.description_builder import DescriptionBuilder
from ada_dynamics.robots.readers.mjcf.document import MAIN, MjcfSettings, MjcfValues
from ada_dynamics.robots.readers.mjcf.geoms import (
    MassProperties,
    Meshes,
    bounded,
    combined,
    read_geom,
    read_inertial,
    read_shape,
)
from ada_dynamics.robots.readers.values import JointKindTable, UnsupportedKind
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.spatial.orientation import to_quaternion

# Universal and cylindrical joints are two joints of MuJoCo in series, with the same coordinates.
KINDS = JointKindTable[tuple[str, ...]](
    "MJCF",
    {
        "revolute": ("hinge",),
        "continuous": ("hinge",),
        "prismatic": ("slide",),
        "spherical": ("ball",),
        "floating": ("free",),
        "universal": ("hinge", "hinge"),
        "cylindrical": ("slide", "hinge"),
        "fixed": (),
        "helical": UnsupportedKind("keep its SDFormat file; no format that is written has screws."),
        "planar": UnsupportedKind("write two prismatic joints and a revolute one with massless links between them."),
        "spherical_euler": UnsupportedKind("make it spherical, whose coordinates are a quaternion."),
        "floating_euler": UnsupportedKind("make it floating, whose coordinates are a quaternion."),
    },
)
_KIND_OF = {words: kind for kind, words in KINDS.words.items() if kind != "continuous"}
TYPES = ("free", "ball", "slide", "hinge")


@dataclass(eq=False)
class MjcfJoint:
    """A joint of the file, in the frame of its body."""

    record: Joint  # its ends are known when its body is connected
    type: str  # one of TYPES
    anchor: Array = field(default_factory=lambda: np.zeros(3))  # position in the body
    reference: float = 0.0  # position of the joint in the configuration of the file


def read_joint(name: str, values: MjcfValues, frame: Pose) -> MjcfJoint:
    """Read a <joint> or <freejoint>; `frame` is the pose of the enclosing <frame>s in the body."""
    settings = values.settings
    joint = Joint(name, "floating", "", "", axis=np.array([0.0, 0.0, 1.0]), element=values.element)
    if values.element.tag == "freejoint":
        if values.text("align", "auto") == "true":
            values.problem("not-modelled", "has align, which moves the body's frame.", 'Set align="false".')
        return MjcfJoint(joint, "free")
    found = MjcfJoint(joint, values.word("type", "hinge", TYPES))
    joint.stiffness = 0.0 if "spring" in settings.off else first_of_polynomial(values, "stiffness")
    joint.damping = 0.0 if "damper" in settings.off else first_of_polynomial(values, "damping")
    joint.friction = 0.0 if "frictionloss" in settings.off else values.number("frictionloss", 0.0)
    joint.armature = values.number("armature", 0.0)
    values.refuse("springyield", "Remove it; springs are linear.")
    values.refuse("springdamper", "Give stiffness and damping; MuJoCo writes them by mj_saveLastXML.")
    if found.type == "free":
        return found
    if found.type != "slide":  # the anchor of a slide has no effect
        found.anchor = compose(frame, (UNIT, values.vector("pos", (0.0, 0.0, 0.0))))[1]
    turns = found.type != "slide"
    joint.limits = _limits(values, turns)
    if found.type != "ball":
        joint.axis = turned(frame[0], values.direction("axis", (0.0, 0.0, 1.0)))
        given = (values.number("ref", 0.0), values.number("springref", 0.0))
        found.reference, rest = (settings.angle(value) if turns else value for value in given)
        joint.rest = rest if joint.stiffness else 0.0
        joint.home = (found.reference,) if found.reference else None
    is_endless = joint.limits.lower == -math.inf and joint.limits.upper == math.inf
    joint.kind = "continuous" if found.type == "hinge" and is_endless else _KIND_OF[found.type,]
    return found


def first_of_polynomial(values: MjcfValues, name: str) -> float:
    """Read the linear coefficient; newer versions of MuJoCo have two more."""
    if not values.has(name):
        return 0.0
    coefficients = values.numbers(name, 1, 3)
    if coefficients[1:].any():
        values.problem("not-modelled", f"has a nonlinear {name}.", "Keep its first number.")
    return float(coefficients[0])


def _limits(values: MjcfValues, turns: bool) -> Limits:
    lower, upper, effort = -math.inf, math.inf, math.inf
    found = None if "limit" in values.settings.off else range_of(values, "range", "limited")
    if found is not None:
        lower, upper = (values.settings.angle(value) if turns else value for value in found)
    efforts = range_of(values, "actuatorfrcrange", "actuatorfrclimited")
    if efforts is not None:
        effort = max(abs(efforts[0]), abs(efforts[1]))
    return Limits(lower, upper, effort=effort)


def range_of(values: MjcfValues, name: str, switch: str) -> tuple[float, float] | None:
    """Read a range, or return None if it is disabled; ranges of width zero are disabled, as in MuJoCo."""
    choice = values.word(switch, "auto", ("auto", "true", "false"))
    if choice == "false" or (choice == "auto" and not values.has(name)):
        return None
    lower, upper = values.numbers(name, 2, 2).tolist() if values.has(name) else (0.0, 0.0)
    if choice == "true":
        if lower == upper and values.text("type") != "ball":
            values.problem("limits-empty", f'has {switch}="true" and no {name}.', f'Add {name}="LOWER UPPER".')
        return lower, upper
    if lower == upper:
        return None
    if not values.settings.autolimits:
        message = f"has {name}, but neither {switch} nor <compiler> with autolimits."
        values.problem("limits-unsaid", message, f'Add {switch}="true", or "false" for no limit.')
        return None
    return lower, upper


# --- into the tree ----------------------------------------------------------------------------------------------
def connect_body(
    builder: DescriptionBuilder, link: Link, parent: str, pose: Pose, joints: list[MjcfJoint], sink: Sink
) -> None:
    """Add a body with its joints to its parent, or a fixed joint without any."""
    builder.add_link(link)
    if not joints:
        builder.fix(parent, link.name, pose, link.element)
        return
    if any(joint.type == "free" for joint in joints):
        _connect_free(builder, link, parent, pose, joints, sink)
        return
    at, offset = parent, pose  # pose of the body's frame at zero in the previous link
    for joint in joints[:-1]:
        own, frame = joint.record, compose(offset, _zero(joint))
        own.parent, own.child = at, builder.add_massless(f"{link.name}_at_{own.name}", own.element)
        builder.add_joint(own, frame)
        at, offset = own.child, (UNIT, -joint.anchor)
    last = joints[-1].record
    last.parent, last.child = at, link.name
    builder.join(last, compose(offset, _zero(joints[-1])), (UNIT, joints[-1].anchor))


def _zero(joint: MjcfJoint) -> Pose:
    """Pose of the joint's frame at zero, as bodies of the file are at the joints' references."""
    axis = joint.record.axis
    if joint.type == "hinge":
        return about(axis, -joint.reference), joint.anchor
    if joint.type == "slide":
        return UNIT, -joint.reference * axis / np.linalg.norm(axis)
    return UNIT, joint.anchor


def _connect_free(
    builder: DescriptionBuilder, link: Link, parent: str, pose: Pose, joints: list[MjcfJoint], sink: Sink
) -> None:
    if len(joints) > 1 or parent != "world":
        message = "it has a free joint, and other joints or a parent body."
        fix = "Move it to <worldbody>, without other joints."
        sink(Problem("free-joint", link.line, link.where, message, fix, link.element.file))
    # The joint's coordinates are the body's pose in the world; it starts at the pose of the file.
    joint = joints[0].record
    joint.kind, joint.parent, joint.child = "floating", "world", link.name
    w, x, y, z = to_quaternion(pose[0])
    joint.home = (*pose[1].tolist(), x, y, z, w)
    builder.add_joint(joint, NO_MOVE)


# --- bodies -------------------------------------------------------------------------------------------------------
WORLD = "world"

_UNREAD = ("attach", "composite", "flexcomp", "plugin", "replicate")


@dataclass
class MjcfWorld:
    """Content of the tree of bodies, to which other sections refer."""

    bodies: dict[str, Pose] = field(default_factory=dict)  # in the world, in the configuration of the file
    sites: dict[str, tuple[str, Pose]] = field(default_factory=dict)  # body and pose in it
    joints: dict[str, MjcfJoint] = field(default_factory=dict)
    in_qpos: list[MjcfJoint] = field(default_factory=list)  # in the order of qpos: depth first


class _Context(NamedTuple):
    """Context of an element: its body, the pose of its <frame>s in the body, and its default class."""

    body: str
    frame: Pose
    in_class: str


_Content = Sequence[tuple[Element, _Context]]  # elements of a body and of its frames


class BodyTreeReader:
    """Reader of the tree of bodies in <worldbody>."""

    def __init__(self, robot: Description, settings: MjcfSettings, meshes: Meshes, sink: Sink) -> None:
        self.world = MjcfWorld()
        self._meshes = meshes
        self._robot, self._settings, self._sink = robot, settings, sink
        self._builder = DescriptionBuilder(robot)
        self._count = 0
        self._static = {WORLD}  # bodies that do not move

    def run(self, worldbody: Element) -> MjcfWorld:
        """Add all bodies and joints to the description."""
        self._builder.add_link(Link(WORLD, element=worldbody, has_inertial=False))
        self.world.bodies[WORLD] = NO_MOVE
        pending: list[tuple[_Content, list[MjcfJoint]]] = []
        pending.append((list(self._content(worldbody, _Context(WORLD, NO_MOVE, MAIN))), []))
        while pending:
            content, joints = pending.pop()
            self.world.in_qpos += joints
            inner = []
            for child, context in content:
                if child.tag == "body":
                    inner.append(self._body(child, context))
                elif child.tag == "site":
                    self._site(child, context)
                elif child.tag in _UNREAD:
                    message, fix = f"<{child.tag}> is not supported.", "Expand it with MuJoCo's mj_saveLastXML."
                    self._sink(Problem("not-modelled", child.line, f"body {context.body!r}", message, fix, child.file))
            pending.extend(found for found in reversed(inner) if found is not None)
        return self.world

    def _values(self, element: Element, where: str, in_class: str) -> MjcfValues:
        return MjcfValues(element, where, self._sink, self._settings, in_class)

    def _content(self, element: Element, context: _Context) -> Iterator[tuple[Element, _Context]]:
        for child in element.children:
            if child.tag != "frame":
                yield child, context
                continue
            values = self._values(child, f"a frame in body {context.body!r}", MAIN)
            for name in ("scale", "massscale"):
                values.refuse(name, "Write the scaled sizes.")
            pose, in_class = compose(context.frame, values.pose()), values.text("childclass", context.in_class)
            yield from self._content(child, _Context(context.body, pose, in_class))

    def _site(self, element: Element, context: _Context) -> None:
        name = element.attributes.get("name", "").strip()
        if name in self.world.sites:
            self._twice("site", name, element)
        elif name:
            values = self._values(element, f"site {name!r}", context.in_class)
            ends = values.numbers("fromto", 6, 6) if values.has("fromto") else None
            pose = values.pose() if ends is None else (values.orientation(), 0.5 * (ends[:3] + ends[3:]))
            self.world.sites[name] = (context.body, compose(context.frame, pose))

    def _twice(self, what: str, name: str, element: Element) -> None:
        message = f"its name is used twice (again in line {element.line})."
        where = f"{what} {name!r}"
        self._sink(Problem(f"duplicate-{what}", element.line, where, message, "Rename one.", element.file))

    def _body(self, element: Element, context: _Context) -> tuple[_Content, list[MjcfJoint]] | None:
        """Add a body with its joints, masses and shapes; return its content and joints."""
        self._count += 1
        name = element.attributes.get("name", "").strip() or f"body_{self._count}"
        if name in self.world.bodies:
            self._twice("link", name, element)
            return None
        values = self._values(element, f"body {name!r}", MAIN)
        if values.flag("mocap"):
            moved = "is moved by motion capture (mocap); it is fixed at its pose in the file"
            self._robot.notes.append(f"body {name!r} {moved}.")
        values.refuse("gravcomp", "Remove it and give the compensation as tau; gravity acts on all links.")
        pose = compose(context.frame, values.pose())
        link = Link(name, element=element, has_inertial=False, visuals_collide=False)
        self.world.bodies[name] = compose(self.world.bodies[context.body], pose)
        inner = _Context(name, NO_MOVE, values.text("childclass", context.in_class))
        content = list(self._content(element, inner))
        joints = self._joints(content)
        geoms = [(child, own) for child, own in content if child.tag == "geom"]
        if not joints and context.body in self._static:
            self._static.add(name)
        self._set_mass(link, geoms)
        self._add_shapes(link, geoms)
        connect_body(self._builder, link, context.body, pose, joints, self._sink)
        return content, joints

    def _joints(self, content: _Content) -> list[MjcfJoint]:
        joints: list[MjcfJoint] = []
        for child, context in content:
            if child.tag not in ("joint", "freejoint"):
                continue
            name = child.attributes.get("name", "").strip() or f"joint_{len(self.world.joints) + 1}"
            if name in self.world.joints:
                self._twice("joint", name, child)
                continue
            joint = read_joint(name, self._values(child, f"joint {name!r}", context.in_class), context.frame)
            self.world.joints[name] = joint
            joints.append(joint)
            if joint.type == "free" and joint.record.friction:
                message = "is free and has frictionloss, which acts along the body's axes here, the world's in MuJoCo."
                fix = "Remove it, or use <freejoint>, which has no defaults."
                problem = Problem("free-friction", child.line, joint.record.where, message, fix, child.file)
                self._robot.left_out.append(problem)
        return joints

    def _set_mass(self, link: Link, geoms: _Content) -> None:
        own = link.element.first("inertial")
        choice = self._settings.inertia_from_geoms
        found: MassProperties | None = None
        if choice == "true" or (choice == "auto" and own is None):
            parts = []
            is_static = link.name in self._static and self._settings.total_mass <= 0.0
            for child, context in geoms:
                where = f"geom {child.attributes['name']!r}" if "name" in child.attributes else "a geom"
                values = self._values(child, f"{where} of body {link.name!r}", context.in_class)
                part = read_geom(values, context.frame, is_static)
                parts += [] if part is None else [part]
                if part is None and is_static and values.has("mesh"):
                    self._robot.notes.append(f"body {link.name!r} is fixed; its mass by a mesh is left out.")
            found = combined(parts) if parts else None
        if found is None and own is not None:
            if len(link.element.all("inertial")) > 1:
                self._twice("inertial", link.name, link.element.all("inertial")[1])
            found = read_inertial(self._values(own, link.where, MAIN))
        nothing = MassProperties(0.0, np.zeros(3), np.zeros((3, 3)))
        given = bounded(found or nothing, self._settings)
        if found is not None or given.mass or given.inertia.any():
            link.mass, link.com, link.inertia = given.mass, given.com, given.inertia
            link.has_inertial = True

    def _add_shapes(self, link: Link, geoms: _Content) -> None:
        """Add the shapes of the geoms of a body; invalid ones are left out."""
        for child, context in geoms:
            problems: list[Problem] = []
            values = MjcfValues(child, link.where, problems.append, self._settings, context.in_class)
            shape, is_seen, touches = read_shape(values, self._meshes, context.frame)
            self._robot.odd_shapes.extend(problems)
            if shape is not None and not problems:
                link.visuals = [*link.visuals, *([shape] if is_seen else [])]
                link.collisions = [*link.collisions, *([shape] if touches else [])]


def scale_masses(robot: Description, total: float) -> None:
    """Scale masses and inertias to the total mass of <compiler settotalmass>."""
    now = sum(link.mass for link in robot.links)
    if total <= 0.0 or now <= 0.0:
        return
    for link in robot.links:
        link.mass *= total / now
        link.inertia = link.inertia * (total / now)
