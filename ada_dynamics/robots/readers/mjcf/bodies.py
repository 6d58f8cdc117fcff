# SPDX-License-Identifier: Apache-2.0
"""Kinematic tree of MJCF: nested bodies with joints, sites, frames and geoms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

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
            pose = values.pose() if ends is None else (values.rotation(), 0.5 * (ends[:3] + ends[3:]))
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
            for child, context in geoms:
                where = f"geom {child.attributes['name']!r}" if "name" in child.attributes else "a geom"
                values = self._values(child, f"{where} of body {link.name!r}", context.in_class)
                part = read_geom(values, self._meshes, context.frame)
                parts += [] if part is None else [part]
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
