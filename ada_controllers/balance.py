# SPDX-License-Identifier: Apache-2.0
"""Balance of a humanoid pushed at a shoulder or a hand, by the strategies of Takahashi 2012, sec. 6.3.

For HOAP-2 with hips and ankles and its feet fixed to the ground. Joints 1 to 5 belong to the right leg (hip about z, x
and y, ankle about y and x), 6 to 10 to the left one. Here all joints turn about +x, +y or +z, so that both legs bend
forward for the same sign. In the document, the pitch joints of both legs have opposite signs: its mean ankle angle
(θ_9 - θ_4)/2 is (θ_4 + θ_9)/2 here. Eq. 6.7 shall move the right ankle against the left one, so that the upper body
turns about z; this holds for the signs used here, not for those of the document.

Sec. 6.3.1 has two phases: a reaction with soft joints, and a recovery with stiffer joints, whose dampers at the ankles
and at the hips about z grow from 0 with the rotation of the upper body. The document does not define the transition;
with `phases: two` it is the time when the upper body begins to turn back. `phases: merged` needs no memory: the joints
have the constant gains of the recovery, and the dampers grow from those of the reaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from ada_controllers.controller import Controller
from ada_controllers.state import JointReference, State
from ada_controllers.support_coupling import row_space
from ada_dynamics import expr
from ada_dynamics.algorithms.kinematics import link_pose
from ada_dynamics.algorithms.rnea import gravity_efforts
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.constraint_set import dense_rows, loop_equations
from ada_dynamics.errors import InputError
from ada_dynamics.jit.compiled import Vector, compiled
from ada_dynamics.model.model import Model, link_poses
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.spatial.orientation import rpy_of
from ada_dynamics.spatial.vector import Scalar
from ada_robot.contract import Command
from ada_robot.settings import setting
from ada_robot.trajectory.path import segment_coefficients

JOINTS = tuple(f"joint_{i}" for i in range(1, 11))
TRUNK = "body"
TURNED = 0.02  # rotation of the upper body that counts as a reaction to a push [rad]
BACK = 0.98  # share of the largest rotation below which the upper body turns back
AT_REST = 1.0  # time without rotation before the next reaction [s]
_DEPENDENT = 1e-6  # tolerance of dependent constraints, relative to the largest; planar loops in space are redundant


@dataclass(frozen=True)
class Preset:
    """Gains of a strategy by joint, as functions of the rotation of the upper body.

    Attributes:
        stiffness: k_p of joints 1 to 10 [N m/rad].
        damping: k_d [N m s/rad].
        turned_stiffness: k_p at the full angle.
        turned_damping: k_d at the full angle.
        reacting: k_p and k_d of a separate reaction phase; None without one.
        axis: rotation axis of the upper body: z for the document's angle α, y for β.
    """

    stiffness: tuple[float, ...]
    damping: tuple[float, ...]
    turned_stiffness: tuple[float, ...]
    turned_damping: tuple[float, ...]
    axis: Literal["y", "z"]
    reacting: tuple[tuple[float, ...], tuple[float, ...]] | None = None

    def gains(self, part: Scalar, recovering: Scalar | None) -> tuple[list[Scalar], list[Scalar]]:
        """Return k_p and k_d.

        Args:
            part: interpolation parameter between zero and the full angle.
            recovering: 0 in the reaction, 1 in the recovery; None for merged phases.
        """
        springs = _grown(self.stiffness, self.turned_stiffness, part)
        if recovering is None or self.reacting is None:
            return springs, _grown(self.damping, self.turned_damping, part)
        pairs = zip(self.damping, self.turned_damping, strict=True)
        from_zero = [near if near == far else 0.0 for near, far in pairs]
        soft, loose = self.reacting
        return (
            [between(a, b, recovering) for a, b in zip(soft, springs, strict=True)],
            [
                between(a, b, recovering)
                for a, b in zip(loose, _grown(from_zero, self.turned_damping, part), strict=True)
            ],
        )


def _grown(near: Sequence[float], far: Sequence[float], part: Scalar) -> list[Scalar]:
    return [between(a, b, part) if a != b else a for a, b in zip(near, far, strict=True)]


def _by_joint(common: float, **own: float) -> tuple[float, ...]:
    """Return the gains of all joints: one value, except for joints with a value of their own such as `j3`."""
    return tuple(own.get(f"j{i}", common) for i in range(1, 11))


# Sec. 6.3.1: springs and dampers of all joints (eq. 6.6), without eq. 6.7; dampers of joints 1, 6, 4 and 9 grow.
_SPRINGS = Preset(
    stiffness=_by_joint(1.5, j1=0.3, j6=0.3, j4=0.3, j9=0.3),
    damping=_by_joint(1.5, j1=0.03, j6=0.03, j4=0.03, j9=0.03),
    turned_stiffness=_by_joint(1.5, j1=0.3, j6=0.3, j4=0.3, j9=0.3),
    turned_damping=_by_joint(1.5, j1=0.5, j6=0.5, j4=3.5, j9=3.5),
    axis="z",
    reacting=(_by_joint(0.3), _by_joint(0.03)),
)
PRESETS: Mapping[str, Preset] = {
    "springs": _SPRINGS,
    # Sec. 6.3.1: stiffer hips about y, the right ankle by eq. 6.7.
    "upper_body_rotation": Preset(
        stiffness=_by_joint(1.5, j1=0.3, j6=0.3, j9=0.3, j3=5.0, j8=5.0, j4=0.0),
        damping=_by_joint(1.5, j1=0.03, j6=0.03, j9=0.03, j3=0.5, j8=0.5, j4=0.0),
        turned_stiffness=_by_joint(1.5, j1=0.3, j6=0.3, j9=0.3, j3=5.0, j8=5.0, j4=0.0),
        turned_damping=_by_joint(1.5, j1=0.5, j6=0.5, j9=3.5, j3=0.5, j8=0.5, j4=0.0),
        axis="z",
        reacting=(_by_joint(0.3, j3=5.0, j8=5.0, j4=0.0), _by_joint(0.03, j3=0.5, j8=0.5, j4=0.0)),
    ),
    # Sec. 6.3.2: soft joints, the left ankle by eqs. 6.12 and 6.13 and a spring that grows with the extension β.
    "combined": Preset(
        stiffness=_by_joint(0.5),
        damping=_by_joint(0.05),
        turned_stiffness=_by_joint(0.5, j9=5.0),
        turned_damping=_by_joint(0.05, j9=2.0),
        axis="y",
    ),
}


@dataclass(frozen=True)
class BalanceSettings:
    """Strategy and parameters."""

    strategy: str = setting(
        "combined",
        "upper_body_rotation (smaller pushes), combined (rotation with extension and flexion), springs (eq. 6.6 only)",
        choices=tuple(PRESETS),
    )
    phases: str = setting(
        "merged",
        "merged: stiff joints from the start; two: soft ones in the reaction, until the upper body turns back, then "
        "those of the recovery (sec. 6.3.1; the combined strategy has one set)",
        choices=("merged", "two"),
    )
    carry_weight: bool = setting(
        True,
        "whether the motors also compensate gravity, as eq. 6.3 assumes; without it the robot falls",
    )
    full_angle: float = setting(
        0.785,
        "rotation of the upper body at which the variable gains reach their final values",
        unit="rad",
        lower=1e-3,
        upper=1.5,
    )
    right_ankle_stiffness: float = setting(5.0, "k_p4 of eq. 6.7", unit="N m/rad", lower=0.0)
    right_ankle_damping: float = setting(0.5, "k_d4 of eq. 6.7", unit="N m s/rad", lower=0.0)
    ankle_gain: float = setting(50.0, "k_a of eq. 6.13", unit="N m s/rad", lower=0.0)
    gain_scale: float = setting(1.0, "scale factor of the springs and dampers of eq. 6.6", lower=0.0)


class Balance(Controller[BalanceSettings]):
    """Joint springs and dampers that yield to a push and return, with an ankle law that keeps the feet flat."""

    NAME = "balance"
    SUMMARY = "balance of HOAP-2 after pushes at shoulder or hand, with two human strategies"
    KIND = "effort"
    REFERENCES = (JointReference,)
    SETTINGS = BalanceSettings

    def _prepare(self) -> None:
        model = self.model
        self._order = [self.joints.index(name) for name in JOINTS]  # indices of joint_1, ... in `joints`
        self.ankle_hip = ankle_hip_model(model)
        self._compiled = compiled(
            "balance",
            {"q": model.nq, "v": model.nv, "position": len(JOINTS), "velocity": len(JOINTS), "recovering": 1},
            self._equations,
        )
        self._zero = np.zeros(len(JOINTS))
        self._is_recovering, self._furthest, self._turned_until = False, 0.0, -np.inf
        self._signals = {"upper_body": np.zeros(2), "ankle": np.zeros(2)}

    def _commanded_joints(self) -> tuple[str, ...]:
        model = self.model
        missing = [name for name in JOINTS if name not in model.joints]
        is_fixed = all(body.parent != WORLD or body.joint.nv == 1 for body in model.tree.bodies)
        is_legs = not missing and model.nv == len(JOINTS) and TRUNK in model.links and is_fixed
        motors = super()._commanded_joints()
        if not is_legs or len(model.loop_names) != 1 or set(motors) != set(JOINTS):
            raise InputError(
                f"{self.NAME}: robot {model.name!r} is not supported by two legs of five joints with motors, "
                f"{JOINTS[0]} to {JOINTS[-1]}, with a link {TRUNK!r}, one foot as its base and one loop at the other. "
                "Use 'hoap2_standing' or 'hoap2_reaching'. The simulated robot may be another one with joints of these "
                "names, such as 'hoap2_10dof'.",
                joint=missing[0] if missing else None,
                field="model",
                value=model.name,
                allowed=("hoap2_standing", "hoap2_reaching"),
            )
        return motors

    def _begin(self, state: State, time: float) -> None:
        self._is_recovering, self._furthest, self._turned_until = False, 0.0, -np.inf

    def _watch(self, turn: float, time: float) -> None:
        """Detect the transition from reaction to recovery: the upper body turns away, then back."""
        size = abs(turn)
        if size > TURNED:
            self._turned_until = time
        elif time - self._turned_until > AT_REST:
            self._is_recovering, self._furthest = False, 0.0
        self._furthest = max(self._furthest, size)
        if self._furthest > TURNED and size < BACK * self._furthest:
            self._is_recovering = True

    def _equations(
        self, q: Vector, v: Vector, position: Vector, velocity: Vector, recovering: Vector
    ) -> dict[str, Any]:
        """Control law over generic scalars; references in the order of `joints`; `recovering` is 0 or 1."""
        own, tree = self.settings, self.model.tree
        preset = PRESETS[own.strategy]
        roles = self._order
        x, rate = [q[self.q_index[k]] for k in roles], [v[self.v_index[k]] for k in roles]
        rest, moving = [position[k] for k in roles], [velocity[k] for k in roles]
        _, pitch, yaw = rpy_of(link_pose(tree, q, TRUNK).rotation.matrix())  # about y and z of the world
        part = share(yaw if preset.axis == "z" else pitch, own.full_angle)
        springs, dampers = preset.gains(part, None if own.phases == "merged" else recovering[0])
        springs, dampers = ([own.gain_scale * gain for gain in gains] for gains in (springs, dampers))
        tau = spring_efforts(springs, dampers, rest, moving, x, rate)
        ankle: tuple[Scalar, Scalar] = (0.0, 0.0)
        if own.strategy == "upper_body_rotation":
            # eq. 6.7
            tau[3] = -own.right_ankle_stiffness * (x[8] - rest[8]) - own.right_ankle_damping * rate[8]
        elif own.strategy == "combined":
            a, h1, h2 = 0.5 * (x[8] + x[3]), x[5], x[7]
            desired = self.ankle_hip.ankle_per_hip((a, h1, h2)) * rate[7]  # eq. 6.12
            ankle = (desired, 0.5 * (rate[8] + rate[3]))
            tau[8] = tau[8] + own.ankle_gain * (ankle[0] - ankle[1])  # eq. 6.13
        weight = carried_weight(tree, q) if own.carry_weight else (0.0,) * len(tau)
        efforts: list[Scalar] = [0.0] * len(tau)
        for k, effort in zip(roles, tau, strict=True):
            efforts[k] = effort + weight[self.v_index[k]]
        return {"tau": efforts, "upper_body": [yaw, pitch], "ankle": list(ankle)}

    def _law(self, state: State, time: float) -> Command:
        desired = cast(JointReference, self.reference)
        velocity = self._zero if desired.velocity is None else desired.velocity
        recovering = np.array([float(self._is_recovering)])
        tau, upper_body, ankle = self._compiled(state.q, state.v, desired.position, velocity, recovering)
        self._watch(float(upper_body[0]), time)
        self._signals = {"upper_body": upper_body, "ankle": ankle}
        return Command(effort=tau)

    def signals(self) -> dict[str, Array]:
        """Return `upper_body`, its rotation about z (α) and y (β) [rad], and `ankle`, θ̇_a^ref of eq. 6.12 and θ̇_a."""
        return self._signals


# --- springs whose gains depend on the rotation of a link ----------------------------------------------------------
def spring_efforts(
    stiffness: Sequence[Scalar],
    damping: Sequence[Scalar],
    position: Sequence[Scalar],
    velocity: Sequence[Scalar],
    places: Sequence[Scalar],
    rates: Sequence[Scalar],
) -> list[Scalar]:
    """Eq. 6.6 for each joint."""
    return [
        k * (desired - x) + d * (moving - rate)
        for k, d, desired, moving, x, rate in zip(stiffness, damping, position, velocity, places, rates, strict=True)
    ]


def carried_weight(tree: Tree, q: Sequence[Scalar]) -> list[Scalar]:
    """Return the minimum-norm efforts of all joints that hold the weight; constraint forces carry the rest.

    Constraint forces act along the rows of J, so that the part of the tree's efforts in the row space is removed.
    """
    return row_space(dense_rows(loop_equations(tree, q), tree.nv), _DEPENDENT).inside(gravity_efforts(tree, q))


def share(angle: Scalar, full: Scalar) -> Scalar:
    """Return 0 at angle zero, 1 for magnitudes from `full` on, and a quintic in between."""
    way = expr.minimum(expr.absolute(angle) / full, 1.0)
    total: Scalar = 0.0
    for coefficient in reversed(segment_coefficients(1.0, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0))):  # type: ignore[arg-type]
        total = total * way + float(coefficient)
    return total


def between(near: Scalar, far: Scalar, part: Scalar) -> Scalar:
    """Interpolate a gain between its values at zero and at the full angle."""
    return near + (far - near) * part


# --- eq. 6.11 --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class AnkleHipModel:
    """Model with three joints of fig. 6.7: an ankle, and a hip that rotates about the vertical and bends.

    Joints a (ankle, about y), h1 (hip, about z) and h2 (hip, about y) from the ground up; at zero the model is upright
    along +z. Its coupling inertia with the foot is one row, the momentum along x per joint velocity, and leaves two
    joint motions without force on the foot along x (eq. 6.11).

    As printed, n31 ends in "- S_a S_h1 S_h2". From the model that term is -m2 lg2 S_a C_h1 S_h2: the factor m2 lg2 is
    missing, and at h1 = 0, where the model is a planar double pendulum with the moment of m2 proportional to C_(a+h2),
    it must not vanish. The printed m_h1 is the mass carried by the hip: its own mass and that of the upper body.
    """

    m1: float  # mass of the leg [kg]
    lg1: float  # height of its centre of mass above the ankle [m]
    l1: float  # height of the hip above the ankle [m]
    mh: float  # mass at the hip [kg]
    m2: float  # mass of the upper body [kg]
    lg2: float  # height of its centre of mass above the hip [m]

    def coupling(self, angles: Sequence[Scalar]) -> tuple[Scalar, Scalar, Scalar]:
        """Return M_fl, the momentum along x per velocity of a, h1 and h2 [kg m]. Args: angles of a, h1 and h2 [rad]."""
        sa, s1, s2 = (expr.sin(x) for x in angles)
        ca, c1, c2 = (expr.cos(x) for x in angles)
        upper = self.m2 * self.lg2
        hip = self.m1 * self.lg1 + (self.mh + self.m2) * self.l1
        return (
            hip * ca + upper * (ca * c2 - sa * c1 * s2),
            -upper * ca * s1 * s2,
            upper * (ca * c1 * c2 - sa * s2),
        )

    def motions(self, angles: Sequence[Scalar]) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
        """Return n_1 = [n11, 0, n31] and n_2 = [n12, n22, 0] of eq. 6.11: motions without force on the foot."""
        a, h1, h2 = self.coupling(angles)
        return (-h2, 0.0, a), (-h1, a, 0.0)

    def ankle_per_hip(self, angles: Sequence[Scalar]) -> Scalar:
        """Return n11/n31 of eq. 6.12, the velocity of the ankle per velocity of h2."""
        (n11, _, n31), _ = self.motions(angles)
        return n11 / n31


def ankle_hip_model(model: Model) -> AnkleHipModel:
    """Create the model of fig. 6.7 for a robot with JOINTS, with both legs combined, from ankle and hip heights."""
    poses = link_poses(model, model.neutral())
    ankle, hip = poses["left_ankle"][1][2], poses["left_thigh"][1][2]
    parts = {"foot": 0.0, "leg": 0.0, "hip": 0.0, "upper": 0.0}
    moments = dict(parts)
    for name, link in model.links.items():
        part = _part_of(name)
        R, p = poses[name]
        parts[part] += link.mass
        moments[part] += link.mass * float((p + R @ link.com)[2])
    return AnkleHipModel(
        m1=parts["leg"],
        lg1=moments["leg"] / parts["leg"] - ankle,
        l1=float(hip - ankle),
        mh=parts["hip"],
        m2=parts["upper"],
        lg2=moments["upper"] / parts["upper"] - hip,
    )


def _part_of(link: str) -> str:
    side, _, part = link.partition("_")
    if side not in ("left", "right"):
        return "upper"
    if part in ("ankle", "foot", "sole"):
        return "foot"
    if part in ("thigh", "shank"):
        return "leg"
    return "hip" if part.startswith("hip") else "upper"
