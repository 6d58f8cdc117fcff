# SPDX-License-Identifier: Apache-2.0
"""Compare MJCF files with MuJoCo: masses, mass matrix, efforts, accelerations and gaps of loops, at random states.

    python -m benchmarks.mjcf_comparison FILE_OR_FOLDER ...

MuJoCo's contacts, limits and motors are off. Its dry friction and its equalities are soft constraints, which are off as
well: friction is added here, joints that mimic others are put into its equations of motion, and loops are compared by
their gaps.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.execution import silence_logger
from ada_dynamics.model.edit import open_loops
from ada_dynamics.model.elements import Joint
from ada_dynamics.model.model import Model
from ada_dynamics.robots.load import load
from ada_dynamics.robots.readers.mjcf.bodies import KINDS

_NUMBERS: dict[tuple[str, ...], int] = {("free",): 0, ("ball",): 1, ("slide",): 2, ("hinge",): 3}  # MuJoCo's
_WXYZ = (3, 0, 1, 2)
LIMIT = 1e-9  # larger relative differences are no rounding


@dataclass(frozen=True)
class MjcfComparison:
    """Largest differences over the states, each relative to the largest value of its quantity."""

    joints: int
    velocities: int  # without those of mimic joints, which MuJoCo has, too
    loops: int
    mass: float
    mass_matrix: float
    efforts: float  # at zero acceleration, with springs, damping and friction
    accelerations: float
    gaps: float  # of loops in open configurations [m]; nan without loops
    without_meshes: bool = False  # MuJoCo read the file without its missing meshes, which have no mass here

    @property
    def worst(self) -> float:
        """The largest of all."""
        found = (self.mass, self.mass_matrix, self.efforts, self.accelerations, self.gaps)
        return max(x for x in found if not np.isnan(x))


def compare(path: str | os.PathLike[str], states: int = 3, seed: int = 0) -> MjcfComparison:
    """Read a file with both programs and compare.

    Args:
        path: the MJCF file.
        states: number of random states.
        seed: of the states.

    Raises:
        InputError: MuJoCo is not installed, does not read the file, or has other joints.
        ModelError: the file cannot be read here.
    """
    model = load(path)
    import mujoco

    theirs, without_meshes = _compiled(mujoco, str(path))
    twin = _Twin(model, mujoco, theirs)
    rng = np.random.default_rng(seed)
    worst = np.zeros(3)
    if model.nv:
        tree = Dynamics(open_loops(model) if model.loops else model)
        for _ in range(states):
            q, v = model.random_state(rng)
            worst = np.maximum(worst, twin.differences(tree, q, v, rng.normal(size=model.nv)))
    masses = float(np.sum(theirs.body_mass))
    return MjcfComparison(
        joints=len(twin.pairs),
        velocities=model.nv,
        loops=len(model.loops),
        mass=abs(model.total_mass - masses) / max(masses, 1e-300),
        mass_matrix=float(worst[0]),
        efforts=float(worst[1]),
        accelerations=float(worst[2]),
        gaps=twin.gap_difference(model.random_state(rng)[0]) if model.loops else float("nan"),
        without_meshes=without_meshes,
    )


def _compiled(mujoco: Any, path: str) -> tuple[Any, bool]:
    """MuJoCo's model; without meshes if their files are missing, which `load` does not need."""
    try:
        return mujoco.MjModel.from_xml_path(path), False
    except ValueError as problem:
        if "opening file" not in str(problem):
            raise InputError(f"MuJoCo does not take {path}: {problem}") from None
    try:
        spec = mujoco.MjSpec.from_file(path)
        for painted in (*spec.geoms, *spec.sites, *spec.tendons):
            painted.material = ""
        for looks in ([g for g in spec.geoms if g.meshname], spec.skins, spec.meshes, spec.materials, spec.textures):
            for one in list(looks):
                spec.delete(one)
        return spec.compile(), True
    except ValueError as problem:
        raise InputError(f"MuJoCo does not take {path}: {problem}") from None


class _Twin:
    """Both models, with the maps from our vectors to those of MuJoCo."""

    def __init__(self, model: Model, mujoco: Any, theirs: Any) -> None:
        self.ours, self.mujoco, self.model, self.data = model, mujoco, theirs, mujoco.MjData(theirs)
        bits = mujoco.mjtDisableBit
        self._off = bits.mjDSBL_CONTACT | bits.mjDSBL_LIMIT | bits.mjDSBL_FRICTIONLOSS | bits.mjDSBL_ACTUATION
        self._equality = bits.mjDSBL_EQUALITY
        smooth = theirs.opt.disableflags & int(bits.mjDSBL_FRICTIONLOSS | bits.mjDSBL_CONSTRAINT)
        self._friction = 0.0 * theirs.dof_frictionloss if smooth else theirs.dof_frictionloss
        self.pairs = self._matched()

    def _matched(self) -> list[tuple[Joint, int]]:
        """Joints of both models, in the order of the bodies."""
        moving = [joint for joint in self.ours.joints.values() if joint.kind != "fixed"]
        types = self.model.jnt_type.tolist()
        if [_NUMBERS.get(KINDS.words.get(joint.kind, ())) for joint in moving] != types:
            raise InputError(
                f"model {self.ours.name!r} has {len(moving)} joints here, MuJoCo {len(types)}, or of other types."
            )
        for i, joint in enumerate(moving):
            name = self.model.joint(i).name
            if name and name != joint.name:
                raise InputError(f"joint {i} is {joint.name!r} here and {name!r} in MuJoCo.")
        return list(zip(moving, range(len(types)), strict=True))

    def place(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Write a state; returns T and c with the velocities T v and the accelerations T a + c of MuJoCo."""
        ours, theirs, data = self.ours, self.model, self.data
        self.mujoco.mj_resetData(theirs, data)
        T, c = np.zeros((theirs.nv, ours.nv)), np.zeros(theirs.nv)
        for joint, i in self.pairs:
            at, rate = int(theirs.jnt_qposadr[i]), int(theirs.jnt_dofadr[i])
            source = joint if joint.mimic is None else ours.joints[joint.mimic.joint]
            x, columns = q[ours.q_index(source.name)], ours.v_index(source.name)
            if joint.mimic is not None:
                x = joint.mimic.multiplier * x + joint.mimic.offset
                T[rate, columns] = joint.mimic.multiplier
            else:
                T[rate : rate + joint.nv, columns] = np.eye(joint.nv)
            if joint.type.quaternion_at() is not None:
                x = np.concatenate([x[:-4], x[-4:][list(_WXYZ)]])
            data.qpos[at : at + len(x)] = x
            if joint.kind == "floating":
                R = np.zeros(9)
                self.mujoco.mju_quat2Mat(R, x[3:].copy())
                own = v[columns]
                T[rate : rate + 3, columns.start : columns.start + 3] = R.reshape(3, 3)
                c[rate : rate + 3] = R.reshape(3, 3) @ np.cross(own[3:], own[:3])
        data.qvel[:] = T @ v
        return T, c

    def differences(self, tree: Dynamics, q: Array, v: Array, tau: Array) -> Array:
        """Relative differences of M, of the efforts at zero acceleration and of the accelerations."""
        theirs, data = self.model, self.data
        theirs.opt.disableflags |= self._off | self._equality
        T, c = self.place(q, v)
        self.mujoco.mj_forward(theirs, data)
        M = np.zeros((theirs.nv, theirs.nv))
        self.mujoco.mj_fullM(theirs, data, M)
        own = T.T @ M @ T
        rubbed = self._friction * np.sign(data.qvel)
        h = T.T @ (data.qfrc_bias - data.qfrc_passive + rubbed + M @ c)
        a = np.linalg.solve(own, tau - h)
        pairs = ((tree.mass_matrix(q), own), (tree.bias(q, v), h), (tree.forward(q, v, tau), a))
        sizes = np.max(np.abs(own)), max(np.max(np.abs(h)), np.max(np.abs(tau))), np.max(np.abs(a))
        return np.array([np.max(np.abs(x - y)) / size for (x, y), size in zip(pairs, sizes, strict=True)])

    def gap_difference(self, q: Array) -> float:
        """Difference of the distances of the loops' two points [m]."""
        theirs, data = self.model, self.data
        theirs.opt.disableflags &= ~int(self._equality)
        self.place(q, np.zeros(self.ours.nv))
        self.mujoco.mj_forward(theirs, data)
        tags = {int(self.mujoco.mjtEq.mjEQ_CONNECT): "connect", int(self.mujoco.mjtEq.mjEQ_WELD): "weld"}
        wanted = {}
        for i in range(theirs.neq):
            tag = tags.get(int(theirs.eq_type[i]))
            if tag is not None and theirs.eq_active0[i]:
                rows = (data.efc_type == int(self.mujoco.mjtConstraint.mjCNSTR_EQUALITY)) & (data.efc_id == i)
                name = theirs.equality(i).name or f"{tag}_{i + 1}"
                wanted[name] = float(np.linalg.norm(data.efc_pos[rows][:3]))
        dynamics = Dynamics(open_loops(self.ours))
        found = {}
        for loop in self.ours.loops.values():
            ends = [(loop.parent, loop.parent_xyz), (loop.child, loop.child_xyz)]
            points = [x if link == "world" else _moved(dynamics.pose(link, q), x) for link, x in ends]
            found[loop.name] = float(np.linalg.norm(points[0] - points[1]))
        return max(abs(distance - wanted[name]) for name, distance in found.items())


def _moved(pose: Array, point: Array) -> Array:
    return np.asarray(pose[:3, :3] @ point + pose[:3, 3])


def main(arguments: list[str] | None = None) -> int:
    """Print a line per file; 1 if a file that is read differs from MuJoCo."""
    parser = argparse.ArgumentParser("python -m benchmarks.mjcf_comparison", description=__doc__)
    parser.add_argument("path", nargs="+", type=Path, help="a file, or a folder with .xml files at any depth")
    counts = {"same": 0, "differs": 0, "refused": 0}
    for path in parser.parse_args(arguments).path:
        for file in sorted(path.rglob("*.xml")) if path.is_dir() else [path]:
            try:
                with silence_logger("ada_dynamics", logging.ERROR):  # notes on ignored elements
                    found = compare(file)
            except AdaError as problem:
                state, text = "refused", str(problem)
            else:
                state, text = "same" if found.worst < LIMIT else "differs", str(found)
            counts[state] += 1
            print(f"{file}: {state}: {text}", flush=True)
    print(", ".join(f"{count} {state}" for state, count in counts.items()))
    return 1 if counts["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
