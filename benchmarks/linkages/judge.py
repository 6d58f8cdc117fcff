# SPDX-License-Identifier: Apache-2.0
"""Motions of linkages by independent coordinates: positions, velocities and accelerations of many linkages at once.

All linkages of a batch have the same tree; the first index of every array counts them. With bodies in their reference
pose, pin k moves those beyond it by the screw of its axis. The loops' residual r(q) - points and directions of both
sides of each pin - has the known rank n - m on the closed poses, with m independent and n - m dependent angles:

    J_d dq_d = -r                 Newton's method for the dependent angles, which converges on closed poses only
    v = T w                       T: 1 for the independent rates, -J_d⁺ J_u for the dependent ones
    a = T ẇ + g                   g: -J_d⁺ γ for the dependent ones
    Tᵀ M T ẇ = Tᵀ (τ - M g - h)   virtual power of all bodies' forces m (a - gravity) and moments I α + ω × I ω

J_d has full column rank, so no rank is judged anywhere: what J_d⁺ leaves over (`defect`) must be rounding, else the
linkage has not the mobility that it is said to have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.linkages.linkage import GRAVITY, GROUND, Linkage, Long

Array = Any  # longdouble
NEWTON_STEPS = 12
NEXT, AFTER = np.array([1, 2, 0]), np.array([2, 0, 1])  # coordinates


@dataclass(frozen=True)
class Charts:
    """Which angles are independent, and which depend on them, of each linkage."""

    free: Array  # (batch, m) pins
    bound: Array  # (batch, n - m) pins


@dataclass(frozen=True)
class Placed:
    """Poses: rotations and displacements of all bodies from the reference pose (the last one is the ground)."""

    R: Array  # (batch, n + 1, 3, 3)
    t: Array  # (batch, n + 1, 3)
    axes: Array  # (batch, n, 3) of the pins in the world
    points: Array  # (batch, n, 3) on them


@dataclass(frozen=True)
class LinkageState:
    """Verdict on a state."""

    v: Array  # (batch, n) rates of the tree's pins
    a: Array  # (batch, n)
    tangent: Array  # (batch, n, m)
    gap: Array  # (batch,) of positions [m, rad]
    defect: Array  # (batch,) of tangent and accelerations: what no rate of the dependent angles can close


class Judge:
    """Dynamics of a batch of linkages that have the same tree."""

    def __init__(self, linkages: Sequence[Linkage]) -> None:
        first = linkages[0]
        self.linkages = list(linkages)
        self.n, self.m = len(first.tree), first.mobility
        self.parents = [pin.parent for pin in first.tree]
        for one in linkages:
            same = [(pin.parent, pin.child) for pin in one.pins] == [(pin.parent, pin.child) for pin in first.pins]
            assert same and one.mobility == self.m, f"{one.name} has another tree than {first.name}"
        assert [pin.child for pin in first.tree] == list(range(self.n))
        self.axis, self.point = (
            self._stack(lambda one, k=k: [getattr(p, k) for p in one.tree]) for k in ("axis", "point")
        )
        self.loop_axis = self._stack(lambda one: [pin.axis for pin in one.loops])
        self.loop_point = self._stack(lambda one: [pin.point for pin in one.loops])
        self.sides = [pin.parent for pin in first.loops], [pin.child for pin in first.loops]
        self.mass = self._stack(lambda one: [solid.mass for solid in one.solids])
        self.com = self._stack(lambda one: [solid.com for solid in one.solids])
        self.inertia = self._stack(lambda one: [solid.inertia for solid in one.solids])
        self.gravity = np.array(GRAVITY, dtype=Long)
        self.carried = self._carried()
        self._K = _cross_matrix(self.axis)
        self._KK = self._K @ self._K
        self._eye = np.eye(3, dtype=Long)
        self.lost = np.zeros(len(self.linkages), dtype=bool)  # those that ran into a pose without a chart

    def _stack(self, of: Any) -> Array:
        return np.array([of(one) for one in self.linkages], dtype=Long)

    def _carried(self) -> Array:
        """(n + 1, n): 1 where a pin lies between a body and the ground."""
        carried = np.zeros((self.n + 1, self.n), dtype=Long)
        for k, parent in enumerate(self.parents):
            carried[k] = carried[parent]
            carried[k, k] = 1
        return carried

    # --- poses ------------------------------------------------------------------------------------------------------
    def place(self, q: Array) -> Placed:
        """All bodies where the tree's pins have turned by q."""
        batch, n = q.shape
        own = self._eye + np.sin(q)[..., None, None] * self._K + (1 - np.cos(q))[..., None, None] * self._KK
        R = np.empty((batch, n + 1, 3, 3), dtype=Long)
        t = np.zeros((batch, n + 1, 3), dtype=Long)
        R[:, GROUND] = self._eye
        shift = self.point - _times(own, self.point)
        for k, parent in enumerate(self.parents):
            R[:, k] = R[:, parent] @ own[:, k]
            t[:, k] = _times(R[:, parent], shift[:, k]) + t[:, parent]
        axes = _times(R[:, self.parents], self.axis)
        points = _times(R[:, self.parents], self.point) + t[:, self.parents]
        return Placed(R, t, axes, points)

    def residual(self, at: Placed) -> tuple[Array, Array]:
        """r(q), six for each loop, and its Jacobian by the tree's angles."""
        rows, columns = [], []
        for sign, side in zip((1, -1), self.sides, strict=True):
            x, d, Jx, Jw = self._ends(at, side)
            rows.append(sign * np.concatenate([x, d], axis=-1))
            columns.append(sign * np.concatenate([Jx, _cross(Jw, d[:, :, None])], axis=-1))
        r = rows[0] + rows[1]
        J = np.moveaxis(columns[0] + columns[1], 2, 3)
        return r.reshape(len(r), -1), J.reshape(len(r), -1, self.n)

    def _ends(self, at: Placed, side: list[int]) -> tuple[Array, Array, Array, Array]:
        """Point and direction of each loop on one side, and their body's (batch, loop, n, 3) Jacobians."""
        R = at.R[:, side]
        x = _times(R, self.loop_point) + at.t[:, side]
        Jx, Jw = self._jacobians(at, x, side)
        return x, _times(R, self.loop_axis), Jx, Jw

    def _jacobians(self, at: Placed, x: Array, bodies: Any) -> tuple[Array, Array]:
        """Velocities of points on bodies, and these bodies' angular velocities, by the tree's rates."""
        carried = self.carried[bodies][None, :, :, None]
        Jw = carried * at.axes[:, None]
        return _cross(Jw, x[:, :, None] - at.points[:, None]), Jw

    def charts(self, q: Array) -> Charts:
        """The independent angles that move most, at closed poses."""
        J = self.residual(self.place(q))[1].astype(float)
        null = np.linalg.svd(J)[2][:, self.n - self.m :]
        return self._charts(np.moveaxis(null, 1, 2))

    def _charts(self, tangents: Array) -> Charts:
        free, bound = [], []
        for T in np.asarray(tangents, dtype=float):
            T, chosen = T.copy(), []
            for _ in range(self.m):
                k = int(np.argmax(np.sum(T * T, axis=1)))
                chosen.append(k)
                T -= np.outer(T @ T[k], T[k]) / (T[k] @ T[k])
            free.append(sorted(chosen))
            bound.append([k for k in range(self.n) if k not in chosen])
        return Charts(np.array(free), np.array(bound).reshape(len(free), -1))

    def better_charts(self, charts: Charts, tangents: Array, limit: float = 2.0) -> Charts:
        """The same, but for linkages of which an angle moves faster than all independent ones by this factor."""
        steep = np.abs(tangents).max(axis=(1, 2)) > limit
        if not steep.any():
            return charts
        new = self._charts(tangents[steep])
        free, bound = charts.free.copy(), charts.bound.copy()
        free[steep], bound[steep] = new.free, new.bound
        return Charts(free, bound)

    def close(self, q: Array, charts: Charts) -> tuple[Array, Placed, Array]:
        """Newton's method for the dependent angles: closed q, its pose and Jacobian.

        A linkage for which it fails is lost: it waits in its reference pose, so that the others can go on.
        """
        q = np.where(self.lost[:, None], 0, q)
        done = 1e-9  # the next step is of the order of its square
        moving = ~self.lost
        for _ in range(NEWTON_STEPS):
            r, J = self.residual(self.place(q))
            dq = -_least_squares(_columns(J, charts.bound), r[..., None])[..., 0]
            np.put_along_axis(q, charts.bound, np.take_along_axis(q, charts.bound, 1) + dq, 1)
            moving = ~self.lost & ~(np.abs(dq).max(axis=1, initial=0) < done)
            if not moving.any():
                break
        self.lost |= moving
        q = np.where(self.lost[:, None], 0, q)
        at = self.place(q)
        return q, at, self.residual(at)[1]

    # --- motion -----------------------------------------------------------------------------------------------------
    def tangent(self, J: Array, charts: Charts) -> tuple[Array, Array]:
        """T, and the largest part of J T that is not zero."""
        Jb, Jf = _columns(J, charts.bound), _columns(J, charts.free)
        T = np.zeros((len(J), self.n, self.m), dtype=Long)
        np.put_along_axis(T, charts.free[..., None], np.eye(self.m, dtype=Long)[None], 1)
        np.put_along_axis(T, charts.bound[..., None], -_least_squares(Jb, Jf), 1)
        return T, np.abs(J @ T).max(axis=(1, 2), initial=0)

    def move(self, at: Placed, J: Array, w: Array, charts: Charts, tau: Array | None = None) -> LinkageState:
        """Accelerations at a closed pose with rates w of the independent angles and efforts of the tree's pins."""
        T, defect = self.tangent(J, charts)
        v = _times(T, w)
        bias = self._bias(at, v)
        gamma = self._loop_bias(at, bias)
        g = np.zeros_like(v)
        bound = -_least_squares(_columns(J, charts.bound), gamma[..., None])[..., 0]
        np.put_along_axis(g, charts.bound, bound, 1)
        M, h = self._inertia(at, bias)
        load = -h - _times(M, g)
        load = load if tau is None else load + np.asarray(tau, dtype=Long)
        Tt = np.swapaxes(T, 1, 2)
        rates = _solve_definite(Tt @ M @ T, _times(Tt, load)[..., None])[..., 0]
        left = np.abs(_times(J, g) + gamma).max(axis=-1, initial=0)
        return LinkageState(
            v, _times(T, rates) + g, T, np.abs(self.residual(at)[0]).max(axis=-1), np.maximum(defect, left)
        )

    def mass_matrix_and_bias(self, q: Array, v: Array) -> tuple[Array, Array]:
        """M and h of the tree, without its loops."""
        at = self.place(q)
        return self._inertia(at, self._bias(at, v))

    def _bias(self, at: Placed, v: Array) -> dict[str, Array]:
        """Angular velocities and the accelerations with v̇ = 0 of all bodies, and rates of axes and their points."""
        spins = at.axes * v[..., None]
        omega = np.concatenate([self.carried[:-1] @ spins, np.zeros_like(spins[:, :1])], axis=1)
        axis_rates = _cross(omega[:, self.parents], at.axes)
        alpha = np.concatenate([self.carried[:-1] @ (axis_rates * v[..., None]), np.zeros_like(spins[:, :1])], axis=1)
        J, _ = self._jacobians(at, at.points, self.parents)
        return {"v": v, "omega": omega, "alpha": alpha, "axis_rates": axis_rates, "point_rates": _along(J, v)}

    def _point_bias(self, at: Placed, bias: dict[str, Array], x: Array, bodies: Any) -> tuple[Array, Array]:
        """(batch, points, n, 3) Jacobian of points on bodies, and their accelerations with v̇ = 0."""
        J, _ = self._jacobians(at, x, bodies)
        velocity = _along(J, bias["v"])
        carried = self.carried[bodies][None, :, :, None]
        rates = _cross(carried * bias["axis_rates"][:, None], x[:, :, None] - at.points[:, None])
        rates += _cross(carried * at.axes[:, None], velocity[:, :, None] - bias["point_rates"][:, None])
        return J, _along(rates, bias["v"])

    def _loop_bias(self, at: Placed, bias: dict[str, Array]) -> Array:
        """d²r/dt² with v̇ = 0."""
        total: Array = 0
        for sign, side in zip((1, -1), self.sides, strict=True):
            x = _times(at.R[:, side], self.loop_point) + at.t[:, side]
            d = _times(at.R[:, side], self.loop_axis)
            omega, alpha = bias["omega"][:, side], bias["alpha"][:, side]
            turning = _cross(alpha, d) + _cross(omega, _cross(omega, d))
            total = total + sign * np.concatenate([self._point_bias(at, bias, x, side)[1], turning], axis=-1)
        return total.reshape(len(total), -1)

    def _inertia(self, at: Placed, bias: dict[str, Array]) -> tuple[Array, Array]:
        """M and h: Newton's and Euler's equations of each body along its Jacobians."""
        bodies = list(range(self.n))
        R = at.R[:, :-1]
        com = _times(R, self.com) + at.t[:, :-1]
        Jx, acceleration = self._point_bias(at, bias, com, bodies)
        Jw = self._jacobians(at, com, bodies)[1]
        inertia = R @ self.inertia @ np.swapaxes(R, 2, 3)
        omega, alpha = bias["omega"][:, :-1], bias["alpha"][:, :-1]
        force = self.mass[..., None] * (acceleration - self.gravity)
        moment = _times(inertia, alpha) + _cross(omega, _times(inertia, omega))
        Jx_t, Jw_t = np.swapaxes(Jx, 2, 3), np.swapaxes(Jw, 2, 3)  # (batch, bodies, 3, n)
        M = (self.mass[..., None, None] * (Jx @ Jx_t) + Jw @ inertia @ Jw_t).sum(axis=1)
        h = (_times(Jx, force) + _times(Jw, moment)).sum(axis=1)
        return M, h

    def energy(self, q: Array, v: Array) -> Array:
        """Kinetic and potential energy of each linkage [J]."""
        at = self.place(q)
        M, _ = self._inertia(at, self._bias(at, v))
        com = _times(at.R[:, :-1], self.com) + at.t[:, :-1]
        potential = -(self.mass * (com @ self.gravity)).sum(axis=-1)
        return 0.5 * np.sum(v * _times(M, v), axis=-1) + potential

    def all_rates(self, q: Array, v: Array) -> Array:
        """Rates of all pins: the tree's, and those that close the loops."""
        at = self.place(q)
        omega = self._bias(at, v)["omega"]
        parents, children = self.sides
        d = _times(at.R[:, parents], self.loop_axis)
        return np.concatenate([v, np.sum(d * (omega[:, children] - omega[:, parents]), axis=-1)], axis=1)

    def all_accelerations(self, at: Placed, motion: LinkageState) -> Array:
        """Forces of all pins, of the tree and of the loops."""
        alpha = self._bias(at, motion.v)["alpha"]
        alpha[:, :-1] += self.carried[:-1] @ (at.axes * motion.a[..., None])
        parents, children = self.sides
        d = _times(at.R[:, parents], self.loop_axis)
        # The axis turns with the parent, but the relative angular velocity is along it: its rate adds nothing.
        return np.concatenate([motion.a, np.sum(d * (alpha[:, children] - alpha[:, parents]), axis=-1)], axis=1)

    def all_angles(self, q: Array) -> Array:
        """Angles of all pins; those of loops between -π and π."""
        at = self.place(q)
        parents, children = self.sides
        relative = np.swapaxes(at.R[:, parents], 2, 3) @ at.R[:, children]
        # The antisymmetric part of a rotation by φ about u is sin φ [u ×], its trace 1 + 2 cos φ.
        s = [relative[..., j, i] - relative[..., i, j] for i, j in ((1, 2), (2, 0), (0, 1))]
        sine = np.sum(np.stack(s, axis=-1) * self.loop_axis, axis=-1)
        return np.concatenate([q, np.arctan2(sine, np.trace(relative, axis1=-2, axis2=-1) - 1)], axis=1)


# --- arrays of small vectors and matrices ---------------------------------------------------------------------------
def _times(A: Array, x: Array) -> Array:
    """A x of the last axes."""
    return (A @ x[..., None])[..., 0]


def _along(J: Array, v: Array) -> Array:
    """(batch, points, n, 3) times (batch, n)."""
    return (np.swapaxes(J, 2, 3) @ v[:, None, :, None])[..., 0]


def _cross(a: Array, b: Array) -> Array:
    return a.take(NEXT, -1) * b.take(AFTER, -1) - a.take(AFTER, -1) * b.take(NEXT, -1)


def _cross_matrix(a: Array) -> Array:
    K = np.zeros((*a.shape, 3), dtype=a.dtype)
    for i, j, k, sign in ((0, 1, 2, -1), (0, 2, 1, 1), (1, 2, 0, -1)):
        K[..., i, j], K[..., j, i] = sign * a[..., k], -sign * a[..., k]
    return K


def _columns(J: Array, chosen: Array) -> Array:
    return np.take_along_axis(J, chosen[:, None], 2)


def _solve_definite(A: Array, B: Array) -> Array:
    """A⁻¹ B of symmetric positive definite matrices by elimination: numpy.linalg has no extended precision."""
    n = A.shape[-1]
    AB = np.concatenate([A, B], axis=-1)
    for k in range(n):
        row = AB[:, k : k + 1] / AB[:, k : k + 1, k : k + 1]
        AB -= AB[:, :, k : k + 1] * row
        AB[:, k : k + 1] = row
    return AB[..., n:]


def _least_squares(A: Array, B: Array) -> Array:
    """A⁺ B for matrices of full column rank, refined once: the normal equations square the condition."""
    At = np.swapaxes(A, 1, 2)
    AtA = At @ A
    X = _solve_definite(AtA, At @ B)
    return X + _solve_definite(AtA, At @ (B - A @ X))
