# SPDX-License-Identifier: Apache-2.0
"""A model in MuJoCo, by way of our MJCF writer: state there and back, forward dynamics by another engine.

    other = MujocoModel(model)
    difference = dyn.forward(q, v, tau) - other.forward(q, v, tau)

MuJoCo's coordinates are ours in another order: it has the real part of a quaternion first. Its velocities are ours but
for the linear velocity of a floating joint, which is in the world's axes there and in the child's axes here; forces go
with them. MuJoCo is imported when the first model is made.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.extras import how_to_install
from ada_dynamics.model.model import Model
from ada_dynamics.robots.readers.mjcf.joints import KINDS
from ada_dynamics.robots.writers import render

LEAST_INERTIA = 1e-14  # [kg m²]; MuJoCo takes no moving body without inertia about some axis
COVERED = tuple(kind for kind, words in KINDS.words.items() if words)
_XYZW_TO_WXYZ = (3, 0, 1, 2)


def mujoco_package() -> Any:
    """The module.

    Raises:
        InputError: it is not installed.
    """
    try:
        import mujoco
    except ImportError:
        raise InputError(
            f"the comparison with MuJoCo needs it: {how_to_install('oracle')}",
            field="mujoco",
            allowed=how_to_install("oracle"),
        ) from None
    return mujoco


class MujocoModel:
    """A model in MuJoCo; methods take and return our vectors unless they say otherwise.

    Attributes:
        mujoco: the module.
        ours: our model.
        model: MuJoCo's.
        data: its state and working memory.
    """

    def __init__(self, model: Model, document: str | None = None) -> None:
        """Compile it.

        Args:
            model: the mechanism.
            document: MJCF of it with what it has beside bodies and joints, compiled as it is; by default our writer's,
                without contacts and limits.

        Raises:
            InputError: MuJoCo is not installed, does not take the model, or lacks a type of joint.
            ModelError: our writer cannot write the model as MJCF.
        """
        self.mujoco: Any = mujoco_package()
        self.ours = model
        self._refuse_others()
        self.model: Any = self._compiled(document)
        self.data: Any = self.mujoco.MjData(self.model)
        self._own_q = np.zeros(model.nq, dtype=int)  # by coordinate there, which it is of ours
        self._own_v = np.zeros(model.nv, dtype=int)
        self._turns: list[tuple[int, int]] = []  # where a quaternion and its angular velocity begin there
        self._free: list[tuple[int, int]] = []  # where the quaternion and the linear velocity of floating joints do
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
                raise InputError(
                    f"{where} {name!r} is {kind}; in MuJoCo there are {', '.join(COVERED)}.",
                    joint=name,
                    field="kind",
                    value=kind,
                    allowed=tuple(COVERED),
                )
        for joint in self.ours.joints.values():
            if joint.mimic is not None:
                raise InputError(
                    f"{where} {joint.name!r} mimics {joint.mimic.joint!r}, which MuJoCo keeps only softly, so that the "
                    "model has coordinates there that it lacks here. Compare it in pinocchio: PinocchioModel.",
                    joint=joint.name,
                    field="mimic",
                    value=joint.mimic.joint,
                )

    def _compiled(self, document: str | None) -> Any:
        mujoco = self.mujoco
        text = render(self.ours, "mjcf").texts[".xml"] if document is None else document
        try:
            if document is not None:
                found = mujoco.MjModel.from_xml_string(text)
            else:
                spec = mujoco.MjSpec.from_string(text)
                spec.compiler.boundinertia = LEAST_INERTIA
                spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
                found = spec.compile()
        except ValueError as problem:
            raise InputError(
                f"MuJoCo does not take model {self.ours.name!r}: {problem}", field="model", value=self.ours.name
            ) from None
        sizes, own = (found.nq, found.nv), (self.ours.nq, self.ours.nv)
        if sizes != own:
            raise InputError(
                f"the MJCF has {sizes[0]} coordinates and {sizes[1]} velocities, model {self.ours.name!r} {own[0]} and "
                f"{own[1]}; give a document with the joints of this model.",
                field="document",
                value=sizes,
                allowed=own,
            )
        return found

    def _match(self, name: str) -> None:
        """Find a joint's coordinates: they are the first of its child's body there."""
        joint, own_q, own_v = self.ours.joints[name], self.ours.q_index(name), self.ours.v_index(name)
        body = self.mujoco.mj_name2id(self.model, self.mujoco.mjtObj.mjOBJ_BODY, joint.child)
        if body < 0 or self.model.body_dofnum[body] != joint.nv:
            raise InputError(
                f"the MJCF of model {self.ours.name!r} has no body {joint.child!r} with the {joint.nv} velocities of "
                f"joint {name!r}; give a document with the bodies of this model.",
                joint=name,
                link=joint.child,
                field="document",
                allowed=joint.nv,
            )
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
        """Our positions as MuJoCo's."""
        return self.ours.as_positions(q)[self._own_q]

    def own_position(self, x: Array) -> Array:
        """MuJoCo's positions as ours."""
        return _placed(x, self._own_q)

    def velocity(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Our velocities at q, or efforts, as MuJoCo's."""
        x, w = self.position(q), self.ours.as_velocities(v)[self._own_v]
        for turn, at in self._free:
            w[at : at + 3] = self._rotation(x[turn : turn + 4]) @ w[at : at + 3]
        return w

    def own_velocity(self, x: Array, w: Array) -> Array:
        """MuJoCo's velocities at its positions x, or its efforts, as ours."""
        w = np.array(w, dtype=np.float64)
        for turn, at in self._free:
            w[at : at + 3] = self._rotation(x[turn : turn + 4]).T @ w[at : at + 3]
        return _placed(w, self._own_v)

    def position_rate(self, x: Array, w: Array) -> Array:
        """How MuJoCo's positions change with its velocities."""
        rate, turning = np.zeros(self.ours.nq), np.zeros(4)
        rate[self._straight_q] = w[self._straight_v]
        for at, spin in self._turns:
            # ½ p ∘ (0, ω), with ω in the body's axes
            self.mujoco.mju_mulQuat(turning, x[at : at + 4].copy(), np.array([0.0, *w[spin : spin + 3]]))
            rate[at : at + 4] = 0.5 * turning
        return rate

    # --- state ------------------------------------------------------------------------------------------------------
    def set_state(self, q: ArrayLike, v: ArrayLike) -> None:
        """Put MuJoCo there, at t = 0, without efforts and without memory of what was before."""
        x, w = self.position(q), self.velocity(q, v)
        self.mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = x, w

    def state(self) -> tuple[Array, Array]:
        """Where it is: our positions and velocities."""
        return self.own_position(self.data.qpos), self.own_velocity(self.data.qpos, self.data.qvel)

    def set_efforts(self, tau: ArrayLike) -> None:
        """Apply efforts in the present state; MuJoCo keeps them until others are set."""
        tau = self.ours.as_velocities(tau, "tau")
        self.data.qfrc_applied[:] = self.velocity(self.own_position(self.data.qpos), tau)

    # --- dynamics ---------------------------------------------------------------------------------------------------
    def forward(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> Array:
        """Joint accelerations; for trees without dry friction, which MuJoCo has as a soft constraint, as it has loops.

        Args:
            q: positions.
            v: velocities.
            tau: joint efforts.

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
                # d/dt (R v) = R (a + ω x v) in the world's axes
                at = self.ours.v_index(name).start
                a[at : at + 3] -= np.cross(own[at + 3 : at + 6], own[at : at + 3])
        return a

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Mass matrix of the tree, (nv, nv), rotors included."""
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
                f"model {self.ours.name!r} has {what}, which MuJoCo keeps only softly: its accelerations are those of "
                "another system. Compare with PinocchioModel, or motions over time.",
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
