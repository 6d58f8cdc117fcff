# SPDX-License-Identifier: Apache-2.0
"""Other simulators: MuJoCo's steps in a compiled loop, and the usual integrators around pinocchio's dynamics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.robots.writers import render
from ada_experiments.pinocchio_model import PinocchioModel
from benchmarks import peers
from benchmarks.timing import Contender

EULER, RK4 = "MuJoCo Euler", "MuJoCo RK4"
EVERY_ROW = "every row kept"
_INTEGRATORS = {EULER: "mjINT_EULER", RK4: "mjINT_RK4"}


class MujocoMarch:
    """A model with joints of one coordinate in MuJoCo, and its own steps; loops are kept as it does, softly."""

    def __init__(self, model: ada.Model, kind: str, step: float, solref: float | None = None) -> None:
        """Compile it.

        Args:
            model: whose coordinates are all angles or lengths.
            kind: EULER or RK4.
            step: [s].
            solref: time constant of the loops [s]; MuJoCo's own by default.
        """
        import mujoco

        self.mujoco: Any = mujoco
        self.kind = kind
        self.model = mujoco.MjModel.from_xml_string(_text(model))
        bits = mujoco.mjtDisableBit
        off = [bits.mjDSBL_CONTACT, bits.mjDSBL_LIMIT, bits.mjDSBL_SENSOR, bits.mjDSBL_ACTUATION, bits.mjDSBL_EULERDAMP]
        if not model.loops:
            off.append(bits.mjDSBL_CONSTRAINT)
        for bit in off:
            self.model.opt.disableflags |= int(bit)
        self.model.opt.integrator = int(getattr(mujoco.mjtIntegrator, _INTEGRATORS[kind]))
        self.model.opt.timestep = step
        if solref is not None:
            self.model.eq_solref[:, 0] = solref
        self.data = mujoco.MjData(self.model)

    def states(self, q: Array, steps: int) -> Array:
        """[q, v] after each step from rest, as rows."""
        from mujoco import rollout

        found, _ = rollout.rollout(self.model, self.data, self._start(q), nstep=steps)
        return np.array(found[0][:, 1:])

    def contenders(self, q: Array, steps: int) -> list[Contender]:
        """Steps from rest: `mj_step` in a compiled loop (made here, by LLVM), and all states by `mujoco.rollout`."""
        from mujoco import rollout

        address = peers.c_function(self.mujoco, "mj_step")
        names = {"data": self.data, "q": q.copy(), "n": steps, "model": self.model}
        made = []
        if address is not None:
            call = {"f": peers.calling_loop(), "a": address, "m": self.model._address, "d": self.data._address}
            back = "data.qpos[:] = q; data.qvel[:] = 0.0; data.time = 0.0; data.qacc_warmstart[:] = 0.0; "
            made.append(Contender(self.kind, f"{back}f(a, m, d, n)", {**names, **call}, steps))
        statement = "f(model, data, start, nstep=n)"
        names |= {"f": rollout.rollout, "start": self._start(q)}
        made.append(Contender(f"{self.kind}, {EVERY_ROW}", statement, names, steps))
        return made

    def _start(self, q: Array) -> Array:
        return np.concatenate([[0.0], q, np.zeros(self.model.nv)])[None]


def _text(model: ada.Model) -> str:
    """MJCF without geoms, which cost time and do nothing here; MuJoCo refuses thin rods, whose inertia it may lift."""
    root = ElementTree.fromstring(render(model, "mjcf").texts[".xml"])
    for body in root.iter("body"):
        for geom in body.findall("geom"):
            body.remove(geom)
    if model.loops:
        root.find("compiler").set("boundinertia", "1e-9")  # type: ignore[union-attr]
    return ElementTree.tostring(root, encoding="unicode")


def with_points(model: ada.Model) -> ada.Model:
    """The mechanism with loops that hold points alone, which is as good in a plane and the least work for MuJoCo."""
    parts = Parts.of(model)
    for name, loop in parts.loops.items():
        parts.loops[name] = replace(loop, kind="spherical")
    return parts.build()


# --- pinocchio ------------------------------------------------------------------------------------------------------
Forward = Callable[[Array, Array], Array]


def pinocchio_rate(model: ada.Model) -> Callable[[float, Array], Array]:
    """ẋ of x = [q, v] by pinocchio's aba, for scipy; joints of one coordinate each."""
    other = PinocchioModel(model)
    pin, inside, data, nq = other.pin, other.model, other.model.createData(), model.nq
    assert inside.nq == inside.nv == nq, "angles and lengths only"
    tau = np.zeros(nq)

    def rate(t: float, x: Array) -> Array:
        return np.concatenate([x[nq:], pin.aba(inside, data, x[:nq], x[nq:], tau)])

    return rate


def closed_forward(model: ada.Model, algorithm: str, stiffness: float) -> tuple[Forward, Contender]:
    """Accelerations by `constraintDynamics` or `lcaba`, and one such call to be timed.

    Args:
        model: with loops.
        algorithm: the name of pinocchio's function.
        stiffness: Baumgarte's Kp [1/s²], critically damped.
    """
    other = PinocchioModel(model)
    pin, inside, data = other.pin, other.model, other.model.createData()
    models, datas = other.new_constraints()
    for constraint in models:
        constraint.m_baumgarte_parameters.Kp = stiffness
        constraint.m_baumgarte_parameters.Kd = 2.0 * np.sqrt(stiffness)
    pin.initConstraintDynamics(inside, data, models, datas)
    if algorithm == "lcaba":
        pin.computeJointMinimalOrdering(inside, data, models)
    function, tau = getattr(pin, algorithm), np.zeros(model.nv)
    settings = pin.ProximalSettings(1e-12, 1e-8, 50)

    def forward(q: Array, v: Array) -> Array:
        return np.array(function(inside, data, q, v, tau, models, datas, settings))

    names = {"f": function, "m": inside, "d": data, "cm": models, "cd": datas, "s": settings, "tau": tau}
    names["keep"] = other
    return forward, Contender(algorithm, "f(m, d, q, v, tau, cm, cd, s)", names)


def euler(forward: Forward, q: Array, h: float, steps: int) -> Array:
    """Rows [q, v] from rest by v⁺ = v + h a, q⁺ = q + h v⁺."""
    v = np.zeros(len(q))
    rows = []
    for _ in range(steps):
        v = v + h * forward(q, v)
        q = q + h * v
        rows.append(np.concatenate([q, v]))
    return np.array(rows)


def rk4(forward: Forward, q: Array, h: float, steps: int) -> Array:
    """Rows [q, v] from rest by the classical method."""
    n = len(q)
    x = np.concatenate([q, np.zeros(n)])
    rows = []

    def rate(x: Array) -> Array:
        return np.concatenate([x[n:], forward(x[:n], x[n:])])

    for _ in range(steps):
        k1 = rate(x)
        k2 = rate(x + 0.5 * h * k1)
        k3 = rate(x + 0.5 * h * k2)
        k4 = rate(x + h * k3)
        x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        rows.append(x)
    return np.array(rows)
