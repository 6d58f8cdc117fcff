# SPDX-License-Identifier: Apache-2.0
"""T3.7: spherical joint models: Euler angles near their singularity, and quaternions (Takahashi 2012, sec. 8.2, 3).

The singularity-consistent method simulates models with Euler joints through gimbal lock. The velocities are angular
velocities instead of rates of Euler angles. The equations of motion are then those of a spherical joint with
quaternions, which is never singular, and the method applies to the angles alone. Steps have a constant length in its
parameter s.

A rod on a ball joint passes the gimbal lock at decreasing distance without losses, with four methods: quaternion; z-y-z
angles and their rates; the same angles with the singularity-consistent method; and the widely used damped inverse. The
measure is the required number of fourth-order steps.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms.kinematics import position_rates
from ada_dynamics.arrays import Array
from ada_dynamics.drawing.panels import Panel
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.edit.parts import with_parts
from ada_dynamics.model.joints import Spherical, SphericalEuler
from ada_dynamics.model.model import Model
from ada_dynamics.simulation import Simulation
from ada_dynamics.simulation.events import zero_between
from ada_dynamics.simulation.integrator import explicit_step
from ada_dynamics.simulation.methods import METHODS
from ada_dynamics.spatial.orientation import to_rpy, upper_quaternion
from ada_dynamics.spatial.rotation import from_quaternion
from ada_dynamics.spatial.vector import Vec3, cross
from ada_experiments.pictures import picture
from ada_tools.scenario.registry import Outcome, Progress, Quantity, experiment
from ada_tools.scenario.scenario import Scenario

MOST_STEPS = 1_000_000
_EULER = SphericalEuler()
_WITHIN = 1e-13  # tolerance of the final time, relative to the duration


def consistent_rates(q: Sequence[float], w: Sequence[float]) -> tuple[Array, float]:
    """Rates dθ/ds of z-y-z Euler angles, and dt/ds >= 0, by the singularity-consistent method (Takahashi 2012, 3.4.2).

    θ̇ = S⁻¹ ω divides by det S, which vanishes in gimbal lock. The method (Nenchev et al. 2000) parametrizes the same
    path by s,

        dθ/ds = adj(S) ω,    dt/ds = det S,

    without a division: near gimbal lock the rate of time decreases to zero, and the rates of the angles remain finite.

    Args:
        q: the angles [rad].
        w: angular velocity in the child's frame [rad/s].
    """
    a, b, c = (column.angular for column in _EULER.subspace(q))
    turning = Vec3(*w)
    determinant = a @ cross(b, c)
    side = -1.0 if determinant < 0.0 else 1.0
    rates = [side * (row @ turning) for row in (cross(b, c), cross(c, a), cross(a, b))]
    return np.array(rates), side * determinant


@dataclass(frozen=True, eq=False)
class SingularityConsistentTrajectory:
    """A trajectory with constant steps of the parameter s."""

    model: Model  # model with Euler joints
    twin: Model  # the same model with quaternion joints, which has the equations of motion
    t: Array  # times, (N,) [s]
    q: Array  # configurations of the model, (N, nq)
    w: Array  # velocities of the twin, (N, nv), with angular velocities instead of rates of Euler angles
    reached: bool  # False if the trajectory stops in gimbal lock before its end

    def twin_positions(self) -> Array:
        """Return the configurations of the twin, (N, nq)."""
        return np.array([_twin_positions(self.model, self.twin, q) for q in self.q])


def quaternion_of(angles: Array) -> Array:
    """Quaternion (x, y, z, w) of z-y-z angles."""
    return upper_quaternion(np.array(_EULER.pose(angles.tolist()).rotation.matrix(), dtype=np.float64))


def angles_of(quaternion: Array) -> Array:
    """The z-y-z angles of a quaternion, the second one within 0 and 180 deg."""
    R: Array = np.array(from_quaternion(*quaternion.tolist()))
    second = np.arctan2(np.hypot(R[0, 2], R[1, 2]), R[2, 2])
    return np.array([np.arctan2(R[1, 2], R[0, 2]), second, np.arctan2(R[2, 1], -R[2, 0])])


def integrate_singularity_consistent(
    model: Model, q: ArrayLike, w: ArrayLike, duration: float, step: float, most_steps: int = MOST_STEPS
) -> SingularityConsistentTrajectory:
    """Integrate the equations of motion with gravity and springs by the Runge-Kutta method of order 4 in s.

    Args:
        model: model with `spherical_euler` joints.
        q: initial configuration; Euler angles may be close to gimbal lock, but not in it.
        w: initial velocity; for Euler joints the angular velocity in the child frame.
        duration: simulated time [s].
        step: step length of s [s].
        most_steps: maximum number of steps.

    Raises:
        InputError: the model has no Euler joint, or an argument is invalid.
    """
    system = _TwinSystem(model)
    if not duration > 0.0 or not step > 0.0:
        raise InputError(
            f"duration is {duration!r}, step is {step!r}; both must be positive [s].",
            field="step" if duration > 0.0 else "duration",
        )
    x = np.concatenate([[0.0], model.as_positions(q), model.as_velocities(w, "w")])
    rows = [x]
    while x[0] < duration * (1.0 - _WITHIN) and len(rows) <= most_steps:
        following = system.after(x, step)
        if following[0] > duration:  # a shorter step ends there: t increases with s
            end = lambda h: float(system.after(x, h)[0]) - duration  # noqa: B023, E731
            h = zero_between(end, 0.0, step, float(x[0]) - duration, float(following[0]) - duration)
            following = system.after(x, h)
        x = following
        rows.append(x)
    found = np.array(rows)
    reached = bool(x[0] >= duration * (1.0 - _WITHIN))
    positions, velocities = found[:, 1 : 1 + model.nq], found[:, 1 + model.nq :]
    return SingularityConsistentTrajectory(model, system.twin, found[:, 0], positions, velocities, reached)


class _TwinSystem:
    """dx/ds of x = [t; q; w]."""

    def __init__(self, model: Model) -> None:
        euler = [name for name in model.joint_names if model.joints[name].kind == SphericalEuler.kind]
        if not euler:
            raise InputError(f"model {model.name!r} has no joint of type {SphericalEuler.kind!r}; use Simulation.")
        if model.loops:
            raise InputError(f"model {model.name!r} has loops; the singularity-consistent method is limited to trees.")
        self.model = model
        self.twin = with_parts(model, *(replace(model.joints[name], kind=Spherical.kind) for name in euler))
        self._dynamics = Dynamics(self.twin)
        self._joints = [(model.q_index(name), model.v_index(name)) for name in euler]
        self._still = np.zeros(model.nv)

    def rate(self, x: Array) -> Array:
        """Return dx/ds."""
        q, w = x[1 : 1 + self.model.nq], x[1 + self.model.nq :]
        own = [consistent_rates(q[at].tolist(), w[by].tolist()) for at, by in self._joints]
        pace = np.prod([time for _, time in own])  # dt/ds
        slope = np.array(position_rates(self.model.tree, q.tolist(), w.tolist())) * pace
        for k, ((at, _), (rates, _)) in enumerate(zip(self._joints, own, strict=True)):
            slope[at] = rates * np.prod([time for i, (_, time) in enumerate(own) if i != k])
        a = self._dynamics.forward(_twin_positions(self.model, self.twin, q), w, self._still)
        return np.concatenate([[pace], slope, pace * np.asarray(a)])

    def after(self, x: Array, h: float) -> Array:
        """Return x after a step."""
        return explicit_step(METHODS["rk4"], lambda x, _: self.rate(x), x, 0.0, h)


def _twin_positions(model: Model, twin: Model, q: Array) -> Array:
    found = np.zeros(twin.nq)
    for name in model.joint_names:
        own = q[model.q_index(name)]
        found[twin.q_index(name)] = quaternion_of(own) if model.joints[name].kind == SphericalEuler.kind else own
    return found


DISTANCES = (0.3, 0.1, 0.03, 0.01, 0.001)  # [rad] distance of the second angle from its gimbal lock
SPIN, DURATION = 2.0, 1.0  # [rad/s] rotation past the lock, [s] duration; the passage is at half time
WANTED = 1e-6  # [rad] allowed error of the final pose
COARSE, MOST = 25, 400_000  # smallest and largest number of steps
ORDER = 4  # of all integration methods
FIXED = 400  # steps for the comparison of errors
DAMPING = 0.01  # λ of the damped inverse Sᵀ (S Sᵀ + λ² 1)⁻¹


class LockPassage(NamedTuple):
    """A passage of the gimbal lock: the rod with both joint types, its start and its exact final pose."""

    euler: Model
    quaternion: Model
    q: Array
    w: Array
    end: Array

    @classmethod
    def passing(cls, distance: float) -> LockPassage:
        """Create a motion that passes the lock at `distance` at half time, by integrating backwards from there."""
        euler, quaternion = rod(SphericalEuler.kind), rod(Spherical.kind)
        third = 0.2
        # rotation about an axis normal to the second one, so that the second angle is smallest; and about the rod
        w = SPIN * np.array([math.cos(third), -math.sin(third), 0.0]) + np.array([0.0, 0.0, 1.0])
        back = _exact(quaternion, quaternion_of(np.array([0.3, distance, third])), -w, 0.5 * DURATION)
        q, w = back[0], -back[1]
        return cls(euler, quaternion, q, w, _exact(quaternion, q, w, DURATION)[0])

    def off(self, q: Array) -> float:
        """Rotation from the exact final pose [rad]."""
        return float(np.linalg.norm(self.quaternion.difference(self.end, q)))

    def energy_off(self, q: Array, w: Array) -> float:
        """Change of the energy relative to the kinetic energy at the start."""
        dynamics = Dynamics(self.quaternion)
        start, kinetic = sum(dynamics.energy(self.q, self.w)), dynamics.energy(self.q, self.w)[0]
        return abs(float(sum(dynamics.energy(q, w)) - start)) / float(kinetic)


class FinalState(NamedTuple):
    """Final pose and angular velocity of a run, and its number of steps."""

    q: Array
    w: Array
    steps: int


Method = Callable[[LockPassage, int], FinalState]


def rod(kind: str) -> Model:
    """A rod on a ball joint, its centre of mass off all axes."""
    builder = Builder(f"rod_{kind}").link("base").link("rod", 1.0, (0.05, 0.02, 0.4), (0.09, 0.08, 0.03))
    return builder.joint("ball", kind, "base", "rod").build()


def _exact(model: Model, q: Array, w: Array, duration: float) -> tuple[Array, Array]:
    log = Simulation(model, q, w, integrator="dop853", tolerance=1e-13, step=duration).run(duration)
    return log.q[-1], log.v[-1]


def by_quaternion(rig: LockPassage, steps: int) -> FinalState:
    """Quaternion, constant time steps."""
    log = Simulation(rig.quaternion, rig.q, rig.w, integrator="rk4", step=DURATION / steps, log_every=steps).run(
        DURATION
    )
    return FinalState(log.q[-1], log.v[-1], steps)


def by_rates(rig: LockPassage, steps: int) -> FinalState:
    """Angles and their rates, constant time steps."""
    angles = angles_of(rig.q)
    rates = np.linalg.solve(_subspace(angles), rig.w)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # large steps are part of the measurement
        log = Simulation(rig.euler, angles, rates, integrator="rk4", step=DURATION / steps, log_every=steps).run(
            DURATION
        )
    return FinalState(quaternion_of(log.q[-1]), _subspace(log.q[-1]) @ log.v[-1], steps)


def by_consistent(rig: LockPassage, steps: int) -> FinalState:
    """Singularity-consistent method, constant steps of its parameter, which is time far from the lock."""
    motion = consistent_motion(rig, DURATION / steps)
    return FinalState(motion.twin_positions()[-1], motion.w[-1], len(motion.t) - 1)


def consistent_motion(rig: LockPassage, step: float) -> SingularityConsistentTrajectory:
    """The whole motion by the singularity-consistent method."""
    return integrate_singularity_consistent(rig.euler, angles_of(rig.q), rig.w, DURATION, step)


def by_damped(rig: LockPassage, steps: int) -> FinalState:
    """Angles with rates by a damped inverse of S, constant time steps."""
    dynamics, h, still = Dynamics(rig.quaternion), DURATION / steps, np.zeros(3)

    def rate(x: Array) -> Array:
        S = _subspace(x[:3])
        rates = S.T @ np.linalg.solve(S @ S.T + DAMPING**2 * np.eye(3), x[3:])
        return np.concatenate([rates, dynamics.forward(quaternion_of(x[:3]), x[3:], still)])

    x = np.concatenate([angles_of(rig.q), rig.w])
    for _ in range(steps):
        x = explicit_step(METHODS["rk4"], lambda x, _: rate(x), x, 0.0, h)
    return FinalState(quaternion_of(x[:3]), x[3:], steps)


WAYS: dict[str, Method] = {
    "quaternion": by_quaternion,
    "consistent": by_consistent,
    "rates": by_rates,
    "damped": by_damped,
}


def _subspace(angles: Array) -> Array:
    return np.array([column.angular for column in _EULER.subspace(angles.tolist())]).T


def tried(way: Method, rig: LockPassage, steps: int) -> FinalState | None:
    """Result of a run, or None if it fails at the lock or diverges."""
    try:
        return way(rig, steps)
    except AdaError:
        return None


def steps_needed(way: Method, rig: LockPassage) -> float:
    """Fewest steps with an accurate final pose, interpolated by the order; infinite if MOST are not enough."""
    steps = COARSE
    while steps <= MOST:
        end = tried(way, rig, steps)
        if end is not None and rig.off(end.q) <= WANTED:
            return float(end.steps * (rig.off(end.q) / WANTED) ** (1.0 / ORDER))
        steps *= 2
    return math.inf


@experiment("spherical_joints")
def spherical_joints(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Measure all methods at all distances, the head-on passage, and angles read from a quaternion."""
    needed: dict[str, list[float]] = {name: [] for name in WAYS if name != "damped"}
    off: dict[str, list[float]] = {name: [] for name in WAYS}
    rigs = [LockPassage.passing(distance) for distance in DISTANCES]
    for i, rig in enumerate(rigs):
        progress(i / len(rigs), "passage of the singular pose")
        for name, way in WAYS.items():
            if name in needed:
                needed[name].append(steps_needed(way, rig))
            passed = tried(way, rig, FIXED)
            off[name].append(math.inf if passed is None else rig.off(passed.q))
    near, far = len(DISTANCES) - 1, DISTANCES.index(0.1)
    motions = [consistent_motion(rig, DURATION / FIXED) for rig in (rigs[far], rigs[near])]
    longer = (len(motions[1].t) - len(motions[0].t)) * DURATION / FIXED
    # sin θ2 is about √(δ² + (ω t)²), so s = ∫ dt / sin θ2 grows by (2/ω) times the ln of the distance ratio
    foreseen = 2.0 / SPIN * math.log(DISTANCES[far] / DISTANCES[near])
    head_on, end = _head_on(), by_consistent(rigs[near], FIXED)
    growth = {name: steps[near] / steps[far] for name, steps in needed.items()}
    quantities = {f"{name}_growth": Quantity(value) for name, value in growth.items()}
    quantities |= {
        "parameter_growth_error": Quantity(abs(longer / foreseen - 1.0)),
        "consistent_energy_error": Quantity(rigs[near].energy_off(end.q, end.w)),
        "damped_least_error": Quantity(min(off["damped"]), "rad"),
        "head_on_passed": Quantity(float(head_on.reached)),
        "consistent_off": Quantity(off["consistent"][near], "rad"),
        "consistent_cost": Quantity(needed["consistent"][near] / needed["quaternion"][near]),
        "angles_apart": Quantity(angles_apart(), "rad"),
    }
    x: dict[str, Any] = {"xlabel": "Distance from the lock, log10 of [rad]", "is_logarithmic": True}
    panels = [
        Panel.of(f"Steps for an error of {WANTED:g} rad", "[-]", np.log10(DISTANCES), needed, **x),
        Panel.of(f"Error with {FIXED} steps", "[rad]", np.log10(DISTANCES), off, **x),
    ]
    figure = picture(panels, output / "spherical_joints.png", "Passage of the singular configuration", 2)
    return Outcome([], [figure], quantities=quantities)


def _head_on() -> SingularityConsistentTrajectory:
    """A rotation about the second axis alone, towards the lock, which it would reach after 0.5 s."""
    model = Builder("top").link("base").link("top", 1.0, inertia=(0.1, 0.1, 0.1))
    built = model.joint("ball", SphericalEuler.kind, "base", "top").build(gravity=(0.0, 0.0, 0.0))
    return integrate_singularity_consistent(built, [0.3, 0.5, 0.0], [0.0, -1.0, 0.0], DURATION, 0.05, most_steps=1000)


def angles_apart() -> float:
    """Largest difference of the angles of three revolute joints from those read from the quaternion of one joint."""
    body = (1.0, (0.05, 0.02, 0.4), (0.09, 0.08, 0.03))
    builder = Builder("three_joints").link("base").link("a").link("b").link("rod", *body)
    for i, (parent, child) in enumerate((("base", "a"), ("a", "b"), ("b", "rod"))):
        builder.joint(f"turn_{i + 1}", "revolute", parent, child, axis=np.eye(3)[2 - i])
    angles, rates = np.array([0.1, 0.0, 3.1]), np.array([3.0, -2.0, 4.0])
    three = builder.build()
    dynamics = Dynamics(three)
    R = dynamics.pose("rod", angles)[:3, :3]
    w = R.T @ dynamics.velocity("rod", angles, rates)[3:]
    separate = Simulation(three, angles, rates, integrator="dop853", step=1e-3).run(0.5)
    merged = Simulation(rod(Spherical.kind), upper_quaternion(R), w, integrator="dop853", step=1e-3).run(0.5)
    read = np.array([to_rpy(np.array(from_quaternion(*q.tolist())))[::-1] for q in merged.q])
    off = read - separate.q
    return float(np.max(np.abs(off - 2.0 * np.pi * np.round(off / (2.0 * np.pi)))))
