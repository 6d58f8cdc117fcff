# SPDX-License-Identifier: Apache-2.0
"""Gap and Jacobian of loops: the same in every way in which they are worked out, and those of differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.loops import numbers as loop_numbers
from ada_dynamics.loops.numbers import WRITTEN_AFTER, LoopNumbers
from ada_dynamics.robots import mechanisms


@pytest.mark.parametrize("make", [mechanisms.four_bar, mechanisms.stewart, mechanisms.cassie_leg, mechanisms.two_feet])
@pytest.mark.parametrize("turned", [False, True])
def test_the_function_that_is_written_down_gives_what_the_algorithms_give(
    make: Callable[[], mechanisms.Mechanism], turned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, start = make()
    rng = np.random.default_rng(3)
    poses = [model.integrate(start, 0.3 * rng.normal(size=model.nv)) for _ in range(4)]
    plain = LoopNumbers(model, turned)
    by_algorithm = [(plain.gap(q), plain.jacobian(q)) for q in poses]
    assert "_gap_and_jacobian" not in vars(plain)
    monkeypatch.setattr(loop_numbers, "WRITTEN_AFTER", 0)
    written = LoopNumbers(model, turned)
    for q, (gap, J) in zip(poses, by_algorithm, strict=True):
        # the graph folds constants in another order: some roundings of numbers of size 1
        assert written.gap(q) == pytest.approx(gap, abs=1e-14)
        assert written.jacobian(q) == pytest.approx(J, abs=1e-14)
    assert "_gap_and_jacobian" in vars(written)


@pytest.mark.parametrize("make", [mechanisms.four_bar, mechanisms.stewart, mechanisms.bennett])
def test_velocities_across_loops_are_differences_of_the_gap_over_time(
    make: Callable[[], mechanisms.Mechanism],
) -> None:
    model, q = make()
    numbers = LoopNumbers(model)
    V = np.random.default_rng(5).normal(size=(3, model.nv))
    drifts, scales = numbers.drifts(np.tile(q, (3, 1)), V)
    h = 1e-6
    for v, drift in zip(V, drifts.T, strict=True):
        ahead, behind = (numbers.gaps(model.integrate(q, s * h * v))[:, 0] for s in (1.0, -1.0))
        # central differences: rounding 1e-16 / h, truncation h²
        assert drift == pytest.approx(np.abs(ahead - behind) / (2.0 * h), abs=1e-8)
    assert np.all(scales >= drifts - 1e-12)


# --- other figures --------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def linkage() -> tuple[LoopNumbers, np.ndarray, np.random.Generator]:
    model, q = mechanisms.five_bar()
    return LoopNumbers(model), np.asarray(q), np.random.default_rng(3)


def test_a_batch_of_states_has_the_gaps_and_drifts_of_each(linkage) -> None:
    numbers, q, rng = linkage
    states, v = q + 0.1 * rng.normal(size=(3, len(q))), rng.normal(size=(3, len(q)))
    gaps, (drifts, sizes) = numbers.gaps(states), numbers.drifts(states, v)
    assert gaps.shape == drifts.shape == sizes.shape == (len(numbers.conditions), 3)
    for k, (at, speed) in enumerate(zip(states, v, strict=True)):
        J = numbers.jacobian(at)
        np.testing.assert_allclose(gaps[:, k], numbers.gap(at), atol=1e-15)
        np.testing.assert_allclose(numbers.gaps(at)[:, 0], numbers.gap(at), atol=1e-15)
        np.testing.assert_allclose(drifts[:, k], np.abs(J @ speed), atol=1e-15)
        np.testing.assert_allclose(sizes[:, k], np.abs(J) @ np.abs(speed), atol=1e-15)
        alone = numbers.drifts(at, speed)
        np.testing.assert_allclose([alone[0][:, 0], alone[1][:, 0]], [drifts[:, k], sizes[:, k]], atol=1e-15)


def test_conditions_are_whitened_by_the_mass_matrix_in_units_of_forces(linkage) -> None:
    numbers, q, _ = linkage
    J, M, W = numbers.jacobian(q), numbers.mass_matrix(q), numbers.whitened(q)
    units = [1.0 if kind.is_force else 1.0 / numbers.length for _, _, kind in numbers.conditions]
    assert numbers.weights.tolist() == units and not all(x == 1.0 for x in units) and numbers.length != 1.0
    assert numbers.moment_units.tolist() == 3 * [1.0] + 3 * [numbers.length]
    scaled = J / np.array(units)[:, None]
    np.testing.assert_allclose(W.T @ W, scaled @ np.linalg.solve(M, scaled.T), atol=1e-12)


def test_without_a_regular_mass_matrix_conditions_stay_as_they_are() -> None:
    builder = ada.Builder("light").link("base").link("a", 0.0).link("b", 1.0, (0, 0, 0.5), (0.1, 0.1, 0.01))
    builder.joint("one", "revolute", "base", "a", axis=(0, 1, 0))
    builder.joint("two", "revolute", "base", "b", (1, 0, 0), axis=(0, 1, 0))
    builder.loop("closing", "revolute", "a", "b", (0, 0, 1), child_xyz=(-1, 0, 1), axis=(0, 1, 0))
    numbers = LoopNumbers(builder.build())
    q = np.array([0.2, -0.1])
    np.testing.assert_array_equal(numbers.whitened(q), (numbers.jacobian(q) / numbers.weights[:, None]).T)


def test_wrenches_of_multipliers_have_the_power_of_their_conditions(linkage) -> None:
    """A hinge's moment about its axis is what the conditions take from its effort: -Jᵀ λ."""
    numbers, q, rng = linkage
    several = rng.normal(size=(2, len(numbers.conditions)))
    for found, multipliers in zip(numbers.wrenches(q, several), several, strict=True):
        efforts = -numbers.jacobian(q).T @ multipliers
        for name in numbers.model.joint_names:
            axis = numbers.model.joints[name].axis
            assert found[name][3:] @ axis == pytest.approx(efforts[numbers.model.v_index(name)][0], abs=1e-12)
        (loop,) = numbers.model.loop_names
        # of a hinge: three forces and both moments across its axis
        assert np.linalg.norm(found[loop]) == pytest.approx(np.linalg.norm(multipliers))


def test_what_is_asked_for_often_is_written_down_and_gives_the_same(monkeypatch) -> None:
    model, q = mechanisms.five_bar()
    numbers = LoopNumbers(model)
    at = np.asarray(q) + 0.05
    first = numbers.gap(at), numbers.jacobian(at)
    for _ in range(WRITTEN_AFTER + 1):
        numbers.gap(at)
    monkeypatch.setattr(loop_numbers.closure, "gap", lambda *_: pytest.fail("asked again"))
    np.testing.assert_allclose(numbers.gap(at), first[0], atol=1e-15)
    np.testing.assert_allclose(numbers.jacobian(at), first[1], atol=1e-15)
    with pytest.raises(ada.InputError, match=r"loops of model 'five_bar' have no finite gap at q = \[nan"):
        numbers.gap(np.full_like(at, np.nan))
