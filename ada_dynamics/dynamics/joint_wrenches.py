# SPDX-License-Identifier: Apache-2.0
"""The wrench at every joint, tree joints and loop joints alike, and which of its components are unique."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.algorithms.closure import row_kinds
from ada_dynamics.errors import unknown_name
from ada_dynamics.loops.uniqueness import Flags
from ada_dynamics.model.model import Model

Array = NDArray[np.float64]


class JointWrenches(Mapping[str, Array]):
    """Wrenches by joint: [fx, fy, fz, nx, ny, nz] that the joint puts on its child; rows of them for a batch.

    A tree joint's wrench is about the origin of its child link, in that link's axes. A loop joint's is about its origin
    on the child, in the axes of its frame on the parent. Where loops are redundant, the wrenches are those of least
    norm, moments counted by `moment_length`.

    Attributes:
        unique: by joint, which of the six components follow from the motion alone; the others depend on how stiff and
            exact the parts are.
        tier: how the accelerations were found: "fast", "robust" or "rank-revealing" (the slowest one of a batch).
        moment_length: [m].
    """

    def __init__(self, model: Model, q: Array, stacked: Array, unique: Flags, tier: str, moment_length: float) -> None:
        """Args are taken as they are; `Dynamics.joint_wrenches` makes them."""
        self._model = model
        self._q = q
        names = [body.name for body in model.full_tree.bodies] + model.loop_names
        self._wrenches = {name: stacked[..., i, :] for i, name in enumerate(names)}
        self.unique = unique
        self.tier = tier
        self.moment_length = moment_length

    def __getitem__(self, joint: str) -> Array:
        if joint not in self._wrenches:
            raise unknown_name("joint", joint, self._wrenches)
        return self._wrenches[joint]

    def __contains__(self, joint: object) -> bool:
        return joint in self._wrenches

    def __iter__(self) -> Iterator[str]:
        return iter(self._wrenches)

    def __len__(self) -> int:
        return len(self._wrenches)

    @cached_property
    def multipliers(self) -> dict[str, Array]:
        """λ of each joint (Takahashi 2012, eq. 2.18): its wrench along the columns of T, one column per row of T."""
        return {name: self._along_constraints(name) for name in self._wrenches}

    def _along_constraints(self, name: str) -> Array:
        wrench = self._wrenches[name]
        if wrench.ndim == 2:
            states = range(len(wrench))
            return np.array([self._components(name, self._q[i], wrench[i]) for i in states])
        return self._components(name, self._q, wrench)

    def _components(self, name: str, q: Array, wrench: Array) -> Array:
        columns = self._columns(name, q)
        if not len(columns):
            return np.zeros(0)
        return np.asarray(np.linalg.lstsq(columns.T, wrench, rcond=None)[0], dtype=np.float64)[: self._own(name)]

    def _own(self, name: str) -> int:
        if name in self._model.loops:
            loop = next(loop for loop in self._model.tree.loops if loop.name == name)
            return len(row_kinds(loop))
        body = next(body for body in self._model.full_tree.bodies if body.name == name)
        return 6 - body.joint.nv

    def _columns(self, name: str, q: Array) -> Array:
        """T, and behind it T_a, in the frame of the wrench, [force, moment] row by row."""
        tree = self._model.full_tree
        if name in self._model.loops:
            loop = next(loop for loop in tree.loops if loop.name == name)
            found = []
            for kind in row_kinds(loop):
                unit = np.zeros(6)
                unit[kind.axis % 3 + (0 if kind.is_force else 3)] = 1.0
                found.append(unit)
            R: Array = np.array(loop.turn.rotation.matrix())
            return np.array([np.concatenate([R @ c[:3], R @ c[3:]]) for c in found])
        body = next(body for body in tree.bodies if body.name == name)
        pose = tree.frames[self._model.joints[name].child].pose
        own = body.positions(q.tolist())
        return np.array(
            [
                [*at_link.force, *at_link.moment]
                for at_link in (pose.force_down(t) for t in (*body.joint.constraint(own), *body.joint.active(own)))
            ],
            dtype=float,
        )


def least_norm(J: Array, multipliers: Array, weights: Array, rank: int) -> Array:
    """The multipliers without the part that only presses the parts against each other, state by state.

    Args:
        J: conditions in units of forces, (..., conditions, nv).
        multipliers: of the conditions, (..., conditions).
        weights: length that makes a force of each multiplier.
        rank: of the conditions.
    """
    U = np.linalg.svd(J, full_matrices=True)[0][..., :, :rank]
    scaled = multipliers * weights
    along = np.einsum("...cr,...c->...r", U, scaled)
    return np.asarray(np.einsum("...cr,...r->...c", U, along) / weights, dtype=np.float64)


def everything_unique(model: Model) -> Flags:
    """Flags of a model without loops."""
    return {body.name: np.ones(6, dtype=bool) for body in model.full_tree.bodies}
