# SPDX-License-Identifier: Apache-2.0
"""Geoms of an MJCF body as shapes; those that have no counterpart here are left out."""

from __future__ import annotations

import numpy as np

from ada_dynamics.model.elements import PLAIN, Shape
from ada_dynamics.model.problems import Problem
from ada_dynamics.model.rotations import Pose, compose
from ada_dynamics.robots.readers.mjcf.inertia import SHAPES, size_and_pose
from ada_dynamics.robots.readers.mjcf.meshes import Meshes
from ada_dynamics.robots.readers.mjcf.values import Settings, Values
from ada_dynamics.robots.readers.xml import Element

_KINDS = ("box", "sphere", "cylinder", "capsule")
_GROUNDS = ("plane", "hfield")
_FIRST_HIDDEN = 3  # group of geoms that MuJoCo's viewer does not show


def read_colours(root: Element, settings: Settings) -> None:
    """Put the colours of a document's materials into its settings; those that cannot be read are left out."""
    for material in (m for assets in root.all("asset") for m in assets.all("material")):
        problems: list[Problem] = []
        values = Values(material, "a material", problems.append, settings)
        colour = tuple(values.vector("rgba", PLAIN).tolist())
        if values.has("rgba") and not problems:
            settings.colours[values.text("name")] = colour


def read_ground(worldbody: Element, settings: Settings) -> None:
    """Put friction and margin of the first plane or height field in the world into the settings."""
    for child in worldbody.all("geom"):
        problems: list[Problem] = []
        values = Values(child, "the ground", problems.append, settings)
        if values.text("type") in _GROUNDS:
            settings.ground_friction, settings.ground_margin = _friction(values), values.number("margin", 0.0)
            return


def _friction(values: Values) -> float:
    """Coefficient of sliding friction."""
    return float(values.numbers("friction", 1, 3)[0]) if values.has("friction") else 1.0


def read_shape(values: Values, settings: Settings, meshes: Meshes, around: Pose) -> tuple[Shape | None, bool, bool]:
    """A geom as a shape (or None), whether it is seen and whether it touches others.

    Args:
        values: of the geom; problems may not raise.
        settings: of the document.
        meshes: of the document.
        around: pose of the <frame>s that it stands in.
    """
    kind = values.word("type", "mesh" if values.has("mesh") and not values.has("type") else "sphere", SHAPES)
    address = None
    if kind == "mesh":
        found = meshes.look(values.text("mesh"), values)
        if found is None:
            return None, False, False
        size, pose, address = found.scale, compose(values.pose(), found.pose), found.address
    elif kind not in _KINDS or values.has("mesh"):
        if kind not in _GROUNDS:
            fitted = " that is fitted to a mesh" if values.has("mesh") else ""
            values.problem("not-drawn", f"is of type {kind}{fitted}: it is not drawn and touches nothing.")
        return None, False, False
    else:
        size, pose = size_and_pose(values, kind)
        if not (size > 0.0).all():
            return None, False, False
        size = size * {"box": 2.0, "sphere": 1.0}.get(kind, np.array([1.0, 2.0]))
    R, p = compose(around, pose)
    hidden = values.number("group", 0.0) >= _FIRST_HIDDEN
    touches = values.number("contype", 1.0) != 0.0 or values.number("conaffinity", 1.0) != 0.0
    colour = tuple(values.vector("rgba", settings.colours.get(values.text("material"), PLAIN)).tolist())
    # A contact has the larger friction of both geoms, or that of the geom with the higher priority.
    ground = 0.0 if values.number("priority", 0.0) > 0.0 else settings.ground_friction
    friction = max(_friction(values), ground)
    margin = values.number("margin", 0.0) + settings.ground_margin
    shape = Shape(kind, tuple(size.tolist()), p, R, colour, address, friction=friction, margin=margin)
    return shape, not hidden, touches
