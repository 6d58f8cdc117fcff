# SPDX-License-Identifier: Apache-2.0
"""A reference for mechanisms with loops that shares no algorithm with the library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from loop_robots import mechanism
from pin_tree import LinkFrame, PinTree, pin

import ada_dynamics as ada
from ada_experiments.pinocchio_loops import LoopConstraints

Array = Any  # float64 or longdouble


def cholesky(M: Array) -> Array:
    A, n = M.copy(), len(M)
    for k in range(n):
        if A[k, k] <= 0:
            raise AssertionError(f"the mass matrix is not positive definite: pivot {k} is {A[k, k]}")
        A[k, k] = np.sqrt(A[k, k])
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k + 1 :, k])
    return np.tril(A)


def forward_substitution(L: Array, B: Array) -> Array:
    X = B.copy()
    for k in range(len(L)):
        X[k] = (X[k] - L[k, :k] @ X[:k]) / L[k, k]
    return X


def jacobi_svd(W: Array) -> tuple[Array, Array, Array]:
    """W = U diag(s) Vᵀ by one-sided Jacobi rotations; columns of U that belong to s = 0 are zero."""
    A, m = W.copy(), W.shape[1]
    V = np.eye(m, dtype=W.dtype)
    eps = np.finfo(W.dtype).eps
    nothing = (eps * np.max(np.sqrt(np.sum(A * A, axis=0)), initial=0)) ** 2  # noise has no directions to make square
    for _ in range(40):
        rotated = False
        for i in range(m - 1):
            for j in range(i + 1, m):
                a, b, c = A[:, i] @ A[:, i], A[:, j] @ A[:, j], A[:, i] @ A[:, j]
                if abs(c) <= 8 * eps * np.sqrt(a * b) or min(a, b) <= nothing:
                    continue
                rotated = True
                zeta = (b - a) / (2 * c)
                t = (1 if zeta >= 0 else -1) / (abs(zeta) + np.sqrt(1 + zeta * zeta))
                cosine = 1 / np.sqrt(1 + t * t)
                turn = np.array([[cosine, cosine * t], [-cosine * t, cosine]], dtype=W.dtype)
                A[:, [i, j]] = A[:, [i, j]] @ turn
                V[:, [i, j]] = V[:, [i, j]] @ turn
        if not rotated:
            break
    else:
        raise AssertionError("the singular values did not converge")
    sizes = np.sqrt(np.sum(A * A, axis=0))
    return A / np.where(sizes > 0, sizes, 1), sizes, V


Long = np.longdouble
RANK = 1e-9  # relative; M and J are good to about 1e-15, and no mechanism here has a true value in between


@dataclass(frozen=True)
class Answer:
    """What the mechanism does."""

    acceleration: Array  # v̇
    multipliers: Array  # one per row, the shortest ones
    wrenches: dict[str, Array]  # [force, moment] that a loop joint exerts on its child, at and in the child-side frame
    unique: dict[str, Array]  # which of these six are the same in every solution
    tree_wrenches: dict[str, Array]  # [force, moment] that a tree joint exerts on its child, at and in the link's frame
    rank: int
    singular_values: Array  # of J L⁻ᵀ, relative to the largest, falling
    inconsistency: float  # what no acceleration can satisfy of J v̇ = -γ: v is not admissible


class Oracle(LoopConstraints):
    """The reference for one model; the shortest λ is that of least |force|² + |moment/length|², length in m."""

    def __init__(self, model: ada.Model, length: float = 1.0) -> None:
        super().__init__(PinTree(model))
        self.model, self.length = model, length
        self._weights = np.array([1.0 if row.m is None else length for _, row in self.rows])

    def forward(
        self, q: Array, v: Array, tau: Array, external: Mapping[str, Array] | None = None, rank: float = RANK
    ) -> Answer:
        """Accelerations and the forces of the loops; `external` as for `Dynamics.forward`."""
        load = np.asarray(tau, dtype=float) - self.tree.bias(q, v) + self.tree.pull(q, external)
        M, J, gamma = (x.astype(Long) for x in (self.tree.mass_matrix(q), self.jacobian(q), self.gamma(q, v)))
        weighted = J * self._weights[:, None]
        L = cholesky(M)
        W = forward_substitution(L, weighted.T)
        U, sizes, V = jacobi_svd(W)
        whole = forward_substitution(L, self.frame_jacobians(q).T.astype(Long)).astype(float)
        kept = sizes > rank * np.linalg.norm(whole, axis=0).max(initial=1e-300)
        free = forward_substitution(L, load.astype(Long))  # Lᵀ v̇ without loops
        wanted = W.T @ free + self._weights * gamma
        inverse = np.where(kept, 1 / np.where(kept, sizes, 1), 0)
        multipliers = -self._weights * (V @ (inverse**2 * (V.T @ wanted)))
        y = free - U @ (inverse * (V.T @ wanted))
        left = wanted - V @ (kept * (V.T @ wanted))
        acceleration = forward_substitution(L.T[::-1, ::-1], y[::-1])[::-1].astype(float)
        wrenches, maps = self._wrenches(q, multipliers)
        null = self._weights[:, None] * V[:, ~kept]
        unique = {
            name: np.max(np.abs(maps[name] @ null), axis=1, initial=0.0) < 1e-8 * np.max(np.abs(null), initial=1e-300)
            for name in wrenches
        }
        return Answer(
            acceleration,
            multipliers.astype(float),
            wrenches,
            unique,
            self._tree_wrenches(q, v, acceleration, wrenches, external),
            int(np.sum(kept)),
            np.sort((sizes / max(np.max(sizes, initial=Long(0)), 1e-300)).astype(float))[::-1],
            float(np.max(np.abs(left), initial=0.0)),
        )

    def _wrenches(self, q: Array, multipliers: Array) -> tuple[dict[str, Array], dict[str, Array]]:
        """The wrench on each loop's child at its frame, and the maps to it from all rows."""
        sides = self.sides(q)
        maps = {name: np.zeros((6, len(self.rows)), dtype=Long) for name in sides}
        for i, (loop, row) in enumerate(self.rows):
            A, B = sides[loop.name]
            n = A.R @ row.n
            if row.m is None:
                maps[loop.name][:3, i] = B.R.T @ n
                maps[loop.name][3:, i] = -row.pitch * B.R.T @ n
            else:
                maps[loop.name][3:, i] = B.R.T @ np.cross(B.R @ row.m, n)
        return {name: (T @ multipliers).astype(float) for name, T in maps.items()}, maps

    def _tree_wrenches(
        self,
        q: Array,
        v: Array,
        acceleration: Array,
        wrenches: Mapping[str, Array],
        external: Mapping[str, Array] | None,
    ) -> dict[str, Array]:
        """From the accelerations and all forces on each body by inverse dynamics."""
        tree = self.tree
        forces = [pin.Force.Zero() for _ in range(tree.model.njoints)]

        def act(frame: LinkFrame, wrench: Array) -> None:
            if frame.joint:
                forces[frame.joint] = forces[frame.joint] + frame.inside.act(pin.Force(wrench[:3], wrench[3:]))

        for name, (A, B) in self.sides(q).items():
            wrench = wrenches[name]
            act(B, wrench)
            # The same force at the same point on the other side, also where the loop is open.
            f, n = A.R.T @ B.R @ wrench[:3], A.R.T @ B.R @ wrench[3:]
            act(A, -np.concatenate([f, n + np.cross(A.R.T @ (B.p - A.p), f)]))
        for link, wrench in (external or {}).items():
            act(tree.frame(link), np.asarray(wrench, dtype=float))
        pin.rnea(tree.model, tree.data, tree.position(q), tree.G @ v, tree.G @ acceleration, forces)
        out = {}
        for name, joint in tree.last.items():
            _, inside = tree.frames[self.model.joints[name].child]
            f = inside.actInv(tree.data.f[joint])
            out[name] = np.concatenate([f.linear, f.angular])
        return out

    def rank(self, q: Array, threshold: float = RANK) -> int:
        sizes = np.linalg.svd(self.jacobian(q), compute_uv=False)
        return int(np.sum(sizes > threshold * self.scale(q)))

    def _inverse(self, q: Array, J: Array, threshold: float) -> Array:
        U, sizes, Vt = np.linalg.svd(J, full_matrices=False)
        kept = sizes > threshold * self.scale(q)
        return (Vt[kept].T / sizes[kept]) @ U[:, kept].T

    def mobility(self, q: Array) -> int:
        return self.model.nv - self.rank(q)

    def admissible(self, q: Array, v: Array) -> Array:
        """The nearest velocity that keeps all loops closed."""
        J = self.jacobian(q)
        return v - self._inverse(q, J, RANK) @ (J @ v)

    def close(self, q: Array, tolerance: float = 1e-13) -> Array | None:
        """Gauss-Newton steps from q to a pose that closes all loops, or None."""
        for _ in range(60):
            g = self.closing(q)
            if np.max(np.abs(g), initial=0.0) < tolerance:
                return q if self.gap(q) < 1e-9 else None
            q = self.model.integrate(q, -self._inverse(q, self.jacobian(q), 1e-7) @ g)
        return None

    def nearby(self, q: Array, rng: np.random.Generator, amount: float = 0.3) -> Array:
        for attempt in range(20):
            step = self.admissible(q, rng.normal(size=self.model.nv)) * amount * 0.7**attempt
            found = self.close(self.model.integrate(q, step))
            if found is not None:
                return found
        raise AssertionError(f"no closed pose found near {q} of {self.model.name}")

    def link_pose(self, link: str, q: Array) -> tuple[Array, Array]:
        """Rotation and position of a link's frame in the world."""
        self.tree.move(q)
        frame = self.tree.frame(link)
        return frame.R, frame.p

    def link_jacobian(self, link: str, q: Array) -> Array:
        """[linear; angular] velocity of a link's frame in the world's axes, per velocity."""
        self.tree.move(q)
        frame = self.tree.frame(link)
        return np.vstack([frame.Jv, frame.Jw])

    def link_acceleration(self, link: str, q: Array, v: Array, a: Array) -> Array:
        """[linear, angular] acceleration of a link's origin and axes in the world."""
        self.tree.move(q, v, a)
        frame = self.tree.frame(link)
        return np.concatenate([frame.dv, frame.dw])

    def energy(self, q: Array, v: Array) -> float:
        """Kinetic (with rotors) and potential energy [J]."""
        potential = pin.computePotentialEnergy(self.tree.model, self.tree.data, self.tree.position(q))
        return float(0.5 * v @ self.tree.mass_matrix(q) @ v + potential)


def least_efforts(oracle: Oracle, q: Array, v: Array, a: Array) -> Array:
    """The shortest efforts of the motors with the power of what the tree needs; a floating base takes the rest."""
    model, J = oracle.model, np.asarray(oracle.jacobian(q))
    _, s, Vt = np.linalg.svd(J)
    motions = Vt[int(np.sum(s > RANK * s[0])) :]
    chosen = [k for name in model.actuated for k in range(model.nv)[model.v_index(name)]]
    base = [k for k in chosen if model.joint_of_velocity(k) == model.floating_joint]
    motors = [k for k in chosen if k not in base]
    A, B = motions[:, motors], motions[:, base]
    wanted = motions @ (oracle.tree.mass_matrix(q) @ a + oracle.tree.bias(q, v))
    inverse, efforts = np.linalg.pinv(A, RANK), np.zeros(model.nv)
    left = wanted - A @ (inverse @ wanted)
    if np.max(np.abs(left), initial=0.0) > 1e-8 * np.max(np.abs(wanted), initial=1.0):
        efforts[base] = np.linalg.pinv(B - A @ (inverse @ B), RANK) @ left
    efforts[motors] = inverse @ (wanted - B @ efforts[base])
    return efforts


class Case:
    """A mechanism that moves as its loops allow and is driven, with what the reference says of it."""

    def __init__(self, model: ada.Model, q: Array, seed: int = 3) -> None:
        rng = np.random.default_rng(seed)
        self.model, self.q, self.oracle = model, np.asarray(q, dtype=float), Oracle(model)
        self.v = np.asarray(self.oracle.admissible(self.q, rng.normal(size=model.nv)), dtype=float)
        self.tau = rng.normal(size=model.nv)
        self.answer = self.oracle.forward(self.q, self.v, self.tau)
        self.a = np.asarray(self.answer.acceleration, dtype=float)

    @property
    def state(self) -> tuple[Array, Array, Array]:
        return self.q, self.v, self.tau

    @property
    def smallest(self) -> float:
        """Smallest singular value of the conditions that are independent, relative to the largest."""
        return float(self.answer.singular_values[self.answer.rank - 1]) if self.answer.rank else 1.0

    def assert_same(self, a: Any, tolerance: float) -> None:
        assert np.max(np.abs(np.asarray(a, dtype=float) - self.a)) < tolerance * max(1.0, np.max(np.abs(self.a)))


@cache
def case_of(name: str, seed: int = 3) -> Case:
    """The mechanism of that name in its start pose; made once for all tests of a process."""
    return Case(*mechanism(name), seed)


def same_motion(one: Oracle, q: Array, v: Array, other: Oracle, q_other: Array) -> Array:
    """The velocities of another description of the same mechanism with which all links that both have move alike."""
    links = [name for name in one.model.links if name in other.model.links]
    wanted = np.concatenate([one.link_jacobian(name, q) @ v for name in links])
    J = np.vstack([other.link_jacobian(name, q_other) for name in links])
    found = np.linalg.lstsq(J, wanted, rcond=1e-10)[0]
    assert np.max(np.abs(J @ found - wanted)) < 1e-9 * (1.0 + np.max(np.abs(wanted)))
    return found
