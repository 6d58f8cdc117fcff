# SPDX-License-Identifier: Apache-2.0
"""Least squares over physically consistent parameters, a convex problem solved by Newton's method.

    minimize  ½ |A x - b|² + γ Σ_bodies D(P(x) ‖ P₀) + γ Σ_scalars (x / x₀ - ln(x / x₀) - 1)

A x = b has a row for each measurement, in units of its noise. D(P ‖ P₀) = tr(P₀⁻¹ P) - ln det(P₀⁻¹ P) - 4 is the
Bregman divergence of pseudo-inertias (Lee, Wensing and Park 2020). It is finite for positive definite P, invariant to
frames and units, and 0 at the prior. γ is the weight of the prior in measurements: parameters that the motion does not
excite keep their prior; for all other parameters, thousands of rows outweigh it.

The prior of a small body is near the boundary of the feasible set, where Newton steps are short. Therefore the solution
follows a path: the priors are first large clouds of mass while γ decreases; then the clouds shrink to the priors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.arrays import Array

MIN_THICKNESS = 1e-4  # relative to the size of a body, for rods, plates and points


def pseudo_inertia(values: ArrayLike) -> Array:
    """Pseudo-inertia P of mass, first moments, Ixx, Ixy, Ixz, Iyy, Iyz, Izz (as `regressor.INERTIAL`), (..., 4, 4)."""
    return np.asarray(np.asarray(values, dtype=np.float64) @ UNITS.reshape(10, 16)).reshape(
        (*np.shape(values)[:-1], 4, 4)
    )


def _units() -> Array:
    """P for a unit of each parameter, (10, 4, 4)."""
    units = np.zeros((10, 4, 4))
    units[0, 3, 3] = 1.0
    for k in range(3):
        units[1 + k, k, 3] = units[1 + k, 3, k] = 1.0
    for unit, (i, j) in zip(units[4:], ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)), strict=True):
        if i == j:
            unit[range(3), range(3)] = 0.5
            unit[i, i] = -0.5
        else:
            unit[i, j] = unit[j, i] = -1.0
    return units


UNITS = _units()


def inertial_parameters(P: Array) -> Array:
    """Ten inertial parameters of P."""
    second = P[:3, :3]
    inertia = np.trace(second) * np.eye(3) - second
    return np.array([P[3, 3], *P[:3, 3], *inertia[0], *inertia[1, 1:], inertia[2, 2]])


def regularize(P: Array, mass: float, length: float) -> Array:
    """P with positive eigenvalues, relative to the size of the body.

    Args:
        P: pseudo-inertia of a body, which may be a rod, a plate, a point, or zero.
        mass: reference mass of a massless body [kg].
        length: reference size of a body without extent [m].
    """
    own = P.copy()
    if own[3, 3] <= MIN_THICKNESS * mass:
        own[3, 3] = MIN_THICKNESS * mass
    c = own[:3, 3] / own[3, 3]
    size = max(float(np.sqrt(max(np.trace(own[:3, :3]) / own[3, 3] - c @ c, 0.0))), MIN_THICKNESS**0.5 * length)
    central = own[:3, :3] - own[3, 3] * np.outer(c, c)
    values, axes = np.linalg.eigh(central)
    values = np.maximum(values, MIN_THICKNESS * own[3, 3] * size**2)
    own[:3, :3] = axes @ np.diag(values) @ axes.T + own[3, 3] * np.outer(c, c)
    return own


_FALL = 0.1  # ratio of γ between successive problems
_CLOUD_SCALES = (*(0.1**k for k in range(1, 9)), 0.0)  # scales of the clouds
_STEPS = 60  # largest number for each problem
_NEAR, _REACHED = 1e-2, 1e-9  # squared Newton decrement relative to γ, along the path and at its end
_SUFFICIENT_DECREASE = 0.25  # fraction of the predicted decrease that a step must achieve
_MIN_STEP = 1e-9  # fraction of a Newton step


@dataclass(frozen=True)
class BodyParameters:
    """Ten inertial parameters of a body, some of which are free.

    Attributes:
        columns: columns of the free parameters among the unknowns.
        indices: indices of the free parameters among the ten.
        known: P of the fixed parameters.
        prior: P₀, positive definite.
        cloud: P of a body of the size of the robot.
    """

    columns: NDArray[np.intp]
    indices: NDArray[np.intp]
    known: Array
    prior: Array
    cloud: Array

    def matrix(self, x: Array) -> Array:
        """Pseudo-inertia P for the unknowns x."""
        return np.asarray(self.known + np.tensordot(x[self.columns], UNITS[self.indices], axes=1))


@dataclass(frozen=True)
class PositiveParameter:
    """A positive scalar parameter.

    Attributes:
        column: column among the unknowns.
        prior: x₀ > 0.
        cloud: value that would explain all efforts.
    """

    column: int
    prior: float
    cloud: float


def fit(
    A: Array,
    b: Array,
    start: Array,
    bodies: Sequence[BodyParameters],
    others: Sequence[PositiveParameter],
    weight: float,
) -> Array:
    """Solve for the unknowns x.

    Args:
        A: rows of the equations, in units of the noise, (N, F).
        b: right-hand side, (N,).
        start: feasible unknowns: all P positive definite, all other parameters positive.
        bodies: parameters of bodies.
        others: other parameters.
        weight: γ.
    """
    problem = _ConvexProblem(A, b, bodies, others)
    gamma, x = max(weight, problem.initial_weight(start)), start
    x = problem.minimize(x, gamma)
    while gamma > weight:
        gamma = max(_FALL * gamma, weight)
        x = problem.minimize(x, gamma)
    for share in _CLOUD_SCALES:
        problem.set_priors(share)
        x = problem.minimize(x, weight)
    return problem.minimize(x, weight, _REACHED)


class _ConvexProblem:
    """Cost function and its derivatives."""

    def __init__(
        self, A: Array, b: Array, bodies: Sequence[BodyParameters], others: Sequence[PositiveParameter]
    ) -> None:
        Q, self.A = np.linalg.qr(A)  # reduces the rows to the number of unknowns
        self.b, self.bodies, self.others = Q.T @ b, bodies, others
        self.columns = np.array([one.column for one in others], dtype=np.intp)
        self.set_priors(1.0)

    def set_priors(self, clouds: float) -> None:
        """Set the priors with scaled clouds."""
        self.priors = np.array([one.prior + clouds * one.cloud for one in self.others])
        self.inverse_priors = [np.linalg.inv(body.prior + clouds * body.cloud) for body in self.bodies]

    def initial_weight(self, x: Array) -> float:
        """Weight γ for which the minimum is near the start."""
        _, F, _ = self.barrier(x)
        pull = self.A.T @ (self.A @ x - self.b)
        return float(np.linalg.norm(np.linalg.lstsq(F, pull, rcond=None)[0]))

    def minimize(self, x: Array, gamma: float, reached: float = _NEAR) -> Array:
        """Newton's method from a feasible point."""
        for _ in range(_STEPS):
            value, F, r = self.barrier(x)
            step = self.step(x, gamma, F, r)
            off, change = self.A @ x - self.b, self.A @ step
            along, curvature = float(off @ change), 0.5 * float(change @ change)
            gain = -along - gamma * float(r @ (F.T @ step))
            if gain <= reached * gamma:
                return x
            share = 1.0
            while True:
                value_there = self.barrier_value(x + share * step)
                if value_there is not None:
                    rise = share * along + share**2 * curvature + gamma * (value_there - value)
                    if rise <= -_SUFFICIENT_DECREASE * share * gain:
                        x = x + share * step
                        break
                share *= 0.5
                if share < _MIN_STEP:  # only rounding errors remain
                    return x
        return x

    def step(self, x: Array, gamma: float, F: Array, r: Array) -> Array:
        """Newton step (AᵀA + γ F Fᵀ) step = Aᵀ (b - A x) - γ F r, solved as least squares.

        Normal equations lose the prior if measurements outweigh it by a factor of 1e6.
        """
        rows = np.vstack([self.A, math.sqrt(gamma) * F.T])
        units = 1.0 / np.linalg.norm(rows, axis=0)
        Q, R = np.linalg.qr(rows * units)
        wanted = np.concatenate([self.b - self.A @ x, -math.sqrt(gamma) * r])
        return np.asarray(units * np.linalg.solve(R, Q.T @ wanted))

    def barrier_value(self, x: Array) -> float | None:
        """Sum of the divergences up to a constant; None if infeasible."""
        own = x[self.columns]
        if np.any(own <= 0.0):
            return None
        total = float(np.sum(own / self.priors - np.log(own)))
        for body, inverse in zip(self.bodies, self.inverse_priors, strict=True):
            P = body.matrix(x)
            try:
                diagonal = np.diag(np.linalg.cholesky(P))
            except np.linalg.LinAlgError:
                return None
            total += float(np.sum(inverse * P)) - 2.0 * float(np.sum(np.log(diagonal)))
        return total

    def barrier(self, x: Array) -> tuple[float, Array, Array]:
        """Divergences, and F and r of their gradient F r and Hessian F Fᵀ.

        For a body P = L Lᵀ, the columns of F are the entries of L⁻¹ E L⁻ᵀ for the matrix E of each parameter, and r
        contains those of Lᵀ P₀⁻¹ L - 1. Near the boundary, where P is almost singular, the Hessian itself would lose
        all log_condition.
        """
        own = x[self.columns]
        value = self.barrier_value(x)
        assert value is not None
        F = np.zeros((len(x), len(own) + 16 * len(self.bodies)))
        F[self.columns, np.arange(len(own))] = 1.0 / own
        parts = [own / self.priors - 1.0]
        for k, (body, inverse) in enumerate(zip(self.bodies, self.inverse_priors, strict=True)):
            L = np.linalg.cholesky(body.matrix(x))
            halves = np.linalg.solve(L, UNITS[body.indices])
            turned = np.linalg.solve(L, halves.swapaxes(1, 2))
            first = len(own) + 16 * k
            F[body.columns, first : first + 16] = turned.reshape(-1, 16)
            parts.append((L.T @ inverse @ L - np.eye(4)).ravel())
        return value, F, np.concatenate(parts)
