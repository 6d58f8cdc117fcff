# SPDX-License-Identifier: Apache-2.0
"""Geometric parameters as additional joints that stay at zero.

The derivative with respect to a length is then the derivative with respect to a joint position.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import check_name
from ada_dynamics.model.description import WORLD_LINK
from ada_dynamics.model.edit.parts import Parts, has_free_root
from ada_dynamics.model.elements import Joint, Link
from ada_dynamics.model.model import Model

DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")
SIDES = ("parent", "child")


def geometry(model: Model) -> Mapping[str, float]:
    """Geometric parameters of a model by name: lengths [m], and zero for small rotations [rad].

    "joint.x" to "joint.z" are the position of a joint in its parent link; "joint.rx" to "joint.rz" are rotations about
    the axes of the parent link through the joint origin. "loop.parent_x" to "loop.child_rz" are those of the two frames
    of a loop joint in the parent and the child link.
    """
    places: dict[str, Array] = {f"{name}.": joint.xyz for name, joint in Parts.of(model).joints.items()}
    for name, loop in model.loops.items():
        places |= {f"{name}.{side}_": getattr(loop, f"{side}_xyz") for side in SIDES}
    return {
        f"{place}{direction}": float(xyz[i]) if i < 3 else 0.0
        for place, xyz in places.items()
        for i, direction in enumerate(DIRECTIONS)
    }


def adjustable(model: Model, names: Iterable[str]) -> Model:
    """Return the model with an additional joint at zero for each named geometric parameter.

    Example::

        other = adjustable(model, ["elbow.x", "closing.child_z"])
        ada.Dynamics(other).jacobian("hand", q_other)  # with columns for these lengths

    Args:
        model: the model; it is not changed.
        names: of parameters, see `geometry`. The additional links have no mass.

    Raises:
        InputError: the model has no such parameter.
    """
    known = geometry(model)
    places: dict[tuple[str, str], list[str]] = {}
    for name in dict.fromkeys(names):
        check_name("geometric parameter", name, known)
        owner, _, rest = name.rpartition(".")
        side, _, direction = rest.rpartition("_")
        places.setdefault((owner, side), []).append(direction)
    parts = Parts.of(model, list_actuated=True)
    for (owner, side), directions in places.items():
        if side:
            _adjust_loop(parts, model, owner, side, directions)
        else:
            joint = parts.joints.pop(owner)
            carrier = _chain(parts, joint.parent, joint.xyz, f"{owner}.", directions)
            parts.joints[owner] = replace(joint, parent=carrier, xyz=np.zeros(3))
    return parts.build()


def _adjust_loop(parts: Parts, model: Model, owner: str, side: str, directions: list[str]) -> None:
    if has_free_root(model) and WORLD_LINK in (parts.loops[owner].parent, parts.loops[owner].child):
        parts.free_root_as_joint()
    loop = parts.loops[owner]
    link, xyz = getattr(loop, side), getattr(loop, f"{side}_xyz")
    link = parts.root if link == WORLD_LINK and WORLD_LINK not in parts.links else link
    changed: Any = {side: _chain(parts, link, xyz, f"{owner}.{side}_", directions), f"{side}_xyz": np.zeros(3)}
    parts.loops[owner] = replace(loop, **changed)


def _chain(parts: Parts, link: str, xyz: Array, prefix: str, directions: list[str]) -> str:
    """Add joints along and about the axes of a link, in the order of DIRECTIONS; return the last link."""
    for direction in sorted(directions, key=DIRECTIONS.index):
        name, kind = f"{prefix}{direction}", "revolute" if direction[0] == "r" else "prismatic"
        carried = parts.unused(f"{name}_link")
        parts.links[carried] = Link(carried, has_inertial=False)
        axis = np.eye(3)[DIRECTIONS.index(direction) % 3]
        # The rotor inertia keeps M regular for massless links.
        parts.joints[name] = Joint(name, kind, link, carried, xyz, np.eye(3), axis, armature=1.0)
        link, xyz = carried, np.zeros(3)
    return link
