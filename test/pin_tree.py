# SPDX-License-Identifier: Apache-2.0
"""The spanning tree of one of our models in pinocchio: mass matrix, bias, poses and motions of frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.model.align import align

pin = pytest.importorskip("pinocchio")
if not hasattr(pin, "JointModelRevoluteUnaligned"):
    pytest.skip("the package named pinocchio is not the dynamics library", allow_module_level=True)

Array = Any


class PinTree:
    """The model's spanning tree in pinocchio; `G` maps our velocities to its, so mimic joints are in G alone."""

    def __init__(self, model: ada.Model) -> None:
        self.ours = model
        self.model = pin.Model()
        self.model.gravity.linear = np.array(model.gravity)
        here = pin.SE3.Identity()
        self.frames: dict[str, tuple[int, Any]] = {"world": (0, here)}  # link: joint and placement in it
        self.last: dict[str, int] = {}  # our joint: the last of its joints there
        if model.root not in {j.child for j in model.joints.values()}:
            self.frames[model.root] = (0, here)
        columns: list[tuple[str, int, float]] = []  # per velocity there: our joint, which of its own, factor
        damping, friction, armature = [], [], []
        for joint in model.joints.values():
            before = self.model.nv
            self._add(joint)
            for i in range(self.model.nv - before):
                source, factor = (joint.mimic.joint, joint.mimic.multiplier) if joint.mimic else (joint.name, 1.0)
                columns.append((source, i, factor))
                damping.append(joint.damping)
                friction.append(joint.friction)
                armature.append(joint.armature)
        self.G = np.zeros((self.model.nv, model.nv))
        for row, (source, i, factor) in enumerate(columns):
            self.G[row, model.v_index(source).start + i] = factor
        self.model.armature = np.array(armature, dtype=float)
        self.damping, self.friction = np.array(damping), np.array(friction)
        self.data = self.model.createData()

    def _add(self, joint: Any) -> None:
        parent, placement = self.frames[joint.parent]
        placement = placement * pin.SE3(joint.rotation, joint.xyz)
        inside = pin.SE3.Identity()  # of the link in the last joint's frame
        if joint.kind == "planar":
            turn = pin.SE3(align(joint.axis, 2)[0], np.zeros(3))  # which directions x and y are is our convention
            placement, inside = placement * turn, turn.inverse()
        for k, kind in enumerate(_joints(joint)):
            parent = self.model.addJoint(parent, kind, placement, f"{joint.name}.{k}")
            placement = pin.SE3.Identity()
            self.last[joint.name] = parent
        self.frames[joint.child] = (parent, inside if joint.kind != "fixed" else placement)
        link = self.ours.links[joint.child]
        if parent and (link.mass or link.inertia.any()):
            inertia = pin.Inertia(link.mass, link.com, link.inertia)
            self.model.appendBodyToJoint(parent, inertia, self.frames[joint.child][1])

    def position(self, q: Array) -> Array:
        """Our q as pinocchio has it: planar joints with cosine and sine, mimic joints written out."""
        parts: list[Array] = [np.zeros(0)]
        for joint in self.ours.joints.values():
            if joint.mimic:
                leader = q[self.ours.q_index(joint.mimic.joint)]
                parts.append(joint.mimic.multiplier * leader + joint.mimic.offset)
            elif joint.nv:
                own = q[self.ours.q_index(joint.name)]
                parts.append([own[0], own[1], np.cos(own[2]), np.sin(own[2])] if joint.kind == "planar" else own)
        return np.concatenate(parts)

    def mass_matrix(self, q: Array) -> Array:
        upper = np.triu(pin.crba(self.model, self.data, self.position(q)))
        return self.G.T @ (upper + np.triu(upper, 1).T) @ self.G

    def bias(self, q: Array, v: Array) -> Array:
        """h with gravity, damping and friction."""
        w = self.G @ v
        h = pin.nonLinearEffects(self.model, self.data, self.position(q), w).copy()
        return self.G.T @ (h + self.damping * w + self.friction * np.sign(w))

    def move(self, q: Array, v: Array | None = None, a: Array | None = None) -> None:
        """Poses, velocities, accelerations and Jacobians for the calls below."""
        w = np.zeros(self.model.nv) if v is None else self.G @ v
        rate = np.zeros(self.model.nv) if a is None else self.G @ a
        x = self.position(q)
        pin.computeJointJacobians(self.model, self.data, x)
        pin.forwardKinematics(self.model, self.data, x, w, rate)

    def frame(self, link: str, inside: Any = None) -> Frame:
        """A frame that is fixed in a link, after `move`."""
        joint, placement = self.frames[link]
        return Frame(self, joint, placement if inside is None else placement * inside)


class Frame:
    """Pose and motion of a frame in the world's axes."""

    def __init__(self, tree: PinTree, joint: int, inside: Any) -> None:
        pose = tree.data.oMi[joint] * inside if joint else inside
        self.joint, self.inside = joint, inside
        self.R, self.p = pose.rotation.copy(), pose.translation.copy()
        nothing = pin.Motion.Zero()
        velocity = inside.actInv(tree.data.v[joint]) if joint else nothing
        acceleration = inside.actInv(tree.data.a[joint]) if joint else nothing
        self.w, self.v = self.R @ velocity.angular, self.R @ velocity.linear
        self.dw = self.R @ acceleration.angular
        self.dv = self.R @ (acceleration.linear + np.cross(velocity.angular, velocity.linear))  # of the point
        J = np.zeros((6, tree.model.nv))
        if joint:
            local = np.reshape(pin.getJointJacobian(tree.model, tree.data, joint, pin.LOCAL), (6, -1))
            J = inside.toActionMatrixInverse() @ local
        J = J @ tree.G
        self.Jv, self.Jw = self.R @ J[:3], self.R @ J[3:]


def _joints(joint: Any) -> list[Any]:
    """pinocchio's joints that make up one of ours."""
    if joint.kind in ("revolute", "continuous"):
        return [pin.JointModelRevoluteUnaligned(joint.axis)]
    if joint.kind == "universal":
        return [pin.JointModelRevoluteUnaligned(a) for a in (joint.axis, joint.axis2)]
    slide, turn = pin.JointModelPrismaticUnaligned(joint.axis), pin.JointModelRevoluteUnaligned(joint.axis)
    return {
        "fixed": [],
        "prismatic": [slide],
        "cylindrical": [slide, turn],
        "spherical": [pin.JointModelSpherical()],
        "spherical_euler": [pin.JointModelRZ(), pin.JointModelRY(), pin.JointModelRZ()],
        "planar": [pin.JointModelPlanar()],
        "floating": [pin.JointModelFreeFlyer()],
        "floating_euler": [
            *(pin.JointModelPX(), pin.JointModelPY(), pin.JointModelPZ()),
            *(pin.JointModelRZ(), pin.JointModelRY(), pin.JointModelRX()),
        ],
    }[joint.kind]
