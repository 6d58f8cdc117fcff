# SPDX-License-Identifier: Apache-2.0
"""Pose control of an end effector by joint velocities (Yamada, secs. 4.2.1-4.2.4), proportional to the pose error.

The error is T^∨ of T = {ᵃT_w2}⁻¹ {ᵃT_w2d} (sec. 4.2.1), the logarithm. Only for it the transformation of errors from
wrist to hand by ʰH_w2 (sec. 4.2.4) is exact, and the motion does not depend on the controlled frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from ada_controllers.command_shaping import UNLIMITED
from ada_controllers.controller import Controller
from ada_controllers.state import JointReference, PoseReference, Reference, ReferenceRefused, State
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.poses import inverse, length, pose_difference, twist_between, twist_matrix
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.model import Model, motor_joints
from ada_dynamics.spatial.orientation import pose_of
from ada_robot.contract import Command
from ada_robot.settings import setting

_POSES = 12  # number of random configurations
_SAME = 1e-9  # tolerance of equal distances [m]
END_TIME = 0.1  # time to reach a position limit [s]: approach velocity = distance / END_TIME
_RANK = 1e-6  # relative singular value below which directions belong to the null space
_SELF_MOTION = 1e-3  # regularization of the self-motion (squared)


@dataclass(frozen=True)
class PoseServoSettings:
    """Controlled frame, velocities, damping and redundancy."""

    link: str = setting("", "link that carries the tool; empty: the last link of the longest arm")
    tool_xyz: tuple[float, ...] = setting((0.0, 0.0, 0.0), "position of the controlled frame in the link", unit="m")
    tool_rpy: tuple[float, ...] = setting((0.0, 0.0, 0.0), "roll, pitch and yaw of the controlled frame", unit="rad")
    gain: float = setting(5.0, "velocity per position error", unit="1/s", lower=0.0)
    angular_gain: float = setting(0.0, "velocity per orientation error; 0: same as gain", unit="1/s", lower=0.0)
    path: str = setting(
        "screw",
        "path to the target; screw: constant twist; straight: position on a line",
        choices=("screw", "straight"),
    )
    linear_speed: float = setting(0.0, "limit of the linear speed; 0: no limit", unit="m/s", lower=0.0)
    angular_speed: float = setting(0.0, "limit of the angular speed; 0: no limit", unit="rad/s", lower=0.0)
    singular_value: float = setting(
        0.05,
        "singular value of the Jacobian, scaled by arm_length, below which directions are damped",
        unit="m",
        lower=0.0,
    )
    damping: float = setting(0.05, "damping in singular configurations", unit="m", lower=1e-6)
    arm_length: float = setting(0.3, "length that is equivalent to an angle of one radian", unit="m", lower=1e-6)
    null_space: str = setting(
        "none",
        "secondary task in the null space: none, the middle of the joint ranges, or a posture",
        choices=("none", "middle", "posture"),
    )
    null_gain: float = setting(1.0, "joint velocity per error of the secondary task", unit="1/s", lower=0.0)
    posture: tuple[float, ...] = setting((0.0,), "posture: position of each joint; one value for all", unit="rad, m")
    posture_joints: tuple[str, ...] = setting((), "joints of the posture task; empty: all")
    unreachable: str = setting(
        "refuse", "targets out of reach: refuse, or approach the nearest reachable pose",
        choices=("refuse", "approach"),
    )  # fmt: skip


class PoseServo(Controller[Any]):
    """q̇ = J* (P T^∨ + twist of the target) + self-motion.

    J* is the inverse by singular values, with small ones damped. If a velocity limit is exceeded, all joints are scaled
    down equally, so that the direction of motion is kept. Joints at a position limit are held, and the remaining ones
    follow as far as possible.
    """

    NAME = "pose_servo"
    SUMMARY = "pose of a link with joint velocities, also in singular configurations"
    KIND = "velocity"
    REFERENCES = (PoseReference, JointReference)
    SETTINGS: ClassVar[type[Any]] = PoseServoSettings

    def _prepare(self) -> None:
        model = self.model
        use = self.settings
        self._dynamics = Dynamics(model)
        self.arm = SerialArm(model, self._dynamics, use.link or last_link(model), self._frame("tool"))
        self._reach = Reach(self.arm, model)
        self._gain = np.repeat([use.gain, use.angular_gain or use.gain], 3)
        self._weight = np.repeat([1.0, use.arm_length], 3)
        lower, upper = (np.array([getattr(limit, end) for limit in self.limits]) for end in ("lower", "upper"))
        margin = self.shaping.position_margin
        self._lower, self._upper = lower + margin, upper - margin
        speed = np.array([limit.velocity for limit in self.limits])
        self._speed = np.maximum(self.shaping.velocity_scale * np.minimum(speed, UNLIMITED), 1e-12)
        self._first_posture, self._posture_weight = self._posture(lower, upper)
        self.posture = self._first_posture
        n = len(self.joints)
        self._error, self._singular_value, self._scale, self._held = np.zeros(6), 0.0, 1.0, np.zeros(n, dtype=bool)

    def _frame(self, name: str) -> Array:
        """Return the pose given by the settings NAME_xyz and NAME_rpy."""
        parts = (f"{name}_xyz", f"{name}_rpy")
        return pose_of(*(self.numbers(part, getattr(self.settings, part), 3) for part in parts))

    def _commanded_joints(self) -> tuple[str, ...]:
        return arm_joints(self.model, self.settings.link or last_link(self.model))

    def _posture(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Return the posture of the self-motion, and the weight of each joint."""
        use, n = self.settings, len(self.joints)
        for name in use.posture_joints:
            if name not in self.joints:
                raise unknown_name("joint of the arm", name, self.joints)
        if use.null_space == "none":
            return np.zeros(n), np.zeros(n)
        if use.null_space == "posture":
            counts = [float(not use.posture_joints or name in use.posture_joints) for name in self.joints]
            return self.per_joint("posture", use.posture), np.array(counts)
        has_range = np.isfinite(upper - lower) & (upper > lower)
        half = np.where(has_range, 0.5 * (upper - lower), 1.0)
        return np.where(has_range, lower + half, 0.0), np.where(has_range, 1.0 / half, 0.0)

    # --- references -------------------------------------------------------------------------------------------------
    def _begin(self, state: State, time: float) -> None:
        self.posture = self._first_posture

    def _accept(self, reference: Reference, state: State, time: float) -> Reference | None:
        """Use a JointReference as posture of the self-motion; the pose reference does not change."""
        if not isinstance(reference, JointReference):
            return None
        self.posture = reference.position
        return self.reference

    @property
    def preferred(self) -> Array | None:
        """Posture within the joint limits; see `Controller.preferred`."""
        return np.clip(self.posture, self._lower, self._upper) if self.settings.null_space == "posture" else None

    def _reference_at(self, state: State) -> Reference:
        return PoseReference(self.arm.pose(state.q))

    def _check_reference(self, reference: Reference) -> None:
        if isinstance(reference, JointReference) and self.settings.null_space != "posture":
            text = (
                f"{self.NAME}: a posture requires null_space 'posture', not {self.settings.null_space!r}; set it, "
                "or give a PoseReference."
            )
            raise ReferenceRefused(text, field="null_space", value=self.settings.null_space, allowed=("posture",))
        if isinstance(reference, PoseReference) and self.settings.unreachable == "refuse":
            beyond = self._reach.beyond(reference.pose)
            if beyond > 1e-9:
                text = (
                    f"{self.NAME}: the target is {beyond:.4g} m out of reach of {self.arm.link!r}: the distance of its "
                    f"wrist must be {self._reach.shortest:.4g} to {self._reach.longest:.4g} m from the shoulder at "
                    f"{np.round(self._reach.shoulder, 4).tolist()}. Give a closer target, or set unreachable to "
                    "'approach'."
                )
                raise ReferenceRefused(text, link=self.arm.link, field="pose", value=beyond)

    # --- law --------------------------------------------------------------------------------------------------------
    def _target(self, state: State, pose: Array, time: float) -> tuple[Array, Array | None]:
        """Return target pose and twist [linear, angular] in base axes."""
        desired = cast(PoseReference, self.reference)
        return desired.pose, desired.twist

    def _law(self, state: State, time: float) -> Command:
        pose = self.arm.pose(state.q)
        target, twist = self._target(state, pose, time)
        self._error = (twist_between if self.settings.path == "screw" else pose_difference)(pose, target)
        desired = self._limited(self._gain * self._error)
        if twist is not None:
            desired = desired + (np.reshape(twist, (2, 3)) @ pose[:3, :3]).ravel()
        return Command(velocity=self._velocities(state.q[self.q_index], self.arm.jacobian(state.q), desired))

    def _limited(self, twist: Array) -> Array:
        """Scale a twist to the speed limits, keeping its direction."""
        use, share = self.settings, 1.0
        for most, part in ((use.linear_speed, twist[:3]), (use.angular_speed, twist[3:])):
            if most > 0.0:
                share = min(share, most / max(length(part), most))
        return share * twist

    def _velocities(self, q: Array, J: Array, twist: Array) -> Array:
        """Return joint velocities for a body twist: scaled to velocity limits, with joints held at position limits."""
        most = np.minimum(np.maximum(self._upper - q, 0.0) / END_TIME, self._speed)
        least = -np.minimum(np.maximum(q - self._lower, 0.0) / END_TIME, self._speed)
        held, velocity = np.zeros(len(q), dtype=bool), np.zeros(len(q))
        for _ in range(len(q) + 1):
            found = self._solve(q, J, twist, velocity, held)
            # velocity limits scale all joints; position limits affect the joint concerned only
            self._scale = 1.0 / max(1.0, float((np.abs(found) / self._speed).max()))
            velocity = np.where(held, velocity, self._scale * found)
            over = np.where(held, 0.0, np.maximum(velocity - most, least - velocity))
            worst = int(over.argmax())
            if over[worst] <= 1e-12:
                break
            velocity[worst] = min(max(velocity[worst], least[worst]), most[worst])
            held[worst] = True
            velocity[~held] = 0.0
        self._held = held
        return velocity

    def _solve(self, q: Array, J: Array, twist: Array, velocity: Array, held: NDArray[np.bool_]) -> Array:
        """Return velocities of the free joints for the remaining twist, with self-motion."""
        use = self.settings
        A = self._weight[:, None] * J
        rest = self._weight * twist - A @ velocity  # twist not produced by held joints
        A[:, held] = 0.0
        U, sizes, Vt = np.linalg.svd(A)
        k = len(sizes)
        self._singular_value = float(sizes[-1])
        floor = _RANK * float(sizes[0]) + 1e-300
        damped = sizes * sizes
        if sizes[-1] < use.singular_value:
            damped += use.damping**2 * np.maximum(1.0 - (sizes / use.singular_value) ** 2, 0.0)
        share = np.where(sizes > floor, sizes / np.maximum(damped, floor * floor), 0.0)
        found = np.asarray((share * (rest @ U[:, :k])) @ Vt[:k])
        weight = np.where(held, 0.0, self._posture_weight)
        if weight.any():
            null = Vt[int(np.count_nonzero(sizes > floor)) :].T.copy()
            null[held] = 0.0
            desired = weight * (use.null_gain * (self.posture - q) - found)
            B = weight[:, None] * null
            lost = _SELF_MOTION * float(weight.max()) ** 2
            found += null @ np.linalg.solve(B.T @ B + lost * np.eye(null.shape[1]), B.T @ desired)
        return found

    def signals(self) -> dict[str, Array]:
        """Return error [m, rad] in tool axes, distance, smallest singular value, scale, and held joints."""
        return {
            "error": self._error,
            "distance": np.array([length(self._error[:3]), length(self._error[3:])]),
            "singular_value": np.array([self._singular_value]),
            "scale": np.array([self._scale]),
            "held": self._held.astype(np.float64),
        }


# --- serial arm -------------------------------------------------------------------------------------------------------
class SerialArm:
    """Joints from the base of a robot to a tool on one of its links.

    Attributes:
        link: link of the tool.
        joints: actuated joints, starting at the base.
        tool: pose of the tool in the link frame.
    """

    def __init__(self, model: Model, dynamics: Dynamics, link: str, tool: Array) -> None:
        """Find the joints.

        Args:
            model: robot model.
            dynamics: dynamics of the model.
            link: link of the tool; see `last_link` for the default.
            tool: pose of the tool in the link frame.
        """
        self.link, self.tool, self.joints = link, tool, arm_joints(model, link)
        self._dynamics = dynamics
        self._columns = np.array([model.v_index(name).start for name in self.joints], dtype=np.intp)
        self._base = model.joints[model.floating_joint].child if model.floating_joint else None
        self._to_tool = twist_matrix(inverse(tool))

    def pose(self, q: Array) -> Array:
        """Return the pose of the tool in the base frame."""
        return self.link_pose(self.link, q) @ self.tool

    def link_pose(self, link: str, q: Array) -> Array:
        """Return the pose of a link in the base frame."""
        pose = self._dynamics.pose(link, q)
        return pose if self._base is None else inverse(self._dynamics.pose(self._base, q)) @ pose

    def jacobian(self, q: Array) -> Array:
        """Return the body Jacobian of the tool relative to the base, [linear; angular] in tool axes, by `joints`."""
        return np.asarray(self._to_tool @ self._dynamics.jacobian(self.link, q, "local")[:, self._columns])


class Reach:
    """Range of the distance between shoulder and wrist centre.

    The shoulder is the last joint whose origin does not move; the wrist is the first joint whose origin is fixed in the
    tool frame. Rigid lengths between them are found from distances in random configurations, without joint limits, for
    any chain of joints.
    With prismatic joints the range is unknown.

    Attributes:
        longest: maximum distance [m]; infinite if unknown.
        shortest: minimum distance [m].
        shoulder: position in the base frame.
        wrist: position in the tool frame.
    """

    def __init__(self, arm: SerialArm, model: Model) -> None:
        """Compute the range from random configurations."""
        rng = np.random.default_rng(0)
        poses = [model.random_state(rng)[0] for _ in range(_POSES)]
        tools = [arm.pose(q) for q in poses]
        links = [model.joints[name].child for name in arm.joints]
        places = np.array([[arm.link_pose(link, q)[:3, 3] for link in links] for q in poses])
        places = np.concatenate([places, np.array(tools)[:, None, :3, 3]], axis=1)  # (poses, joints and tool, 3)
        seen = np.array([(p - T[:3, 3]) @ T[:3, :3] for p, T in zip(places, tools, strict=True)])
        first = int(np.flatnonzero(_is_constant(places))[-1])
        last = int(np.flatnonzero(_is_constant(seen))[0])
        self.shoulder, self.wrist = places[0, first], seen[0, last]
        distances = np.linalg.norm(places[:, :, None] - places[:, None], axis=-1)
        rigid = np.ptp(distances, axis=0) < _SAME
        self.longest, self.shortest = _range(distances[0], rigid, first, last)

    def beyond(self, pose: Array) -> float:
        """Return how far a tool pose is out of reach [m]; 0 if it is not excluded by lengths."""
        away = length(pose[:3, 3] + pose[:3, :3] @ self.wrist - self.shoulder)
        return max(away - self.longest, self.shortest - away, 0.0)


def _is_constant(places: Array) -> NDArray[np.bool_]:
    """Return a mask of the positions (configurations, n, 3) that are constant."""
    return np.asarray(np.max(np.ptp(places, axis=0), axis=-1) < _SAME)


def _range(distances: Array, rigid: NDArray[np.bool_], first: int, last: int) -> tuple[float, float]:
    """Return bounds of the distance of two points by a chain of rigid lengths between them."""
    lengths, at = [0.0], first
    while at < last:
        partners = np.flatnonzero(rigid[at, at + 1 : last + 1])
        if not len(partners):
            return np.inf, 0.0
        following = at + 1 + int(partners[-1])
        lengths.append(float(distances[at, following]))
        at = following
    longest = sum(lengths)
    return (longest, max(2.0 * max(lengths) - longest, 0.0)) if last > first else (np.inf, 0.0)


# --- joint choice -----------------------------------------------------------------------------------------------------
def arm_joints(model: Model, link: str) -> tuple[str, ...]:
    """Return the actuated joints between the base and a link.

    Raises:
        InputError: if the link is unknown, or a joint on the chain cannot be commanded individually.
    """
    if link not in model.links:
        raise unknown_name("link", link, model.link_names)
    motors = set(motor_joints(model))
    way = [name for name in joints_to(model, link) if model.joints[name].nv]
    for name in way:
        if name not in motors:
            text = (
                f"joint {name!r} of robot {model.name!r} is on the chain to link {link!r} and has no motor; "
                "name a link moved by motors only."
            )
            raise InputError(text, joint=name, field="link", value=link)
    for loop in model.loops.values():
        around = set(joints_to(model, loop.parent)) ^ set(joints_to(model, loop.child))
        if around & set(way):
            text = (
                f"joints {', '.join(name for name in way if name in around)} on the chain to link {link!r} of "
                f"robot {model.name!r} are in loop {loop.name!r} and cannot move independently; name a link of an "
                "open chain."
            )
            raise InputError(text, loop=loop.name, field="link", value=link)
    return tuple(way)


def joints_to(model: Model, link: str) -> list[str]:
    """Return the joints of the tree from the base to a link, without the joint of a floating base."""
    by_child = {joint.child: name for name, joint in model.joints.items()}
    found = []
    while link in by_child and by_child[link] != model.floating_joint:
        found.append(by_child[link])
        link = model.joints[by_child[link]].parent
    return found[::-1]


def last_link(model: Model) -> str:
    """Return the link at the end of the longest chain of motors."""
    motors = set(motor_joints(model))
    depth = {model.root: (0, 0)}
    for name, joint in model.joints.items():  # in depth-first order
        if name != model.floating_joint:
            motors_before, joints_before = depth.get(joint.parent, (0, 0))
            depth[joint.child] = motors_before + (name in motors), joints_before + 1
    return max(depth, key=lambda link: depth[link])
