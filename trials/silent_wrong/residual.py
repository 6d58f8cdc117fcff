# SPDX-License-Identifier: Apache-2.0
"""Residuals of the equations of motion, in units of the rounding errors of their terms.

The equations are the judge's: M v̇ + h = τ + Jᵀλ, J v̇ + γ = 0. An answer is put into them, and what is left over may be
no larger than roundings of the parts, joint by joint. No condition number excuses it: where accelerations are ill
determined, an answer that is right still fulfils the equations.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from ada_dynamics.arrays import Array
from ada_experiments.pinocchio_loops import LoopConstraints
from ada_experiments.pinocchio_tree import PinocchioTree

EPS = float(np.finfo(float).eps)
TINY = 1e-290
LEAST_INERTIA = 1e-8  # of the largest one
RANK = 1e-11  # of conditions, relative to the largest: below it they are roundings of one another


class State:
    """The judge's equations of a tree in one state, and how large their parts are.

    Attributes:
        M: mass matrix.
        h: efforts at zero acceleration.
    """

    def __init__(self, tree: PinocchioTree, q: Array, v: Array) -> None:
        self.tree, self.q, self.v = tree, q, v
        self.M, self.h = tree.mass_matrix(q), tree.bias(q, v)

    @cached_property
    def _reach(self) -> tuple[Array, Array, Array, Array]:
        """Bounds of the bodies: speed and angular velocity per joint velocity; mass and inertia."""
        pin, model, data = self.tree.pin, self.tree.model, self.tree.data
        own_lin, own_ang = _own_speeds(self.tree)
        pin.forwardKinematics(model, data, self.tree.position(self.q))
        lin, ang = np.zeros((model.njoints, model.nv)), np.zeros((model.njoints, model.nv))
        for i in range(1, model.njoints):
            at, above = slice(model.idx_vs[i], model.idx_vs[i] + model.nvs[i]), model.parents[i]
            lin[i] = lin[above] + ang[above] * _length(data.liMi[i].translation)
            ang[i] = ang[above]
            lin[i, at], ang[i, at] = own_lin[at], own_ang[at]
        bodies = list(model.inertias)
        lin += ang * np.array([_length(x.lever) for x in bodies])[:, None]
        mass = np.array([abs(x.mass) for x in bodies])
        return lin, ang, mass, np.array([float(np.abs(x.inertia).max()) for x in bodies])

    def efforts(self, a: Array) -> Array:
        """All forces of all bodies at the length of their way to a joint, none cancelling another."""
        tree, model = self.tree, self.tree.model
        lin, ang, mass, spin = self._reach
        w, rate = np.abs(tree.velocity(self.v)), np.abs(tree.velocity(a))
        turn = ang @ w
        force = mass * (lin @ rate + 2.0 * turn * (lin @ w) + _length(model.gravity.linear))
        moment = spin * (ang @ rate + turn**2)
        found = lin.T @ force + ang.T @ moment + tree.damping * w + tree.friction + model.armature * rate
        if tree.stiffness.any():
            found += tree.stiffness * np.abs(tree.pin.difference(model, tree.rest, tree.position(self.q)))
        efforts: Array = np.abs(tree.G).T @ found
        return efforts

    @cached_property
    def inertia(self) -> Array:
        """That each velocity moves, at the length of the ways."""
        lin, ang, mass, spin = self._reach
        found: Array = (lin**2).T @ mass + (ang**2).T @ spin + self.tree.model.armature
        return (np.sqrt(found) @ np.abs(self.tree.G)) ** 2

    @cached_property
    def _root(self) -> Array:
        """Square roots of the inertias moved; of links without any, of next to none."""
        root: Array = np.sqrt(np.maximum(self.inertia, max(LEAST_INERTIA * float(np.max(self.inertia)), TINY)))
        return root

    def of_inverse(self, a: Array, tau: Array) -> float:
        """Efforts of a tree: what is left of the equations, in roundings of each joint's own parts."""
        room = EPS * (self.efforts(a) + np.abs(tau)) + TINY
        return float(np.max(np.abs(tau - self.M @ a - self.h) / room, initial=0.0))

    def of_forward(self, a: Array, tau: Array) -> float:
        """Accelerations of a tree, likewise."""
        return float(np.max(np.abs(tau - self.M @ a - self.h) / self.room(a, tau), initial=0.0))

    def room(self, a: Array, tau: Array) -> Array:
        """A rounding for each joint, of the largest of all parts, each at the square roots of the inertias moved.

        That is what Cholesky factors leave (Higham, theorem 10.5), whatever the condition of M.
        """
        root = self._root
        largest = float(np.max((self.efforts(a) + np.abs(tau)) / root, initial=0.0))
        room: Array = EPS * root * (largest + float(root @ np.abs(a))) + TINY
        return room


def _length(x: Array) -> float:
    return math.sqrt(float(x @ x))


def _own_speeds(tree: PinocchioTree) -> tuple[Array, Array]:
    """Sizes of the linear and angular velocity that each joint velocity gives its own body: the same in all poses."""
    pin, model, data = tree.pin, tree.model, tree.data
    pin.computeJointJacobians(model, data, pin.neutral(model))
    lin, ang = np.zeros(model.nv), np.zeros(model.nv)
    for i in range(1, model.njoints):
        at = slice(model.idx_vs[i], model.idx_vs[i] + model.nvs[i])
        own = np.reshape(pin.getJointJacobian(model, data, i, pin.LOCAL), (6, -1))[:, at]
        lin[at], ang[at] = np.linalg.norm(own[:3], axis=0), np.linalg.norm(own[3:], axis=0)
    return lin, ang


class Closed(State):
    """The same with loops, where v is brought to the nearest velocity that they allow."""

    def __init__(self, tree: PinocchioTree, q: Array, v: Array) -> None:
        self.conditions = LoopConstraints(tree)
        self.J = self.conditions.jacobian(q)
        super().__init__(tree, q, v - np.linalg.pinv(self.J, rcond=RANK) @ (self.J @ v))
        self.gamma = self.conditions.gamma(q, self.v)

    @cached_property
    def _columns(self) -> tuple[Array, Array]:
        """For each condition and velocity: the turn, and all that is added up in J, none cancelling another."""
        sides = self.conditions.sides(self.q)
        farthest = self._reach[0].max(axis=0) @ np.abs(self.tree.G)  # roundings of places are of the ways to them
        turns, moves = [], []
        for loop, row in self.conditions.rows:
            A, B = sides[loop.name]
            turn = np.linalg.norm(A.Jw, axis=0) + np.linalg.norm(B.Jw, axis=0)
            turns.append(turn)
            moves.append(
                np.linalg.norm(A.Jv, axis=0) + np.linalg.norm(B.Jv, axis=0) + (farthest if row.m is None else turn)
            )
        shape = (len(turns), len(self.v))
        return np.reshape(turns, shape), np.reshape(moves, shape)

    def _sizes(self, a: Array, tau: Array) -> Array:
        """Rounding errors of the terms of J v̇ + γ for each constraint."""
        turns, moves = self._columns
        speed, inertia = np.abs(self.v), self.inertia
        has_any = inertia > EPS * np.max(inertia)
        free = np.where(has_any, (self.efforts(a) + np.abs(tau)) / np.where(has_any, inertia, 1.0), 0.0)
        sizes: Array = moves @ np.maximum(np.abs(a), free) + 2.0 * (turns @ speed) * (moves @ speed)
        return sizes

    def of_motion(self, a: Array, tau: Array) -> float:
        """Conditions of the loops: largest remainder, in roundings of its own parts."""
        return float(np.max(np.abs(self.J @ a + self.gamma) / (EPS * self._sizes(a, tau) + TINY), initial=0.0))

    def of_forces(self, a: Array, tau: Array) -> float:
        """The equations of motion: what no forces of the loops can make good."""
        rest = tau - self.M @ a - self.h
        D = 1.0 / self._root
        forces = np.linalg.lstsq(D[:, None] * self.J.T, -D * rest, rcond=RANK)[0]
        room = self.room(a, tau) + EPS * self._columns[1].T @ np.abs(forces)
        return float(np.max(np.abs(rest + self.J.T @ forces) / room, initial=0.0))

    @cached_property
    def spread(self) -> float:
        """Largest singular value of the conditions, in the metric of inertia, by the smallest that is no rounding."""
        sizes = np.linalg.svd(self.J / self._root, compute_uv=False)
        kept = sizes[sizes > RANK * np.max(sizes, initial=0.0)]
        return float(kept[0] / kept[-1]) if len(kept) else 1.0
