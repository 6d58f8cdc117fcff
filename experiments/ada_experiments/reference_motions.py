# SPDX-License-Identifier: Apache-2.0
"""Reference motions: accelerations of pinocchio or MuJoCo, integrated by scipy's DOP853 with tight tolerances.

Only the robot description comes from `ada`: equations, integrator and rotation coordinates are independent. With
pinocchio a floating base moves by the exponential map, q = q0 ⊕ y with ẏ = (∂(q0 ⊕ y)/∂y)⁻¹ v; with MuJoCo by
quaternions.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.extras import how_to_install
from ada_dynamics.model.model import Model
from ada_tools.engines.mujoco_model import MujocoModel
from ada_tools.engines.pinocchio_model import PinocchioModel

Told = Callable[[float], None]  # receives the completed share

TOLERANCE = 3e-14  # relative and absolute; with 1e-13 the errors add up to 1e-9 in ten seconds


def accelerations(other: PinocchioModel | MujocoModel, q: Array, v: Array) -> Array:
    """Accelerations of each state without joint forces."""
    rest = np.zeros(other.ours.nv)
    return np.array([other.forward(*state, rest) for state in zip(q, v, strict=True)])


def by_pinocchio(model: Model, q: Array, v: Array, times: Array, told: Told) -> Array:
    """Positions at the given times, from a state at the first time; loops by dense equations.

    Args:
        model: the robot.
        q: positions at the first time.
        v: velocities at the first time.
        times: increasing [s].
        told: progress callback.
    """
    other = PinocchioModel(model)
    pin, own, rest = other.pin, other.model, np.zeros(model.nv)
    solver = None
    turns = model.has_manifold_coordinates
    start: dict[str, Array] = {}

    def rate(_: float, state: Array) -> Array:
        step, w = state[: own.nv], state[own.nv :]
        x = pin.integrate(own, start["x"], step)
        a = other.velocity(other.forward(other.own_position(x), other.own_velocity(w), rest, solver=solver))
        moved = np.linalg.solve(pin.dIntegrate(own, start["x"], step)[1], w) if turns else w
        return np.concatenate([moved, a])

    found, w = [np.array(q, dtype=float)], other.velocity(v)
    start["x"] = other.position(q)
    for i, (begin, end) in enumerate(pairwise(times)):
        state = _integrated(rate, np.concatenate([np.zeros(own.nv), w]), begin, end)
        start["x"] = pin.normalize(own, pin.integrate(own, start["x"], state[: own.nv]))
        w = state[own.nv :]
        found.append(other.own_position(start["x"]))
        told((i + 1) / (len(times) - 1))
    return np.array(found)


def by_mujoco(model: Model, q: Array, v: Array, times: Array, told: Told) -> Array:
    """Positions at the given times by MuJoCo, for robots without loops, which MuJoCo enforces only softly."""
    other = MujocoModel(model)
    mujoco, inside, data, nq = other.mujoco, other.model, other.data, model.nq

    def rate(_: float, state: Array) -> Array:
        data.qpos[:], data.qvel[:] = state[:nq], state[nq:]
        mujoco.mj_forward(inside, data)
        return np.concatenate([other.position_rate(state[:nq], state[nq:]), data.qacc])

    state, found = np.concatenate([other.position(q), other.velocity(q, v)]), [np.array(q, dtype=float)]
    for i, (begin, end) in enumerate(pairwise(times)):
        state = _integrated(rate, state, begin, end)
        mujoco.mj_normalizeQuat(inside, state[:nq])
        found.append(other.own_position(state[:nq]))
        told((i + 1) / (len(times) - 1))
    return np.array(found)


def by_mujocos_steps(
    model: Model, q: Array, v: Array, times: Array, step: float, loop_time: float | None = None
) -> Array:
    """Positions at the given times by MuJoCo's fourth-order Runge-Kutta integrator.

    Args:
        model: the robot.
        q: positions at the first time.
        v: velocities at the first time.
        times: multiples of the step [s].
        step: [s].
        loop_time: time constant of the soft loop constraints [s]; None: MuJoCo's default.
    """
    other = MujocoModel(model)
    other.model.opt.integrator = other.mujoco.mjtIntegrator.mjINT_RK4
    other.model.opt.timestep = step
    if loop_time is not None:
        other.model.eq_solref[:, 0] = loop_time
    other.set_state(q, v)
    done, found = 0, []
    for t in times:
        wanted = round((t - times[0]) / step)
        if wanted > done:
            other.mujoco.mj_step(other.model, other.data, nstep=wanted - done)
            done = wanted
        found.append(other.state()[0])
    return np.array(found)


def _integrated(rate: Callable[[float, Array], Array], state: Array, begin: float, end: float) -> Array:
    try:
        from scipy.integrate import solve_ivp
    except ImportError:
        raise InputError(f"the comparison with other engines needs scipy: {how_to_install('tools')}") from None
    solved = solve_ivp(rate, (begin, end), state, method="DOP853", rtol=TOLERANCE, atol=TOLERANCE)
    if not solved.success:
        raise InputError(f"scipy could not integrate beyond {solved.t[-1]:g} s: {solved.message}")
    return np.asarray(solved.y[:, -1], dtype=np.float64)
