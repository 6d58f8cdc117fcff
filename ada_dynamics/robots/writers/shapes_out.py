# SPDX-License-Identifier: Apache-2.0
"""Shapes of links as SDFormat and as MJCF have them."""

from __future__ import annotations

from ada_dynamics.model.elements import PLAIN, SHAPE_SIZES, Link, Shape
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.robots.writers.numbers import is_unit, number, numbers
from ada_dynamics.robots.writers.sdf_joint import pose
from ada_dynamics.robots.writers.xml_out import make
from ada_dynamics.spatial.orientation import to_quaternion

LOOKS_GROUP, CONTACT_GROUP = 2, 3  # of geoms; by MuJoCo's custom, from 3 on they are not shown


def sdf_shapes(link: Link) -> list[Element]:
    """The <visual>s and <collision>s of a link."""
    roles = (("visual", link.visuals), ("collision", link.collisions))
    return [_sdf_shape(role, f"{role}_{i}", shape) for role, shapes in roles for i, shape in enumerate(shapes, 1)]


def _sdf_shape(role: str, name: str, shape: Shape) -> Element:
    if shape.kind == "mesh":
        values = [make("uri", text=shape.mesh or ""), make("scale", text=numbers(shape.size))]
    elif shape.kind == "box":
        values = [make("size", text=numbers(shape.size))]
    else:
        named = zip(SHAPE_SIZES[shape.kind], shape.size, strict=True)
        values = [make(tag, text=number(value)) for tag, value in named]
    material = None
    if role == "visual" and shape.rgba != PLAIN:
        material = make("material", {}, [make(tag, text=numbers(shape.rgba)) for tag in ("ambient", "diffuse")])
    geometry = make("geometry", {}, [make(shape.kind, {}, values)])
    return make(role, {"name": name}, [pose(shape.xyz, shape.rotation), geometry, material])


def mjcf_geoms(link: Link) -> list[Element]:
    """The geoms of a link, without mass, but for meshes and shapes without volume, which MuJoCo refuses.

    Collision shapes touch the ground but not one another (contype 1, conaffinity 0), for links that are joined often
    overlap.
    """
    roles = ((LOOKS_GROUP, "0", link.visuals), (CONTACT_GROUP, "1", link.collisions))
    return [_geom(group, contype, shape) for group, contype, shapes in roles for shape in shapes if is_geom(shape)]


def is_geom(shape: Shape) -> bool:
    """True if a shape is written as a geom."""
    return shape.kind != "mesh" and min(shape.size) > 0.0


def _geom(group: int, contype: str, shape: Shape) -> Element:
    # Half lengths, as MuJoCo has them, but whole radii.
    size = shape.size if shape.kind == "sphere" else tuple(0.5 * x for x in shape.size)
    if shape.kind in ("cylinder", "capsule"):
        size = (shape.size[0], 0.5 * shape.size[1])
    attributes = {"type": shape.kind, "size": numbers(size)}
    if shape.xyz.any():
        attributes["pos"] = numbers(shape.xyz)
    if not is_unit(shape.rotation):
        attributes["quat"] = numbers(to_quaternion(shape.rotation))
    attributes["rgba"] = numbers(shape.rgba)
    return make("geom", {**attributes, "group": str(group), "contype": contype, "conaffinity": "0", "mass": "0"})
