# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics of a model by MuJoCo, converted by the MJCF writer.

    other = MujocoModel(model)
    difference = dyn.forward(q, v, tau) - other.forward(q, v, tau)

MuJoCo uses another order of coordinates, and quaternions with the real part first. The linear velocity of a floating
joint is in world axes in MuJoCo and in the axes of the child in ada_dynamics; forces accordingly. MuJoCo is imported
with the first model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model
from ada_dynamics.resources import how_to_install
from ada_dynamics.robots.readers.mjcf.bodies import KINDS
from ada_dynamics.robots.writers import render

MIN_INERTIA = 1e-14  # [kg m²]; MuJoCo rejects moving bodies without inertia about an axis
COVERED = tuple(kind for kind, words in KINDS.words.items() if words)
_XYZW_TO_WXYZ = (3, 0, 1, 2)


def mujoco_package() -> Any:
    """Import the module mujoco.

    Raises:
        InputError: MuJoCo is not installed.
    """
    try:
        import mujoco
    except ImportError:
        text = f"the comparison with MuJoCo needs it: {how_to_install('oracle')}"
        raise InputError(text, field="mujoco", allowed=how_to_install("oracle")) from None
    return mujoco


class MujocoModel:
    """A model in MuJoCo. Vectors are in the coordinates of ada_dynamics unless stated otherwise.

    Attributes:
        mujoco: the module.
        ours: the model of ada_dynamics.
        model: the model of MuJoCo.
        data: its state and working memory.
    """

    def __init__(self, model: Model, document: str | None = None) -> None:
        """Compile the model.

        Args:
            model: the mechanism.
            document: MJCF of the model with additional elements, compiled without changes; by default the output of the
                MJCF writer without contacts and limits.

        Raises:
            InputError: MuJoCo is not installed or rejects the model, or a joint type is not supported.
            ModelError: the model cannot be written as MJCF.
        """
        self.mujoco: Any = mujoco_package()
        self.ours = model
        self._refuse_others()
        self.model: Any = self._compiled(document)
        self.data: Any = self.mujoco.MjData(self.model)
        self._own_q = np.zeros(model.nq, dtype=int)  # index in ada_dynamics by coordinate of MuJoCo
        self._own_v = np.zeros(model.nv, dtype=int)
        self._turns: list[tuple[int, int]] = []  # addresses of a quaternion and of its angular velocity
        self._free: list[
            tuple[int, int]
        ] = []  # addresses of the quaternion and of the linear velocity of floating joints
        for name in model.joint_names:
            self._match(name)
        self._straight_q, self._straight_v = np.ones(model.nq, dtype=bool), np.ones(model.nv, dtype=bool)
        for at, spin in self._turns:
            self._straight_q[at : at + 4] = self._straight_v[spin : spin + 3] = False

    def _refuse_others(self) -> None:
        where = f"model {self.ours.name!r}: joint"
        for name in self.ours.joint_names:
            kind = self.ours.joints[name].kind
            if kind not in COVERED:
                text = f"{where} {name!r} is {kind}; MuJoCo supports {', '.join(COVERED)}."
                raise InputError(text, joint=name, field="kind", value=kind, allowed=tuple(COVERED))
        for joint in self.ours.joints.values():
            if joint.mimic is not None:
                text = (
                    f"{where} {joint.name!r} mimics {joint.mimic.joint!r}, which is a soft constraint in MuJoCo with "
                    "additional coordinates. Compare with pinocchio: PinocchioModel."
                )
                raise InputError(text, joint=joint.name, field="mimic", value=joint.mimic.joint)

    def _compiled(self, document: str | None) -> Any:
        mujoco = self.mujoco
        text = render(self.ours, "mjcf").texts[".xml"] if document is None else document
        try:
            if document is not None:
                found = mujoco.MjModel.from_xml_string(text)
            else:
                spec = mujoco.MjSpec.from_string(text)
                spec.compiler.boundinertia = MIN_INERTIA
                spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
                found = spec.compile()
        except ValueError as problem:
            raise InputError(
                f"MuJoCo rejects model {self.ours.name!r}: {problem}", field="model", value=self.ours.name
            ) from None
        sizes, own = (found.nq, found.nv), (self.ours.nq, self.ours.nv)
        if sizes != own:
            text = (
                f"the MJCF has {sizes[0]} coordinates and {sizes[1]} velocities, model {self.ours.name!r} {own[0]} and "
                f"{own[1]}; give a document with the joints of this model."
            )
            raise InputError(text, field="document", value=sizes, allowed=own)
        return found

    def _match(self, name: str) -> None:
        """Find the coordinates of a joint, which are the first of the body of its child."""
        joint, own_q, own_v = self.ours.joints[name], self.ours.q_index(name), self.ours.v_index(name)
        body = self.mujoco.mj_name2id(self.model, self.mujoco.mjtObj.mjOBJ_BODY, joint.child)
        if body < 0 or self.model.body_dofnum[body] != joint.nv:
            text = (
                f"the MJCF of model {self.ours.name!r} has no body {joint.child!r} with the {joint.nv} velocities of "
                f"joint {name!r}; give a document with the bodies of this model."
            )
            raise InputError(text, joint=name, link=joint.child, field="document", allowed=joint.nv)
        first = self.model.body_jntadr[body]
        at, rate = int(self.model.jnt_qposadr[first]), int(self.model.jnt_dofadr[first])
        order = np.arange(own_q.start, own_q.stop)
        turn = joint.type.quaternion_at()
        if turn is not None:
            order[turn:] = order[turn:][list(_XYZW_TO_WXYZ)]
            self._turns.append((at + turn, rate + turn))
            if turn:
                self._free.append((at + turn, rate))
        self._own_q[at : at + joint.nq] = order
        self._own_v[rate : rate + joint.nv] = np.arange(own_v.start, own_v.stop)

    # --- coordinates ------------------------------------------------------------------------------------------------
    def position(self, q: ArrayLike) -> Array:
        """Convert a configuration to MuJoCo."""
        return self.ours.as_positions(q)[self._own_q]

    def own_position(self, x: Array) -> Array:
        """Convert a configuration from MuJoCo."""
        return _placed(x, self._own_q)

    def velocity(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Convert velocities at q, or efforts, to MuJoCo."""
        x, w = self.position(q), self.ours.as_velocities(v)[self._own_v]
        for turn, at in self._free:
            w[at : at + 3] = self._rotation(x[turn : turn + 4]) @ w[at : at + 3]
        return w

    def own_velocity(self, x: Array, w: Array) -> Array:
        """Convert velocities at the MuJoCo configuration x, or efforts, from MuJoCo."""
        w = np.array(w, dtype=np.float64)
        for turn, at in self._free:
            w[at : at + 3] = self._rotation(x[turn : turn + 4]).T @ w[at : at + 3]
        return _placed(w, self._own_v)

    def position_rate(self, x: Array, w: Array) -> Array:
        """Time derivative of the MuJoCo configuration for MuJoCo velocities."""
        rate, quaternion_rate = np.zeros(self.ours.nq), np.zeros(4)
        rate[self._straight_q] = w[self._straight_v]
        for at, spin in self._turns:
            # ½ p ∘ (0, ω), with ω in the body's axes
            self.mujoco.mju_mulQuat(quaternion_rate, x[at : at + 4].copy(), np.array([0.0, *w[spin : spin + 3]]))
            rate[at : at + 4] = 0.5 * quaternion_rate
        return rate

    # --- state ------------------------------------------------------------------------------------------------------
    def set_state(self, q: ArrayLike, v: ArrayLike) -> None:
        """Set the state at t = 0 and clear efforts and warm-start memory."""
        x, w = self.position(q), self.velocity(q, v)
        self.mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = x, w

    def state(self) -> tuple[Array, Array]:
        """Configuration and velocities of the present state."""
        return self.own_position(self.data.qpos), self.own_velocity(self.data.qpos, self.data.qvel)

    def set_efforts(self, tau: ArrayLike) -> None:
        """Apply efforts in the present state until they are set again."""
        tau = self.ours.as_velocities(tau, "tau")
        self.data.qfrc_applied[:] = self.velocity(self.own_position(self.data.qpos), tau)

    # --- dynamics ---------------------------------------------------------------------------------------------------
    def forward(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> Array:
        """Joint accelerations of trees without dry friction; loops and dry friction are soft constraints in MuJoCo.

        Args:
            q: configuration, (nq,).
            v: velocities, (nv,).
            tau: joint efforts, (nv,).

        Raises:
            InputError: the model has loops or dry friction, or an argument has the wrong size.
        """
        self._refuse_soft()
        self.set_state(q, v)
        self.set_efforts(tau)
        self.mujoco.mj_forward(self.model, self.data)
        a = self.own_velocity(self.data.qpos, self.data.qacc)
        _, own = self.state()
        for name in self.ours.joint_names:
            if self.ours.joints[name].kind == "floating":
                # d/dt (R v) = R (a + ω x v) in world axes
                at = self.ours.v_index(name).start
                a[at : at + 3] -= np.cross(own[at + 3 : at + 6], own[at : at + 3])
        return a

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Mass matrix of the tree including armature, (nv, nv)."""
        self.set_state(q, np.zeros(self.ours.nv))
        self.mujoco.mj_forward(self.model, self.data)
        columns, product = np.zeros((self.ours.nv, self.ours.nv)), np.zeros(self.ours.nv)
        for i, unit in enumerate(np.eye(self.ours.nv)):
            self.mujoco.mj_mulM(self.model, self.data, product, self.velocity(q, unit))
            columns[:, i] = self.own_velocity(self.data.qpos, product)
        return columns

    def _refuse_soft(self) -> None:
        rough = [joint.name for joint in self.ours.joints.values() if joint.friction]
        what = "loops" if self.ours.loops else f"dry friction in joint {rough[0]!r}" if rough else ""
        if what:
            raise InputError(
                f"model {self.ours.name!r} has {what}, a soft constraint in MuJoCo with other accelerations. Compare "
                "with PinocchioModel, or compare motions over time.",
                field="loops" if self.ours.loops else "friction",
                joint=rough[0] if rough else None,
            )

    def _rotation(self, quaternion: Array) -> Array:
        R = np.zeros(9)
        self.mujoco.mju_quat2Mat(R, quaternion.copy())
        return R.reshape(3, 3)


def _placed(values: Array, places: NDArray[np.int_]) -> Array:
    result = np.empty(len(places))
    result[places] = values
    return result
