# SPDX-License-Identifier: Apache-2.0
"""Shapes of a URDF's links, from <visual> and <collision>, and the colours of its materials.

Looks have no part in the dynamics, so a robot loads whatever they are like: a shape that cannot be read is left out,
and the check of the description warns of it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.elements import PLAIN, SHAPE_SIZES, Shape
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.robots.readers.values import Attributes, read_pose
from ada_dynamics.robots.readers.xml import Element

Colours = Mapping[str, tuple[float, ...]]


def read_colours(root: Element, sink: Sink) -> Colours:
    """Colours by material: those of the document, and those that shapes of links define for others."""
    found: dict[str, tuple[float, ...]] = {}
    for material in root.all("material"):
        _define(material, "<robot>", found, sink)
    for link in root.all("link"):
        for visual in link.all("visual"):
            for material in visual.all("material"):
                _define(material, "", found, _ignore)  # reported where the shape itself is read
    return found


def _ignore(problem: Problem) -> None:
    pass


def _define(material: Element, where: str, found: dict[str, tuple[float, ...]], sink: Sink) -> None:
    name = material.attributes.get("name", "")
    colour = _colour(material, where, sink)
    if name and colour is not None:
        found.setdefault(name, colour)  # the document's own stand first


def _colour(material: Element, where: str, sink: Sink) -> tuple[float, ...] | None:
    element = material.first("color")
    if element is None or "rgba" not in element.attributes:
        return None
    return tuple(Attributes(element, where, sink).vector("rgba", 4, PLAIN).tolist())


def read_shapes(link: Element, role: str, where: str, colours: Colours, sink: Sink) -> list[Shape]:
    """The readable shapes of a link in one role.

    Args:
        link: the link.
        role: "visual" or "collision".
        where: name of the link, for messages.
        colours: of the materials of the document.
        sink: where problems go; it may not raise.
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
    """The shape of a <visual> or <collision>; None where it has none that is known here."""
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
    """Sizes as `Shape` has them; ones after reporting what is unusable."""
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
