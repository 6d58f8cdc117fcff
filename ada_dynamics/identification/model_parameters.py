# SPDX-License-Identifier: Apache-2.0
"""Models with modified parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ada_dynamics.algorithms.regressor import INERTIAL
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.model.edit import with_parts
from ada_dynamics.model.elements import Joint, Link
from ada_dynamics.model.model import Model
from ada_dynamics.model.stacks import point_inertia


def model_with_parameters(dynamics: Dynamics, values: Mapping[str, float]) -> Model:
    """Return the model of `dynamics` with modified parameters.

    Links fixed to the link of a parameter keep their inertia if the remainder of that link is physically consistent;
    otherwise the link takes the inertia of all of them.

    Args:
        dynamics: dynamics of the model.
        values: new values by name of the parameter.

    Raises:
        UnknownNameError: a parameter does not exist.
    """
    model, before = dynamics.model, dynamics.parameters
    changed = {name: value for name, value in values.items() if value != before[name]}
    owners = {name.rpartition(".")[0] for name in changed}
    parts: dict[str, Link | Joint] = {}
    for owner in owners:
        own = {name.rpartition(".")[2]: value for name, value in changed.items() if name.rpartition(".")[0] == owner}
        inertial = {kind: own.pop(kind) for kind in INERTIAL if kind in own}
        if inertial:
            was = np.array([before[f"{owner}.{kind}"] for kind in INERTIAL])
            now = np.array([inertial.get(kind, x) for kind, x in zip(INERTIAL, was, strict=True)])
            parts.update(_links(model, owner, was, now))
        if own:
            parts[f"joint {owner}"] = replace(model.joints[owner], **own)  # type: ignore[arg-type]
    return with_parts(model, *parts.values())


def _links(model: Model, carried: str, was: Array, now: Array) -> dict[str, Link]:
    """Links of a body with modified parameters."""
    link = model.links[carried]
    mass, com, inertia = _central(_about_origin(link) + now - was)
    if mass > 0.0 and _is_body(inertia):
        return {carried: replace(link, mass=mass, com=com, inertia=inertia, has_inertial=True)}
    mass, com, inertia = _central(now)
    empty: Any = {"mass": 0.0, "com": np.zeros(3), "inertia": np.zeros((3, 3)), "has_inertial": False}
    found = {name: replace(model.links[name], **empty) for name in _fixed_to(model, carried)}
    return {**found, carried: replace(link, mass=mass, com=com, inertia=inertia, has_inertial=True)}


def _fixed_to(model: Model, link: str) -> list[str]:
    found: list[str] = []
    for joint in model.joints.values():
        if joint.parent in (link, *found) and not joint.type.nv:
            found.append(joint.child)
    return found


def _about_origin(link: Link) -> Array:
    """Ten inertial parameters about the link origin."""
    c = link.com
    I = link.inertia + point_inertia(link.mass, c)
    return np.array([link.mass, *(link.mass * c), I[0, 0], I[0, 1], I[0, 2], I[1, 1], I[1, 2], I[2, 2]])


def _central(values: Array) -> tuple[float, Array, Array]:
    """Mass, center of mass, and inertia about it."""
    mass = float(values[0])
    c = values[1:4] / mass if mass else np.zeros(3)
    xx, xy, xz, yy, yz, zz = values[4:]
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return mass, c, I - point_inertia(mass, c)


def _is_body(inertia: Array) -> bool:
    moments = np.linalg.eigvalsh(inertia)
    return bool(moments[0] >= 0.0 and moments[0] + moments[1] >= moments[2])
