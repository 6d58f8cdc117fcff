# SPDX-License-Identifier: Apache-2.0
"""Accelerations by singular values: those of dense systems, and of a particle where curves that it keeps to cross."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ada_dynamics.loops.singular import Rates, Solution, System, solve, tangents, whitened

Array = Any
NONE = Rates(np.zeros((1, 3)), np.zeros(1), np.zeros((1, 3)))


def random_system(rng: np.random.Generator, n: int, m: int, repeated: int = 0) -> System:
    """With `repeated` conditions that follow from the others."""
    A = rng.normal(size=(n, n))
    J, rate = rng.normal(size=(m, n)), rng.normal(size=m)
    mixed = rng.normal(size=(repeated, m))
    return System(A @ A.T + np.eye(n), rng.normal(size=n), np.vstack([J, mixed @ J]), np.append(rate, mixed @ rate))


@pytest.mark.parametrize("repeated", [0, 2])
def test_a_regular_pose_has_the_accelerations_and_the_least_multipliers_of_the_dense_system(repeated: int) -> None:
    rng = np.random.default_rng(repeated)
    for _ in range(5):
        at = random_system(rng, 6, 3, repeated)
        found = solve(at, 3, rng.normal(size=6), lambda: pytest.fail("asked for the rates"))
        m = 3 + repeated
        dense = np.block([[at.M, at.J.T], [at.J, np.zeros((m, m))]])
        expected = np.linalg.pinv(dense, rcond=1e-12) @ np.append(at.r, -at.rate)
        np.testing.assert_allclose(found.accelerations, expected[:6], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found.multipliers, -expected[6:], rtol=1e-8, atol=1e-9)
        s = np.sqrt(np.linalg.eigvalsh(at.J @ np.linalg.inv(at.M) @ at.J.T)[::-1][:3])
        assert found.sigma == pytest.approx(s[-1] / s[0])
        assert (found.is_singular, found.is_at_rest, found.lost_rank, found.lost.shape) == (False, False, 0, (0, m))


def test_a_batch_is_each_state_by_itself() -> None:
    rng = np.random.default_rng(4)
    alone = [random_system(rng, 5, 2) for _ in range(4)]
    batch = System(*(np.array(part) for part in zip(*alone, strict=True)))
    together = whitened(batch)
    a, x = together.held(batch, 2)
    for k, one in enumerate(alone):
        found = solve(one, 2, np.ones(5), lambda: NONE)
        np.testing.assert_allclose(a[k], found.accelerations, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(x[k], -found.multipliers, rtol=1e-10, atol=1e-12)
        assert together.sigma(2)[k] == pytest.approx(found.sigma, rel=1e-12)
    assert together.sigma(0).tolist() == [1.0] * 4


def test_a_motion_that_has_run_away_is_neither_singular_nor_at_rest() -> None:
    for part in range(4):
        at = list(random_system(np.random.default_rng(0), 4, 2))
        at[part] = np.full_like(at[part], np.inf)
        found = solve(System(*at), 2, np.zeros(4), lambda: NONE)
        assert np.isnan(found.accelerations).all() and np.isnan(found.multipliers).all()
        assert (found.accelerations.shape, found.multipliers.shape, found.lost.shape) == ((4,), (2,), (0, 4))
        assert (found.sigma, found.is_singular, found.is_at_rest) == (0.0, False, False)


# --- a particle on (y - k x²)(x - c y²) = 0 and z = 0, in the origin, where the two parabolas cross -------------------
K, C = 0.7, -1.3
MASSES, FORCES = np.array([2.0, 3.0, 5.0]), np.array([1.0, -4.0, 10.0])


def crossing(v: Array, repeated: int = 0) -> tuple[System, Rates]:
    """Derivatives of the product, by hand; `repeated` more times z = 0 and the product."""
    x, y, _ = v
    hessian = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    rows = [0, 1] * (1 + repeated)
    J = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])[rows]
    rate = np.array([0.0, v @ hessian @ v])[rows]
    turned = np.array([np.zeros(3), hessian @ v])[rows]
    third = np.array([0.0, -6.0 * K * x**3 - 6.0 * C * y**3])[rows]
    return System(np.diag(MASSES), FORCES, J, rate), Rates(turned, third, 2.0 * turned)


def at_crossing(v: Array, repeated: int = 0) -> Solution:
    system, rates = crossing(v, repeated)
    return solve(system, 2, v, lambda: rates)


@pytest.mark.parametrize("repeated", [0, 1])
@pytest.mark.parametrize("speed", [2.0, -0.3])
def test_where_curves_cross_a_particle_stays_on_the_one_that_it_is_on(speed: float, repeated: int) -> None:
    found = at_crossing(np.array([speed, 0.0, 0.0]), repeated)
    # on y = k x²: the curve's acceleration across it, the force's along it
    np.testing.assert_allclose(found.accelerations, [FORCES[0] / 2.0, 2.0 * K * speed**2, 0.0], atol=1e-14)
    found = at_crossing(np.array([0.0, speed, 0.0]), repeated)
    np.testing.assert_allclose(found.accelerations, [2.0 * C * speed**2, FORCES[1] / 3.0, 0.0], atol=1e-14)
    assert (found.sigma, found.is_singular, found.is_at_rest, found.lost_rank) == (0.0, True, False, 1)
    # the plane gives what the particle does not take; the force across the curve has no multiplier
    held = (1 + repeated) * [FORCES[2] / (1 + repeated), 0.0]
    np.testing.assert_allclose(-found.multipliers, held, atol=1e-13)
    assert found.lost.shape == (1 + 2 * repeated, 2 + 2 * repeated)
    np.testing.assert_allclose(found.lost @ crossing(np.zeros(3), repeated)[0].J, 0.0, atol=1e-15)
    np.testing.assert_allclose(found.lost @ found.lost.T, np.eye(len(found.lost)), atol=1e-14)


def test_at_rest_where_curves_cross_only_the_plane_holds() -> None:
    for speed, is_at_rest in ((0.0, True), (0.9e-9, True), (1.1e-9, False)):
        found = at_crossing(np.array([speed, 0.0, 0.0]))
        assert (found.is_singular, found.is_at_rest) == (True, is_at_rest)
    found = at_crossing(np.zeros(3))
    np.testing.assert_allclose(found.accelerations, [*(FORCES / MASSES)[:2], 0.0], atol=1e-15)
    np.testing.assert_allclose(-found.multipliers, [FORCES[2], 0.0], atol=1e-14)


def test_both_curves_are_the_ways_out_of_their_crossing() -> None:
    system, _ = crossing(np.zeros(3))
    lost = at_crossing(np.zeros(3)).lost
    for turn in (0.0, 0.4, 1.1, 2.9):
        c, s = np.cos(turn), np.sin(turn)
        first, second = np.array([c, s, 0.0]), np.array([-s - 0.3 * c, c, 0.0])
        # the product of two straight lines with these normals: γ(w) = 2 (first w) (second w)
        ways = tangents(system, lost, lambda w, a=first, b=second: np.array([0.0, 2.0 * (a @ w) * (b @ w)]))
        assert len(ways) == 2
        expected = [np.cross(normal, [0.0, 0.0, 1.0]) for normal in (first, second)]
        for way in ways:
            assert np.linalg.norm(way) == pytest.approx(1.0)
            assert min(np.linalg.norm(np.cross(way, one)) for one in expected) < 1e-12
        assert np.linalg.norm(np.cross(*ways)) > 0.5


def test_a_crossing_that_no_curve_leaves_or_only_one_has_as_many_ways_out() -> None:
    system, _ = crossing(np.zeros(3))
    lost = at_crossing(np.zeros(3)).lost
    assert tangents(system, lost, lambda w: np.array([0.0, w @ w])) == []
    assert tangents(system, lost, lambda w: np.zeros(2)) == []
    for normal in np.eye(3)[:2]:
        for way in tangents(system, lost, lambda w, n=normal: np.array([0.0, (n @ w) ** 2])):
            assert abs(way @ normal) < 1e-12 and abs(way[2]) < 1e-12 and np.linalg.norm(way) == pytest.approx(1.0)
    # three motions are left: a condition of second order has a cone of them
    wide = System(np.eye(4), np.zeros(4), np.array([[0.0, 0.0, 0.0, 1.0], np.zeros(4)]), np.zeros(2))
    assert tangents(wide, np.array([[0.0, 1.0]]), lambda w: np.array([0.0, w[0] * w[1]])) == []


# --- mass matrices that are singular ----------------------------------------------------------------------------------
def test_a_coordinate_without_mass_that_a_condition_ties_moves_with_what_it_is_tied_to() -> None:
    # a cart of 2 kg pulls a massless point by a rod of ratio 3: x₂ = 3 x₁, and a slide of its own
    at = System(np.diag([2.0, 0.0, 4.0]), np.array([8.0, 1.0, 6.0]), np.array([[3.0, -1.0, 0.0]]), np.array([0.6]))
    found = solve(at, 1, np.ones(3), lambda: NONE)
    # J a = -γ; the force on the point reaches the cart threefold
    a = (8.0 + 3.0 * 1.0) / 2.0
    np.testing.assert_allclose(found.accelerations, [a, 3.0 * a + 0.6, 1.5], atol=1e-13)
    np.testing.assert_allclose(at.M @ found.accelerations - at.J.T @ found.multipliers, at.r, atol=1e-13)
    assert (found.is_singular, found.is_at_rest) == (False, False)
    assert found.sigma == pytest.approx(1.0)


def test_a_motion_that_nothing_resists_has_no_acceleration() -> None:
    at = System(np.diag([2.0, 0.0, 0.0]), np.ones(3), np.array([[3.0, -1.0, 0.0]]), np.zeros(1))
    found = solve(at, 1, np.ones(3), lambda: NONE)
    assert np.isnan(found.accelerations).all() and np.isnan(found.multipliers).all()
    assert (found.is_singular, found.multipliers.shape, found.lost.shape) == (True, (1,), (0, 1))
