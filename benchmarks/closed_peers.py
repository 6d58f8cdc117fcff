# SPDX-License-Identifier: Apache-2.0
"""Mechanisms with loops in the other engines, made from our models."""

from __future__ import annotations

from typing import Any

import numpy as np

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.robots.writers import Inexpressible, render
from ada_dynamics.spatial.rotation import from_quaternion
from ada_experiments.pinocchio_model import PinocchioModel
from benchmarks.peers import MUJOCO, PINOCCHIO
from benchmarks.timing import Contender

ONE_STEP, LCABA = "pinocchio, 1 step", "pinocchio lcaba"
# Proximal parameter and most steps. Independent conditions need one step with a small parameter; dependent ones give
# rounding-exact results in three steps, and eleven digits in one with the small parameter.
CONVERGED, SINGLE_STEP, LOOSE = (1e-10, 10), (1e-12, 1), (1e-6, 10)


class ClosedPinocchio:
    """A mechanism in pinocchio, where it has a constraint for every loop."""

    def __init__(self, model: ada.Model) -> None:
        self.other = PinocchioModel(model)
        self.is_complete = None not in self.other.constraints.values()

    def forward(self, q: Array, v: Array, tau: Array) -> Array:
        """Accelerations of each row; `PinocchioModel` checks that they solve the equations of motion."""
        return np.array([self.other.forward(*row) for row in zip(q, v, tau, strict=True)])

    def is_redundant(self, q: Array) -> bool:
        """True if its conditions depend on each other in a pose: those of planar loops always do."""
        if any(loop.kind == "revolute" for loop in self.other.ours.loops.values()):
            return True
        J = self.other.loop_constraints.jacobian(q)
        return bool(np.linalg.matrix_rank(J) < len(J))

    def contenders(self, q: Array, v: Array, tau: Array) -> list[Contender]:
        """One call from Python for one state, by each algorithm and setting."""
        if not self.is_complete:
            return []
        usual = CONVERGED if self.is_redundant(q) else SINGLE_STEP
        made = [self._contender(PINOCCHIO, "constraintDynamics", usual, q, v, tau)]
        if usual != SINGLE_STEP:
            made.append(self._contender(ONE_STEP, "constraintDynamics", SINGLE_STEP, q, v, tau))
        if hasattr(self.other.pin, "lcaba"):
            made.append(self._contender(LCABA, "lcaba", LOOSE, q, v, tau))
        return made

    def _contender(
        self, label: str, function: str, proximal: tuple[float, int], q: Array, v: Array, tau: Array
    ) -> Contender:
        other = self.other
        pin, data = other.pin, other.model.createData()
        models, datas = other.new_constraints()
        pin.initConstraintDynamics(other.model, data, models, datas)
        if function == "lcaba":
            pin.computeJointMinimalOrdering(other.model, data, models)
        names: dict[str, Any] = {"f": getattr(pin, function), "m": other.model, "d": data, "cm": models, "cd": datas}
        names |= {"q": other.position(q), "v": other.velocity(v), "tau": other.effort(tau)}
        names["s"] = pin.ProximalSettings(1e-12, *proximal)
        return Contender(label, "f(m, d, q, v, tau, cm, cd, s)", names)


class ClosedMujoco:
    """A mechanism in MuJoCo, which keeps loops softly: its accelerations are others. Only `mj_forward` is timed."""

    def __init__(self, model: ada.Model) -> None:
        """Raises Inexpressible where MJCF lacks a joint type."""
        import mujoco

        # It refuses thin rods, whose inertia about themselves is zero.
        text = render(model, "mjcf").texts[".xml"].replace("<compiler ", '<compiler boundinertia="1e-9" ')
        self.mujoco: Any = mujoco
        self.model = mujoco.MjModel.from_xml_string(text)
        bits = mujoco.mjtDisableBit
        for bit in (bits.mjDSBL_CONTACT, bits.mjDSBL_LIMIT, bits.mjDSBL_SENSOR, bits.mjDSBL_ACTUATION):
            self.model.opt.disableflags |= int(bit)
        self.data = mujoco.MjData(self.model)
        floats = [name for name in model.joint_names if model.joints[name].kind == "floating"]
        self._free = [(model.q_index(name).start, model.v_index(name).start) for name in floats]

    @staticmethod
    def of(model: ada.Model) -> ClosedMujoco | None:
        """The mechanism, or None where MJCF lacks a joint type."""
        try:
            return ClosedMujoco(model)
        except Inexpressible:
            return None

    def contender(self, q: Array, v: Array, tau: Array) -> Contender:
        """One call from Python for one state."""
        position, speed, effort = q.copy(), v.copy(), tau.copy()
        for at_q, at_v in self._free:  # the quaternion's real part first, linear velocity and force in world axes
            position[at_q + 3 : at_q + 7] = q[[at_q + 6, at_q + 3, at_q + 4, at_q + 5]]
            R: Array = np.array(from_quaternion(*q[at_q + 3 : at_q + 7].tolist()))
            for mine, given in ((speed, v), (effort, tau)):
                mine[at_v : at_v + 3] = R @ given[at_v : at_v + 3]
        self.data.qpos[:], self.data.qvel[:], self.data.qfrc_applied[:] = position, speed, effort
        return Contender(MUJOCO, "f(m, d)", {"f": self.mujoco.mj_forward, "m": self.model, "d": self.data})


def result_of(contender: Contender) -> Array:
    """What a contender of pinocchio returns: our accelerations, as long as no joint mimics another."""
    return np.array(eval(contender.statement, dict(contender.names)))
