# SPDX-License-Identifier: Apache-2.0
"""Motions by other engines: accelerations of pinocchio or MuJoCo, integrated by scipy's DOP853 at tight tolerances.

Nothing of it is ours but the description of the robot: not the equations, not the integrator, and not the treatment of
rotations. With pinocchio a floating base moves by the exponential map, q = q0 ⊕ y with ẏ = (∂(q0 ⊕ y)/∂y)⁻¹ v; with
MuJoCo by quaternions.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.analysis.pinocchio_model import PinocchioModel
from ada_dynamics.errors import InputError
from ada_dynamics.model.joints import Floating
from ada_dynamics.model.model import Model
from ada_dynamics.model.writers import render

Array = NDArray[np.float64]
Told = Callable[[float], None]  # of the share that is done

TOLERANCE = 1e-13  # relative and absolute
LEAST_INERTIA = 1e-14  # [kg m²]; MuJoCo takes no moving body without inertia about some axis


def by_pinocchio(model: Model, q: Array, v: Array, times: Array, told: Told) -> Array:
    """Positions at times, from a state at the first of them; loops by pinocchio's mass matrix and frames, densely.

    Args:
        model: the robot.
        q: positions at the first time.
        v: velocities then.
        times: increasing [s].
        told: how far it is.
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
    """The same by MuJoCo; for robots without loops, which MuJoCo keeps only softly."""
    twin = MujocoTwin(model)
    state, found = twin.state(q, v), [np.array(q, dtype=float)]
    for i, (begin, end) in enumerate(pairwise(times)):
        state = twin.normalised(_integrated(twin.rate, state, begin, end))
        found.append(twin.own_position(state))
        told((i + 1) / (len(times) - 1))
    return np.array(found)


def _integrated(rate: Callable[[float, Array], Array], state: Array, begin: float, end: float) -> Array:
    try:
        from scipy.integrate import solve_ivp
    except ImportError:
        raise InputError("the comparison with other engines needs scipy: pip install 'ada_dynamics[tools]'") from None
    solved = solve_ivp(rate, (begin, end), state, method="DOP853", rtol=TOLERANCE, atol=TOLERANCE)
    if not solved.success:
        raise InputError(f"scipy could not integrate beyond {solved.t[-1]:g} s: {solved.message}")
    return np.asarray(solved.y[:, -1], dtype=np.float64)


class MujocoTwin:
    """A model in MuJoCo, by way of our MJCF writer."""

    def __init__(self, model: Model) -> None:
        """Build it.

        Args:
            model: the robot.

        Raises:
            InputError: MuJoCo is not installed.
        """
        try:
            import mujoco
        except ImportError:
            raise InputError("the comparison with MuJoCo needs it: pip install 'ada_dynamics[oracle]'") from None
        self.mujoco, self.ours = mujoco, model
        (text,) = render(model, "mjcf").texts.values()
        spec = mujoco.MjSpec.from_string(text)
        spec.compiler.boundinertia = LEAST_INERTIA
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
        self.model: Any = spec.compile()
        self.data: Any = mujoco.MjData(self.model)
        self._scalar: list[tuple[int, int, int, int]] = []  # our q and v, its qpos and qvel
        self._free: list[tuple[slice, slice, int, int]] = []
        for name in model.joint_names:
            self._match(name)

    def _match(self, name: str) -> None:
        model, mujoco = self.ours, self.mujoco
        if model.joints[name].kind == Floating.kind:
            theirs = next(i for i in range(self.model.njnt) if self.model.jnt_type[i] == mujoco.mjtJoint.mjJNT_FREE)
            at, rate = int(self.model.jnt_qposadr[theirs]), int(self.model.jnt_dofadr[theirs])
            self._free.append((model.q_index(name), model.v_index(name), at, rate))
        elif model.joints[name].nq == 1:
            theirs = self.model.joint(name).id
            at, rate = int(self.model.jnt_qposadr[theirs]), int(self.model.jnt_dofadr[theirs])
            self._scalar.append((model.q_index(name).start, model.v_index(name).start, at, rate))
        else:
            raise InputError(f"joint {name!r} of {model.name!r} is {model.joints[name].kind}, not compared in MuJoCo.")

    def state(self, q: Array, v: Array) -> Array:
        """Its positions and velocities, of ours."""
        x, w = np.zeros(self.model.nq), np.zeros(self.model.nv)
        for i, j, at, rate in self._scalar:
            x[at], w[rate] = float(q[i]), float(v[j])
        for of_q, of_v, at, rate in self._free:
            x[at : at + 3], x[at + 3 : at + 7] = q[of_q][:3], q[of_q][[6, 3, 4, 5]]
            world = np.zeros(3)
            self.mujoco.mju_rotVecQuat(world, v[of_v][:3].copy(), x[at + 3 : at + 7])
            w[rate : rate + 3], w[rate + 3 : rate + 6] = world, v[of_v][3:]
        return np.concatenate([x, w])

    def own_position(self, state: Array) -> Array:
        """Our positions, of its state."""
        q = self.ours.neutral()
        for i, _, at, _ in self._scalar:
            q[i] = state[at]
        for of_q, _, at, _ in self._free:
            q[of_q] = np.concatenate([state[at : at + 3], state[at + 3 : at + 7][[1, 2, 3, 0]]])
        return q

    def rate(self, t: float, state: Array) -> Array:
        """How its state changes."""
        x, w = state[: self.model.nq], state[self.model.nq :]
        self.data.qpos[:], self.data.qvel[:] = x, w
        self.mujoco.mj_forward(self.model, self.data)
        moved = np.zeros(self.model.nq)
        for *_, at, rate in self._scalar:
            moved[at] = w[rate]
        for *_, at, rate in self._free:
            moved[at : at + 3] = w[rate : rate + 3]
            turning = np.zeros(4)  # ½ p ∘ (0, ω), with ω in the body's axes
            self.mujoco.mju_mulQuat(turning, x[at + 3 : at + 7].copy(), np.array([0.0, *w[rate + 3 : rate + 6]]))
            moved[at + 3 : at + 7] = 0.5 * turning
        return np.concatenate([moved, self.data.qacc])

    def normalised(self, state: Array) -> Array:
        """The same with quaternions of unit length."""
        state = state.copy()
        for _, _, at, _ in self._free:
            state[at + 3 : at + 7] /= np.linalg.norm(state[at + 3 : at + 7])
        return state

    def steps(self, q: Array, v: Array, times: Array, step: float, stiff: float | None = None) -> Array:
        """Positions at times by MuJoCo's own Runge-Kutta of fourth order.

        Args:
            q: positions at the first time.
            v: velocities then.
            times: multiples of the step [s].
            step: [s].
            stiff: time constant of the loops, which are soft [s]; MuJoCo's default where None.
        """
        self.model.opt.integrator = self.mujoco.mjtIntegrator.mjINT_RK4
        self.model.opt.timestep = step
        if stiff is not None:
            self.model.eq_solref[:, 0] = stiff
        self.mujoco.mj_resetData(self.model, self.data)
        state, found = self.state(q, v), []
        self.data.qpos[:], self.data.qvel[:] = state[: self.model.nq], state[self.model.nq :]
        done = 0
        for t in times:
            wanted = round((t - times[0]) / step)
            if wanted > done:
                self.mujoco.mj_step(self.model, self.data, nstep=wanted - done)
                done = wanted
            found.append(self.own_position(np.concatenate([self.data.qpos, self.data.qvel])))
        return np.array(found)
