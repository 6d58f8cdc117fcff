# SPDX-License-Identifier: Apache-2.0
"""Impedance control: springs and dampers between the joints, or one link, and the reference.

Without inertia shaping (Hogan 1985; the closed loop is passive),

    τ = g(q) + K (q* - q) + D (q̇* - q̇)                               in joint space,
    τ = g(q) + Jᵀ (K x̃ + D (ẋ* - ẋ)) + Nᵀ τ_0                        in Cartesian space,

x̃ = [p* - p, axis times angle of R* Rᵀ]. With inertia shaping, by the full dynamics and the measured wrench F (Khatib
1987),

    a = a* + M_d⁻¹ (K e + D ė + Jᵀ F),  τ = M a + h - Jᵀ F           in joint space,
    ẍ = Λ_d⁻¹ (K x̃ + D x̃' + F),         a = J̄ (ẍ - J̇ q̇) + N a_0      in Cartesian space,

J̄ = M⁻¹ Jᵀ Λ, Λ = (J M⁻¹ Jᵀ + δ²)⁻¹, N = 1 - J̄ J, the dynamically consistent null-space projector.

Joints are the actuated ones. M, J and forces refer to the independent coordinates y, v = T y (`actuated`): Tᵀ M T, J T,
Tᵀ f; without loops these are the joints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from ada_controllers.actuated import ActuatedCoordinates, Motions
from ada_controllers.controller import Controller
from ada_controllers.state import JointReference, PoseReference, Reference, ReferenceRefused, State
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.poses import pose_difference
from ada_dynamics.errors import unknown_name
from ada_robot.contract import Command
from ada_robot.settings import setting

JOINTS, LINK = "joints", "link"


@dataclass(frozen=True)
class ImpedanceSettings:
    """Stiffness, damping and inertia."""

    space: str = setting(JOINTS, "coordinates of the springs", choices=(JOINTS, LINK))
    link: str = setting("", "link of the springs (space 'link') and of the measured wrench; empty: last link")
    joint_stiffness: tuple[float, ...] = setting(
        (100.0,), "stiffness of each joint; one value for all", unit="N m/rad, N/m", lower=0.0
    )
    linear_stiffness: tuple[float, ...] = setting(
        (500.0,), "stiffness of the link along x, y, z of the base; one value for all", unit="N/m", lower=0.0
    )
    angular_stiffness: tuple[float, ...] = setting(
        (20.0,), "stiffness of the link about x, y, z of the base; one value for all", unit="N m/rad", lower=0.0
    )
    damping_ratio: float = setting(
        0.7, "damping ratio of each spring for the inertia at activation; 1: critical damping", lower=0.0, upper=10.0
    )
    joint_damping: tuple[float, ...] = setting(
        (0.0,), "additional damping of each joint; one value for all", unit="N m s/rad, N s/m", lower=0.0
    )
    linear_damping: tuple[float, ...] = setting(
        (0.0,),
        "additional damping of the link along x, y, z of the base; one value for all",
        unit="N s/m",
        lower=0.0,
    )
    angular_damping: tuple[float, ...] = setting(
        (0.0,),
        "additional damping of the link about x, y, z of the base; one value for all",
        unit="N m s/rad",
        lower=0.0,
    )
    null_stiffness: tuple[float, ...] = setting(
        (0.0,),
        "stiffness of null-space motions towards the initial configuration; one value, or one per joint",
        unit="N m/rad, N/m; 1/s^2 with shape_inertia",
        lower=0.0,
    )
    null_damping: tuple[float, ...] = setting(
        (1.0,),
        "damping of null-space motions; one value, or one per joint",
        unit="N m s/rad, N s/m; 1/s with shape_inertia",
        lower=0.0,
    )
    gravity: float = setting(1.0, "compensated fraction of the weight, without shape_inertia", lower=0.0, upper=1.0)
    shape_inertia: bool = setting(False, "replace the inertia of the joints or of the link by the following values")
    joint_inertia: tuple[float, ...] = setting(
        (1.0,),
        "desired inertia of each joint, with shape_inertia; one value for all",
        unit="kg m^2, kg",
        lower=1e-3,
    )
    linear_inertia: float = setting(10.0, "desired mass of the link, with shape_inertia", unit="kg", lower=1e-3)
    angular_inertia: float = setting(1.0, "desired rotational inertia, with shape_inertia", unit="kg m^2", lower=1e-3)
    singular_damping: float = setting(
        1e-3,
        "δ: regularization that keeps efforts finite in singular configurations of the link",
        unit="1/sqrt(kg)",
        lower=1e-6,
    )


class Impedance(Controller[ImpedanceSettings]):
    """Springs and dampers at the actuated joints or at a link, for robots whose motors determine their motion."""

    NAME = "impedance"
    SUMMARY = "springs and dampers at the joints or at a link, with gravity compensation"
    KIND = "effort"
    REFERENCES = (JointReference, PoseReference)
    SETTINGS = ImpedanceSettings

    def _prepare(self) -> None:
        model = self.model
        self._coordinates = ActuatedCoordinates(self)
        self._dynamics = self._coordinates.dynamics
        own = self.settings
        self.link = own.link or model.link_names[-1]
        if self.link not in model.link_names:
            raise unknown_name("link", self.link, model.link_names)
        self._in_joints = own.space == JOINTS
        self._stiffness = self.per_joint("joint_stiffness", own.joint_stiffness)
        self._own_damping = self.per_joint("joint_damping", own.joint_damping)
        self._damping = np.diag(self._own_damping)
        self._inertia = self.per_joint("joint_inertia", own.joint_inertia)
        self._null_stiffness = self.per_joint("null_stiffness", own.null_stiffness)
        self._null_damping = self.per_joint("null_damping", own.null_damping)
        self._link_stiffness = self._six("stiffness")
        self._own_link_damping = self._six("damping")
        self._link_damping = np.diag(self._own_link_damping)
        self._link_inertia = np.repeat([own.linear_inertia, own.angular_inertia], 3)
        self._zero, self._no_twist, self._at_rest = np.zeros(len(self.joints)), np.zeros(6), np.zeros(model.nv)
        self._posture = self._zero
        self._error = self._zero if self._in_joints else self._no_twist
        self._compile()

    def _six(self, what: str) -> Array:
        """Return the stiffness or damping of the link along and about x, y, z."""
        names = f"linear_{what}", f"angular_{what}"
        return np.concatenate(
            [self.numbers(name, getattr(self.settings, name), 1, 3, each=" for x, y, z") for name in names]
        )

    def _compile(self) -> None:
        """Compile the kernels before the first update, in a configuration with closed loops."""
        v, dynamics, analysis = self._at_rest, self._dynamics, self._dynamics.constraints.coordinates.analysis
        q = self.model.neutral() if analysis is None else analysis.configurations[0]
        dynamics.inverse(q, v, v), dynamics.mass_matrix(q), dynamics.pose(self.link, q)
        dynamics.jacobian(self.link, q), dynamics.jacobian_rate(self.link, q, v)

    # --- references -----------------------------------------------------------------------------------------------
    def _begin(self, state: State, time: float) -> None:
        self._posture = state.q[self.q_index]
        own, motions = self.settings, self._coordinates.at(state.q, state.v)
        M = motions.T.T @ self._dynamics.mass_matrix(state.q) @ motions.T
        if self._in_joints:
            self._damping = np.diag(self._own_damping) + self._joint_damping(M, motions)
        else:
            moved = np.diag(self._link_inertia) if own.shape_inertia else self._moved_by_link(state.q, M, motions)
            damping = damping_of(moved, np.diag(self._link_stiffness), own.damping_ratio)
            self._link_damping = np.diag(self._own_link_damping) + damping
        self._error = self._zero if self._in_joints else self._no_twist

    def _joint_damping(self, M: Array, motions: Motions) -> Array:
        """Return the damping matrix of the motors from the inertia in actuated coordinates."""
        own, K = self.settings, np.diag(self._stiffness)
        if own.shape_inertia:
            return damping_of(np.diag(self._inertia), K, own.damping_ratio)
        if motions.E is None:
            return damping_of(M, K, own.damping_ratio)
        E, back = motions.E, np.linalg.pinv(motions.E)
        return np.asarray(back.T @ damping_of(M, E.T @ K @ E, own.damping_ratio) @ back)

    def _moved_by_link(self, q: Array, M: Array, motions: Motions) -> Array:
        """Return Λ of the link, bounded by the mass of the robot in singular directions."""
        J = self._dynamics.jacobian(self.link, q) @ motions.T
        least = 1.0 / np.repeat([self.model.total_mass, M.diagonal().max()], 3)
        return np.asarray(np.linalg.inv(J @ np.linalg.solve(M, J.T) + np.diag(least)), dtype=np.float64)

    def _reference_at(self, state: State) -> Reference:
        if self._in_joints:
            return JointReference(state.q[self.q_index])
        return PoseReference(self._dynamics.pose(self.link, state.q))

    def _check_reference(self, reference: Reference) -> None:
        if isinstance(reference, JointReference) is not self._in_joints:
            held, desired = ("the joints", "JointReference") if self._in_joints else ("a link", "PoseReference")
            text = f"{self.NAME} controls {held} (setting space) and needs a {desired}."
            raise ReferenceRefused(text, field="reference", value=reference, allowed=desired)

    # --- law ----------------------------------------------------------------------------------------------------------
    def _law(self, state: State, time: float) -> Command:
        if self._in_joints:
            return Command(effort=self._at_joints(state, cast(JointReference, self.reference)))
        return Command(effort=self._at_link(state, cast(PoseReference, self.reference)))

    def signals(self) -> dict[str, Array]:
        """Return the errors of the last update: joint errors [rad, m], or x̃ of the link [m, rad]."""
        return {"error": self._error}

    def _at_joints(self, state: State, desired: JointReference) -> Array:
        q, v, _ = state
        own_v = v[self.v_index]
        rate = -own_v if desired.velocity is None else desired.velocity - own_v
        error = desired.position - q[self.q_index]
        pull = self._stiffness * error + self._damping @ rate
        self._error = error
        if not self.settings.shape_inertia:
            return self._carried(q) + pull
        motions = self._coordinates.at(q, v)
        outer = self._zero
        if state.wrench is not None:
            outer = motions.efforts(motions.T.T @ (self._dynamics.jacobian(self.link, q).T @ self._push(state)))
        ahead = self._zero if desired.acceleration is None else desired.acceleration
        a = motions.acceleration(ahead + (pull + outer) / self._inertia)
        return self._dynamics.inverse(q, v, a)[self.v_index] - outer

    def _at_link(self, state: State, desired: PoseReference) -> Array:
        q, v, _ = state
        dynamics, motions = self._dynamics, self._coordinates.at(q, v)
        whole_J = dynamics.jacobian(self.link, q)
        J, M = whole_J @ motions.T, motions.T.T @ dynamics.mass_matrix(q) @ motions.T
        error = pose_error(desired.pose, dynamics.pose(self.link, q))
        rate = (self._no_twist if desired.twist is None else desired.twist) - whole_J @ v
        pull = self._link_stiffness * error + self._link_damping @ rate
        posture = self._null_stiffness * (self._posture - q[self.q_index]) - self._null_damping * v[self.v_index]
        free = motions.along(posture)
        inverse_M_Jt = np.linalg.solve(M, J.T)
        mobility = J @ inverse_M_Jt + self.settings.singular_damping**2 * np.eye(6)
        self._error = error
        if not self.settings.shape_inertia:
            # Nᵀ τ_0, N = 1 - J̄ J
            forces = J.T @ pull + free - J.T @ np.linalg.solve(mobility, inverse_M_Jt.T @ free)
            return self._carried(q) + motions.efforts(forces)
        push = self._push(state)
        outer = motions.efforts(J.T @ push)
        drift = dynamics.jacobian_rate(self.link, q, v) @ v + whole_J @ motions.drift
        a = free + inverse_M_Jt @ np.linalg.solve(mobility, (pull + push) / self._link_inertia - drift - J @ free)
        return dynamics.inverse(q, v, motions.T @ a + motions.drift)[self.v_index] - outer

    def _carried(self, q: Array) -> Array:
        share = self.settings.gravity
        return share * self._dynamics.inverse(q, self._at_rest, self._at_rest)[self.v_index] if share else self._zero

    def _push(self, state: State) -> Array:
        """Return the wrench measured at the link's origin in base axes; zero without one."""
        if state.wrench is None:
            return self._no_twist
        R = self._dynamics.pose(self.link, state.q)[:3, :3]
        return np.concatenate([R @ state.wrench[:3], R @ state.wrench[3:]])


def pose_error(desired: Array, present: Array) -> Array:
    """Return x̃ = [p* - p, axis times angle of R* Rᵀ], in the axes of the common frame of both 4x4 poses."""
    own = pose_difference(present, desired)  # in axes of the present pose
    R = present[:3, :3]
    return np.concatenate([R @ own[:3], R @ own[3:]])


def damping_of(inertia: Array, stiffness: Array, ratio: float) -> Array:
    """Return a damping matrix with a given ratio for all modes (Albu-Schäffer et al. 2003, sec. III): 2 ζ (Λ # K).

    With Λ = L Lᵀ and L⁻¹ K L⁻ᵀ = V diag(w²) Vᵀ it is 2 ζ L V diag(w) Vᵀ Lᵀ.
    """
    L = np.linalg.cholesky(inertia)
    inverse = np.linalg.inv(L)
    squares, V = np.linalg.eigh(inverse @ stiffness @ inverse.T)
    root = L @ V
    return np.asarray(2.0 * ratio * (root * np.sqrt(np.maximum(squares, 0.0))) @ root.T, dtype=np.float64)
