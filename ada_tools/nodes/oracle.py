# SPDX-License-Identifier: Apache-2.0
"""Comparison with pinocchio: accelerations by forward, efforts by inverse dynamics; no ROS.

Pinocchio reads the robot description itself. Both engines get the same configuration, velocities and efforts. The
equations of closed loops, which URDF lacks, are those of this library. External forces (contact, pushes) and joint
stops are not part of the comparison, and the root link is fixed: joint states do not contain its motion.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.coordinates import motor_efforts
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model
from ada_dynamics.resources import how_to_install

OPEN = 1e-6  # [m, rad] closure error above which the loops have no common velocities
MOVING_APART = 1e-5  # velocity constraint violation, relative to the largest velocity
QUANTITIES = ("accelerations", "efforts")  # [rad/s², m/s²], and [N m, N] for these accelerations
ROWS = tuple(f"{what} {whose}" for what in QUANTITIES for whose in ("ours", "pinocchio", "difference"))


def pinocchio() -> Any:
    """Import the module pinocchio.

    Raises:
        InputError: it is not installed or cannot be imported, or another package has its name.
    """
    fix = (
        f"Install it with: {how_to_install('oracle')}, or pip install pin 'numpy=={version('numpy')}' (the package is "
        "named pin, and must be compiled for this numpy; pip uninstall pinocchio removes another package of that name)."
    )
    try:
        import pinocchio as module
    except Exception as problem:  # any exception: compiled for another numpy, or another package of that name
        why = f"cannot be imported ({type(problem).__name__}: {problem})"
        raise InputError(f"the comparison needs pinocchio, which {why}. {fix}", field="pinocchio") from None
    if not hasattr(module, "buildModelFromXML"):  # PyPI has a test runner of the same name
        where = getattr(module, "__file__", None)
        text = f"the module pinocchio in {where} is not the dynamics library. {fix}"
        raise InputError(text, field="pinocchio", value=where)
    return module


class DescribedTree:
    """Mass matrix and bias of the tree of a robot description, as pinocchio reads it, in our coordinates.

    Pinocchio has independent joints for those that mimic others: its velocities are G v.
    """

    def __init__(self, model: Model, text: str) -> None:
        """Read the description.

        Raises:
            InputError: pinocchio is not installed, or cannot read the description; or a joint has several coordinates.
        """
        self._pin = pinocchio()
        for name in model.joint_names:
            if not model.joints[name].nq == model.joints[name].nv == 1:
                text = f"joint {name!r} has several coordinates, which joint states do not contain."
                raise InputError(f"{model.name!r} cannot be compared with pinocchio: {text}", field="joint_states")
        try:
            self._model = self._pin.buildModelFromXML(text)
        except Exception as problem:  # of the reader: several types
            raise InputError(f"pinocchio cannot read the description of {model.name!r}: {problem}") from None
        self._model.gravity.linear = np.array(model.gravity)
        self._data = self._model.createData()
        self.G = np.zeros((self._model.nv, model.nv))
        # Offset of a joint that mimics another, damping, friction, stiffness, and position of the spring at rest.
        self._terms = np.zeros((5, self._model.nv))
        for joint in model.joints.values():
            if not joint.nv and joint.mimic is None:
                continue
            row = self._model.joints[self._model.getJointId(joint.name)].idx_v
            mimic = joint.mimic
            self.G[row, model.v_index(mimic.joint if mimic else joint.name)] = mimic.multiplier if mimic else 1.0
            offset = mimic.offset if mimic else 0.0
            self._terms[:, row] = offset, joint.damping, joint.friction, joint.stiffness, joint.rest
            self._model.armature[row] = joint.armature

    def terms(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Mass matrix, and efforts at zero acceleration: velocity terms, gravity, damping, friction and springs."""
        offset, damping, friction, stiffness, rest = self._terms
        position, velocity = self.G @ q + offset, self.G @ v
        x = self._pin.integrate(self._model, self._pin.neutral(self._model), position)
        upper = np.triu(self._pin.crba(self._model, self._data, x))  # some versions leave the lower triangle empty
        h = self._pin.nonLinearEffects(self._model, self._data, x, velocity)
        h += damping * velocity + friction * np.sign(velocity) + stiffness * (position - rest)
        return self.G.T @ (upper + np.triu(upper, 1).T) @ self.G, self.G.T @ h


class Oracle:
    """Both engines for one model.

    Attributes:
        model: robot model.
    """

    def __init__(self, model: Model, text: str, q: ArrayLike | None = None) -> None:
        """Build both engines.

        Args:
            model: robot model whose moving joints have one coordinate each.
            text: its description in URDF, for pinocchio.
            q: configuration in the intended assembly mode.

        Raises:
            InputError: pinocchio is not installed, or cannot read the description.
        """
        self.model = model
        self._theirs = DescribedTree(model, text)
        self._ours = Dynamics(model, q0=q if model.loops else None)

    def compare(self, q: Array, v: Array, tau: Array) -> tuple[Array, str]:
        """Compare both engines at one state.

        Returns:
            Table with the rows `ROWS` and one column per velocity, NaN where a quantity is not comparable, and the
            reason for that; "" without one. With loops, the efforts are the minimum-norm motor efforts.
        """
        table = np.full((len(ROWS), self.model.nv), np.nan)
        constraints = self._ours.constraints
        state = constraints.state(q, v)
        drift = max((float(np.max(np.abs(rate))) for rate in state.rate.values()), default=0.0)
        if not state.largest_violation <= OPEN:
            return table, f"closure error of the loops is {state.largest_violation:.2g} m or rad"
        if not drift <= MOVING_APART * max(1.0, float(np.max(np.abs(v)))):
            return table, f"the velocities violate the loop constraints by {drift:.2g} m/s or rad/s"
        if state.is_singular:
            return table, "singular configuration: the motion is not determined by the loops"
        M, h = self._theirs.terms(q, v)
        # a = a₀ + T w satisfies the constraints for any w
        T = constraints.tangent_map(q)
        a0 = constraints.complete_acceleration(q, v, np.zeros(T.shape[1]), "independent")
        theirs = a0 + T @ np.linalg.solve(T.T @ M @ T, T.T @ (tau - h - M @ a0))
        ours = self._ours.forward(q, v, tau)
        table[:3] = ours, theirs, ours - theirs
        efforts = M @ theirs + h
        try:
            if self.model.loops:
                efforts = motor_efforts(self.model, np.linalg.qr(T)[0], efforts)
            ours = self._ours.inverse(q, v, theirs)
            table[3:] = ours, efforts, ours - efforts
        except InputError as problem:  # with loops, the motors may be unable to produce the given accelerations
            return table, str(problem)
        return table, ""
