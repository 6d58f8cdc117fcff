# SPDX-License-Identifier: Apache-2.0
"""Shapes of an SDFormat link, from <visual> and <collision>; what cannot be read is left out, as it is of a URDF."""

from __future__ import annotations

import numpy as np

from ada_dynamics.model.elements import PLAIN, SHAPE_SIZES, Shape
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.robots.readers.sdf.values import Values
from ada_dynamics.robots.readers.xml import Element


def read_shapes(link: Element, role: str, where: str, sink: Sink) -> list[Shape]:
    """The readable shapes of a link in one role, "visual" or "collision"; the sink of problems may not raise."""
    shapes = []
    for element in link.all(role):
        problems: list[Problem] = []
        shape = _shape(Values(element, where, problems.append))
        for problem in problems:
            sink(problem)
        if shape is not None and not problems:
            shapes.append(shape)
    return shapes


def _shape(role: Values) -> Shape | None:
    geometry = role.inside("geometry")
    kind = None if geometry is None else next((c.tag for c in geometry.element.children if c.tag in SHAPE_SIZES), None)
    body = None if geometry is None or kind is None else geometry.inside(kind)
    if body is None or kind is None:
        return None
    mesh = body.text("uri", "") or None
    if kind == "mesh":
        if mesh is None:
            return None
        size = body.vector("scale", (1.0, 1.0, 1.0))
    elif kind == "box":
        size = body.vector("size", (1.0, 1.0, 1.0))  # SDFormat's own default sizes
    else:
        size = np.array([body.number(name, 1.0) for name in SHAPE_SIZES[kind]])
    if kind != "mesh" and (size < 0.0).any():
        body.problem("shape-size", body.element, f"has size {size.tolist()}.", "Sizes must not be negative.")
        return None
    R, p = role.pose()
    material = role.inside("material")
    colour = PLAIN if material is None else tuple(material.vector("diffuse", PLAIN).tolist())
    return Shape(kind, tuple(size.tolist()), p, R, colour, mesh if kind == "mesh" else None)
