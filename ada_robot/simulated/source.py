# SPDX-License-Identifier: Apache-2.0
"""Creation of robot model and simulation from settings; no ROS."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import closed_configuration
from ada_dynamics.drawing.mesh_files import mesh_vertices
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.arguments import Algorithm
from ada_dynamics.errors import InputError, ModelError, SingularConfigurationWarning, unknown_name
from ada_dynamics.model.edit import split_universals
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.inertia_regularization import regularize_inertias
from ada_dynamics.model.model import Model, motor_joints
from ada_dynamics.robots.catalogue import start_of
from ada_dynamics.simulation import JointServos, Simulation
from ada_dynamics.simulation.methods import IntegratorName
from ada_dynamics.simulation.scene import Scene, floats, scene_for
from ada_robot.ros.robot_settings import AUTO
from ada_robot.simulated.bounds import StateBounds
from ada_robot.simulated.settings import PhysicsSettings

_LOG = logging.getLogger(__name__)


def load_robot(settings: PhysicsSettings, description: str | None = None) -> Model:
    """Load the robot named by the settings, or from a description.

    Raises:
        InputError: if a parameter is invalid.
        ModelError: if the robot description is invalid.
    """
    model = split_universals(settings.load(description))  # viewers support the joint types of URDF 1.0 only
    inertia, friction = settings.rotor_inertia, settings.joint_friction
    if not (inertia or friction):
        return model
    parts = Parts.of(model)
    for name in motor_joints(model):
        joint = parts.joints[name]
        parts.joints[name] = replace(joint, armature=joint.armature + inertia, friction=joint.friction + friction)
    return parts.build()


def scene_of(model: Model, settings: PhysicsSettings) -> Scene:
    """Create the scene: initial configuration, ground and joint stops.

    Without initial_positions, the robot is placed on the ground.

    Raises:
        InputError: if a vector has the wrong length or is not finite, or the start is outside limits.
        ModelError: if loop closure fails near the positions.
    """
    given = settings.initial_positions
    start = _vector("initial_positions", given, model.nq, model) if given else start_of(settings.robot, model)
    if given:  # the limits of stops are checked with them
        bounds_of(model, settings).check_positions(given)
    # implicit for servos on light links of floating robots
    integrator = "semi_implicit" if settings.integrator == AUTO and floats(model) else settings.integrator
    return scene_for(
        model,
        start,
        step=1.0 / settings.physics_rate,
        ground=settings.contact,  # type: ignore[arg-type]
        stops=settings.joint_stops,
        integrator=cast("IntegratorName", integrator),
        is_given=bool(given),
        vertices=mesh_vertices(),
    )


def bounds_of(model: Model, settings: PhysicsSettings) -> StateBounds:
    """Return the input bounds of the robot."""
    return StateBounds(model, 1.0 / settings.physics_rate, keeps_limits=settings.joint_stops)


def initial_state(model: Model, settings: PhysicsSettings) -> tuple[Array, Array | None]:
    """Return initial configuration and velocities; see `scene_of`."""
    return scene_of(model, settings).q, _initial_velocities(model, settings)


def _initial_velocities(model: Model, settings: PhysicsSettings) -> Array | None:
    if not settings.initial_velocities:
        return None
    v = _vector("initial_velocities", settings.initial_velocities, model.nv, model)
    bounds_of(model, settings).check_velocities(v)
    return v


def _vector(name: str, values: tuple[float, ...], size: int, model: Model) -> Array:
    given = np.array(values, dtype=np.float64)
    if given.shape != (size,) or not np.isfinite(given).all():
        shown = ", ".join(f"{joint}: {model.joints[joint].nq}" for joint in model.joint_names)
        text = (
            f"{name} is {list(values)}; model {model.name!r} needs {size} finite numbers (by joint: {shown}), or none."
        )
        raise InputError(text, field=name, value=values, allowed=size)
    return given


def state_with(
    model: Model, q: Array, positions: Mapping[str, float], velocities: Mapping[str, float]
) -> tuple[Array, Array]:
    """Return a state with some joints moved and the loops closed; at rest except for given velocities.

    Args:
        model: robot model.
        q: present configuration.
        positions: by joint, for joints with one position.
        velocities: by joint, for joints with one position.

    Raises:
        InputError: if a joint is unknown or has several positions, or a value is not finite.
        ModelError: if loop closure fails.
    """
    single = {name for name in model.joint_names if model.joints[name].nq == 1}
    for name, value in (*positions.items(), *velocities.items()):
        if name not in single:
            raise unknown_name("joint with one position", name, sorted(single))
        if not np.isfinite(value):
            raise InputError(f"joint {name!r}: value {value} must be finite.", joint=name, value=value)
    q, v = q.copy(), np.zeros(model.nv)
    for name, value in positions.items():
        q[model.q_index(name)] = value
    for name, value in velocities.items():
        v[model.v_index(name)] = value
    if model.loops:
        q = np.array(closed_configuration(model, q, [name for name in positions if name in model.actuated]))
        _, v = Dynamics(model, q0=q).project_to_constraints(q, v) if velocities else (q, v)
    return q, v


def algorithm_for(model: Model, requested: str) -> Algorithm:
    """Return the requested algorithm, or "auto" with a line in the log where "ada" was requested but does not apply.

    ADA does not support mimic joints, and links with singular inertia only if adjacent links can lend them some.
    """
    if requested != "ada":
        return cast("Algorithm", requested)
    why = "the model has mimic joints"
    if not model.has_mimics:
        try:
            regularize_inertias(model.tree)
        except ModelError as problem:
            why = f"link {problem.link!r} has a singular inertia"
        else:
            return "ada"
    _LOG.warning("%s: the algorithm 'ada' does not apply, 'auto' is used: %s", model.name, why)
    return "auto"


def simulation_of(
    model: Model,
    settings: PhysicsSettings,
    gains: Mapping[str, tuple[float, float]] | None = None,
    scene: Scene | None = None,
) -> Simulation:
    """Create the simulation.

    Args:
        model: robot model.
        settings: physics settings.
        gains: (stiffness, damping) by joint, for servos with individual gains.
        scene: result of `scene_of`, if already computed.
    """
    scene, v = scene or scene_of(model, settings), _initial_velocities(model, settings)
    for note in scene.notes:
        _LOG.warning("%s: %s", model.name, note)
    may_change = settings.integrator == AUTO and scene.integrator == "rkf45"  # servos may be stiff
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularConfigurationWarning)  # reported in /diagnostics
        return Simulation(
            model,
            scene.q,
            v,
            integrator="auto" if may_change else scene.integrator,
            step=1.0 / settings.physics_rate,
            contact=scene.contact,
            stops=scene.stops,
            algorithm=algorithm_for(model, settings.algorithm),
            pushable=True,
            servos=JointServos(bandwidth=settings.servo_bandwidth, joints=dict(gains or {})),
        )
