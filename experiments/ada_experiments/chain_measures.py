# SPDX-License-Identifier: Apache-2.0
"""Measures of the motions of Takahashi 2012: closed form of the rhombus, orders, jumps, singular configurations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.analysis.motion import LoopJointMotion, dynamics_of, revolute_loops
from ada_dynamics.analysis.singularity import loop_singularity_measure, singularity_times
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.model.joints import Floating
from ada_dynamics.model.model import Model
from ada_tools.scenario.registry import measure
from ada_tools.scenario.run import simulate, start_state

if TYPE_CHECKING:
    from ada_dynamics.simulation import Log
    from ada_tools.scenario.scenario import Scenario


def rhombus_angle(t: ArrayLike, start: float, masses: Sequence[float], gravity: float, length: float = 1.0) -> Array:
    """Angle of rod 1 of the rhombus of Takahashi 2012, fig. 3.9, from +z at times t, from rest [rad].

    Rods 1 and 3 rotate about their pivots and rod 2 remains level. With ψ, the angle of rod 1 from the downward
    vertical, (m1/3 + m2 + m3/3) l ψ'' = -(m1/2 + m2 + m3/2) g sin ψ. From rest at ψ0 the solution is
    sin(ψ/2) = sin(ψ0/2) cd(ω t), a Jacobi elliptic function of the modulus sin(ψ0/2).

    Args:
        t: times [s].
        start: angle at t = 0, less than a full turn [rad].
        masses: masses of the uniform rods 1, 2, 3 [kg].
        gravity: [m/s²].
        length: length of the rods and of the base [m].
    """
    from scipy.special import ellipj

    first, second, third = masses
    moving = (first / 2.0 + second + third / 2.0) / (first / 3.0 + second + third / 3.0)
    omega = np.sqrt(moving * gravity / length)
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


def _largest(values: Array) -> float:
    return float(np.max(np.abs(values), initial=0.0))
