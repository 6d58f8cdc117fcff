# SPDX-License-Identifier: Apache-2.0
"""Measures of motions of Takahashi 2012 (chs. 3, 4 and 7) and of Yamada (sec. 4.1).

Closed form of the rhombus, orders, jumps and singular configurations; a four-link robot that moves like a closed chain;
joint motions under the trajectory controller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.analysis.motion import LoopJointMotion, dynamics_of, revolute_loops
from ada_dynamics.analysis.singularity import loop_singularity_measure, singularity_times
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.model.joints import Floating
from ada_dynamics.model.model import Model
from ada_dynamics.simulation import Log
from ada_tools.scenario.registry import measure
from ada_tools.scenario.run import simulate, start_state
from ada_tools.scenario.scenario import Scenario


def rhombus_angle(t: ArrayLike, start: float, masses: Sequence[float], gravity: float) -> Array:
    """Angle of rod 1 of the rhombus of Takahashi 2012, fig. 3.9, from +z at times t, from rest [rad].

    Rods 1 and 3 rotate about their pivots and rod 2 remains level. With ψ, the angle of rod 1 from the downward
    vertical, (m1/3 + m2 + m3/3) ψ'' = -(m1/2 + m2 + m3/2) g sin ψ. From rest at ψ0 the solution is
    sin(ψ/2) = sin(ψ0/2) cd(ω t), a Jacobi elliptic function of the modulus sin(ψ0/2).

    Args:
        t: times [s].
        start: angle at t = 0, less than a full turn [rad].
        masses: masses of the uniform rods 1, 2, 3, each of 1 m [kg].
        gravity: [m/s²].
    """
    from scipy.special import ellipj

    first, second, third = masses
    moving = (first / 2.0 + second + third / 2.0) / (first / 3.0 + second + third / 3.0)
    omega = np.sqrt(moving * gravity)
    modulus = np.sin(0.5 * (start - np.pi))
    _, cn, dn, _ = ellipj(omega * np.asarray(t, dtype=np.float64), modulus**2)
    return np.asarray(np.pi + 2.0 * np.arcsin(modulus * cn / dn), dtype=np.float64)


@measure("momentum_order")
def momentum_order(scenario: Scenario, log: Log) -> float:
    """Order of the linear momentum error in the time step, from the step of the scenario and half of it."""
    if scenario.simulation is None:
        raise InputError(f"{scenario.file}: the order in the step needs a simulation.")
    finer = simulate(scenario.with_changes({"step": 0.5 * scenario.simulation.step}))
    change, half = (_largest(each.momentum[:, :3] - each.momentum[0, :3]) for each in (log, finer))
    return float(np.log2(change / half))


@measure("angular_velocity_change")
def angular_velocity_change(scenario: Scenario, log: Log) -> float:
    """Largest change of a component of the base angular velocity, relative to its initial norm."""
    rates = log.v[:, _base(log.model, log.model.v_index)][:, 3:]
    return _largest(rates - rates[0]) / float(np.linalg.norm(rates[0]))


@measure("angular_velocity_change_in_world")
def angular_velocity_change_in_world(scenario: Scenario, log: Log) -> float:
    """Largest change of a component of the base angular velocity in world axes, relative to its initial norm."""
    rates = np.asarray(dynamics_of(log).velocity(log.model.root, log.q, log.v))[:, 3:]
    return _largest(rates - rates[0]) / float(np.linalg.norm(rates[0]))


@measure("velocity_jump")
def velocity_jump(scenario: Scenario, log: Log) -> float:
    """Largest velocity change in a step that accelerations do not explain, relative to the largest velocity."""
    means = 0.5 * (log.a[1:] + log.a[:-1]) * np.diff(log.t)[:, None]
    return _largest(np.diff(log.v, axis=0) - means) / _largest(log.v)


@measure("acceleration_jump_by_largest")
def acceleration_jump_by_largest(scenario: Scenario, log: Log) -> float:
    """Largest acceleration change in a step, relative to the largest acceleration."""
    return _largest(np.diff(log.a, axis=0)) / _largest(log.a)


@measure("quaternion_length")
def quaternion_length(scenario: Scenario, log: Log) -> float:
    """Largest deviation of the base quaternion from unit length (eq. 3.31)."""
    return _largest(np.linalg.norm(log.q[:, _base(log.model, log.model.q_index)][:, 3:7], axis=1) - 1.0)


@measure("start_velocity_correction", unit="m/s, rad/s")
def start_velocity_correction(scenario: Scenario, log: Log) -> float:
    """Change of the printed initial velocity by `centre_of_mass: at rest`."""
    printed = scenario.with_changes({"start.centre_of_mass": "as given"})
    return _largest(start_state(printed, log.model)[1] - log.v[0])


@measure("difference_from_ada", unit="rad, m")
def difference_from_ada(scenario: Scenario, log: Log) -> float:
    """Largest difference of positions from the same simulation with ADA without symbolic sub-chains."""
    other = simulate(scenario.with_changes({"algorithm": "ada", "hybrid": []}))
    if other.q.shape != log.q.shape:
        raise InputError(f"the two simulations have {len(log)} and {len(other)} rows; use a fixed step.")
    return _largest(other.q - log.q)


@measure("pendulum_error", unit="rad")
def pendulum_error(scenario: Scenario, log: Log) -> float:
    """Largest error of the first angle of a rhombus of unit rods against its closed form, that of a pendulum."""
    masses = [log.model.links[log.model.joints[name].child].mass for name in _three_joints(log)]
    if np.any(log.v[0]):
        raise InputError("the closed form of the rhombus requires a start at rest.")
    return _largest(log.q[:, 0] - rhombus_angle(log.t, float(log.q[0, 0]), masses, -log.model.gravity[2]))


@measure("parallelogram_error", unit="rad")
def parallelogram_error(scenario: Scenario, log: Log) -> float:
    """Largest deviation of opposite rods of a rhombus from parallel, which identifies the assembly mode."""
    _three_joints(log)
    sums = log.q[:, :2] + log.q[:, 1:3]  # directions of rod 2, and of rod 3 relative to rod 1
    return _largest(sums - sums[0])


@measure("closing_angle", unit="deg")
def closing_angle(scenario: Scenario, log: Log) -> float:
    """Initial angle of the loop joint; fig. 3.9: angle of rod 3 about its ground pivot."""
    _three_joints(log)
    (name,) = revolute_loops(log.model)
    return float(np.degrees(LoopJointMotion(dynamics_of(log), name).angle(log.q[:1])[0]))


@measure("determinant_passings")
def determinant_passings(scenario: Scenario, log: Log) -> float:
    """Number of zeros of det(J Jᵀ) of the loop ends (fig. 3.17 f)."""
    if not log.model.loops:
        raise InputError(
            f"model {log.model.name!r} has no loops; singular configurations cannot be counted.", field="loops"
        )
    dynamics = dynamics_of(log)
    found = [singularity_times(log.t, loop_singularity_measure(dynamics, loop, log.q)) for loop in log.model.loops]
    return float(sum(len(times) for times in found))


def _base(model: Model, index: Callable[[str], slice]) -> slice:
    """Columns of the floating base."""
    bases = [name for name in model.joint_names if model.joints[name].kind == Floating.kind]
    if not bases:
        raise InputError(f"model {model.name!r} has no floating base with a quaternion.", field="base")
    return index(bases[0])


def _three_joints(log: Log) -> list[str]:
    names = list(log.model.joint_names)
    if len(names) != 3 or log.model.nq != 3 or len(log.model.loops) != 1:
        words = f"model {log.model.name!r} is not a rhombus of three rods between two pivots."
        raise InputError(words, field="model", value=log.model.name)
    return names


TIP = "tip"
SAME_WAY = np.array([1.0, -1.0, 1.0, -1.0])  # rotation directions of the joints of a parallel four-bar (fig. 7.7)


@measure("parallel_relation", unit="rad")
def parallel_relation(scenario: Scenario, log: Log) -> float:
    """Largest deviation of the angle changes from θ1 = -θ2 = θ3 = -θ4, the relation of a parallel four-bar."""
    turned = (log.q - log.q[0]) * SAME_WAY
    return _largest(turned - turned[:, :1])


@measure("tip_moved", unit="m")
def tip_moved(scenario: Scenario, log: Log) -> float:
    """Largest distance of the tip from its start."""
    at = _tip(log)
    return float(np.max(np.linalg.norm(at - at[0], axis=1)))


@measure("tip_height_change", unit="m")
def tip_height_change(scenario: Scenario, log: Log) -> float:
    """Largest change of the tip height."""
    return _largest(_tip(log)[:, 2] - _tip(log)[0, 2])


@measure("tip_height_left", unit="m")
def tip_height_left(scenario: Scenario, log: Log) -> float:
    """Final distance of the tip from the height of the guide."""
    return abs(float(_tip(log)[-1, 2]) + 0.5)


@measure("rod_bend", unit="rad")
def rod_bend(scenario: Scenario, log: Log) -> float:
    """Largest change of θ3, the angle between links 2 and 3, which should form a rigid rod."""
    return _largest(log.q[:, 2] - log.q[0, 2])


@measure("joint_1_error_left", unit="rad")
def joint_1_error_left(scenario: Scenario, log: Log) -> float:
    """Final error of θ1."""
    return abs(float(log.signals["joint_error"][-1, 0]))


@measure("tip_x_error_left", unit="m")
def tip_x_error_left(scenario: Scenario, log: Log) -> float:
    """Final x error of the tip."""
    return abs(float(_tip(log)[-1, 0]) - _wanted_x(scenario))


@measure("asked_travel", unit="m")
def asked_travel(scenario: Scenario, log: Log) -> float:
    """Desired distance of the tip along -x, from start to target."""
    return float(_tip(log)[0, 0]) - _wanted_x(scenario)


@measure("tip_effort_share")
def tip_effort_share(scenario: Scenario, log: Log) -> float:
    """Largest torque of the last joint divided by the largest joint torque."""
    return _largest(log.signals["effort"][:, -1]) / _largest(log.signals["effort"])


@measure("joint_2_left", unit="deg")
def joint_2_left(scenario: Scenario, log: Log) -> float:
    """Final |θ2|; zero at the dead point of the slider."""
    return abs(float(np.degrees(log.q[-1, 1])))


@measure("joint_2_past_zero", unit="deg")
def joint_2_past_zero(scenario: Scenario, log: Log) -> float:
    """Largest excursion of θ2 below zero, the dead point of the slider."""
    return max(0.0, float(-np.degrees(log.q[:, 1].min())))


@measure("tip_comes_back", unit="m")
def tip_comes_back(scenario: Scenario, log: Log) -> float:
    """Largest return of the slider from its farthest position."""
    x = _tip(log)[:, 0]
    out = int(np.argmax(x))
    return float(x[out] - x[out:].min())


@measure("speed_left", unit="rad/s")
def speed_left(scenario: Scenario, log: Log) -> float:
    """Largest final joint velocity."""
    return _largest(log.v[-1])


@measure("peak_effort", unit="N m")
def peak_effort(scenario: Scenario, log: Log) -> float:
    """Largest joint torque."""
    return _largest(log.signals["effort"])


@measure("effort_by_weight")
def effort_by_weight(scenario: Scenario, log: Log) -> float:
    """Largest joint torque divided by the largest gravity torque of the motion."""
    return _largest(log.signals["effort"]) / _largest(np.asarray(dynamics_of(log).gravity(log.q)))


@measure("effort_step", unit="N m")
def effort_step(scenario: Scenario, log: Log) -> float:
    """Largest change of a torque between two commands."""
    return _largest(np.diff(log.signals["effort"], axis=0))


@measure("acceleration_step", unit="rad/s²")
def acceleration_step(scenario: Scenario, log: Log) -> float:
    """Largest change of a desired acceleration between two commands."""
    return _largest(np.diff(log.signals["acceleration"], axis=0))


@measure("near_singular", unit="ms")
def near_singular(scenario: Scenario, log: Log) -> float:
    """Time spent near singular poses, where the controller solves its equations numerically."""
    period = float(log.signal_times[1] - log.signal_times[0])
    return float(np.sum(log.signals["singular"])) * period * 1e3


def _wanted_x(scenario: Scenario) -> float:
    if scenario.control is None:
        raise InputError(f"{scenario.file}: the position error requires a controller with a reference.")
    return scenario.control.reference.part("pose", None).vector("position", ("m",) * 3)[0]


def _tip(log: Log) -> Array:
    return np.asarray(dynamics_of(log).pose(TIP, log.q))[:, :3, 3]


def _largest(values: Array) -> float:
    return float(np.max(np.abs(values), initial=0.0))


_MOVES = 1e-9  # [rad/s] below which a commanded joint is at rest


@measure("profile_error", unit="rad")
def profile_error(scenario: Scenario, log: Log) -> float:
    """Largest difference of the commanded angles from the three parts of sec. 4.1, with θ_f in the last part."""
    t, told = log.signal_times, _signal(log, "position")
    start, end = told[0], told[-1]
    t1, tf = _acceleration_time(scenario), float(_signal(log, "remaining")[0, 0])
    return float(np.max(np.abs(told - _document(t, start, end, t1, tf, end))))


@measure("jump_as_printed", unit="rad")
def jump_as_printed(scenario: Scenario, log: Log) -> float:
    """Largest jump of a joint at t_f - t_1 if the last part uses θ_0, as printed."""
    told = _signal(log, "position")
    start, end = told[0], told[-1]
    t1, tf = _acceleration_time(scenario), float(_signal(log, "remaining")[0, 0])
    around = np.array([tf - t1 - 1e-9, tf - t1 + 1e-9])
    before, after = _document(around, start, end, t1, tf, start)
    return float(np.max(np.abs(after - before)))


@measure("ends_apart", unit="s")
def ends_apart(scenario: Scenario, log: Log) -> float:
    """Time between the end of the first and of the last joint motion."""
    moves = np.abs(_signal(log, "velocity")) > _MOVES
    last = [log.signal_times[np.flatnonzero(column)[-1]] for column in moves.T if column.any()]
    return float(np.max(last) - np.min(last))


@measure("speed_by_limit")
def speed_by_limit(scenario: Scenario, log: Log) -> float:
    """Largest ratio of commanded speed to the speed limit of the joint."""
    return float(np.max(np.abs(_signal(log, "velocity")) / log.model.velocity_limit))


@measure("acceleration_jump", unit="rad/s²")
def acceleration_jump(scenario: Scenario, log: Log) -> float:
    """Largest change of a commanded acceleration between two updates."""
    return float(np.max(np.abs(np.diff(_signal(log, "acceleration"), axis=0))))


@measure("plan_duration", unit="s")
def plan_duration(scenario: Scenario, log: Log) -> float:
    """Duration of the planned motion."""
    return float(_signal(log, "remaining")[0, 0])


@measure("plan_error", unit="rad")
def plan_error(scenario: Scenario, log: Log) -> float:
    """Largest difference between the commanded and actual joint angles."""
    return float(np.max(np.abs(_signal(log, "error"))))


def _document(t: Array, start: Array, end: Array, t1: float, tf: float, third: Array) -> Array:
    """Formulas of sec. 4.1 (times, joints); `third` is the angle in the last part."""
    t = t[:, None]
    k = (end - start) / (2.0 * t1**3 * (tf - t1))
    first = start + k * t**3 * (2.0 * t1 - t)
    second = end + k * t1**3 * (2.0 * (t - tf) + t1)
    last = third + k * (t - tf) ** 3 * (2.0 * t1 + t - tf)
    return np.where(t <= t1, first, np.where(t <= tf - t1, second, np.where(t <= tf, last, end)))


def _signal(log: Log, name: str) -> Array:
    if name not in log.signals:
        raise InputError(f"the log has no signal {name!r}; this measure requires the controller joint_trajectory.")
    return np.asarray(log.signals[name], dtype=np.float64)


def _acceleration_time(scenario: Scenario) -> float:
    settings: Any = {} if scenario.control is None else scenario.control.settings
    t1 = settings.get("acceleration_time", 0.0)
    if not t1:
        raise InputError("this measure requires the controller setting acceleration_time (t_1 of sec. 4.1).")
    return float(t1)
