# SPDX-License-Identifier: Apache-2.0
"""A URDF link: its inertial parameters and its shapes."""

from __future__ import annotations

import numpy as np

from ada_dynamics.model.elements import Link
from ada_dynamics.model.problems import Sink
from ada_dynamics.model.rotations import UNIT, clean_relative, conjugated
from ada_dynamics.robots.readers.urdf_shapes import Colours, read_shapes
from ada_dynamics.robots.readers.values import Attributes, read_pose, the_child
from ada_dynamics.robots.readers.xml import Element

MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


def read_link(element: Element, colours: Colours, sink: Sink, odd_shapes: Sink) -> Link | None:
    """The link, or None after reporting that it has no name.

    Args:
        element: the link.
        colours: of the materials of the document.
        sink: where problems go.
        odd_shapes: where problems of shapes go; it may not raise.
    """
    name = Attributes(element, "a link", sink).text("name")
    if name is None:
        return None
    link = Link(name, element=element)
    inertial = the_child(element, "inertial", link.where, sink)
    link.has_inertial = inertial is not None
    if inertial is not None:
        _read_inertial(link, inertial, sink)
    link.visuals = read_shapes(element, "visual", link.where, colours, odd_shapes)
    link.collisions = read_shapes(element, "collision", link.where, colours, odd_shapes)
    return link


def _read_inertial(link: Link, inertial: Element, sink: Sink) -> None:
    where = link.where
    R, link.com = read_pose(inertial, where, sink)
    mass = the_child(inertial, "mass", where, sink)
    tensor = the_child(inertial, "inertia", where, sink)
    values = Attributes(inertial, where, sink)
    if mass is None:
        values.problem("no-mass", "has no <mass>.", 'Add <mass value="..."/> [kg].')
    else:
        link.mass = Attributes(mass, where, sink).number("value")
    if tensor is None:
        values.problem("no-inertia", "has no <inertia>.", 'Add <inertia ixx="..." ... iyz="..."/> [kg m²].')
        return
    moments = Attributes(tensor, where, sink)
    # All six, as urdfdom wants them: one that is missing is more often forgotten than zero.
    xx, yy, zz, xy, xz, yz = (moments.number(m) for m in MOMENTS)
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if R is not UNIT:
        I = clean_relative(conjugated(R, I))
    link.inertia = I
