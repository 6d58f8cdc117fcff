# SPDX-License-Identifier: Apache-2.0
"""The judge's robot: pinocchio's model of a text, read by pinocchio's reader; what that leaves out is read here.

`PinocchioTree` of the library's engines is a judge, too, where a robot is described in Python: bodies, joints and all
dynamics are pinocchio's, from the numbers of the description.
"""

from __future__ import annotations

import os
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import yaml

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_experiments.pinocchio_tree import PinocchioTree
from ada_tools.nodes.oracle import pinocchio


class NoJudge(Exception):
    """The judge cannot say anything."""


class TextTree(PinocchioTree):
    """pinocchio's reading of a URDF, in the coordinates that the library names."""

    def __init__(self, text: str, loops: str | None, model: ada.Model, base: str) -> None:
        """Read it.

        Args:
            text: of the URDF.
            loops: text of the loops, in YAML.
            model: the library's: names, places and sizes of its coordinates, and nothing else, are taken from it.
            base: fixed or floating.

        Raises:
            NoJudge: pinocchio does not read the text, or has other joints.
        """
        self.pin = pinocchio()
        self.model = _read(self.pin, text, base)
        self.data = self.model.createData()
        self.frames = {"world": (0, self.pin.SE3.Identity())}
        for frame in self.model.frames:
            if frame.type == self.pin.FrameType.BODY:
                self.frames[frame.name] = (frame.parentJoint, frame.placement)
        self._place(text, model)
        own = [] if loops is None else (yaml.safe_load(loops) or {}).get("loops", [])
        self.ours: Any = SimpleNamespace(nv=model.nv, nq=model.nq, loops={x["name"]: _loop(x) for x in own})
        self.damping, self.friction, self.stiffness = np.zeros((3, self.model.nv))
        self.rest: Array = self.pin.neutral(self.model)
        armature = np.zeros(self.model.nv)
        for name, told in _of_joints(text, "dynamics"):
            joint = self._joints[name]
            at = slice(joint.idx_v, joint.idx_v + joint.nv)
            self.damping[at], self.friction[at] = _number(told, "damping", 0.0), _number(told, "friction", 0.0)
            armature[at] = _number(told, "armature", 0.0)
        self.model.armature = armature

    def _place(self, text: str, model: ada.Model) -> None:
        """Positions of our coordinates in pinocchio's vectors; joints that mimic others have none."""
        joints = self._joints = {str(name): self.model.joints[i] for i, name in enumerate(self.model.names) if i}
        leaders = {name: mimic for name, mimic in _of_joints(text, "mimic") if name in joints}
        if {*model.joint_names} != joints.keys() - leaders.keys():
            raise NoJudge(f"other joints: {sorted({*model.joint_names} ^ (joints.keys() - leaders.keys()))}"[:200])
        self.G = np.zeros((self.model.nv, model.nv))
        self._from: list[tuple[Any, slice, float, float]] = []
        for name, joint in joints.items():
            factor, offset, leader = 1.0, 0.0, name
            if name in leaders:
                leader = str(leaders[name].get("joint"))
                factor, offset = _number(leaders[name], "multiplier", 1.0), _number(leaders[name], "offset", 0.0)
                if leader in leaders or joint.nv != 1:
                    raise NoJudge("a mimic of a mimic")
            q, v = model.q_index(leader), model.v_index(leader)
            if joint.nv != v.stop - v.start or (joint.nv, q.stop - q.start) not in ((1, 1), (6, 7)):
                raise NoJudge(f"other coordinates of joint {name}")
            self.G[joint.idx_v : joint.idx_v + joint.nv, v] = factor * np.eye(joint.nv)
            self._from.append((joint, q, factor, offset))

    def position(self, q: Array) -> Array:
        """Our positions as pinocchio's, with cosine and sine of joints that turn without end."""
        x = np.zeros(self.model.nq)
        for joint, at, factor, offset in self._from:
            # Rounded once, as by the library: of a thousand radians a rounding is seen in all efforts.
            own = q[at]
            if joint.nv == 1:
                own = np.array([float(Fraction(factor) * Fraction(own[0]) + Fraction(offset))])
            if joint.nq == 2:
                own = np.array([np.cos(own[0]), np.sin(own[0])])
            x[joint.idx_q : joint.idx_q + joint.nq] = own
        return x


def _of_joints(text: str, tag: str) -> Iterator[tuple[str, ET.Element]]:
    for joint in ET.fromstring(text).iter("joint"):
        found = joint.find(tag)
        if found is not None and joint.get("type") not in ("fixed", None):
            yield str(joint.get("name")), found


def _number(element: ET.Element, name: str, absent: float) -> float:
    return float(element.get(name, absent))


def _loop(told: dict[str, Any]) -> Any:
    """A loop joint as the conditions want it, from the words of the file."""
    ends: dict[str, Any] = {}
    for side in ("parent", "child"):
        end = told[side]
        ends |= {
            side: end["link"],
            f"{side}_xyz": np.array(end.get("xyz", (0.0, 0.0, 0.0)), dtype=float),
            f"{side}_rotation": pinocchio().rpy.rpyToMatrix(*map(float, end.get("rpy", (0.0, 0.0, 0.0)))),
        }
    axes = [np.array(told.get(key, (1.0, 0.0, 0.0)), dtype=float) for key in ("axis", "axis2")]
    axis, axis2 = (axis / np.linalg.norm(axis) for axis in axes)
    return SimpleNamespace(name=told["name"], kind=told["type"], axis=axis, axis2=axis2, constants={}, **ends)


def _read(pin: Any, text: str, base: str) -> Any:
    """pinocchio's model. Its reader goes on after what it calls an error, with zeros: such a text it has not read."""
    root = () if base == "fixed" else (pin.JointModelFreeFlyer(),)
    with _heard() as said:
        try:
            model = pin.buildModelFromXML(text, *root)
        except Exception as problem:
            raise NoJudge(f"pinocchio: {problem}"[:200]) from problem
    if any("Error" in line for line in said):
        raise NoJudge(said[0][:200])
    if any(_number(mass, "value", 0.0) < 0.0 for mass in ET.fromstring(text).iter("mass")):
        raise NoJudge("pinocchio divides by masses, and takes negative ones for the smallest number")
    return model


@contextmanager
def _heard() -> Iterator[list[str]]:
    """Text written to the process's stderr in a block."""
    said: list[str] = []
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield said
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            file.seek(0)
            said += file.read().decode(errors="replace").splitlines()
