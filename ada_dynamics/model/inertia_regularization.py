# SPDX-License-Identifier: Apache-2.0
"""Redistribution of inertia so that thin rods and massless links get regular spatial inertias.

Some inertia can be moved across a joint without changing the motion: a mass on the axis of a revolute joint, any
rotational inertia at a prismatic joint, a mass at the centre of a ball joint (`regroup` moves such inertia inward). The
world can supply any amount. The amounts minimise

    Σ tr(D⁻¹ I) - log det(D⁻¹ I)    over the amounts moved through the joints,

which is minimal where each inertia I equals its target D and infinite where one is singular. D is the inertia of the
link itself where that is regular. The motion of the mechanism is unchanged; wrenches of joints through which inertia
was moved must be corrected by the wrench that accelerates `moved`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import ModelError
from ada_dynamics.model.rotations import to_mat3, to_vec3
from ada_dynamics.model.tree import WORLD, Tree, inertia_about_com
from ada_dynamics.spatial.inertia import RigidInertia

# Ratio of principal moments below which inertia is moved: inversion loses digits in proportion to this ratio.
THIN = 1e-4
# Ratio of principal moments that counts as zero.
SINGULAR = 1e-9
# Targets for links with less: moments as a fraction of the largest one, mass as a fraction of the mean mass.
WANTED_MOMENT = 0.3
WANTED_MASS = 0.1
# The redistribution fails if the smallest eigenvalue of D⁻¹ I over all links stays below this.
LEAST = 1e-5


class RegularInertias(NamedTuple):
    """A tree with regular inertias, and the inertia moved through each joint to its body, in the body's frame."""

    tree: Tree
    moved: tuple[RigidInertia | None, ...]


@lru_cache(maxsize=32)
def regularize_inertias(tree: Tree) -> RegularInertias:
    """Return the tree with regular inertias.

    Raises:
        ModelError: no redistribution makes the inertia of a link regular; the error names the link.
    """
    if not any(is_thin(body.inertia) for body in tree.bodies):
        return RegularInertias(tree, (None,) * len(tree.bodies))
    problem = _Problem(tree)
    amounts = problem.solve()
    moved = [_total(basis, x.tolist()) for basis, x in zip(problem.bases, amounts, strict=True)]
    inertias = [b.inertia for b in tree.bodies]
    for body, m in zip(tree.bodies, moved, strict=True):
        if m is None:
            continue
        inertias[body.index] = inertias[body.index] + m
        if body.parent != WORLD:
            inertias[body.parent] = inertias[body.parent] - body.placement.to_parent(m)
    return RegularInertias(tree.with_inertias(inertias), tuple(moved))


def is_thin(inertia: RigidInertia, ratio: float = THIN) -> bool:
    """Return True if the inertia is nearly singular: without mass, or with a small ratio of principal moments."""
    if not inertia.mass > 0.0:
        return True
    moments = np.linalg.eigvalsh(inertia_about_com(inertia))
    return bool(moments[0] <= ratio * moments[-1])


def has_singular_inertias(tree: Tree) -> bool:
    """Return True if the spatial inertia of some body is singular: only then can the mass matrix be singular."""
    return any(is_thin(body.inertia, SINGULAR) for body in tree.bodies)


def _total(basis: list[RigidInertia], amounts: list[float]) -> RigidInertia | None:
    if not basis or not any(amounts):
        return None
    total: RigidInertia = amounts[0] * basis[0]
    for x, b in zip(amounts[1:], basis[1:], strict=True):
        total = total + x * b
    return total


def _matrix(inertia: RigidInertia) -> Array:
    return np.array(inertia.matrix(), dtype=float)


def _target_inertias(tree: Tree) -> list[Array]:
    """Target inertia D of each body."""
    lengths = [float(np.linalg.norm(b.placement.position)) for b in tree.bodies]
    lengths += [
        float(np.linalg.norm(b.inertia.first_moment)) / b.inertia.mass for b in tree.bodies if b.inertia.mass > 0.0
    ]
    length = float(np.mean([x for x in lengths if x > 0.0] or [1.0]))
    masses = [b.inertia.mass for b in tree.bodies if b.inertia.mass > 0.0]
    mass = float(np.mean(masses or [1.0]))
    result = []
    for body in tree.bodies:
        own = body.inertia
        if not is_thin(own):
            result.append(_matrix(own))
            continue
        m = max(own.mass, WANTED_MASS * mass)
        com = np.array(own.first_moment) / own.mass if own.mass > 0.0 else np.zeros(3)
        moments, axes = np.linalg.eigh(inertia_about_com(own) if own.mass > 0.0 else np.array(own.about_origin))
        floor = max(WANTED_MOMENT * moments[-1], m * (0.1 * length) ** 2)
        J = (axes * np.maximum(moments, floor)) @ axes.T
        result.append(_matrix(RigidInertia.from_com(m, to_vec3(com), to_mat3(0.5 * (J + J.T)))))
    return result


class _Problem:
    """Interior-point solution by Newton's method on inertias I + t D, with t lowered to 0."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.wanted = np.array(_target_inertias(tree))
        self.inverse_wanted = np.linalg.inv(self.wanted)
        # L⁻¹ with D = L Lᵀ
        self.whiten = np.linalg.inv(np.linalg.cholesky(self.wanted))
        self.given = np.array([_matrix(b.inertia) for b in tree.bodies])
        self.bases = [b.joint.movable_inertias() for b in tree.bodies]
        self.gain = [_matrices(basis) for basis in self.bases]
        self.loss = [
            -_matrices([b.placement.to_parent(m) for m in basis])
            for b, basis in zip(tree.bodies, self.bases, strict=True)
        ]
        self.children: list[list[int]] = [[] for _ in tree.bodies]
        for body in tree.bodies:
            if body.parent != WORLD:
                self.children[body.parent].append(body.index)

    def inertias(self, amounts: list[Array], t: float) -> Array:
        """Inertias I + t D of all bodies."""
        found: Array = (self.given + t * self.wanted).reshape(-1, 36)
        for body in self.tree.bodies:
            i = body.index
            found[i] += amounts[i] @ self.gain[i]
            if body.parent != WORLD:
                found[body.parent] += amounts[i] @ self.loss[i]
        return found.reshape(-1, 6, 6)

    def shares(self, inertias: Array) -> Array:
        """Smallest eigenvalue of D⁻¹ I for each body."""
        return np.asarray(np.linalg.eigvalsh(self.whiten @ inertias @ self.whiten.transpose(0, 2, 1))[:, 0])

    def solve(self) -> list[Array]:
        """Return the amounts moved through each joint."""
        amounts = [np.zeros(len(basis)) for basis in self.bases]
        t = 1.0 + max(0.0, -float(np.min(self.shares(self.given))))
        while True:
            amounts = self._centred(amounts, t)
            shares = self.shares(self.inertias(amounts, t))
            if t == 0.0:
                return amounts
            step = 0.9 * float(np.min(shares))
            if step < LEAST:
                raise self._impossible(int(np.argmin(shares)))
            t = max(0.0, t - step)

    def _impossible(self, body: int) -> ModelError:
        link = next((f.link for f in self.tree.frames.values() if f.body == body), self.tree.bodies[body].name)
        return ModelError(
            f"link {link!r}, the child of joint {self.tree.bodies[body].name!r}, has a singular inertia, and no "
            "inertia of adjacent links can be moved to it. Use the algorithm 'crba' or 'aba', or give the link mass "
            "and inertia about all axes.",
            link=link,
            joint=self.tree.bodies[body].name,
            field="inertia",
        )

    def _objective(self, inertias: Array) -> float:
        if np.min(self.shares(inertias)) <= 0.0:
            return float("inf")
        log_det = np.linalg.slogdet(inertias)[1] + np.linalg.slogdet(self.inverse_wanted)[1]
        return float(np.sum(inertias * self.inverse_wanted) - np.sum(log_det))

    def _centred(self, amounts: list[Array], t: float) -> list[Array]:
        """Minimise for this t by damped Newton steps."""
        inertias = self.inertias(amounts, t)
        value = self._objective(inertias)
        for _ in range(50):
            steps, predicted = self._newton_step(inertias)
            if predicted < 1e-9:
                break
            size = 1.0
            while size > 1e-12:
                tried = [x + size * s for x, s in zip(amounts, steps, strict=True)]
                inertias = self.inertias(tried, t)
                found = self._objective(inertias)
                if found <= value - 0.1 * size * predicted:
                    break
                size *= 0.5
            else:
                break
            amounts, value = tried, found
        return amounts

    def _newton_step(self, inertias: Array) -> tuple[list[Array], float]:
        """Newton step by elimination of the joints from the leaves inward, and the predicted decrease."""
        n = len(inertias)
        inverse = np.linalg.inv(inertias)
        slope = self.inverse_wanted - inverse
        below: list[tuple[Array, Array]] = [(np.zeros((0, 0)), np.zeros(0))] * n  # condensed from the joints beyond
        found: list[tuple[Array, Array]] = list(below)  # -H_cc⁻¹ H_ci and -H_cc⁻¹ g_c of the children's joints
        gradients: list[Array] = [np.zeros(0)] * n
        for i in range(n - 1, -1, -1):
            E = np.concatenate([*(self.loss[c] for c in self.children[i]), self.gain[i]])
            turned = inverse[i] @ E.reshape(-1, 6, 6)
            H = np.asarray(turned.reshape(-1, 36) @ turned.transpose(0, 2, 1).reshape(-1, 36).T)
            gradients[i] = E @ slope[i].ravel()
            g = gradients[i].copy()
            at = 0
            for c in self.children[i]:
                size = len(self.bases[c])
                H[at : at + size, at : at + size] += below[c][0]
                g[at : at + size] += below[c][1]
                at += size
            X: Array = -np.linalg.solve(H[:at, :at], np.column_stack([H[:at, at:], g[:at]]))
            found[i] = (X[:, :-1], X[:, -1])
            below[i] = (H[at:, at:] + H[at:, :at] @ X[:, :-1], g[at:] + H[at:, :at] @ X[:, -1])
        steps: list[Array] = [np.zeros(0)] * n
        predicted = 0.0
        for body in self.tree.bodies:
            i = body.index
            if body.parent == WORLD:
                left, right = below[i]
                steps[i] = np.asarray(-np.linalg.solve(left, right))
            children = found[i][0] @ steps[i] + found[i][1]
            predicted -= float(gradients[i] @ np.concatenate([children, steps[i]]))
            at = 0
            for c in self.children[i]:
                steps[c] = children[at : at + len(self.bases[c])]
                at += len(self.bases[c])
        return steps, predicted


def _matrices(inertias: list[RigidInertia]) -> Array:
    """6x6 matrices as rows of 36 numbers."""
    return np.array([_matrix(m) for m in inertias], dtype=float).reshape(-1, 36)
