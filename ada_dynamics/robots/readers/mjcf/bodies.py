# SPDX-License-Identifier: Apache-2.0
"""Kinematic tree of MJCF: nested bodies with joints, sites, frames and geoms."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ada_dynamics.model.description import Description
from ada_dynamics.model.elements import Link
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.model.rotations import NO_MOVE, Pose, compose
from ada_dynamics.robots.readers.description_builder import DescriptionBuilder
from ada_dynamics.robots.readers.mjcf.geoms import (
    MassProperties,
    bounded,
    combined,
    read_geom,
    read_inertial,
    read_shape,
)
from ada_dynamics.robots.readers.mjcf.joints import MjcfJoint, connect_body, read_joint
from ada_dynamics.robots.readers.mjcf.meshes import Meshes
from ada_dynamics.robots.readers.mjcf.values import MAIN, MjcfSettings, MjcfValues
from ada_dynamics.robots.readers.xml import Element

WORLD = "world"

_UNREAD = ("attach", "composite", "flexcomp", "plugin")


@dataclass
class MjcfWorld:
    """Content of the tree of bodies, to which other sections refer.

    Attributes:
        bodies: pose in the world by body, in the configuration of the file.
        sites: body and pose in it by site.
        joints: joints by name.
    """

    bodies: dict[str, Pose] = field(default_factory=dict)
    sites: dict[str, tuple[str, Pose]] = field(default_factory=dict)
    joints: dict[str, MjcfJoint] = field(default_factory=dict)


@dataclass
class _Context:
    """Context of an element: its body, the pose of its <frame>s in the body, and its default class."""

    body: str
    frame: Pose
    in_class: str


class BodyTreeReader:
    """Reader of the tree of bodies in <worldbody>."""

    def __init__(self, robot: Description, settings: MjcfSettings, meshes: Meshes, sink: Sink) -> None:
        self.world = MjcfWorld()
        self._meshes = meshes
        self._robot, self._settings, self._sink = robot, settings, sink
        self._builder = DescriptionBuilder(robot)
        self._count = 0

    def run(self, worldbody: Element) -> MjcfWorld:
        """Add all bodies and joints to the description."""
        self._builder.add_link(Link(WORLD, element=worldbody, has_inertial=False))
        self.world.bodies[WORLD] = NO_MOVE
        pending = [(worldbody, _Context(WORLD, NO_MOVE, MAIN))]
        while pending:
            element, context = pending.pop()
            pending.extend(reversed(self._content(element, context)))
        return self.world

    def _values(self, element: Element, where: str, in_class: str) -> MjcfValues:
        return MjcfValues(element, where, self._sink, self._settings, in_class)

    def _content(self, element: Element, context: _Context) -> list[tuple[Element, _Context]]:
        """Read the content of a body or frame, and return the nested bodies in their order."""
        found: list[tuple[Element, _Context]] = []
        for child in element.children:
            if child.tag == "frame":
                found.extend(self._content(child, self._frame(child, context)))
            elif child.tag == "body":
                inner = self._body(child, context)
                if inner is not None:
                    found.append((child, inner))
            elif child.tag == "site":
                self._site(child, context)
            elif child.tag in _UNREAD:
                message = f"<{child.tag}> is not supported."
                fix = "Expand it with MuJoCo's mj_saveLastXML."
                self._sink(Problem("not-modelled", child.line, f"body {context.body!r}", message, fix, child.file))
        return found

    def _frame(self, element: Element, context: _Context) -> _Context:
        values = self._values(element, f"a frame in body {context.body!r}", MAIN)
        for name in ("scale", "massscale"):
            values.refuse(name, "Write the scaled sizes.")
        return _Context(
            context.body, compose(context.frame, values.pose()), values.text("childclass", context.in_class)
        )

    def _site(self, element: Element, context: _Context) -> None:
        name = element.attributes.get("name", "").strip()
        if not name:
            return
        if name in self.world.sites:
            self._twice("site", name, element)
            return
        values = self._values(element, f"site {name!r}", context.in_class)
        pose = compose(context.frame, values.pose()) if not values.has("fromto") else _of_line(values, context.frame)
        self.world.sites[name] = (context.body, pose)

    def _twice(self, what: str, name: str, element: Element) -> None:
        message = f"its name is used twice (again in line {element.line})."
        where = f"{what} {name!r}"
        self._sink(Problem(f"duplicate-{what}", element.line, where, message, "Rename one.", element.file))

    def _body(self, element: Element, context: _Context) -> _Context | None:
        self._count += 1
        name = element.attributes.get("name", "").strip() or f"body_{self._count}"
        if name in self.world.bodies:
            self._twice("link", name, element)
            return None
        where = f"body {name!r}"
        values = self._values(element, where, MAIN)
        inner = _Context(name, NO_MOVE, values.text("childclass", context.in_class))
        if values.flag("mocap"):
            self._robot.notes.append(
                f"body {name!r} is moved by motion capture (mocap); it is fixed at its pose in the file."
            )
        values.refuse("gravcomp", "Remove it and give the compensation as tau; gravity acts on all links.")
        pose = compose(context.frame, values.pose())
        link = Link(name, element=element, has_inertial=False, visuals_collide=False)
        self.world.bodies[name] = compose(self.world.bodies[context.body], pose)
        joints = self._joints(element, inner, NO_MOVE)
        self._set_mass(link, inner)
        self._add_shapes(link, element, inner)
        connect_body(self._builder, link, context.body, pose, joints, self._sink)
        for joint in joints:
            self.world.joints[joint.name] = joint
        return inner

    def _joints(self, element: Element, context: _Context, frame: Pose) -> list[MjcfJoint]:
        joints: list[MjcfJoint] = []
        for child in element.children:
            if child.tag in ("joint", "freejoint"):
                name = child.attributes.get("name", "").strip() or f"joint_{len(self.world.joints) + len(joints) + 1}"
                if name in self.world.joints or any(name == joint.name for joint in joints):
                    self._twice("joint", name, child)
                    continue
                values = self._values(child, f"joint {name!r}", context.in_class)
                joints.append(read_joint(name, values, self._settings, frame))
                self._warn_of_free_friction(joints[-1])
            elif child.tag == "frame":
                inner = self._frame(child, _Context(context.body, frame, context.in_class))
                joints.extend(self._joints(child, inner, inner.frame))
        return joints

    def _warn_of_free_friction(self, joint: MjcfJoint) -> None:
        if joint.type == "free" and joint.friction:
            message = (
                "is free and has frictionloss, which acts along the body's axes here, along the world's in MuJoCo."
            )
            fix = "Remove it, or use <freejoint>, which has no defaults."
            where, element = f"joint {joint.name!r}", joint.element
            self._robot.left_out.append(Problem("free-friction", element.line, where, message, fix, element.file))

    # --- masses -------------------------------------------------------------------------------------------------
    def _set_mass(self, link: Link, context: _Context) -> None:
        own = link.element.first("inertial")
        choice = self._settings.inertia_from_geoms
        found: MassProperties | None = None
        if choice == "true" or (choice == "auto" and own is None):
            parts = self._geoms(link.element, context)
            found = combined(parts) if parts else None
        if found is None and own is not None:
            if len(link.element.all("inertial")) > 1:
                self._twice("inertial", link.name, link.element.all("inertial")[1])
            found = read_inertial(self._values(own, link.where, MAIN))
        nothing = MassProperties(0.0, np.zeros(3), np.zeros((3, 3)))
        given = bounded(found or nothing, self._settings)
        if found is not None or given.mass or given.inertia.any():
            found = given
            link.mass, link.com, link.inertia = found.mass, found.com, found.inertia
            link.has_inertial = True

    def _geoms(self, element: Element, context: _Context) -> list[MassProperties]:
        parts: list[MassProperties] = []
        for child in element.children:
            if child.tag == "geom":
                where = f"geom {child.attributes['name']!r}" if "name" in child.attributes else "a geom"
                values = self._values(child, f"{where} of body {context.body!r}", context.in_class)
                mass = read_geom(values, self._settings, self._meshes, context.frame)
                if mass is not None:
                    parts.append(mass)
            elif child.tag == "frame":
                parts.extend(self._geoms(child, self._frame(child, context)))
        return parts

    def _add_shapes(self, link: Link, element: Element, context: _Context) -> None:
        """Add the shapes of the geoms in a body; invalid ones are left out."""
        for child in element.children:
            if child.tag == "geom":
                problems: list[Problem] = []
                values = MjcfValues(child, link.where, problems.append, self._settings, context.in_class)
                shape, is_seen, touches = read_shape(values, self._settings, self._meshes, context.frame)
                self._robot.odd_shapes.extend(problems)
                if shape is not None and not problems:
                    link.visuals = [*link.visuals, *([shape] if is_seen else [])]
                    link.collisions = [*link.collisions, *([shape] if touches else [])]
            elif child.tag == "frame":
                self._add_shapes(link, child, self._frame(child, context))


def _of_line(values: MjcfValues, frame: Pose) -> Pose:
    ends = values.numbers("fromto", 6, 6)
    return compose(frame, (values.rotation(), 0.5 * (ends[:3] + ends[3:])))


def scale_masses(robot: Description, total: float) -> None:
    """Scale masses and inertias to the total mass of <compiler settotalmass>."""
    now = sum(link.mass for link in robot.links)
    if total <= 0.0 or now <= 0.0:
        return
    for link in robot.links:
        link.mass *= total / now
        link.inertia = link.inertia * (total / now)
