# SPDX-License-Identifier: Apache-2.0
"""Default scene of a simulation: closed configuration, ground, joint stops and integrator."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms.kinematics import poses, transforms
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import ClosedConfiguration, closed_configuration
from ada_dynamics.contact.contact import Contact
from ada_dynamics.contact.geometry import Material
from ada_dynamics.contact.shape_contacts import Vertices, hull_contacts, lowest_height
from ada_dynamics.contact.stops import SHARE_OF_STEP, JointStops, limit_violations, limited_joints
from ada_dynamics.errors import InputError
from ada_dynamics.model.joints import Prismatic
from ada_dynamics.model.model import Model, within_limits
from ada_dynamics.simulation.forces import Forces
from ada_dynamics.simulation.methods import AUTO, IntegratorName, method_for

GroundMode: TypeAlias = Literal["auto", "on", "off"]
_SUNK = 1e-3  # [m], penetration of a given start that is not corrected
_ROUNDING = 1e-6  # [rad, m], tolerance of limits
_SHOWN = 3  # maximum number of names in a note


class Scene(NamedTuple):
    """Default arguments of a `Simulation`, and notes for the user.

    Attributes:
        q: configuration, with the feet on the ground if there is one.
        contact: contact with the ground, or None.
        stops: joint stops at the limits, or None.
        integrator: integrator for the stiffness of the forces.
        why: reason for the integrator.
        moved: largest change of a given configuration by the closure of the loops [rad, m].
        notes: notes for the user, one line each.
    """

    q: Array
    contact: Contact | None
    stops: JointStops | None
    integrator: IntegratorName
    why: str
    moved: float
    notes: tuple[str, ...]


def scene_for(
    model: Model,
    start: ArrayLike | None = None,
    *,
    step: float = 1e-3,
    ground: GroundMode = "auto",
    stops: bool = True,
    integrator: IntegratorName = AUTO,
    is_given: bool = True,
    vertices: Vertices | None = None,
) -> Scene:
    """Return a scene with the feet on the ground and joint stops at the limits.

    Example::

        scene = scene_for(model)
        Simulation(model, scene.q, contact=scene.contact, stops=scene.stops, integrator=scene.integrator)

    Args:
        model: the robot.
        start: configuration, or a guess that selects the assembly mode; see `start_pose`.
        step: step length of the integrator, which bounds the stiffness of joint stops [s].
        ground: "auto" for a ground under floating robots with weight that no loop connects to the world; "on" or "off".
        stops: whether joints have stops at their limits.
        integrator: an integrator, or "auto" for a choice by stiffness (see `Simulation`).
        is_given: whether the user specified `start`: it is then moved only out of the ground. Otherwise the robot is
            placed on the ground.
        vertices: reader of meshes for contact; see `hull_contacts`.

    Raises:
        InputError: a joint of a given start is beyond its limits.
    """
    is_given = is_given and start is not None
    pose = start_pose(model, None if start is None else np.asarray(start, dtype=np.float64))
    q, notes = np.array(pose), []
    if start is None and model.has_home:
        moved = _moved(model, model.home(), q)
        if moved:
            why = "within limits" + (" and with closed loops" if model.loops else "")
            notes.append(f"start: that of the file, with {_named(moved)} changed; {why}")
    contact, more = _ground_under(model, ground, q, vertices)
    notes += more
    rates = [*Forces(contact).rates(model, q)]
    if stops:
        depth = max(limit_violations(model, q).values(), default=0.0)
        rates.append(("stops of joints that start beyond their limits", depth * (SHARE_OF_STEP / step) ** 2))
    method, why = method_for(integrator, step, rates, contact is not None)
    own: JointStops | None = None
    if stops:
        own, more = _stops_from(model, q, step, is_given, method.is_direct)
        notes += more
    if contact is not None:
        height, is_free = lowest_height(model, q, [*contact.points, *contact.spheres]), _is_free(model)
        is_sunk = height < -_SUNK
        lift = _lift(model)
        if lift is not None and is_free and (is_sunk or not is_given):
            name, way = lift
            q[model.q_index(name)][: len(way)] -= height * way
        if is_sunk and (is_given or not is_free):
            notes.append(f"start: {'raised by' if is_free else 'below the ground by'} {-height:.3g} m")
    return Scene(q, contact, own, method.name, why, pose.moved, tuple(notes))


def start_pose(model: Model, guess: Array | None = None) -> ClosedConfiguration:
    """Return an initial configuration with closed loops, near a guess or, without one, within the joint limits.

    Without a guess it is the configuration that the robot's file specifies, or one with bent arms, which can fall.

    Args:
        model: the robot.
        guess: configuration, such as `catalogue.start_of` returns.
    """
    if guess is None and not model.loops:
        guess = model.home()
        turning = [name for name in model.joint_names if model.joints[name].type.turns()]
        if not floats(model) and not model.has_home and len(turning) > 1:
            guess[model.q_index(turning[1])] = np.pi / 4
        guess = within_limits(model, guess)
    return closed_configuration(model, guess)


def _lift(model: Model) -> tuple[str, Array] | None:
    """Return the joint that raises the whole robot and its coordinates per metre; None if the robot is fixed.

    This is the floating joint, or a vertical prismatic joint without limits and mass, as in planar robots in MJCF.
    """
    if model.floating_joint is not None:
        return model.floating_joint, model.joints[model.floating_joint].rotation[2]
    world = poses(model.tree, transforms(model.tree, model.neutral().tolist()))
    for body in model.tree.bodies:
        joint = model.joints[body.name]
        is_free = joint.kind == Prismatic.kind and not joint.bounds and joint.stiffness == 0.0
        if body.parent != body.index - 1 or not is_free or float(body.inertia.mass) > 0.0:
            return None
        rise = float(np.array(world[body.index].rotation.matrix(), dtype=float)[2] @ joint.axis)
        if abs(rise) > 1.0 - _ROUNDING:
            return joint.name, np.array([np.sign(rise)])
    return None


def floats(model: Model) -> bool:
    """Return True if no joint supports the robot in the world."""
    return _lift(model) is not None


def _is_free(model: Model) -> bool:
    """Return True if the robot floats and no loop connects it to the world."""
    return floats(model) and not model.tree.grounded_loops


def _ground_under(
    model: Model, wanted: GroundMode, q: Array, vertices: Vertices | None
) -> tuple[Contact | None, list[str]]:
    """Return the contact of a robot in the configuration q with a plane at height 0, and notes for the user.

    Raises:
        InputError: `wanted` is "on" and no part of the robot can touch the ground.
    """
    falls = _is_free(model) and np.linalg.norm(model.gravity) > 0.0
    if wanted == "off" or (wanted == "auto" and not falls):
        return None, []
    found = hull_contacts(model, q, vertices)
    if found.points or found.spheres:
        notes = [f"ground: {found.note}"] if found.inertia_boxes else []
        return Contact(found.points, found.spheres, material=Material.for_weight(model.total_mass)), notes
    reason = "its movable links have no collision or visual shapes"
    if found.missing:
        reason = f"the meshes of {_named(found.missing)} cannot be read, and these links have no inertia"
    if wanted == "on":
        raise InputError(
            f"ground: no part of model {model.name!r} can touch it: {reason}.", field="ground", value=wanted
        )
    return None, [f"ground: none, no part can touch it: {reason}"]


def _named(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _moved(model: Model, before: Array, after: Array) -> list[str]:
    """Return the joints that differ between two configurations."""
    way = np.abs(model.difference(before, after))
    return [name for name in model.joint_names if np.max(way[model.v_index(name)], initial=0.0) > _ROUNDING]


# --- limits -----------------------------------------------------------------------------------------------------------
def _stops_from(
    model: Model, q: Array, step: float, is_given: bool, is_implicit: bool
) -> tuple[JointStops | None, list[str]]:
    """Return the stops of all joints with limits, and a note on joints that start beyond their limits."""
    beyond = {name: over for name, over in limit_violations(model, q).items() if over > _ROUNDING}
    notes = []
    if beyond:
        shown = ", ".join(
            f"{name!r} by {over:.3g} ({', '.join(map(str, model.joints[name].bounds))})"
            for name, over in list(beyond.items())[:_SHOWN]
        )
        if is_given:
            raise InputError(
                f"model {model.name!r}: the initial configuration exceeds joint limits [rad, m]: {shown}. Start within "
                "the limits, or without joint stops (--no-stops; joint_stops: false).",
                joint=next(iter(beyond)),
                field="start",
                value=float(q[model.q_index(next(iter(beyond)))][0]),
            )
        notes.append(f"limits: joints start beyond their limits, where joint stops act: {shown} [rad, m]")
    if not limited_joints(model):
        return None, notes
    return JointStops.for_model(model, step, q=q, is_implicit=is_implicit), notes
