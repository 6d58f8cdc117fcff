# SPDX-License-Identifier: Apache-2.0
"""Regular inertias for all links, where some have none: thin rods, massless links.

Inertia that a joint does not feel may sit on either side of it: a mass on the axis of a revolute joint, any rotational
inertia at a prismatic one, a mass at the centre of a ball joint (`regroup` moves such inertia inward). The world has an
endless supply. Here it is moved, outward or inward, until every link resists every motion, as evenly as possible:

    minimise  Σ tr(D⁻¹ I) - log det(D⁻¹ I)    over the amounts that are moved through the joints,

which is least where each inertia I is the wanted one, D, and infinite where one is singular. D is the link's own
inertia where that is regular. The motion of the mechanism is the same, exactly; wrenches of joints through which
inertia was moved are not, and have to be corrected by what `moved` needs to be carried along.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import ModelError
from ada_dynamics.model.align import to_mat3, to_vec3
from ada_dynamics.model.stacks import inertia_about_com
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.spatial.inertia import RigidInertia

# Inverting an inertia loses as many digits as its principal moments are apart; past this ratio inertia is moved.
THIN = 1e-4
# Wanted for a link that has less: moments of this share of its largest one, mass of this share of the mean.
WANTED_MOMENT = 0.3
WANTED_MASS = 0.1
# Where the smallest share of the wanted inertia, over all links and motions, stays below this, there is not enough.
LEAST = 1e-5


@dataclass(frozen=True, eq=False)
class Spread:
    """A tree whose inertias are all regular, and what was moved."""

    tree: Tree
    moved: tuple[RigidInertia | None, ...]  # through each joint from the parent to the body, in the body's frame

    @property
    def is_unchanged(self) -> bool:
        """True if nothing had to be moved."""
        return all(m is None for m in self.moved)


@lru_cache(maxsize=32)
def spread(tree: Tree) -> Spread:
    """The tree with regular inertias; an error names a link for which there are none."""
    if not any(is_thin(body.inertia) for body in tree.bodies):
        return Spread(tree, (None,) * len(tree.bodies))
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
    return Spread(tree.with_inertias(inertias), tuple(moved))


def is_thin(inertia: RigidInertia) -> bool:
    """True if a body hardly resists some motion."""
    if not inertia.mass > 0.0:
        return True
    moments = np.linalg.eigvalsh(inertia_about_com(inertia))
    return bool(moments[0] <= THIN * moments[-1])


def _total(basis: list[RigidInertia], amounts: list[float]) -> RigidInertia | None:
    if not basis or not any(amounts):
        return None
    total: RigidInertia = amounts[0] * basis[0]
    for x, b in zip(amounts[1:], basis[1:], strict=True):
        total = total + x * b
    return total


def _matrix(inertia: RigidInertia) -> Array:
    return np.array(inertia.matrix(), dtype=float)


def _wanted(tree: Tree) -> list[Array]:
    """D of each body."""
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
    """Finds the amounts: Newton's method, on inertias I + t D with t lowered from where they are all regular to 0."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.wanted = np.array(_wanted(tree))
        self.inverse_wanted = np.linalg.inv(self.wanted)
        # L⁻¹ with D = L Lᵀ
        self.whiten = np.linalg.inv(np.linalg.cholesky(self.wanted))
        self.given = np.array([_matrix(b.inertia) for b in tree.bodies])
        self.bases = [b.joint.unfelt() for b in tree.bodies]
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
        """I + t D of all bodies."""
        found: Array = (self.given + t * self.wanted).reshape(-1, 36)
        for body in self.tree.bodies:
            i = body.index
            found[i] += amounts[i] @ self.gain[i]
            if body.parent != WORLD:
                found[body.parent] += amounts[i] @ self.loss[i]
        return found.reshape(-1, 6, 6)

    def shares(self, inertias: Array) -> Array:
        """Least share of the wanted inertia that each body has."""
        return np.asarray(np.linalg.eigvalsh(self.whiten @ inertias @ self.whiten.transpose(0, 2, 1))[:, 0])

    def solve(self) -> list[Array]:
        """Amounts per joint."""
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
            f"link {link!r}, which joint {self.tree.bodies[body].name!r} carries, has no inertia against some motion, "
            "and the links around it can lend it none without being felt. Use the algorithm 'crba' or 'aba', or give "
            "the link mass and inertia about all axes.",
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
        """The minimum for this t, by damped Newton steps."""
        inertias = self.inertias(amounts, t)
        value = self._objective(inertias)
        for _ in range(50):
            steps, promised = self._newton_step(inertias)
            if promised < 1e-9:
                break
            size = 1.0
            while size > 1e-12:
                tried = [x + size * s for x, s in zip(amounts, steps, strict=True)]
                inertias = self.inertias(tried, t)
                found = self._objective(inertias)
                if found <= value - 0.1 * size * promised:
                    break
                size *= 0.5
            else:
                break
            amounts, value = tried, found
        return amounts

    def _newton_step(self, inertias: Array) -> tuple[list[Array], float]:
        """Newton's step, by elimination of the joints from the leaves inward, and the decrease that it promises."""
        n = len(inertias)
        inverse = np.linalg.inv(inertias)
        slope = self.inverse_wanted - inverse
        below: list[tuple[Array, Array]] = [(np.zeros((0, 0)), np.zeros(0))] * n  # what each joint has from beyond it
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
        promised = 0.0
        for body in self.tree.bodies:
            i = body.index
            if body.parent == WORLD:
                left, right = below[i]
                steps[i] = np.asarray(-np.linalg.solve(left, right))
            children = found[i][0] @ steps[i] + found[i][1]
            promised -= float(gradients[i] @ np.concatenate([children, steps[i]]))
            at = 0
            for c in self.children[i]:
                steps[c] = children[at : at + len(self.bases[c])]
                at += len(self.bases[c])
        return steps, promised


def _matrices(inertias: list[RigidInertia]) -> Array:
    """6x6 matrices, one in a row."""
    return np.array([_matrix(m) for m in inertias], dtype=float).reshape(-1, 36)
