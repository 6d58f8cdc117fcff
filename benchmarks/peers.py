# SPDX-License-Identifier: Apache-2.0
"""Pinocchio and MuJoCo with our models: conversion of models and states, statements to time, checks of agreement."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from ada_dynamics.jit import Target, compiler
from ada_dynamics.model.elements import Joint
from ada_dynamics.resources import how_to_install
from ada_dynamics.robots.writers import Inexpressible, render
from ada_dynamics.spatial.rotation import from_quaternion
from ada_experiments.pinocchio_model import PinocchioModel
from benchmarks.timing import Contender

PINOCCHIO, MUJOCO = "pinocchio", "MuJoCo"
ONE_STEP, LCABA = "pinocchio, 1 step", "pinocchio lcaba"
# Proximal parameter and maximum number of steps. Independent constraints need one step with a small parameter;
# dependent ones are exact to rounding in three steps, and to eleven digits in one with the small parameter.
CONVERGED, SINGLE_STEP, LOOSE = (1e-10, 10), (1e-12, 1), (1e-6, 10)
EULER, RK4 = "MuJoCo Euler", "MuJoCo RK4"
_INTEGRATORS = {EULER: "mjINT_EULER", RK4: "mjINT_RK4"}


# --- pinocchio ------------------------------------------------------------------------------------------------------
class Pinocchio:
    """A tree of revolute joints on a fixed or floating base, with pinocchio's fast joints for axes x, y and z."""

    def __init__(self, model: ada.Model) -> None:
        import pinocchio as pin

        self.pin: Any = pin
        self.model: Any = pin.Model()
        self.model.gravity.linear = np.array(model.gravity)
        indices = {"world": 0, model.root: 0}
        for joint in model.joints.values():
            placement = pin.SE3(joint.rotation, joint.xyz)
            index = self.model.addJoint(indices[joint.parent], _aligned(pin, joint), placement, joint.name)
            link = model.links[joint.child]
            inertia = pin.Inertia(link.mass, link.com, link.inertia)
            self.model.appendBodyToJoint(index, inertia, pin.SE3.Identity())
            self.model.addBodyFrame(link.name, index, pin.SE3.Identity(), 0)
            indices[joint.child] = index

    @cached_property
    def data(self) -> Any:
        """Working memory; made when needed, because it grows with the cube of the length of a chain."""
        return self.model.createData()

    def forward(self, q: Array, v: Array, tau: Array) -> Array:
        """Accelerations of each row."""
        return np.array([self.pin.aba(self.model, self.data, *row) for row in zip(q, v, tau, strict=True)])

    def single(self, q: Array, v: Array, tau: Array) -> Contender:
        """One call from Python."""
        names = {"f": self.pin.aba, "m": self.model, "d": self.data, "q": q[0].copy(), "v": v[0].copy()}
        return Contender(PINOCCHIO, "f(m, d, q, v, tau)", {**names, "tau": tau[0].copy()})

    def native(self, q: Array, v: Array, tau: Array) -> Contender:
        """All rows by its C++ loop, one thread."""
        columns = [np.asfortranarray(x.T) for x in (q, v, tau)]
        names = dict(zip(("q", "v", "tau"), columns, strict=True))
        out = np.asfortranarray(np.zeros(columns[1].shape))
        more = {"f": self.pin.abaInParallel, "pool": self.pin.ModelPool(self.model, 1), "out": out}
        return Contender(PINOCCHIO, "f(1, pool, q, v, tau, out)", {**names, **more}, len(q))


def _aligned(pin: Any, joint: Joint) -> Any:
    if joint.kind == "floating":
        return pin.JointModelFreeFlyer()
    return getattr(pin, f"JointModelR{'XYZ'[int(np.argmax(joint.axis))]}")()


class ClosedPinocchio:
    """A mechanism with loops in pinocchio."""

    def __init__(self, model: ada.Model) -> None:
        self.other = PinocchioModel(model)
        self.is_complete = None not in self.other.constraints.values()  # a constraint for each loop

    def forward(self, q: Array, v: Array, tau: Array) -> Array:
        """Accelerations of each row; `PinocchioModel` checks that they solve the equations of motion."""
        return np.array([self.other.forward(*row) for row in zip(q, v, tau, strict=True)])

    def converged(self, q: Array) -> tuple[float, int]:
        """Proximal parameter and steps until convergence; planar loops have dependent constraints."""
        J = self.other.loop_constraints.jacobian(q)
        is_planar = any(loop.kind == "revolute" for loop in self.other.ours.loops.values())
        return CONVERGED if is_planar or np.linalg.matrix_rank(J) < len(J) else SINGLE_STEP

    def contenders(self, q: Array, v: Array, tau: Array) -> list[Contender]:
        """One call from Python for one state, by each algorithm and setting."""
        if not self.is_complete:
            return []
        usual = self.converged(q)
        made = [self.contender(PINOCCHIO, "constraintDynamics", q, v, tau, usual)]
        if usual != SINGLE_STEP:
            made.append(self.contender(ONE_STEP, "constraintDynamics", q, v, tau, SINGLE_STEP))
        if hasattr(self.other.pin, "lcaba"):
            made.append(self.contender(LCABA, "lcaba", q, v, tau, LOOSE))
        return made

    def contender(
        self, label: str, function: str, q: Array, v: Array, tau: Array, proximal: tuple[float, int], kp: float = 0.0
    ) -> Contender:
        """One call of a function of pinocchio for one state.

        Args:
            label: for the table.
            function: its name.
            q: configuration.
            v: velocities.
            tau: efforts.
            proximal: parameter and maximum number of steps.
            kp: stiffness of Baumgarte's stabilization, critically damped [1/s²].
        """
        other = self.other
        pin, data = other.pin, other.model.createData()
        models, datas = other.new_constraints()
        for constraint in models:
            constraint.m_baumgarte_parameters.Kp = kp
            constraint.m_baumgarte_parameters.Kd = 2.0 * np.sqrt(kp)
        pin.initConstraintDynamics(other.model, data, models, datas)
        if function == "lcaba":
            pin.computeJointMinimalOrdering(other.model, data, models)
        names: dict[str, Any] = {"pin": pin, "f": getattr(pin, function), "m": other.model, "d": data}
        names |= {"cm": models, "cd": datas, "s": pin.ProximalSettings(1e-12, *proximal), "keep": other}
        names |= {"q": other.position(q), "v": other.velocity(v), "tau": other.effort(tau)}
        return Contender(label, "f(m, d, q, v, tau, cm, cd, s)", names)


def result_of(contender: Contender) -> Array:
    """Result of one run of the statement of a contender."""
    return np.array(eval(contender.statement, dict(contender.names)))


# --- MuJoCo ---------------------------------------------------------------------------------------------------------
class Mujoco:
    """A model in MuJoCo, without geoms and without all that is not dynamics of bodies and of (soft) loops."""

    def __init__(self, model: ada.Model, kind: str = EULER, step: float = 1e-3, solref: float | None = None) -> None:
        """Compile it.

        Args:
            model: of joints that MJCF has.
            kind: EULER or RK4.
            step: [s].
            solref: time constant of the loops [s]; MuJoCo's own by default.

        Raises:
            Inexpressible: MJCF lacks a joint type.
        """
        import mujoco

        self.mujoco: Any = mujoco
        self.kind = kind
        root = ElementTree.fromstring(render(model, "mjcf").texts[".xml"])
        for body in root.iter("body"):
            for geom in body.findall("geom"):
                body.remove(geom)
        # MuJoCo refuses thin rods, whose inertia about themselves is zero.
        root.find("compiler").set("boundinertia", "1e-9" if model.loops else "0")  # type: ignore[union-attr]
        self.model = mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))
        off = ["CONTACT", "LIMIT", "SENSOR", "ACTUATION", "EULERDAMP", *([] if model.loops else ["CONSTRAINT"])]
        for name in off:
            self.model.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}"))
        self.model.opt.integrator = int(getattr(mujoco.mjtIntegrator, _INTEGRATORS[kind]))
        self.model.opt.timestep = step
        if solref is not None:
            self.model.eq_solref[:, 0] = solref
        self.data = mujoco.MjData(self.model)
        floats = [name for name in model.joint_names if model.joints[name].kind == "floating"]
        self._free = [(model.q_index(name).start, model.v_index(name).start) for name in floats]

    @staticmethod
    def of(model: ada.Model) -> Mujoco | None:
        """The model, or None if MJCF lacks a joint type."""
        try:
            return Mujoco(model)
        except Inexpressible:
            return None

    def state(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        """The same state with the scalar part of quaternions first, linear velocities and forces in world axes."""
        position, velocity, effort = q.copy(), v.copy(), tau.copy()
        for at_q, at_v in self._free:
            position[at_q + 3 : at_q + 7] = q[[at_q + 6, at_q + 3, at_q + 4, at_q + 5]]
            R: Array = np.array(from_quaternion(*q[at_q + 3 : at_q + 7].tolist()))
            for mine, given in ((velocity, v), (effort, tau)):
                mine[at_v : at_v + 3] = R @ given[at_v : at_v + 3]
        return position, velocity, effort

    def set_state(self, q: Array, v: Array, tau: Array) -> None:
        """Write one state."""
        self.data.qpos[:], self.data.qvel[:], self.data.qfrc_applied[:] = self.state(q, v, tau)

    def forward(self, q: Array, v: Array, tau: Array) -> Array:
        """Accelerations of each row in our coordinates."""
        result = np.empty_like(v)
        for row in range(len(q)):
            self.set_state(q[row], v[row], tau[row])
            self.mujoco.mj_forward(self.model, self.data)
            result[row] = self.data.qacc
            for at_q, at_v in self._free:
                R: Array = np.array(from_quaternion(*q[row, at_q + 3 : at_q + 7].tolist()))
                linear, angular = v[row, at_v : at_v + 3], v[row, at_v + 3 : at_v + 6]
                result[row, at_v : at_v + 3] = R.T @ result[row, at_v : at_v + 3] - np.cross(angular, linear)
        return result

    def single(self, q: Array, v: Array, tau: Array) -> Contender:
        """One call from Python for one state."""
        self.set_state(q, v, tau)
        return Contender(MUJOCO, "f(m, d)", {"f": self.mujoco.mj_forward, "m": self.model, "d": self.data})

    def native(self, q: Array, v: Array, tau: Array, repeats: int = 500) -> Contender:
        """`mj_forward` in a compiled loop, without Python and copies."""
        self.set_state(q, v, tau)
        return Contender(MUJOCO, "f(a, m, d, n)", self._loop("mj_forward", repeats), repeats)

    def batch(self, q: Array, v: Array, tau: Array) -> Contender:
        """Many states in one call, one thread."""
        from mujoco.batch import Batch

        batch = Batch(self.model, len(q), nthread=1)
        rows = zip(*(self.state(*row) for row in zip(q, v, tau, strict=True)), strict=True)
        for name, values in zip(("qpos", "qvel", "qfrc_applied"), rows, strict=True):
            batch.bind(name)[:] = np.array(values)
        return Contender("MuJoCo batch", "f()", {"f": batch.forward, "out": batch.bind("qacc")}, len(q))

    # --- steps of joints with one coordinate ------------------------------------------------------------------------
    def states(self, q: Array, steps: int) -> Array:
        """[q, v] after each step from rest, as rows."""
        from mujoco import rollout

        start = np.concatenate([[0.0], q, np.zeros(self.model.nv)])[None]
        found, _ = rollout.rollout(self.model, self.data, start, nstep=steps)
        return np.array(found[0][:, 1:])

    def steps(self, q: Array, steps: int, label: str = "") -> Contender:
        """`mj_step` from rest in a compiled loop."""
        reset = "data.qpos[:] = q; data.qvel[:] = 0.0; data.time = 0.0; data.qacc_warmstart[:] = 0.0; "
        names = {**self._loop("mj_step", steps), "data": self.data, "q": q.copy()}
        return Contender(label or self.kind, f"{reset}f(a, m, d, n)", names, steps)

    def _loop(self, function: str, repeats: int) -> dict[str, Any]:
        """Names of `f(a, m, d, n)`, which calls a C function of MuJoCo n times."""
        (path,) = Path(self.mujoco.__file__).parent.glob("libmujoco*")
        library = ctypes.CDLL(str(path), mode=getattr(os, "RTLD_NOLOAD", 0) | getattr(os, "RTLD_LAZY", 0))
        address = ctypes.cast(getattr(library, function), ctypes.c_void_p).value
        names = {"f": _calling_loop(), "a": address, "m": self.model._address, "d": self.data._address, "n": repeats}
        return {**names, "keep": (self.model, self.data)}


_LOOP = """
define i32 @call_again(ptr %function, ptr %m, ptr %d, i64 %n) {
entry:
  br label %again
again:
  %k = phi i64 [0, %entry], [%next, %again]
  call void %function(ptr %m, ptr %d)
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %again, label %end
end:
  ret i32 0
}
"""


@cache
def _compiled_loop() -> compiler.Library:
    return compiler.load(compiler.compile_text(_LOOP, Target.host()), ["call_again"])


def _calling_loop() -> Callable[[int, int, int, int], int]:
    """A compiled loop that calls a C function of two pointers."""
    pointer = ctypes.c_void_p
    kind = ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer, pointer, ctypes.c_int64)
    return kind(_compiled_loop().address("call_again"))


# --- all engines ----------------------------------------------------------------------------------------------------
@cache
def available() -> frozenset[str]:
    """Engines that are installed."""
    found = set()
    for name in (PINOCCHIO, MUJOCO):
        try:
            __import__(name.lower())
        except ImportError:
            print(f"  {name} is not installed and is omitted ({how_to_install('oracle')})", file=sys.stderr)
        else:
            found.add(name)
    return frozenset(found)


def disagreement(a: Array, b: Array) -> float:
    """Largest difference relative to the largest element of each row."""
    return float(np.max(np.abs(a - b).max(axis=-1) / np.abs(b).max(axis=-1)))


def require_agreement(what: str, a: Array, b: Array, tolerance: float) -> float:
    """Largest relative difference of the results of two engines, whose times are compared only if they agree.

    Raises:
        AdaError: the difference exceeds the tolerance.
    """
    found = disagreement(a, b)
    if not found <= tolerance:
        raise AdaError(f"{what}: relative difference {found:.1e}, more than {tolerance:.0e}; nothing is timed.")
    return found
