# SPDX-License-Identifier: Apache-2.0
"""The spanning tree of a model in pinocchio: coordinates there and back, mass matrix, bias, motions of frames."""

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
from ada_dynamics.robots.readers.kinds import Kinds
from ada_tools.engines.pinocchio_package import pinocchio

WORLD = "world"


class PinocchioTree:
    """The tree of a model, in pinocchio's terms; vectors of the methods are ours unless they say otherwise.

    Joints of ours that pinocchio lacks are several of its joints in a row. Joints that mimic others are independent
    there: G, which maps our velocities to its, couples them.

    Attributes:
        pin: pinocchio.
        ours: our model.
        model: pinocchio's; its joints are in depth-first order, as ours are.
        data: pinocchio's working memory.
        G: pinocchio's velocities are G v.
        frames: by link, pinocchio's joint that carries it and the link's pose in that joint's frame.
        last: by joint, the last one of its joints in pinocchio; fixed joints have none.
        damping: viscous damping, per velocity there.
        friction: Coulomb friction, per velocity there.
    """

    def __init__(self, model: Model) -> None:
        """Build it.

        Args:
            model: the mechanism; its loops are not part of the tree.

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
        owners: list[tuple[Joint, int]] = []  # per velocity there: our joint, and which of its own it is
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
        inside = pin.SE3.Identity()  # of the link in the last joint's frame
        if joint.kind == "planar":
            turn = pin.SE3(align(joint.axis, 2)[0], np.zeros(3))  # which directions x and y are is our convention
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
        """Our positions as pinocchio's: with cosine and sine for planar joints, and with those of mimic joints."""
        return np.concatenate([np.zeros(0), *(own for _, own in self._positions(q))])

    def own_position(self, x: Array) -> Array:
        """Pinocchio's positions as ours; the angle of a planar joint comes back within half a turn."""
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
        """Joints that have positions in pinocchio, with these."""
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
        """Our velocities, or accelerations, as pinocchio's."""
        return self.G @ v

    def own_velocity(self, w: Array) -> Array:
        """Pinocchio's velocities, or accelerations, as ours; those of joints that mimic others are not looked at."""
        return w[self._own_rows]

    def effort(self, tau: Array) -> Array:
        """Our efforts as pinocchio's: one of the ways to spread them where joints mimic others."""
        u = np.zeros(self.model.nv)
        u[self._own_rows] = tau
        return u

    def own_effort(self, u: Array) -> Array:
        """Pinocchio's efforts as ours: with the same power, whatever the velocity."""
        return self.G.T @ u

    # --- dynamics of the tree ---------------------------------------------------------------------------------------
    def passive(self, q: Array, w: Array) -> Array:
        """Efforts of damping, friction and springs, by our positions and pinocchio's velocities."""
        u: Array = self.damping * w + self.friction * np.sign(w)
        if self.stiffness.any():
            u += self.stiffness * self.pin.difference(self.model, self.rest, self.position(q))
        return u

    def mass_matrix(self, q: Array) -> Array:
        """Joint-space mass matrix with armature."""
        upper = np.triu(self.pin.crba(self.model, self.data, self.position(q)))  # some versions leave the rest empty
        M: Array = self.G.T @ (upper + np.triu(upper, 1).T) @ self.G
        return M

    def bias(self, q: Array, v: Array) -> Array:
        """Efforts at zero acceleration: velocity terms, weight, damping, friction and springs."""
        w = self.velocity(v)
        h = self.pin.nonLinearEffects(self.model, self.data, self.position(q), w)
        return self.own_effort(h + self.passive(q, w))

    def pull(self, q: Array, external: Mapping[str, ArrayLike] | None) -> Array:
        """Efforts with the power of wrenches [force, moment] on links, about their origins and in their axes."""
        total = np.zeros(self.ours.nv)
        if external:
            self.move(q)
        for link, given in (external or {}).items():
            wrench = np.asarray(given, dtype=float)
            if wrench.shape != (6,):
                raise InputError(
                    f"the wrench on link {link!r} has shape {wrench.shape}; it needs 6 numbers.",
                    link=link,
                    field="external",
                    value=wrench.shape,
                    allowed=(6,),
                )
            frame = self.frame(link)
            total += frame.Jv.T @ (frame.R @ wrench[:3]) + frame.Jw.T @ (frame.R @ wrench[3:])
        return total

    # --- motions of frames ------------------------------------------------------------------------------------------
    def move(self, q: Array, v: Array | None = None, a: Array | None = None) -> None:
        """Poses, velocities, accelerations and Jacobians for `frame`."""
        w = np.zeros(self.model.nv) if v is None else self.velocity(v)
        rate = np.zeros(self.model.nv) if a is None else self.velocity(a)
        x = self.position(q)
        self.pin.computeJointJacobians(self.model, self.data, x)
        self.pin.forwardKinematics(self.model, self.data, x, w, rate)

    def frame(self, link: str, inside: Any = None) -> Frame:
        """A frame that is fixed in a link, after `move`.

        Args:
            link: a link, or "world".
            inside: pose in the link's frame, an SE3 of pinocchio; the link's own frame by default.
        """
        if link not in self.frames:
            raise unknown_name("link", link, self.frames)
        joint, placement = self.frames[link]
        return Frame(self, joint, placement if inside is None else placement * inside)


class Frame:
    """Pose and motion of a frame that is fixed in a link, in the world's axes.

    Attributes:
        joint: pinocchio's joint that carries it, 0 for the world.
        inside: its pose in that joint's frame.
        R: its axes, as columns.
        p: its origin [m].
        w: angular velocity [rad/s].
        v: velocity of the origin [m/s].
        dw: angular acceleration [rad/s²].
        dv: acceleration of the origin [m/s²].
        Jv: v per our velocities.
        Jw: w per our velocities.
    """

    def __init__(self, tree: PinocchioTree, joint: int, inside: Any) -> None:
        pin, model, data = tree.pin, tree.model, tree.data
        pose = data.oMi[joint] * inside if joint else inside
        self.joint, self.inside = joint, inside
        self.R: Array = pose.rotation.copy()
        self.p: Array = pose.translation.copy()
        velocity = inside.actInv(data.v[joint]) if joint else pin.Motion.Zero()
        acceleration = inside.actInv(data.a[joint]) if joint else pin.Motion.Zero()
        self.w: Array = self.R @ velocity.angular
        self.v: Array = self.R @ velocity.linear
        self.dw: Array = self.R @ acceleration.angular
        self.dv: Array = self.R @ (acceleration.linear + np.cross(velocity.angular, velocity.linear))
        J = np.zeros((6, model.nv))
        if joint:
            local = np.reshape(pin.getJointJacobian(model, data, joint, pin.LOCAL), (6, -1))
            J = inside.toActionMatrixInverse() @ local
        J = J @ tree.G
        self.Jv: Array = self.R @ J[:3]
        self.Jw: Array = self.R @ J[3:]


# Pinocchio's joints that make up one of ours.
_JOINTS = Kinds[Callable[[Any, Joint], list[Any]]](
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
