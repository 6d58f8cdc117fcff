# SPDX-License-Identifier: Apache-2.0
"""Dynamics of a model, and its simulation with ground contacts, in MuJoCo, with the MJCF of `ada`, for comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.joints import Floating
from ada_dynamics.model.model import Model
from ada_dynamics.resources import how_to_install
from ada_dynamics.robots.readers.mjcf.bodies import KINDS
from ada_dynamics.robots.writers import render

Controller = Callable[[float, Array, Array], ArrayLike]

_CORNER = 1e-3  # [m], radius of the contact spheres; the lowest point of a sphere is the contact point
MIN_INERTIA = 1e-14  # [kg m²]; MuJoCo rejects moving bodies without inertia about an axis
COVERED = tuple(kind for kind, words in KINDS.words.items() if words)
_XYZW_TO_WXYZ = (3, 0, 1, 2)


class MujocoModel:
    """Forward dynamics of a model by MuJoCo, converted by the MJCF writer.

    MuJoCo uses another order of coordinates, and quaternions with the real part first. The linear velocity of a
    floating joint is in world axes in MuJoCo and in the axes of the child in ada_dynamics; forces accordingly. Vectors
    are in the coordinates of ada_dynamics unless stated otherwise.

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
        self.mujoco: Any = _mujoco()
        self.ours = model
        _refuse_other_joints(model)
        self.model: Any = self._compiled(document)
        self.data: Any = self.mujoco.MjData(self.model)
        self._own_q = np.zeros(model.nq, dtype=int)  # index in ada_dynamics by coordinate of MuJoCo
        self._own_v = np.zeros(model.nv, dtype=int)
        self._turns: list[tuple[int, int]] = []  # addresses of a quaternion and of its angular velocity
        self._free: list[tuple[int, int]] = []  # addresses of quaternion and linear velocity of floating joints
        for name in model.joint_names:
            self._match(name)
        self._straight_q, self._straight_v = np.ones(model.nq, dtype=bool), np.ones(model.nv, dtype=bool)
        for at, spin in self._turns:
            self._straight_q[at : at + 4] = self._straight_v[spin : spin + 3] = False

    def _compiled(self, document: str | None) -> Any:
        mujoco = self.mujoco
        try:
            if document is not None:
                return mujoco.MjModel.from_xml_string(document)
            spec = mujoco.MjSpec.from_string(render(self.ours, "mjcf").texts[".xml"])
            spec.compiler.boundinertia = MIN_INERTIA
            spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
            return spec.compile()
        except ValueError as problem:
            text = f"MuJoCo rejects model {self.ours.name!r}: {problem}"
            raise InputError(text, field="model", value=self.ours.name) from None

    def _match(self, name: str) -> None:
        """Find the coordinates of a joint, which are the first of the body of its child."""
        joint, own_q, own_v = self.ours.joints[name], self.ours.q_index(name), self.ours.v_index(name)
        first = self.model.body_jntadr[self.model.body(joint.child).id]
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
        rough = next((joint.name for joint in self.ours.joints.values() if joint.friction), None)
        if self.ours.loops or rough:
            what, field = ("loops", "loops") if self.ours.loops else (f"dry friction in joint {rough!r}", "friction")
            text = (
                f"model {self.ours.name!r} has {what}, a soft constraint in MuJoCo with other accelerations. Compare "
                "with PinocchioModel, or compare motions over time."
            )
            raise InputError(text, field=field, joint=rough)

    def _rotation(self, quaternion: Array) -> Array:
        R = np.zeros(9)
        self.mujoco.mju_quat2Mat(R, quaternion.copy())
        return R.reshape(3, 3)


def _placed(values: Array, places: NDArray[np.int_]) -> Array:
    result = np.empty(len(places))
    result[places] = values
    return result


def _mujoco() -> Any:
    try:
        import mujoco
    except ImportError:
        text = f"the comparison with MuJoCo needs it: {how_to_install('oracle')}"
        raise InputError(text, field="mujoco", allowed=how_to_install("oracle")) from None
    return mujoco


def _refuse_other_joints(model: Model) -> None:
    for joint in model.joints.values():
        where = f"model {model.name!r}: joint {joint.name!r}"
        if joint.mimic is not None:
            text = f"{where} mimics {joint.mimic.joint!r}, a soft constraint in MuJoCo. Compare with PinocchioModel."
            raise InputError(text, joint=joint.name, field="mimic", value=joint.mimic.joint)
        if joint.name in model.joint_names and joint.kind not in COVERED:
            text = f"{where} is {joint.kind}; MuJoCo supports {', '.join(COVERED)}."
            raise InputError(text, joint=joint.name, field="kind", value=joint.kind, allowed=COVERED)


class TwinMotion(NamedTuple):
    """A simulated motion in the coordinates of `ada`."""

    t: Array  # (N,) [s]
    q: Array  # (N, nq)
    v: Array  # (N, nv)
    forces: dict[str, Array]  # force of the ground on each link in the world frame, (N, 3) [N]


class Twin:
    """A model in MuJoCo."""

    def __init__(
        self,
        model: Model,
        points: Mapping[str, ArrayLike],
        step: float,
        *,
        friction: float = 0.8,
        touch_time: float = 5e-3,
    ) -> None:
        """Compile the MuJoCo model.

        Args:
            model: has a floating base.
            points: contact points of each link with the ground z = 0, (n, 3) in the link frame [m].
            step: time step [s].
            friction: coefficient of Coulomb friction.
            touch_time: time constant of the soft contact, at least two time steps; a body at rest sinks by about
                g·touch_time² [s].

        Raises:
            InputError: MuJoCo is not installed, the model has no floating base or has joints that MuJoCo does not
                support, or a link is unknown.
            ModelError: the model cannot be written as MJCF.
        """
        if not model.joint_names or model.joints[model.joint_names[0]].kind != Floating.kind:
            words = f"model {model.name!r} must have a floating base."
            raise InputError(words, field="base")
        self.model, self.step = model, step
        self._other = MujocoModel(model, twin_text(model, points, step, friction, touch_time))
        self._touching = {self._other.model.body(link).id: link for link in points}

    def run(self, q: Array, v: Array, controller: Controller, duration: float, control_period: float) -> TwinMotion:
        """Simulate with a controller that is evaluated once per control period.

        Args:
            q: initial position.
            v: initial velocity.
            controller: (t, q, v) -> joint forces for all velocity coordinates, zero for the base.
            duration: [s].
            control_period: a multiple of the step [s].
        """
        other = self._other
        other.set_state(q, v)
        every = max(1, round(control_period / self.step))
        steps = round(duration / self.step)
        rows: list[tuple[float, Array, Array]] = []
        forces = {link: np.zeros((steps + 1, 3)) for link in self._touching.values()}
        tau = np.zeros(self.model.nv)
        for i in range(steps + 1):
            q, v = other.state()
            if i % every == 0:
                tau = np.array(controller(i * self.step, q, v), dtype=np.float64)
            other.set_efforts(tau)
            rows.append((i * self.step, q, v))
            other.mujoco.mj_step(other.model, other.data)
            for link, force in self._forces().items():
                forces[link][i] = force
        t, qs, vs = (np.array(column) for column in zip(*rows, strict=True))
        return TwinMotion(t, qs, vs, forces)

    def _forces(self) -> dict[str, Array]:
        """Force of the ground on each link in the last step."""
        found = {link: np.zeros(3) for link in self._touching.values()}
        wrench = np.zeros(6)
        other = self._other
        for i in range(other.data.ncon):
            contact = other.data.contact[i]
            # The floor is the first geom: the normal points from it to the geom of the robot.
            link = self._touching[int(other.model.geom_bodyid[contact.geom2])]
            other.mujoco.mj_contactForce(other.model, other.data, i, wrench)
            found[link] += contact.frame.reshape(3, 3).T @ wrench[:3]
        return found


def twin_text(model: Model, points: Mapping[str, ArrayLike], step: float, friction: float, touch_time: float) -> str:
    """Return the MJCF of the model with a floor and a small sphere at each contact point."""
    root = ElementTree.fromstring(render(model, "mjcf").texts[".xml"])
    for geom_holder in root.iter("body"):  # remove the visual shapes
        for geom in geom_holder.findall("geom"):
            geom_holder.remove(geom)
    option = root.find("option")
    world = root.find("worldbody")
    if option is None or world is None:
        raise InputError(f"the MJCF of {model.name!r} has no <option> or <worldbody>.")
    # Elliptic friction cone; implicit damping, which stiff servos need.
    option.attrib.update(timestep=repr(step), integrator="implicitfast", cone="elliptic", impratio="10")
    touch = {
        "condim": "3",
        "friction": f"{friction!r} 0.005 0.0001",
        "solref": f"{touch_time!r} 1",
        "solimp": "0.95 0.99 0.0005",
    }
    floor = {"name": "floor", "type": "plane", "size": "0 0 1", "contype": "1", "conaffinity": "0", **touch}
    world.insert(0, ElementTree.Element("geom", floor))
    bodies = {body.get("name"): body for body in root.iter("body")}
    for link, places in points.items():
        if link not in bodies:
            raise unknown_name("link", link, model.links)
        for i, xyz in enumerate(np.asarray(places, dtype=float).reshape(-1, 3)):
            at = " ".join(repr(float(x)) for x in np.add(xyz, (0.0, 0.0, _CORNER)))
            sphere = {"name": f"{link} point {i}", "type": "sphere", "size": repr(_CORNER), "pos": at, "mass": "0"}
            own = {**sphere, "contype": "0", "conaffinity": "1", **touch}
            bodies[link].append(ElementTree.Element("geom", own))
    return ElementTree.tostring(root, encoding="unicode")
