# SPDX-License-Identifier: Apache-2.0
"""Robot model, simulation and states of a simulated robot from settings and requests; no ROS."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import close_loops
from ada_dynamics.drawing.meshes import mesh_vertices
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.computation import Algorithm
from ada_dynamics.errors import InputError, SingularConfigurationWarning, unknown_name
from ada_dynamics.model.edit import split_universals
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.joints.base import NO_LIMIT
from ada_dynamics.model.model import Model, motor_joints
from ada_dynamics.robots.catalogue import start_of
from ada_dynamics.simulation import JointServos, Simulation
from ada_dynamics.simulation.methods import IntegratorName
from ada_dynamics.simulation.scene import Scene, floats, scene_for
from ada_dynamics.spatial.orientation import quaternions
from ada_dynamics.spatial.rotation import from_quaternion
from ada_robot.ros.robot_settings import AUTO
from ada_robot.simulated.bounds import StateBounds
from ada_robot.simulated.plant import Snapshot
from ada_robot.simulated.settings import PhysicsSettings

_LOG = logging.getLogger(__name__)
_NOT_UNIT = 1e-2  # tolerance of the norm of quaternions
_WXYZ_TO_XYZW = [1, 2, 3, 0]
_AT_ORIGIN = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


def load_robot(settings: PhysicsSettings, description: str | None = None) -> Model:
    """Load the robot named by the settings, or from a description.

    Raises:
        InputError: if a parameter is invalid.
        ModelError: if the robot description is invalid.
    """
    model = split_universals(settings.load(description))  # viewers support the joint types of URDF 1.0 only
    inertia, friction = settings.rotor_inertia, settings.joint_friction
    return with_drives(model, inertia, friction) if inertia or friction else model


def with_drives(model: Model, inertia: float, friction: float) -> Model:
    """Add rotor inertia and friction to all motors.

    Args:
        model: robot model.
        inertia: additional rotor inertia at the joint [kg m^2, kg].
        friction: additional Coulomb friction at the joint [N m, N].
    """
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
    """Return the input bounds of the robot."""
    return StateBounds(model, 1.0 / settings.physics_rate, keeps_limits=settings.joint_stops)


def _integrator(model: Model, settings: PhysicsSettings) -> IntegratorName:
    """Choose the integrator; implicit for servos on light links of floating robots."""
    is_left_open = settings.integrator == AUTO and floats(model)
    return "semi_implicit" if is_left_open else cast("IntegratorName", settings.integrator)


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
        q = np.array(close_loops(model, q, [name for name in positions if name in model.actuated]))
        _, v = Dynamics(model, q0=q).project_to_constraints(q, v) if velocities else (q, v)
    return q, v


def start_snapshot(model: Model, scene: Scene, settings: PhysicsSettings) -> Snapshot:
    """Return the initial state of a simulation."""
    v = _initial_velocities(model, settings)
    rest = np.zeros(model.nv)
    return Snapshot(0, 0.0, scene.q, rest if v is None else v, rest, {}, {})


def algorithm_for(model: Model, requested: str) -> Algorithm:
    """Return the requested algorithm, or "auto" instead of "ada" for models with mimic joints, which it lacks."""
    return "auto" if model.has_mimics and requested == "ada" else cast("Algorithm", requested)


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


class BodyState(NamedTuple):
    """State of the root link in the world frame.

    Attributes:
        pose: x, y, z [m] and unit quaternion x, y, z, w.
        twist: velocity of its origin and angular velocity, in world axes [m/s, rad/s].
    """

    pose: Array
    twist: Array


class PoseError(InputError):
    """Invalid pose."""


class RootBody:
    """Root link of a robot; for one thread.

    Attributes:
        is_free: whether the base is floating.
    """

    def __init__(self, model: Model, bounds: StateBounds) -> None:
        """Args: robot model; bounds of its states."""
        self._model, self._bounds = model, bounds
        self.is_free = floats(model)
        self._dynamics: Dynamics | None = None
        if self.is_free:
            self._joint = str(model.floating_joint)
            self._link = model.joints[self._joint].child
            self._body = next(body for body in model.tree.bodies if body.name == self._joint)

    def state(self, q: Array, v: Array) -> BodyState:
        """Return pose and twist."""
        if not self.is_free:
            return BodyState(_AT_ORIGIN.copy(), np.zeros(6))
        dynamics, root = self._own(q), self._link
        at = dynamics.pose(root, q)
        turn = quaternions(at[None, :3, :3])[0][_WXYZ_TO_XYZW]
        return BodyState(np.concatenate([at[:3, 3], turn]), dynamics.velocity(root, q, v))

    def moved(
        self, q: Array, v: Array, pose: Sequence[float] | None, twist: Sequence[float] | None
    ) -> tuple[Array, Array]:
        """Return configuration and velocities with another pose or twist of the root; the joints do not change.

        Args:
            q: configuration.
            v: velocities.
            pose: as in `BodyState`; None for no change.
            twist: as in `BodyState`; None for no change.

        Raises:
            PoseError: if the pose is invalid.
            InputError: if the base is fixed, or the twist is invalid.
        """
        if not self.is_free:
            text = (
                f"the root link {self._model.root!r} of {self._model.name!r} is fixed to the world. Start the node "
                "with -p base:=floating to make it floating."
            )
            raise InputError(text, link=self._model.root)
        requested = self.state(q, v).twist if twist is None else self._checked_twist(twist)
        if pose is not None:
            q = q.copy()
            q[self._model.q_index(self._joint)] = self._positions(pose)
        return q, self._with_twist(q, v, requested)

    def _positions(self, pose: Sequence[float]) -> Array:
        at = np.asarray(pose, dtype=np.float64)
        if not np.isfinite(at).all() or np.abs(at[:3]).max() > NO_LIMIT:
            text = f"pose {at.tolist()}: all values must be finite, and positions at most {NO_LIMIT:g} m."
            raise PoseError(text, field="pose", value=at, allowed=(-NO_LIMIT, NO_LIMIT))
        norm = float(np.linalg.norm(at[3:]))
        if abs(norm - 1.0) > _NOT_UNIT:
            text = f"quaternion {at[3:].tolist()} (x, y, z, w) has norm {norm:.3g}; it must be 1."
            raise PoseError(text, field="quaternion", value=at[3:])
        R = np.array(from_quaternion(*(at[3:] / norm).tolist()), dtype=np.float64).reshape(3, 3)
        own = self._body.joint.positions_at(R, at[:3])
        problem = self._body.joint.problem(own)
        if problem is not None:
            raise PoseError(f"pose {at.tolist()}: {problem}.", field="pose", value=at)
        return own

    def _with_twist(self, q: Array, v: Array, twist: Array) -> Array:
        """Return velocities for a twist of the root; the columns are its twists at unit velocities."""
        rows = np.arange(self._model.nv)[self._model.v_index(self._joint)]
        units = np.eye(self._model.nv)[rows]
        columns = [self._own(q).velocity(self._link, q, unit) for unit in units]
        v = v.copy()
        v[rows] = np.linalg.solve(np.column_stack(columns), twist)
        return v

    def _checked_twist(self, twist: Sequence[float]) -> Array:
        given = np.asarray(twist, dtype=np.float64)
        fastest = np.repeat([self._bounds.fastest_sliding, self._bounds.fastest_turning], 3)
        if not (np.abs(given) <= fastest).all():  # False for NaN
            text = f"twist {given.tolist()}: at most {fastest[0]:.4g} m/s and {fastest[3]:.4g} rad/s are allowed."
            raise InputError(text, field="twist", value=given)
        return given

    def _own(self, q: Array) -> Dynamics:
        if self._dynamics is None:  # created at first use
            self._dynamics = Dynamics(self._model, q0=q if self._model.loops else None)
        return self._dynamics
