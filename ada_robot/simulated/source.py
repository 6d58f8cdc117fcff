# SPDX-License-Identifier: Apache-2.0
"""From settings to a robot and its simulation; no ROS."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import close_loops
from ada_dynamics.drawing.meshes import mesh_vertices
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.computation import Algorithm
from ada_dynamics.errors import InputError, SingularConfigurationWarning, unknown_name
from ada_dynamics.model.edit import split_universals
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.model import Model, motor_joints
from ada_dynamics.robots.catalogue import start_of
from ada_dynamics.simulation import JointServos, Simulation
from ada_dynamics.simulation.methods import IntegratorName
from ada_dynamics.simulation.scene import Scene, floats, scene_for
from ada_robot.ros.robot_settings import AUTO
from ada_robot.simulated.bounds import StateBounds
from ada_robot.simulated.plant import Snapshot
from ada_robot.simulated.settings import PhysicsSettings

_LOG = logging.getLogger(__name__)


def load_robot(settings: PhysicsSettings, description: str | None = None) -> Model:
    """The robot that the parameters name, or that of a description.

    Raises:
        InputError: a parameter is unusable.
        ModelError: the robot's description is.
    """
    model = split_universals(settings.load(description))  # viewers know the joints of URDF 1.0 only
    inertia, friction = settings.rotor_inertia, settings.joint_friction
    return with_drives(model, inertia, friction) if inertia or friction else model


def with_drives(model: Model, inertia: float, friction: float) -> Model:
    """The robot with other motors and gears.

    Args:
        model: the robot.
        inertia: of each motor as seen at its joint, added to what it has [kg m^2, kg].
        friction: likewise, Coulomb's [N m, N].
    """
    parts = Parts.of(model)
    for name in motor_joints(model):
        joint = parts.joints[name]
        parts.joints[name] = replace(joint, armature=joint.armature + inertia, friction=joint.friction + friction)
    return parts.build()


def scene_of(model: Model, settings: PhysicsSettings) -> Scene:
    """Start of the robot, the ground under it, and stops at its limits.

    A robot that starts as its document or our defaults have it is put on the ground.

    Raises:
        InputError: a vector has the wrong length or is not finite, or the start is beyond limits.
        ModelError: the loops cannot be closed near the positions.
    """
    given = settings.initial_positions
    start = _vector("initial_positions", given, model.nq, model) if given else start_of(settings.robot, model)
    if given:  # and where there are stops, their limits are checked with them
        bounds_of(model, settings).check_positions(given)
    return scene_for(
        model,
        start,
        step=1.0 / settings.physics_rate,
        ground=settings.contact,  # type: ignore[arg-type]
        stops=settings.joint_stops,
        integrator=_integrator(model, settings),
        is_given=bool(given),
        vertices=mesh_vertices(),
    )


def bounds_of(model: Model, settings: PhysicsSettings) -> StateBounds:
    """The bounds of what the robot takes from outside."""
    return StateBounds(model, 1.0 / settings.physics_rate, keeps_limits=settings.joint_stops)


def _integrator(model: Model, settings: PhysicsSettings) -> IntegratorName:
    """Implicit where servos hold the light links of a robot that floats."""
    is_left_open = settings.integrator == AUTO and floats(model)
    return "semi_implicit" if is_left_open else cast("IntegratorName", settings.integrator)


def initial_state(model: Model, settings: PhysicsSettings) -> tuple[Array, Array | None]:
    """Where the robot starts, and is reset to; see `scene_of`."""
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
    """A state with some joints moved, and with them what hangs on them by loops; at rest but for given velocities.

    Args:
        model: the robot.
        q: where it is.
        positions: by joint, of those with one position.
        velocities: likewise.

    Raises:
        InputError: a joint is unknown or has no single position, or a number is not finite.
        ModelError: no pose closes the loops.
    """
    single = {name for name in model.joint_names if model.joints[name].nq == 1}
    for name, value in (*positions.items(), *velocities.items()):
        if name not in single:
            raise unknown_name("joint with one position", name, sorted(single))
        if not np.isfinite(value):
            raise InputError(f"joint {name!r} was given {value}; it must be finite.", joint=name, value=value)
    q, v = q.copy(), np.zeros(model.nv)
    for name, value in positions.items():
        q[model.q_index(name)] = value
    for name, value in velocities.items():
        v[model.v_index(name)] = value
    if model.loops:
        q = np.array(close_loops(model, q, [name for name in positions if name in model.actuated]))
        _, v = Dynamics(model, q0=q).project_to_constraints(q, v) if velocities else (q, v)
    return q, v


def start_snapshot(model: Model, scene: Scene, settings: PhysicsSettings) -> Snapshot:
    """The state that a simulation of the robot starts in."""
    v = _initial_velocities(model, settings)
    rest = np.zeros(model.nv)
    return Snapshot(0, 0.0, scene.q, rest if v is None else v, rest, {}, {})


def algorithm_for(model: Model, wanted: str) -> Algorithm:
    """The algorithm wanted, or "auto" where ADA is and joints mimic others, which it cannot couple."""
    return "auto" if model.has_mimics and wanted == "ada" else cast("Algorithm", wanted)


def simulation_of(
    model: Model,
    settings: PhysicsSettings,
    gains: Mapping[str, tuple[float, float]] | None = None,
    scene: Scene | None = None,
) -> Simulation:
    """The simulation that the parameters ask for.

    Args:
        model: the robot.
        settings: the parameters.
        gains: (stiffness, damping) of joints whose servos have their own.
        scene: as `scene_of` has it, where it is there already.
    """
    scene, v = scene or scene_of(model, settings), _initial_velocities(model, settings)
    for note in scene.notes:
        _LOG.warning("%s: %s", model.name, note)
    may_change = settings.integrator == AUTO and scene.integrator == "rkf45"  # servos may be stiffer than all else
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularConfigurationWarning)  # the state of the loops is in /diagnostics
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
