# SPDX-License-Identifier: Apache-2.0
"""The exact map between motor space and joint space of a mechanism with closed loops, such as a parallel ankle.

With q closed by Newton's method, and v = T_m v_m = T_j v_j by the tangent maps of the motors and of the joints,

    v_j = J v_m,   J = T_m[joints],     v_m = J⁻¹ v_j,   J⁻¹ = T_j[motors],
    a_j = J a_m + J̇ v_m,                τ_m = Jᵀ τ_j    (equal power τ_mᵀ v_m = τ_jᵀ v_j),
    K_m = Jᵀ K_j J - Σ_k τ_j,k ∂²y_k/∂y_m²,   M_m = T_mᵀ M T_m.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import closed_configuration
from ada_dynamics.constraints.coordinates import velocities_of
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.arguments import as_array
from ada_dynamics.dynamics.loop_closure import NOT_CLOSED, LoopClosure
from ada_dynamics.errors import InputError
from ada_dynamics.model.edit import open_loops, reduce
from ada_dynamics.model.model import Model


class TransmissionWorkspace(NamedTuple):
    """Samples of the workspace: positions of motors and joints, (N, m), of all joints, (N, nq), and their status.

    The status is that of `LoopClosure.solve`; positions that cannot be reached are NaN.
    """

    motors: Array
    joints: Array
    q: Array
    status: NDArray[np.intp]


class Transmission:
    """Map between the motors and the joints of a mechanism, in one assembly mode.

    Example::

        ankle = ada.Transmission(model, motors=["left_crank", "right_crank"], joints=["pitch", "roll"])
        state = ankle.from_joints([0.1, -0.05])
        state.motors, state.motor_efforts([20.0, 5.0])

    Attributes:
        model: the mechanism, of which all other joints follow from the motors; other joints of a robot are locked.
        motors: names of the motors, in the order of all motor vectors.
        joints: names of the joints, in the order of all joint vectors.
        reference: closed configuration of the assembly mode.
    """

    def __init__(
        self, model: Model, motors: Sequence[str], joints: Sequence[str], reference: ArrayLike | None = None
    ) -> None:
        """Analyse the mechanism.

        Args:
            model: the mechanism, or the robot that contains it. Joints that the loops do not connect with the motors
                are locked at the reference.
            motors: names of the joints that have motors.
            joints: names of the joints that are commanded.
            reference: a configuration of the model in the assembly mode to be used; by default its home configuration.

        Raises:
            InputError: the motors, or the joints, do not determine the motion; the message names what can still move.
            ModelError: the loops cannot be closed near the reference.
        """
        self.motors, self.joints = tuple(motors), tuple(joints)
        for field, names in (("motors", self.motors), ("joints", self.joints)):
            wide = [name for name in names if model.v_index(name).stop - model.v_index(name).start != 1]
            if wide:
                message = f"joint {wide[0]!r} has several velocities; a transmission needs joints with one."
                raise InputError(message, joint=wide[0], field=field, value=wide[0])
        if reference is not None:
            reference = as_array("reference", reference, model.nq, model)
        model, reference = _connecting_mechanism(model, (*self.motors, *self.joints), reference)
        self.model = model
        self.dynamics = Dynamics(model, q0=reference)
        constraints = self.dynamics.constraints
        self.by_motors: LoopClosure = constraints.loop_closure(list(self.motors))
        self.by_joints: LoopClosure = constraints.loop_closure(list(self.joints), self.by_motors.reference)
        self.reference = self.by_motors.reference
        self._motor_velocities = list(velocities_of(model, self.motors))
        self._joint_velocities = list(velocities_of(model, self.joints))

    def from_motors(
        self, positions: ArrayLike | Mapping[str, float], near: TransmissionState | None = None
    ) -> TransmissionState:
        """The state at given positions of the motors, (m,) or (N, m).

        Args:
            positions: of the motors, in their order or by name.
            near: a state to start from, such as that of the last cycle; the reference by default.

        Raises:
            SingularConfigurationError: the path to these positions crosses a singular configuration of the motors.
            ModelError: the positions cannot be reached.
        """
        return TransmissionState(self, self.by_motors.complete(positions, None if near is None else near.q))

    def from_joints(
        self, positions: ArrayLike | Mapping[str, float], near: TransmissionState | None = None
    ) -> TransmissionState:
        """The state at given positions of the joints; see `from_motors`."""
        return TransmissionState(self, self.by_joints.complete(positions, None if near is None else near.q))

    def workspace(
        self, samples: int = 21, space: str = "motors", ranges: Sequence[tuple[float, float]] | None = None
    ) -> TransmissionWorkspace:
        """Sample the workspace on a grid between the position limits of the motors, or of the joints.

        Args:
            samples: number of samples along each axis.
            space: "motors" or "joints": whose positions the grid has.
            ranges: smallest and largest position along each axis; by default the limits.

        Raises:
            InputError: a joint of that space has no position limits.
        """
        if space not in ("motors", "joints"):
            raise InputError(f"space is {space!r}; choose 'motors' or 'joints'.", field="space", value=space)
        closure, names = (self.by_motors, self.motors) if space == "motors" else (self.by_joints, self.joints)
        axes = []
        limits = [(self.model.lower[k], self.model.upper[k]) for k in closure.places] if ranges is None else ranges
        for name, (lower, upper) in zip(names, limits, strict=True):
            if not np.isfinite([lower, upper]).all():
                message = f"joint {name!r} has no position limits; give ranges=[(lower, upper), ...] for {space}."
                raise InputError(message, joint=name, field="limits", value=(lower, upper))
            axes.append(np.linspace(lower, upper, samples))
        grid = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=-1)
        q, status = closure.solve(grid)
        return TransmissionWorkspace(q[:, self.by_motors.places], q[:, self.by_joints.places], q, status)

    def is_reachable(self, positions: ArrayLike, space: str = "joints") -> NDArray[np.bool_]:
        """True where positions of the joints (or motors) can be reached in this assembly mode."""
        closure = self.by_joints if space == "joints" else self.by_motors
        return np.asarray(closure.solve(positions).status < NOT_CLOSED)


@dataclass(frozen=True)
class TransmissionState:
    """A transmission in one configuration, or in a batch of them.

    Attributes:
        transmission: the transmission.
        q: positions of all joints of the mechanism, (nq,) or (N, nq).
    """

    transmission: Transmission
    q: Array

    @property
    def motors(self) -> Array:
        """Positions of the motors."""
        return self.q[..., self.transmission.by_motors.places]

    @property
    def joints(self) -> Array:
        """Positions of the joints."""
        return self.q[..., self.transmission.by_joints.places]

    @cached_property
    def jacobian(self) -> Array:
        """J of v_joints = J v_motors, (m, m)."""
        return self._motor_map[..., self.transmission._joint_velocities, :]

    @cached_property
    def inverse_jacobian(self) -> Array:
        """J⁻¹ of v_motors = J⁻¹ v_joints, (m, m)."""
        return self._joint_map[..., self.transmission._motor_velocities, :]

    @cached_property
    def _motor_map(self) -> Array:
        """T of the motors."""
        return self.transmission.dynamics.constraints.tangent_map(self.q, list(self.transmission.motors))

    @cached_property
    def _joint_map(self) -> Array:
        """T of the joints."""
        return self.transmission.dynamics.constraints.tangent_map(self.q, list(self.transmission.joints))

    @property
    def conditioning(self) -> Array:
        """Smallest by largest singular value of J: 0 in singular configurations of motors or joints."""
        s = np.linalg.svd(self.jacobian, compute_uv=False)
        return np.asarray(s[..., -1] / s[..., 0])

    # --- velocities and accelerations -------------------------------------------------------------------------------
    def joint_velocities(self, motor_velocities: ArrayLike) -> Array:
        """v_j = J v_m."""
        return self._times(self.jacobian, motor_velocities)

    def motor_velocities(self, joint_velocities: ArrayLike) -> Array:
        """v_m = J⁻¹ v_j."""
        return self._times(self.inverse_jacobian, joint_velocities)

    def joint_accelerations(self, motor_velocities: ArrayLike, motor_accelerations: ArrayLike) -> Array:
        """a_j = J a_m + J̇ v_m."""
        rate = self._rate(self.transmission.motors, self._motor_map, motor_velocities)
        return self.joint_velocities(motor_accelerations) + self._times(
            rate[..., self.transmission._joint_velocities, :], motor_velocities
        )

    def motor_accelerations(self, joint_velocities: ArrayLike, joint_accelerations: ArrayLike) -> Array:
        """a_m = J⁻¹ a_j + (J⁻¹)˙ v_j."""
        rate = self._rate(self.transmission.joints, self._joint_map, joint_velocities)
        return self.motor_velocities(joint_accelerations) + self._times(
            rate[..., self.transmission._motor_velocities, :], joint_velocities
        )

    # --- efforts, stiffness and inertia -----------------------------------------------------------------------------
    def motor_efforts(self, joint_efforts: ArrayLike) -> Array:
        """τ_m = Jᵀ τ_j: efforts of the motors that have the same effect as efforts at the joints."""
        return self._times(self.jacobian.swapaxes(-1, -2), joint_efforts)

    def joint_efforts(self, motor_efforts: ArrayLike) -> Array:
        """τ_j = J⁻ᵀ τ_m."""
        return self._times(self.inverse_jacobian.swapaxes(-1, -2), motor_efforts)

    def motor_stiffness(self, joint_stiffness: ArrayLike, joint_efforts: ArrayLike | None = None) -> Array:
        """Stiffness -∂τ_m/∂y_m, (m, m), of a stiffness -∂τ_j/∂y_j: an array (m, m), or (m,) of its diagonal.

        Args:
            joint_stiffness: K_j.
            joint_efforts: efforts that this stiffness gives in this configuration, which count where the map is curved;
                none by default.
        """
        J = self.jacobian
        K = J.swapaxes(-1, -2) @ _matrix(joint_stiffness) @ J
        if joint_efforts is None:
            return np.asarray(K)
        return np.asarray(K - np.einsum("...kij,...k->...ij", self.hessian, np.asarray(joint_efforts, dtype=float)))

    def joint_stiffness(self, motor_stiffness: ArrayLike) -> Array:
        """Stiffness at the joints, (m, m), of a stiffness of unloaded motors: (m, m), or (m,) of its diagonal."""
        inverse = self.inverse_jacobian
        return np.asarray(inverse.swapaxes(-1, -2) @ _matrix(motor_stiffness) @ inverse)

    @property
    def motor_inertia(self) -> Array:
        """Inertia of the whole mechanism, rotors included, felt at the motors, (m, m)."""
        return self._inertia(self._motor_map)

    @property
    def joint_inertia(self) -> Array:
        """Inertia of the whole mechanism, rotors included, felt at the joints, (m, m)."""
        return self._inertia(self._joint_map)

    @cached_property
    def hessian(self) -> Array:
        """Second derivatives of the joint positions by the motor positions, (m, m, m): the first index is the joint."""
        rows = self.transmission._joint_velocities
        unit = np.eye(len(self.transmission.motors))
        parts = [self._rate(self.transmission.motors, self._motor_map, e)[..., rows, :] for e in unit]
        return np.stack(parts, axis=-1)

    def _inertia(self, T: Array) -> Array:
        return np.asarray(T.swapaxes(-1, -2) @ self.transmission.dynamics.mass_matrix(self.q) @ T)

    def _rate(self, names: tuple[str, ...], T: Array, velocities: ArrayLike) -> Array:
        """Ṫ while the coordinates move with these velocities."""
        v = self._times(T, velocities)
        return self.transmission.dynamics.constraints.tangent_map_rate(self.q, v, list(names))[1]

    def _times(self, A: Array, x: ArrayLike) -> Array:
        values = as_array("values", x, A.shape[-1], self.transmission.model)
        return np.asarray((A @ values[..., None])[..., 0])


def _matrix(stiffness: ArrayLike) -> Array:
    """A stiffness matrix, or one with a given diagonal."""
    K = np.asarray(stiffness, dtype=float)
    return np.diag(K) if K.ndim == 1 else K


def _connecting_mechanism(model: Model, names: Sequence[str], reference: Array | None) -> tuple[Model, Array | None]:
    """Return the loops that connect joints, with all other joints locked, and the reference of the kept joints.

    Args:
        model: the robot.
        names: the joints.
        reference: configuration in which the other joints are locked, closed first; the home configuration by default.

    Returns:
        The reduced model and its reference; the arguments if no joint is left to lock.
    """
    loops, joints = _connected(model, names)
    if not loops or joints.issuperset(model.joint_names):
        return model, reference
    q = np.asarray(closed_configuration(model, reference))
    part = reduce(open_loops(model, [name for name in model.loops if name not in loops]), joints, q)
    return part, np.concatenate([q[model.q_index(name)] for name in part.joint_names])


def _connected(model: Model, names: Sequence[str]) -> tuple[set[str], set[str]]:
    """Loops that share joints with the named ones, directly or by other loops, and all joints of these loops."""
    tree = model.tree
    sources = {name: joint.mimic.joint for name, joint in model.joints.items() if joint.mimic}
    paths = {}
    for loop in tree.loops:
        bodies = set(tree.ancestry(loop.parent)) ^ set(tree.ancestry(loop.child))
        joints = {tree.bodies[body].name for body in bodies}
        paths[loop.name] = {sources.get(name, name) for name in joints}
    found, loops = set(names), set[str]()
    while more := {name for name, path in paths.items() if name not in loops and path & found}:
        loops |= more
        found |= set().union(*(paths[name] for name in more))
    return loops, found
