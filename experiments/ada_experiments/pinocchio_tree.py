# SPDX-License-Identifier: Apache-2.0
"""Spanning tree of a model in pinocchio: coordinate conversion, mass matrix, bias, motions of frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.elements import Joint
from ada_dynamics.model.model import Model
from ada_dynamics.model.rotations import align
from ada_dynamics.robots.readers.values import JointKindTable
from ada_tools.nodes.oracle import pinocchio

WORLD = "world"


class PinocchioTree:
    """Tree of a model in pinocchio. Vectors are in the coordinates of ada_dynamics unless stated otherwise.

    Joint types that pinocchio lacks are sequences of its joints. Mimic joints are independent in pinocchio; G maps
    velocities of ada_dynamics to those of pinocchio and couples them.

    Attributes:
        pin: the module pinocchio.
        ours: the model of ada_dynamics.
        model: the model of pinocchio, with joints in depth-first order.
        data: working memory of pinocchio.
        G: velocities in pinocchio are G v.
        frames: joint of pinocchio and pose in its frame, by link.
        last: last joint in pinocchio by joint; fixed joints have none.
        damping: viscous damping by velocity of pinocchio.
        friction: Coulomb friction by velocity of pinocchio.
    """

    def __init__(self, model: Model) -> None:
        """Build the tree.

        Args:
            model: the mechanism; its loops are ignored.

        Raises:
            InputError: pinocchio is not installed.
        """
        pin = self.pin = pinocchio()
        self.ours = model
        self.model: Any = pin.Model()
        self.model.gravity.linear = np.array(model.gravity)
        self.frames: dict[str, tuple[int, Any]] = {WORLD: (0, pin.SE3.Identity())}
        self.last: dict[str, int] = {}
        if model.root not in {joint.child for joint in model.joints.values()}:
            self.frames[model.root] = (0, pin.SE3.Identity())
        owners: list[tuple[Joint, int]] = []  # joint and index in it by velocity of pinocchio
        for joint in model.joints.values():
            before = self.model.nv
            self._add(joint)
            owners += [(joint, i) for i in range(self.model.nv - before)]
        self.G = np.zeros((self.model.nv, model.nv))
        self._own_rows = np.zeros(model.nv, dtype=int)
        for row, (joint, i) in enumerate(owners):
            if joint.mimic is None:
                column = model.v_index(joint.name).start + i
                self.G[row, column] = 1.0
                self._own_rows[column] = row
            else:
                self.G[row, model.v_index(joint.mimic.joint).start + i] = joint.mimic.multiplier
        self.model.armature = np.array([joint.armature for joint, _ in owners])
        self.damping = np.array([joint.damping for joint, _ in owners])
        self.friction = np.array([joint.friction for joint, _ in owners])
        self.stiffness = np.array([joint.stiffness for joint, _ in owners])
        self.rest: Array = pin.neutral(self.model)
        for joint in model.joints.values():
            if joint.rest:
                self.rest[self.model.joints[self.last[joint.name]].idx_q] = joint.rest
        self.data: Any = self.model.createData()

    def _add(self, joint: Joint) -> None:
        pin = self.pin
        parent, placement = self.frames[joint.parent]
        placement = placement * pin.SE3(joint.rotation, joint.xyz)
        inside = pin.SE3.Identity()  # pose of the link in the frame of the last joint
        if joint.kind == "planar":
            turn = pin.SE3(align(joint.axis, 2)[0], np.zeros(3))  # x and y are a convention of ada_dynamics
            placement, inside = placement * turn, turn.inverse()
        for k, kind in enumerate(_JOINTS.words[joint.kind](pin, joint)):
            parent = self.model.addJoint(parent, kind, placement, f"{joint.name}.{k}")
            placement = pin.SE3.Identity()
            self.last[joint.name] = parent
        self.frames[joint.child] = (parent, inside if joint.kind != "fixed" else placement)
        link = self.ours.links[joint.child]
        if parent and (link.mass or link.inertia.any()):
            inertia = pin.Inertia(link.mass, link.com, link.inertia)
            self.model.appendBodyToJoint(parent, inertia, self.frames[joint.child][1])

    # --- coordinates ------------------------------------------------------------------------------------------------
    def position(self, q: Array) -> Array:
        """Convert a configuration to pinocchio, with cosine and sine of planar joints and with mimic joints."""
        return np.concatenate([np.zeros(0), *(own for _, own in self._positions(q))])

    def own_position(self, x: Array) -> Array:
        """Convert a configuration from pinocchio; angles of planar joints are in (-π, π]."""
        q = self.ours.neutral()
        start = 0
        for joint, like in self._positions(q):
            own = x[start : start + len(like)]
            start += len(like)
            if joint.mimic is None:
                planar = joint.kind == "planar"
                q[self.ours.q_index(joint.name)] = [own[0], own[1], np.arctan2(own[3], own[2])] if planar else own
        return q

    def _positions(self, q: Array) -> Iterator[tuple[Joint, Array]]:
        """Joints with coordinates in pinocchio, and their values."""
        for joint in self.ours.joints.values():
            if joint.mimic:
                leader = q[self.ours.q_index(joint.mimic.joint)]
                yield joint, joint.mimic.multiplier * leader + joint.mimic.offset
            elif joint.nv:
                own = q[self.ours.q_index(joint.name)]
                if joint.kind == "planar":
                    own = np.array([own[0], own[1], np.cos(own[2]), np.sin(own[2])])
                yield joint, own

    def velocity(self, v: Array) -> Array:
        """Convert velocities or accelerations to pinocchio."""
        return self.G @ v

    def own_velocity(self, w: Array) -> Array:
        """Convert velocities or accelerations from pinocchio; those of mimic joints are ignored."""
        return w[self._own_rows]

    def effort(self, tau: Array) -> Array:
        """Convert efforts to pinocchio; mimic joints get none."""
        u = np.zeros(self.model.nv)
        u[self._own_rows] = tau
        return u

    def own_effort(self, u: Array) -> Array:
        """Convert efforts from pinocchio, with equal power for any velocity."""
        return self.G.T @ u

    # --- dynamics of the tree ---------------------------------------------------------------------------------------
    def passive(self, q: Array, w: Array) -> Array:
        """Efforts of damping, friction and springs, for a configuration of ada_dynamics and velocities of pinocchio."""
        u: Array = self.damping * w + self.friction * np.sign(w)
        if self.stiffness.any():
            u += self.stiffness * self.pin.difference(self.model, self.rest, self.position(q))
        return u

    def mass_matrix(self, q: Array) -> Array:
        """Joint-space mass matrix including armature, (nv, nv)."""
        upper = np.triu(
            self.pin.crba(self.model, self.data, self.position(q))
        )  # some versions leave the lower triangle empty
        M: Array = self.G.T @ (upper + np.triu(upper, 1).T) @ self.G
        return M

    def bias(self, q: Array, v: Array) -> Array:
        """Efforts at zero acceleration: velocity terms, gravity, damping, friction and springs."""
        w = self.velocity(v)
        h = self.pin.nonLinearEffects(self.model, self.data, self.position(q), w)
        return self.own_effort(h + self.passive(q, w))

    def pull(self, q: Array, external: Mapping[str, ArrayLike] | None) -> Array:
        """Joint efforts equivalent to wrenches [force, moment] at link origins in link axes."""
        total = np.zeros(self.ours.nv)
        if external:
            self.move(q)
        for link, given in (external or {}).items():
            wrench = np.asarray(given, dtype=float)
            if wrench.shape != (6,):
                text = f"the wrench on link {link!r} has shape {wrench.shape}; it needs 6 numbers."
                raise InputError(text, link=link, field="external", value=wrench.shape, allowed=(6,))
            frame = self.frame(link)
            total += frame.Jv.T @ (frame.R @ wrench[:3]) + frame.Jw.T @ (frame.R @ wrench[3:])
        return total

    # --- motions of frames ------------------------------------------------------------------------------------------
    def move(self, q: Array, v: Array | None = None, a: Array | None = None) -> None:
        """Compute poses, velocities, accelerations and Jacobians for `frame`."""
        w = np.zeros(self.model.nv) if v is None else self.velocity(v)
        rate = np.zeros(self.model.nv) if a is None else self.velocity(a)
        x = self.position(q)
        self.pin.computeJointJacobians(self.model, self.data, x)
        self.pin.forwardKinematics(self.model, self.data, x, w, rate)

    def frame(self, link: str, inside: Any = None) -> LinkFrame:
        """Frame fixed in a link, after `move`.

        Args:
            link: name of a link, or "world".
            inside: pose in the link frame, an SE3 of pinocchio; identity by default.
        """
        if link not in self.frames:
            raise unknown_name("link", link, self.frames)
        joint, placement = self.frames[link]
        return LinkFrame(self, joint, placement if inside is None else placement * inside)


class LinkFrame:
    """Pose and motion of a frame fixed in a link, in world axes.

    Attributes:
        joint: joint of pinocchio, 0 for the world.
        inside: pose in the frame of that joint.
        R: axes, as columns.
        p: origin [m].
        w: angular velocity [rad/s].
        v: velocity of the origin [m/s].
        dw: angular acceleration [rad/s²].
        dv: acceleration of the origin [m/s²].
        Jv: Jacobian of v.
        Jw: Jacobian of w.
    """

    def __init__(self, tree: PinocchioTree, joint: int, inside: Any) -> None:
        pin = tree.pin
        self.joint, self.inside = joint, inside
        pose, at = tree.data.oMi[joint] * inside, (tree.model, tree.data, joint, inside, pin.LOCAL_WORLD_ALIGNED)
        self.R: Array = pose.rotation.copy()
        self.p: Array = pose.translation.copy()
        velocity, acceleration = pin.getFrameVelocity(*at), pin.getFrameClassicalAcceleration(*at)
        self.w: Array = velocity.angular.copy()
        self.v: Array = velocity.linear.copy()
        self.dw: Array = acceleration.angular.copy()
        self.dv: Array = acceleration.linear.copy()
        J = np.reshape(pin.getFrameJacobian(*at), (6, -1)) @ tree.G
        self.Jv: Array = J[:3]
        self.Jw: Array = J[3:]


# Joints of pinocchio by joint type.
_JOINTS = JointKindTable[Callable[[Any, Joint], list[Any]]](
    "pinocchio's joints",
    {
        "revolute": lambda pin, joint: [pin.JointModelRevoluteUnaligned(joint.axis)],
        "continuous": lambda pin, joint: [pin.JointModelRevoluteUnaligned(joint.axis)],
        "prismatic": lambda pin, joint: [pin.JointModelPrismaticUnaligned(joint.axis)],
        "cylindrical": lambda pin, joint: [
            pin.JointModelPrismaticUnaligned(joint.axis),
            pin.JointModelRevoluteUnaligned(joint.axis),
        ],
        "helical": lambda pin, joint: [pin.JointModelHelicalUnaligned(joint.axis, joint.constants["pitch"])],
        "universal": lambda pin, joint: [pin.JointModelRevoluteUnaligned(axis) for axis in (joint.axis, joint.axis2)],
        "spherical": lambda pin, _: [pin.JointModelSpherical()],
        "spherical_euler": lambda pin, _: [pin.JointModelRZ(), pin.JointModelRY(), pin.JointModelRZ()],
        "planar": lambda pin, _: [pin.JointModelPlanar()],
        "floating": lambda pin, _: [pin.JointModelFreeFlyer()],
        "floating_euler": lambda pin, _: [
            *(pin.JointModelPX(), pin.JointModelPY(), pin.JointModelPZ()),
            *(pin.JointModelRZ(), pin.JointModelRY(), pin.JointModelRX()),
        ],
        "fixed": lambda pin, _: [],
    },
)
