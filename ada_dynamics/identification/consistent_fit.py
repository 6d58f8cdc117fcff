# SPDX-License-Identifier: Apache-2.0
"""Weighted least squares over parameters that a machine can have: a convex problem, solved by Newton's method.

    minimise  ½ |A x - b|² + γ Σ_bodies D(P(x) ‖ P₀) + γ Σ_others (x / x₀ - ln(x / x₀) - 1)

A x = b has a row for each measurement, in units of its noise. D(P ‖ P₀) = tr(P₀⁻¹ P) - ln det(P₀⁻¹ P) - 4 is the
Bregman divergence of pseudo-inertias (Lee, Wensing and Park 2020): finite only where P is positive definite, the same
in all frames and units, and 0 for the body that is known already. So γ is what that knowledge weighs, in measurements:
where the motion says nothing, bodies stay as they were; everywhere else thousands of rows outweigh it.

A body that is supposed to be small lies near the edge of what can be, from where Newton's steps are short. So the way
leads through the middle: first all bodies are supposed to be large clouds, and γ falls; then the clouds vanish.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.identification.pseudo_inertia import UNITS

_FALL = 0.1  # of γ from one problem to the next
_VANISHING = (*(0.1**k for k in range(1, 9)), 0.0)  # clouds
_STEPS = 60  # of each problem
_NEAR, _REACHED = 1e-2, 1e-9  # squared decrement, in units of γ, on the way and at its end
_SHARE = 0.25  # of the foreseen gain that a step must bring
_LEAST_SHARE = 1e-9  # of a step


@dataclass(frozen=True)
class Body:
    """Ten inertial parameters, some of which are free.

    Attributes:
        places: of the free ones among the unknowns.
        which: the same ones' numbers among the ten.
        known: P of those that are not free.
        prior: P₀, positive definite.
        cloud: P of a body as large as the robot.
    """

    places: NDArray[np.intp]
    which: NDArray[np.intp]
    known: Array
    prior: Array
    cloud: Array

    def matrix(self, x: Array) -> Array:
        """P."""
        return np.asarray(self.known + np.tensordot(x[self.places], UNITS[self.which], axes=1))


@dataclass(frozen=True)
class Positive:
    """Another parameter, which cannot be negative.

    Attributes:
        place: among the unknowns.
        prior: x₀ > 0.
        cloud: a value that alone would explain all efforts.
    """

    place: int
    prior: float
    cloud: float


def fit(A: Array, b: Array, start: Array, bodies: Sequence[Body], others: Sequence[Positive], weight: float) -> Array:
    """The unknowns x.

    Args:
        A: rows of the equations, in units of the noise.
        b: what they must give.
        start: of the unknowns, inside: all P positive definite, all others positive.
        bodies: which unknowns make which body.
        others: unknowns beside them.
        weight: γ.
    """
    problem = _Problem(A, b, bodies, others)
    gamma, x = max(weight, problem.first_weight(start)), start
    x = problem.minimise(x, gamma)
    while gamma > weight:
        gamma = max(_FALL * gamma, weight)
        x = problem.minimise(x, gamma)
    for share in _VANISHING:
        problem.suppose(share)
        x = problem.minimise(x, weight)
    return problem.minimise(x, weight, _REACHED)


class _Problem:
    """The terms of the sum, and their derivatives."""

    def __init__(self, A: Array, b: Array, bodies: Sequence[Body], others: Sequence[Positive]) -> None:
        Q, self.A = np.linalg.qr(A)  # as few rows as there are unknowns
        self.b, self.bodies, self.others = Q.T @ b, bodies, others
        self.places = np.array([one.place for one in others], dtype=np.intp)
        self.suppose(1.0)

    def suppose(self, clouds: float) -> None:
        """Priors with so much of the clouds around them."""
        self.priors = np.array([one.prior + clouds * one.cloud for one in self.others])
        self.inverse_priors = [np.linalg.inv(body.prior + clouds * body.cloud) for body in self.bodies]

    def first_weight(self, x: Array) -> float:
        """So large that the first minimum is near the start."""
        _, F, _ = self.barrier(x)
        pull = self.A.T @ (self.A @ x - self.b)
        return float(np.linalg.norm(np.linalg.lstsq(F, pull, rcond=None)[0]))

    def minimise(self, x: Array, gamma: float, reached: float = _NEAR) -> Array:
        """Newton's method from a point inside."""
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
                there = self.barrier_value(x + share * step)
                if there is not None:
                    rise = share * along + share**2 * curvature + gamma * (there - value)
                    if rise <= -_SHARE * share * gain:
                        x = x + share * step
                        break
                share *= 0.5
                if share < _LEAST_SHARE:  # nothing left but rounding
                    return x
        return x

    def step(self, x: Array, gamma: float, F: Array, r: Array) -> Array:
        """Newton's, (AᵀA + γ F Fᵀ) step = Aᵀ (b - A x) - γ F r, as a problem of least squares again.

        Of normal equations too little would be left where measurements tell a million times as much as the prior.
        """
        rows = np.vstack([self.A, math.sqrt(gamma) * F.T])
        units = 1.0 / np.linalg.norm(rows, axis=0)
        Q, R = np.linalg.qr(rows * units)
        wanted = np.concatenate([self.b - self.A @ x, -math.sqrt(gamma) * r])
        return np.asarray(units * np.linalg.solve(R, Q.T @ wanted))

    def barrier_value(self, x: Array) -> float | None:
        """Sum of the divergences, a constant apart; None outside."""
        own = x[self.places]
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
        """The same, with F and r of its gradient F r and its Hessian F Fᵀ.

        Of a body P = L Lᵀ the columns of F are the entries of L⁻¹ E L⁻ᵀ, for each parameter's E, and r those of
        Lᵀ P₀⁻¹ L - 1. Near the edge, where P is all but singular, the Hessian itself has no digits left.
        """
        own = x[self.places]
        value = self.barrier_value(x)
        assert value is not None
        F = np.zeros((len(x), len(own) + 16 * len(self.bodies)))
        F[self.places, np.arange(len(own))] = 1.0 / own
        parts = [own / self.priors - 1.0]
        for k, (body, inverse) in enumerate(zip(self.bodies, self.inverse_priors, strict=True)):
            L = np.linalg.cholesky(body.matrix(x))
            halves = np.linalg.solve(L, UNITS[body.which])
            turned = np.linalg.solve(L, halves.swapaxes(1, 2))
            first = len(own) + 16 * k
            F[body.places, first : first + 16] = turned.reshape(-1, 16)
            parts.append((L.T @ inverse @ L - np.eye(4)).ravel())
        return value, F, np.concatenate(parts)
