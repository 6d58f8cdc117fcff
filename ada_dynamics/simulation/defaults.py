# SPDX-License-Identifier: Apache-2.0
"""How a robot is set up for a simulation where nobody says: its pose, the ground under it, the integrator."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.loops.assemble import AssembledPose, assemble
from ada_dynamics.model.builder import ROOT_JOINT
from ada_dynamics.model.joints import Continuous, Floating, FloatingEuler, Revolute
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.contact import Contact

Array = NDArray[np.float64]
Wish: TypeAlias = Literal["auto", "on", "off"]
_FREE = (Floating.kind, FloatingEuler.kind)
_TOUCHING = ("box", "sphere", "capsule")  # shapes that can touch the ground


def start_pose(model: Model, guess: Array | None = None) -> AssembledPose:
    """A pose to start from: a guess with its loops closed; without one, arms bend so that they can fall.

    Args:
        model: the robot.
        guess: such as `catalogue.start_of` gives.
    """
    turning = [name for name in model.joint_names if model.joints[name].kind in (Revolute.kind, Continuous.kind)]
    if guess is None and not model.loops and not floats(model) and len(turning) > 1:
        guess = model.neutral()
        guess[model.q_index(turning[1])] = np.pi / 4
    return assemble(model, guess)


def floats(model: Model) -> bool:
    """Whether the root link moves freely."""
    return ROOT_JOINT in model.joints and model.joints[ROOT_JOINT].kind in _FREE


def ground_under(model: Model, wanted: Wish = "auto") -> Contact | None:
    """Contact of a robot's outer links with a plane at height 0.

    Args:
        model: the robot.
        wanted: "auto" puts floating robots with weight on the ground, if they have shapes that can touch it.
    """
    has_shapes = any(_has_shape(model, link) for link in model.links)
    falls = floats(model) and np.linalg.norm(model.gravity) > 0.0 and has_shapes
    if wanted == "off" or (wanted == "auto" and not falls):
        return None
    return Contact.of_shapes(model, _outer_links(model))


def integrator_for(contact: Contact | None, stiff: bool = False) -> str:
    """The integrator that suits: implicit on the ground, and where servos hold light links."""
    return "rkf45" if contact is None and not stiff else "semi_implicit"


def _outer_links(model: Model) -> list[str]:
    """The base and the ends of all limbs, or what is nearest to them and has a shape."""
    above = {joint.child: joint.parent for joint in model.joints.values()}
    parents = set(above.values())
    outer: dict[str, None] = {}
    for link in (model.root, *(name for name in model.links if name not in parents)):
        while link in above and not _has_shape(model, link):
            link = above[link]
        if _has_shape(model, link):
            outer[link] = None
    return list(outer)


def _has_shape(model: Model, link: str) -> bool:
    if link not in model.links:
        return False
    shapes = model.links[link].collisions or model.links[link].visuals
    return bool(shapes) and all(shape.kind in _TOUCHING for shape in shapes)
